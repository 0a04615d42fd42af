//! The handler that stands before that of the project.

use super::answer;
use super::monitor::HealthMonitor;
use super::settings::HealthSettings;
use sampan_http::{Answer, Handler, Method, Observer, Request};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

/// Fields by which proxies tell that they pass a request on.
const FORWARDED: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

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
        let rest = request.path().strip_prefix(&*self.path)?;
        self.answer_below(request, rest)
    }

    #[cold]
    fn answer_below(&self, request: &Request, rest: &str) -> Option<Answer> {
        let question = match rest {
            "" | "/ready" => Question::Ready,
            "/live" => Question::Live,
            _ => return None,
        };
        if !matches!(request.method(), Method::Get | Method::Head) {
            return Some(Answer::Now(answer::wrong_method()));
        }
        if question == Question::Live {
            return Some(Answer::Now(answer::live()));
        }
        let has_details = self.sees_details(request);
        // A client that closes its sending direction gets no answer that comes later.
        if let Some(known) = self.monitor.known() {
            return Some(Answer::Now(known.answer(has_details)));
        }
        let monitor = Arc::clone(&self.monitor);
        Some(Answer::Later(Box::pin(async move {
            Answer::Now(monitor.report().await.answer(has_details))
        })))
    }

    /// Reports whether the client may see what is wrong: it is on this machine and no proxy, or it has the token.
    fn sees_details(&self, request: &Request) -> bool {
        let ip = request.peer().ip();
        // Who connects to a Unix socket is on this machine.
        let is_local = ip.is_none_or(|ip| match ip {
            IpAddr::V4(ip) => ip.is_loopback(),
            IpAddr::V6(ip) => {
                ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback())
            }
        });
        let is_passed_on = FORWARDED.iter().any(|name| request.header(name).is_some());
        if is_local && !is_passed_on {
            return true;
        }
        let given = request.header("authorization").and_then(bearer);
        match (&self.token, given) {
            (Some(token), Some(given)) => is_same(token.as_bytes(), given),
            _ => false,
        }
    }
}

/// Returns the token of a field `Authorization` (RFC 6750 section 2.1).
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token)
}

/// Compares texts in a time that says nothing about where they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
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
