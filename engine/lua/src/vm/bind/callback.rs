//! Functions of the script that capabilities keep: a reference in the registry each.

use crate::coroutines::suspend::FunctionRun;
use crate::values::value;
use crate::vm::bind::row::BoundRow;
use crate::vm::error;
use crate::vm::isolate::room::need_room;
use crate::vm::isolate::{Core, current, is_stack_used_up};
use crate::vm::state::{State, data, guard, push_ref};
use crate::vm::worlds::{Home, World, Worlds};
use mlua_sys::lua51::*;
use sampan_host::value::isolate_is_gone;
use sampan_host::{Callback, Error, LocalFuture, Place, ScriptFunction, Value};
use std::any::Any;
use std::ffi::{CStr, c_int};
use std::rc::{Rc, Weak};

/// The most functions that one row may take.
const FUNCTIONS_MAX: usize = 2;

/// References to the functions among the arguments of a row, by the index of their parameter. Without a destructor.
pub(crate) type References = [Option<(usize, c_int)>; FUNCTIONS_MAX];

/// The functions as callbacks.
pub(crate) type Functions = Vec<(usize, Callback)>;

/// Anchors the functions among the arguments. May raise for lack of memory, with nothing to be dropped.
pub(crate) unsafe fn anchor(state: State, row: &BoundRow) -> References {
    let mut references = [None; FUNCTIONS_MAX];
    let wanted = row.function.params.iter().enumerate();
    let wanted = wanted.filter(|(_, param)| param.ty.takes_function());
    for ((index, _), reference) in wanted.zip(&mut references) {
        let at = (index + row.before()) as c_int + 1;
        // SAFETY: called by a C function with its arguments on the stack and room for more.
        unsafe {
            if lua_type(state, at) == LUA_TFUNCTION {
                lua_pushvalue(state, at);
                *reference = Some((index, luaL_ref(state, LUA_REGISTRYINDEX)));
            }
        }
    }
    references
}

/// Makes callbacks of the anchored functions, which own the references from now on.
pub(crate) fn own(references: References, row: BoundRow) -> Functions {
    let owned = references.into_iter().flatten();
    let owned = owned.map(|(index, reference)| (index, of(reference, row)));
    owned.collect()
}

/// A callback that owns a reference to its function.
pub(crate) fn of(reference: c_int, row: BoundRow) -> Callback {
    let core = current();
    let (world, number) = match core.worlds.get() {
        Some(worlds) => worlds.given(reference),
        None => (Home::Isolate, None),
    };
    Rc::new(LuaFunction {
        core: core.me(),
        reference,
        row,
        world,
        number,
    })
}

/// A function in the registry.
pub(crate) struct LuaFunction {
    core: Weak<Core>,
    reference: c_int,
    /// The row that it was given to.
    row: BoundRow,
    world: Home,
    /// The number of the function among the functions that the project's file gives: a request calls the one of its own
    /// run of the file.
    number: Option<usize>,
}

impl LuaFunction {
    /// The function's registry reference.
    pub(crate) fn reference(&self) -> c_int {
        self.reference
    }

    /// Returns the world that it runs in, if that is not the isolate's only world.
    ///
    /// # Errors
    /// The world is gone.
    pub(crate) fn world(&self) -> Result<Option<Rc<World>>, Error> {
        match &self.world {
            Home::Isolate => Ok(None),
            Home::World(world) => Ok(Some(Rc::clone(world))),
            Home::Rerun(world) => world.upgrade().map(Some).ok_or_else(isolate_is_gone),
        }
    }
}

impl Drop for LuaFunction {
    fn drop(&mut self) {
        let is_own = !matches!(self.world, Home::Rerun(_));
        if let (Some(core), true) = (self.core.upgrade(), is_own) {
            // SAFETY: `luaL_unref` writes to two existing integer slots of the registry; it neither allocates nor
            // raises.
            unsafe { luaL_unref(core.state, LUA_REGISTRYINDEX, self.reference) };
        }
    }
}

impl ScriptFunction for LuaFunction {
    fn call(&self, args: &[Value]) -> Result<Value, Error> {
        let core = self.core.upgrade().ok_or_else(isolate_is_gone)?;
        let mut call = NestedCall {
            reference: self.reference,
            args,
            result: Ok(Value::Null),
        };
        let outer = core.called_back_by.replace(Some(self.row));
        let ran = match core.worlds.get() {
            None => core.nested(run_nested, &mut call),
            Some(worlds) => self.call_in_world(&core, worlds, &mut call),
        };
        core.called_back_by.set(outer);
        ran?;
        call.result
    }

