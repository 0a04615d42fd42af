//! From a request to its answer: the router, and the state of one worker.

use crate::answer::error_log::log_of;
use crate::answer::errors;
use crate::dispatch::admitting;
use crate::dispatch::apart::handover;
use crate::dispatch::connection_faults;
use crate::dispatch::exchange::{DispatchedRequest, view};
use crate::dispatch::file_answer::{answer_file, find_fallback, find_file};
use crate::dispatch::guarding::Way;
use crate::dispatch::loaded::Loaded;
use crate::dispatch::no_route::no_route;
use crate::gate::chain_end::ChainEnd;
use crate::request::observers::Observers;
use crate::request::record::RecordPool;
use crate::routing::normal_form::normal_form;
use crate::routing::routes::RouteMatch;
use crate::routing::spans::Spans;
use crate::sockets::Serving;
use sampan_host::log::{Cause, Entry, Level};
use sampan_host::metrics::{KnownMetric, known};
use sampan_host::{Error, ErrorKind};
use sampan_http::codec::{Exceeded, Fault};
use sampan_http::{
    Answer, BodyRule, ClosedUnread, ConnectionFault, Handler, Observer, Peer, Request, Response,
};
use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::OnceLock;

/// The handler of one worker: the project as it is now.
pub struct Dispatch {
    /// Replaced as a whole; requests in flight keep the one that they began with.
    pub(super) current: RefCell<Rc<Loaded>>,
    pub(super) records: RecordPool,
}

/// The route of a request as it was found at its head, for when its body is here.
struct FoundRoute {
    loaded: Rc<Loaded>,
    /// The path in normal form, where that differs from the path as sent.
    normal: Option<String>,
    found: RouteMatch,
}

impl FoundRoute {
    fn find(loaded: Rc<Loaded>, request: &Request) -> Self {
        let normal = normal_form(request.path());
        let found = loaded.find(request, &normal);
        let normal = match normal {
            Cow::Borrowed(_) => None,
            Cow::Owned(path) => Some(path),
        };
        Self {
            loaded,
            normal,
            found,
        }
    }
}

impl Dispatch {
    /// A handler that answers with `loaded`.
    pub fn new(loaded: Rc<Loaded>) -> Self {
        Serving::begin(&loaded);
        loaded.declare_lanes();
        Self {
            current: RefCell::new(loaded),
            records: RecordPool::default(),
        }
    }

    /// Returns the number of requests that are answered and whose work still goes on.
    pub fn background_requests(&self) -> usize {
        self.current.borrow().engine.background_requests()
    }

    /// Returns the number of requests that were given up and are ending in order.
    pub fn ending_requests(&self) -> usize {
        self.current.borrow().control.endings.get()
    }

    /// Counts something that is rare, if anything is measured.
    #[cold]
    fn count(&self, metric: &'static KnownMetric, label: &str) {
        if let Some(meters) = &self.current.borrow().control.meters {
            meters.count(metric, label);
        }
    }

