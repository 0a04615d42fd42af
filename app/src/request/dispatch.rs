//! From a request to its answer: router, middleware, script, error handlers.

use crate::dev::{Dev, RequestTrace};
use crate::embedding::ChainEnd;
use crate::request::answer_hooks;
use crate::request::commit_gate::{RouteUses, Visit};
use crate::request::errors;
use crate::request::fallback::Fallback;
use crate::request::file_answer::{answer_file, find_fallback, find_file};
use crate::request::given_up::{WaitingHandler, WaitingRequest};
use crate::request::record::Record;
use crate::request::request_view::{RouteInfo, View};
use crate::request::response_sink::{self, HttpSink};
use crate::routing::loaded::{FixedAnswer, Loaded};
use crate::routing::pattern::normal_form;
use crate::routing::routes::{Allow, RouteMatch, Spans};
use crate::routing::wrapping::SharedGuard;
use crate::scripts;
use crate::static_files::ServedFile;
use sampan_host::request::AnswerHooks;
use sampan_host::{
    Call, Error, ErrorKind, FileAnswer, GuardStep, HandlerId, Isolate, RequestView, Step,
    Suspended, answer,
};
use sampan_http::codec::{Exceeded, Fault};
use sampan_http::{
    Answer, BodyRule, ClosedUnread, Handler, Method, Observer, Peer, Request, Response,
};
use sampan_log::{Cause, Entry, Level};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

/// The handler of one worker: the project as it is now.
pub(crate) struct Dispatch {
    /// Replaced as a whole; requests in flight keep the one that they began with.
    current: RefCell<Rc<Loaded>>,
    /// The record of the request that is handled next, for the access log.
    record: RefCell<Option<Rc<Record>>>,
}

impl Dispatch {
    /// A handler that answers with `loaded`.
    pub(crate) fn new(loaded: Rc<Loaded>) -> Self {
        Self {
            current: RefCell::new(loaded),
            record: RefCell::default(),
        }
    }

    /// The number of answered requests that still goes on.
    pub(crate) fn background_requests(&self) -> usize {
        self.current.borrow().engine.background_requests()
    }

    /// Returns the number of requests that were given up and are ending in order.
    pub(crate) fn ending_requests(&self) -> usize {
        self.current.borrow().control.endings.get()
    }

    /// Watches a request in development.
    pub(crate) fn observe_for(
        &self,
        dev: &Arc<Dev>,
        peer: Peer,
        request: Option<&Request>,
    ) -> Box<dyn Observer> {
        let loaded = self.current.borrow();
        let logger = Rc::clone(&loaded.control.logger);
        let trace = Some(RequestTrace::new(dev));
        self.record_next(Record::new(logger, peer, request, &loaded.no_route, trace))
    }

    /// The record of the request that is handled next.
    fn record_next(&self, record: Rc<Record>) -> Box<dyn Observer> {
        let observer = record.observer();
        self.record.replace(Some(record));
        observer
    }

    /// The record of the request that is handled now, for one who handles it later.
    pub(crate) fn take_record(&self) -> Option<Rc<Record>> {
        self.record.take()
    }

    /// Answers a request.
    pub(crate) fn handle_recorded(
        &self,
        request: &Rc<Request>,
        record: Option<Rc<Record>>,
    ) -> Answer {
        let loaded = Rc::clone(&self.current.borrow());
        let normal = normal_form(request.path());
        match loaded.routes.find(request.method(), &normal) {
            RouteMatch::Route(index, spans) => {
                let entry = &loaded.entries[index];
                if entry.is_rest
                    && let Some(found) = find_file(&loaded, request, &normal)
                {
                    return answer_file(loaded, request, normal, found, record);
                }
                let chain = loaded.middleware.of_route(&entry.chain, &normal);
                let guards = &loaded.guards;
                let guards = guards.of_route(&entry.guards, request.method(), &normal);
                let fixed = entry.fixed.as_ref().filter(|_| chain.is_empty());
                if let (Some(fixed), []) = (fixed, &*guards) {
                    if let Some(record) = record {
                        record.set_route(&entry.info);
                    }
                    return Answer::Precomputed(fixed.whole(request));
                }
                let view = view(request, normal, spans, &entry.info, record);
                let exchange = DispatchedRequest {
                    loaded: Rc::clone(&loaded),
                    view,
                    fallback: Fallback::NONE,
                    uses: Rc::clone(&entry.uses),
                };
                exchange.check(&guards, |exchange| match (fixed, &entry.native) {
                    (Some(fixed), _) => exchange.answer_fixed(fixed),
                    (None, None) => exchange.answer(Some(entry.handler), &chain),
                    (None, Some(native)) => exchange.answer_by_program(native, &chain),
                })
            }
            RouteMatch::Nothing(allow) => match find_file(&loaded, request, &normal)
                .or_else(|| find_fallback(&loaded, request, &normal, allow))
            {
                Some(found) => answer_file(loaded, request, normal, found, record),
                None => no_route(loaded, request, normal, allow, record),
            },
        }
    }

