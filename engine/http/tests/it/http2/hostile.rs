//! Hostile clients of HTTP/2: each is stopped, and the others are served.

use std::io::Write;
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::common::frames::*;
use super::common::http2::Client;
use super::common::*;
use sampan_http::{Answer, Limits, Request};

const NO_ERROR: u32 = 0;
const PROTOCOL_ERROR: u32 = 1;
const ENHANCE_YOUR_CALM: u32 = 11;

fn start(limits: Limits) -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    (Server::start(limits, echo(&calls)), calls)
}

/// A server whose handlers never answer, but for `/fine`.
fn start_silent() -> Server {
    Server::start(Limits::default(), || {
        Rc::new(Function(|request: &Rc<Request>| match request.path() {
            "/fine" => Answer::Now(with_body("fine")),
            _ => Answer::Later(Box::pin(std::future::pending())),
        }))
    })
}

/// Another client is served, and the hostile one is gone.
fn assert_well(server: &Server, hostile: TcpStream) {
    let mut client = Client::new(server);
    assert_eq!(client.get("/fine").status, 200);
    drop(client);
    drop(hostile);
    wait::until("the end", || server.handle.connections() == 0);
}

/// Writes what the server may refuse to take.
fn flood(socket: &mut TcpStream, bytes: &[u8], times: usize) {
    for _ in 0..times {
        if socket.write_all(bytes).is_err() {
            return;
        }
    }
}

#[test]
fn rapid_reset() {
    let server = start_silent();
    let mut socket = begin(&server);
    for stream in (1..4001).step_by(2) {
        let both = [
            request(stream, &[]),
            frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()),
        ];
        if socket.write_all(&both.concat()).is_err() {
            break;
        }
    }
    assert!(matches!(
        read_goaway(&mut socket),
        Some(ENHANCE_YOUR_CALM) | None
    ));
    assert!(
        server.handle.requests() < 300,
        "{}",
        server.handle.requests()
    );
    assert_well(&server, socket);
}

#[test]
fn resets_are_allowed_for_those_who_read() {
    let (server, _) = start(Limits::default());
    let mut client = Client::new(&server);
    for _ in 0..300 {
        let (response, mut stream) = client.send(super::common::http2::get("/"), true);
        stream.send_reset(h2::Reason::CANCEL);
        drop(response);
        client.get("/");
    }
}

/// A client that makes the server reset its streams (CVE-2025-8671).
#[test]
fn made_you_reset() {
    let server = start_silent();
    let mut socket = begin(&server);
    for stream in (1..4001).step_by(2) {
        let both = [
            request(stream, &[]),
            // Of zero bytes, which is an error of the stream.
            frame(WINDOW_UPDATE, 0, stream, &0u32.to_be_bytes()),
        ];
        if socket.write_all(&both.concat()).is_err() {
            break;
        }
    }
    assert!(matches!(
        read_goaway(&mut socket),
        Some(ENHANCE_YOUR_CALM | PROTOCOL_ERROR) | None
    ));
    assert!(
        server.handle.requests() < 300,
        "{}",
        server.handle.requests()
    );
    assert_well(&server, socket);
}

#[test]
fn continuations_without_end() {
    let (server, calls) = start(Limits::default());
    for payload in [&b""[..], &[0; 1], &block(&[("x-a", &[b'a'; 1000])])] {
        let mut socket = begin(&server);
        let first = frame(HEADERS, END_STREAM, 1, &block(&GET));
        socket.write_all(&first).unwrap();
        flood(&mut socket, &frame(CONTINUATION, 0, 1, payload), 200_000);
        assert_ne!(read_goaway(&mut socket), Some(NO_ERROR));
        assert_well(&server, socket);
    }
    assert_eq!(calls.load(SeqCst), 3, "only those of the others");
}

