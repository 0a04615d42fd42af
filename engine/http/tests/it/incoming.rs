//! Bodies that a handler reads as they come: backpressure, limits and times, and what follows them on the connection.

mod common;

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

use common::*;
use sampan_http::{
    Answer, Body, BodyError, BodyRule, BodyStream, Chunk, Handler, Limits, Observer, ReadError,
    Request, Response, Ticket,
};

/// Does with the body what the path says.
#[derive(Default)]
struct Reader {
    /// Bytes that were read.
    read: Arc<AtomicUsize>,
    /// The last request, kept beyond its end.
    kept: Rc<RefCell<Option<Rc<Request>>>>,
}

fn shown(error: ReadError) -> String {
    match error {
        ReadError::Fault(fault) => format!("{} {}", fault.status, fault.reason),
        ReadError::Over => "over".to_owned(),
    }
}

async fn piece(request: &Request) -> Option<Result<Vec<u8>, ReadError>> {
    poll_fn(|cx| request.poll_body(cx)).await
}

impl Handler for Reader {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let (request, read, kept) = (request.clone(), self.read.clone(), self.kept.clone());
        match request.path() {
            "/now" => return Answer::Now(with_body("now")),
            "/after" => {
                let kept = kept.borrow().clone().expect("a request was kept");
                return Answer::Later(Box::pin(async move {
                    let said = match piece(&kept).await {
                        Some(Err(error)) => shown(error),
                        other => format!("{other:?}"),
                    };
                    Answer::Now(with_body(said))
                }));
            }
            "/keep" => {
                *kept.borrow_mut() = Some(request);
                return Answer::Now(with_body("kept"));
            }
            "/held" => {
                let (ticket, seal) = Ticket::new();
                return Answer::Later(Box::pin(async move {
                    tokio::task::spawn_local(async move {
                        for _ in 0..20 {
                            later().await;
                        }
                        seal.release();
                    });
                    Answer::Held(with_body("held"), ticket)
                }));
            }
            "/echo" | "/headers" => {
                let mut response = Response::new(200);
                response.set_body(Body::Stream(Box::new(Echoed(request))));
                return Answer::Now(response);
            }
            _ => {}
        }
        Answer::Later(Box::pin(async move {
            let mut bytes = 0;
            loop {
                match piece(&request).await {
                    Some(Ok(piece)) => {
                        assert!(!piece.is_empty());
                        bytes += piece.len();
                        read.fetch_add(piece.len(), SeqCst);
                        match request.path() {
                            "/one" => break,
                            "/stuck" => std::future::pending().await,
                            _ => {}
                        }
                    }
                    Some(Err(error)) => {
                        let text = shown(error);
                        let mut response = with_body(text.clone());
                        response.set_status(text[..3].parse().unwrap_or(500));
                        return Answer::Now(response);
                    }
                    None => break,
                }
            }
            Answer::Now(with_body(format!("read {bytes}")))
        }))
    }

    fn body_rule(&self, request: &Request) -> BodyRule {
        BodyRule {
            bytes_max: (request.path() == "/small").then_some(10),
            is_streamed: request.path() != "/whole",
        }
    }
}

/// Answers with what comes.
struct Echoed(Rc<Request>);

impl BodyStream for Echoed {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let piece = self.0.poll_body(cx);
        piece.map(|piece| {
            piece.map(|piece| {
                piece
                    .map(Chunk::from)
                    .map_err(|error| BodyError(shown(error)))
            })
        })
    }
}

fn limits() -> Limits {
    Limits {
        body_bytes_max: 64 << 20,
        shutdown_millis_max: 300,
        ..Limits::default()
    }
}

fn start(limits: Limits) -> (Server, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counter = read.clone();
    let server = Server::start(limits, move || {
        Rc::new(Reader {
            read: counter,
            ..Reader::default()
        })
    });
    (server, read)
}

fn sized(path: &str, bytes: usize) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {bytes}\r\n\r\n").into_bytes()
}

