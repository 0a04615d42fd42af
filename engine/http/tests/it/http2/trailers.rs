//! Trailers of requests over HTTP/2: they are dropped, and never become fields of the head.

use std::io::Write;
use std::rc::Rc;

use super::common::frames::*;
use super::common::http2::{Client, post};
use super::common::*;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use sampan_http::{Answer, BodyRule, Handler, Limits, Observer, Request};

/// Answers with the fields of the head and the body, once all of the request has come. `/stream` reads as it comes.
struct Told;

fn told(request: &Request, body: &[u8]) -> Answer {
    let mut text = format!("{} {} ", request.method_str(), request.path());
    for (name, value) in request.headers() {
        let value = String::from_utf8_lossy(value);
        text += &format!("{name}={value};");
    }
    text += &String::from_utf8_lossy(body);
    Answer::Now(with_body(text))
}

impl Handler for Told {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        if !request.is_streamed() {
            return told(request, request.body());
        }
        let request = Rc::clone(request);
        Answer::Later(Box::pin(async move {
            let mut body = Vec::new();
            while let Some(Ok(piece)) = std::future::poll_fn(|cx| request.poll_body(cx)).await {
                body.extend(piece);
            }
            told(&request, &body)
        }))
    }

    fn body_rule(&self, request: &Request) -> BodyRule {
        BodyRule {
            is_streamed: request.path() == "/stream",
            ..BodyRule::default()
        }
    }
}

fn start() -> Server {
    Server::start(Limits::default(), || Rc::new(Told))
}

#[test]
fn trailers_are_no_fields_of_the_head() {
    let server = start();
    let mut client = Client::new(&server);
    for path in ["/", "/stream"] {
        let without = client.post(path, b"body").text().to_owned();
        assert!(without.ends_with("body"), "{without}");
        let mut trailers = HeaderMap::new();
        for name in [
            "authorization",
            "cookie",
            "content-length",
            "content-type",
            "host",
            "forwarded",
            "x-forwarded-for",
            "x-real-ip",
            "range",
            "expect",
            "x-checksum",
        ] {
            let value = HeaderValue::from_static("planted");
            trailers.insert(HeaderName::from_static(name), value);
        }
        let (response, mut stream) = client.send(post(path), false);
        stream
            .send_data(Bytes::from_static(b"body"), false)
            .unwrap();
        stream.send_trailers(trailers).unwrap();
        assert_eq!(client.read(response).text(), without, "{path}");
    }
    // The connection goes on, and the next request has nothing of them.
    assert!(!client.get("/").text().contains("planted"));
}

/// The end of a request that was sent by hand.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// An answer with this body.
    Answered(String),
    /// A reset of its stream, with this error code.
    Reset(u32),
    /// The end of the connection, with this error code.
    ConnectionEnded(u32),
}

fn error_code(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes.try_into().unwrap())
}

/// Sends a request with a body and this frame behind it.
fn outcome(server: &Server, behind: &[u8]) -> Outcome {
    let mut head = GET;
    head[0].1 = b"POST";
    let mut socket = begin(server);
    let all = [
        &frame(HEADERS, END_HEADERS, 1, &block(&head)),
        &frame(DATA, 0, 1, b"body"),
        behind,
    ];
    socket.write_all(&all.concat()).unwrap();
    let mut text = Vec::new();
    loop {
        match read_frame(&mut socket).expect("an answer, or the reason why there is none") {
            (RST_STREAM, _, 1, payload) => return Outcome::Reset(error_code(&payload)),
            (GOAWAY, _, _, payload) => {
                return Outcome::ConnectionEnded(error_code(&payload[4..8]));
            }
            (DATA, flags, 1, bytes) => {
                text.extend(bytes);
                if flags & END_STREAM != 0 {
                    return Outcome::Answered(String::from_utf8(text).unwrap());
                }
            }
            _ => {}
        }
    }
}

fn trailers(server: &Server, flags: u8, fields: &[(&str, &[u8])]) -> Outcome {
    let frame = frame(HEADERS, flags | END_HEADERS, 1, &block(fields));
    outcome(server, &frame)
}

#[test]
fn malformed_trailers_are_refused() {
    const PROTOCOL_ERROR: u32 = 1;
    let server = start();
    for fields in [
        // Fields of a connection (RFC 9113 section 8.2.2).
        &[("transfer-encoding", &b"chunked"[..])][..],
        &[("connection", b"close")],
        &[("keep-alive", b"1")],
        &[("te", b"gzip")],
        &[("upgrade", b"h2c")],
        &[("proxy-connection", b"close")],
        // Pseudo-header fields behind others, and twice.
        &[("x-a", b"1"), (":path", b"/other")],
        &[(":path", b"/other"), (":path", b"/")],
    ] {
        let outcome = trailers(&server, END_STREAM, fields);
        assert_eq!(outcome, Outcome::Reset(PROTOCOL_ERROR), "{fields:?}");
    }
    for fields in [
        [("X-A", &b"1"[..])],
        [("x-a\r\nx-b", b"1")],
        [("x-a", b"1\r\nx-b: 2")],
        [(":other", b"1")],
    ] {
        // The `h2` crate takes these for faults of the connection.
        let outcome = trailers(&server, END_STREAM, &fields);
        assert_eq!(
            outcome,
            Outcome::ConnectionEnded(PROTOCOL_ERROR),
            "{fields:?}"
        );
    }
    // A second head in the middle of the body.
    let outcome = trailers(&server, 0, &[("x-a", b"1")]);
    assert_eq!(outcome, Outcome::Reset(PROTOCOL_ERROR));
}

/// They are malformed (RFC 9113 section 8.1). The `h2` crate (0.4.20) drops those that come first, and tells its caller
/// nothing of them: this fails once it refuses them, and then they belong to the test above.
#[test]
fn pseudo_header_fields_of_trailers_are_dropped() {
    let server = start();
    let Outcome::Answered(without) = outcome(&server, &frame(DATA, END_STREAM, 1, b"")) else {
        panic!("a request without trailers");
    };
    assert!(without.starts_with("POST / "), "{without}");
    for name in [":path", ":method", ":authority", ":scheme"] {
        let outcome = trailers(&server, END_STREAM, &[(name, b"DELETE")]);
        assert_eq!(outcome, Outcome::Answered(without.clone()), "{name}");
    }
    let outcome = trailers(&server, END_STREAM, &[(":status", b"200")]);
    assert_eq!(outcome, Outcome::Answered(without));
}