#[test]
fn a_header_block_has_its_time() {
    let limits = Limits {
        head_millis_max: 200,
        ..Limits::default()
    };
    let (server, _) = start(limits);
    // While another request is under way, so that the connection is not idle.
    let mut socket = begin(&server);
    socket.write_all(&request(1, &[])).unwrap();
    read_until(&mut socket, DATA, 1).unwrap();
    socket
        .write_all(&frame(HEADERS, END_STREAM, 3, &block(&GET)))
        .unwrap();
    assert_eq!(read_goaway(&mut socket), Some(NO_ERROR));
    assert_eq!(read_frame(&mut socket), None);
    assert_well(&server, socket);
}

#[test]
fn compressed_bombs() {
    let (server, calls) = start(Limits::default());
    let mut socket = begin(&server);
    // A field of 4,000 bytes is put into the table, and named by one byte each time.
    let mut bomb = block(&GET);
    let name = [b'a'; 1900];
    let mut field = block(&[("x-bomb", &name)]);
    field[0] = 0x40;
    bomb.extend(field);
    bomb.extend(std::iter::repeat_n(0x80 | 62, 10_000));
    socket
        .write_all(&frame(HEADERS, END_STREAM | END_HEADERS, 1, &bomb))
        .unwrap();
    assert_ne!(read_goaway(&mut socket), Some(NO_ERROR));
    assert_well(&server, socket);
    assert_eq!(calls.load(SeqCst), 1, "only that of the other");
}

/// Many small crumbs of a cookie (CVE-2026-49975).
#[test]
fn crumbs_of_cookies() {
    let (server, calls) = start(Limits::default());
    let mut client = Client::new(&server);
    for crumbs in [101, 600] {
        let request = http::Request::get("https://h/");
        let request = (0..crumbs).fold(request, |request, _| request.header("cookie", ""));
        assert_eq!(client.ask(request.body(()).unwrap()).status, 431);
    }
    assert_eq!(calls.load(SeqCst), 0);
    drop(client);
    let mut socket = begin(&server);
    // By reference to the table: one byte each, a thousand of them per frame.
    let mut bomb = block(&GET);
    let mut crumb = block(&[("cookie", b"a=b")]);
    crumb[0] = 0x40;
    bomb.extend(crumb);
    bomb.extend(std::iter::repeat_n(0x80 | 62, 15_000));
    let bytes = frame(HEADERS, END_STREAM | END_HEADERS, 1, &bomb);
    socket.write_all(&bytes).unwrap();
    assert_ne!(read_goaway(&mut socket), Some(NO_ERROR));
    assert_eq!(calls.load(SeqCst), 0);
    assert_well(&server, socket);
}

#[test]
fn floods_of_frames_that_carry_nothing() {
    let (server, _) = start(Limits::default());
    let floods = [
        frame(PING, 0, 0, &[0; 8]),
        frame(SETTINGS, 0, 0, &[]),
        frame(2, 0, 1, &[0, 0, 0, 0, 1]),
        frame(WINDOW_UPDATE, 0, 0, &1u32.to_be_bytes()),
        frame(77, 0, 0, b"unknown"),
    ];
    for bytes in floods {
        let mut socket = begin(&server);
        flood(&mut socket, &bytes.repeat(100), 1000);
        let end = read_goaway(&mut socket);
        assert!(matches!(end, Some(ENHANCE_YOUR_CALM) | None), "{end:?}");
        assert_well(&server, socket);
    }
}

#[test]
fn empty_data_without_end() {
    let (server, _) = start(Limits::default());
    let mut socket = begin(&server);
    let head = [(":method", &b"POST"[..]), GET[1], GET[2], GET[3]];
    socket
        .write_all(&frame(HEADERS, END_HEADERS, 1, &block(&head)))
        .unwrap();
    flood(&mut socket, &frame(DATA, 0, 1, &[]), 100_000);
    assert_ne!(read_goaway(&mut socket), Some(NO_ERROR));
    assert_well(&server, socket);
}

