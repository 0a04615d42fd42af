//! The handler that stands before that of the project.

use super::answer;
use super::monitor::HealthMonitor;
use super::operators;
use super::settings::HealthSettings;
use sampan_http::{Answer, Handler, Method, Observer, Request};
use std::rc::Rc;
use std::sync::Arc;

/// The answers about the health of a server.
#[derive(Clone)]
pub(crate) struct HealthAnswers {
    path: Arc<str>,
    token: Option<Arc<str>>,
    monitor: Arc<HealthMonitor>,
}

/// A question about the health of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    Live,
    Ready,
}

impl HealthAnswers {
    /// Returns them; `None` where the settings turn them off.
    pub(crate) fn new(settings: &HealthSettings, monitor: &Arc<HealthMonitor>) -> Option<Self> {
        Some(Self {
            path: settings.path.as_deref()?.into(),
            token: settings.token.as_deref().map(Arc::from),
            monitor: Arc::clone(monitor),
        })
    }

    /// Those for clients without TLS, which should send no token.
    pub(crate) fn without_token(self) -> Self {
        Self {
            token: None,
            ..self
        }
    }

    /// Answers a request, if it is about the health of the server.
    #[inline]
    pub(crate) fn answer(&self, request: &Request) -> Option<Answer> {
        let rest = request.path_bytes().strip_prefix(self.path.as_bytes())?;
        self.answer_below(request, rest)
    }

    #[cold]
    fn answer_below(&self, request: &Request, rest: &[u8]) -> Option<Answer> {
        let question = match rest {
            b"" | b"/ready" => Question::Ready,
            b"/live" => Question::Live,
            _ => return None,
        };
        if !matches!(request.method(), Method::Get | Method::Head) {
            return Some(Answer::Now(answer::wrong_method()));
        }
        if question == Question::Live {
            return Some(Answer::Now(answer::live()));
        }
        let has_details = operators::are(request, self.token.as_deref());
        // A client that closes its sending direction gets no answer that comes later.
        if let Some(known) = self.monitor.known() {
            return Some(Answer::Now(known.answer(has_details)));
        }
        let monitor = Arc::clone(&self.monitor);
        Some(Answer::Later(Box::pin(async move {
            Answer::Now(monitor.report().await.answer(has_details))
        })))
    }
}

/// A handler with the answers about the server's health in front of it.
pub(crate) struct HealthHandler {
    pub(crate) answers: HealthAnswers,
    pub(crate) inner: Rc<dyn Handler>,
}

impl Handler for HealthHandler {
    fn inner(&self) -> Option<&dyn Handler> {
        Some(&*self.inner)
    }

    fn handle(&self, request: &Rc<Request>, observer: Option<Rc<dyn Observer>>) -> Answer {
        match self.answers.answer(request) {
            Some(answer) => answer,
            None => self.inner.handle(request, observer),
        }
    }
}
