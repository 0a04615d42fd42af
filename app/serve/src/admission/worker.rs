//! Decides for one worker whether a request may run at once.

use super::client::Client;
use super::fair_queue::{Decision, FairQueue};
use super::settings::OverloadSettings;
use super::waiting::{Place, decided};
use crate::processor_time::thread_time;
use sampan_host::Outbox;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The requests that a worker runs before it looks how many are ready.
const UNSEEN_MAX: u32 = 16;

/// The processor time for which requests run before others are looked for.
const SLICE: Duration = Duration::from_millis(1);

/// The slice while writes wait for their commit, with which each slice ends.
const WRITING_SLICE: Duration = Duration::from_millis(5);

/// The most requests that begin in a slice.
const BEGIN_MAX: u32 = 4_096;

/// The fewest requests that begin in a slice beside those before it.
const BEGIN_MIN: u32 = 4;

/// The weight of the cost so far, in requests.
const REMEMBERED: u32 = 32;

/// The state of one worker, which all its isolates share.
pub struct Admission {
    settings: OverloadSettings,
    /// Open while writes wait for their commit.
    outbox: Outbox,
    /// The requests that have run since this was looked at.
    passed: Cell<u32>,
    /// The number of these from which on requests wait.
    passed_max: Cell<u32>,
    /// The mean processor time of a request.
    cost: Cell<Duration>,
    /// The processor time of this thread when it was looked at, and that moment.
    looked: Cell<(Duration, Instant)>,
    queue: RefCell<FairQueue<Rc<Place>>>,
    /// Wakes [`Admission::serve`].
    bell: Notify,
}

impl Admission {
    /// Creates the admission of a worker.
    pub fn new(settings: OverloadSettings, outbox: Outbox) -> Rc<Self> {
        let admission = Self {
            settings,
            outbox,
            passed: Cell::new(0),
            passed_max: Cell::new(0),
            cost: Cell::new(Duration::from_micros(20)),
            looked: Cell::new((Duration::ZERO, Instant::now())),
            queue: RefCell::default(),
            bell: Notify::new(),
        };
        admission.set_passed_max();
        Rc::new(admission)
    }

    /// The number of requests that can run within a time.
    fn requests_in(&self, slice: Duration) -> u32 {
        let count = slice.as_nanos() / self.cost.get().as_nanos().max(1);
        u32::try_from(count).map_or(BEGIN_MAX, |count| count.clamp(1, BEGIN_MAX))
    }

    fn set_passed_max(&self) {
        let ready = self.requests_in(SLICE).max(BEGIN_MIN);
        self.passed_max.set(UNSEEN_MAX + ready);
    }

    /// Reports whether a request may run at once; if not, it has to [wait](Self::wait).
    #[inline]
    pub(crate) fn passes(&self) -> bool {
        let passed = self.passed.get() + 1;
        if passed < UNSEEN_MAX {
            self.passed.set(passed);
            return true;
        }
        self.passes_slowly(passed)
    }

    #[cold]
    fn passes_slowly(&self, passed: u32) -> bool {
        if passed > self.passed_max.get() {
            return false;
        }
        self.passed.set(passed);
        if passed == UNSEEN_MAX {
            // It has its turn when all that is ready now has had its own.
            self.look();
            self.bell.notify_one();
        }
        true
    }

    /// Reads the processor time of this thread. That is a system call of half a microsecond, so it is done once in a
    /// slice.
    fn look(&self) -> Duration {
        let now = thread_time();
        self.looked.set((now, Instant::now()));
        now
    }

    /// Returns about the processor time of this thread: as if it had had a processor since it was looked at, which was
    /// no longer ago than a slice.
    fn estimated_time(&self) -> Duration {
        let (time, at) = self.looked.get();
        time + at.elapsed().min(SLICE)
    }

    /// Queues a request. The future tells whether it may begin or is refused.
    pub(crate) fn wait(&self, client: Client) -> impl Future<Output = bool> + use<> {
        let place = Rc::new(Place::default());
        let mut queue = self.queue.borrow_mut();
        let waiting = Rc::clone(&place);
        queue.push(client, waiting, self.estimated_time(), &self.settings);
        async move { decided(place).await == Decision::Begin }
    }

