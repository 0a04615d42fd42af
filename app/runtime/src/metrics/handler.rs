//! The handler that stands before that of the project, and the one of an address of its own.

use super::settings::MetricsSettings;
use crate::health::operators;
use sampan_host::metrics::Registry;
use sampan_http::codec::Fault;
use sampan_http::{Answer, BodyRule, Handler, Method, Observer, Request, Response};
use std::rc::Rc;
use std::sync::Arc;

/// The media type of the text format (Prometheus, "Exposition formats").
const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The answers about the measurements of a server.
#[derive(Clone)]
pub(crate) struct MetricsAnswers {
    path: Arc<str>,
    token: Option<Arc<str>>,
    registry: Arc<Registry>,
    /// True on an address of its own, which answers all who reach it, unless there is a token.
    is_apart: bool,
}

impl MetricsAnswers {
    /// Returns those of the addresses of the project; `None` where there are none.
    pub(crate) fn new(
        settings: &MetricsSettings,
        registry: Option<&Arc<Registry>>,
    ) -> Option<Self> {
        let is_here = settings.listen.is_none();
        is_here
            .then(|| Self::of(settings, registry, false))
            .flatten()
    }

    /// Returns those of an address of its own.
    pub(crate) fn apart(
        settings: &MetricsSettings,
        registry: Option<&Arc<Registry>>,
    ) -> Option<Self> {
        Self::of(settings, registry, true)
    }

    fn of(
        settings: &MetricsSettings,
        registry: Option<&Arc<Registry>>,
        is_apart: bool,
    ) -> Option<Self> {
        Some(Self {
            path: settings.path.as_str().into(),
            token: settings.token.as_deref().map(Arc::from),
            registry: Arc::clone(registry?),
            is_apart,
        })
    }

    /// Answers a request, if it asks for the measurements.
    #[inline]
    pub(crate) fn answer(&self, request: &Request) -> Option<Response> {
        (request.path_bytes() == self.path.as_bytes()).then(|| self.text(request))
    }

    #[cold]
    fn text(&self, request: &Request) -> Response {
        let is_open = self.is_apart && self.token.is_none();
        if !is_open && !operators::are(request, self.token.as_deref()) {
            let text = "these measurements are for clients on this machine, and for those with [metrics] token\n";
            return answered(403, text);
        }
        if !matches!(request.method(), Method::Get | Method::Head) {
            let mut response = answered(405, "Method Not Allowed\n");
            // The value is one that a field can have.
            let _ = response.set_header(b"Allow", b"GET, HEAD");
            return response;
        }
        let mut response = answered(200, &self.registry.text());
        response.content_type(CONTENT_TYPE);
        response
    }
}

fn answered(status: u16, text: &str) -> Response {
    let mut response = Response::new(status);
    response.content_type("text/plain; charset=utf-8");
    // The value is one that a field can have.
    let _ = response.set_header(b"Cache-Control", b"no-store");
    response.body_mut().extend_from_slice(text.as_bytes());
    response
}

/// A handler with the answers about the server's measurements in front of it.
pub(crate) struct MetricsHandler {
    pub(crate) answers: MetricsAnswers,
    pub(crate) inner: Rc<dyn Handler>,
}

impl Handler for MetricsHandler {
    fn inner(&self) -> Option<&dyn Handler> {
        Some(&*self.inner)
    }

    fn handle(&self, request: &Rc<Request>, observer: Option<Rc<dyn Observer>>) -> Answer {
        match self.answers.answer(request) {
            Some(response) => Answer::Now(response),
            None => self.inner.handle(request, observer),
        }
    }
}

/// The handler of an address of its own.
pub(crate) struct MetricsAlone(pub(crate) MetricsAnswers);

impl Handler for MetricsAlone {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let response = self.0.answer(request);
        let elsewhere = || answered(404, &format!("The measurements are at {}\n", self.0.path));
        Answer::Now(response.unwrap_or_else(elsewhere))
    }

    /// No body is received.
    fn body_rule(&self, _: &Request) -> BodyRule {
        BodyRule {
            bytes_max: Some(0),
            is_streamed: false,
        }
    }

    fn refuse_body(
        &self,
        request: &Rc<Request>,
        _: Fault,
        observer: Option<Rc<dyn Observer>>,
    ) -> Answer {
        self.handle(request, observer)
    }
}
