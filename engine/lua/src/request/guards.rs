//! Native objects that `app.use` takes: guards, and those that ask a function of the script.
//!
//! The prelude makes a middleware of one that asks: it calls the function between the two halves that stand here, so
//! that the function may wait.

use crate::request::added;
use crate::request::object::view_at;
use crate::values::{objects, value};
use crate::vm::bind::callback::LuaFunction;
use crate::vm::isolate::current;
use crate::vm::isolate::room::need_room;
use crate::vm::raise::raise_result;
use crate::vm::state::{State, guard, push_ref, push_text};
use mlua_sys::lua51::*;
use sampan_host::value::isolate_is_gone;
use sampan_host::{AskingGuard, Error, NativeMiddleware, Value};
use std::ffi::c_int;
use std::rc::Rc;

/// The middleware that the value at `index` is, if it is a native object that is one. No Lua call that raises; the
/// caller has room for one value.
pub(crate) unsafe fn at(state: State, index: c_int) -> Option<NativeMiddleware> {
    // SAFETY: `objects::at` reads raw and raises nothing, and the caller has room for the one value that it pushes.
    let object = unsafe { objects::at(state, index) }?;
    current().context.objects().middleware(object)
}

/// `host.native_middleware(value)`: nothing if it is none. Else true, and the function that it asks, if it does.
pub(crate) unsafe extern "C-unwind" fn function(state: State) -> c_int {
    // SAFETY: what is alive here has no destructor once something is pushed that could raise; pushing these raises
    // nothing.
    unsafe {
        let reference = match at(state, 1) {
            None => return 0,
            Some(NativeMiddleware::Guard(_)) => None,
            Some(NativeMiddleware::Asking(asking)) => {
                let function = asking.function();
                let function = function.as_any().downcast_ref::<LuaFunction>();
                function.map(LuaFunction::reference)
            }
        };
        lua_pushboolean(state, 1);
        match reference {
            Some(reference) => push_ref(state, reference),
            None => lua_pushnil(state),
        }
        2
    }
}

unsafe fn asking_at(state: State) -> Result<Rc<dyn AskingGuard>, Error> {
    // SAFETY: reads only; the caller has room for one value, as `at` needs.
    match unsafe { at(state, 1) } {
        Some(NativeMiddleware::Asking(asking)) => Ok(asking),
        _ => Err(isolate_is_gone()),
    }
}

/// `host.ask(middleware, req)`: the arguments for its function, the request behind them. Raises what refuses the
/// request.
pub(crate) unsafe extern "C-unwind" fn ask(state: State) -> c_int {
    // SAFETY: two stages; the arguments are moved into the isolate before anything can raise.
    unsafe {
        need_room(state, value::STACK_SLOTS);
        lua_settop(state, 2);
        let asked = guard(|| asking_at(state)?.ask(&*view_at(state, 2)?).map(Value::List));
        let cell = current().result.get();
        let is_refused = asked.is_err();
        *cell = Some(asked);
        if is_refused {
            raise_result(state);
        }
        if let Some(Ok(Value::List(args))) = &*cell {
            for arg in args {
                value::push(state, arg);
            }
        }
        *cell = None;
        lua_pushvalue(state, 2);
        lua_gettop(state) - 2
    }
}

/// `host.decide(middleware, req, returned)`: raises what refuses the request. True where that has its answer already.
pub(crate) unsafe extern "C-unwind" fn decide(state: State) -> c_int {
    // SAFETY: `guard` ends with all that has a destructor, and the error is moved into the isolate before it is raised.
    unsafe {
        need_room(state, value::STACK_SLOTS);
        lua_settop(state, 3);
        let decided = guard(|| {
            let returned = value::read(state, 3)?;
            asking_at(state)?.decide(&*view_at(state, 2)?, returned)
        });
        let is_answered = matches!(decided, Ok(true));
        if let Err(error) = decided {
            *current().result.get() = Some(Err(error));
            raise_result(state);
        }
        // Fields that the guard has put on the request are read anew.
        for name in added::names(current().modules) {
            push_text(state, name.as_bytes());
            lua_pushvalue(state, -1);
            lua_rawget(state, 2);
            if lua_type(state, -1) != LUA_TNIL {
                lua_pushvalue(state, -2);
                lua_pushnil(state);
                lua_rawset(state, 2);
            }
            lua_settop(state, 3);
        }
        lua_pushboolean(state, c_int::from(is_answered));
        1
    }
}
