//! Runs the worker on the JavaScript thread: in turns, between those of the program's own loop.
//!
//! Each turn runs what is ready, looks at the sockets without waiting, and ends when nothing is ready. A doorbell thread waits meanwhile:
//! for sockets, or for a time, since nobody says when the next timer is due. The JavaScript thread is entered once for all that is ready.

use napi_sys as sys;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use sampan_napi::Env;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::future::Future;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

/// How many rounds of tasks one turn has at most, so that the program's own loop gets its share.
const ROUNDS_MAX: u32 = 64;

/// The doorbell looks for timers after this time, in microseconds; then less and less often while nothing happens.
const TIMER_MICROS_MIN: u64 = 1_000;
/// It looks at least so often, in microseconds.
const TIMER_MICROS_MAX: u64 = 100_000;

/// Rings for a turn, from any thread.
pub(super) struct Bell {
    function: ThreadsafeFunction,
    /// Whether a turn is on its way.
    is_rung: AtomicBool,
    /// Whether a turn goes on.
    is_turning: AtomicBool,
    /// Whether a task was woken that has not run.
    is_woken: AtomicBool,
    /// How long the doorbell waits for timers, in microseconds.
    patience: AtomicU64,
    /// Wakes the doorbell, so that it waits less long.
    poke: OwnedFd,
    /// How many turns there were.
    turns: Mutex<u64>,
    turned: Condvar,
}

impl std::fmt::Debug for Bell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bell").finish_non_exhaustive()
    }
}

struct ThreadsafeFunction(sys::napi_threadsafe_function);

// SAFETY: Node-API says that such a function may be called from any thread. It is never released, so it is there for as long as the process.
unsafe impl Send for ThreadsafeFunction {}
// SAFETY: as above.
unsafe impl Sync for ThreadsafeFunction {}

impl Bell {
    /// Has the JavaScript thread turn soon.
    pub(super) fn ring(&self) {
        if self.is_rung.swap(true, Ordering::AcqRel) {
            return;
        }
        // SAFETY: see `ThreadsafeFunction`.
        let _ = unsafe {
            sys::napi_call_threadsafe_function(
                self.function.0,
                null_mut(),
                sys::ThreadsafeFunctionCallMode::nonblocking,
            )
        };
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        if !self.is_turning.load(Ordering::Acquire) {
            self.ring();
        }
    }
}

/// The worker's runtime on the JavaScript thread. There is one, for as long as the process.
pub(super) struct Pump {
    runtime: Runtime,
    local: RefCell<LocalSet>,
    bell: Arc<Bell>,
    waker: Waker,
    is_turning: Cell<bool>,
    before: RefCell<Option<Box<dyn Fn()>>>,
}

thread_local! {
    static PUMP: Cell<Option<&'static Pump>> = const { Cell::new(None) };
}