#[test]
fn streams_after_the_end_are_not_served() {
    let (server, calls) = start(Limits::default());
    let mut socket = begin(&server);
    socket.write_all(&request(1, &[])).unwrap();
    read_until(&mut socket, DATA, 1).unwrap();
    server.handle.shutdown();
    // The first word, and the ping by which the server learns that it was heard.
    assert_eq!(read_goaway(&mut socket), Some(NO_ERROR));
    let ping = read_until(&mut socket, PING, 0).unwrap();
    socket.write_all(&frame(PING, 1, 0, &ping)).unwrap();
    while socket.write_all(&request(3, &[])).is_ok() && read_frame(&mut socket).is_some() {}
    assert_eq!(read_frame(&mut socket), None);
    assert_eq!(calls.load(SeqCst), 1);
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let server = start_silent();
    let mut socket = begin(&server);
    read_until(&mut socket, SETTINGS, 0).unwrap();
    socket.write_all(&frame(SETTINGS, 1, 0, &[])).unwrap();
    for stream in (1..203).step_by(2) {
        socket.write_all(&request(stream, &[])).unwrap();
    }
    const REFUSED_STREAM: u32 = 7;
    assert_eq!(read_reset(&mut socket, 201), Some(REFUSED_STREAM));
    wait::until("the others", || server.handle.requests() == 100);
    assert_well(&server, socket);
}

/// Everything that would be read in another way behind a proxy is refused, and no handler sees it.
#[test]
fn smuggled_requests() {
    let (server, calls) = start(Limits::default());
    let pseudo = |name: &'static str, value: &'static [u8]| {
        let fields = GET.iter().map(|field| {
            if field.0 == name {
                (name, value)
            } else {
                *field
            }
        });
        fields.collect::<Vec<_>>()
    };
    let with = |name: &'static str, value: &'static [u8]| {
        let mut fields = GET.to_vec();
        fields.push((name, value));
        fields
    };
    let heads = [
        with("x-a", b"a\r\nx-b: c"),
        with("x-a", b"a\nb"),
        with("x-a", b"a\0b"),
        with("x-a", b" a"),
        with("x-a\r\nx-b", b"c"),
        with("x a", b"c"),
        with("x-a:", b"c"),
        with("X-A", b"c"),
        with("", b"c"),
        with("transfer-encoding", b"chunked"),
        with("connection", b"close"),
        with("upgrade", b"h2c"),
        with("te", b"gzip"),
        with("host", b"other"),
        with("content-length", b"5"),
        with("content-length", b"-1"),
        with(":path", b"/other"),
        with(":unknown", b"a"),
        pseudo(":path", b""),
        pseudo(":path", b"a"),
        pseudo(":path", b"/ HTTP/1.1\r\nhost: other\r\n\r\nGET /"),
        pseudo(":path", b"/a b"),
        pseudo(":path", b"/a/../b"),
        pseudo(":path", b"http://other/"),
        pseudo(":method", b"GET / HTTP/1.1\r\n"),
        pseudo(":method", b""),
        pseudo(":authority", b"h\r\nx-a: b"),
        pseudo(":authority", b"user@h"),
        pseudo(":authority", b""),
        pseudo(":scheme", b"ht tp"),
        [&[("x-a", &b"before"[..])], &GET[..]].concat(),
        GET[1..].to_vec(),
        GET[..3].to_vec(),
    ];
    for fields in heads {
        let mut socket = begin(&server);
        let head = frame(HEADERS, END_STREAM | END_HEADERS, 1, &block(&fields));
        socket.write_all(&head).unwrap();
        // Refused by an answer, by a reset, or by the end of the connection.
        let refused = loop {
            match read_frame(&mut socket) {
                Some((HEADERS | RST_STREAM, _, 1, _) | (GOAWAY, ..)) | None => break true,
                Some(_) => {}
            }
        };
        assert!(refused);
        assert_eq!(calls.load(SeqCst), 0, "{fields:?}");
    }
}
