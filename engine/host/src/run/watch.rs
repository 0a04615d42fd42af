//! The stopwatch of one worker: how a watchdog thread notices a script that runs too long, and how it says stop.
//!
//! Entering and leaving a script each cost one store; no clock is read. The epoch is odd while a script runs. The
//! watchdog looks at it every few milliseconds: an odd epoch that has not changed for longer than the limit is a
//! runaway, and the watchdog stores that epoch as the one to be stopped. A stop that arrives late names an epoch that
//! is over, so it can never hit the next request.

use crate::run::samples::Samples;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Wakes the engine of a worker whose script must stop, from another thread. It may be called at any time, also after
/// the run, the isolate or the worker's thread has ended.
pub type Kick = Box<dyn Fn() + Send + Sync>;

/// Receives the number of a route, and about the time that a run of it is going to take.
pub type ForeseenRun = Box<dyn Fn(u32, Duration) + Send + Sync>;

/// The reason why a run must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// The run takes longer than `script_millis_max`.
    TooLong,
    /// The caller that waited for its result has gone.
    GivenUp,
    /// The isolate is about to end.
    Closing,
}

/// Shared by a worker's isolate and the watchdog.
#[derive(Default)]
pub struct Watch {
    epoch: AtomicU64,
    stop: AtomicU64,
    /// The epochs of the runs that were stopped last for these causes. Others took too long.
    given_up: AtomicU64,
    closing: AtomicU64,
    handler: AtomicU64,
    /// The route whose request runs; 0 if none does.
    route: AtomicU32,
    kick: OnceLock<Kick>,
    foreseen: OnceLock<ForeseenRun>,
    /// The time by which runs that have a limit of their own must end, in milliseconds since [`origin`]; 0 for the
    /// usual limit.
    until: AtomicU64,
    samples: Option<Box<Samples>>,
}

impl Watch {
    /// A stopwatch that also keeps samples of what runs.
    pub fn sampled() -> Self {
        Self {
            samples: Some(Box::default()),
            ..Self::default()
        }
    }

    /// The samples of what runs, if there are to be any.
    pub fn samples(&self) -> Option<&Samples> {
        self.samples.as_deref()
    }

    /// Called by the engine when it enters a script. Only the worker's own thread may call this.
    #[inline]
    pub fn enter(&self, handler: u32) {
        self.handler.store(u64::from(handler), Ordering::Relaxed);
        let epoch = self.epoch.load(Ordering::Relaxed);
        self.epoch.store(epoch | 1, Ordering::Release);
    }

    /// Called by the engine when the script has returned. True if that run was told to stop.
    #[inline]
    pub fn leave(&self) -> bool {
        let epoch = self.epoch.load(Ordering::Relaxed);
        self.epoch.store((epoch | 1) + 1, Ordering::Release);
        self.stop.load(Ordering::Acquire) == epoch
    }

    /// Reports whether the script that runs now has been told to stop. Safe to call from a signal handler.
    #[inline]
    pub fn must_stop(&self) -> bool {
        let epoch = self.epoch.load(Ordering::Acquire);
        epoch & 1 == 1 && self.stop.load(Ordering::Acquire) == epoch
    }

    /// Installs a way to be interrupted, for engines that do not poll. The watchdog's thread calls it again and again
    /// for as long as the run that must stop goes on. A call may come late, so it must be safe at any time.
    pub fn on_stop(&self, kick: Kick) {
        // A second engine on the same worker replaces an isolate; the first way of interrupting the thread stays right.
        let _ = self.kick.set(kick);
    }

    /// Sets when the runs from now on must end, in place of the usual limit, which `None` puts back. Only the worker's
    /// own thread may call this.
    pub fn limit_until(&self, until: Option<Instant>) {
        // Rounded up: no run is stopped before its limit.
        let millis = until.map_or(0, |until| millis_of(until + JUST_BELOW_A_MILLI));
        self.until.store(millis, Ordering::Release);
    }

    /// Shortens a limit that [`Watch::limit_until`] has set.
    pub fn shorten_to(&self, time_max: Duration) {
        let until = self.until.load(Ordering::Acquire);
        if until != 0 {
            let sooner = millis_of(Instant::now() + time_max);
            self.until.store(until.min(sooner), Ordering::Release);
        }
    }

    /// Reports whether a run that has gone on for `age` has passed its limit, where the usual one is `time_max`.
    pub fn is_over(&self, age: Duration, time_max: Duration) -> bool {
        match self.until.load(Ordering::Acquire) {
            0 => age >= time_max,
            until => millis_of(Instant::now()) >= until,
        }
    }

    /// The epoch now: odd while a script runs.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// The handler that was entered last, for the log.
    pub fn handler(&self) -> u32 {
        self.handler.load(Ordering::Relaxed) as u32
    }

    /// Sets the number of the route whose request runs from now on, 0 for none, and returns the one before. Only the
    /// worker's own thread may call this.
    #[inline]
    pub fn set_route(&self, route: u32) -> u32 {
        let before = self.route.load(Ordering::Relaxed);
        self.route.store(route, Ordering::Relaxed);
        before
    }

