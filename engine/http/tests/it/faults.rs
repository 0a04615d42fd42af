//! Bad framing: each fault by itself, whole and split at every byte, gets its status, closes the connection
//! and never reaches the handler.

mod common;

use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use common::*;
use sampan_http::codec::{Decoder, DecoderEvent};
use sampan_http::{Answer, Limits, Request};

/// Returns a request with the given text after its request line and Host.
fn post(rest: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: h\r\n{rest}").into_bytes()
}

fn raw(bytes: &[u8]) -> Vec<u8> {
    bytes.to_vec()
}

fn with_field(line: &str) -> Vec<u8> {
    format!("GET / HTTP/1.1\r\nHost: h\r\n{line}\r\n\r\n").into_bytes()
}

/// Small, so that the cases that exceed them stay short.
fn limits() -> Limits {
    Limits {
        head_bytes_max: 256,
        target_bytes_max: 64,
        headers_max: 8,
        body_bytes_max: 32,
        chunk_ext_bytes_max: 16,
        trailer_bytes_max: 32,
        ..Limits::default()
    }
}

fn faults() -> Vec<(Vec<u8>, u16)> {
    let chunked = |body: &str| post(&format!("Transfer-Encoding: chunked\r\n\r\n{body}"));
    let length = |value: &str| post(&format!("Content-Length: {value}\r\n\r\nhello"));
    let coding = |value: &str| {
        post(&format!(
            "Transfer-Encoding: {value}\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        ))
    };
    let mut faults = vec![
        // Length and coding.
        (
            post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400,
        ),
        (
            post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
            400,
        ),
        (
            post("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
            400,
        ),
        (
            post("Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
            400,
        ),
        (length("99999999999999999999999"), 413),
        (length("33"), 413),
        (
            raw(b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400,
        ),
        (
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400,
        ),
        (
            post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
            400,
        ),
        // Line ends.
        (raw(b"GET / HTTP/1.1\nHost: h\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost: h\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost: h\r\n\n"), 400),
        (raw(b"GET / HTTP/1.1\nHost: h\n\n"), 400),
        (raw(b"\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost: h\r\n\rX: y\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost: h\r\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\rHost: h\r\n\r\n"), 400),
        (raw(b"\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        // Field lines.
        (with_field(" folded"), 400),
        (with_field("X: a\r\n folded"), 400),
        (with_field("X: a\r\n\tfolded"), 400),
        (with_field("X : a"), 400),
        (with_field("X\t: a"), 400),
        (with_field(": a"), 400),
        (with_field("no colon"), 400),
        (with_field("X: a\0b"), 400),
        (with_field("X: a\x01"), 400),
        (with_field("X: a\x7f"), 400),
        (with_field("X\0: a"), 400),
        (with_field("X(: a"), 400),
        (with_field("Content-Length : 5"), 400),
        // Targets.
        (raw(b"GET /a\x01b HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET /a\x7f HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET /a\0 HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET /\xff HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET a HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET * HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n"), 501),
        // Request lines.
        (raw(b"GET  / HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET /  HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1 \r\nHost: h\r\n\r\n"), 400),
        (raw(b" GET / HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"G@T / HTTP/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET /\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET / http/1.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET / HTTP/11.1\r\nHost: h\r\n\r\n"), 400),
        (raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"), 400),
        (raw(b"GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505),
        (raw(b"GET / HTTP/1.2\r\nHost: h\r\n\r\n"), 505),
        (raw(b"GET / HTTP/0.9\r\nHost: h\r\n\r\n"), 505),
        (raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505),
        // Host.
        (raw(b"GET / HTTP/1.1\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost:\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost: h/x\r\n\r\n"), 400),
        (raw(b"GET / HTTP/1.1\r\nHost: h:x\r\n\r\n"), 400),
        (raw(b"GET http://h/ HTTP/1.1\r\n\r\n"), 400),
        // Sizes.
        (
            format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", "a".repeat(64)).into_bytes(),
            414,
        ),
        (format!("GET /{}", "a".repeat(200)).into_bytes(), 414),
        (with_field(&format!("X: {}", "a".repeat(250))), 431),
        (with_field(&["X: y"; 8].join("\r\n")), 431),
        // Expectations.
        (post("Expect: the-best\r\nContent-Length: 5\r\n\r\n"), 417),
        (
            post("Expect: 100-continue\r\nContent-Length: 33\r\n\r\n"),
            413,
        ),
    ];
    for value in [
        "+5", "-5", "5,5", "5, 5", "0x5", "", " ", "5 5", "5;", "five", "\x0b5",
    ] {
        faults.push((length(value), 400));
    }
    for value in [
        "",
        "gzip",
        "identity",
        "chunked, chunked",
        "chunked, gzip",
        "chunked;q=1",
        ",chunked",
        "chunked,",
        "chunked\x0b",
        "xchunked\0",
    ] {
        faults.push((coding(value), 400));
    }
    for value in ["foo", "foo, chunked", "gzip, chunked", "xchunked"] {
        faults.push((coding(value), 501));
    }
    for body in [
        "\r\nhello\r\n",
        "g\r\n",
        "+5\r\nhello\r\n",
        "0x5\r\nhello\r\n",
        " 5\r\nhello\r\n",
        "5 \r\nhello\r\n",
        "5\nhello\r\n",
        "5\r\nhello\n",
        "5\r\nhello",
        "5\r\nhelloo\r\n",
        "-1\r\n",
        "11111111111111111\r\n",
        "5;\0\r\nhello\r\n",
        "5;a\nhello\r\n",
        "0\r\nX: y\n\r\n",
        "0\r\n X: y\r\n\r\n",
        "0\r\nX : y\r\n\r\n",
        "0\r\nX\r\n\r\n",
        "0\r\n\n",
        "5;12345678901234567\r\nhello\r\n",
    ] {
        // What ends in the middle needs one wrong byte to be a fault.
        faults.push((chunked(&format!("{body}\x01")), 400));
    }
    faults.push((chunked("21\r\n"), 413));
    faults.push((chunked("10\r\n0123456789abcdef\r\n11\r\n"), 413));
    faults.push((chunked("fffffffffffffffe\r\n"), 413));
    faults.push((chunked(&format!("0\r\nX: {}\r\n\r\n", "y".repeat(30))), 431));
    faults.push((chunked(&format!("0\r\n{}\r\n", "X:\r\n".repeat(9))), 431));
    faults
}

/// The status of the fault that the codec finds in these pieces.
fn codec_status(pieces: &[&[u8]]) -> Option<u16> {
    let limits = limits();
    let mut decoder = Decoder::new();
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next(&limits) {
                DecoderEvent::Incomplete(_) => break,
                DecoderEvent::Fault(fault) => return Some(fault.status),
                DecoderEvent::Head => {
                    let _ = decoder.accept_body(limits.body_bytes_max);
                }
                DecoderEvent::Request => return None,
            }
        }
    }
    None
}

#[test]
fn the_codec_refuses_each_however_it_is_split() {
    for (bytes, status) in faults() {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        assert_eq!(codec_status(&[&bytes]), Some(status), "{shown:?}");
        assert_eq!(
            codec_status(&bytes.chunks(1).collect::<Vec<_>>()),
            Some(status),
            "byte by byte: {shown:?}"
        );
        for at in 1..bytes.len() {
            let (first, second) = bytes.split_at(at);
            assert_eq!(
                codec_status(&[first, second]),
                Some(status),
                "split at {at}: {shown:?}"
            );
        }
    }
}

#[test]
fn the_server_refuses_each_however_it_is_split() {
    let calls = Arc::new(AtomicUsize::new(0));
    let server = Server::start(limits(), echo(&calls));
    let faults = faults();
    // Two halves on two threads: the time goes into waiting for the other side.
    std::thread::scope(|scope| {
        for half in faults.chunks(faults.len().div_ceil(4)) {
            let server = &server;
            scope.spawn(move || {
                for (bytes, status) in half {
                    for at in 0..bytes.len() {
                        refused(server, bytes, at, *status);
                    }
                }
            });
        }
    });
    assert_eq!(calls.load(SeqCst), 0, "the handler was called");
    assert!(
        server
            .exchange(b"GET /fine HTTP/1.0\r\n\r\n")
            .ends_with("GET /fine ")
    );
}

fn refused(server: &Server, bytes: &[u8], at: usize, expected: u16) {
    let mut socket = server.connect();
    let (first, second) = bytes.split_at(at);
    socket.write_all(first).unwrap();
    if !first.is_empty() {
        wait::dawdle(std::time::Duration::from_micros(200));
    }
    // The first half may be refused already; then this goes into a connection that is being closed.
    let _ = socket.write_all(second);
    let answer = read_to_end(&mut socket);
    let shown = String::from_utf8_lossy(bytes);
    assert_eq!(status(&answer), expected, "split at {at}: {shown:?}");
    assert!(
        answer.contains("\r\nConnection: close\r\n") && answer.contains("{\"error\":\""),
        "{answer}"
    );
    assert_eq!(
        answer.matches("HTTP/1.1").count(),
        1,
        "one answer: {answer}"
    );
}

#[test]
fn what_is_right_is_not_refused() {
    let calls = Arc::new(AtomicUsize::new(0));
    let server = Server::start(limits(), echo(&calls));
    for (bytes, answer) in [
        (raw(b"\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"), "GET / "),
        (raw(b"GET /\xc3\xa9?a=[b]|{c} HTTP/1.1\r\nhost:h:1\r\nX-Empty:\r\nX-Text: \xe9\t\r\n\r\n"), "GET /\u{e9} "),
        (raw(b"OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), "OPTIONS * "),
        (raw(b"GET http://h HTTP/1.1\r\nHost: other\r\n\r\n"), "GET / "),
        (post("Content-Length: 5\r\n\r\nhello"), "POST / hello"),
        (post("Transfer-Encoding: Chunked\r\n\r\n3;x=\"y\"\r\nhel\r\n02\r\nlo\r\n0\r\nX: y\r\n\r\n"), "POST / hello"),
    ] {
        for at in 0..bytes.len() {
            let mut socket = server.connect();
            let (first, second) = bytes.split_at(at);
            socket.write_all(first).unwrap();
            socket.write_all(second).unwrap();
            assert_eq!(read_response(&mut socket).1, answer);
        }
    }
}

#[test]
fn faults_behind_good_requests_leave_their_answers_alone() {
    let calls = Arc::new(AtomicUsize::new(0));
    let server = Server::start(limits(), echo(&calls));
    let answer =
        server.exchange(&[get("/1"), get("/2"), with_field("bad field"), get("/3")].concat());
    let (one, two, bad) = (
        answer.find("GET /1 "),
        answer.find("GET /2 "),
        answer.find("HTTP/1.1 400 "),
    );
    assert!(one.is_some() && one < two && two < bad, "{answer}");
    assert!(!answer.contains("/3"), "{answer}");
    assert_eq!(calls.load(SeqCst), 2);
}

#[test]
fn the_body_is_asked_for_when_it_is_about_to_be_read() {
    let server = Server::start(limits(), echo(&Arc::default()));
    let mut socket = server.connect();
    socket
        .write_all(&post("Expect: 100-Continue\r\nContent-Length: 5\r\n\r\n"))
        .unwrap();
    let (interim, _) = read_response(&mut socket);
    assert_eq!(interim, "HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(b"hello").unwrap();
    assert_eq!(read_response(&mut socket).1, "POST / hello");
    // A client that did not wait is not asked, and neither is one without a body.
    socket
        .write_all(&post(
            "Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
        ))
        .unwrap();
    assert_eq!(read_response(&mut socket).1, "POST / hello");
    socket
        .write_all(&post("Expect: 100-continue\r\nContent-Length: 0\r\n\r\n"))
        .unwrap();
    assert_eq!(read_response(&mut socket).1, "POST / ");
    // A body that is too large is refused instead; the client can read that although it sends on.
    socket
        .write_all(&post("Expect: 100-continue\r\nContent-Length: 50\r\n\r\n"))
        .unwrap();
    let _ = socket.write_all(&[b'x'; 50_000]);
    let refused = read_to_end(&mut socket);
    assert_eq!(status(&refused), 413);
}

#[test]
fn a_malformed_head_request_gets_no_body() {
    let server = Server::start(limits(), || {
        Rc::new(Function(|_: &Rc<Request>| Answer::Now(with_body("never"))))
    });
    for rest in [
        "/ HTTP/1.1\r\n\r\n",
        "/ HTTP/1.1\r\nHost: h\r\nBad Name: x\r\n\r\n",
        "/ HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n",
        "/\u{1} HTTP/1.1\r\nHost: h\r\n\r\n",
        "/ HTTP/9.9\r\nHost: h\r\n\r\n",
    ] {
        let got = server.exchange(format!("HEAD {rest}").as_bytes());
        assert!(
            got.starts_with("HTTP/1.1 4") || got.starts_with("HTTP/1.1 505"),
            "{got}"
        );
        assert!(got.ends_with("\r\n\r\n"), "{got}");
        let got = server.exchange(format!("GET {rest}").as_bytes());
        assert!(!got.ends_with("\r\n\r\n"), "{got}");
    }
}
