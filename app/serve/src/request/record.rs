//! The record of one request for the access log and the metrics: collected while it is answered, written when the
//! answer has been sent.

use crate::request::meters::{MeasuredRequest, WorkerMeters};
use crate::request::proxies;
use crate::request::route_info::{self, RouteInfo};
use crate::request::times::RecordedTimes;
use crate::request::traced::TracedRequest;
use sampan_host::RanStatement;
use sampan_host::log::{Access, Log, RequestLine};
use sampan_host::trace::Trace;
use sampan_http::{Method, Observer, Peer, Request, RequestOutcome};
use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One request on its way into the access log and the metrics.
pub struct Record {
    /// The line of the access log, if there is one.
    line: Option<Box<RecordedLine>>,
    /// The metrics, until the request is over.
    meters: Cell<Option<Rc<WorkerMeters>>>,
    method: Cell<Option<Method>>,
    route: RefCell<Option<Rc<RouteInfo>>>,
    /// True if a file answers.
    is_file: Cell<bool>,
    script: Cell<Duration>,
    db: Cell<Duration>,
    /// The time at which the request was whole, until a script runs for it.
    arrived: Cell<Option<Instant>>,
    /// The time from then until a script began to run.
    queued: Cell<Option<Duration>>,
    traced: RefCell<Option<TracedRequest>>,
}

/// Records without a line, which are used again.
#[derive(Default)]
pub(crate) struct RecordPool(RefCell<Vec<Rc<Record>>>);

/// The records that are used again.
const POOLED_RECORDS: usize = 8;

impl RecordPool {
    /// Returns the record of a request that has just arrived, for the metrics and the trace.
    #[inline]
    pub(crate) fn begin(
        &self,
        meters: Option<&Rc<WorkerMeters>>,
        method: Option<Method>,
    ) -> Rc<Record> {
        let mut records = self.0.borrow_mut();
        let free = records.iter().find(|record| Rc::strong_count(record) == 1);
        let record = match free {
            Some(record) => Rc::clone(record),
            None => {
                let record = Rc::new(Record::empty(None));
                if records.len() < POOLED_RECORDS {
                    records.push(Rc::clone(&record));
                }
                record
            }
        };
        if let Some(meters) = meters {
            record.measure(meters, method);
        }
        record
    }
}

/// The part of a record for the access log.
struct RecordedLine {
    logger: Rc<dyn Log>,
    since_1970: Duration,
    client: String,
    /// `None` where the request could not be read.
    head: Option<RecordedHead>,
    /// In development: the observer of what it cost.
    trace: Option<Box<dyn RequestTrace>>,
    statements: RefCell<Statements>,
}

/// The most statements of one request that are shown.
const STATEMENTS_SHOWN_MAX: usize = 200;

/// The statements of the database that ran for a request.
#[derive(Debug, Default)]
pub struct Statements {
    /// The first of them.
    pub first: Vec<RanStatement>,
    /// The number of statements.
    pub count: usize,
    /// The total time.
    pub elapsed: Duration,
}

/// Notified of the cost of a request, when it is over.
pub trait RequestTrace {
    /// Receives the method and the target, where they could be read, the outcome, and the statements that ran.
    fn tell(&self, head: Option<(&str, &str)>, outcome: &RequestOutcome, statements: &Statements);
}

/// The head of the request, copied because its buffer is used again before its answer has been sent.
#[derive(Default)]
struct RecordedHead {
    /// The host that the routes see.
    host: String,
    method: String,
    target: String,
    path: String,
    query: Option<String>,
    protocol: &'static str,
    referer: Option<Vec<u8>>,
    agent: Option<Vec<u8>>,
    id: Box<str>,
}

