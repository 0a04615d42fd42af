//! Stopping a script that runs too long.
//!
//! QuickJS polls for interrupts where it loops and calls, but asks its interrupt handler at every ten-thousandth poll
//! only. That is too late: a loop that multiplies integers of 16,000 bits would go on for two seconds, and one that
//! compares texts of 50 MB for a minute. QuickJS has no function that makes the next poll ask. So the watchdog's thread
//! sends a real-time signal to the thread that runs the script, and the signal's handler sets the poll counter of the
//! context that runs there to zero. No other thread touches the counter, so there is no data race.
//!
//! The signal may arrive while QuickJS decrements the counter, and then the zero is lost. The watchdog repeats the
//! signal until the run has ended. A script that asks by itself just when it is told to stop is stopped before the
//! signal comes: that signal is left out, so that it does not interrupt the calls that pass the error on, which has the
//! line of the script. The place of the counter is found by a probe (see
//! [`places`](crate::vm::probe::places)). Without it a stop waits for the ten-thousandth poll.

use sampan_host::watch::Kick;
use sampan_host::{Error, ErrorKind, Watch};
use std::ffi::c_int;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The signal: one that nothing else in the process uses. `engine/lua` has the one before it.
fn signal() -> c_int {
    libc::SIGRTMIN() + 6
}

/// The poll counter of a context that is alive.
#[derive(Clone, Copy)]
pub(crate) struct PollCounter(pub(super) NonNull<c_int>);

impl PollCounter {
    /// Makes the next poll ask.
    pub(crate) fn expire(self) {
        // SAFETY: the context is alive (`of`). It runs on this thread, which is in a native function that the context
        // calls, or outside of it. So nothing reads or writes the counter meanwhile.
        unsafe { self.0.as_ptr().write_volatile(0) };
    }
}

thread_local! {
    /// The poll counter of the context that runs on this thread; null while none does.
    static RUNNING: AtomicPtr<c_int> = const { AtomicPtr::new(null_mut()) };
    /// True from the moment at which the context was stopped until the next signal.
    static IS_STOPPED: AtomicBool = const { AtomicBool::new(false) };
}

/// Leaves the next signal out: the context that runs on this thread was stopped just now.
#[cold]
pub(crate) fn skip_next() {
    IS_STOPPED.with(|is_stopped| is_stopped.store(true, Ordering::Relaxed));
}

/// Lets the next signal interrupt: the run that was stopped has ended.
#[cold]
pub(crate) fn skip_none() {
    IS_STOPPED.with(|is_stopped| is_stopped.store(false, Ordering::Relaxed));
}

/// Lets the signal reach a context for as long as this exists, and then the one that it reached before.
pub(crate) struct Reachable {
    before: *mut c_int,
}

impl Reachable {
    /// Lets the signal reach the context of `counter`.
    ///
    /// # Safety
    /// The context must stay alive, and on this thread, until the result is dropped. Results must be dropped in the
    /// reverse order in which they were made.
    #[inline]
    pub(crate) unsafe fn new(counter: Option<PollCounter>) -> Self {
        let counter = counter.map_or(null_mut(), |counter| counter.0.as_ptr());
        RUNNING.with(|running| {
            let before = running.load(Ordering::Relaxed);
            running.store(counter, Ordering::Relaxed);
            Self { before }
        })
    }
}

impl Drop for Reachable {
    #[inline]
    fn drop(&mut self) {
        RUNNING.with(|running| running.store(self.before, Ordering::Relaxed));
    }
}

/// Runs on the thread that runs the script, between any two of its instructions.
extern "C" fn on_signal(_: c_int) {
    let counter = RUNNING.with(|running| running.load(Ordering::Relaxed));
    let is_late = IS_STOPPED.with(|is_stopped| is_stopped.swap(false, Ordering::Relaxed));
    if !counter.is_null() && !is_late {
        // SAFETY: the counter lies in a context that is alive and runs on this very thread (`Reachable`). The thread
        // does nothing else until this handler returns. QuickJS reads and writes the counter as one aligned word, and
        // keeps it in no register from one poll to the next, because it calls functions in between.
        unsafe { counter.write_volatile(0) };
    }
}