impl Pump {
    /// Makes the pump of this thread, and its doorbell.
    pub(super) fn start(env: Env) -> io::Result<&'static Self> {
        let before = epolls();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let epoll = epolls().into_iter().find(|fd| !before.contains(fd));
        let epoll = epoll.ok_or_else(|| io::Error::other("the runtime has no epoll set"))?;
        let bell = Arc::new(Bell {
            function: threadsafe_function(env)?,
            is_rung: AtomicBool::new(false),
            is_turning: AtomicBool::new(false),
            is_woken: AtomicBool::new(true),
            patience: AtomicU64::new(TIMER_MICROS_MIN),
            poke: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            turns: Mutex::default(),
            turned: Condvar::new(),
        });
        // It lives as long as the process: its tasks may not be dropped when the environment has gone.
        let pump: &'static Self = Box::leak(Box::new(Self {
            runtime,
            local: RefCell::new(LocalSet::new()),
            waker: Waker::from(Arc::clone(&bell)),
            bell: Arc::clone(&bell),
            is_turning: Cell::new(false),
            before: RefCell::default(),
        }));
        // What scripts begin outside of a turn is a task of this runtime too.
        std::mem::forget(pump.runtime.enter());
        std::mem::forget(pump.local.borrow().enter());
        PUMP.set(Some(pump));
        std::thread::Builder::new()
            .name("sampan-doorbell".into())
            .stack_size(64 * 1024)
            .spawn(move || attend(epoll, &bell))?;
        Ok(pump)
    }

    pub(super) fn bell(&self) -> Arc<Bell> {
        Arc::clone(&self.bell)
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
        self.bell.is_turning.store(true, Ordering::Release);
        if let Some(before) = &*self.before.borrow() {
            before();
        }
        let mut rounds = 0;
        let mut has_looked = false;
        self.runtime.block_on(std::future::poll_fn(|cx| {
            while self.bell.is_woken.swap(false, Ordering::AcqRel) {
                rounds += 1;
                has_looked = false;
                let mut context = Context::from_waker(&self.waker);
                // A set without tasks is ready, and says nothing of those to come.
                let _ = Pin::new(&mut *self.local.borrow_mut()).poll(&mut context);
                if rounds >= ROUNDS_MAX {
                    return Poll::Ready(());
                }
            }
            if has_looked {
                return Poll::Ready(());
            }
            // The runtime looks at its sockets and timers before it polls this again.
            has_looked = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        }));
        self.is_turning.set(false);
        self.bell.is_turning.store(false, Ordering::Release);
        if self.bell.is_woken.load(Ordering::Acquire) {
            self.bell.ring();
        }
        let patience = self.bell.patience.swap(TIMER_MICROS_MIN, Ordering::AcqRel);
        if patience > 4 * TIMER_MICROS_MIN {
            let _ = rustix::io::write(&self.bell.poke, &1_u64.to_ne_bytes());
        }
        let mut turns = self
            .bell
            .turns
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *turns += 1;
        self.bell.turned.notify_all();
    }
}

/// The descriptors of this process that are epoll sets.
fn epolls() -> Vec<RawFd> {
    let entries = std::fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let sets = entries.filter(|entry| {
        let link = std::fs::read_link(entry.path());
        link.is_ok_and(|link| link.as_os_str() == "anon_inode:[eventpoll]")
    });
    let numbers = sets.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.collect()
}

/// Waits for what a turn is needed for, on a thread of its own, for as long as the process.
fn attend(epoll: RawFd, bell: &Bell) {
    // SAFETY: the set belongs to the pump's runtime, which lives as long as the process.
    let epoll = unsafe { BorrowedFd::borrow_raw(epoll) };
    let mut seen = 0;
    loop {
        let micros = bell.patience.load(Ordering::Acquire);
        let wait = Duration::from_micros(micros);
        let wait = Timespec {
            tv_sec: wait.as_secs() as i64,
            tv_nsec: wait.subsec_nanos().into(),
        };
        let mut fds = [
            PollFd::from_borrowed_fd(epoll, PollFlags::IN),
            PollFd::new(&bell.poke, PollFlags::IN),
        ];
        let _ = poll(&mut fds, Some(&wait));
        let (has_events, is_poked) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        if is_poked {
            let _ = rustix::io::read(&bell.poke, &mut [0; 8]);
            if !has_events {
                continue;
            }
        }
        bell.ring();
        let mut turns = bell.turns.lock().unwrap_or_else(PoisonError::into_inner);
        while *turns == seen {
            turns = bell
                .turned
                .wait(turns)
                .unwrap_or_else(PoisonError::into_inner);
        }
        seen = *turns;
        drop(turns);
        let longer = if has_events {
            TIMER_MICROS_MIN
        } else {
            micros + micros / 4
        };
        bell.patience
            .store(longer.min(TIMER_MICROS_MAX), Ordering::Release);
    }
}

fn threadsafe_function(env: Env) -> io::Result<ThreadsafeFunction> {
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

// SAFETY: called by Node-API alone, on the JavaScript thread.
unsafe extern "C" fn rung(env: sys::napi_env, _: sys::napi_value, _: *mut c_void, _: *mut c_void) {
    let Some(pump) = PUMP.get().filter(|_| !env.is_null()) else {
        return;
    };
    // Before the turn: whoever rings now rings for the next one.
    pump.bell.is_rung.store(false, Ordering::Release);
    // A panic must not cross C; tasks have handlers of their own, so this is a fault of the pump.
    let turned = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pump.turn()));
    if turned.is_err() {
        std::process::abort();
    }
}
