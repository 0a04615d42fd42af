//! Between a request and the database of its worker: when its script may run, and when what it made may leave.
//!
//! Every run of a script passes through here. While its worker has writes that are not committed, answers and chunks
//! are held; what ran in a group that was lost is not answered as if its writes were there.

use sampan_db::{Database, Db, RouteUse};
use sampan_host::{
    Context, CurrentRun, Error, ErrorKind, Fate, LocalFuture, Outbox, RequestView, Verdict, Watch,
};
use sampan_http::{Answer, Response, Ticket, WorkerHandle};
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{self, Poll, ready};

use crate::request::request_view::View;
use crate::request::{errors, response_sink};
use crate::routing::loaded::Control;
use crate::scripts;
use tokio::task::spawn_local;

/// The state that one worker's requests share.
pub(crate) struct Gate {
    db: Db,
    outbox: Outbox,
    watch: Arc<Watch>,
    database: Arc<Database>,
    /// The worker's place among the acceptors' workers, once it serves.
    worker: OnceCell<WorkerHandle>,
    /// The request whose script runs.
    current: CurrentRun,
    /// True if a request can go on in another's run: in JavaScript, when that settles the promise that it waits for.
    runs_mix: bool,
}

/// The observed behaviour of the handlers behind one route, by whether the method says that it only reads.
pub(crate) struct RouteUses {
    safe: Arc<RouteUse>,
    other: Arc<RouteUse>,
}

/// One request as it runs, again and again if it waits.
pub(crate) struct Visit {
    gate: Rc<Gate>,
    /// Groups that had been lost when its last turn began.
    losses: u64,
    /// True if its first run was in one of those that were lost.
    is_lost: bool,
    /// The groups in which it ran while they were open, and which it still has to hear of.
    fates: Vec<Fate>,
    /// The wait for the write connection, before it goes on.
    queued: Option<LocalFuture<Result<(), Error>>>,
}

impl Gate {
    pub(crate) fn new(
        database: &Arc<Database>,
        watch: &Arc<Watch>,
        current: &CurrentRun,
        runs_mix: bool,
    ) -> Rc<Self> {
        let outbox = Outbox::default();
        let db = Db::new(Arc::clone(database), outbox.clone(), Arc::clone(watch));
        db.measure(current.clone());
        Rc::new(Self {
            db,
            current: current.clone(),
            outbox,
            watch: Arc::clone(watch),
            database: Arc::clone(database),
            worker: OnceCell::new(),
            runs_mix,
        })
    }

    /// Makes the database available to the scripts of an isolate.
    pub(crate) fn put_into(&self, context: &Context) {
        context.put(self.db.clone());
        context.put(self.outbox.clone());
        context.put(self.current.clone());
    }

    /// Starts what commits groups and ends turns, for as long as the worker serves.
    pub(crate) fn serve(&self, worker: WorkerHandle) {
        let _ = self.worker.set(worker);
        drop(spawn_local(self.db.clone().serve()));
        drop(spawn_local(self.db.clone().end_turns()));
    }

    /// Waits until a project can be loaded while others are answered: none of this worker's transactions could go on
    /// meanwhile.
    pub(crate) async fn before_loading(&self) {
        self.db.without_transactions().await;
    }

    /// Reports whether a project is being loaded, or starts.
    pub(crate) fn set_loading(&self, is_loading: bool) {
        self.db.set_loading(is_loading);
    }

    /// Commits what a project wrote while it was loaded.
    pub(crate) fn finish_loading(&self) -> Result<(), Error> {
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
            safe: self.database.route(handler, true),
            other: self.database.route(handler, false),
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
        Box::pin(self.db.clone().writable())
    }

    /// The worker's database, for what the server itself keeps there.
    pub(crate) fn db(&self) -> &Db {
        &self.db
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
    pub(crate) fn background<T: 'static>(
        self: &Rc<Self>,
        mut future: LocalFuture<T>,
    ) -> LocalFuture<T> {
        let gate = Rc::clone(self);
        // What a request has begun goes on in its name.
        let request = self.current.request();
        Box::pin(std::future::poll_fn(move |cx| {
            if gate.outbox.is_sealed() {
                gate.outbox.wake_when_settled(cx);
                return Poll::Pending;
            }
            let before = gate.current.set(request.clone());
            let polled = future.as_mut().poll(cx);
            gate.current.set(before);
            gate.db.left(None, || false);
            polled
        }))
    }

    /// Waits until what has been written so far is committed.
    pub(crate) async fn settled(&self) -> Result<(), Error> {
        match self.outbox.settled().await {
            Verdict::Committed => Ok(()),
            Verdict::Failed => Err(Visit::lost()),
        }
    }
}

impl RouteUses {
    /// Returns the observed behaviour for requests with this method.
    #[inline]
    pub(crate) fn of(&self, is_safe: bool) -> &RouteUse {
        if is_safe { &self.safe } else { &self.other }
    }
}

