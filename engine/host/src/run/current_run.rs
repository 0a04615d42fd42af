//! The running script of a worker, and its costs, for those who write it down.
//!
//! `app` sets the request before it enters an isolate, or the run that no request waits for. The log asks
//! whose run it is, and the database: for whom a transaction is, and whose messages wait for it. In JavaScript, code of
//! one request may run in the turn of another; what that uses of another's transaction is noted where it is used.

use crate::error::{Error, ErrorKind};
use crate::offers::trace::{SpanKind, Trace, operation, without_values};
use crate::request::{RecordedWithWrites, RequestView};
use crate::run::limits::CANCELLED;
use crate::store::Store;
use crate::value::Value;
use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The current run of a worker. Clones are the same one.
#[derive(Clone, Default)]
pub struct CurrentRun(Rc<CurrentRunState>);

#[derive(Default)]
struct CurrentRunState {
    request: RefCell<Option<Rc<dyn RequestView>>>,
    /// Set in a run that no request waits for.
    background: RefCell<Option<Rc<BackgroundRun>>>,
    is_measured: Cell<bool>,
    is_traced: Cell<bool>,
    /// The database, by its name in spans, where spans are recorded.
    spans_of: Cell<Option<&'static str>>,
    statements: RefCell<Vec<RanStatement>>,
    inside: Cell<Duration>,
    waited: Cell<Duration>,
    /// True once a request may write nothing any more.
    refuses_writes: Cell<bool>,
}

/// Put into the store of a request that may write nothing any more.
struct WritesNothing;

/// The owner of what a script does: of a transaction, of messages that wait for it.
#[derive(Clone)]
pub enum RunOwner {
    /// A request, with all its runs.
    Request(Rc<dyn RequestView>),
    /// A run that no request waits for, such as an event of a socket.
    Background(Rc<BackgroundRun>),
}

/// A run that no request waits for, as the owner of something.
#[derive(Debug, Default)]
pub struct BackgroundRun {
    /// True for what goes on as long as the isolate: the timers of a module's top level.
    pub is_endless: bool,
    store: Store,
}

impl BackgroundRun {
    /// A run that goes on as long as the isolate.
    pub fn endless() -> Self {
        Self {
            is_endless: true,
            ..Self::default()
        }
    }
}

impl RunOwner {
    /// Reports whether it is the same one.
    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Request(one), Self::Request(other)) => {
                std::ptr::addr_eq(Rc::as_ptr(one), Rc::as_ptr(other))
            }
            (Self::Background(one), Self::Background(other)) => Rc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Returns the values that stay with it.
    pub fn store(&self) -> &Store {
        match self {
            Self::Request(request) => request.store(),
            Self::Background(run) => &run.store,
        }
    }
}

/// So many statements of one run are remembered.
const STATEMENTS_MAX: usize = 10_000;

/// A statement of a database that ran, for those who develop.
#[derive(Clone, Debug)]
pub struct RanStatement {
    /// The statement as it was written, with `?` where parameters are.
    pub sql: String,
    /// The parameters, as people read them; empty if it has none.
    pub params: String,
    /// The time that it took.
    pub elapsed: Duration,
}

impl RanStatement {
    /// The statement and its parameters, each on a line of its own.
    pub fn with_params(&self) -> String {
        match self.params.is_empty() {
            true => self.sql.clone(),
            false => format!("{}\n{}", self.sql, self.params),
        }
    }
}

/// The most characters of the parameters of a statement that are kept.
const PARAMS_CHARS_MAX: usize = 500;

/// Parameters for people: `[1, "Ann"]` by position, `{"name": "Ann"}` by name.
fn shown(value: &Value, out: &mut String) {
    if out.len() > PARAMS_CHARS_MAX {
        return;
    }
    let _ = match value {
        Value::Null => write!(out, "NULL"),
        Value::Bool(is) => write!(out, "{is}"),
        Value::Int(number) => write!(out, "{number}"),
        Value::Float(number) => write!(out, "{number}"),
        Value::Text(text) => {
            let cut: String = text.chars().take(PARAMS_CHARS_MAX).collect();
            write!(out, "{cut:?}")
        }
        Value::Bytes(bytes) => write!(out, "({} bytes)", bytes.len()),
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                shown(item, out);
            }
            write!(out, "]")
        }
        Value::Map(members) => {
            out.push('{');
            for (at, (name, member)) in members.iter().enumerate() {
                let _ = write!(out, "{}{name:?}: ", if at > 0 { ", " } else { "" });
                shown(member, out);
            }
            write!(out, "}}")
        }
        Value::Rows(_) | Value::Row(_) | Value::Object(_) => write!(out, "(an object)"),
    };
}

/// Parameters for people, cut where they are long; empty where there are none.
fn shown_params(params: &Value) -> String {
    let mut out = String::new();
    if !matches!(params, Value::Null) {
        shown(params, &mut out);
    }
    if let Some((at, _)) = out.char_indices().nth(PARAMS_CHARS_MAX) {
        out.truncate(at);
        out.push('…');
    }
    out
}

impl CurrentRun {
    /// Measures, and remembers what statements ran.
    pub fn traced() -> Self {
        let run = Self::new(true);
        run.0.is_traced.set(true);
        run
    }