    /// The project as it is now.
    pub(crate) fn loaded(&self) -> Rc<Loaded> {
        Rc::clone(&self.current.borrow())
    }

    /// Answers with another project, or a fresh isolate of the same, from now on. Gives the one before.
    #[must_use = "the old one may end where it is dropped, and finalizers with it"]
    pub(crate) fn replace(&self, loaded: Rc<Loaded>) -> Rc<Loaded> {
        self.current.replace(loaded)
    }
}

/// One request on its way through a project.
pub(crate) struct DispatchedRequest {
    pub(crate) loaded: Rc<Loaded>,
    pub(crate) view: Rc<View>,
    pub(crate) fallback: Fallback,
    pub(super) uses: Rc<RouteUses>,
}

impl Handler for Dispatch {
    #[inline]
    fn handle(&self, request: &Rc<Request>) -> Answer {
        self.handle_recorded(request, self.record.take())
    }

    fn ticked(&self, now_millis: u64) {
        self.current.borrow().control.files.tick(now_millis);
    }

    fn body_rule(&self, request: &Request) -> BodyRule {
        let loaded = self.current.borrow();
        if !loaded.has_body_rules {
            return BodyRule::default();
        }
        match loaded
            .routes
            .find(request.method(), &normal_form(request.path()))
        {
            RouteMatch::Route(index, _) => loaded.entries[index].body,
            RouteMatch::Nothing(_) => loaded.fetch_body,
        }
    }

    fn error(&self, status: u16, limit: Option<Exceeded>) -> Response {
        if let Some(Exceeded { name, max }) = limit
            && name == "connections_max"
        {
            let text = format!("a connection was answered 503: connections_max ({max}) is reached");
            let logger = &self.current.borrow().control.logger;
            logger.write_limited(Level::Warn, Cause::place(name), &Entry::text(text));
            // The client has done nothing wrong and cannot do with less.
            return errors::refusal(status, None, None);
        }
        match status {
            // What nobody told of before: its writes were lost behind its answer, or it never began.
            500 => scripts::tell_caller(&Visit::lost()),
            504 => scripts::tell_caller(&Error::new(ErrorKind::Timeout, "no answer in time")),
            _ => {}
        }
        errors::refusal(status, limit, None)
    }

    fn refuse_body(&self, request: &Rc<Request>, fault: Fault) -> Answer {
        let Fault { status, limit, .. } = fault;
        let loaded = self.loaded();
        let record = self.record.take();
        let text = match limit {
            Some(limit) => errors::above(status, limit),
            None => answer::label(status).to_owned(),
        };
        if let Some(Exceeded { name, max }) = limit {
            let path = request.path();
            let told = format!("{path}: answered {status}: the request is above {name} ({max})");
            let logger = &loaded.control.logger;
            logger.write_limited(Level::Info, Cause::place(name), &Entry::text(told));
        }
        let normal = normal_form(request.path());
        let (spans, info, uses) = match loaded.routes.find(request.method(), &normal) {
            RouteMatch::Route(index, spans) => {
                let entry = &loaded.entries[index];
                (spans, Rc::clone(&entry.info), Rc::clone(&entry.uses))
            }
            RouteMatch::Nothing(_) => {
                let (info, uses) = (&loaded.no_route, &loaded.no_route_uses);
                (Spans::default(), Rc::clone(info), Rc::clone(uses))
            }
        };
        let exchange = DispatchedRequest {
            view: view(request, normal, spans, &info, record),
            loaded,
            fallback: Fallback::NONE,
            uses,
        };
        exchange.refuse(Error::new(ErrorKind::Status(status), text))
    }

    fn observe(&self, peer: Peer, request: Option<&Request>) -> Option<Box<dyn Observer>> {
        let loaded = self.current.borrow();
        let logger = &loaded.control.logger;
        if !logger.has_access_log() {
            return None;
        }
        let record = Record::new(Rc::clone(logger), peer, request, &loaded.no_route, None);
        Some(self.record_next(record))
    }

