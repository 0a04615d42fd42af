//! Native objects as userdata: each holds an [`Object`], two numbers. The metatable says which values are such, by its
//! identity: scripts can neither see it nor make a userdata.

use crate::vm::bind::row::BoundClass;
use crate::vm::isolate::{Core, current, current_or_null};
use crate::vm::state::{State, guard, push_ref};
use mlua_sys::lua51::*;
use sampan_host::{Class, Error, Lifetime, Object};
use std::ffi::c_int;

/// Makes and pushes the metatable of a class; the prelude fills it.
pub(crate) unsafe fn push_meta(state: State, core: &Core, class: &'static Class) {
    // SAFETY: under protection; nothing on this frame has a destructor. The pointer to the core is followed only by
    // `forget`, which runs while the core's state is open, so while the core is alive.
    unsafe {
        lua_createtable(state, 0, 7);
        if class.lifetime == Lifetime::Collector {
            lua_pushlightuserdata(state, std::ptr::from_ref(core).cast_mut().cast());
            lua_pushcclosure(state, forget, 1);
            lua_setfield(state, -2, c"__gc".as_ptr());
        }
        lua_pushvalue(state, -1);
        let meta = luaL_ref(state, LUA_REGISTRYINDEX);
        let address = lua_topointer(state, -1);
        core.classes.borrow_mut().push(BoundClass {
            class,
            meta,
            address,
        });
    }
}

/// `__gc`: the script has forgotten an object. When a whole state ends, its objects go with their isolate.
unsafe extern "C-unwind" fn forget(state: State) -> c_int {
    // SAFETY: the metatable is only on userdata of ours; the upvalue is compared before it is followed.
    unsafe {
        let core = current_or_null();
        if !core.is_null() && lua_touserdata(state, lua_upvalueindex(1)).cast_const() == core.cast()
        {
            let object = *lua_touserdata(state, 1).cast::<Object>();
            let _ = guard(|| {
                (*core).context.objects().forget(object);
                Ok(())
            });
        }
    }
    0
}

/// Pushes a native object. May raise for lack of memory.
pub(crate) unsafe fn push(state: State, object: Object) {
    // SAFETY: under protection; nothing here has a destructor, and nothing raises once the object is held.
    unsafe {
        let core = current();
        let meta = core
            .classes
            .borrow()
            .iter()
            .find(|bound| bound.class == object.class())
            .map(|bound| bound.meta);
        let Some(meta) = meta else {
            luaL_error(state, c"an object of a class that no module lists".as_ptr());
            return;
        };
        let place = lua_newuserdata(state, size_of::<Object>()).cast::<Object>();
        place.write(object);
        if object.class().lifetime == Lifetime::Collector {
            core.context.objects().hold(object);
        }
        push_ref(state, meta);
        lua_setmetatable(state, -2);
    }
}

/// The native object at `index`, if it is one. No Lua call that raises; the caller has room for one value.
pub(crate) unsafe fn at(state: State, index: c_int) -> Option<Object> {
    // SAFETY: a userdata with such a metatable was made by `push`.
    unsafe {
        if lua_type(state, index) != LUA_TUSERDATA || lua_getmetatable(state, index) == 0 {
            return None;
        }
        let address = lua_topointer(state, -1);
        lua_pop(state, 1);
        let classes = current().classes.borrow();
        let is_ours = classes.iter().any(|bound| bound.address == address);
        is_ours.then(|| *lua_touserdata(state, index).cast::<Object>())
    }
}

/// An object that a script passes or calls. An object of another request is refused. An object that is gone is an error
/// where it is used.
pub(crate) fn check(object: Object) -> Result<Object, Error> {
    let core = current();
    let is_owned = object.class().lifetime == Lifetime::Request;
    if is_owned && !core.owns(object) && core.context.objects().contains(object) {
        return Err(object.class().is_of_another_request());
    }
    Ok(object)
}
