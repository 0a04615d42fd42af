//! Runs a worker on a JavaScript thread: in turns, between those of the program's own loop.
//!
//! Sockets belong to a [pump](sampan_http::Pump) of the HTTP engine, whose doorbell wakes this thread.
//! Tasks are those of tokio's `LocalSet`, as in `sampan run`: what capabilities start stands in one queue with the
//! connections, so that a group of writes is committed behind all of them. Timers of tokio are kept by one thread
//! for all of them.

use napi_sys as sys;
use sampan_http::{Pump as Sockets, Runtime, Turn};
use sampan_napi::Env;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::future::Future;
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::LocalSet;

use crate::doorbell::Doorbell;

/// The longest time that one turn may last before the program's own loop gets its share.
const TURN_TIME_MAX: Duration = Duration::from_millis(2);

/// Rings for a turn, from any thread.
pub(super) struct Bell {
    /// The function; `None` once the environment has ended: the function goes with it.
    function: Mutex<Option<ThreadsafeFunction>>,
    /// True if a turn is on its way.
    is_rung: AtomicBool,
}

impl std::fmt::Debug for Bell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bell").finish_non_exhaustive()
    }
}

struct ThreadsafeFunction(sys::napi_threadsafe_function);

// SAFETY: Node-API says that such a function may be called from any thread.
unsafe impl Send for ThreadsafeFunction {}

impl Bell {
    /// Has the JavaScript thread turn soon.
    pub(super) fn ring(&self) {
        if self.is_rung.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(function) = &*self.function() {
            // SAFETY: it is there: `close` waits for the lock before the environment drops it.
            let _ = unsafe {
                sys::napi_call_threadsafe_function(
                    function.0,
                    null_mut(),
                    sys::ThreadsafeFunctionCallMode::nonblocking,
                )
            };
        }
    }

    /// Never rings again.
    fn close(&self) {
        self.function().take();
    }

    fn function(&self) -> MutexGuard<'_, Option<ThreadsafeFunction>> {
        self.function.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The worker's runtime on a JavaScript thread. There is one, for as long as the process: its tasks may not be dropped
/// when the environment has gone.
pub(super) struct Pump {
    pump: Sockets,
    doorbell: Doorbell,
    bell: Arc<Bell>,
    is_turning: Cell<bool>,
    before: RefCell<Option<Box<dyn Fn()>>>,
}

thread_local! {
    static PUMP: Cell<Option<&'static Pump>> = const { Cell::new(None) };
}

impl Pump {
    /// Makes the pump of this thread, and its doorbell.
    pub(super) fn start(env: Env<'_>) -> io::Result<&'static Self> {
        let pump = Sockets::new()?;
        let bell = Arc::new(Bell {
            function: Mutex::new(Some(threadsafe_function(env)?)),
            is_rung: AtomicBool::new(false),
        });
        // Hooks run last in, first out: this one before that of the function.
        // SAFETY: the environment is that of this thread. The hook touches what this thread keeps, and the lock of the
        // bell.
        let _ = unsafe { sys::napi_add_env_cleanup_hook(env.raw(), Some(ended), null_mut()) };
        let ringing = Arc::clone(&bell);
        let doorbell = Doorbell::start(&pump, move || ringing.ring())?;
        // What scripts begin outside of a turn is a task of this thread too.
        std::mem::forget(Box::leak(Box::new(keep_time()?)).enter());
        let tasks = LocalSet::new();
        std::mem::forget(tasks.enter());
        // A set without tasks would be ready, and say nothing of those to come.
        pump.spawn(async move { tasks.run_until(std::future::pending()).await });
        let pump: &'static Self = Box::leak(Box::new(Self {
            pump,
            doorbell,
            bell,
            is_turning: Cell::new(false),
            before: RefCell::default(),
        }));
        PUMP.set(Some(pump));
        Ok(pump)
    }

    pub(super) fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
    }

    /// Returns the sockets and timers.
    pub(super) fn sockets(&self) -> Sockets {
        self.pump.clone()
    }

    /// Has a turn come soon.
    pub(super) fn ring(&self) {
        if !self.is_turning.get() {
            self.bell.ring();
        }
    }

    /// Has `before` called at the beginning of each turn.
    pub(super) fn before_each_turn(&self, before: Box<dyn Fn()>) {
        self.before.replace(Some(before));
        self.bell.ring();
    }

    /// Runs a task on this thread.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        drop(tokio::task::spawn_local(task));
    }

    /// Runs what is ready.
    fn turn(&self) {
        if self.is_turning.replace(true) {
            return;
        }
        if let Some(before) = &*self.before.borrow() {
            before();
        }
        let turn = self.pump.turn(TURN_TIME_MAX);
        self.is_turning.set(false);
        match turn {
            Ok(Turn::Idle) if self.doorbell.arm().is_ok() => {}
            // The program's loop goes round. After a turn with work too: to look once more costs less than to be woken.
            _ => self.bell.ring(),
        }
    }
}

/// A runtime on a thread of its own, whose timers and threads tasks may use anywhere. The process has one.
fn keep_time() -> io::Result<Handle> {
    static TIME: Mutex<Option<Handle>> = Mutex::new(None);
    let mut time = TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*time {
        return Ok(handle.clone());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()?;
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name("sampan-timers".into())
        .stack_size(256 * 1024)
        .spawn(move || runtime.block_on(std::future::pending::<()>()))?;
    Ok(time.insert(handle).clone())
}

fn threadsafe_function(env: Env<'_>) -> io::Result<ThreadsafeFunction> {
    let failed = || io::Error::other("Node-API has no room for a thread-safe function");
    let name = env.string("sampan").map_err(|_| failed())?;
    let mut function = null_mut();
    // SAFETY: the environment is that of this thread, the handle is live, and the callback is of the right type.
    let status = unsafe {
        sys::napi_create_threadsafe_function(
            env.raw(),
            null_mut(),
            null_mut(),
            name.raw(),
            0,
            1,
            null_mut(),
            None,
            null_mut(),
            Some(rung),
            &raw mut function,
        )
    };
    if status != sys::Status::napi_ok {
        return Err(failed());
    }
    Ok(ThreadsafeFunction(function))
}

// SAFETY: called by Node-API alone, on the thread of the environment that ends.
unsafe extern "C" fn ended(_: *mut c_void) {
    if let Some(pump) = PUMP.get() {
        pump.bell.close();
    }
}

// SAFETY: called by Node-API alone, on the JavaScript thread.
unsafe extern "C" fn rung(env: sys::napi_env, _: sys::napi_value, _: *mut c_void, _: *mut c_void) {
    let Some(pump) = PUMP.get().filter(|_| !env.is_null()) else {
        return;
    };
    // Before the turn: a ring from now on is for the next one.
    pump.bell.is_rung.swap(false, Ordering::AcqRel);
    // A panic must not cross C; tasks have handlers of their own, so this is a fault of the pump.
    let turned = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pump.turn()));
    if turned.is_err() {
        std::process::abort();
    }
}
