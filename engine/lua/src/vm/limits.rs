//! Stopping a script that runs too long.
//!
//! The watchdog thread sends the worker's thread a real-time signal, again and again, for as long as the run that must
//! stop goes on. The handler of that signal compares the stopwatch and, if the run is still the one, sets a hook that
//! raises an error before every further instruction. The hook stays until the outermost call has ended, so no `pcall`
//! loop can swallow the error. Compiled loops look at the hook only if LuaJIT was built with `LUAJIT_ENABLE_CHECKHOOK`,
//! which [`probe`] makes sure of.

use crate::vm::isolate::{current_or_null, samples};
use crate::vm::state::State;
use mlua_sys::lua51::*;
use sampan_host::watch::Kick;
use sampan_host::{Error, ErrorKind, Watch};
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The signal: one that nothing else in the process uses.
fn signal() -> c_int {
    libc::SIGRTMIN() + 5
}

/// The error of a script that is stopped.
const TOO_LONG: &CStr = c"the script ran too long";

thread_local! {
    /// The state that [`probe`] runs on this thread, and how often its loop has called back.
    static PROBE: Cell<State> = const { Cell::new(std::ptr::null_mut()) };
    static PROBE_COUNT: Cell<u32> = const { Cell::new(0) };
}

/// Called before every instruction once the script must stop. The place is named here, because the line of the
/// innermost function cannot be told any more once the error has left it.
unsafe extern "C-unwind" fn stop(state: State, _: *mut lua_Debug) {
    // SAFETY: LuaJIT calls hooks with the state that runs, with room for `LUA_MINSTACK` values, and lets them raise.
    // Nothing on this frame has a destructor.
    unsafe {
        luaL_where(state, 0);
        lua_pushstring(state, TOO_LONG.as_ptr());
        lua_concat(state, 2);
        lua_error(state)
    }
}

/// Runs on the worker's thread, between any two of its instructions.
extern "C" fn on_signal(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the pointer is null or names an isolate in the middle of `Core::protected` on this very thread, which
    // borrows the isolate, so its state is alive. `must_stop` reads two atomics. `lua_sethook` may be called at any
    // instruction of such a thread: LuaJIT's own command line calls it from its signal handler.
    unsafe {
        let core = current_or_null();
        if !core.is_null() && (*core).watch.must_stop() {
            lua_sethook((*core).state, Some(stop), LUA_MASKCOUNT, 1);
        } else if !core.is_null() && (*core).watch.samples().is_some() {
            samples::ask(&*core);
        }
    }
}

/// Reports whether the script that runs on this thread must stop: for native functions that take long.
pub(crate) fn must_stop() -> bool {
    let core = current_or_null();
    // SAFETY: the pointer is null or names the isolate that runs on this thread.
    !core.is_null() && unsafe { (*core).watch.must_stop() }
}

/// Stops the script from within a native function, as the hook would when that has returned. The hook is set as well,
/// so that no `pcall` goes on before the signal has come.
///
/// # Safety
/// `state` must run on this thread, in a C function under protection. The error unwinds the caller's frame, on which
/// nothing may have a destructor.
pub(crate) unsafe fn raise_stop(state: State) -> ! {
    // SAFETY: the state runs on this thread and the caller's frame has nothing to destroy, as the caller promises. The
    // text is terminated and has no directives. `luaL_error` does not return.
    unsafe {
        lua_sethook(state, Some(stop), LUA_MASKCOUNT, 1);
        luaL_error(state, TOO_LONG.as_ptr());
    }
    unreachable!("luaL_error does not return")
}

/// Takes the hook away again, after the outermost call has ended.
///
/// # Safety
/// The state must be alive, on this thread, and nothing may run in it.
pub(crate) unsafe fn clear(state: State) {
    // SAFETY: the state is alive and nothing runs in it, as the caller promises.
    unsafe {
        lua_sethook(state, None, 0, 0);
    }
}

/// Installs the signal handler, once per process, and lets `watch` interrupt the calling thread.
pub(crate) fn install(watch: &Watch) -> Result<(), Error> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    let installed = *INSTALLED.get_or_init(|| {
        // SAFETY: the structure is plain data, for which zeros are valid, and lives during the call. The handler is
        // async-signal-safe: it reads thread-locals without destructors and atomics, and calls `lua_sethook` and
        // `raise`. `SA_ONSTACK` uses the alternate stack that Rust's runtime gives each thread, `SA_RESTART` keeps
        // system calls going.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal(), &raw const action, std::ptr::null_mut()) == 0
        }
    });
    if !installed || !accept_signal() {
        return Err(Error::new(
            ErrorKind::Internal,
            "cannot install the signal handler that stops runaway scripts",
        ));
    }
    watch.on_stop(interrupting());
    Ok(())
}

/// Lets the signal through to the calling thread: a program that embeds Sampan may have blocked all signals. Reports
/// whether that worked.
fn accept_signal() -> bool {
    // SAFETY: the set is plain data, for which zeros are valid, and lives during the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal());
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) == 0
    }
}

