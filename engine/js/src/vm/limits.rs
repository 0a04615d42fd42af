//! The limits of a script, and the way to stop it.
//!
//! QuickJS polls for interrupts where it loops and calls, but asks its handler only once in ten thousand polls: a loop
//! over a built-in that takes a millisecond would run on for seconds. So the watchdog's kick sets the poll counter of
//! the context to zero, from its own thread: the next poll asks. The counter has no function in the API; its place in
//! the context is found by a probe (see [`find_counter`]), and without it everything works but less promptly.

use crate::vm::isolate::Core;
use rquickjs::qjs;
use sampan_host::Watch;
use sampan_host::watch::Kick;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The part of a thread's stack scripts may use, in bytes, counted from where the isolate is entered.
pub(crate) const SCRIPT_STACK_BYTES_MAX: usize = 1024 * 1024;

/// The stack that a thread needs to run an isolate, in bytes: what scripts may use, and as much again for the server
/// above and for native functions below them.
pub const STACK_BYTES: usize = 4 * 1024 * 1024;

/// The most futures that one request may wait for at a time.
pub(crate) const PENDING_MAX: usize = 4096;

/// The most requests of one isolate that may have work left over after their answers.
pub(crate) const BACKGROUND_MAX: usize = 1024;

/// The time that work may go on after the answer, in milliseconds; it is looked at when that work wakes up.
pub(crate) const BACKGROUND_MILLIS_MAX: u64 = 30_000;

/// The interval at which the futures of a request are polled before others get their turn.
pub(crate) const ROUNDS_MAX: usize = 64;

/// The largest array that built-ins without interrupt polls work on, in elements.
pub(crate) const BUILTIN_LENGTH_MAX: i64 = 2_000_000;

/// The longest array that is sorted by the built-in order without polls, in elements.
pub(crate) const SORT_LENGTH_MAX: i64 = 50_000;

/// The limit for objects that are no arrays but have a length, in elements: each costs a search along their prototypes.
pub(crate) const ARRAY_LIKE_LENGTH_MAX: i64 = 50_000;

/// The most prototypes that an object may have, one behind the other, that such a built-in works on.
pub(crate) const PROTOTYPES_MAX: usize = 16;

/// The allowed work of a search for a text may be, in characters compared.
pub(crate) const SEARCH_STEPS_MAX: i64 = 100_000_000;

/// The allowed work of a normalization may be: the sum of the squares of the lengths of runs that may be reordered, in
/// characters.
pub(crate) const NORMALIZE_STEPS_MAX: i64 = 100_000_000;

/// The largest integer may be that becomes text, in bytes: about 50,000 digits. The work grows with their square.
pub(crate) const INTEGER_BYTES_MAX: usize = 20_800;

/// The greatest depth to which values may nest on their way to and from capabilities.
pub(crate) const VALUE_DEPTH_MAX: usize = 128;

/// Below this many bytes in use no cyclic garbage is looked for: a collection looks at everything that is alive.
pub(crate) const GARBAGE_BYTES_MIN: usize = 2 * 1024 * 1024;

/// After how many values a writer or reader of values looks whether it must stop.
pub(crate) const VALUES_PER_CHECK: u32 = 1024;

/// Above this share of its limit, in quarters, an isolate that has collected its garbage is worn out.
pub(crate) const WORN_OUT_QUARTERS: usize = 3;

/// The interrupt handler of a runtime does: it says stop for as long as the run is to stop, and takes samples where
/// they are wanted.
///
/// # Safety
/// `opaque` must be the address of the runtime's [`Core`].
pub(crate) unsafe extern "C" fn interrupt(_: *mut qjs::JSRuntime, opaque: *mut c_void) -> c_int {
    // SAFETY: set with the core's address, which outlives the runtime.
    let core = unsafe { &*opaque.cast::<Core>() };
    if core.sampler.get().is_some() {
        if core.is_sampling() {
            return 0;
        }
        core.sample();
    }
    c_int::from(core.must_stop())
}

/// The poll counters of the isolates of one worker, which the watchdog's thread may set.
#[derive(Default)]
pub(crate) struct Counters(Mutex<Vec<Address>>);

#[derive(PartialEq)]
struct Address(*const AtomicI32);

// SAFETY: the address is only followed under the mutex, which its owner takes to remove it before the context goes.
unsafe impl Send for Address {}

impl Counters {
    fn lock(&self) -> MutexGuard<'_, Vec<Address>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the next poll of each isolate ask its interrupt handler, which knows whether it is meant. QuickJS writes
    /// the same words without knowing of this thread, so one call may be lost; the watchdog calls until the run has
    /// ended.
    fn expire(&self) {
        for Address(counter) in &*self.lock() {
            // SAFETY: whoever added it removes it, under the mutex, before it is freed.
            unsafe { &**counter }.store(0, Ordering::Relaxed);
        }
    }
}

thread_local! {
    /// A watch keeps the first kick that it is given, so all isolates of a worker share it.
    static COUNTERS: RefCell<Vec<(Weak<Watch>, Arc<Counters>)>> = const { RefCell::new(Vec::new()) };
}

