//! Isolation per request: a handler in a world of its own, in which the project's file runs first.

use crate::request::call::{
    Begin, CallOutcome, FunctionBegin, FunctionStep, HandlerEntry, finish, function_step,
    push_call, raised, run_call, run_given,
};
use crate::request::object::RequestSlot;
use crate::vm::isolate::{Core, Thread};
use crate::vm::state::{State, data};
use crate::vm::worlds::{World, Worlds};
use mlua_sys::lua51::*;
use sampan_host::{Call, Error, HandlerId, RequestView, ResponseSink, Step, Value};
use std::ffi::c_int;
use std::rc::Rc;

/// The world of a request, in its store: its `on_error` is another call, which runs in the same one.
struct KeptWorld(Rc<World>);

/// A first run in a world.
struct BeginInWorld<'a, 's> {
    begin: Begin<'a>,
    worlds: &'a Worlds,
    slot: &'s RequestSlot,
    /// True if the project's file has run for this request.
    has_world: bool,
    /// The store of the world for `on_error`, if there is one.
    keeper: Option<&'a dyn RequestView>,
}

/// Calls a handler. `name` is its number for the log, `on_error` that of what answers errors.
pub(crate) fn start(
    core: &Rc<Core>,
    name: u32,
    call: Call<'_>,
    sink: &mut dyn ResponseSink,
    on_error: Option<HandlerId>,
) -> Step {
    let Some(worlds) = core.worlds.get() else {
        return Step::Failed(Error::script("the isolate has one world"));
    };
    let slot = RequestSlot::new(core, Some(Rc::clone(&call.request)));
    core.request.set(slot.number());
    let kept = call.error.and_then(|_| call.request.store().get());
    if let Some(kept) = &kept {
        let KeptWorld(world) = &**kept;
        slot.set_world(core, Some(Rc::clone(world)));
        core.enter_world();
    }
    let mut begin = BeginInWorld {
        begin: Begin {
            entry: HandlerEntry {
                core,
                sink: Some(sink),
                outcome: CallOutcome::Nothing,
                thread: None,
                has_result: false,
            },
            request: slot.number() as f64,
            handler: call.handler,
            middleware: call.middleware,
            handlers: &[],
            fallback: call.fallback,
            file: call.file,
            error: call.error,
            is_traced: call.is_traced,
        },
        worlds,
        slot: &slot,
        has_world: kept.is_some(),
        keeper: on_error.map(|_| &*call.request),
    };
    let ran = core.protected(name, run_first, &mut begin);
    // Also where that was cut off.
    core.set_rerunning(worlds, false);
    let entry = begin.begin.entry;
    finish(core, name, slot, entry, ran.map_err(|fault| fault.0))
}

/// Under protection: runs the project's file, makes the coroutine and runs the handler in it for the first time.
unsafe extern "C-unwind" fn run_first(state: State) -> c_int {
    // SAFETY: `start` passed a `BeginInWorld`, alive until the protected call has returned. What has a destructor is
    // there, and nothing on this frame.
    unsafe {
        let this = data::<BeginInWorld<'_, '_>>(state);
        let (core, worlds) = (this.begin.entry.core, this.worlds);
        let mut thread = core.take_thread();
        if !this.has_world {
            worlds.open(state);
            this.keep_world(core);
            thread = match run_file(state, core, worlds, thread) {
                Ok(thread) => thread,
                Err(error) => {
                    this.begin.entry.outcome = CallOutcome::Failed(error);
                    return 0;
                }
            };
        }
        let push = |handler: HandlerId| {
            worlds.push_handler(state, handler);
            lua_type(state, -1) == LUA_TFUNCTION
        };
        match push_call(state, &this.begin, push) {
            Some(count) => run_call(state, &mut this.begin.entry, thread, count),
            None => {
                core.give_thread(thread);
                this.begin.entry.outcome = CallOutcome::Failed(is_missing(&this.begin));
            }
        }
        0
    }
}

