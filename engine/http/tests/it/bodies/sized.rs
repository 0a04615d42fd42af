//! Streamed bodies whose length is declared. `http2/sized.rs` has those over HTTP/2.

#[path = "../common/mod.rs"]
mod common;

use std::io::Write;
use std::rc::Rc;
use std::task::{Context, Poll};

use common::*;
use sampan_http::{Answer, Body, BodyError, BodyStream, Chunk, Limits, Request, Response};

/// A stream of these pieces, the last one first.
struct Pieces(Vec<Vec<u8>>);

impl BodyStream for Pieces {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        Poll::Ready(self.0.pop().map(|piece| Ok(piece.into())))
    }
}

/// A server whose streams declare 40,005 bytes: `/early` gives fewer, `/late` more, `/empty` declares none.
fn server() -> Server {
    Server::start(Limits::default(), || {
        Rc::new(Function(|request: &Rc<Request>| {
            let large = vec![b'x'; 40_000];
            let (declared, pieces) = match request.path() {
                "/early" => ("40005", vec![large]),
                "/late" => ("40005", vec![b"more!".to_vec(), b"y".to_vec(), large]),
                "/empty" => ("0", vec![]),
                _ => ("40005", vec![large, b"".to_vec(), b"first".to_vec()]),
            };
            let mut response = Response::new(200);
            response
                .header(b"Content-Length", declared.as_bytes())
                .unwrap();
            response.set_body(Body::Stream(Box::new(Pieces(pieces))));
            Answer::Now(response)
        }))
    })
}

#[test]
fn a_stream_keeps_its_declared_length() {
    let server = server();
    let mut socket = server.connect();
    socket
        .write_all(&[get("/"), get("/empty"), get("/")].concat())
        .unwrap();
    for bytes in [40_005, 0, 40_005] {
        let (head, body) = read_response(&mut socket);
        let line = format!("Content-Length: {bytes}\r\n");
        assert!(
            head.contains(&line) && !head.contains("Transfer-Encoding"),
            "{head}"
        );
        assert_eq!(body.len(), bytes);
        assert!(bytes == 0 || body.starts_with("firstxxx"));
    }
    drop(socket);
    let old = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /empty HTTP/1.0\r\n\r\n";
    let old = server.exchange(old);
    assert_eq!(old.matches("HTTP/1.1 200 OK").count(), 2, "{old}");
    let head = server.exchange(b"HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert!(
        head.contains("Content-Length: 40005\r\n") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
}

#[test]
fn a_stream_of_another_length_is_cut() {
    let server = server();
    for (path, sent) in [("/early", 40_000), ("/late", 40_001)] {
        let all = server.exchange(&[get(path), get("/")].concat());
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Content-Length: 40005"), "{head}");
        assert_eq!(body.len(), sent, "{path}");
    }
}
