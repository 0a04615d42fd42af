//! Stopping a script that runs too long.
//!
//! The watchdog thread sends the worker's thread a real-time signal, again and again, for as long as the run that must
//! stop goes on. The handler of that signal compares the stopwatch and, if the run is still the one, sets a hook that raises an
//! error before every further instruction. The hook stays until the outermost call has ended, so no `pcall` loop can swallow
//! the error. Compiled loops look at the hook only if LuaJIT was built with `LUAJIT_ENABLE_CHECKHOOK`, which [`probe`]
//! makes sure of.

use crate::vm::state::{State, current_or_null};
use mlua_sys::lua51::*;
use sampan_host::{Error, ErrorKind, Watch};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The signal: one that nothing else in the process uses.
fn signal() -> c_int {
    libc::SIGRTMIN() + 5
}

thread_local! {
    /// The state that [`probe`] runs on this thread.
    static PROBE: Cell<State> = const { Cell::new(std::ptr::null_mut()) };
}

/// Called before every instruction once the script must stop. The place is named here, because the line of the innermost
/// function cannot be told any more once the error has left it.
unsafe extern "C-unwind" fn stop(state: State, _: *mut lua_Debug) {
    // SAFETY: hooks may raise.
    unsafe {
        luaL_where(state, 0);
        lua_pushstring(state, c"the script ran too long".as_ptr());
        lua_concat(state, 2);
        lua_error(state)
    }
}

/// Runs on the worker's thread, between any two of its instructions.
extern "C" fn on_signal(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: the pointer is null or names an isolate in the middle of a protected call on this very thread. `must_stop` reads two
    // atomics; it is true only between `enter` and `leave` of the run that was told to stop. `lua_sethook` is what LuaJIT's own
    // command line calls from its signal handler.
    unsafe {
        let inner = current_or_null();
        if !inner.is_null() && (*inner).watch.must_stop() {
            lua_sethook((*inner).state, Some(stop), LUA_MASKCOUNT, 1);
        }
        if !PROBE.get().is_null() {
            lua_sethook(PROBE.get(), Some(stop), LUA_MASKCOUNT, 1);
        }
    }
}

/// Takes the hook away again, after the outermost call has ended.
pub(crate) fn clear(state: State) {
    // SAFETY: the state is alive and nothing runs in it.
    unsafe {
        lua_sethook(state, None, 0, 0);
    }
}

/// Installs the signal handler, once per process, and lets `watch` interrupt the calling thread.
pub(crate) fn install(watch: &Watch) -> Result<(), Error> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    let installed = *INSTALLED.get_or_init(|| {
        // SAFETY: the handler is async-signal-safe (see above). `SA_ONSTACK` uses the alternate stack that Rust's runtime gives
        // each thread, `SA_RESTART` keeps system calls going.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal(), &raw const action, std::ptr::null_mut()) == 0
        }
    });
    if !installed {
        return Err(Error::new(
            ErrorKind::Internal,
            "cannot install the signal handler that stops runaway scripts",
        ));
    }
    // SAFETY: names the calling thread.
    let thread = unsafe { libc::pthread_self() };
    watch.on_stop(Box::new(move || {
        // SAFETY: the watchdog calls this only while the run that must stop goes on, so the thread exists. A worker's thread is
        // never detached, so its handle stays valid.
        unsafe {
            libc::pthread_kill(thread, signal());
        }
    }));
    Ok(())
}

/// Proves once per process that a compiled loop can be stopped; refuses to run otherwise.
pub(crate) fn probe() -> Result<(), Error> {
    static PROVEN: OnceLock<bool> = OnceLock::new();
    if *PROVEN.get_or_init(compiled_loop_stops) {
        return Ok(());
    }
    let text = "LuaJIT was built without LUAJIT_ENABLE_CHECKHOOK, so a runaway script could not be stopped; \
                build with TARGET_FLAGS=-DLUAJIT_ENABLE_CHECKHOOK, after `cargo clean -p mlua-sys`";
    Err(Error::new(ErrorKind::Internal, text))
}

/// Runs a loop that is compiled long before the signal comes, and stops it as a runaway would be stopped.
fn compiled_loop_stops() -> bool {
    // SAFETY: a private state, closed at the end; the chunk runs under `lua_pcall`; the signal goes to this thread, which waits
    // for the sender before it closes the state.
    unsafe {
        let state = luaL_newstate();
        if state.is_null() {
            return false;
        }
        luaopen_jit(state);
        lua_settop(state, 0);
        // Without the flag the loop runs to its end, in well under a second.
        let loaded = luaL_loadstring(
            state,
            c"local x = 0 for i = 1, 3e8 do x = x + i end".as_ptr(),
        );
        let thread = libc::pthread_self();
        let over = AtomicBool::new(false);
        PROBE.set(state);
        let status = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_micros(300));
                    libc::pthread_kill(thread, signal());
                }
            });
            let status = lua_pcall(state, 0, 0, 0);
            over.store(true, Ordering::Release);
            status
        });
        PROBE.set(std::ptr::null_mut());
        lua_close(state);
        loaded == LUA_OK && status == LUA_ERRRUN
    }
}
