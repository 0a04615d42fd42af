//! The cases about requests, answers, streams, files, uploads and sessions once more over TLS, by HTTP/1.1 and by
//! HTTP/2.

use crate::exceptions::{Exception, part, whole};
use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use libtest_mimic::{Failed, Trial};
use sampan_client::certificates::Identity;
use sampan_testkit::{Answer, Case, CaseClient, CaseWire, Http1Client, OneOrMore, Request};
use std::future::Future;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// The folders whose cases run.
const FOLDERS: [&str; 11] = [
    "compression",
    "files",
    "forms",
    "lanes",
    "middleware",
    "request",
    "response",
    "routing",
    "session",
    "static",
    "stream",
];

/// The longest time that an answer may take, in seconds.
const ANSWER_SECONDS_MAX: u64 = 60;

const HTTP1: &str = "http1 tls";
const HTTP2: &str = "http2 tls";

/// The cases that cannot pass over a wire. Requests given as bytes of HTTP/1.1 are left out over HTTP/2 too.
const EXCEPTIONS: &[Exception] = &[
    part(
        "lanes/declared",
        &[HTTP2],
        &[
            "the wish for another protocol changes nothing",
            "neither does half of a handshake",
            "nor a handshake by another method",
            "a handshake stays with its worker",
        ],
        "HTTP/2 has no field of that name (RFC 9113 section 8.2.2)",
    ),
    part(
        "middleware/auth_fixed",
        &[HTTP2],
        &["only spaces behind the scheme", "an empty token"],
        "a value that ends in a space is malformed there (RFC 9113 section 8.2.1)",
    ),
    part("middleware/secure_headers", BOTH, &["GET /"], SECURE),
    part("request/fields", BOTH, &["GET /url?x=1&y=%20"], SECURE),
    part(
        "request/no_proxies",
        BOTH,
        &["what anyone can write is not believed"],
        SECURE,
    ),
    part(
        "request/proxies",
        BOTH,
        &[
            "more than one field line",
            "nothing forwarded",
            "a host that cannot stand in a URL",
        ],
        SECURE,
    ),
    whole("request/plain_tls", BOTH, SECURE),
    part("response/bytes", &[HTTP2], &["GET /stream"], CHUNKED),
    part("response/streams", &[HTTP2], &["GET /count"], CHUNKED),
    part(
        "routing/methods",
        &[HTTP2],
        &["OPTIONS for the whole server"],
        "the client's library sends no target without a path",
    ),
    part(
        "middleware/csp_nonce",
        BOTH,
        &[
            "the policy that is sent has the nonce that the script knows",
            "each answer of a route that is a value has a nonce of its own",
        ],
        "the app asks itself, without TLS",
    ),
    whole("forms/leaves", &[HTTP2], RAW),
    whole("stream/leaves", &[HTTP2], RAW),
    part(
        "stream/sized",
        &[HTTP2],
        &["a function that waits behind the last byte keeps no client waiting"],
        "a client of HTTP/2 waits for the flag that ends a stream",
    ),
    part("stream/upload", &[HTTP2], &["POST /echo"], CHUNKED),
];

const BOTH: &[&str] = &[HTTP1, HTTP2];
const SECURE: &str = "the case is about connections without TLS";

const CHUNKED: &str = "HTTP/2 has no transfer coding";
const RAW: &str = "its clients leave in the middle of bytes of HTTP/1.1";

/// The cases, one test for each wire and language.
pub(super) fn trials(cases: &[Case]) -> Vec<Trial> {
    let identity = Arc::new(Identity::new(&["localhost"]));
    let wires: [(&str, Arc<dyn CaseWire>); 2] = [
        (HTTP1, Arc::new(SecuredHttp1(Arc::clone(&identity)))),
        (HTTP2, Arc::new(SecuredHttp2(identity))),
    ];
    for exception in EXCEPTIONS {
        let is_there = cases.iter().any(|case| case.name == exception.case);
        assert!(is_there, "no case {}", exception.case);
    }
    let is_chosen = |case: &&Case| {
        let folder = case.name.split('/').next();
        folder.is_some_and(|folder| FOLDERS.contains(&folder))
    };
    let mut trials = Vec::new();
    for case in cases.iter().filter(is_chosen) {
        for (name, wire) in &wires {
            let of_case = EXCEPTIONS
                .iter()
                .filter(|exception| exception.case == case.name && exception.on.contains(name));
            let of_case: Vec<&Exception> = of_case.collect();
            let whole = of_case.iter().find(|one| one.requests.is_empty());
            if let Some(exception) = whole {
                println!("left out: {} over {name}: {}", case.name, exception.why);
                continue;
            }
            let skipped = of_case.iter().flat_map(|one| one.requests).copied();
            let skipped: Vec<&str> = skipped.collect();
            for engine in case.engines().iter().copied() {
                let (case, skipped) = (case.clone(), skipped.clone());
                let wire: Arc<dyn CaseWire> = match case.name.starts_with("session/") {
                    true => Arc::new(NamedCookie(Arc::clone(wire))),
                    false => Arc::clone(wire),
                };
                let title = format!("{}::{engine} {name}", case.name);
                trials.push(Trial::test(title, move || {
                    case.run_over(engine, &wire, &skipped).map_err(Failed::from)
                }));
            }
        }
    }
    trials
}

