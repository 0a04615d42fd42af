//! The samples of `sampan profile`: which functions are on the stack when one is due.
//!
//! LuaJIT's own profiler takes them where that is safe: between two instructions, and in compiled code where one
//! function goes over into another, which it compiles for an isolate that is profiled. It has a timer that counts for
//! the whole process and may signal any thread. So the timer is set to a time that never comes, and the thread that
//! samples sends the signal, to the thread that runs the isolate. The profiler knows one isolate per process, the one
//! in [`PROFILED`].

use super::{Core, current_or_null};
use crate::libraries::is_own_chunk;
use crate::vm::bind::row_on_top;
use crate::vm::limits;
use crate::vm::state::State;
use mlua_sys::lua51::*;
use sampan_host::Place;
use sampan_host::samples::{CALLS_MAX, Frame};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The profiler's callback: its data, the coroutine that runs, how many signals came, and what ran when the first of
/// them did.
type OnSample = unsafe extern "C" fn(*mut c_void, State, c_int, c_int);

unsafe extern "C" {
    fn luaJIT_profile_start(state: State, mode: *const c_char, run: OnSample, data: *mut c_void);
    fn luaJIT_profile_stop(state: State);
}

/// Samples show functions. The timer of this many milliseconds of processor time never ends.
const MODE: &CStr = c"fi2000000000";

/// The name of a C function that has no name of its own.
const NATIVE: &str = "native";

/// The isolate that the profiler watches.
static PROFILED: AtomicPtr<lua_State> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    /// The state that runs on its own thread.
    static OWN: Cell<State> = const { Cell::new(ptr::null_mut()) };
    /// The names of functions by file and line.
    static NAMES: RefCell<HashMap<String, Vec<Option<String>>>> = RefCell::default();
}

/// Lets the profiler watch the isolate, if samples are wanted. It takes over from an older one of this thread.
pub(crate) fn install(core: &Core) {
    let Some(samples) = core.watch.samples() else {
        return;
    };
    let own = OWN.get();
    if !own.is_null() {
        // SAFETY: the state was started on this thread and has not been released, so it is alive. Another isolate is
        // being made, so nothing runs in it.
        unsafe { stop(own) };
    }
    let taken = PROFILED.compare_exchange(
        ptr::null_mut(),
        core.state,
        Ordering::AcqRel,
        Ordering::Acquire,
    );
    if taken.is_err() {
        // Another thread has it: what runs here counts as the engine's.
        return;
    }
    OWN.set(core.state);
    samples.on_due(limits::interrupting());
    // SAFETY: the state is alive and stays so until `stop`, which its core calls before it closes it; nothing runs in
    // it. A signal that comes after the profiler has put back what was there before must not end the process.
    unsafe {
        libc::signal(libc::SIGPROF, libc::SIG_IGN);
        luaJIT_profile_start(core.state, MODE.as_ptr(), on_sample, ptr::null_mut());
    }
}

/// Ends the profiler's watch over a state that is about to be closed, if it is the one.
///
/// # Safety
/// The state must be alive, on this thread, and nothing may run in it.
pub(crate) unsafe fn release(state: State) {
    if OWN.get() == state {
        // SAFETY: the caller promises that the state is alive, that this is its thread, and that nothing runs in it.
        unsafe { stop(state) };
    }
}

/// # Safety
/// The state must be alive, on this thread, and nothing may run in it.
unsafe fn stop(state: State) {
    // SAFETY: the caller promises that the state is alive, that this is its thread, and that nothing runs in it.
    unsafe { luaJIT_profile_stop(state) };
    OWN.set(ptr::null_mut());
    PROFILED.store(ptr::null_mut(), Ordering::Release);
}

/// Has the profiler take a sample as soon as it can, if a handler runs. Called by the signal handler on the isolate's
/// own thread.
pub(crate) fn ask(core: &Core) {
    if !core.running.get().is_null() && PROFILED.load(Ordering::Acquire) == core.state {
        // SAFETY: the handler of this signal is LuaJIT's or none; it sets a flag of the state, which this thread runs.
        unsafe { libc::raise(libc::SIGPROF) };
    }
}

/// LuaJIT calls this between two instructions of a script.
unsafe extern "C" fn on_sample(_: *mut c_void, state: State, _: c_int, ran: c_int) {
    let core = current_or_null();
    // SAFETY: the pointer is null or names the isolate that runs on this thread; `state` is its running coroutine.
    unsafe {
        if core.is_null() || (*core).running.get().is_null() {
            return;
        }
        let native = match ran as u8 {
            b'C' => Some(NATIVE),
            b'G' => Some("garbage collector"),
            b'J' => Some("compiler"),
            _ => None,
        };
        record(&*core, state, native.map(Frame::native));
    }
}