    fn closed_unread(&self, closed: &ClosedUnread) {
        let (name, max) = closed.limit;
        let client = closed
            .peer
            .ip()
            .map_or("a Unix socket".to_owned(), |ip| ip.to_string());
        let text = format!(
            "closed the connection of {client}, which held {} bytes and had read nothing for {} ms: clients have more \
             unread bytes than \
             [limits] {name} ({max} bytes); {} connections were closed for that",
            closed.bytes, closed.still_millis, closed.closed
        );
        let logger = Rc::clone(&self.current.borrow().control.logger);
        logger.text(Level::Warn, text);
    }

    fn memory_freed(&self) {
        if let Some(release) = RELEASE_MEMORY.get() {
            release();
        }
    }

    fn panicked(&self, message: &str) {
        let control = Rc::clone(&self.current.borrow().control);
        // A panic leaves the request in place whose run it ended.
        let request = control.current.set(None);
        let error = Error::new(ErrorKind::Internal, message);
        scripts::tell_caller(&error);
        let text = format!("a fault of the server itself: {message}");
        response_sink::log_of(&control.logger, request.as_deref(), text, &error);
    }
}

/// Gives memory that was freed back to the system; known to the program that chooses the allocator.
static RELEASE_MEMORY: OnceLock<fn()> = OnceLock::new();

/// Has workers call this function after large answers were freed. The first call counts.
pub fn release_memory_with(release: fn()) {
    let _ = RELEASE_MEMORY.set(release);
}

pub(super) fn view(
    request: &Rc<Request>,
    normal: Cow<'_, str>,
    spans: Spans,
    info: &Rc<RouteInfo>,
    record: Option<Rc<Record>>,
) -> Rc<View> {
    let normal = match normal {
        Cow::Borrowed(_) => None,
        Cow::Owned(path) => Some(path.into()),
    };
    Rc::new(View::new(
        Rc::clone(request),
        normal,
        spans,
        Rc::clone(info),
        record,
    ))
}

/// Answers a request that no route answers: by the module's `fetch`, the script's `not_found`, or by default; through
/// the middleware of the path in any case.
fn no_route(
    loaded: Rc<Loaded>,
    request: &Rc<Request>,
    normal: Cow<'_, str>,
    allow: Allow,
    record: Option<Rc<Record>>,
) -> Answer {
    let is_options = request.method() == Method::Options;
    // Another method asks for a file: one that GET asks for has been found before.
    let has_file = loaded.fetch.is_none()
        && !matches!(request.method(), Method::Get | Method::Head)
        && matches!(loaded.control.files.find(&normal), Ok(Some(_)));
    let allow = if has_file { allow.with_get() } else { allow };
    let (handler, fallback) = match (loaded.fetch, allow.is_empty()) {
        (Some(fetch), _) => (Some(fetch), Fallback::NONE),
        (None, true) if is_options && normal == "*" => (None, Fallback::of(204, Allow::ALL)),
        (None, true) => (loaded.not_found, Fallback::of(404, allow)),
        (None, false) if is_options => (None, Fallback::of(204, allow)),
        (None, false) => (loaded.not_found, Fallback::of(405, allow)),
    };
    let chain = loaded.middleware.of_path(&normal);
    let guards = loaded.guards.of_path(request.method(), &normal);
    let view = view(request, normal, Spans::default(), &loaded.no_route, record);
    let uses = Rc::clone(&loaded.no_route_uses);
    let exchange = DispatchedRequest {
        loaded,
        view,
        fallback,
        uses,
    };
    exchange.check(&guards, |exchange| {
        if handler.is_some() || !chain.is_empty() {
            return exchange.answer(handler, &chain);
        }
        let mut response = Response::new(fallback.status);
        fallback.complete(&mut response, &exchange.view);
        exchange.answer_natively(response)
    })
}

impl Drop for DispatchedRequest {
    fn drop(&mut self) {
        self.view.additions.end_handler();
    }
}

impl DispatchedRequest {
    /// Asks the guards of the path, in their order, and goes on if they all pass the request.
    #[inline]
    pub(super) fn check(self, guards: &[SharedGuard], pass: impl FnOnce(Self) -> Answer) -> Answer {
        for guard in guards {
            match guard.check(&*self.view) {
                Ok(GuardStep::Pass) => {}
                Ok(GuardStep::Answer(status)) => {
                    return self.answer_natively(Response::new(status));
                }
                Err(error) => return self.refuse(error),
            }
        }
        pass(self)
    }

