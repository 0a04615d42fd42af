//! Time and size limits: who is slow is ended at the limit, and only they.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

use common::*;
use sampan_http::{
    Answer, Body, BodyError, BodyStream, Chunk, Handler, Limits, Observer, Request, Response,
};

/// Limits of time that tests can wait for.
fn short() -> Limits {
    Limits {
        head_millis_max: 300,
        body_idle_millis_max: 300,
        write_idle_millis_max: 300,
        idle_millis_max: 300,
        stream_idle_millis_max: 300,
        linger_millis_max: 300,
        ..Limits::default()
    }
}

/// A limit for clients that are slow but make progress: far more than a busy machine takes from them between two steps.
const PATIENT_MILLIS: u64 = 2_000;

/// Runs `slow` to its end while another client is served. Both clients give up after 20 seconds; the limits are far
/// shorter.
fn ends_in_time(server: &Server, slow: impl FnOnce(&mut TcpStream) -> String + Send) -> String {
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| slow(&mut server.connect()));
        let mut other = server.connect();
        wait::until("an end", || {
            other.write_all(&get("/other")).unwrap();
            read_response(&mut other);
            slow.is_finished()
        });
        slow.join().unwrap()
    })
}

/// Sends a byte every 20 ms until the other side has had enough.
fn drip(socket: &mut TcpStream, bytes: &[u8]) {
    socket
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    for byte in bytes {
        if socket.write_all(&[*byte]).is_err()
            || !matches!(socket.peek(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
        {
            break;
        }
    }
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
}

#[test]
fn silent_and_slow_senders() {
    let calls = Arc::new(AtomicUsize::new(0));
    let server = Server::start(short(), echo(&calls));
    assert_eq!(ends_in_time(&server, read_to_end), "");
    let idle = ends_in_time(&server, |socket| {
        socket.write_all(&get("/")).unwrap();
        read_to_end(socket)
    });
    assert!(
        idle.ends_with("GET / "),
        "closed silently after the answer: {idle}"
    );
    let head = ends_in_time(&server, |socket| {
        socket.write_all(b"GET / HTTP/1.1\r\nHost").unwrap();
        read_to_end(socket)
    });
    assert_eq!(status(&head), 408);
    let head = ends_in_time(&server, |socket| {
        drip(socket, &get(&format!("/{}", "a".repeat(200))));
        read_to_end(socket)
    });
    assert_eq!(status(&head), 408);
    let body = ends_in_time(&server, |socket| {
        socket
            .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel")
            .unwrap();
        read_to_end(socket)
    });
    assert_eq!(status(&body), 408);
    let body = ends_in_time(&server, |socket| {
        socket
            .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\n")
            .unwrap();
        drip(socket, &[b'x'; 500]);
        read_to_end(socket)
    });
    assert_eq!(status(&body), 408);
    wait::until("closing", || server.handle.connections() == 0);
}

#[test]
fn a_body_that_comes_slowly_but_comes() {
    let server = Server::start(
        Limits {
            progress_bytes_min: 64,
            body_idle_millis_max: PATIENT_MILLIS,
            ..short()
        },
        echo(&Arc::default()),
    );
    let mut socket = server.connect();
    socket
        .write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n")
        .unwrap();
    for _ in 0..10 {
        wait::dawdle(Duration::from_millis(PATIENT_MILLIS / 8));
        socket.write_all(&[b'x'; 100]).unwrap();
    }
    assert_eq!(read_response(&mut socket).1.len(), "POST / ".len() + 1000);
}

/// 40 MB for each request; counts the calls.
struct Large {
    calls: Arc<AtomicUsize>,
    body: Arc<[u8]>,
}

fn large(calls: &Arc<AtomicUsize>) -> impl FnOnce() -> Rc<Large> + Send + 'static + use<> {
    let calls = calls.clone();
    move || {
        Rc::new(Large {
            calls,
            body: vec![b'x'; 40_000_000].into(),
        })
    }
}

impl Handler for Large {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let mut response = Response::new(200);
        match request.path() {
            "/other" => return Answer::Now(response),
            "/piece" => *response.body_mut() = vec![b'p'; 10_000],
            _ => response.set_body(Body::Shared(self.body.clone())),
        }
        self.calls.fetch_add(1, SeqCst);
        Answer::Now(response)
    }
}

/// A connection that has asked for something small: when it has been answered, the server is ready.
fn warm(server: &Server) -> TcpStream {
    let mut socket = server.connect();
    socket.write_all(&get("/other")).unwrap();
    socket
}

#[test]
fn a_client_that_does_not_read() {
    let calls = Arc::new(AtomicUsize::new(0));
    let server = Server::start(short(), large(&calls));
    read_response(&mut warm(&server));
    let got = ends_in_time(&server, |socket| {
        let before = calls.load(SeqCst);
        socket.write_all(&get("/large")).unwrap();
        wait::until("asking", || calls.load(SeqCst) > before);
        wait::until("giving up", || server.handle.connections() == 1);
        String::new()
    });
    assert_eq!(got, "");
    // One that reads slowly, but reads, gets everything.
    let limits = Limits {
        write_idle_millis_max: PATIENT_MILLIS,
        ..short()
    };
    let server = Server::start(limits, large(&calls));
    let mut socket = server.connect();
    socket.write_all(&get("/large")).unwrap();
    let (mut total, mut reads, mut part) = (0, 0, vec![0; 1_000_000]);
    while total < 40_000_000 {
        total += socket.read(&mut part).unwrap();
        reads += 1;
        if reads < 20 {
            wait::dawdle(Duration::from_millis(PATIENT_MILLIS / 16));
        }
    }
}

