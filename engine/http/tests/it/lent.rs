//! Chunks that are lent until the next code of a handler runs.

mod common;

use std::cell::{Cell, RefCell};
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

use common::*;
use sampan_http::{Answer, Body, BodyError, BodyStream, Chunk, Limits, Response, Ticket};

const CHUNKS: usize = 200;
const CHUNK_BYTES: usize = 50_000;

/// A buffer whose owner has written over it, or not yet.
struct Lender {
    is_over: Rc<Cell<bool>>,
    now: Vec<u8>,
    later: Vec<u8>,
}

impl AsRef<[u8]> for Lender {
    fn as_ref(&self) -> &[u8] {
        if self.is_over.get() {
            &self.later
        } else {
            &self.now
        }
    }
}

/// Writes over what it lent each time that it is asked for more.
#[derive(Clone, Default)]
struct Source {
    lent: Rc<RefCell<Rc<Cell<bool>>>>,
    given: Arc<AtomicUsize>,
}

impl Source {
    fn runs(&self) {
        self.lent.borrow().set(true);
    }
}

impl BodyStream for Source {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        self.runs();
        if self.given.fetch_add(1, SeqCst) >= CHUNKS {
            return Poll::Ready(None);
        }
        let is_over = Rc::default();
        *self.lent.borrow_mut() = Rc::clone(&is_over);
        let lender = Lender {
            is_over,
            now: vec![b'x'; CHUNK_BYTES],
            later: vec![b'-'; CHUNK_BYTES],
        };
        Poll::Ready(Some(Ok(Chunk::LentBriefly(Box::new(lender)))))
    }
}

fn stream(source: &Source) -> Response {
    let mut response = Response::new(200);
    response.set_body(Body::Stream(Box::new(source.clone())));
    response
}

/// Reads slowly to the end: how many bytes of a chunk came, and how many that its owner had written over.
fn read_slowly(socket: &mut std::net::TcpStream) -> (usize, usize) {
    let mut part = vec![0; 200_000];
    let (mut whole, mut broken) = (0, 0);
    loop {
        wait::dawdle(Duration::from_millis(3));
        let len = socket.read(&mut part).unwrap();
        if len == 0 {
            return (whole, broken);
        }
        let count = |byte| part[..len].iter().filter(|other| **other == byte).count();
        (whole, broken) = (whole + count(b'x'), broken + count(b'-'));
    }
}

#[test]
fn what_a_slow_client_does_not_take_is_copied() {
    let given = Arc::new(AtomicUsize::new(0));
    let counter = given.clone();
    let server = Server::start(Limits::default(), move || {
        let source = Source {
            given: counter,
            ..Source::default()
        };
        Rc::new(Function(move |request: &Rc<sampan_http::Request>| {
            if request.path() == "/stream" {
                return Answer::Now(stream(&source));
            }
            source.runs();
            Answer::Now(Response::new(204))
        }))
    });
    let mut socket = server.connect();
    socket
        .write_all(b"GET /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        .unwrap();
    // It does not read, so a chunk waits. Then another client's handler runs.
    wait::until("the first chunk", || given.load(SeqCst) > 0);
    wait::settled("the chunks", || given.load(SeqCst));
    let other = server.exchange(b"GET /runs HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert!(other.starts_with("HTTP/1.1 204"), "{other}");
    let (whole, broken) = read_slowly(&mut socket);
    assert_eq!(whole, CHUNKS * CHUNK_BYTES);
    assert!(broken < 20, "{broken} bytes were written over");
}

/// A handler that waits behind the stream, and runs whenever its connection does.
#[test]
fn what_another_handler_could_change_is_copied() {
    let server = Server::start(Limits::default(), || {
        let source = Source::default();
        let seals = Rc::new(RefCell::new(Vec::new()));
        Rc::new(Function(move |request: &Rc<sampan_http::Request>| {
            if request.path() == "/stream" {
                let (ticket, seal) = Ticket::new();
                seals.borrow_mut().push(seal);
                return Answer::Held(stream(&source), ticket);
            }
            let (source, seals) = (source.clone(), Rc::clone(&seals));
            Answer::Later(Box::pin(std::future::poll_fn(move |cx| {
                source.runs();
                seals
                    .take()
                    .into_iter()
                    .for_each(sampan_http::Seal::release);
                if source.given.load(SeqCst) > CHUNKS {
                    return Poll::Ready(Answer::Now(Response::new(204)));
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })))
        }))
    });
    let mut socket = server.connect();
    socket
        .write_all(
            &[
                get("/stream"),
                b"GET /runs HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".to_vec(),
            ]
            .concat(),
        )
        .unwrap();
    let (whole, broken) = read_slowly(&mut socket);
    assert_eq!(whole, CHUNKS * CHUNK_BYTES);
    assert!(broken < 20, "{broken} bytes were written over");
}