impl Record {
    /// A record of a request that has just arrived. `info` tells what the worker's requests share.
    pub(crate) fn new(
        logger: Rc<dyn Log>,
        peer: Peer,
        request: Option<&Request>,
        info: &RouteInfo,
        trace: Option<Box<dyn RequestTrace>>,
    ) -> Rc<Self> {
        let client = match request {
            Some(request) => route_info::client(request, &info.trusted),
            None => peer.ip(),
        };
        let head = request.map(|request| RecordedHead {
            host: route_info::asked_host(request, &info.trusted),
            method: request.method_str().to_owned(),
            target: request.target().to_owned(),
            path: request.path().to_owned(),
            query: request.query().map(str::to_owned),
            protocol: request.protocol(),
            referer: request.header("referer").map(<[u8]>::to_vec),
            agent: request.header("user-agent").map(<[u8]>::to_vec),
            id: route_info::id_of(request, info),
        });
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let line = RecordedLine {
            logger,
            since_1970: now.unwrap_or_default(),
            client: proxies::shown(client),
            head,
            trace,
            statements: RefCell::default(),
        };
        Rc::new(Self::empty(Some(Box::new(line))))
    }

    fn empty(line: Option<Box<RecordedLine>>) -> Self {
        Self {
            line,
            meters: Cell::default(),
            method: Cell::default(),
            route: RefCell::default(),
            is_file: Cell::default(),
            script: Cell::default(),
            db: Cell::default(),
            arrived: Cell::default(),
            queued: Cell::default(),
            traced: RefCell::default(),
        }
    }

    /// Records the spans of the request from now on.
    pub(crate) fn begin_trace(&self, traced: TracedRequest) {
        self.traced.replace(Some(traced));
    }

    /// Returns the trace of the request, if there is one.
    #[inline]
    pub(crate) fn trace(&self) -> Option<Trace> {
        self.traced
            .borrow()
            .as_ref()
            .map(|traced| traced.trace.clone())
    }

    /// Ends the part of a trace that was recorded apart from its connection.
    pub(crate) fn end_apart(&self) {
        if let Some(traced) = self.traced.take() {
            traced.end_apart();
        }
    }

    /// Has the metrics know of the request, which begins now.
    #[inline]
    pub(crate) fn measure(&self, meters: &Rc<WorkerMeters>, method: Option<Method>) {
        meters.begun();
        self.meters.set(Some(Rc::clone(meters)));
        self.method.set(method);
        self.is_file.set(false);
        self.script.set(Duration::ZERO);
        self.db.set(Duration::ZERO);
        self.queued.set(None);
    }

    /// A record for the times of a request whose line another worker writes; `id` is the one that it has there.
    pub(crate) fn apart(
        logger: Rc<dyn Log>,
        id: Option<Box<str>>,
        arrived: Option<Instant>,
    ) -> Rc<Self> {
        let line = RecordedLine {
            logger,
            since_1970: Duration::ZERO,
            client: String::new(),
            head: id.map(|id| RecordedHead {
                id,
                ..RecordedHead::default()
            }),
            trace: None,
            statements: RefCell::default(),
        };
        let record = Self::empty(Some(Box::new(line)));
        record.arrived.set(arrived);
        Rc::new(record)
    }

    /// Takes the times since they were asked for last.
    pub(crate) fn take_times(&self) -> RecordedTimes {
        RecordedTimes {
            script: self.script.take(),
            db: self.db.take(),
            queued: self.queued.take(),
        }
    }

    /// Adds times that another worker has measured.
    pub(crate) fn add_times(&self, times: RecordedTimes) {
        self.add_script(times.script);
        self.add_db(times.db);
        if times.queued.is_some() {
            self.queued.set(times.queued);
        }
    }

    /// Returns the time at which the request was whole, for the worker that it is handed over to.
    pub(crate) fn take_arrival(&self) -> Option<Instant> {
        self.arrived.take()
    }

    /// A script began to run at this time.
    #[inline]
    pub(crate) fn script_began(&self, at: Instant) {
        if let Some(arrived) = self.arrived.take() {
            self.queued.set(Some(at.saturating_duration_since(arrived)));
        }
    }