/// Returns a function that sends the calling thread the signal, from any thread and at any time. After the calling
/// thread has ended the function does nothing.
pub(crate) fn interrupting() -> Kick {
    let target = OWN_TARGET.with(|own| Arc::clone(&own.0));
    Box::new(move || {
        target.signal();
    })
}

/// A thread that can be signalled for as long as it exists.
struct SignalTarget(Mutex<Option<libc::pthread_t>>);

/// The handle of a thread itself. Dropping it, which a thread does when it ends, closes the target to signals.
struct OwnTarget(Arc<SignalTarget>);

thread_local! {
    static OWN_TARGET: OwnTarget = OwnTarget::of_this_thread();
}

impl SignalTarget {
    /// Sends the signal. Reports whether the thread still exists.
    fn signal(&self) -> bool {
        let thread = self.lock();
        if let Some(thread) = *thread {
            // SAFETY: the handle names a thread that exists: `OwnTarget` takes it out before its thread ends, and waits
            // for this lock to do so. So the signal is sent before the thread can end. The handler is installed before
            // the first `Kick` is made (`install`), and is sound on any thread.
            unsafe {
                libc::pthread_kill(thread, signal());
            }
        }
        thread.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<libc::pthread_t>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnTarget {
    fn of_this_thread() -> Self {
        // SAFETY: the function takes no argument, cannot fail, and may be called by any thread.
        let thread = unsafe { libc::pthread_self() };
        Self(Arc::new(SignalTarget(Mutex::new(Some(thread)))))
    }
}

impl Drop for OwnTarget {
    fn drop(&mut self) {
        self.0.lock().take();
    }
}

/// Proves once per process that a compiled loop can be stopped; refuses to run otherwise.
pub(crate) fn probe() -> Result<(), Error> {
    static PROVEN: OnceLock<bool> = OnceLock::new();
    if *PROVEN.get_or_init(compiled_loop_stops) {
        return Ok(());
    }
    let text = "this LuaJIT was built without LUAJIT_ENABLE_CHECKHOOK, so a runaway script could not be stopped; \
                link the one that sampan-lua builds";
    Err(Error::new(ErrorKind::Internal, text))
}

/// Calls of [`set_hook`] after which the loop has been compiled for long, and how many more there are until it ends by
/// itself.
const COMPILED_BY: u32 = 2_000;
const PROBE_CALLS: u32 = 100_000;

/// The function that the loop of the probe calls, from within its machine code: it sets the hook, as the signal would.
extern "C" fn set_hook() {
    let calls = PROBE_COUNT.get() + 1;
    PROBE_COUNT.set(calls);
    if calls == COMPILED_BY {
        // SAFETY: the state runs on this thread, in `compiled_loop_stops`; `lua_sethook` may be called at any
        // instruction.
        unsafe { lua_sethook(PROBE.get(), Some(stop), LUA_MASKCOUNT, 1) };
    }
}

/// Runs a loop until it is compiled, then sets the hook from within it. It is no signal that does so: it could come
/// while the loop is interpreted, and prove nothing.
fn compiled_loop_stops() -> bool {
    // SAFETY: a private state, closed at the end; the chunk runs under `lua_pcall`.
    unsafe {
        let state = luaL_newstate();
        if state.is_null() {
            return false;
        }
        luaopen_jit(state);
        lua_pushcfunction(state, luaopen_ffi);
        lua_call(state, 0, 1);
        let chunk = c"local ffi, address = ... local set_hook = ffi.cast('void (*)()', address) for i = 1, 1e5 do \
         set_hook() end";
        let loaded = luaL_loadstring(state, chunk.as_ptr());
        lua_insert(state, -2);
        lua_pushlightuserdata(state, set_hook as *mut c_void);
        PROBE.set(state);
        PROBE_COUNT.set(0);
        let status = lua_pcall(state, 2, 0, 0);
        PROBE.set(std::ptr::null_mut());
        lua_close(state);
        loaded == LUA_OK && status == LUA_ERRRUN && PROBE_COUNT.get() < PROBE_CALLS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_blocks_all_signals_accepts_ours() {
        let thread = std::thread::spawn(|| {
            // SAFETY: the sets are plain data, for which zeros are valid, and live during the calls.
            unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut set);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
                install(&Watch::default()).expect("a handler");
                libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut set);
                libc::sigismember(&raw const set, signal())
            }
        });
        assert_eq!(thread.join().expect("the thread"), 0);
    }

    #[test]
    fn a_thread_that_has_ended_is_not_signalled() {
        install(&Watch::default()).expect("a handler");
        let (sender, receiver) = std::sync::mpsc::channel();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let target = OWN_TARGET.with(|own| Arc::clone(&own.0));
            sender.send(target).expect("a receiver");
            let _ = ends.recv();
        });
        let target = receiver.recv().expect("a target");
        assert!(target.signal(), "the thread waits");
        drop(end);
        thread.join().expect("the thread");
        assert!(!target.signal());
    }
}