    /// Returns the project that answers a request, the path in normal form, and the route: those found at its head, if
    /// its body had to be waited for.
    #[inline(always)] // the route is copied otherwise
    fn route<'r>(&self, request: &'r Request) -> (Rc<Loaded>, Cow<'r, str>, RouteMatch) {
        if let Some(kept) = request.take_kept()
            && let Ok(kept) = kept.downcast::<FoundRoute>()
        {
            let normal = kept
                .normal
                .map_or(Cow::Borrowed(request.path()), Cow::Owned);
            return (kept.loaded, normal, kept.found);
        }
        let loaded = Rc::clone(&self.current.borrow());
        let normal = normal_form(request.path());
        let found = loaded.find(request, &normal);
        (loaded, normal, found)
    }

    /// Answers a request.
    pub fn handle_observed(&self, request: &Rc<Request>, observers: Observers) -> Answer {
        let (loaded, normal, found) = self.route(request);
        match found {
            RouteMatch::Route(index, spans) => {
                let entry = &loaded.entries[index];
                if entry.is_rest
                    && let Some(found) = find_file(&loaded, request, &normal)
                {
                    return answer_file(loaded, request, normal, found, observers);
                }
                let record = observers.record.as_ref();
                if let Some(answer) =
                    handover::hand_over(&loaded, entry, (request, &normal), record)
                {
                    return answer;
                }
                let host = || loaded.host_of(request);
                let chain = loaded.middleware.of_route(&entry.chain, host, &normal);
                let guards = &loaded.guards;
                let guards = guards.of_route(&entry.guards, request.method(), host, &normal);
                let fixed = entry.fixed.as_ref().filter(|_| chain.is_empty());
                let waits =
                    fixed.is_none() && admitting::has_to_wait(&loaded.control, entry.has_priority);
                if let (Some(fixed), []) = (fixed, &*guards) {
                    if let Some(record) = observers.record {
                        record.set_route(&entry.info);
                    }
                    return Answer::Precomputed(fixed.whole(request));
                }
                let end = match &entry.native {
                    None => ChainEnd::Handler(entry.handler),
                    Some(native) => ChainEnd::Native(native.clone()),
                };
                let exchange = DispatchedRequest {
                    loaded: Rc::clone(&loaded),
                    view: view(request, normal, spans, &entry.info, observers),
                    end,
                    uses: Rc::clone(&entry.uses),
                };
                let way = match fixed {
                    Some(_) => Way::Fixed(index),
                    None => Way::Chain(chain),
                };
                if waits {
                    let client = admitting::client_of(request, &guards, &loaded.control);
                    let (guards, way) = (guards.to_vec(), way.into_owned());
                    // The route may become slow while it waits.
                    let leave = move |waiting: &DispatchedRequest| {
                        let (entry, view) = (&waiting.loaded.entries[index], &waiting.view);
                        let request = (view.request(), view.normal_path());
                        handover::hand_over(&waiting.loaded, entry, request, view.record())
                    };
                    let run = move |exchange: DispatchedRequest| exchange.check(&guards, way);
                    return admitting::wait(exchange, client, leave, run);
                }
                exchange.check(&guards, way)
            }
            RouteMatch::Nothing(allow) => match find_file(&loaded, request, &normal)
                .or_else(|| find_fallback(&loaded, request, &normal, allow))
            {
                Some(found) => answer_file(loaded, request, normal, found, observers),
                None => no_route(loaded, request, normal, allow, observers),
            },
        }
    }

    /// Answers a request whose body is refused. Guards come before that, as before a handler.
    pub fn refuse_observed(
        &self,
        request: &Rc<Request>,
        fault: Fault,
        observers: Observers,
    ) -> Answer {
        let (loaded, normal, found) = self.route(request);
        let method = request.method();
        let host = loaded.host_of(request);
        let (spans, info, uses, guards) = match found {
            RouteMatch::Route(index, spans) => {
                let entry = &loaded.entries[index];
                let guards = &loaded.guards;
                let guards = guards.of_route(&entry.guards, method, || host, &normal);
                let (info, uses) = (Rc::clone(&entry.info), Rc::clone(&entry.uses));
                (spans, info, uses, guards.to_vec())
            }
            RouteMatch::Nothing(_) => {
                let guards = loaded.guards.of_path(method, host.as_deref(), &normal);
                let info = Rc::clone(&loaded.no_route);
                let uses = Rc::clone(&loaded.no_route_uses);
                (Spans::default(), info, uses, guards)
            }
        };
        let exchange = DispatchedRequest {
            view: view(request, normal, spans, &info, observers),
            loaded,
            end: ChainEnd::Folder,
            uses,
        };
        exchange.check(&guards, Way::Refuse(Box::new(fault)))
    }

    /// The project as it is now.
    pub fn loaded(&self) -> Rc<Loaded> {
        Rc::clone(&self.current.borrow())
    }

    /// Answers with another project, or a fresh isolate of the same, from now on. Gives the one before.
    #[must_use = "the old one may end where it is dropped, and finalizers with it"]
    pub fn replace(&self, loaded: Rc<Loaded>) -> Rc<Loaded> {
        Serving::begin(&loaded);
        loaded.declare_lanes();
        self.current.replace(loaded)
    }
}

/// The observers of a request, of which the HTTP engine knows the record.
fn observers(observer: Option<Rc<dyn Observer>>) -> Observers {
    let record = observer.and_then(|observer| (observer as Rc<dyn Any>).downcast().ok());
    Observers {
        record,
        failures: None,
    }
}

impl Handler for Dispatch {
    #[inline]
    fn handle(&self, request: &Rc<Request>, observer: Option<Rc<dyn Observer>>) -> Answer {
        self.handle_observed(request, observers(observer))
    }

    fn ticked(&self, now_millis: u64) {
        let loaded = self.current.borrow();
        loaded.control.files.tick(now_millis);
        if let Some(meters) = &loaded.control.meters {
            meters.ticked(now_millis, &*loaded.engine);
        }
    }