/// The counters that the kick of `watch` expires.
fn counters_of(watch: &Arc<Watch>) -> Arc<Counters> {
    COUNTERS.with_borrow_mut(|known| {
        known.retain(|(other, _)| other.strong_count() > 0);
        if let Some((_, counters)) = known
            .iter()
            .find(|(other, _)| other.as_ptr() == Arc::as_ptr(watch))
        {
            return counters.clone();
        }
        let counters = Arc::new(Counters::default());
        known.push((Arc::downgrade(watch), counters.clone()));
        let kicked = counters.clone();
        watch.on_stop(Box::new(move || kicked.expire()));
        counters
    })
}

/// The place of a context's poll counter.
pub(crate) struct Stopper {
    place: Option<*const AtomicI32>,
    shared: Arc<Counters>,
}

impl Stopper {
    /// Looks for the counter of `ctx` and lets the watchdog expire it.
    ///
    /// # Safety
    /// The context must be alive and run nothing, and it must outlive the stopper.
    pub(crate) unsafe fn new(ctx: *mut qjs::JSContext, watch: &Arc<Watch>) -> Self {
        // SAFETY: the caller promises a context that is alive and runs nothing.
        let place = unsafe { find_counter(ctx) };
        let shared = counters_of(watch);
        shared.lock().extend(place.map(Address));
        Self { place, shared }
    }

    /// The counter, for those who live in the context.
    pub(crate) fn counter(&self) -> Option<*const AtomicI32> {
        self.place
    }

    /// Returns the function that makes the next poll ask, from any thread.
    pub(crate) fn expiring(&self) -> Kick {
        let shared = self.shared.clone();
        Box::new(move || shared.expire())
    }

    /// Makes the next poll of this thread ask.
    pub(crate) fn expire_here(&self) {
        if let Some(counter) = self.place {
            // SAFETY: the context is alive as long as its stopper.
            unsafe { &*counter }.store(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.shared
            .lock()
            .retain(|Address(counter)| Some(*counter) != self.place);
    }
}

/// Finds the poll counter in a context: a word that is one less after each native call, over several calls. The
/// context's opaque pointer is its last member, so a unique value there marks how far the probe may read.
///
/// # Safety
/// The context must be alive and not running anything.
unsafe fn find_counter(ctx: *mut qjs::JSContext) -> Option<*const AtomicI32> {
    /// More words than a context has.
    const WORDS_MAX: usize = 512;
    // SAFETY: looks at none of its arguments.
    unsafe extern "C" fn nothing(
        _: *mut qjs::JSContext,
        _: qjs::JSValue,
        _: c_int,
        _: *mut qjs::JSValue,
    ) -> qjs::JSValue {
        qjs::JS_UNDEFINED
    }
    // SAFETY: the reads end at the member that holds the marker, which lies inside the context; the opaque pointer is
    // put back; the function is released.
    unsafe {
        let before = qjs::JS_GetContextOpaque(ctx);
        let marker = 0x5a3c_96e1_7b4d_2f08_usize as *mut c_void;
        qjs::JS_SetContextOpaque(ctx, marker);
        let words = ctx.cast::<*mut c_void>().cast_const();
        let length = (0..WORDS_MAX).find(|&index| words.add(index).read() == marker);
        qjs::JS_SetContextOpaque(ctx, before);
        let halves = length? * 2;
        let snapshot = || -> Vec<i32> {
            (0..halves)
                .map(|index| words.cast::<i32>().add(index).read())
                .collect()
        };
        let function = qjs::JS_NewCFunction2(
            ctx,
            Some(nothing),
            c"probe".as_ptr(),
            0,
            qjs::JSCFunctionEnum_JS_CFUNC_generic,
            0,
        );
        let call = || {
            qjs::JS_FreeValue(
                ctx,
                qjs::JS_Call(ctx, function, qjs::JS_UNDEFINED, 0, std::ptr::null_mut()),
            )
        };
        // A new counter is zero: the first poll sets it.
        call();
        let first = snapshot();
        let mut candidates: Vec<usize> = (0..halves).collect();
        for calls in 1..=5_i32 {
            call();
            let now = snapshot();
            candidates.retain(|&index| first[index].wrapping_sub(now[index]) == calls);
        }
        qjs::JS_FreeValue(ctx, function);
        match candidates[..] {
            [index] => Some(words.cast::<AtomicI32>().add(index)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_poll_counter_is_found() {
        let runtime = rquickjs::Runtime::new().expect("a runtime");
        let context = rquickjs::Context::full(&runtime).expect("a context");
        // SAFETY: the context is alive and runs nothing.
        let counter = unsafe { find_counter(context.as_raw().as_ptr()) }.expect("the counter");
        // SAFETY: it lies in the context.
        let counter = unsafe { &*counter };
        let before = counter.load(Ordering::Relaxed);
        context
            .with(|ctx| ctx.eval::<(), _>("(() => {})(); (() => {})();"))
            .expect("it runs");
        assert!((1..=10).contains(&(before - counter.load(Ordering::Relaxed))));
    }
}