/// Installs the signal handler, once per process, and lets `watch` interrupt the calling thread.
pub(crate) fn install(watch: &Watch) -> Result<(), Error> {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    let is_installed = *INSTALLED.get_or_init(|| {
        // SAFETY: the structure is plain data, for which zeros are valid, and lives during the call. The handler is
        // async-signal-safe: it reads a thread-local without destructor, which this thread has used before it gets a
        // signal, and writes one word. `SA_ONSTACK` uses the alternate stack that Rust's runtime gives each thread,
        // `SA_RESTART` keeps system calls going.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal(), &raw const action, null_mut()) == 0
        }
    });
    if !is_installed || !accept_signal() {
        return Err(Error::new(
            ErrorKind::Internal,
            "cannot install the signal handler that stops runaway scripts",
        ));
    }
    // The first use of a thread-local may allocate memory, which a signal handler must not.
    RUNNING.with(|running| running.load(Ordering::Relaxed));
    skip_none();
    watch.on_stop(signalling());
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
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, null_mut()) == 0
    }
}

/// Returns a function that sends the calling thread the signal, from any thread and at any time. After the calling
/// thread has ended the function does nothing.
pub(crate) fn signalling() -> Kick {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_expires_the_counter_that_is_reachable() {
        let watch = Watch::default();
        install(&watch).expect("a handler");
        // Stands for a counter within a context.
        let mut outer = 7;
        let mut inner = 7;
        let counter = |place: &mut c_int| Some(PollCounter(NonNull::from(place)));
        let (outer_counter, inner_counter) = (counter(&mut outer), counter(&mut inner));
        let read = |counter: Option<PollCounter>| {
            let place = counter.expect("a counter").0;
            // SAFETY: the place is a local variable of this test.
            unsafe { place.as_ptr().read_volatile() }
        };
        let kick = signalling();
        // `pthread_kill` to the own thread returns after the handler has run.
        kick();
        assert_eq!((read(outer_counter), read(inner_counter)), (7, 7));
        {
            // SAFETY: both places live longer, and the inner one is dropped first.
            let _outer = unsafe { Reachable::new(outer_counter) };
            {
                // SAFETY: the place lives longer, and this is dropped before the outer one.
                let _inner = unsafe { Reachable::new(inner_counter) };
                kick();
                assert_eq!((read(outer_counter), read(inner_counter)), (7, 0));
            }
            kick();
            assert_eq!(read(outer_counter), 0);
            outer_counter.expect("a counter").expire();
        }
        // SAFETY: the place is a local variable of this test.
        unsafe {
            outer_counter
                .expect("a counter")
                .0
                .as_ptr()
                .write_volatile(7)
        };
        kick();
        assert_eq!(read(outer_counter), 7);
    }

    #[test]
    fn the_signal_behind_a_stop_is_left_out() {
        install(&Watch::default()).expect("a handler");
        let mut place = 7;
        let counter = PollCounter(NonNull::from(&mut place));
        // SAFETY: the place is a local variable of this test.
        let read = || unsafe { counter.0.as_ptr().read_volatile() };
        // SAFETY: the counter is a local variable of this test, on this thread, and outlives the result.
        let _reachable = unsafe { Reachable::new(Some(counter)) };
        let kick = signalling();
        skip_next();
        kick();
        assert_eq!(read(), 7);
        kick();
        assert_eq!(read(), 0, "only one is left out");
    }

    #[test]
    fn a_thread_that_blocks_all_signals_is_stopped_too() {
        let thread = std::thread::spawn(|| {
            // SAFETY: the set is plain data, for which zeros are valid, and lives during the calls.
            unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&raw mut set);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, null_mut());
            }
            install(&Watch::default()).expect("a handler");
            let mut place = 7;
            let counter = PollCounter(NonNull::from(&mut place));
            // SAFETY: the counter is a local variable of this thread, and outlives the result.
            let _reachable = unsafe { Reachable::new(Some(counter)) };
            signalling()();
            // SAFETY: the place is a local variable of this test.
            unsafe { counter.0.as_ptr().read_volatile() }
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

    #[test]
    fn the_counter_of_another_context_counts_its_polls() {
        let runtime = rquickjs::Runtime::new().expect("a runtime");
        let context = rquickjs::Context::full(&runtime).expect("a context");
        // SAFETY: the context is alive until the end of the test.
        let counter = unsafe { PollCounter::of(context.as_raw()) }.expect("the place");
        // SAFETY: the counter lies in the context, which runs nothing now.
        let read = || unsafe { counter.0.as_ptr().read_volatile() };
        let run = |source: &str| {
            context
                .with(|ctx| ctx.eval::<(), _>(source))
                .expect("it runs")
        };
        run("1");
        let before = read();
        run("(() => {})(); (() => {})();");
        assert!((1..=10).contains(&(before - read())));
        counter.expire();
        assert_eq!(read(), 0);
    }
}
