//! Plain HTTP of a server that speaks HTTPS: each request is answered with 308, to the same URL by https.
//!
//! It has a worker of its own without a project, so neither scripts nor files are ever sent without TLS. Questions
//! about the server's health are answered.

use super::aside::Aside;
use crate::health::handler::HealthAnswers;
use crate::listening::Listening;
use sampan_acme::HTTP_PATH;
use sampan_http::codec::Fault;
use sampan_http::{Answer, BodyRule, Handler, Limits, Observer, Request, Response};
use sampan_log::Logger;
use std::path::PathBuf;
use std::rc::Rc;

/// The most connections that are answered at one time. Clients come once, and are told to come elsewhere.
pub(crate) const CONNECTIONS_MAX: usize = 1_024;
/// The port that a URL with https need not name.
const HTTPS_PORT: u16 = 443;

/// Begins to answer. `port` is that of HTTPS.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn start(
    listening: Vec<Listening>,
    limits: &Limits,
    port: u16,
    answers: RedirectAnswers,
    logger: &Logger,
) -> Result<Aside, String> {
    let make = move || Rc::new(ToHttps { port, answers }) as Rc<dyn Handler>;
    Aside::start(
        "sampan-redirect",
        listening,
        limits,
        CONNECTIONS_MAX,
        make,
        logger,
    )
}

/// The answers without TLS, beside redirects.
#[derive(Default)]
pub(crate) struct RedirectAnswers {
    /// The folder with answers to `http-01`.
    pub(crate) challenges: Option<PathBuf>,
    /// The answers about the server's health: load balancers that pass TLS on ask here.
    pub(crate) health: Option<HealthAnswers>,
}

/// Sends clients on.
struct ToHttps {
    port: u16,
    answers: RedirectAnswers,
}

impl ToHttps {
    fn answer(&self, request: &Request) -> Response {
        if let Some(text) = self.challenge(request) {
            let mut response = Response::new(200);
            response.content_type("application/octet-stream");
            response.body_mut().extend_from_slice(text.as_bytes());
            return response;
        }
        let mut response = Response::new(308);
        let location = request
            .host()
            .and_then(|authority| self.location(authority, request));
        let is_set =
            location.is_some_and(|url| response.set_header(b"Location", url.as_bytes()).is_ok());
        if !is_set {
            response = Response::new(400);
            response.content_type("text/plain; charset=utf-8");
            response
                .body_mut()
                .extend_from_slice(b"This server speaks HTTPS, and the request names no host.\n");
        }
        response
    }

    /// Returns the answer to `http-01` (RFC 8555 section 8.3), if this server or one beside it has been asked.
    fn challenge(&self, request: &Request) -> Option<String> {
        let token = request.path().strip_prefix(HTTP_PATH)?;
        sampan_acme::key_authorization(self.answers.challenges.as_ref()?, token)
    }

    /// The URL of a request by https; `None` if its host is none.
    fn location(&self, authority: &str, request: &Request) -> Option<String> {
        let host = host_of(authority)?;
        // RFC 9112 section 3.3: `OPTIONS *` has an empty path.
        let path = if request.path() == "*" {
            "/"
        } else {
            request.path()
        };
        let mut url = format!("https://{host}");
        if self.port != HTTPS_PORT {
            url += &format!(":{}", self.port);
        }
        url += path;
        if let Some(query) = request.query() {
            url.push('?');
            url += query;
        }
        Some(url)
    }
}

/// The host of an authority, without its port: a name, an IPv4 address, or an IPv6 address in brackets.
fn host_of(authority: &str) -> Option<&str> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, _) = rest.split_once(']')?;
        let is_address = address.parse::<std::net::Ipv6Addr>().is_ok();
        return is_address.then(|| &authority[..address.len() + 2]);
    }
    let host = authority
        .split_once(':')
        .map_or(authority, |(host, _)| host);
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    (!host.is_empty() && host.bytes().all(is_part)).then_some(host)
}

impl Handler for ToHttps {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let health = self.answers.health.as_ref();
        health
            .and_then(|health| health.answer(request))
            .unwrap_or_else(|| Answer::Now(self.answer(request)))
    }

    /// No body is received.
    fn body_rule(&self, _: &Request) -> BodyRule {
        BodyRule {
            bytes_max: Some(0),
            is_streamed: false,
        }
    }

    fn refuse_body(&self, request: &Rc<Request>, _: Fault, _: Option<Rc<dyn Observer>>) -> Answer {
        Answer::Now(self.answer(request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(head: &str, port: u16) -> (u16, Option<String>) {
        let request = Request::from_bytes(head.as_bytes()).expect("valid");
        let response = ToHttps {
            port,
            answers: RedirectAnswers::default(),
        }
        .answer(&request);
        let mut fields = response.headers();
        let location = fields.find(|(name, _)| name.eq_ignore_ascii_case(b"location"));
        let location = location.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
        (response.status(), location)
    }

    #[test]
    fn the_url_stays_but_for_scheme_and_port() {
        for (target, host, port, url) in [
            (
                "/a%20b?c=d",
                "example.org",
                443,
                "https://example.org/a%20b?c=d",
            ),
            ("/", "example.org:80", 8443, "https://example.org:8443/"),
            (
                "//evil.test/x",
                "example.org",
                443,
                "https://example.org//evil.test/x",
            ),
            ("/", "[::1]:80", 443, "https://[::1]/"),
            (
                "http://other.test/x",
                "example.org",
                443,
                "https://other.test/x",
            ),
        ] {
            let head = format!("POST {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(answered(&head, port), (308, Some(url.to_owned())), "{head}");
        }
        let head = "OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n";
        assert_eq!(
            answered(head, 443),
            (308, Some("https://a.test/".to_owned()))
        );
    }

    #[test]
    fn without_a_host_there_is_no_url() {
        assert_eq!(answered("GET / HTTP/1.0\r\n\r\n", 443), (400, None));
        for authority in ["", "a@b", "[::1", "[x]:80", "a\"b", "a/b"] {
            assert_eq!(host_of(authority), None, "{authority}");
        }
    }
}
