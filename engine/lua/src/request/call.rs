//! The hot path: one protected entry in which a handler runs in a pooled coroutine and its result becomes the response.

use crate::coroutines::suspend;
use crate::request::beside::Beside;
use crate::request::object::{self, RequestSlot};
use crate::request::response;
use crate::request::stream;
use crate::values::value;
use crate::vm::bind::results;
use crate::vm::error::{UncaughtError, from_top};
use crate::vm::isolate::room::{make_room, need_room, raise_full};
use crate::vm::isolate::{Core, Thread, Wait};
use crate::vm::raise;
use crate::vm::state::{State, data, push_ref, push_text};
use mlua_sys::lua51::*;
use sampan_host::{Error, ErrorKind, FileAnswer, LocalFuture, ResponseSink, Step, Value};
use std::ffi::c_int;
use std::rc::Rc;

/// The outcome of a run of a coroutine came to.
pub(crate) enum CallOutcome {
    /// The coroutine did not run.
    Nothing,
    /// The response is in the sink; for a stream there is the coroutine that produces it.
    Done(Option<Thread>),
    /// A function without a sink has returned `false`.
    False,
    /// The run failed.
    Failed(Error),
    /// The coroutine yielded to the host.
    Waiting(Thread, Wait),
}

/// The data of one protected call, for the C functions of this file.
pub(crate) struct HandlerEntry<'a> {
    pub(crate) core: &'a Core,
    pub(crate) sink: Option<&'a mut dyn ResponseSink>,
    pub(crate) outcome: CallOutcome,
    /// The coroutine to go on with, if this is not its first run.
    pub(crate) thread: Option<Thread>,
    /// True if what it waited for is in `Core::result`.
    pub(crate) has_result: bool,
}

/// A first run.
pub(crate) struct Begin<'a> {
    pub(crate) entry: HandlerEntry<'a>,
    pub(crate) request: f64,
    pub(crate) handler: Option<u32>,
    pub(crate) middleware: &'a [u32],
    pub(crate) handlers: &'a [c_int],
    pub(crate) fallback: u16,
    pub(crate) file: Option<FileAnswer<'a>>,
    pub(crate) error: Option<&'a Error>,
    pub(crate) is_traced: bool,
}

/// Calls a handler. `name` is its number for the log.
pub(crate) fn start(core: &Rc<Core>, name: u32, slot: RequestSlot, mut begin: Begin<'_>) -> Step {
    let result = core.protected(name, run_first, &mut begin);
    finish(
        core,
        name,
        slot,
        begin.entry,
        result.map_err(|fault| fault.0),
    )
}

/// Finishes any run of a handler.
pub(crate) fn finish(
    core: &Rc<Core>,
    name: u32,
    slot: RequestSlot,
    entry: HandlerEntry<'_>,
    result: Result<(), Error>,
) -> Step {
    core.wait.borrow_mut().take();
    if let Err(error) = result {
        // The result of the run no longer counts, but its coroutine must be let go; and the error that the stop
        // raised knows where the script was.
        let error = match entry.outcome {
            CallOutcome::Waiting(thread, _) | CallOutcome::Done(Some(thread)) => {
                core.drop_thread(thread);
                error
            }
            CallOutcome::Failed(raised) => error
                .at(raised.place().cloned())
                .with_stack(raised.stack().unwrap_or_default()),
            _ => error,
        };
        return failed(core, error);
    }
    match entry.outcome {
        CallOutcome::Done(producer) => {
            if let (Some(thread), Some(sink)) = (producer, entry.sink) {
                sink.stream(Box::new(stream::LuaStream::new(
                    core.clone(),
                    thread,
                    slot,
                    name,
                )));
            }
            core.after_run();
            Step::Done
        }
        CallOutcome::False => {
            core.after_run();
            Step::Done
        }
        CallOutcome::Waiting(thread, wait) => suspend::wait(core, name, slot, thread, wait),
        CallOutcome::Failed(error) => failed(core, error),
        CallOutcome::Nothing => failed(
            core,
            Error::new(ErrorKind::Internal, "the handler did not run"),
        ),
    }
}