    /// The request's id.
    pub(crate) fn id(&self) -> Option<&str> {
        let head = self.line.as_ref()?.head.as_ref();
        head.map(|head| &*head.id)
    }

    /// Takes note that a file answers.
    pub(crate) fn set_file(&self) {
        self.is_file.set(true);
    }

    /// The route that answers.
    pub(crate) fn set_route(&self, info: &Rc<RouteInfo>) {
        self.route.replace(Some(Rc::clone(info)));
    }

    /// The script ran for so long.
    pub(crate) fn add_script(&self, time: Duration) {
        self.script.set(self.script.get() + time);
    }

    /// The database took so long.
    pub(crate) fn add_db(&self, time: Duration) {
        self.db.set(self.db.get() + time);
    }

    /// These statements ran.
    pub(crate) fn add_statements(&self, ran: Vec<RanStatement>) {
        let Some(line) = self.line.as_ref().filter(|_| !ran.is_empty()) else {
            return;
        };
        let mut statements = line.statements.borrow_mut();
        statements.count += ran.len();
        statements.elapsed += ran.iter().map(|one| one.elapsed).sum::<Duration>();
        let room = STATEMENTS_SHOWN_MAX.saturating_sub(statements.first.len());
        statements.first.extend(ran.into_iter().take(room));
    }

    /// The statements that ran; `None` where they are not recorded.
    pub fn statements(&self) -> Option<Ref<'_, Statements>> {
        Some(self.line.as_ref()?.statements.borrow())
    }

    fn write(&self, line: &RecordedLine, outcome: &RequestOutcome) {
        let head = line.head.as_ref();
        if let Some(trace) = &line.trace {
            let head = head.map(|head| (head.method.as_str(), head.target.as_str()));
            trace.tell(head, outcome, &line.statements.borrow());
        }
        let route = self.route.borrow();
        let pattern = route.as_ref().map(|info| &*info.pattern);
        line.logger.access(&Access {
            since_1970: line.since_1970,
            client: &line.client,
            host: head.map(|head| &*head.host),
            request: head.map(|head| RequestLine {
                method: &head.method,
                target: &head.target,
                path: &head.path,
                query: head.query.as_deref(),
                protocol: head.protocol,
            }),
            route: pattern.filter(|pattern| !pattern.is_empty()),
            status: outcome.status,
            bytes: outcome.body_bytes,
            elapsed: outcome.elapsed,
            script: self.script.get(),
            db: self.db.get(),
            id: self.id(),
            trace: self.trace().map(|trace| trace.ids()),
            referer: head.and_then(|head| head.referer.as_deref()),
            agent: head.and_then(|head| head.agent.as_deref()),
            is_aborted: !outcome.is_whole,
        });
    }
}

/// Writes the line and counts the request when it is over.
impl Observer for Record {
    fn begun(&self, at: Instant) {
        self.arrived.set(Some(at));
    }

    fn counts_bytes(&self) -> bool {
        self.line.is_some() || self.traced.borrow().is_some()
    }

    fn done(&self, outcome: &RequestOutcome) {
        if let Some(meters) = self.meters.take() {
            let route = self.route.borrow();
            let request = MeasuredRequest {
                method: self.method.get(),
                route: route.as_ref().and_then(|info| info.meter.as_deref()),
                is_file: self.is_file.get(),
                times: RecordedTimes {
                    script: self.script.get(),
                    db: self.db.get(),
                    queued: self.queued.get(),
                },
            };
            meters.ended(&request, outcome);
        }
        if let Some(line) = &self.line {
            self.write(line, outcome);
        }
        if let Some(traced) = self.traced.take() {
            let route = self.route.borrow();
            traced.end(route.as_ref().map(|info| &*info.pattern), outcome);
        }
        // A record that is used again keeps no project.
        self.route.take();
    }
}
