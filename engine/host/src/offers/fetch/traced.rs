//! The span of a request to another server, and the header fields that tell that server of it.

use super::{FetchAnswer, FetchRequest};
use crate::error::Error;
use crate::offers::trace::{Attributes, OpenSpan, SpanKind, Trace};

/// Begins the span, and adds `traceparent` and `tracestate` unless the script has set a `traceparent` itself.
#[cold]
pub(super) fn begin(trace: &Trace, request: &mut FetchRequest) -> OpenSpan {
    let mut span = trace.open_beside(request.method.clone(), SpanKind::Client);
    let is_set = |(name, _): &(Box<[u8]>, Box<[u8]>)| name.eq_ignore_ascii_case(b"traceparent");
    if !request.fields.iter().any(is_set) {
        let parent = span.as_parent();
        let mut add = |name: &str, value: &str| {
            let field = (name.as_bytes().into(), value.as_bytes().into());
            request.fields.push(field);
        };
        add("traceparent", &parent.traceparent());
        if let Some(state) = &parent.state {
            add("tracestate", state);
        }
    }
    if trace.is_recorded() {
        span.add(attributes(request));
    }
    span
}

/// Describes the request. The query may hold secrets, and user information does: neither is recorded.
fn attributes(request: &FetchRequest) -> Attributes {
    let url = request.url.as_str();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let port = authority.rsplit_once(':');
    let port = port.and_then(|(host, port)| Some((host, port.parse::<i64>().ok()?)));
    let default = if scheme == "http" { 80 } else { 443 };
    let (host, port) = port.unwrap_or((authority, default));
    vec![
        ("http.request.method".into(), request.method.as_str().into()),
        (
            "url.full".into(),
            format!("{scheme}://{authority}{path}").into(),
        ),
        ("server.address".into(), host.into()),
        ("server.port".into(), port.into()),
    ]
}

/// Ends the span with the head of the answer.
#[cold]
pub(super) fn end(mut span: OpenSpan, answer: &Result<FetchAnswer, Error>) {
    match answer {
        Ok(answer) => {
            let status = i64::from(answer.status);
            let mut attributes: Attributes =
                vec![("http.response.status_code".into(), status.into())];
            if status >= 400 {
                attributes.push(("error.type".into(), status.to_string().into()));
                span.fail("");
            }
            span.add(attributes);
        }
        Err(error) => {
            let code = error.code().unwrap_or("_OTHER");
            span.add(vec![("error.type".into(), code.into())]);
            span.fail(error.message());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offers::fetch::{FetchBody, FetchOptions};
    use crate::offers::trace::AttributeValue;

    #[test]
    fn secrets_of_a_url_are_not_recorded() {
        let of = |url: &str| {
            let request = FetchRequest {
                method: "GET".to_owned(),
                url: url.to_owned(),
                fields: Vec::new(),
                body: FetchBody::None,
                options: FetchOptions::default(),
            };
            let all = attributes(&request).into_iter();
            all.skip(1).map(|(_, value)| value).collect::<Vec<_>>()
        };
        let values = |url: &str, host: &str, port: i64| -> Vec<AttributeValue> {
            vec![url.into(), host.into(), port.into()]
        };
        assert_eq!(
            of("https://me:secret@api.test/a/b?key=secret#x"),
            values("https://api.test/a/b", "api.test", 443)
        );
        assert_eq!(of("http://h:81?key=1"), values("http://h:81", "h", 81));
        assert_eq!(of("http://[::1]:9/"), values("http://[::1]:9/", "[::1]", 9));
    }
}
