//! The services of a worker for the requests of one isolate.

use crate::admission::Admission;
use crate::answer::error_log::log_of;
use crate::compression::Compression;
use crate::files::StaticFiles;
use crate::gate::commit_gate::Gate;
use crate::lane::{RouteNames, SlowLane};
use crate::request::id::Ids;
use crate::request::meters::WorkerMeters;
use crate::request::proxies::TrustedProxy;
use crate::request::request_view::View;
use crate::request::route_meter::RouteMeter;
use sampan_host::events::EventStream;
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::trace::{Trace, Tracer};
use sampan_host::{BodyOptions, CurrentRun, Error, Guard, RequestView};
use sampan_http::Response;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Tells developers all that is known about an error, and what is probably a mistake.
pub trait ErrorPages {
    /// Returns the answer to an error that no `on_error` has handled; `second` is that of an `on_error` that failed.
    fn answer_to(&self, error: &Error, second: Option<&Error>, view: &Rc<View>) -> Response;

    /// Returns the answer to an error that the project's `on_error` has answered with `own`.
    fn instead_of(&self, error: &Error, own: Response, view: &Rc<View>) -> Response;

    /// Takes note that the handler of the route with this pattern has returned nothing.
    fn returned_nothing(&self, _method: &str, _pattern: &str) {}
}

/// The end of a project's streams: another project has taken its place, and their time is up.
#[derive(Default)]
pub struct StreamsEnd {
    is_here: Cell<bool>,
    /// Streams of events whose functions run.
    events: RefCell<Vec<Weak<EventStream>>>,
}

impl StreamsEnd {
    /// Cuts the streams off.
    pub fn begin(&self) {
        self.is_here.set(true);
        for stream in self.events.take() {
            if let Some(stream) = stream.upgrade() {
                stream.wake_body();
            }
        }
    }

    /// Reports whether the streams are cut off.
    pub(crate) fn is_here(&self) -> bool {
        self.is_here.get()
    }

    /// Has a stream polled when that begins.
    pub(crate) fn watch(&self, stream: &Rc<EventStream>) {
        let mut events = self.events.borrow_mut();
        if events.len().is_power_of_two() {
            events.retain(|one| one.strong_count() > 0);
        }
        events.push(Rc::downgrade(stream));
    }
}

/// The services of a worker for a project.
pub struct Control {
    /// The log.
    pub logger: Rc<dyn Log>,
    /// The way to the database and out.
    pub gate: Rc<Gate>,
    /// The proxies whose `X-Forwarded-*` fields are believed.
    pub trusted: Rc<[TrustedProxy]>,
    /// Makes the ids of the worker's requests.
    pub ids: Rc<Ids>,
    /// Compresses answers, if that is on.
    pub compression: Option<Rc<Compression>>,
    /// Refuses requests of other sites that may change something.
    pub csrf: Option<Rc<dyn Guard>>,
    /// The files that the server answers with.
    pub files: Rc<StaticFiles>,
    /// The measurements of the worker, if there are any.
    pub meters: Option<Rc<WorkerMeters>>,
    /// Begins traces, if anything is traced.
    pub tracer: Option<Rc<Tracer>>,
    /// The request whose script runs.
    pub current: CurrentRun,
    /// Called when the isolate ran out of memory and could not recover.
    pub worn_out: Box<dyn Fn()>,
    /// The time at which the server began to shut down.
    pub ending: Arc<OnceLock<Instant>>,
    /// The longest time that requests may go on from then.
    pub shutdown_time_max: Duration,
    /// The longest time of a handler, for the log: a wait longer than this was cut off by the server, a shorter one by
    /// the client.
    pub handler_time_max: Duration,
    /// The longest time that the script of a request that was given up may go on.
    pub cleanup_time_max: Duration,
    /// The number of work items that still run.
    pub endings: Rc<Cell<usize>>,
    /// The end of the project's streams.
    pub streams: StreamsEnd,
    /// The isolates of slow routes, if this worker has others for them.
    pub lane: Option<Arc<dyn SlowLane>>,
    /// Numbers the routes of a server without a slow lane, for reports of crashes.
    pub route_names: Option<Arc<RouteNames>>,
    /// Decides when requests begin; `None`: as they come.
    pub admission: Option<Rc<Admission>>,
    /// In development: what makes pages of errors.
    pub dev: Option<Box<dyn ErrorPages>>,
}

impl Control {
    /// Returns the compression for the answers of a handler.
    pub(crate) fn compression_for(&self, options: &BodyOptions) -> Option<Rc<Compression>> {
        self.compression.clone().filter(|_| !options.uncompressed)
    }

    /// Returns the measurements of a route.
    pub(crate) fn route_meter(&self, pattern: &str) -> Option<Rc<RouteMeter>> {
        self.meters.as_ref().map(|meters| meters.route(pattern))
    }

    /// Runs scripts for a request: the log and the access log know whose they are meanwhile.
    #[inline]
    pub(crate) fn during<T>(&self, view: Option<&Rc<View>>, run: impl FnOnce() -> T) -> T {
        let request = view.map(|view| Rc::clone(view) as Rc<dyn RequestView>);
        let before = self.current.set(request);
        let watch = &self.gate.watch;
        let route_before = watch.route();
        match view.map(|view| view.route_number()) {
            // In the slow lane it is set around this.
            Some(0) => {}
            number => {
                watch.set_route(number.unwrap_or(0));
            }
        }
        let begun = self.current.begin();
        if begun.is_some() {
            // What others have left is not this request's. Statements that ran between two runs are of what goes on
            // now.
            self.current.take();
        }
        let done = run();
        if let (Some(begun), Some(record)) = (begun, view.and_then(|view| view.record())) {
            record.script_began(begun);
            let all = begun.elapsed();
            let (inside, waited) = self.current.take();
            record.add_script(all.saturating_sub(inside));
            record.add_db(inside + waited);
            record.add_statements(self.current.take_statements());
        }
        watch.set_route(route_before);
        self.current.set(before);
        done
    }
}

/// Logs an error once, with its place and stack and the request that it belongs to; `part` says which part of its
/// answer.
#[cold]
pub(crate) fn log(control: &Control, view: Option<&Rc<View>>, part: &str, error: &Error) {
    let request = view.map(|view| Rc::clone(view) as Rc<dyn RequestView>);
    let text = match view {
        Some(view) => format!("{}{part}: {error}", view.title()),
        None => format!("{part}: {error}"),
    };
    log_of(&*control.logger, request.as_deref(), text, error);
}

/// Logs that the shutdown cut a request.
#[cold]
pub(crate) fn warn_cut(control: &Control, view: &View, text: String) {
    let cause = Cause::place("cut by the shutdown");
    tell(control, view, (Level::Warn, cause), text);
}

/// Logs a line that belongs to a request.
#[cold]
pub(crate) fn tell(control: &Control, view: &View, (level, cause): (Level, Cause), text: String) {
    let entry = Entry {
        id: Some(view.id()),
        request: Some((view.method(), view.path())),
        trace: Trace::ids_of(view),
        ..Entry::text(text)
    };
    control.logger.write_limited(level, cause, &entry);
}
