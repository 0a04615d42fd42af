//! Streamed bodies whose length is declared.

use std::rc::Rc;
use std::task::{Context, Poll};

use super::common::http2::{Client, get};
use super::common::*;
use h2::Reason;
use sampan_http::{Answer, Body, BodyError, BodyStream, Chunk, Limits, Request, Response};

/// A stream of so many pieces of 1,000 bytes.
struct Pieces(usize);

impl BodyStream for Pieces {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or(0);
        Poll::Ready(left.map(|_| Ok(vec![b'x'; 1000].into())))
    }
}

/// A server whose streams have the length of the first number in the path, and pieces of the second.
fn server() -> Server {
    Server::start(Limits::default(), || {
        Rc::new(Function(|request: &Rc<Request>| {
            let mut parts = request.path()[1..].split('/');
            let mut part = || parts.next().unwrap();
            let mut response = Response::new(200);
            response
                .header(b"Content-Length", part().as_bytes())
                .unwrap();
            let pieces = Pieces(part().parse().unwrap());
            response.set_body(Body::Stream(Box::new(pieces)));
            Answer::Now(response)
        }))
    })
}

#[test]
fn a_stream_keeps_its_declared_length() {
    let server = server();
    let mut client = Client::new(&server);
    for (path, bytes) in [("/200000/200", 200_000), ("/0/0", 0)] {
        let answered = client.get(path);
        assert_eq!(answered.fields["content-length"], bytes.to_string());
        assert_eq!(answered.body.len(), bytes);
    }
    let mut head = get("/200000/200");
    *head.method_mut() = http::Method::HEAD;
    let answered = client.ask(head);
    assert_eq!(answered.fields["content-length"], "200000");
    assert!(answered.body.is_empty());
}

#[test]
fn a_stream_of_another_length_is_reset() {
    let server = server();
    let mut client = Client::new(&server);
    for path in ["/5001/5", "/4999/5", "/0/1"] {
        let response = client.begin(get(path));
        let error = client.try_read(response).unwrap_err();
        assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR), "{path}");
    }
    assert_eq!(client.get("/5000/5").body.len(), 5000);
}