fn sections_of(identity: &Identity) -> String {
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    format!("[tls]\ncert = {certificate:?}\nkey = {key:?}\n")
}

/// HTTP/1.1 over TLS.
struct SecuredHttp1(Arc<Identity>);

impl CaseWire for SecuredHttp1 {
    fn sections(&self) -> String {
        sections_of(&self.0)
    }

    fn carries(&self, _: &Request) -> bool {
        true
    }

    fn connect(&self, server: SocketAddr) -> Result<Box<dyn CaseClient>, String> {
        Http1Client::over(self.0.tunnel(server))
    }
}

/// HTTP/2 over TLS.
struct SecuredHttp2(Arc<Identity>);

impl CaseWire for SecuredHttp2 {
    fn sections(&self) -> String {
        sections_of(&self.0)
    }

    fn carries(&self, request: &Request) -> bool {
        request.raw.is_none()
    }

    fn connect(&self, server: SocketAddr) -> Result<Box<dyn CaseClient>, String> {
        let identity = Arc::clone(&self.0);
        Ok(Box::new(Http2Client {
            connection: Http2Connection::new(identity.tunnel_for_http2(server))?,
            server,
            identity,
        }))
    }
}

/// A wire for cases that name the cookie of sessions: it has the name and the attributes for them that it has without
/// TLS.
struct NamedCookie<T>(T);

impl CaseWire for NamedCookie<Arc<dyn CaseWire>> {
    fn sections(&self) -> String {
        self.0.sections()
    }

    fn carries(&self, request: &Request) -> bool {
        self.0.carries(request)
    }

    fn connect(&self, server: SocketAddr) -> Result<Box<dyn CaseClient>, String> {
        Ok(Box::new(NamedCookie(self.0.connect(server)?)))
    }
}

/// The cookie of sessions without TLS, and over it.
const COOKIES: [&str; 2] = ["session=", "__Host-session="];

fn with_secured_cookie(request: &Request) -> Request {
    let mut request = request.clone();
    for (name, value) in &mut request.headers {
        if name.eq_ignore_ascii_case("cookie")
            && let OneOrMore::One(cookies) = value
        {
            let cookies = cookies.split("; ").map(|cookie| {
                let value = cookie.strip_prefix(COOKIES[0]);
                value.map_or_else(|| cookie.to_owned(), |value| COOKIES[1].to_owned() + value)
            });
            *value = OneOrMore::One(cookies.collect::<Vec<_>>().join("; "));
        }
    }
    request
}

impl CaseClient for NamedCookie<Box<dyn CaseClient>> {
    fn exchange(&mut self, request: &Request) -> Result<Answer, String> {
        let mut answer = self.0.exchange(&with_secured_cookie(request))?;
        for (name, value) in &mut answer.headers {
            if name.eq_ignore_ascii_case("set-cookie")
                && let Some(rest) = value.strip_prefix(COOKIES[1])
            {
                *value = (COOKIES[0].to_owned() + rest).replace("; Secure", "");
            }
        }
        Ok(answer)
    }

    fn leave(self: Box<Self>, request: &Request, after: Duration) -> Result<(), String> {
        self.0.leave(&with_secured_cookie(request), after)
    }

    fn is_closed(&mut self) -> bool {
        self.0.is_closed()
    }
}

/// A client of HTTP/2 that connects again where the server has ended its connection.
struct Http2Client {
    connection: Http2Connection,
    server: SocketAddr,
    identity: Arc<Identity>,
}