    /// The answer to what a guard refuses, as to an error of a handler.
    #[cold]
    fn refuse(self, error: Error) -> Answer {
        if self.loaded.on_error.is_none() {
            self.log(&error);
            return self.answer_natively(errors::answer_to(&error, &self.view));
        }
        let failed = move |exchange: Self| {
            let visit = exchange.loaded.control.gate.visit();
            exchange.failed(&error, visit)
        };
        if self.loaded.control.gate.try_acquire(self.route()) {
            return failed(self);
        }
        self.when_acquired(failed)
    }

    /// An answer that no script has made, and that depends on no write.
    pub(crate) fn answer_natively(&self, mut response: Response) -> Answer {
        if let Err(error) = self.view.additions.complete(&mut response) {
            self.log(&error);
            response = errors::answer_to(&error, &self.view);
        }
        self.view.tell_id(&mut response);
        self.view.compress(&mut response);
        Answer::Now(response)
    }

    /// The answer of a route that is a value, with what guards add to it.
    fn answer_fixed(&self, fixed: &FixedAnswer) -> Answer {
        let opened = match self.view.additions.has_fields() {
            true => fixed.opened(),
            false => None,
        };
        match opened {
            Some(response) => self.answer_natively(response),
            None => Answer::Precomputed(fixed.whole(self.view.request())),
        }
    }

    /// Answers by a handler within its middleware, as soon as it may run.
    pub(crate) fn answer(self, handler: Option<HandlerId>, middleware: &[HandlerId]) -> Answer {
        if self.loaded.control.gate.try_acquire(self.route()) {
            return self.run(handler, middleware);
        }
        let middleware = middleware.to_vec();
        self.when_acquired(move |exchange| exchange.run(handler, &middleware))
    }

    /// Runs a script as soon as it may.
    fn when_acquired(self, run: impl FnOnce(Self) -> Answer + 'static) -> Answer {
        Answer::Later(Box::pin(async move {
            let control = &self.loaded.control;
            let begun = control.current.begin();
            let acquired = control.gate.acquire(self.route()).await;
            if let (Some(record), Some(begun)) = (self.view.record(), begun) {
                record.add_db(begun.elapsed());
            }
            match acquired {
                Ok(()) => run(self),
                Err(error) => {
                    self.log(&error);
                    self.answer_natively(errors::answer_to(&error, &self.view))
                }
            }
        }))
    }

    /// Returns the observed behaviour of the route for this method.
    fn route(&self) -> &sampan_db::RouteUse {
        self.uses.of(self.only_reads())
    }

    /// Reports whether the method says that the handler only reads.
    fn only_reads(&self) -> bool {
        let method = self.view.method();
        matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }

    fn run(self, handler: Option<HandlerId>, middleware: &[HandlerId]) -> Answer {
        let mut visit = self.loaded.control.gate.visit();
        let mut sink = HttpSink::new(self.fallback.status, &self.loaded.control, Some(&self.view));
        let request: Rc<dyn RequestView> = self.view.clone();
        let file = self.fallback.is_file.then(|| self.view.store().get());
        let file: Option<Rc<ServedFile>> = file.flatten();
        let file = match self.fallback.is_native {
            true => Some(ChainEnd::SEEN),
            false => file.as_deref().map(|file| FileAnswer {
                path: &file.path,
                content_type: file.content_type(),
            }),
        };
        let call = Call {
            request,
            handler,
            fallback: self.fallback.status,
            file,
            middleware,
            error: None,
        };
        let step = self.start(call, &mut sink, &mut visit);
        match step {
            Step::Done => self.done(visit, sink),
            Step::Failed(error) => self.failed(&error, visit),
            Step::Waiting(suspended) => {
                visit.remember();
                Answer::Later(Box::pin(async move {
                    match self.wait(suspended, &mut sink, &mut visit).await {
                        Ok(()) => self.done(visit, sink),
                        Err(error) => self.failed(&error, visit),
                    }
                }))
            }
        }
    }

    /// Enters the isolate.
    #[inline]
    fn start(&self, call: Call<'_>, sink: &mut HttpSink, visit: &mut Visit) -> Step {
        self.loaded.control.during(Some(&self.view), || {
            let step = match self.loaded.engine.start(call, sink) {
                Step::Done => answer_hooks::ended(&self.loaded.control, &self.view),
                step => step,
            };
            visit.left(Some(self.route()));
            step
        })
    }

    /// The answer of a script that has ended.
    #[inline]
    fn done(self, visit: Visit, sink: HttpSink) -> Answer {
        if sink.is_native() {
            return self.answer_behind_middleware(visit, sink);
        }
        self.release(&visit, self.finish(sink))
    }

