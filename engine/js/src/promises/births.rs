//! What belongs to the brackets that are open: the jobs that run in them, and the promises that were made in them.
//!
//! A bracket has the queue of jobs to itself. Those that were there wait until it is over, and so do those of others that come: of
//! whoever waits for a promise that is older than the bracket and is settled in it. What else comes is its own.
//!
//! What began in a bracket that failed goes on as an *orphan*: it cannot call the functions of the bracket's module any more, and neither
//! can what begins in it. Orphans are known by their promises, or because their jobs were in the queue when the bracket failed.

use crate::promises::class_calls::ClassCalls;
use crate::promises::job_queue::{Job, JobQueue, Parked};
use crate::promises::suspend::is_settled;
use crate::vm::sys::{Cx, Raw, Thrown, UNDEFINED, Val, address};
use rquickjs::qjs;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};

/// Up to so many orphans are kept without a look at who else holds them.
const ORPHANS_MIN: usize = 8;

/// What is known while brackets are open. Time is counted in brackets that began; what was made before all of them is of time 0.
#[derive(Default)]
pub(crate) struct Births {
    /// How one hears of promises that are settled, and where their jobs are; there once the isolate is set up.
    pub(crate) engine: OnceCell<(ClassCalls, JobQueue)>,
    time: Cell<u64>,
    /// The brackets that are open, the innermost last.
    open: RefCell<Vec<Bracket>>,
    /// The promises that are not settled and were made in a bracket that is open, and when.
    born: RefCell<HashMap<usize, (Val, u64)>>,
    /// The promises of orphans that are not settled.
    orphans: RefCell<HashMap<usize, Val>>,
    has_orphans: Cell<bool>,
    /// How many there are when it is looked next for those that nobody can settle any more.
    sweep_at: Cell<usize>,
    /// Jobs of orphans, by the place of their arguments, and what they run.
    diverted: RefCell<HashMap<usize, Job>>,
    /// Whether an orphan runs.
    is_orphan: Cell<bool>,
}

/// A bracket that is open.
struct Bracket {
    began: u64,
    /// Jobs that were there before.
    parked: Parked,
    /// Jobs that came because a promise was settled that is older, and when that was made.
    of_others: Vec<(u64, Parked)>,
    /// When the oldest promise was made that was settled in it, if that is older.
    settled_older: Option<u64>,
}

impl Births {
    /// Whether an orphan runs.
    #[inline]
    pub(crate) fn is_orphan(&self) -> bool {
        self.is_orphan.get()
    }

    /// A bracket begins.
    pub(crate) fn begin(&self, cx: Cx<'_>) {
        let Some((_, queue)) = self.engine.get() else {
            return;
        };
        self.listen(cx);
        self.time.set(self.time.get() + 1);
        self.open.borrow_mut().push(Bracket {
            began: self.time.get(),
            parked: queue.park(cx, 0),
            of_others: Vec::new(),
            settled_older: None,
        });
    }

    /// The innermost bracket ends. If it failed, what began in it is an orphan. True if it settled what others may wait for.
    pub(crate) fn end(&self, cx: Cx<'_>, has_failed: bool) -> bool {
        let Some(((_, queue), bracket)) = self.engine.get().zip(self.open.borrow_mut().pop())
        else {
            return false;
        };
        if has_failed {
            self.diverted
                .borrow_mut()
                .extend(queue.divert(cx, run_orphan));
            let made_inside = |_: &usize, born: &mut (Val, u64)| born.1 >= bracket.began;
            let mut born = self.born.borrow_mut();
            let orphans = born
                .extract_if(made_inside)
                .map(|(at, (promise, _))| (at, promise));
            self.orphans.borrow_mut().extend(orphans);
            self.has_orphans.set(true);
        }
        let mut waited = bracket.parked;
        {
            let mut open = self.open.borrow_mut();
            let around = open.last_mut();
            let began = around.as_ref().map_or(0, |around| around.began);
            let (older, other): (Vec<_>, Vec<_>) = bracket
                .of_others
                .into_iter()
                .partition(|(made, _)| *made < began);
            if let Some(around) = around {
                around.note_older(bracket.settled_older);
                around.of_others.extend(older);
            }
            other.into_iter().for_each(|(_, jobs)| waited.append(jobs));
        }
        queue.put_back(cx, waited);
        self.stop_listening(cx);
        bracket.settled_older.is_some()
    }