struct Http2Connection {
    runtime: Runtime,
    requests: SendRequest<Bytes>,
}

impl Http2Connection {
    fn new(stream: TcpStream) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        stream
            .set_nonblocking(true)
            .map_err(|error| error.to_string())?;
        let (requests, connection) = runtime
            .block_on(async {
                let stream =
                    tokio::net::TcpStream::from_std(stream).map_err(|error| error.to_string())?;
                let begun = h2::client::handshake(stream).await;
                begun.map_err(|error| error.to_string())
            })
            .map_err(|error| format!("cannot connect: {error}"))?;
        drop(runtime.spawn(connection));
        Ok(Self { runtime, requests })
    }

    /// Waits for something that needs the connection.
    fn wait<T>(&self, future: impl Future<Output = T>) -> Result<T, String> {
        let time_max = Duration::from_secs(ANSWER_SECONDS_MAX);
        let limited = async { tokio::time::timeout(time_max, future).await };
        let waited = self.runtime.block_on(limited);
        waited.map_err(|_| format!("no answer within {ANSWER_SECONDS_MAX} s"))
    }

    /// Begins a request. `None` if the connection takes no more.
    fn begin(&self, request: &Request) -> Result<Option<ResponseFuture>, String> {
        let head = head_of(request)?;
        let body = request.body_to_send();
        let Ok(mut requests) = self.wait(self.requests.clone().ready())? else {
            return Ok(None);
        };
        let Ok((response, mut stream)) = requests.send_request(head, body.is_none()) else {
            return Ok(None);
        };
        if let Some(body) = body {
            // Fails only where the stream has been reset, which its answer shows.
            let _ = stream.send_data(body.into(), true);
        }
        Ok(Some(response))
    }

    /// Sends a request and reads its answer. `None` if the connection takes no more.
    fn ask(&self, request: &Request) -> Result<Option<Answer>, String> {
        let Some(response) = self.begin(request)? else {
            return Ok(None);
        };
        let head = match self.wait(response)? {
            Ok(head) => head,
            Err(error) if error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR) => {
                return Ok(None);
            }
            Err(error) => return Err(format!("no answer: {error}")),
        };
        let (head, mut stream) = head.into_parts();
        let fields = head.headers.iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        });
        let mut answer = Answer {
            status: head.status.as_u16(),
            headers: fields.collect(),
            keeps_alive: true,
            ..Answer::default()
        };
        self.wait(async {
            while let Some(bytes) = stream.data().await {
                let Ok(bytes) = bytes else {
                    answer.is_cut = true;
                    return;
                };
                // Fails only where the stream has ended already.
                let _ = stream.flow_control().release_capacity(bytes.len());
                answer.body.extend_from_slice(&bytes);
            }
        })?;
        Ok(Some(answer))
    }
}

impl CaseClient for Http2Client {
    fn exchange(&mut self, request: &Request) -> Result<Answer, String> {
        if let Some(answer) = self.connection.ask(request)? {
            return Ok(answer);
        }
        self.connection = Http2Connection::new(self.identity.tunnel_for_http2(self.server))?;
        let answer = self.connection.ask(request)?;
        answer.ok_or_else(|| "the server ends connections without an answer".to_owned())
    }

    fn leave(self: Box<Self>, request: &Request, after: Duration) -> Result<(), String> {
        let response = self.connection.begin(request)?;
        let response = response.ok_or("the server has ended the connection")?;
        let unread = async {
            let _answer = response.await;
            std::future::pending::<()>().await;
        };
        let left = async { drop(tokio::time::timeout(after, unread).await) };
        self.connection.runtime.block_on(left);
        Ok(())
    }

    /// Each request has a stream of its own, whose end it has seen.
    fn is_closed(&mut self) -> bool {
        true
    }
}

/// The head of a request. The fields that say how HTTP/1.1 goes on are left out.
fn head_of(request: &Request) -> Result<http::Request<()>, String> {
    let mut authority = String::new();
    let mut head = http::Request::builder().method(request.method());
    for (name, value) in request.fields_to_send() {
        match name.to_ascii_lowercase().as_str() {
            "host" => authority = value,
            "connection" | "keep-alive" => {}
            _ => head = head.header(name, value),
        }
    }
    let uri = format!("https://{authority}{}", request.path);
    head.uri(uri).body(()).map_err(|error| error.to_string())
}
