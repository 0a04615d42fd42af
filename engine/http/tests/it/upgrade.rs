//! Connections that a handler takes over after 101.

mod common;

use std::future::poll_fn;
use std::io::{Read, Write};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use common::*;
use sampan_http::{Answer, Limits, Request, Upgrade, Upgraded};
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

struct CountEnd(Arc<AtomicUsize>);

impl Drop for CountEnd {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

async fn echo_capitals(mut socket: Upgraded) {
    let mut bytes = [0; 1000];
    while let Ok(len @ 1..) = socket.read(&mut bytes).await {
        bytes[..len].make_ascii_uppercase();
        if socket.write_all(&bytes[..len]).await.is_err() {
            return;
        }
        if bytes[..len].contains(&b'!') {
            break;
        }
    }
    let _ = socket.shutdown().await;
}

fn start(ended: &Arc<AtomicUsize>) -> Server {
    let ended = Arc::clone(ended);
    let limits = Limits {
        idle_millis_max: 500,
        shutdown_millis_max: 300,
        ..Limits::default()
    };
    Server::start(limits, move || {
        Rc::new(Function(move |request: &Rc<Request>| {
            if request.path() == "/plain" {
                return Answer::Now(with_body("plain"));
            }
            let end = CountEnd(Arc::clone(&ended));
            let path = request.path().to_owned();
            let take = move |socket| -> sampan_http::LocalFuture<()> {
                assert!(path != "/panic-at-once", "as asked");
                Box::pin(async move {
                    let _end = end;
                    assert!(path != "/panic", "as asked");
                    echo_capitals(socket).await;
                })
            };
            let mut upgrade = Upgrade::new("echo", take).unwrap();
            upgrade.header(b"X-A", b"b").unwrap();
            Answer::Upgrade(Box::new(upgrade))
        }))
    })
}

fn ask(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
}

#[test]
fn bytes_go_both_ways_after_101_those_sent_early_first() {
    let ended = Arc::default();
    let server = start(&ended);
    for early in ["", "early "] {
        let mut socket = server.connect();
        let pipelined = format!("GET /plain HTTP/1.1\r\nHost: h\r\n\r\n{}{early}", ask("/"));
        socket.write_all(pipelined.as_bytes()).unwrap();
        assert_eq!(read_response(&mut socket).1, "plain");
        let (head, _) = read_response(&mut socket);
        assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\nDate: "));
        for field in ["Connection: Upgrade\r\n", "Upgrade: echo\r\n", "X-A: b\r\n"] {
            assert!(head.contains(field), "{head}");
        }
        // No limit of HTTP holds here: one that came later and is as silent has been closed.
        let mut silent = server.connect();
        silent.write_all(&get("/plain")).unwrap();
        assert_eq!(read_response(&mut silent).1, "plain");
        assert_eq!(silent.read(&mut [0]).unwrap(), 0);
        socket.write_all(b"and late").unwrap();
        let mut answer = vec![0; early.len() + 8];
        socket.read_exact(&mut answer).unwrap();
        let wanted = format!("{early}and late").to_uppercase();
        assert_eq!(String::from_utf8(answer).unwrap(), wanted);
        let large = vec![b'x'; 300_000];
        let mut writer = socket.try_clone().unwrap();
        let sender = std::thread::spawn(move || {
            writer.write_all(&large).unwrap();
            writer.write_all(b"!").unwrap();
        });
        let rest = read_to_end(&mut socket);
        sender.join().unwrap();
        assert_eq!(rest.len(), 300_001);
    }
    wait::until("the ends", || ended.load(SeqCst) == 2);
}

#[test]
fn clients_that_leave_panics_and_http_1_0_end_in_order() {
    let ended = Arc::default();
    let server = start(&ended);
    for path in ["/", "/panic", "/panic-at-once"] {
        let mut socket = server.connect();
        socket.write_all(ask(path).as_bytes()).unwrap();
        let mut head = [0; 12];
        socket.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 101");
        drop(socket);
    }
    wait::until("the ends", || {
        ended.load(SeqCst) == 3 && server.handle.connections() == 0
    });
    let old = server.exchange(b"GET / HTTP/1.0\r\nUpgrade: echo\r\n\r\n");
    assert_eq!(status(&old), 500);
}

#[test]
fn the_end_of_the_worker_is_theirs() {
    let ended = Arc::default();
    let server = start(&ended);
    let mut socket = server.connect();
    socket.write_all(ask("/").as_bytes()).unwrap();
    read_response(&mut socket);
    server.stop();
    assert_eq!(ended.load(SeqCst), 1);
    assert_eq!(read_to_end(&mut socket), "");
}

/// Writes until the client takes no more, and counts what is added to that until it ends the connection.
async fn count_unsent(mut socket: Upgraded) -> String {
    let large = vec![b'x'; 1 << 20];
    let is_blocked = poll_fn(|cx| {
        while let Poll::Ready(Ok(_)) = Pin::new(&mut socket).poll_write(cx, &large) {}
        Poll::Ready(socket.poll_writable(cx).is_pending())
    });
    let is_blocked = is_blocked.await;
    let counted_before = socket.unsent_counter().is_some();
    socket.note_unsent(10_000, false);
    let Some(count) = socket.unsent_counter() else {
        return "no counter".to_owned();
    };
    count(1_000_000);
    count(3_000_000);
    // Closed already: it is not closed again.
    count(3_100_000);
    // By TLS an end without a farewell is an error.
    let has_ended = socket.read(&mut [0; 10]).await.map_or(true, |len| len == 0);
    socket.note_unsent(0, false);
    let is_counted = socket.unsent_counter().is_some();
    format!("{is_blocked} {counted_before} {has_ended} {is_counted}")
}

#[test]
fn bytes_are_counted_without_a_turn_while_the_client_takes_none() {
    let limits = Limits {
        unsent_bytes_max: 2_000_000,
        unsent_bytes_per_client_max: 2_000_000,
        ..Limits::default()
    };
    let told = Arc::<Mutex<Vec<String>>>::default();
    let tell = Arc::clone(&told);
    let server = Server::start(limits, move || {
        Rc::new(Function(move |_: &Rc<Request>| {
            let tell = Arc::clone(&tell);
            let take = move |socket| -> sampan_http::LocalFuture<()> {
                Box::pin(async move {
                    let text = count_unsent(socket).await;
                    tell.lock().unwrap().push(text);
                })
            };
            Answer::Upgrade(Box::new(Upgrade::new("count", take).unwrap()))
        }))
    });
    let mut socket = server.connect();
    socket.write_all(ask("/").as_bytes()).unwrap();
    wait::until("the end", || !told.lock().unwrap().is_empty());
    assert_eq!(*told.lock().unwrap(), ["true false true false"]);
    wait::until("all to be forgotten", || {
        server.handle.unsent().bytes() == 0
    });
    assert_eq!(server.handle.unsent().closed(), 1);
}

/// Sends `bye` when it is let go.
async fn until_departure(mut socket: Upgraded) {
    poll_fn(|_| match socket.is_draining() {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
    let _ = socket.write_all(b"bye").await;
    let _ = socket.shutdown().await;
}

#[test]
fn a_crowd_is_let_go_one_after_the_other() {
    const CROWD: usize = 100;
    let limits = Limits {
        // More than half a minute for each.
        drain_millis: 3_600_000,
        ..Limits::default()
    };
    let server = Server::start(limits, || {
        Rc::new(Function(|_: &Rc<Request>| {
            let take =
                |socket| -> sampan_http::LocalFuture<()> { Box::pin(until_departure(socket)) };
            Answer::Upgrade(Box::new(Upgrade::new("until", take).unwrap()))
        }))
    });
    let mut sockets: Vec<_> = (0..CROWD).map(|_| server.connect()).collect();
    for socket in &mut sockets {
        socket.write_all(ask("/").as_bytes()).unwrap();
        let (head, _) = read_response(socket);
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
    }
    assert_eq!(server.handle.connections(), CROWD);
    server.handle.leave();
    wait::until("the first", || server.handle.connections() < CROWD);
    assert!(server.handle.connections() > CROWD / 2);
    // A worker that is asked to stop while it leaves waits for no moment.
    server.stop();
    for socket in &mut sockets {
        assert_eq!(read_to_end(socket), "bye");
    }
}