    #[inline]
    pub(crate) fn release(&self, visit: &Visit, response: Response) -> Answer {
        visit.release(response, &self.view, &self.loaded.control)
    }

    /// Waits for a suspended handler to end.
    async fn wait(
        &self,
        rest: Box<dyn Suspended>,
        sink: &mut HttpSink,
        visit: &mut Visit,
    ) -> Result<(), Error> {
        let request = WaitingRequest {
            control: Rc::clone(&self.loaded.control),
            view: Some(Rc::clone(&self.view)),
            route: Some((Rc::clone(&self.uses), self.only_reads())),
        };
        WaitingHandler::new(request, rest).end(sink, visit).await
    }

    /// Logs an error and lets the script's `on_error` answer it, or answers by default.
    fn failed(self, error: &Error, mut visit: Visit) -> Answer {
        // An error outside of any line of the script is looked for where its handler was declared.
        let located;
        let error = if error.place().is_none() && self.view.place().is_some() {
            located = error.clone().at(self.view.place().cloned());
            &located
        } else {
            error
        };
        let shown = self.with_declaration(error);
        self.log(&shown);
        AnswerHooks::handler_failed(&*self.view);
        let loaded = &self.loaded;
        if error.kind() == ErrorKind::Memory && loaded.engine.is_worn_out() {
            (loaded.control.worn_out)();
        }
        // A script that used up its time or memory does not get more of it to say so.
        let is_spent = matches!(error.kind(), ErrorKind::Stopped | ErrorKind::Memory);
        let Some(handler) = loaded.on_error.filter(|_| !is_spent) else {
            return self.release(&visit, self.default_answer(&shown, None));
        };
        let status = error.kind().status();
        let mut sink = HttpSink::new(status, &loaded.control, Some(&self.view));
        let request: Rc<dyn RequestView> = self.view.clone();
        let call = Call {
            request,
            handler: Some(handler),
            fallback: status,
            file: None,
            middleware: &[],
            error: Some(error),
        };
        let step = self.start(call, &mut sink, &mut visit);
        match step {
            Step::Done => self.release(&visit, self.answered_by_project(&shown, sink)),
            Step::Failed(second) => self.release(&visit, self.failed_twice(&shown, &second)),
            Step::Waiting(suspended) => {
                visit.remember();
                Answer::Later(Box::pin(async move {
                    let waited = self.wait(suspended, &mut sink, &mut visit).await;
                    let response = match waited {
                        Ok(()) => self.answered_by_project(&shown, sink),
                        Err(second) => self.failed_twice(&shown, &second),
                    };
                    self.release(&visit, response)
                }))
            }
        }
    }

    /// Returns the error with the place where the route was declared behind its stack, as people see it. The script is
    /// given the error as it is, because the engine knows by it which value was thrown.
    fn with_declaration(&self, error: &Error) -> Error {
        let (Some(declared), true) = (self.view.place(), errors::is_logged(error.kind())) else {
            return error.clone();
        };
        let stack = error.stack().unwrap_or_default();
        let line_end = if stack.is_empty() { "" } else { "\n" };
        let stack = format!("{stack}{line_end}  {declared}, where the route is declared");
        error.clone().with_stack(stack)
    }

    /// The answer of the project's `on_error`; in development a page about the error, which links it.
    fn answered_by_project(&self, error: &Error, sink: HttpSink) -> Response {
        let response = sink.into_response();
        match &self.loaded.control.dev {
            Some(dev) => dev.instead_of(error, response, &self.view),
            None => response,
        }
    }

    fn finish(&self, sink: HttpSink) -> Response {
        let mut response = sink.into_response();
        self.fallback.complete(&mut response, &self.view);
        response
    }

    /// The error handler failed too: both are logged, and the first one is answered by default.
    fn failed_twice(&self, first: &Error, second: &Error) -> Response {
        self.log(second);
        self.default_answer(first, Some(second))
    }

    /// Returns the answer to an error that no `on_error` has handled; `second` is that of an `on_error` that failed.
    fn default_answer(&self, error: &Error, second: Option<&Error>) -> Response {
        match &self.loaded.control.dev {
            Some(dev) => dev.answer_to(error, second, &self.view),
            None => errors::answer_to(error, &self.view),
        }
    }

    pub(super) fn log(&self, error: &Error) {
        response_sink::log(&self.loaded.control, Some(&self.view), "", error);
    }
}
