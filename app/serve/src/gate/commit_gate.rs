//! Between a request and the database of its worker: when its script may run, and when what it made may leave.
//!
//! Every run of a script passes through here. While its worker has writes that are not committed, answers and chunks
//! are held; what ran in a group that was lost is not answered as if its writes were there.

use crate::gate::run_use::{KnownUses, RunKind, RunTurns, RunUse};
use crate::request::request_view::View;
use sampan_host::database::{RouteUse, WorkerDatabase};
use sampan_host::{
    BackgroundRun, CurrentRun, Error, Fate, LocalFuture, Outbox, RequestView, RunOwner, Verdict,
    Watch,
};
use sampan_http::WorkerHandle;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll, ready};

/// The state that one worker's requests share.
pub struct Gate {
    pub(super) db: Rc<dyn WorkerDatabase>,
    pub(super) outbox: Outbox,
    pub(super) watch: Arc<Watch>,
    /// The worker's place among the acceptors' workers, once it serves.
    worker: OnceCell<WorkerHandle>,
    /// The request whose script runs.
    current: CurrentRun,
    /// True if a request can go on in another's run: in JavaScript, when that settles the promise that it waits for.
    runs_mix: bool,
    /// The observed behaviour of runs that are not a request's handler.
    known: KnownUses,
}

/// The observed behaviour of the handlers behind one route, by whether the method says that it only reads.
pub(crate) struct RouteUses {
    safe: Arc<RouteUse>,
    other: Arc<RouteUse>,
}

/// One request as it runs, again and again if it waits.
pub struct Visit {
    pub(super) gate: Rc<Gate>,
    /// Groups that had been lost when its last turn began.
    pub(super) losses: u64,
    /// True if its first run was in one of those that were lost.
    pub(super) is_lost: bool,
    /// The groups in which it ran while they were open, and which it still has to hear of.
    pub(super) fates: Vec<Fate>,
    /// The wait for the write connection, before it goes on.
    pub(super) queued: Option<LocalFuture<Result<(), Error>>>,
}

impl Gate {
    /// Creates the gate of a worker. Its database holds in `outbox` what depends on writes that are not committed;
    /// `runs_mix` is set where a request can go on in the run of another.
    pub fn new(
        db: Rc<dyn WorkerDatabase>,
        outbox: Outbox,
        watch: Arc<Watch>,
        current: CurrentRun,
        runs_mix: bool,
    ) -> Rc<Self> {
        Rc::new(Self {
            db,
            outbox,
            watch,
            current,
            worker: OnceCell::new(),
            runs_mix,
            known: KnownUses::default(),
        })
    }

    /// Notes the place of the worker among those of the acceptors, once it serves.
    pub fn serve(&self, worker: WorkerHandle) {
        let _ = self.worker.set(worker);
    }

    /// The stopwatch of the worker.
    pub(crate) fn watch(&self) -> Arc<Watch> {
        Arc::clone(&self.watch)
    }

    /// Waits until a project can be loaded while others are answered: none of this worker's transactions could go on
    /// meanwhile.
    pub async fn before_loading(&self) {
        self.db.without_transactions().await;
    }

    /// Reports whether a project is being loaded, or starts.
    pub fn set_loading(&self, is_loading: bool) {
        self.db.set_loading(is_loading);
    }

    /// Commits what a project wrote while it was loaded.
    pub fn finish_loading(&self) -> Result<(), Error> {
        self.db.finish_loading()
    }

    /// Reports whether only the running request can join the open group: every other connection waits for it already.
    fn is_complete(&self) -> bool {
        let connections = self
            .worker
            .get()
            .map_or(usize::MAX, WorkerHandle::connections);
        self.outbox.held() + 1 >= connections
    }

    /// Returns the observed behaviour of a handler.
    pub(crate) fn uses(&self, handler: u32) -> Rc<RouteUses> {
        Rc::new(RouteUses {
            safe: self.db.route_use(handler, true),
            other: self.db.route_use(handler, false),
        })
    }

    /// Reports whether a handler may run at once; if not, see [`Gate::acquire`].
    #[inline]
    pub(crate) fn try_acquire(&self, route: &RouteUse) -> bool {
        self.db.try_acquire(route)
    }

    /// Waits until a handler may run.
    pub(crate) async fn acquire(&self, route: &RouteUse) -> Result<(), Error> {
        self.db.acquire(route).await
    }

    /// Waits until a write of this worker need not wait in place.
    pub(crate) fn writable(&self) -> LocalFuture<Result<(), Error>> {
        self.db.writable()
    }

    /// A visit begins.
    #[inline]
    pub(crate) fn visit(self: &Rc<Self>) -> Visit {
        Visit {
            losses: self.db.losses(),
            is_lost: false,
            fates: Vec::new(),
            queued: None,
            gate: Rc::clone(self),
        }
    }