    fn start(self: Rc<Self>, args: Vec<Value>) -> LocalFuture<Result<(), Error>> {
        match self.core.upgrade() {
            Some(core) => Box::pin(FunctionRun::new(core, self, args, None, false)),
            None => Box::pin(async { Err(isolate_is_gone()) }),
        }
    }

    fn start_apart(self: Rc<Self>, args: Vec<Value>) -> LocalFuture<Result<(), Error>> {
        let number = self.number;
        match self.core.upgrade() {
            Some(core) => Box::pin(FunctionRun::new(core, self, args, number, false)),
            None => Box::pin(async { Err(isolate_is_gone()) }),
        }
    }

    fn start_check(self: Rc<Self>) -> LocalFuture<Result<(), Error>> {
        let number = self.number;
        match self.core.upgrade() {
            Some(core) => Box::pin(FunctionRun::new(core, self, Vec::new(), number, true)),
            None => Box::pin(async { Err(isolate_is_gone()) }),
        }
    }

    fn place(&self) -> Option<Place> {
        let core = self.core.upgrade()?;
        let state = core.calling.get();
        if state.is_null() {
            return None;
        }
        // SAFETY: `state` runs a row, so its stack may be used. With `>` the function that was pushed is taken off;
        // the source belongs to its prototype, which the registry keeps alive through the function.
        unsafe {
            if lua_checkstack(state, 2) == 0 {
                return None;
            }
            push_ref(state, self.reference);
            let mut record: lua_Debug = std::mem::zeroed();
            if lua_getinfo(state, c">S".as_ptr(), &raw mut record) == 0 {
                return None;
            }
            let source = CStr::from_ptr(record.source).to_bytes();
            let file = source.strip_prefix(b"@")?;
            Some(Place {
                file: String::from_utf8_lossy(file).into_owned(),
                line: u32::try_from(record.linedefined).ok()?,
            })
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl LuaFunction {
    /// Calls what the request at hand has in its place, or the function itself in its own world.
    fn call_in_world(
        &self,
        core: &Core,
        worlds: &Worlds,
        call: &mut NestedCall<'_>,
    ) -> Result<(), Error> {
        let is_in_run = !core.calling.get().is_null();
        let own = self.number.filter(|_| is_in_run);
        if let Some(reference) = own.and_then(|number| worlds.given_here(number)) {
            call.reference = reference;
            return core.nested(run_nested, call);
        }
        let Some(world) = self.world()? else {
            return core.nested(run_nested, call);
        };
        let before = worlds.enter(core, &world);
        let ran = core.nested(run_nested, call);
        if let Some(before) = before {
            worlds.enter(core, &before);
        }
        ran
    }
}

/// A call within the run at hand.
struct NestedCall<'a> {
    reference: c_int,
    args: &'a [Value],
    result: Result<Value, Error>,
}

/// Under protection: calls the function and reads what it returns.
unsafe extern "C-unwind" fn run_nested(state: State) -> c_int {
    // SAFETY: `call` passed a `NestedCall`, which its frame owns; errors unwind to the protected call around this.
    unsafe {
        let call = data::<NestedCall<'_>>(state);
        need_room(state, call.args.len() as c_int + value::STACK_SLOTS);
        push_ref(state, call.reference);
        for arg in call.args {
            value::push(state, arg);
        }
        lua_call(state, call.args.len() as c_int, 1);
        let top = lua_gettop(state);
        call.result = guard(|| value::read(state, top));
        0
    }
}

impl Core {
    /// Calls `function` with a pointer to `data` under protection, inside of the run at hand if there is one. It may
    /// run script.
    pub(crate) fn nested<T>(&self, function: lua_CFunction, data: &mut T) -> Result<(), Error> {
        self.anchor_handles()?;
        self.call_inside(function, data)
    }

    /// Calls a function that runs no script and collects nothing.
    pub(crate) fn call_inside<T>(
        &self,
        function: lua_CFunction,
        data: &mut T,
    ) -> Result<(), Error> {
        let state = self.calling.get();
        if state.is_null() {
            let ran = self.protected(u32::MAX, function, data);
            return ran.map_err(|uncaught| uncaught.0);
        }
        if is_stack_used_up() {
            return Err(Error::script("stack overflow"));
        }
        // SAFETY: `state` runs a row, which has made room; what is pushed allocates nothing.
        let (top, status) = unsafe { (lua_gettop(state), self.pcall(state, function, data)) };
        if status == LUA_OK {
            return Ok(());
        }
        // SAFETY: after a failed call the error value is on top.
        let uncaught = unsafe {
            let uncaught = error::from_top(state, state, status);
            lua_settop(state, top);
            uncaught
        };
        if self.watch.must_stop() {
            return Err(self
                .limits
                .stopped(self.watch.cause())
                .at(uncaught.0.place().cloned()));
        }
        Err(uncaught.0)
    }
}
