//! Clients that ask and do not read: what waits for them has a limit.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use common::{Server, read_response, wait};
use sampan_http::{Answer, ClosedUnread, Handler, Limits, Observer, Request, Response};

const BODY_BYTES: usize = 10_000_000;

/// Answers with a body of its own, and keeps what it is told.
struct Large(Arc<Mutex<Vec<ClosedUnread>>>);

impl Handler for Large {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let mut response = Response::new(200);
        if request.path() == "/large" {
            *response.body_mut() = vec![b'x'; BODY_BYTES];
        }
        Answer::Now(response)
    }

    fn closed_unread(&self, closed: &ClosedUnread) {
        self.0.lock().unwrap().push(*closed);
    }
}

fn start(limits: Limits) -> (Server, Arc<Mutex<Vec<ClosedUnread>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&told);
    (Server::start(limits, move || Rc::new(Large(keep))), told)
}

fn ask(server: &Server, target: &str) -> TcpStream {
    let mut socket = server.connect();
    let request = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
    socket.write_all(request.as_bytes()).unwrap();
    socket
}

#[test]
fn the_slowest_clients_are_closed_over_the_limit() {
    let limits = Limits {
        unsent_bytes_max: 5 * BODY_BYTES + BODY_BYTES / 2,
        unsent_bytes_per_client_max: 100 * BODY_BYTES,
        ..Limits::default()
    };
    let (server, told) = start(limits);
    let mut lazy = Vec::new();
    for at in 0..12 {
        lazy.push(ask(&server, "/large"));
        wait::until("an answer that waits", || {
            told.lock().unwrap().len() + server.handle.unsent().bytes() / BODY_BYTES == at + 1
        });
    }
    assert_eq!(server.handle.unsent().closed(), 7);
    assert!(server.handle.unsent().bytes() <= 5 * BODY_BYTES + BODY_BYTES / 2);
    let closed = told.lock().unwrap().clone();
    let clients: Vec<_> = lazy.iter().map(|one| one.local_addr().unwrap()).collect();
    for (at, (one, client)) in closed.iter().zip(clients).enumerate() {
        // In the order in which they stopped reading.
        assert_eq!(one.peer, client.into());
        assert!(one.bytes >= BODY_BYTES);
        assert_eq!(one.limit.0, "unsent_bytes_max");
        assert_eq!(one.closed, at as u64 + 1);
    }
    // Those who read are served meanwhile, and get all of it.
    let (head, _) = read_response(&mut ask(&server, "/small"));
    assert!(head.starts_with("HTTP/1.1 200"));
    assert_eq!(
        read_response(&mut ask(&server, "/large")).1.len(),
        BODY_BYTES
    );
    // A closed client sees the end, before the whole answer.
    let mut rest = Vec::new();
    let _ = lazy[0].read_to_end(&mut rest);
    assert!(rest.len() < BODY_BYTES);
    drop(lazy);
    wait::until("all to be forgotten", || {
        server.handle.unsent().bytes() == 0
    });
}

#[test]
fn one_client_address_has_a_limit_of_its_own() {
    let limits = Limits {
        unsent_bytes_max: 100 * BODY_BYTES,
        unsent_bytes_per_client_max: 2 * BODY_BYTES + BODY_BYTES / 2,
        ..Limits::default()
    };
    let (server, told) = start(limits);
    let lazy: Vec<_> = (0..4).map(|_| ask(&server, "/large")).collect();
    wait::until("two to be closed", || told.lock().unwrap().len() == 2);
    let closed = told.lock().unwrap().clone();
    assert!(
        closed
            .iter()
            .all(|one| one.limit.0 == "unsent_bytes_per_client_max")
    );
    drop(lazy);
}

#[test]
fn zero_stands_for_a_share_of_the_memory() {
    let limits = Limits::default();
    assert!(limits.unsent_bytes_max() > 1 << 20);
    assert_eq!(
        limits.unsent_bytes_per_client_max(),
        limits.unsent_bytes_max() / 2
    );
}