    /// The number of the route whose request runs; 0 if none does.
    pub fn route(&self) -> u32 {
        self.route.load(Ordering::Relaxed)
    }

    /// Has `tell` called with each long run that is foreseen. The first call counts.
    pub fn on_foreseen(&self, tell: ForeseenRun) {
        let _ = self.foreseen.set(tell);
    }

    /// Tells that a run of the route with this number, see [`Watch::route`], is going to take about so long. A
    /// capability knows that of a large result that it is about to give.
    pub fn foresee(&self, route: u32, time: Duration) {
        if let Some(tell) = self.foreseen.get() {
            tell(route, time);
        }
    }

    /// Called by the thread that samples: a script that runs now is due to show its stack.
    pub fn sample(&self) {
        let (epoch, handler) = (self.epoch(), self.handler());
        if let Some(samples) = &self.samples
            && self.epoch() == epoch
        {
            samples.look(epoch, handler);
        }
    }

    /// Asks the run of `epoch` to stop, for this cause.
    pub fn stop_for(&self, epoch: u64, cause: StopCause) {
        match cause {
            StopCause::TooLong => {}
            StopCause::GivenUp => self.given_up.store(epoch, Ordering::Release),
            StopCause::Closing => self.closing.store(epoch, Ordering::Release),
        }
        self.stop(epoch);
    }

    /// Returns the reason why the run that was told to stop last was told so.
    pub fn cause(&self) -> StopCause {
        let epoch = self.stop.load(Ordering::Acquire);
        if self.given_up.load(Ordering::Acquire) == epoch {
            StopCause::GivenUp
        } else if self.closing.load(Ordering::Acquire) == epoch {
            StopCause::Closing
        } else {
            StopCause::TooLong
        }
    }

    /// Called by the watchdog: the run of `epoch` must stop.
    pub fn stop(&self, epoch: u64) {
        self.stop.store(epoch, Ordering::Release);
        if self.epoch() == epoch
            && let Some(kick) = self.kick.get()
        {
            kick();
        }
    }
}

/// The time that, added to a moment, rounds it up to a whole millisecond.
const JUST_BELOW_A_MILLI: Duration = Duration::from_nanos(999_999);

/// The moment from which limits are counted.
fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

fn millis_of(moment: Instant) -> u64 {
    let since = moment.saturating_duration_since(origin());
    // 0 is no limit.
    u64::try_from(since.as_millis()).map_or(u64::MAX, |millis| millis.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn a_late_stop_does_not_hit_the_next_run() {
        let watch = Watch::default();
        watch.enter(1);
        let epoch = watch.epoch();
        assert!(!watch.leave());
        watch.stop(epoch);
        watch.enter(2);
        assert!(!watch.must_stop());
        assert!(!watch.leave());
    }

    #[test]
    fn a_stop_in_time_is_seen_and_reported_once() {
        let watch = Watch::default();
        watch.enter(1);
        watch.stop(watch.epoch());
        assert!(watch.must_stop());
        assert!(watch.leave());
        assert!(!watch.must_stop());
        watch.enter(1);
        assert!(!watch.leave());
    }

    #[test]
    fn a_limit_of_its_own_takes_the_place_of_the_usual_one_and_can_be_shortened() {
        let (watch, hour) = (Watch::default(), Duration::from_secs(3_600));
        let second = Duration::from_secs(1);
        watch.shorten_to(Duration::ZERO);
        assert!(
            watch.is_over(second, second),
            "the usual limit is not shortened"
        );
        watch.limit_until(Some(Instant::now() + hour));
        assert!(!watch.is_over(second, second));
        watch.shorten_to(Duration::ZERO);
        assert!(watch.is_over(Duration::ZERO, second));
        watch.limit_until(None);
        assert!(!watch.is_over(Duration::ZERO, second));
    }

    #[test]
    fn no_limit_has_passed_before_its_moment() {
        let (watch, hour) = (Watch::default(), Duration::from_secs(3_600));
        for _ in 0..100 {
            let until = Instant::now() + Duration::from_micros(300);
            watch.limit_until(Some(until));
            while !watch.is_over(Duration::ZERO, hour) {}
            assert!(Instant::now() >= until);
        }
    }

    #[test]
    fn a_long_run_that_is_foreseen_is_told_with_its_route() {
        let (watch, told) = (Watch::default(), Arc::new(Mutex::new(Vec::new())));
        let second = Duration::from_secs(1);
        watch.foresee(1, second);
        let kept = Arc::clone(&told);
        watch.on_foreseen(Box::new(move |route, time| {
            kept.lock().expect("no panic").push((route, time));
        }));
        watch.set_route(7);
        watch.foresee(watch.route(), second);
        assert_eq!(*told.lock().expect("no panic"), [(7, second)]);
    }

    #[test]
    fn the_cause_is_that_of_the_run_that_was_stopped() {
        let watch = Watch::default();
        for cause in [
            StopCause::GivenUp,
            StopCause::TooLong,
            StopCause::Closing,
            StopCause::TooLong,
        ] {
            watch.enter(1);
            watch.stop_for(watch.epoch(), cause);
            assert!(watch.leave());
            assert_eq!(watch.cause(), cause);
        }
    }
}
