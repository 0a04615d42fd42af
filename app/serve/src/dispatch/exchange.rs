//! One request on its way through a project: guards, middleware, the end of the chain, error handlers.

use crate::answer::errors;
use crate::dispatch::fixed_answer::FixedAnswer;
use crate::dispatch::loaded::Loaded;
use crate::gate::answer_hooks;
use crate::gate::chain_end::ChainEnd;
use crate::gate::commit_gate::{RouteUses, Visit};
use crate::gate::control;
use crate::gate::given_up::{WaitingHandler, WaitingRequest};
use crate::gate::response_sink::HttpSink;
use crate::native::answer::{self as native, PendingHandler};
use crate::native::route::{NativeAnswer, NativeHandler};
use crate::request::early_hints;
use crate::request::observers::Observers;
use crate::request::request_view::View;
use crate::request::route_info::RouteInfo;
use crate::routing::spans::Spans;
use sampan_host::database::RouteUse;
use sampan_host::request::AnswerHooks;
use sampan_host::{Call, Error, ErrorKind, HandlerId, LocalFuture, RequestView, Step, Suspended};
use sampan_http::{Answer, Request, Response};
use std::borrow::Cow;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

/// One request on its way through a project.
pub(crate) struct DispatchedRequest {
    pub(crate) loaded: Rc<Loaded>,
    pub(crate) view: Rc<View>,
    /// The answer if all middleware lets the request through.
    pub(crate) end: ChainEnd,
    pub(crate) uses: Rc<RouteUses>,
}

pub(crate) fn view(
    request: &Rc<Request>,
    normal: Cow<'_, str>,
    spans: Spans,
    info: &Rc<RouteInfo>,
    observers: Observers,
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
        observers,
    ))
}

impl Drop for DispatchedRequest {
    fn drop(&mut self) {
        self.view.additions.end_handler();
    }
}

impl DispatchedRequest {
    /// A request that no route answers.
    pub(crate) fn without_route(
        loaded: Rc<Loaded>,
        request: &Rc<Request>,
        normal: Cow<'_, str>,
        end: ChainEnd,
        observers: Observers,
    ) -> Self {
        Self {
            view: view(
                request,
                normal,
                Spans::default(),
                &loaded.no_route,
                observers,
            ),
            uses: Rc::clone(&loaded.no_route_uses),
            loaded,
            end,
        }
    }

    /// An answer that no script has made, and that depends on no write.
    pub(crate) fn answer_natively(&self, mut response: Response) -> Answer {
        if let Err(error) = self.view.additions.complete(&mut response) {
            self.log(&error);
            response = self.view.answer_to(&error);
        }
        self.view.tell_id(&mut response);
        self.view.compress(&mut response);
        Answer::Now(response)
    }

    /// The answer of a route that is a value, with what guards add to it.
    pub(crate) fn answer_fixed(&self, fixed: &FixedAnswer) -> Answer {
        let opened = match self.view.additions.has_fields() {
            true => fixed.opened(),
            false => None,
        };
        match opened {
            Some(response) => self.answer_natively(response),
            None => Answer::Precomputed(fixed.whole(self.view.request())),
        }
    }

    /// Answers by the end of the chain within its middleware, as soon as it may run.
    pub(crate) fn answer(self, middleware: &[HandlerId]) -> Answer {
        if middleware.is_empty()
            && let ChainEnd::Native(handler) = &self.end
        {
            let called = native::call(handler, &self.view);
            return self.answer_by_program(called);
        }
        if let Some(preparing) = self.preparing() {
            let middleware = middleware.to_vec();
            return self.when_prepared(preparing, move |exchange| exchange.run(&middleware));
        }
        if self.loaded.control.gate.try_acquire(self.route()) {
            return self.run(middleware);
        }
        let middleware = middleware.to_vec();
        self.when_acquired(move |exchange| exchange.run(&middleware))
    }

    /// Answers as [`DispatchedRequest::answer`] does. Where no script has to run, the answer is made here.
    pub(crate) fn answer_or_complete(self, middleware: &[HandlerId]) -> Answer {
        if self.end.handler().is_some() || !middleware.is_empty() {
            return self.answer(middleware);
        }
        let mut response = Response::new(self.end.status());
        if let ChainEnd::File(file) = &self.end {
            file.complete(&mut response, self.view.request());
        }
        self.end.complete(&mut response, &self.view);
        self.answer_natively(response)
    }

    /// The answer of a native handler without middleware.
    fn answer_by_program(self, called: NativeAnswer) -> Answer {
        match called {
            NativeAnswer::Now(response) => self.answer_natively(self.followed(response)),
            NativeAnswer::Later(future) => Answer::Later(Box::pin(async move {
                let response = self.pending(future).await;
                self.answer_natively(self.followed(response))
            })),
        }
    }

    /// Answers after the middleware has returned what stood for the answer: by the native handler, with the header
    /// fields and the status that the middleware has set.
    fn answer_behind_middleware(
        self,
        handler: &NativeHandler,
        mut visit: Visit,
        around: Response,
    ) -> Answer {
        match native::call(handler, &self.view) {
            NativeAnswer::Now(response) => {
                let response = self.followed(response);
                self.release(&visit, native::merged(around, response))
            }
            NativeAnswer::Later(future) => {
                visit.remember();
                Answer::Later(Box::pin(async move {
                    let response = self.pending(future).await;
                    let response = self.followed(response);
                    self.release(&visit, native::merged(around, response))
                }))
            }
        }
    }

