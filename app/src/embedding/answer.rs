//! Requests that the program answers into which Sampan is built. Guards have checked them; middleware of the script
//! that matches runs first.

use super::{NativeAnswer, NativeHandler, NativeRequest, stream};
use crate::request::commit_gate::Visit;
use crate::request::dispatch::DispatchedRequest;
use crate::request::errors;
use crate::request::fallback::Fallback;
use crate::request::request_view::View;
use crate::request::response_sink::HttpSink;
use sampan_host::{Error, ErrorKind, FileAnswer, HandlerId, LocalFuture, RequestView};
use sampan_http::{Answer, Body, Response, panic_text};
use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The path of the file that middleware sees in the place of the answer to come. No file has such a name.
const PATH: &str = "\0native";
/// The placeholder content type. An answer that still has it has the one of the native handler.
const CONTENT_TYPE: &str = "application/x-native";

/// The native handler at the end of a chain of middleware, in the store of its request.
pub(crate) struct ChainEnd(NativeHandler);

impl ChainEnd {
    /// The answer as middleware sees it.
    pub(crate) const SEEN: FileAnswer<'static> = FileAnswer {
        path: PATH,
        content_type: CONTENT_TYPE,
    };

    /// Reports whether a script's file answer stands for the answer of the request's native handler.
    pub(crate) fn is_named(path: &str, view: &dyn RequestView) -> bool {
        path == PATH && view.store().get::<Self>().is_some()
    }
}

impl DispatchedRequest {
    /// Answers by a native handler, within the middleware of its path.
    #[inline]
    pub(crate) fn answer_by_program(
        mut self,
        handler: &NativeHandler,
        middleware: &[HandlerId],
    ) -> Answer {
        if !middleware.is_empty() {
            self.view.store().put(ChainEnd(handler.clone()));
            self.fallback = Fallback::NATIVE;
            return self.answer(None, middleware);
        }
        match self.called(handler) {
            NativeAnswer::Now(response) => self.answer_natively(self.followed(response)),
            NativeAnswer::Later(future) => Answer::Later(Box::pin(async move {
                let response = PendingHandler::new(&self, future).await;
                self.answer_natively(self.followed(response))
            })),
        }
    }

    /// Answers after the middleware has returned what stood for the answer: by the native handler, with the header
    /// fields and the status that the middleware has set.
    pub(crate) fn answer_behind_middleware(self, mut visit: Visit, sink: HttpSink) -> Answer {
        let around = sink.into_response();
        let Some(end) = self.view.store().get::<ChainEnd>() else {
            return self.release(&visit, around);
        };
        match self.called(&end.0) {
            NativeAnswer::Now(response) => {
                let response = self.followed(response);
                self.release(&visit, merged(around, response))
            }
            NativeAnswer::Later(future) => {
                visit.remember();
                Answer::Later(Box::pin(async move {
                    let response = PendingHandler::new(&self, future).await;
                    let response = self.followed(response);
                    self.release(&visit, merged(around, response))
                }))
            }
        }
    }
}

impl DispatchedRequest {
    /// Calls a handler of the program. A panic fails this request only, not the server.
    #[inline]
    fn called(&self, handler: &NativeHandler) -> NativeAnswer {
        let request = NativeRequest::new(Rc::clone(&self.view));
        let called = catch_unwind(AssertUnwindSafe(|| handler(request)));
        called.unwrap_or_else(|panic| NativeAnswer::Now(panicked(&self.view, &*panic)))
    }

    /// Lets the body of a streamed answer report its failure to the log.
    #[inline]
    fn followed(&self, mut response: Response) -> Response {
        if let Body::Stream(_) = response.body() {
            stream::follow(&mut response, &self.view, &self.loaded.control);
        }
        response
    }
}

/// The answer of a handler of the program that panicked, of which the log is told.
#[cold]
fn panicked(view: &Rc<View>, panic: &(dyn Any + Send)) -> Response {
    let why = format!("panicked: {}", panic_text(panic));
    NativeRequest::new(Rc::clone(view)).failed(&why);
    errors::refusal(500, None, Some(view.request()))
}

/// A handler of the program that has given a future. Dropped before that has ended, the request was given up.
struct PendingHandler {
    /// None when it has ended.
    future: Option<LocalFuture<Response>>,
    view: Rc<View>,
    time_max: Duration,
}

impl PendingHandler {
    fn new(request: &DispatchedRequest, future: LocalFuture<Response>) -> Self {
        Self {
            future: Some(future),
            view: Rc::clone(&request.view),
            time_max: request.loaded.control.handler_time_max,
        }
    }
}

impl Future for PendingHandler {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let Some(future) = &mut self.future else {
            return Poll::Pending;
        };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        let response = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(response)) => response,
            Err(panic) => panicked(&self.view, &*panic),
        };
        self.future = None;
        Poll::Ready(response)
    }
}

impl Drop for PendingHandler {
    fn drop(&mut self) {
        if self.future.is_some() && self.view.request().is_overdue() {
            let millis = self.time_max.as_millis();
            let text = format!("no answer after {millis} ms: given up (handler_millis_max)");
            self.view.log(&Error::new(ErrorKind::Timeout, text));
        }
    }
}

/// Merges what middleware added to the placeholder with the native answer.
fn merged(mut around: Response, mut native: Response) -> Response {
    if around.get_header("content-type") == Some(CONTENT_TYPE.as_bytes()) {
        around.remove_header("content-type");
    }
    let is_of_both = |name: &[u8]| name.eq_ignore_ascii_case(b"set-cookie");
    let replaced: Vec<String> = around
        .headers()
        .filter(|(name, _)| !is_of_both(name))
        .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
        .collect();
    for name in &replaced {
        native.remove_header(name);
    }
    for (name, value) in around.headers() {
        // It was checked when it was set; where there is no room for it the answer goes without.
        let _ = native.header(name, value);
    }
    if around.status() != Fallback::NATIVE.status {
        native.set_status(around.status());
    }
    mem::drop(around);
    native
}