    /// Work that belongs to no request, which may use the database too.
    pub fn background<T: 'static>(self: &Rc<Self>, future: LocalFuture<T>) -> LocalFuture<T> {
        self.run_apart(future, BackgroundRun::default, None)
    }

    /// A run of what is declared under this name, for no request. It waits for the write connection where the script
    /// may write and could not wait for it then.
    pub fn background_of<T: 'static>(
        self: &Rc<Self>,
        kind: RunKind,
        name: &str,
        future: LocalFuture<T>,
    ) -> LocalFuture<T> {
        // A coroutine waits in the middle of a call.
        let used = self.runs_mix.then(|| self.known.begin(kind, name));
        self.run_apart(future, BackgroundRun::default, used)
    }

    /// Work that the engine has begun: for the request or the run that goes on, or for as long as the isolate lives.
    pub fn spawned<T: 'static>(self: &Rc<Self>, future: LocalFuture<T>) -> LocalFuture<T> {
        let used = self.use_beside(RunKind::AfterAnswer);
        self.run_apart(future, BackgroundRun::endless, used)
    }

    /// Returns the use of the database by a run that begins beside a handler of the route whose script runs now; `None`
    /// where the script can wait in the middle of a call.
    pub(super) fn use_beside(&self, kind: RunKind) -> Option<RunUse> {
        let route = || self.watch.route().to_string();
        self.runs_mix.then(|| self.known.begin(kind, &route()))
    }

    fn run_apart<T: 'static>(
        self: &Rc<Self>,
        mut future: LocalFuture<T>,
        make: fn() -> BackgroundRun,
        used: Option<RunUse>,
    ) -> LocalFuture<T> {
        let gate = Rc::clone(self);
        let mut turns = RunTurns::new(&self.db, used);
        // What a request or another run has begun goes on in its name.
        let request = self.current.request();
        let run = self.current.background();
        let run = run.or_else(|| request.is_none().then(|| Rc::new(make())));
        Box::pin(std::future::poll_fn(move |cx| {
            if gate.outbox.is_sealed() {
                gate.outbox.wake_when_settled(cx);
                return Poll::Pending;
            }
            let before = gate.current.set(request.clone());
            let around = gate.current.set_background(run.clone());
            let epoch = gate.watch.epoch();
            let begun = turns.poll_begin(cx);
            let polled = if begun.is_pending() {
                None
            } else if gate.outbox.is_sealed() {
                gate.outbox.wake_when_settled(cx);
                None
            } else {
                Some(future.as_mut().poll(cx))
            };
            gate.current.set(before);
            gate.current.set_background(around);
            let Some(polled) = polled else {
                return Poll::Pending;
            };
            turns.left(gate.watch.epoch() != epoch, polled.is_ready());
            polled
        }))
    }

    /// Returns the number of groups of this worker that were lost so far.
    pub fn losses(&self) -> u64 {
        self.db.losses()
    }

    /// The error of a run whose writes are lost.
    pub fn lost(&self) -> Error {
        self.db.lost()
    }

    /// Reports whether there are writes of this worker that are not committed.
    pub fn is_open(&self) -> bool {
        self.outbox.is_open()
    }

    /// Reports whether a request may have an open transaction: mostly not. No group of any worker is open while one is.
    #[inline]
    fn may_have_transactions(&self, view: &View) -> bool {
        self.db.has_transactions() || (self.runs_mix && !view.store().is_empty())
    }

    /// Returns the outboxes of the open transactions that a request has begun or used.
    ///
    /// # Errors
    /// One of them was rolled back that was another request's.
    pub(super) fn transactions_behind(&self, view: &Rc<View>) -> Result<Vec<Outbox>, Error> {
        if !self.may_have_transactions(view) {
            return Ok(Vec::new());
        }
        let owner = RunOwner::Request(Rc::clone(view) as Rc<dyn RequestView>);
        let outboxes = self.db.transactions_behind(&owner);
        outboxes.ok_or_else(|| self.lost())
    }

    /// Reports whether what a request gives now may be rolled back with a transaction.
    pub(crate) fn may_be_rolled_back(&self, view: &Rc<View>) -> bool {
        let request = || Rc::clone(view) as Rc<dyn RequestView>;
        self.may_have_transactions(view) && self.db.may_be_rolled_back(&request())
    }

    /// Calls `told` with the verdict on what is written and not committed.
    pub(crate) fn when_settled(&self, told: impl FnOnce(Verdict) + 'static) {
        self.outbox.hold(Box::new(told));
    }

    /// Waits until what the run that goes on has begun on its own is committed: transactions, and statements that wait
    /// for a server.
    ///
    /// # Errors
    /// One of them was rolled back.
    pub async fn run_settled(&self) -> Result<(), Error> {
        let behind = match self.current.owner() {
            Some(owner) => self.db.transactions_behind(&owner),
            None => return Ok(()),
        };
        for outbox in behind.ok_or_else(|| self.lost())? {
            if outbox.settled().await == Verdict::Failed {
                return Err(self.lost());
            }
        }
        Ok(())
    }

    /// Waits until what has been written so far is committed.
    pub async fn settled(&self) -> Result<(), Error> {
        match self.outbox.settled().await {
            Verdict::Committed => Ok(()),
            Verdict::Failed => Err(self.lost()),
        }
    }
}