    fn body_rule(&self, request: &Request) -> BodyRule {
        let loaded = self.current.borrow();
        if !loaded.has_body_rules {
            return BodyRule::default();
        }
        let route = FoundRoute::find(Rc::clone(&loaded), request);
        let rule = match route.found {
            RouteMatch::Route(index, _) => route.loaded.entries[index].body,
            RouteMatch::Nothing(_) => route.loaded.fetch_body,
        };
        request.keep(Box::new(route));
        rule
    }

    fn error(&self, status: u16, limit: Option<Exceeded>) -> Response {
        let reason = limit.map_or_else(|| status.to_string(), |limit| limit.name.to_owned());
        self.count(&known::REFUSALS, &reason);
        if let Some(Exceeded { name, max }) = limit
            && status == 503
        {
            let text = match name {
                "connections_max" => {
                    format!("a connection was answered 503: {name} ({max}) is reached")
                }
                "process_bytes_max" => {
                    format!(
                        "a request was answered 503: the system has no {max} bytes for its body"
                    )
                }
                _ => format!(
                    "a request was answered 503: bodies of requests have reached {name} ({max})"
                ),
            };
            let logger = &self.current.borrow().control.logger;
            logger.write_limited(Level::Warn, Cause::place(name), &Entry::text(text));
            // The client has done nothing wrong and cannot do with less.
            return errors::refusal(status, None, None);
        }
        errors::refusal(status, limit, None)
    }

    fn refuse_body(
        &self,
        request: &Rc<Request>,
        fault: Fault,
        observer: Option<Rc<dyn Observer>>,
    ) -> Answer {
        self.refuse_observed(request, fault, observers(observer))
    }

    fn observe(&self, peer: Peer, request: Option<&Request>) -> Option<Rc<dyn Observer>> {
        let control = &self.current.borrow().control;
        let is_measured = control.meters.is_some() || control.tracer.is_some();
        let is_observed = is_measured || control.logger.has_access_log();
        is_observed.then(|| self.record(peer, request, None) as Rc<dyn Observer>)
    }

    fn closed_unread(&self, closed: &ClosedUnread) {
        let (name, max) = closed.limit;
        self.count(&known::REFUSALS, name);
        let client = closed
            .peer
            .ip()
            .map_or("a Unix socket".to_owned(), |ip| ip.to_string());
        let count = match closed.closed {
            1 => "1 connection was".to_owned(),
            more => format!("{more} connections were"),
        };
        let text = format!(
            "closed the connection of {client}, which held {} bytes and had read nothing for {} ms: clients have more \
             unread bytes than \
             [limits] {name} ({max} bytes); {count} closed for that",
            closed.bytes, closed.still_millis
        );
        let logger = Rc::clone(&self.current.borrow().control.logger);
        logger.text(Level::Warn, text);
    }

    fn connection_fault(&self, peer: Peer, fault: &ConnectionFault) {
        if let ConnectionFault::HandshakeFailed(_) = fault {
            self.count(&known::TLS_HANDSHAKES, "failed");
        }
        let logger = Rc::clone(&self.current.borrow().control.logger);
        connection_faults::tell(&*logger, peer, fault);
    }

    fn handshaken(&self) {
        self.count(&known::TLS_HANDSHAKES, "ok");
    }

    fn memory_freed(&self) {
        if let Some(allocator) = allocator() {
            (allocator.release)();
        }
    }

    fn panicked(&self, message: &str) {
        let control = Rc::clone(&self.current.borrow().control);
        // A panic leaves the request in place whose run it ended.
        let request = control.current.set(None);
        control.current.set_background(None);
        let error = Error::new(ErrorKind::Internal, message);
        let text = format!("a fault of the server itself: {message}");
        log_of(&*control.logger, request.as_deref(), text, &error);
    }
}

/// The functions of the process's allocator, as the program knows them that chose it.
#[derive(Clone, Copy, Debug)]
pub struct AllocatorFunctions {
    /// Gives free memory back to the system.
    pub release: fn(),
    /// Leaves that to `release`: allocations no longer do it.
    pub leave_to_release: fn(),
}

static ALLOCATOR: OnceLock<AllocatorFunctions> = OnceLock::new();

/// Tells the functions of the process's allocator: workers release memory after large answers were freed. The first
/// call counts.
pub fn set_allocator(functions: AllocatorFunctions) {
    let _ = ALLOCATOR.set(functions);
}

/// Returns the functions of the process's allocator, if they are known.
pub fn allocator() -> Option<AllocatorFunctions> {
    ALLOCATOR.get().copied()
}