    /// Has the engine tell of promises that are made and settled.
    fn listen(&self, cx: Cx<'_>) {
        if let Some((calls, _)) = self.engine.get() {
            // SAFETY: the runtime is alive; the hook needs nothing beyond its context.
            unsafe { qjs::JS_SetPromiseHook(cx.runtime(), Some(on_event), std::ptr::null_mut()) };
            calls.replace(cx, on_settle);
        }
    }

    /// The contrary, if nobody wants to know any more.
    fn stop_listening(&self, cx: Cx<'_>) {
        if self.is_orphan.get() || !self.open.borrow().is_empty() {
            return;
        }
        if let Some((calls, _)) = self.engine.get() {
            // SAFETY: the runtime is alive.
            unsafe { qjs::JS_SetPromiseHook(cx.runtime(), None, std::ptr::null_mut()) };
            calls.restore(cx);
        }
        let born = self.born.take();
        drop(born);
    }

    /// To be called before each job: finds those of orphans.
    #[inline]
    pub(crate) fn before_job(&self, cx: Cx<'_>) {
        if self.has_orphans.get() {
            self.divert_next(cx);
        }
    }

    #[cold]
    fn divert_next(&self, cx: Cx<'_>) {
        if let Some((calls, queue)) = self.engine.get() {
            let diverted = queue.divert_next_of(cx, *calls, &self.orphans.borrow(), run_orphan);
            self.diverted.borrow_mut().extend(diverted);
        }
    }

    /// To be called when a run is over: forgets orphans that nobody can settle any more.
    #[inline]
    pub(crate) fn after_run(&self) {
        if self.has_orphans.get() && self.orphans.borrow().len() >= self.sweep_at.get() {
            self.sweep();
        }
    }

    #[cold]
    fn sweep(&self) {
        loop {
            let is_ours_alone = |_: &usize, promise: &mut Val| references(promise.raw()) == 1;
            let gone: Vec<_> = self
                .orphans
                .borrow_mut()
                .extract_if(is_ours_alone)
                .collect();
            if gone.is_empty() {
                break;
            }
            // What waits for them goes with them, which may leave others alone.
            drop(gone);
        }
        let left = self.orphans.borrow().len();
        self.sweep_at.set((2 * left).max(ORPHANS_MIN));
        self.has_orphans.set(left > 0);
    }

    /// Lets go of all promises: the context is about to end.
    pub(crate) fn clear(&self) {
        drop(self.born.take());
        drop(self.orphans.take());
        self.has_orphans.set(false);
    }

    fn made(&self, cx: Cx<'_>, promise: Raw) {
        let (at, promise) = (address(promise) as usize, cx.dup(promise));
        if self.is_orphan.get() {
            self.orphans.borrow_mut().insert(at, promise);
            self.has_orphans.set(true);
        } else {
            self.born
                .borrow_mut()
                .insert(at, (promise, self.time.get()));
        }
    }

    /// It is settled: nobody has to know it any more.
    fn settled(&self, promise: Raw) {
        let at = address(promise) as usize;
        let born = self.born.borrow_mut().remove(&at);
        let orphan = self.orphans.borrow_mut().remove(&at);
        if orphan.is_some() && self.orphans.borrow().is_empty() {
            self.has_orphans.set(false);
        }
        drop((born, orphan));
    }

    /// Whether the promise was made in a bracket that is open, or belongs to an orphan.
    fn is_known(&self, promise: Raw) -> bool {
        let at = address(promise) as usize;
        self.born.borrow().contains_key(&at) || self.orphans.borrow().contains_key(&at)
    }

    /// When the promise was made, if that was before the innermost bracket began.
    fn older(&self, promise: Raw) -> Option<u64> {
        let made = match self.born.borrow().get(&(address(promise) as usize)) {
            Some((_, made)) => *made,
            None => 0,
        };
        let began = self.open.borrow().last()?.began;
        (made < began).then_some(made)
    }