    /// Records a statement that began then, if there is an observer.
    #[inline]
    pub fn ran(&self, sql: &str, params: &Value, begun: Option<Instant>) {
        if let Some(begun) = begun
            && let Some(database) = self.0.spans_of.get()
        {
            self.record_statement(database, sql, begun);
        }
        if let Some(begun) = begun
            && self.0.is_traced.get()
        {
            let mut statements = self.0.statements.borrow_mut();
            if statements.len() < STATEMENTS_MAX {
                statements.push(RanStatement {
                    sql: sql.to_owned(),
                    params: shown_params(params),
                    elapsed: begun.elapsed(),
                });
            }
        }
    }

    /// Has spans recorded from now on; `database` is its name in spans, such as `sqlite`.
    pub fn record_spans(&self, database: &'static str) {
        self.0.is_measured.set(true);
        self.0.spans_of.set(Some(database));
    }

    /// Returns the trace of what the script does now, if traces are on.
    #[inline]
    pub fn trace(&self) -> Option<Trace> {
        self.0.spans_of.get()?;
        let trace = self.owner()?.store().get::<Trace>()?;
        Some((*trace).clone())
    }

    /// Returns the trace of what the script does now, if spans of it are recorded.
    #[inline]
    pub fn recorded(&self) -> Option<Trace> {
        self.trace().filter(Trace::is_recorded)
    }

    #[cold]
    fn record_statement(&self, database: &'static str, sql: &str, begun: Instant) {
        let Some(trace) = self.recorded() else {
            return;
        };
        let operation = operation(sql);
        let attributes = vec![
            ("db.system.name".into(), database.into()),
            ("db.operation.name".into(), operation.as_str().into()),
            ("db.query.text".into(), without_values(sql).into()),
        ];
        trace.add(operation, SpanKind::Client, begun, attributes);
    }

    /// The statements that ran since the last call.
    pub fn take_statements(&self) -> Vec<RanStatement> {
        self.0.statements.take()
    }

    /// A worker's, with or without measuring.
    pub fn new(is_measured: bool) -> Self {
        let run = Self::default();
        run.0.is_measured.set(is_measured);
        run
    }

    /// Sets the request that the next run belongs to; `None` for none. Returns the one before.
    #[inline]
    pub fn set(&self, request: Option<Rc<dyn RequestView>>) -> Option<Rc<dyn RequestView>> {
        self.0.request.replace(request)
    }

    /// The request whose script runs now.
    pub fn request(&self) -> Option<Rc<dyn RequestView>> {
        self.0.request.borrow().clone()
    }

    /// Sets the run that no request waits for; `None` for none. Returns the one before.
    pub fn set_background(&self, run: Option<Rc<BackgroundRun>>) -> Option<Rc<BackgroundRun>> {
        self.0.background.replace(run)
    }

    /// The run that no request waits for, if such a one goes on.
    pub fn background(&self) -> Option<Rc<BackgroundRun>> {
        self.0.background.borrow().clone()
    }

    /// The owner of what the script does now; none while a project is loaded.
    pub fn owner(&self) -> Option<RunOwner> {
        match self.request() {
            Some(request) => Some(RunOwner::Request(request)),
            None => self.background().map(RunOwner::Background),
        }
    }

    /// Has all further writes of a request fail: it was given up, and nothing would tell that they were made.
    pub fn refuse_writes(&self, request: &dyn RequestView) {
        request.store().put(WritesNothing);
        self.0.refuses_writes.set(true);
    }

    /// Checks that what the script does now may write.
    ///
    /// # Errors
    /// Its request was given up, see [`CurrentRun::refuse_writes`].
    #[inline]
    pub fn check_write(&self) -> Result<(), Error> {
        match self.0.refuses_writes.get() {
            true => self.check_owner(),
            false => Ok(()),
        }
    }

    #[cold]
    fn check_owner(&self) -> Result<(), Error> {
        let owner = self.owner();
        if owner.is_none_or(|owner| owner.store().get::<WritesNothing>().is_none()) {
            return Ok(());
        }
        let text = "nothing records what this request does now: it writes nothing any more";
        Err(Error::new(ErrorKind::Unavailable, text).with_code(CANCELLED))
    }

    /// Reports whether the writes of what the script does now are recorded with its answer, in one commit.
    pub fn is_recorded_with_writes(&self) -> bool {
        let owner = self.owner();
        owner.is_some_and(|owner| owner.store().get::<RecordedWithWrites>().is_some())
    }

    /// Reads the clock if there is an observer: the beginning of something that a capability does for the script.
    #[inline]
    pub fn begin(&self) -> Option<Instant> {
        self.0.is_measured.get().then(Instant::now)
    }

    /// Ends the period that began then, inside of a run of the script. Returns its time, which is 0 without an
    /// observer.
    #[inline]
    pub fn end(&self, begun: Option<Instant>) -> Duration {
        let time = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        self.add(time);
        time
    }

    /// Adds a time inside of a run of the script in which a capability did something for it.
    #[inline]
    pub fn add(&self, time: Duration) {
        if !time.is_zero() {
            self.0.inside.set(self.0.inside.get() + time);
        }
    }

    /// Ends the period that began then; the script did not run meanwhile. Returns its time, which is 0 without an
    /// observer.
    pub fn end_waiting(&self, begun: Option<Instant>) -> Duration {
        let time = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        self.0.waited.set(self.0.waited.get() + time);
        time
    }

    /// The time that capabilities took since the last call: inside of runs, and while the script waited.
    pub fn take(&self) -> (Duration, Duration) {
        (self.0.inside.take(), self.0.waited.take())
    }
}