impl RouteUses {
    /// Returns the observed behaviour for requests with this method.
    #[inline]
    pub(crate) fn of(&self, is_safe: bool) -> &Arc<RouteUse> {
        if is_safe { &self.safe } else { &self.other }
    }
}

impl Visit {
    /// To be called after each run of the script for this request.
    #[inline]
    pub(crate) fn left(&mut self, route: Option<&RouteUse>) {
        let commit = self.gate.db.left(route, &|| self.gate.is_complete());
        self.gate.current.add(commit);
    }

    /// One turn of something that waits: it is let in when it may be, and what it ran in is remembered.
    pub(crate) fn turn<T>(
        &mut self,
        cx: &mut task::Context<'_>,
        route: Option<&RouteUse>,
        run: impl FnOnce(&mut task::Context<'_>) -> Poll<Result<T, Error>>,
    ) -> Poll<Result<T, Error>> {
        if self.gate.outbox.is_sealed() {
            self.gate.outbox.wake_when_settled(cx);
            return Poll::Pending;
        }
        // Where runs mix, it is not known in whose groups it ran meanwhile.
        let missed = self.gate.runs_mix && self.gate.db.losses() != self.losses;
        if self.is_lost
            || missed
            || self
                .fates
                .iter()
                .any(|fate| fate.verdict() == Some(Verdict::Failed))
        {
            return Poll::Ready(Err(self.gate.lost()));
        }
        self.fates.retain(|fate| fate.verdict().is_none());
        let has_queued = match ready!(self.queue(cx, route)) {
            Ok(has_queued) => has_queued,
            Err(error) => return Poll::Ready(Err(error)),
        };
        self.losses = self.gate.db.losses();
        let epoch = self.gate.watch.epoch();
        let polled = run(cx);
        if self.gate.watch.epoch() != epoch {
            self.left(route);
            if self.gate.db.losses() != self.losses {
                return Poll::Ready(Err(self.gate.lost()));
            }
            self.remember();
        } else if has_queued {
            // It does not go on yet, so others need the connection more.
            self.gate.db.left(None, &|| false);
        }
        polled
    }

    /// Waits for the write connection before a run of a route that writes, while transactions keep others from waiting
    /// in place. A coroutine waits in the middle of its call; JavaScript cannot. Tells whether it had to.
    fn queue(
        &mut self,
        cx: &mut task::Context<'_>,
        route: Option<&RouteUse>,
    ) -> Poll<Result<bool, Error>> {
        let gate = &self.gate;
        let must_queue = || route.is_some_and(|route| gate.db.must_queue(route));
        if self.queued.is_none() && gate.runs_mix && must_queue() {
            self.queued = Some(gate.db.writable());
        }
        let Some(queued) = &mut self.queued else {
            return Poll::Ready(Ok(false));
        };
        let writable = ready!(queued.as_mut().poll(cx));
        self.queued = None;
        Poll::Ready(writable.map(|()| true))
    }

    /// Takes note of the group in which this request has just run, because it goes on later: to be called before
    /// anything else runs.
    pub(crate) fn remember(&mut self) {
        self.is_lost |= self.gate.db.losses() != self.losses;
        self.fates.extend(self.gate.outbox.fate());
    }

    /// The group that what was just made depends on, if it is not committed.
    pub(crate) fn depends_on(&self) -> Option<Fate> {
        self.gate.outbox.fate()
    }

    /// Returns a function that reports whether something may leave before the answer: all that was written so far is
    /// committed, and the request has no transaction open.
    pub(crate) fn commit_watch(&self, view: &Rc<View>) -> impl Fn() -> bool + use<> {
        let (gate, view) = (Rc::clone(&self.gate), Rc::clone(view));
        move || !gate.outbox.is_open() && !gate.may_be_rolled_back(&view)
    }

    /// Reports whether its script would go on, but has to wait for a commit or for the write connection.
    pub(super) fn is_kept_waiting(&self) -> bool {
        self.queued.is_some() || self.gate.outbox.is_sealed()
    }

    /// Has a task woken when the open group is settled.
    pub(crate) fn wake_when_settled(&self, cx: &task::Context<'_>) {
        self.gate.outbox.wake_when_settled(cx);
    }
}