    /// A promise was settled that is older than the innermost bracket and was `made` then; jobs beyond the first `kept` came of it.
    fn settled_older(&self, cx: Cx<'_>, queue: JobQueue, kept: usize, made: u64) {
        let later = queue.park(cx, kept);
        if let Some(bracket) = self.open.borrow_mut().last_mut() {
            bracket.note_older(Some(made));
            bracket.of_others.push((made, later));
        }
    }
}

impl Bracket {
    /// A promise was settled in it that was `made` then; what is not older does not count.
    fn note_older(&mut self, made: Option<u64>) {
        let made = made.filter(|made| *made < self.began);
        self.settled_older = self.settled_older.into_iter().chain(made).min();
    }
}

/// How many hold the object. The count is the second half of the eight bytes in front of it, see [`is_counted_there`].
fn references(object: Raw) -> i32 {
    // SAFETY: every object has these bytes in front of it.
    unsafe { address(object).cast::<i32>().sub(1).read() }
}

/// Whether objects are counted where [`references`] looks.
pub(crate) fn is_counted_there(cx: Cx<'_>) -> Result<bool, Thrown> {
    let object = cx.object()?;
    let one = references(object.raw());
    let other = cx.dup(object.raw());
    let two = references(object.raw());
    drop(other);
    Ok((one, two, references(object.raw())) == (1, 2, 1))
}

/// Runs a job of an orphan.
// SAFETY: called by QuickJS alone, with a context that has a core and the arguments of the job.
unsafe extern "C" fn run_orphan(ctx: *mut qjs::JSContext, count: c_int, args: *mut Raw) -> Raw {
    // SAFETY: QuickJS passes the context that runs, which has a core.
    let cx = unsafe { Cx::from_raw(ctx) };
    let births = &cx.core().births;
    let Some(job) = births.diverted.borrow_mut().remove(&(args as usize)) else {
        return UNDEFINED;
    };
    let was_orphan = births.is_orphan.replace(true);
    births.listen(cx);
    // SAFETY: the job gets what it would have got.
    let result = unsafe { job(ctx, count, args) };
    births.is_orphan.set(was_orphan);
    births.stop_listening(cx);
    result
}

/// A promise is made.
// SAFETY: called by QuickJS alone, with a context that has a core and a live promise.
unsafe extern "C" fn on_event(
    ctx: *mut qjs::JSContext,
    event: qjs::JSPromiseHookType,
    promise: Raw,
    _: Raw,
    _: *mut c_void,
) {
    if event == qjs::JSPromiseHookType_JS_PROMISE_HOOK_INIT {
        // SAFETY: the context has a core.
        let cx = unsafe { Cx::from_raw(ctx) };
        cx.core().births.made(cx, promise);
    }
}

/// A function that settles a promise is called.
// SAFETY: called by QuickJS alone, with a context that has a core and one of these functions.
unsafe extern "C" fn on_settle(
    ctx: *mut qjs::JSContext,
    function: Raw,
    this: Raw,
    count: c_int,
    args: *mut Raw,
    flags: c_int,
) -> Raw {
    // SAFETY: the context has a core.
    let cx = unsafe { Cx::from_raw(ctx) };
    let births = &cx.core().births;
    let Some((calls, queue)) = births.engine.get() else {
        return UNDEFINED;
    };
    // The function may be called by the last that holds it or the promise.
    let promise = cx.dup(calls.promise_of(function));
    if is_settled(cx, promise.raw()) {
        // Nothing comes of it.
        return UNDEFINED;
    }
    let is_told_by_orphan = births.is_orphan() && !births.is_known(promise.raw());
    let older = births
        .older(promise.raw())
        .map(|made| (made, queue.len(cx)));
    // SAFETY: the engine's own function gets what it would have got.
    let result = unsafe { calls.original()(ctx, function, this, count, args, flags) };
    if let Some((made, kept)) = older {
        births.settled_older(cx, *queue, kept, made);
    }
    if is_settled(cx, promise.raw()) {
        births.settled(promise.raw());
        if is_told_by_orphan {
            cx.core().suspect_waiting();
        }
    }
    result
}