/// Takes the sample that is due where a row of a capability has done its work.
///
/// # Safety
/// The row's C function must run in `state`, on this thread.
#[cold]
pub(crate) unsafe fn after_row(core: &Core, state: State) {
    // SAFETY: the row's C function runs in `state`, as the caller promises, so its stack may be read.
    unsafe { record(core, state, None) };
}

/// Shows the stack of `state`, and what ran on top of it, if a sample is due.
unsafe fn record(core: &Core, state: State, ran: Option<Frame>) {
    let epoch = core.watch.epoch();
    let Some(samples) = core.watch.samples().filter(|samples| samples.is_due(epoch)) else {
        return;
    };
    let mut frames: Vec<Frame> = Vec::new();
    let mut has_more = false;
    // SAFETY: the state runs on this thread and has reached a point where its stack may be read. With room for what is
    // pushed and popped again, nothing here raises.
    unsafe {
        if lua_checkstack(state, 4) == 0 {
            return;
        }
        let mut record: lua_Debug = std::mem::zeroed();
        for level in 0.. {
            if lua_getstack(state, level, &raw mut record) == 0
                || lua_getinfo(state, c"fSn".as_ptr(), &raw mut record) == 0
            {
                break;
            }
            let row = row_on_top(state);
            lua_pop(state, 1);
            if frames.len() >= CALLS_MAX {
                has_more = true;
                break;
            }
            frames.extend(match row {
                Some(row) => Some(Frame::native(row.name())),
                None => frame(core, &record),
            });
        }
    }
    if let Some(ran) = ran {
        // A row says more about itself than that it is native.
        let is_told = frames.first().is_some_and(|frame| frame.place.is_none());
        if !is_told || ran.name.as_deref() != Some(NATIVE) {
            frames.insert(0, ran);
        }
    }
    samples.record(epoch, &frames, has_more);
}

/// A call, unless it is the server's own.
unsafe fn frame(core: &Core, record: &lua_Debug) -> Option<Frame> {
    // SAFETY: the texts belong to a function on the stack; a name may be null.
    let (source, name) = unsafe {
        let name = (!record.name.is_null()).then(|| CStr::from_ptr(record.name));
        (CStr::from_ptr(record.source).to_string_lossy(), name)
    };
    if let Some(file) = source.strip_prefix('@') {
        let line = record.linedefined.max(0) as u32;
        let name = name_at(core, file, line);
        let file = file.to_owned();
        let place = Some((Place { file, line }, 0));
        return Some(Frame { name, place });
    }
    match source.strip_prefix('=') {
        Some("[C]") => name.map(|name| Frame::native(name.to_string_lossy())),
        Some(own) if is_own_chunk(own) => None,
        // A chunk that `load` made of a text.
        _ => Some(Frame::native("load")),
    }
}

/// Returns the source's name of the function that begins at a line. The name that LuaJIT tells is the caller's word,
/// and after a tail call that of
/// another function.
fn name_at(core: &Core, file: &str, line: u32) -> Option<String> {
    let Some(index) = (line as usize).checked_sub(1) else {
        return Some("main".to_owned());
    };
    NAMES.with_borrow_mut(|known| {
        if !known.contains_key(file) {
            let text = core.sources.read(file).unwrap_or_default();
            let lines = String::from_utf8_lossy(&text);
            known.insert(file.to_owned(), lines.lines().map(name_in).collect());
        }
        known.get(file)?.get(index)?.clone()
    })
}

/// The name of the first function that a line begins: `function NAME(` or `NAME = function`.
fn name_in(line: &str) -> Option<String> {
    let is_part = |one: char| one.is_alphanumeric() || matches!(one, '_' | '.' | ':');
    let (before, after) = line.match_indices("function").find_map(|(at, word)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let is_word = !before.ends_with(is_part) && after.starts_with(['(', ' ', '\t']);
        is_word.then_some((before, after))
    })?;
    let after = after.trim_start();
    let name = match after.find(|one| !is_part(one)) {
        Some(end @ 1..) => &after[..end],
        _ => {
            let before = before.trim_end().strip_suffix('=')?.trim_end();
            before.rsplit(|one| !is_part(one)).next()?
        }
    };
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::name_in;

    #[test]
    fn functions_are_named_as_their_source_names_them() {
        for (line, name) in [
            ("local function total(x)", Some("total")),
            ("function M.rows:all ()", Some("M.rows:all")),
            ("M.late = function(x)", Some("M.late")),
            ("local f=function ()", Some("f")),
            (
                "  run = function() end, stop = function() end }",
                Some("run"),
            ),
            ("app.get('/', function(req)", None),
            ("return function(x)", None),
            ("['a b'] = function()", None),
            ("local my_function = function()", Some("my_function")),
            ("", None),
        ] {
            assert_eq!(name_in(line).as_deref(), name, "{line}");
        }
    }
}