fn failed(core: &Rc<Core>, error: Error) -> Step {
    if error.kind() == ErrorKind::Memory {
        core.after_memory_error();
    } else {
        core.after_run();
    }
    Step::Failed(error)
}

/// The progress of a function that a capability kept.
pub(crate) enum FunctionStep {
    /// The function has ended. True if it returned `false`.
    Ended(Result<bool, Error>),
    /// The function waits.
    Waits(RequestSlot, Thread, LocalFuture<Result<Value, Error>>),
}

/// The first run of such a function.
pub(crate) struct FunctionBegin<'a> {
    pub(crate) entry: HandlerEntry<'a>,
    pub(crate) reference: c_int,
    pub(crate) args: &'a [Value],
}

impl<'a> FunctionBegin<'a> {
    pub(crate) fn new(core: &'a Core, reference: c_int, args: &'a [Value]) -> Self {
        Self {
            entry: HandlerEntry {
                core,
                sink: None,
                outcome: CallOutcome::Nothing,
                thread: None,
                has_result: false,
            },
            reference,
            args,
        }
    }
}

/// Calls a function that a capability kept, as a run of its own.
pub(crate) fn start_function(
    core: &Rc<Core>,
    slot: RequestSlot,
    reference: c_int,
    args: &[Value],
) -> FunctionStep {
    core.request.set(slot.number());
    core.enter_world();
    let mut begin = FunctionBegin::new(core, reference, args);
    let ran = core.protected(u32::MAX, run_function, &mut begin);
    function_step(core, slot, begin.entry, ran)
}

/// Returns the step after the first run.
pub(crate) fn function_step(
    core: &Rc<Core>,
    slot: RequestSlot,
    entry: HandlerEntry<'_>,
    ran: Result<(), UncaughtError>,
) -> FunctionStep {
    if ran.is_ok() && matches!(entry.outcome, CallOutcome::Waiting(_, Wait::Operation(_))) {
        core.after_run();
        if let CallOutcome::Waiting(thread, Wait::Operation(operation)) = entry.outcome {
            return FunctionStep::Waits(slot, thread, operation);
        }
        return FunctionStep::Ended(Ok(false));
    }
    let is_false = matches!(entry.outcome, CallOutcome::False);
    let result = ran.map_err(|fault| fault.0);
    match finish(core, u32::MAX, slot, entry, result) {
        Step::Failed(error) => FunctionStep::Ended(Err(error)),
        Step::Done | Step::Waiting(_) => FunctionStep::Ended(Ok(is_false)),
    }
}

