//! The access log's record of one request: collected while it is answered, written when the answer has been sent.

use crate::request::proxies;
use crate::request::route_info::{self, RouteInfo};
use sampan_host::RanStatement;
use sampan_host::log::{Access, Log, RequestLine};
use sampan_http::{Observer, Peer, Request, RequestOutcome};
use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One request on its way into the access log.
pub struct Record {
    logger: Rc<dyn Log>,
    since_1970: Duration,
    client: String,
    /// `None` where the request could not be read.
    head: Option<RecordedHead>,
    route: RefCell<Option<Rc<RouteInfo>>>,
    script: Cell<Duration>,
    db: Cell<Duration>,
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
        Rc::new(Self {
            logger,
            since_1970: now.unwrap_or_default(),
            client: proxies::shown(client),
            head,
            route: RefCell::default(),
            script: Cell::default(),
            db: Cell::default(),
            trace,
            statements: RefCell::default(),
        })
    }

    /// A record for the times of a request whose line another worker writes; `id` is the one that it has there.
    pub(crate) fn apart(logger: Rc<dyn Log>, id: Box<str>) -> Rc<Self> {
        Rc::new(Self {
            logger,
            since_1970: Duration::ZERO,
            client: String::new(),
            head: Some(RecordedHead {
                id,
                ..RecordedHead::default()
            }),
            route: RefCell::default(),
            script: Cell::default(),
            db: Cell::default(),
            trace: None,
            statements: RefCell::default(),
        })
    }

    /// Takes the times of the script and of the database.
    pub(crate) fn take_times(&self) -> (Duration, Duration) {
        (self.script.take(), self.db.take())
    }

    /// The request's id.
    pub(crate) fn id(&self) -> Option<&str> {
        self.head.as_ref().map(|head| &*head.id)
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
        if ran.is_empty() {
            return;
        }
        let mut statements = self.statements.borrow_mut();
        statements.count += ran.len();
        statements.elapsed += ran.iter().map(|one| one.elapsed).sum::<Duration>();
        let room = STATEMENTS_SHOWN_MAX.saturating_sub(statements.first.len());
        statements.first.extend(ran.into_iter().take(room));
    }

    /// The statements that ran.
    pub fn statements(&self) -> Ref<'_, Statements> {
        self.statements.borrow()
    }

    fn write(&self, outcome: &RequestOutcome) {
        if let Some(trace) = &self.trace {
            let head = self.head.as_ref();
            let head = head.map(|head| (head.method.as_str(), head.target.as_str()));
            trace.tell(head, outcome, &self.statements.borrow());
        }
        let route = self.route.borrow();
        let pattern = route.as_ref().map(|info| &*info.pattern);
        let head = self.head.as_ref();
        self.logger.access(&Access {
            since_1970: self.since_1970,
            client: &self.client,
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
            referer: head.and_then(|head| head.referer.as_deref()),
            agent: head.and_then(|head| head.agent.as_deref()),
            is_aborted: !outcome.is_whole,
        });
    }
}

/// Writes the line when the request is over.
impl Observer for Record {
    fn done(&self, outcome: &RequestOutcome) {
        self.write(outcome);
    }
}