    /// Lets requests begin, for as long as the worker serves.
    pub async fn serve(self: Rc<Self>) {
        loop {
            self.bell.notified().await;
            self.measure(self.passed.get() - UNSEEN_MAX);
            let mut passed = 0;
            while !self.queue.borrow().is_empty() {
                let (begun, most) = self.begin();
                // All have begun, and half of the slice is left: the next ones need not queue up.
                if begun <= most / 2 && self.queue.borrow().is_empty() {
                    passed = begun.min(UNSEEN_MAX - 1);
                    break;
                }
                // These run, and what has arrived meanwhile queues up behind them.
                tokio::task::yield_now().await;
                self.measure(begun);
            }
            self.queue.borrow_mut().settle();
            self.set_passed_max();
            self.passed.set(passed);
        }
    }

    /// Takes note of the processor time since this was looked at, in which so many requests have begun.
    fn measure(&self, begun: u32) {
        let (before, _) = self.looked.get();
        let spent = self.look().saturating_sub(before);
        if begun > 0 {
            self.learn(spent, begun);
        }
    }

    /// Adds requests to the mean cost, in which each counts alike: in a turn in which few begin, others may go on that
    /// have waited for a database.
    fn learn(&self, spent: Duration, begun: u32) {
        let before = self.cost.get() * REMEMBERED;
        self.cost.set((before + spent) / (REMEMBERED + begun));
    }

    /// Lets the next requests begin, and refuses those that had waited too long when this was looked at. Returns the
    /// number of those that begin, and the most that could.
    fn begin(&self) -> (u32, u32) {
        let slice = match self.outbox.is_open() {
            true => WRITING_SLICE,
            false => SLICE,
        };
        let ((now, _), most) = (self.looked.get(), self.requests_in(slice));
        let mut begun = 0;
        while begun < most {
            let popped = self.queue.borrow_mut().pop(now, &self.settings);
            let Some((place, decision)) = popped else {
                break;
            };
            // Of those whose client has left, no other holds the place.
            if Rc::strong_count(&place) > 1 {
                begun += u32::from(decision == Decision::Begin);
                place.decide(decision);
            }
        }
        (begun, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::{LocalSet, spawn_local, yield_now};

    fn settings() -> OverloadSettings {
        OverloadSettings {
            target: Duration::from_secs(60),
            interval: Duration::from_secs(60),
            waiting_min: 1_000,
            wait_max: Duration::from_secs(60),
            slow_target: Duration::from_secs(60),
        }
    }

    /// The state of a worker on which a burst of requests has queued up and has begun.
    async fn after_a_burst() -> Rc<Admission> {
        let admission = Admission::new(settings(), Outbox::default());
        drop(spawn_local(Rc::clone(&admission).serve()));
        while admission.passes() {}
        assert!(admission.wait(Client::of(None)).await);
        admission
    }

    #[test]
    fn turns_in_which_few_begin_and_many_go_on_do_not_raise_the_cost() {
        let admission = Admission::new(settings(), Outbox::default());
        for _ in 0..200 {
            admission.learn(Duration::from_micros(400), 1);
            admission.learn(Duration::from_micros(20), 19);
        }
        let cost = admission.cost.get();
        assert!(cost < Duration::from_micros(40), "{cost:?} for 21 µs");
    }

    #[test]
    fn time_without_a_processor_counts_for_a_slice_at_most() {
        let admission = Admission::new(settings(), Outbox::default());
        let long_ago = Instant::now().checked_sub(Duration::from_secs(1));
        let long_ago = long_ago.expect("the clock has run for a second");
        admission.looked.set((Duration::ZERO, long_ago));
        assert_eq!(admission.estimated_time(), SLICE);
    }

    #[test]
    fn a_few_requests_that_cost_more_are_noticed() {
        let admission = Admission::new(settings(), Outbox::default());
        for _ in 0..20 {
            admission.learn(Duration::from_millis(2), 1);
        }
        assert_eq!(admission.requests_in(SLICE), 1);
    }

    #[test]
    fn one_request_a_turn_does_not_queue_for_ever() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        LocalSet::new().block_on(&runtime.expect("a runtime"), async {
            let admission = after_a_burst().await;
            let mut queued = 0;
            for _ in 0..100 {
                if !admission.passes() {
                    queued += 1;
                    // It arrives while the one before it runs.
                    drop(spawn_local(admission.wait(Client::of(None))));
                }
                yield_now().await;
            }
            assert!(queued <= 1, "{queued} of 100 requests queued up");
        });
    }
}