/// Under protection: makes the coroutine and runs the function in it.
unsafe extern "C-unwind" fn run_function(state: State) -> c_int {
    // SAFETY: `start_function` passed a `FunctionBegin`, which lives until the protected call has returned.
    unsafe {
        run_given(state, data::<FunctionBegin<'_>>(state));
        0
    }
}

/// Runs a function that was passed in another way.
pub(crate) unsafe fn run_given(state: State, begin: &mut FunctionBegin<'_>) {
    // SAFETY: under protection. The arguments belong to the caller of the protected call; `Thread` and references have
    // no destructor.
    unsafe {
        let core = begin.entry.core;
        let thread = core.take_thread();
        let count = begin.args.len() as c_int;
        need_room(state, count + 12);
        if let Err(full) = make_room(thread.state, count + 4) {
            raise_full(state, full);
        }
        push_ref(state, begin.reference);
        for arg in begin.args {
            value::push(state, arg);
        }
        lua_xmove(state, thread.state, count + 1);
        advance(state, &mut begin.entry, thread, count);
    }
}

/// Under protection: makes the coroutine and runs it for the first time.
unsafe extern "C-unwind" fn run_first(state: State) -> c_int {
    // SAFETY: `start` passed a `Begin`. Arguments are made on the protected thread, where an error for lack of memory
    // is caught, and then moved over. `Thread` and references have no destructor.
    unsafe {
        let begin = data::<Begin<'_>>(state);
        let core = begin.entry.core;
        let thread = core.take_thread();
        let handlers = begin.handlers;
        let push = |handler: u32| {
            push_ref(state, handlers[handler as usize]);
            true
        };
        let count = push_call(state, begin, push).unwrap_or_default();
        run_call(state, &mut begin.entry, thread, count);
        0
    }
}

/// Pushes what is called and its arguments: how many values that are. `push` pushes a handler by its number, and tells
/// whether it is there.
#[inline]
pub(crate) unsafe fn push_call(
    state: State,
    begin: &Begin<'_>,
    push: impl Fn(u32) -> bool,
) -> Option<c_int> {
    // SAFETY: under protection; nothing on this frame has a destructor.
    unsafe {
        let core = begin.entry.core;
        let bottom = lua_gettop(state);
        need_room(state, 12 + begin.middleware.len() as c_int);
        let mut are_there = true;
        match begin.handler {
            Some(handler) if begin.middleware.is_empty() => {
                are_there &= push(handler);
                object::push(state, begin.request);
                if let Some(error) = begin.error {
                    push_error_view(state, core, error);
                } else if begin.fallback != 200 {
                    lua_pushnumber(state, f64::from(begin.fallback));
                }
            }
            handler => {
                let refs = core.refs.get();
                push_ref(
                    state,
                    match begin.is_traced {
                        true => refs.traced_chain,
                        false => refs.chain,
                    },
                );
                object::push(state, begin.request);
                match begin.file {
                    Some(file) => push_file(state, file),
                    None => lua_pushnumber(state, f64::from(begin.fallback)),
                }
                match handler {
                    Some(handler) => are_there &= push(handler),
                    None => lua_pushnil(state),
                }
                for &wrap in begin.middleware {
                    are_there &= push(wrap);
                }
            }
        }
        are_there.then(|| lua_gettop(state) - bottom)
    }
}

/// Moves the `count` values on top into a coroutine and runs it.
#[inline]
pub(crate) unsafe fn run_call(
    state: State,
    entry: &mut HandlerEntry<'_>,
    thread: Thread,
    count: c_int,
) {
    // SAFETY: under protection; the caller has pushed so many values. Nothing on this frame has a destructor.
    unsafe {
        if let Err(full) = make_room(thread.state, count + 4) {
            raise_full(state, full);
        }
        lua_xmove(state, thread.state, count);
        advance(state, entry, thread, count - 1);
    }
}

/// Pushes a file as the chain of middleware takes it: its path and its content type.
unsafe fn push_file(state: State, file: FileAnswer<'_>) {
    // SAFETY: under protection; the caller has room, and nothing here has a destructor.
    unsafe {
        lua_createtable(state, 2, 0);
        for (text, at) in [(file.path, 1), (file.content_type, 2)] {
            push_text(state, text.as_bytes());
            lua_rawseti(state, -2, at);
        }
    }
}

/// Under protection: runs a coroutine on with what it waited for.
pub(crate) unsafe extern "C-unwind" fn run_on(state: State) -> c_int {
    // SAFETY: what was passed is a `HandlerEntry`, alive until the protected call has returned. The result is in the
    // isolate; nothing on this frame has a destructor.
    unsafe {
        let entry = data::<HandlerEntry<'_>>(state);
        let Some(thread) = entry.thread.take() else {
            return 0;
        };
        let mut count = 0;
        if entry.has_result {
            count = 2;
            if let Some(Err(error)) = &mut *entry.core.result.get() {
                results::name_error_of(thread.state, error);
            }
            match &*entry.core.result.get() {
                Some(Ok(value)) => {
                    lua_pushboolean(state, 1);
                    value::push(state, value);
                }
                _ => {
                    lua_pushboolean(state, 0);
                    raise::push_error(state, raise::waiting_place(thread.state));
                }
            }
            *entry.core.result.get() = None;
            lua_xmove(state, thread.state, 2);
        } else if lua_status(thread.state) != LUA_YIELD {
            // The first run of a stream: the function is below its two arguments.
            count = lua_gettop(thread.state) - 1;
        }
        advance(state, entry, thread, count);
        0
    }
}

/// Resumes `thread` and sorts out what came of it.
unsafe fn advance(state: State, entry: &mut HandlerEntry<'_>, thread: Thread, count: c_int) {
    // SAFETY: the caller runs under protection. Errors of the script end `lua_resume_` with a status, and the calls
    // after it raise only where nothing on this frame has a destructor.
    unsafe {
        let core = entry.core;
        core.running.set(thread.state);
        core.has_raised.set(false);
        core.nested.set(0.0);
        core.begin();
        let status = lua_resume_(thread.state, count);
        core.running.set(std::ptr::null_mut());
        entry.outcome = match status {
            LUA_OK => {
                let beside = match lua_gettop(thread.state) {
                    0 | 1 => None,
                    _ => Beside::at(thread.state, 2),
                };
                lua_settop(thread.state, 1);
                lua_xmove(thread.state, state, 1);
                core.give_thread(thread);
                match (entry.sink.as_deref_mut(), beside) {
                    (Some(_), Some(beside)) => CallOutcome::Failed(beside.error(state)),
                    (Some(sink), None) => response::deliver(core, state, sink)
                        .map_or_else(CallOutcome::Failed, CallOutcome::Done),
                    (None, _) if is_false(state) => CallOutcome::False,
                    (None, _) => CallOutcome::Done(None),
                }
            }
            LUA_YIELD => {
                lua_settop(thread.state, 0);
                match core.wait.borrow_mut().take() {
                    Some(wait) => CallOutcome::Waiting(thread, wait),
                    None => {
                        core.drop_thread(thread);
                        CallOutcome::Failed(Error::script(
                            "the handler yielded outside of a coroutine of its own",
                        ))
                    }
                }
            }
            status => CallOutcome::Failed(raised(state, core, thread, status)),
        };
    }
}

/// Reports whether `false` is on top.
unsafe fn is_false(state: State) -> bool {
    // SAFETY: reads of the stack, which has a value.
    unsafe { lua_type(state, -1) == LUA_TBOOLEAN && lua_toboolean(state, -1) == 0 }
}

/// The error with which a coroutine has ended.
pub(crate) unsafe fn raised(state: State, core: &Core, thread: Thread, status: c_int) -> Error {
    // SAFETY: reads of the stack of a coroutine that has failed; the registry's slot is there.
    unsafe {
        let fault = from_top(state, thread.state, status);
        lua_xmove(thread.state, state, 1);
        lua_rawseti(
            state,
            LUA_REGISTRYINDEX,
            i64::from(core.refs.get().last_error),
        );
        core.has_raised.set(true);
        core.drop_thread(thread);
        fault.0
    }
}

/// Pushes an error as error handlers see it: message, status, file, line, stack and the value that was raised.
unsafe fn push_error_view(state: State, core: &Core, failure: &Error) {
    // SAFETY: the caller runs under protection and has made room. `failure` and `core` belong to the caller of the
    // protected call, so that an error skips no destructor.
    unsafe {
        lua_createtable(state, 0, 6);
        push_text(state, failure.message().as_bytes());
        lua_setfield(state, -2, c"message".as_ptr());
        lua_pushnumber(state, f64::from(failure.kind().status()));
        lua_setfield(state, -2, c"status".as_ptr());
        if let Some(place) = failure.place() {
            push_text(state, place.file.as_bytes());
            lua_setfield(state, -2, c"file".as_ptr());
            lua_pushnumber(state, f64::from(place.line));
            lua_setfield(state, -2, c"line".as_ptr());
        }
        if let Some(stack) = failure.stack() {
            push_text(state, stack.as_bytes());
            lua_setfield(state, -2, c"stack".as_ptr());
        }
        if core.has_raised.get() {
            push_ref(state, core.refs.get().last_error);
            lua_setfield(state, -2, c"value".as_ptr());
        }
        // The error is not kept any longer than this.
        lua_pushboolean(state, 0);
        lua_rawseti(
            state,
            LUA_REGISTRYINDEX,
            i64::from(core.refs.get().last_error),
        );
        if let Some(details) = failure.details() {
            raise::set_details(state, details);
        }
        raise::set_meta(state, failure.kind());
    }
}
