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

/// Sends a request with a body and this frame behind it. Returns the answer's body; `None` if the request is refused.
fn answered(server: &Server, behind: &[u8]) -> Option<String> {
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
        match read_frame(&mut socket)? {
            (RST_STREAM, _, 1, _) | (GOAWAY, ..) => return None,
            (DATA, flags, 1, bytes) => {
                text.extend(bytes);
                if flags & END_STREAM != 0 {
                    return Some(String::from_utf8(text).unwrap());
                }
            }
            _ => {}
        }
    }
}

#[test]
fn trailers_never_change_the_request() {
    let server = start();
    let trailers = |flags: u8, fields: &[(&str, &[u8])]| {
        let frame = frame(HEADERS, flags | END_HEADERS, 1, &block(fields));
        answered(&server, &frame)
    };
    let without = answered(&server, &frame(DATA, END_STREAM, 1, b"")).unwrap();
    assert!(without.starts_with("POST / "), "{without}");
    for name in [":path", ":method", ":authority", ":scheme"] {
        // Malformed (RFC 9113 section 8.1), so it may be refused too.
        let told = trailers(END_STREAM, &[(name, b"DELETE")]);
        assert!(told.is_none_or(|told| told == without), "{name}");
    }
    for fields in [
        [("transfer-encoding", &b"chunked"[..])],
        [("connection", b"close")],
        [("X-A", b"1")],
        [("x-a\r\nx-b", b"1")],
        [("x-a", b"1\r\nx-b: 2")],
    ] {
        assert_eq!(trailers(END_STREAM, &fields), None, "{fields:?}");
    }
    // A second head in the middle of the body.
    assert_eq!(trailers(0, &[("x-a", b"1")]), None);
}