#[test]
fn output_that_waits_stops_the_requests_behind_it() {
    let calls = Arc::new(AtomicUsize::new(0));
    let server = Server::start(
        Limits {
            out_bytes_max: 50_000,
            write_idle_millis_max: 20_000,
            ..Limits::default()
        },
        large(&calls),
    );
    let mut socket = warm(&server);
    read_response(&mut socket);
    const REQUESTS: usize = 5_000;
    let mut writer = socket.try_clone().unwrap();
    let sender =
        std::thread::spawn(move || writer.write_all(&get("/piece").repeat(REQUESTS)).unwrap());
    wait::until("asking", || calls.load(SeqCst) > 0);
    let handled = wait::settled("what is handled", || calls.load(SeqCst));
    // What fits into the two socket buffers is handled, the rest is not.
    assert!(
        handled < REQUESTS / 2,
        "{handled} of {REQUESTS} were handled for a client that reads nothing"
    );
    for _ in 0..REQUESTS {
        assert_eq!(read_response(&mut socket).1.len(), 10_000);
    }
    sender.join().unwrap();
}

#[test]
fn reading_ahead_of_a_late_answer_is_limited() {
    let is_sent = Arc::new(AtomicUsize::new(0));
    let gate = is_sent.clone();
    let server = Server::start(
        Limits {
            pipeline_bytes_max: 10_000,
            ..Limits::default()
        },
        move || {
            Rc::new(Function(move |_: &Rc<Request>| {
                let gate = gate.clone();
                Answer::Later(Box::pin(async move {
                    wait::until_async("the client", || gate.load(SeqCst) == 1).await;
                    Answer::Now(with_body("late"))
                }))
            }))
        },
    );
    let mut socket = server.connect();
    socket.write_all(&get("/")).unwrap();
    socket.set_nonblocking(true).unwrap();
    let mut sent = 0;
    let sent = wait::settled("what is taken", || {
        while let Ok(len) = socket.write(&[b'x'; 65_536]) {
            sent += len;
        }
        sent
    });
    // The socket buffers of the system take a few megabytes; a server that read on would take gigabytes.
    assert!(
        sent < 20_000_000,
        "{sent} bytes were taken while a request was being answered"
    );
    socket.set_nonblocking(false).unwrap();
    is_sent.store(1, SeqCst);
    assert_eq!(read_response(&mut socket).1, "late");
}

/// Gives pieces of 64 KiB for ever, and counts them.
struct Endless(Arc<AtomicUsize>);

impl BodyStream for Endless {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        self.0.fetch_add(1, SeqCst);
        Poll::Ready(Some(Ok(vec![b'x'; 65_536].into())))
    }
}

#[test]
fn a_stream_waits_for_its_reader() {
    let chunks = Arc::new(AtomicUsize::new(0));
    let counter = chunks.clone();
    let server = Server::start(Limits::default(), move || {
        Rc::new(Function(move |_: &Rc<Request>| {
            let mut response = Response::new(200);
            response.set_body(Body::Stream(Box::new(Endless(counter.clone()))));
            Answer::Now(response)
        }))
    });
    let mut socket = server.connect();
    socket.write_all(&get("/")).unwrap();
    wait::until("starting", || chunks.load(SeqCst) > 0);
    let made = wait::settled("the chunks", || chunks.load(SeqCst));
    // What the socket buffers and `out_bytes_max` take, some 10 MB.
    assert!(made < 500, "{made} chunks for a client that reads nothing");
    // Other clients are served while a stream goes as fast as its reader takes it.
    let mut reader = socket.try_clone().unwrap();
    let reading = std::thread::spawn(move || {
        let mut part = vec![0; 1 << 20];
        (0..2_000)
            .map(|_| reader.read(&mut part).unwrap())
            .sum::<usize>()
    });
    while !reading.is_finished() {
        let mut other = server.connect();
        other
            .write_all(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        read_response(&mut other);
    }
    assert!(reading.join().unwrap() > 10_000_000);
}

/// Gives one piece and then nothing.
struct Stuck(bool);

impl BodyStream for Stuck {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Pending
        } else {
            Poll::Ready(Some(Ok(b"piece".to_vec().into())))
        }
    }
}

#[test]
fn a_stream_that_stops() {
    let server = Server::start(short(), || {
        Rc::new(Function(|request: &Rc<Request>| {
            let mut response = Response::new(200);
            if request.path() != "/other" {
                response.set_body(Body::Stream(Box::new(Stuck(false))));
            }
            Answer::Now(response)
        }))
    });
    let cut = ends_in_time(&server, |socket| {
        socket.write_all(&get("/")).unwrap();
        read_to_end(socket)
    });
    assert!(cut.ends_with("\r\n\r\n5\r\npiece\r\n"), "{cut}");
    // A client that goes away ends it at once.
    let mut socket = server.connect();
    socket.write_all(&get("/")).unwrap();
    socket.read_exact(&mut [0; 10]).unwrap();
    drop(socket);
    wait::until("closing", || server.handle.connections() == 0);
}
