//! The trace of a request that arrives: whose it is, and the attributes of its own span.

use crate::request::route_info::{RouteInfo, is_of_trusted_proxy};
use sampan_host::trace::{Attributes, RemoteParent, SpanKind, SpanStatus, Trace, Tracer};
use sampan_http::{Request, RequestOutcome};
use std::rc::Rc;

/// The methods by which spans are named; clients can send any other.
const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];
/// The longest path in a span, in bytes.
const PATH_BYTES_MAX: usize = 1_000;

/// The trace of a request, with the parts of its head that its span shows.
pub(crate) struct TracedRequest {
    pub(crate) trace: Trace,
    /// Copied, because the request's buffer is used again; `None` where nothing is recorded.
    head: Option<Box<TracedHead>>,
}

struct TracedHead {
    method: &'static str,
    path: String,
    host: Option<String>,
    scheme: &'static str,
    protocol: &'static str,
}

impl TracedRequest {
    /// Begins the trace of a request, within that of its caller. Where proxies are named, only they are believed, as
    /// with ids.
    pub(crate) fn begin(tracer: &Rc<Tracer>, request: &Request, info: &RouteInfo) -> Self {
        let is_believed = || info.trusted.is_empty() || is_of_trusted_proxy(request, &info.trusted);
        let sent = request.header("traceparent").filter(|_| is_believed());
        let trace = Trace::begin(tracer, sent.and_then(|sent| parent(request, sent)));
        let head = trace.is_recorded().then(|| {
            let (sent, path) = (request.method_str(), request.path());
            let known = METHODS.into_iter().find(|known| *known == sent);
            let path = &path[..path.floor_char_boundary(PATH_BYTES_MAX)];
            Box::new(TracedHead {
                method: known.unwrap_or("_OTHER"),
                path: path.to_owned(),
                host: request.host().map(str::to_owned),
                scheme: if request.tls().is_some() {
                    "https"
                } else {
                    "http"
                },
                protocol: request.protocol(),
            })
        });
        Self { trace, head }
    }

    /// Continues the trace of a request that another worker has handed over.
    pub(crate) fn apart(tracer: &Rc<Tracer>, of: RemoteParent) -> Self {
        Self {
            trace: Trace::apart(tracer, of),
            head: None,
        }
    }

    /// Ends what [`TracedRequest::apart`] began.
    pub(crate) fn end_apart(self) {
        let nothing = || (String::new(), Attributes::new(), SpanStatus::Unset);
        self.trace.finish(SpanKind::Server, nothing);
    }

    /// Ends the trace with the outcome of the request. `route` is the pattern; empty where no route answered.
    pub(crate) fn end(self, route: Option<&str>, outcome: &RequestOutcome) {
        let Self { trace, head } = self;
        trace.finish(SpanKind::Server, || {
            described(head.as_deref(), route, outcome)
        });
    }
}

/// Reads the parent of a request. One that has two is malformed.
fn parent(request: &Request, sent: &[u8]) -> Option<RemoteParent> {
    let of = |wanted: &'static str| {
        let fields = request
            .headers()
            .filter(move |(name, _)| name.eq_ignore_ascii_case(wanted));
        fields.map(|(_, value)| value)
    };
    let is_one = of("traceparent").nth(1).is_none();
    is_one
        .then(|| RemoteParent::read(sent, of("tracestate")))
        .flatten()
}

/// Splits an authority into the host, without brackets, and the port if one is written.
fn host_and_port(authority: &str) -> (&str, Option<u16>) {
    let (host, port) = match authority.rsplit_once(':') {
        // A colon within brackets is one of an IPv6 address.
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    (bare.unwrap_or(host), port)
}

/// Returns the name, the attributes and the status of the span of a request. The query is left out: it may hold
/// secrets.
fn described(
    head: Option<&TracedHead>,
    route: Option<&str>,
    outcome: &RequestOutcome,
) -> (String, Attributes, SpanStatus) {
    let method = head.map_or("_OTHER", |head| head.method);
    let mut name = if method == "_OTHER" { "HTTP" } else { method }.to_owned();
    let mut attributes: Attributes = vec![("http.request.method".into(), method.into())];
    let mut add = |key: &'static str, value| attributes.push((key.into(), value));
    if let Some(route) = route.filter(|route| !route.is_empty()) {
        name = format!("{name} {route}");
        add("http.route", route.into());
    }
    if let Some(head) = head {
        add("url.path", head.path.as_str().into());
        add("url.scheme", head.scheme.into());
        let version = head.protocol.trim_start_matches("HTTP/");
        add("network.protocol.version", version.into());
        if let Some(host) = &head.host {
            let (host, port) = host_and_port(host);
            add("server.address", host.into());
            if let Some(port) = port {
                add("server.port", i64::from(port).into());
            }
        }
    }
    let status = i64::from(outcome.status);
    add("http.response.status_code", status.into());
    add(
        "http.response.body.size",
        i64::try_from(outcome.body_bytes).unwrap_or(i64::MAX).into(),
    );
    let mut failed = SpanStatus::Unset;
    if status >= 500 {
        add("error.type", status.to_string().into());
        failed = SpanStatus::Error(String::new());
    } else if !outcome.is_whole {
        add("error.type", "aborted".into());
    }
    (name, attributes, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_a_host_and_a_port() {
        for (authority, host, port) in [
            ("example.org", "example.org", None),
            ("example.org:8080", "example.org", Some(8080)),
            ("127.0.0.1:80", "127.0.0.1", Some(80)),
            ("[::1]", "::1", None),
            ("[2001:db8::1]:443", "2001:db8::1", Some(443)),
            ("example.org:", "example.org", None),
        ] {
            assert_eq!(host_and_port(authority), (host, port), "{authority}");
        }
    }
}