    fn pending(&self, future: LocalFuture<Response>) -> PendingHandler {
        PendingHandler::new(&self.view, future, self.loaded.control.handler_time_max)
    }

    fn followed(&self, response: Response) -> Response {
        native::followed(response, &self.view, &self.loaded.control.logger)
    }

    /// Runs a script as soon as it may.
    pub(super) fn when_acquired(self, run: impl FnOnce(Self) -> Answer + 'static) -> Answer {
        Answer::Later(Box::pin(async move {
            match self.acquire().await {
                Ok(()) => run(self),
                Err(error) => {
                    self.log(&error);
                    self.answer_natively(self.view.answer_to(&error))
                }
            }
        }))
    }

    /// Returns the observed behaviour of the route for this method.
    pub(super) fn route(&self) -> &RouteUse {
        self.uses.of(self.only_reads())
    }

    /// Reports whether the method says that the handler only reads.
    pub(super) fn only_reads(&self) -> bool {
        let method = self.view.method();
        matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }

    fn run(self, middleware: &[HandlerId]) -> Answer {
        let mut visit = self.loaded.control.gate.visit();
        let mut sink = HttpSink::around(&self.end, &self.loaded.control, &self.view);
        let request: Rc<dyn RequestView> = self.view.clone();
        let span = self.open_script_span(middleware);
        let call = Call {
            request,
            handler: self.end.handler(),
            fallback: self.end.status(),
            file: self.end.seen(),
            middleware,
            error: None,
            is_traced: span.as_ref().is_some_and(|span| span.has_chain()),
        };
        let step = self.start(call, &mut sink, &mut visit);
        match step {
            Step::Done => {
                drop(span);
                self.done(visit, sink)
            }
            Step::Failed(error) => {
                self.end_failed(span, &error);
                self.failed(&error, visit)
            }
            Step::Waiting(suspended) => {
                visit.remember();
                Answer::Later(Box::pin(async move {
                    match self.wait(suspended, &mut sink, &mut visit).await {
                        Ok(()) => {
                            drop(span);
                            self.done(visit, sink)
                        }
                        Err(error) => {
                            self.end_failed(span, &error);
                            self.failed(&error, visit)
                        }
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
                Step::Done => answer_hooks::ended(&self.loaded.control, &self.view, &*sink),
                step => step,
            };
            visit.left(Some(self.route()));
            step
        })
    }

    /// The answer of a script that has ended.
    #[inline(always)] // the sink and the request are copied otherwise
    fn done(self, visit: Visit, sink: HttpSink) -> Answer {
        if let Some(handler) = sink.native() {
            return self.answer_behind_middleware(&handler, visit, sink.into_response());
        }
        if sink.is_socket() {
            return self.switch(visit, sink.into_response());
        }
        if self.loaded.control.dev.is_some() && self.view.additions.replayed().is_none() {
            self.look_for_nothing(&sink);
        }
        self.release(&visit, self.finish(sink))
    }

    #[inline]
    pub(crate) fn release(&self, visit: &Visit, response: Response) -> Answer {
        match self.loaded.control.dev {
            None => self.release_now(visit, response),
            Some(_) => self.release_in_development(visit, response),
        }
    }

    #[inline]
    pub(super) fn release_now(&self, visit: &Visit, response: Response) -> Answer {
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
        let may_leave = visit.commit_watch(&self.view);
        let mut end = pin!(WaitingHandler::new(request, rest).end(sink, visit));
        poll_fn(|cx| {
            let polled = end.as_mut().poll(cx);
            if polled.is_pending() {
                early_hints::send(self.view.store(), self.view.request(), &may_leave);
            }
            polled
        })
        .await
    }

    /// Logs an error and lets the script's `on_error` answer it, or answers by default.
    pub(crate) fn failed(self, error: &Error, mut visit: Visit) -> Answer {
        // An error outside of any line of the script is looked for where its handler was declared.
        let located;
        let error = if error.place().is_none() && self.view.place().is_some() {
            located = error.clone().at(self.view.place().cloned());
            &located
        } else {
            error
        };
        let shown = self.with_declaration(error);
        AnswerHooks::handler_failed(&*self.view);
        self.view.additions.fail_handler();
        let loaded = &self.loaded;
        self.log(&shown);
        if errors::is_given_up(error) {
            return self.release(&visit, self.default_answer(&shown, None));
        }
        if let Some(meters) = &loaded.control.meters
            && errors::is_logged(error.kind())
        {
            meters.failed(error.kind());
        }
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
            is_traced: false,
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

    #[inline]
    fn finish(&self, sink: HttpSink) -> Response {
        let mut response = sink.into_response();
        self.end.complete(&mut response, &self.view);
        response
    }

    pub(crate) fn log(&self, error: &Error) {
        control::log(&self.loaded.control, Some(&self.view), "", error);
    }
}
