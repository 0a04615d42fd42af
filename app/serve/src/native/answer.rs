//! Calls of native handlers. Guards have checked their requests, and middleware of the script that matches has run.

use super::stream;
use crate::answer::errors;
use crate::native::request::NativeRequest;
use crate::native::route::{NativeAnswer, NativeHandler};
use crate::request::request_view::View;
use sampan_host::log::Log;
use sampan_host::{Error, ErrorKind, LocalFuture};
use sampan_http::{Body, Response, panic_text};
use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The content type by which middleware sees the answer of a native handler, which is made later. An answer that still
/// has it gets the one of the native handler.
pub(crate) const NATIVE_TYPE: &str = "application/x-native";

/// Calls a handler of the program. A panic fails this request only, not the server.
#[inline]
pub(crate) fn call(handler: &NativeHandler, view: &Rc<View>) -> NativeAnswer {
    let request = NativeRequest::new(Rc::clone(view));
    let called = catch_unwind(AssertUnwindSafe(|| handler(request)));
    called.unwrap_or_else(|panic| NativeAnswer::Now(panicked(view, &*panic)))
}

/// Lets the body of a streamed answer report its failure to the log.
#[inline]
pub(crate) fn followed(mut response: Response, view: &View, logger: &Rc<dyn Log>) -> Response {
    if let Body::Stream(_) = response.body() {
        stream::follow(&mut response, view, logger);
    }
    response
}

/// The answer of a handler of the program that panicked, of which the log is told.
#[cold]
fn panicked(view: &Rc<View>, panic: &(dyn Any + Send)) -> Response {
    let why = format!("panicked: {}", panic_text(panic));
    NativeRequest::new(Rc::clone(view)).failed(&why);
    errors::refusal(500, None, Some(view.request()))
}

/// A handler of the program that has given a future. Dropped before that has ended, the request was given up.
pub(crate) struct PendingHandler {
    /// `None` when it has ended.
    future: Option<LocalFuture<Response>>,
    view: Rc<View>,
    time_max: Duration,
}

impl PendingHandler {
    pub(crate) fn new(view: &Rc<View>, future: LocalFuture<Response>, time_max: Duration) -> Self {
        Self {
            future: Some(future),
            view: Rc::clone(view),
            time_max,
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
pub(crate) fn merged(mut around: Response, mut native: Response) -> Response {
    if around.get_header("content-type") == Some(NATIVE_TYPE.as_bytes()) {
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
    if around.status() != 200 {
        native.set_status(around.status());
    }
    mem::drop(around);
    native
}
