//! Connections of HTTP/2 that the server ends or refuses: over capacity, with clients that do not read, and when the
//! worker leaves.

use std::io::Write;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use super::common::frames;
use super::common::http2::{Client, get};
use super::common::*;
use sampan_http::{
    Answer, Body, BodyError, BodyStream, Chunk, ClosedUnread, Handler, Limits, Observer, Request,
    Response, WorkerMoment,
};

#[test]
fn over_capacity_is_answered_and_ends() {
    // Without TLS no byte of the client says yet that it speaks HTTP/2: it is told 503 by HTTP/1.1.
    if !is_secured() {
        return;
    }
    let limits = Limits {
        connections_max: 1,
        retry_after_seconds: 7,
        ..Limits::default()
    };
    let server = Server::start(limits, echo(&Arc::default()));
    let mut served = Client::new(&server);
    assert_eq!(served.get("/").status, 200);
    let mut over = Client::new(&server);
    let answer = over.get("/");
    assert_eq!(answer.status, 503);
    assert_eq!(answer.fields["retry-after"], "7");
    over.end().unwrap();
    assert_eq!(served.get("/").status, 200);
    drop(served);
    wait::until("the end", || server.handle.connections() == 0);
    assert_eq!(Client::new(&server).get("/").status, 200);
}

const BODY_BYTES: usize = 1_000_000;

/// Answers with a body of its own, and keeps what it is told.
struct Large(Arc<Mutex<Vec<ClosedUnread>>>);

impl Handler for Large {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let mut response = Response::new(200);
        if request.path() == "/" {
            *response.body_mut() = vec![b'x'; BODY_BYTES];
        }
        Answer::Now(response)
    }

    fn closed_unread(&self, closed: &ClosedUnread) {
        self.0.lock().unwrap().push(*closed);
    }
}

#[test]
fn the_slowest_clients_are_closed_over_the_limit() {
    let limits = Limits {
        unsent_bytes_max: 5 * BODY_BYTES + BODY_BYTES / 2,
        unsent_bytes_per_client_max: 100 * BODY_BYTES,
        ..Limits::default()
    };
    let told: Arc<Mutex<Vec<ClosedUnread>>> = Arc::default();
    let keep = Arc::clone(&told);
    let server = Server::start(limits, move || Rc::new(Large(keep)));
    let unsent = || server.handle.unsent().bytes();
    let mut lazy = Vec::new();
    for at in 0..12 {
        // The window of the client is smaller than the body, and stays so.
        let mut socket = frames::begin(&server);
        socket.write_all(&frames::request(1, &[])).unwrap();
        lazy.push(socket);
        // The client has got a part already.
        let waiting = || (unsent() + BODY_BYTES / 2) / BODY_BYTES;
        wait::until("an answer that waits", || {
            told.lock().unwrap().len() + waiting() == at + 1
        });
    }
    let closed = told.lock().unwrap().clone();
    assert_eq!(closed.len(), 7);
    assert!(closed.iter().all(|one| one.limit.0 == "unsent_bytes_max"));
    assert!(unsent() <= 5 * BODY_BYTES + BODY_BYTES / 2);
    assert_eq!(Client::new(&server).get("/").body.len(), BODY_BYTES);
    drop(lazy);
    wait::until("all to be forgotten", || unsent() == 0);
}

/// A stream that ends with its worker.
#[derive(Default)]
struct Endless {
    is_over: bool,
}

impl BodyStream for Endless {
    fn look(&mut self, worker: WorkerMoment) -> u64 {
        self.is_over = worker.ends_over_millis.is_some();
        u64::MAX
    }

    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        match self.is_over {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }
}

#[test]
fn streams_are_told_that_the_worker_leaves() {
    let server = Server::start(Limits::default(), || {
        Rc::new(Function(|_: &Rc<Request>| {
            let mut response = Response::new(200);
            response.set_body(Body::Stream(Box::<Endless>::default()));
            Answer::Now(response)
        }))
    });
    let mut client = Client::new(&server);
    let mut streams = Vec::new();
    for _ in 0..3 {
        let response = client.begin(get("/"));
        streams.push(client.wait(response).unwrap().into_body());
    }
    server.handle.leave();
    for stream in streams {
        let body = client.wait(super::common::http2::read_body(stream));
        assert_eq!(body.unwrap(), b"");
    }
    client.end().unwrap();
}
