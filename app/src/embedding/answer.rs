//! Requests that the program answers into which Sampan is built. Guards have checked them; middleware of the script that matches runs first.

use super::{NativeAnswer, NativeHandler, NativeRequest, stream};
use crate::request::commit_gate::Visit;
use crate::request::dispatch::DispatchedRequest;
use crate::request::fallback::Fallback;
use crate::request::response_sink::HttpSink;
use sampan_host::{FileAnswer, HandlerId, RequestView};
use sampan_http::{Answer, Body, Response};
use std::mem;
use std::rc::Rc;

/// The path of the file that middleware sees in the place of the answer to come. No file has such a name.
const PATH: &str = "\0native";
/// Its content type. An answer that still has it has the one of the native handler.
const CONTENT_TYPE: &str = "application/x-native";

/// The native handler at the end of a chain of middleware, in the store of its request.
pub(crate) struct ChainEnd(NativeHandler);

impl ChainEnd {
    /// What middleware sees of it.
    pub(crate) const SEEN: FileAnswer<'static> = FileAnswer {
        path: PATH,
        content_type: CONTENT_TYPE,
    };

    /// Whether a script that answers with this file answers with what the native handler of its request will say.
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
        match handler(NativeRequest::new(Rc::clone(&self.view))) {
            NativeAnswer::Now(response) => self.answer_natively(self.followed(response)),
            NativeAnswer::Later(future) => Answer::Later(Box::pin(async move {
                let response = future.await;
                self.answer_natively(self.followed(response))
            })),
        }
    }

    /// Answers after the middleware has returned what stood for the answer: by the native handler, with the header fields and the status that
    /// the middleware has set.
    pub(crate) fn answer_behind_middleware(self, mut visit: Visit, sink: HttpSink) -> Answer {
        let around = sink.into_response();
        let Some(end) = self.view.store().get::<ChainEnd>() else {
            return self.release(&visit, around);
        };
        match (end.0)(NativeRequest::new(Rc::clone(&self.view))) {
            NativeAnswer::Now(response) => {
                let response = self.followed(response);
                self.release(&visit, merged(around, response))
            }
            NativeAnswer::Later(future) => {
                visit.remember();
                Answer::Later(Box::pin(async move {
                    let response = self.followed(future.await);
                    self.release(&visit, merged(around, response))
                }))
            }
        }
    }
}

impl DispatchedRequest {
    /// The same answer, whose body says in the log what it fails of if it is a stream.
    #[inline]
    fn followed(&self, mut response: Response) -> Response {
        if let Body::Stream(_) = response.body() {
            stream::follow(&mut response, &self.view, &self.loaded.control);
        }
        response
    }
}

/// What middleware made of an answer to come, and that answer.
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