impl BeginInWorld<'_, '_> {
    /// The world that was opened is the request's.
    fn keep_world(&self, core: &Core) {
        let world = self.worlds.here();
        if let (Some(keeper), Some(world)) = (self.keeper, &world) {
            keeper.store().put(KeptWorld(Rc::clone(world)));
        }
        self.slot.set_world(core, world);
    }
}

/// Runs the project's file, which is on top of the stack, in a coroutine, which is given back: so its stack is still
/// there if it fails.
unsafe fn run_file(
    state: State,
    core: &Core,
    worlds: &Worlds,
    thread: Thread,
) -> Result<Thread, Error> {
    // SAFETY: the caller runs under protection. Errors of the script end `lua_resume_` with a status, and the calls
    // after it raise nothing.
    unsafe {
        lua_xmove(state, thread.state, 1);
        core.running.set(thread.state);
        core.has_raised.set(false);
        core.nested.set(0.0);
        core.begin();
        core.set_rerunning(worlds, true);
        let status = lua_resume_(thread.state, 0);
        core.running.set(std::ptr::null_mut());
        let ended = match status {
            LUA_OK => {
                lua_settop(thread.state, 0);
                Ok(thread)
            }
            LUA_YIELD => {
                core.drop_thread(thread);
                Err(Error::script("the file yielded outside of a coroutine"))
            }
            status => Err(raised(state, core, thread, status)),
        };
        core.set_rerunning(worlds, false);
        ended
    }
}

#[cold]
fn is_missing(begin: &Begin<'_>) -> Error {
    let what = match begin.error {
        Some(_) => "app.on_error",
        None => "what answers this request",
    };
    Error::script(format!(
        "the project's file ended without declaring {what}, as it did when it was loaded; with isolation \
         = \"request\" it must declare the same for \
         each request"
    ))
}

/// A function that the project's file gives, in a world of its own.
struct FunctionApart<'a, 's> {
    begin: FunctionBegin<'a>,
    worlds: &'a Worlds,
    slot: &'s RequestSlot,
    number: usize,
}

/// Runs the project's file in a new world, and the function that it gives a capability under this number.
pub(crate) fn start_function(
    core: &Rc<Core>,
    slot: RequestSlot,
    number: usize,
    args: &[Value],
) -> FunctionStep {
    let Some(worlds) = core.worlds.get() else {
        return FunctionStep::Ended(Err(Error::script("the isolate has one world")));
    };
    core.request.set(slot.number());
    let mut apart = FunctionApart {
        begin: FunctionBegin::new(core, 0, args),
        worlds,
        slot: &slot,
        number,
    };
    let ran = core.protected(u32::MAX, run_function, &mut apart);
    core.set_rerunning(worlds, false);
    let entry = apart.begin.entry;
    function_step(core, slot, entry, ran)
}

/// Under protection: the same.
unsafe extern "C-unwind" fn run_function(state: State) -> c_int {
    // SAFETY: what was passed is a `FunctionApart`, alive until the protected call has returned. What has a destructor
    // is there, and nothing on this frame.
    unsafe {
        let this = data::<FunctionApart<'_, '_>>(state);
        let (core, worlds) = (this.begin.entry.core, this.worlds);
        let thread = core.take_thread();
        worlds.open(state);
        this.slot.set_world(core, worlds.here());
        match run_file(state, core, worlds, thread) {
            Ok(thread) => core.give_thread(thread),
            Err(error) => {
                this.begin.entry.outcome = CallOutcome::Failed(error);
                return 0;
            }
        }
        match worlds.given_here(this.number) {
            Some(reference) => {
                this.begin.reference = reference;
                run_given(state, &mut this.begin);
            }
            None => {
                let text = "the project's file ended without giving the function that is called";
                this.begin.entry.outcome = CallOutcome::Failed(Error::script(text));
            }
        }
        0
    }
}