impl Visit {
    /// To be called after each run of the script for this request.
    #[inline]
    pub(crate) fn left(&mut self, route: Option<&RouteUse>) {
        let begun = self.gate.current.begin();
        self.gate.db.left(route, || self.gate.is_complete());
        self.gate.current.end(begun);
    }

    /// The error of a request whose group was lost.
    pub(crate) fn lost() -> Error {
        Error::new(
            ErrorKind::Internal,
            "what this request wrote could not be committed",
        )
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
        // Where runs mix, nobody knows in whose groups it ran meanwhile.
        let missed = self.gate.runs_mix && self.gate.db.losses() != self.losses;
        if self.is_lost
            || missed
            || self
                .fates
                .iter()
                .any(|fate| fate.verdict() == Some(Verdict::Failed))
        {
            return Poll::Ready(Err(Self::lost()));
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
                return Poll::Ready(Err(Self::lost()));
            }
            self.remember();
        } else if has_queued {
            // It does not go on yet, so others need the connection more.
            self.gate.db.left(None, || false);
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
            self.queued = Some(Box::pin(gate.db.clone().writable()));
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

    /// Has a task woken when the open group is settled.
    pub(crate) fn wake_when_settled(&self, cx: &task::Context<'_>) {
        self.gate.outbox.wake_when_settled(cx);
    }

    /// Reports whether the request may have an open transaction: mostly not. No group of any worker is open while one
    /// is.
    #[inline]
    fn may_have_transactions(&self, view: &View) -> bool {
        self.gate.db.has_transactions() || (self.gate.runs_mix && !view.store().is_empty())
    }

    /// The open outboxes of the transactions on which what the request gives depends.
    ///
    /// # Errors
    /// One of them was rolled back that was another request's.
    fn transactions_behind(&self, view: &Rc<View>) -> Result<Vec<Outbox>, Error> {
        if !self.may_have_transactions(view) {
            return Ok(Vec::new());
        }
        let request = Rc::clone(view) as Rc<dyn RequestView>;
        let outboxes = self.gate.db.transactions_behind(&request);
        outboxes.ok_or_else(Self::lost)
    }

    /// Reports whether what the request gives now may be rolled back with a transaction.
    pub(crate) fn may_be_rolled_back(&self, view: &Rc<View>) -> bool {
        let request = || Rc::clone(view) as Rc<dyn RequestView>;
        self.may_have_transactions(view) && self.gate.db.may_be_rolled_back(&request())
    }

    /// The answer of the request: held while anything is not committed that it may depend on.
    #[inline]
    pub(crate) fn release(
        &self,
        mut response: Response,
        view: &Rc<View>,
        control: &Rc<Control>,
    ) -> Answer {
        let transactions = match self.transactions_behind(view) {
            Ok(transactions) if self.gate.db.losses() == self.losses => transactions,
            _ => {
                response_sink::log(control, Some(view), "", &Self::lost());
                scripts::tell_caller(&Self::lost());
                let mut response = errors::refusal(500, None, Some(view.request()));
                view.tell_id(&mut response);
                return Answer::Now(response);
            }
        };
        if let Err(error) = view.additions.complete(&mut response) {
            response_sink::log(control, Some(view), "", &error);
            response = errors::answer_to(&error, view);
        }
        view.tell_id(&mut response);
        view.compress(&mut response);
        if transactions.is_empty() && !self.gate.outbox.is_open() {
            return Answer::Now(response);
        }
        let (ticket, seal) = Ticket::new();
        // The request itself goes back to its pool now, and is not kept until the commit.
        let (trace, control, begun) = (view.trace(), Rc::clone(control), control.current.begin());
        let told = move |verdict| {
            if let (Some(record), Some(begun)) = (trace.record(), begun) {
                record.add_db(begun.elapsed());
            }
            match verdict {
                Verdict::Committed => seal.release(),
                Verdict::Failed => {
                    trace.log(&control.logger, &Self::lost());
                    seal.replace_by_500();
                }
            }
        };
        if transactions.is_empty() {
            self.gate.outbox.hold(Box::new(told));
        } else {
            hold_in_all(&transactions, told);
        }
        Answer::Held(response, ticket)
    }
}

/// Tells once: that one of several groups of writes has failed, or that the last is committed.
fn hold_in_all(outboxes: &[Outbox], told: impl FnOnce(Verdict) + 'static) {
    let told = Rc::new(Cell::new(Some(told)));
    let left = Rc::new(Cell::new(outboxes.len()));
    for outbox in outboxes {
        let (told, left) = (Rc::clone(&told), Rc::clone(&left));
        outbox.hold(Box::new(move |verdict| {
            left.set(left.get() - 1);
            if (verdict == Verdict::Failed || left.get() == 0)
                && let Some(told) = told.take()
            {
                told(verdict);
            }
        }));
    }
}