const CHUNKED: &str = " HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn requests_behind_a_body_are_answered_in_every_split() {
    let (server, _) = start(limits());
    let all = format!(
        "POST /count{CHUNKED}5\r\nhello\r\n3\r\n me\r\n0\r\nX-Sum: 1\r\n\r\n\
         POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nfour\
         GET /held HTTP/1.1\r\nHost: h\r\n\r\n\
         POST /whole HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab\
         GET /count HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    );
    for split in (0..all.len()).step_by(7) {
        let mut socket = server.connect();
        socket.write_all(&all.as_bytes()[..split]).unwrap();
        if split % 3 == 0 {
            some_turns(&server);
        }
        socket.write_all(&all.as_bytes()[split..]).unwrap();
        let bodies: Vec<String> = (0..5).map(|_| read_response(&mut socket).1).collect();
        assert_eq!(bodies, ["read 8", "read 4", "held", "read 0", "read 0"]);
        assert_eq!(socket.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn nothing_is_received_while_nobody_reads() {
    let (server, read) = start(limits());
    let mut socket = server.connect();
    socket.write_all(&sized("/stuck", 40 << 20)).unwrap();
    socket
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut sent = 0;
    while let Ok(len) = socket.write(&[b'x'; 64 * 1024]) {
        sent += len;
    }
    // What the system keeps on the way, and no more.
    assert!(sent < 20 << 20, "{sent} bytes were taken");
    assert!(read.load(SeqCst) <= 64 * 1024, "{}", read.load(SeqCst));
}

#[test]
fn limits_hold_before_and_while_it_is_read() {
    let (server, read) = start(limits());
    let refused = server.exchange(&sized("/small", 11));
    assert_eq!(status(&refused), 413);
    assert!(refused.contains("\r\nConnection: close\r\n"), "{refused}");
    assert_eq!(read.load(SeqCst), 0);
    // Chunked: the reader is told at the chunk that is too much.
    let mut socket = server.connect();
    let head = format!("POST /small{CHUNKED}5\r\nhello\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    wait::until("reading", || read.load(SeqCst) == 5);
    socket.write_all(b"6\r\nworld!\r\n0\r\n\r\n").unwrap();
    let (head, body) = read_response(&mut socket);
    assert_eq!((status(&head), &body[..]), (413, "413 body too large"));
    assert!(head.contains("\r\nConnection: close\r\n"), "{head}");
    // Bad framing, at once and later.
    let at_once = server.exchange(format!("POST /count{CHUNKED}x").as_bytes());
    assert_eq!(status(&at_once), 400);
    let mut socket = server.connect();
    let head = format!("POST /count{CHUNKED}5\r\nhello\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    wait::until("reading", || read.load(SeqCst) == 10);
    socket.write_all(b"-1\r\n").unwrap();
    let (head, body) = read_response(&mut socket);
    assert_eq!((status(&head), &body[..]), (400, "400 bad chunk size"));
    assert_eq!(socket.read(&mut [0]).unwrap(), 0);
}

#[test]
fn continue_is_said_when_it_is_read() {
    let (server, _) = start(limits());
    let expecting = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        )
    };
    let mut socket = server.connect();
    socket.write_all(expecting("/count").as_bytes()).unwrap();
    let mut interim = [0; 25];
    socket.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(b"hello").unwrap();
    assert_eq!(read_response(&mut socket).1, "read 5");
    // Who does not read does not ask for it.
    socket.write_all(expecting("/now").as_bytes()).unwrap();
    let (head, body) = read_response(&mut socket);
    assert_eq!((status(&head), &body[..]), (200, "now"));
    assert!(head.contains("\r\nConnection: close\r\n"), "{head}");
}

#[test]
fn what_is_left_unread_ends_the_connection_after_the_answer() {
    let (server, _) = start(limits());
    for path in ["/now", "/one", "/held"] {
        let mut socket = server.connect();
        socket.write_all(&sized(path, 4 << 20)).unwrap();
        // The client sends all of it before it reads.
        socket.write_all(&vec![b'x'; 4 << 20]).unwrap();
        let (head, body) = read_response(&mut socket);
        assert_eq!(status(&head), 200, "{path}");
        assert!(head.contains("\r\nConnection: close\r\n"), "{head}");
        assert!(!body.is_empty());
        assert_eq!(socket.read(&mut [0]).unwrap(), 0);
    }
    // One that came with the head is not a reason to end it.
    let mut socket = server.connect();
    for _ in 0..2 {
        let mut small = sized("/now", 5);
        small.extend_from_slice(b"hello");
        socket.write_all(&small).unwrap();
        let (head, _) = read_response(&mut socket);
        assert!(!head.contains("Connection: close"), "{head}");
    }
}

#[test]
fn an_answer_may_begin_before_the_end_of_the_body() {
    let (server, _) = start(limits());
    let mut socket = server.connect();
    for _ in 0..2 {
        socket.write_all(&sized("/echo", 10)).unwrap();
        socket.write_all(b"hello").unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"5\r\nhello\r\n") {
            let mut byte = [0];
            assert_eq!(socket.read(&mut byte).unwrap(), 1);
            head.push(byte[0]);
        }
        socket.write_all(b"world").unwrap();
        let mut rest = [0; 15];
        socket.read_exact(&mut rest).unwrap();
        assert_eq!(&rest, b"5\r\nworld\r\n0\r\n\r\n");
    }
    // HEAD has no stream, so its body is left unread.
    let request = b"HEAD /headers HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhello";
    assert_eq!(status(&server.exchange(request)), 200);
    // A body that fails cuts the answer.
    socket.write_all(&sized("/echo", 10)).unwrap();
    socket.write_all(b"hello").unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let cut = read_to_end(&mut socket);
    assert!(cut.ends_with("5\r\nhello\r\n"), "{cut}");
}

#[test]
fn a_client_that_leaves_fails_the_read() {
    let (server, read) = start(limits());
    for half_closed in [true, false] {
        let before = read.load(SeqCst);
        let mut socket = server.connect();
        socket.write_all(&sized("/count", 10)).unwrap();
        socket.write_all(b"hello").unwrap();
        wait::until("reading", || read.load(SeqCst) == before + 5);
        if half_closed {
            socket.shutdown(std::net::Shutdown::Write).unwrap();
            let (head, body) = read_response(&mut socket);
            assert_eq!(status(&head), 400);
            assert!(body.contains("the client left"), "{body}");
        } else {
            drop(socket);
        }
        wait::until("the end", || server.handle.connections() == 0);
    }
}

#[test]
fn the_time_for_bytes_is_not_that_of_the_handler() {
    // The pieces take longer than the handler may. Each has far more time than a busy machine takes from the client.
    let patient = Limits {
        body_idle_millis_max: 20_000,
        handler_millis_max: 200,
        ..limits()
    };
    let (server, _) = start(patient);
    let mut socket = server.connect();
    socket.write_all(&sized("/count", 12 * 1100)).unwrap();
    for _ in 0..12 {
        wait::dawdle(Duration::from_millis(30));
        socket.write_all(&[b'x'; 1100]).unwrap();
    }
    assert_eq!(read_response(&mut socket).1, "read 13200");
    let limits = Limits {
        body_idle_millis_max: 250,
        handler_millis_max: 200,
        ..limits()
    };
    let (server, _) = start(limits);
    // One byte now and then is not progress.
    let mut socket = server.connect();
    socket.write_all(&sized("/count", 1000)).unwrap();
    let mut answer = [0; 12];
    socket
        .set_read_timeout(Some(Duration::from_millis(40)))
        .unwrap();
    wait::until("an answer", || {
        let _ = socket.write_all(b"x");
        socket.read_exact(&mut answer).is_ok()
    });
    assert_eq!(&answer, b"HTTP/1.1 408");
    // A handler that waits for something else has its own time.
    let mut socket = server.connect();
    socket.write_all(&sized("/stuck", 100)).unwrap();
    socket.write_all(b"hello").unwrap();
    assert_eq!(status(&read_response(&mut socket).0), 504);
}

#[test]
fn a_request_that_is_over_gives_nothing() {
    let (server, _) = start(limits());
    let mut keeper = server.connect();
    keeper.write_all(&sized("/keep", 100)).unwrap();
    keeper.write_all(b"hello").unwrap();
    assert_eq!(read_response(&mut keeper).1, "kept");
    let mut other = server.connect();
    other.write_all(&get("/after")).unwrap();
    assert_eq!(read_response(&mut other).1, "over");
}

#[test]
fn memory_stays_flat_over_large_bodies() {
    if !common::is_alone(module_path!(), "memory_stays_flat_over_large_bodies") {
        return;
    }
    let (server, read) = start(Limits {
        body_bytes_max: 1 << 30,
        ..Limits::default()
    });
    let part = vec![b'x'; 1 << 20];
    let mut socket = server.connect();
    let mut most = 0;
    let before = rss_kib("self");
    socket.write_all(&sized("/count", 200 << 20)).unwrap();
    for _ in 0..200 {
        socket.write_all(&part).unwrap();
        most = most.max(rss_kib("self"));
    }
    assert_eq!(read_response(&mut socket).1, format!("read {}", 200 << 20));
    assert_eq!(read.load(SeqCst), 200 << 20);
    assert!(most < before + 8 * 1024, "{before} KiB became {most} KiB");
}
