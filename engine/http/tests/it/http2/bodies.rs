//! Bodies over HTTP/2: uploads, streams, files, and the flow control of both directions.

use std::fs::File;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};

use super::common::http2::{Client, get, post};
use super::common::*;
use bytes::Bytes;
use h2::Reason;
use sampan_http::{
    Answer, Body, BodyError, BodyRule, BodyStream, Chunk, FilePart, Handler, Limits, Observer,
    Request, Response,
};

/// Answers uploads with their bodies, `/length` with the number of bytes: `/stream...` reads as it comes.
struct Uploads {
    read: Arc<AtomicUsize>,
}

impl Handler for Uploads {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        if request.path() == "/length" {
            return Answer::Now(with_body(request.body().len().to_string()));
        }
        if !request.is_streamed() {
            return Answer::Now(with_body(request.body()));
        }
        if request.path() == "/stream/unread" {
            return Answer::Now(with_body("unread"));
        }
        let (request, read) = (Rc::clone(request), Arc::clone(&self.read));
        if request.path() == "/stream/echo" {
            let mut response = Response::new(200);
            response.set_body(Body::Stream(Box::new(EchoStream(request))));
            return Answer::Now(response);
        }
        Answer::Later(Box::pin(async move {
            let mut bytes = 0;
            loop {
                match std::future::poll_fn(|cx| request.poll_body(cx)).await {
                    None => return Answer::Now(with_body(format!("{bytes} bytes"))),
                    Some(Ok(piece)) => {
                        bytes += piece.len();
                        read.fetch_add(piece.len(), SeqCst);
                    }
                    Some(Err(error)) => return Answer::Now(with_body(format!("{error:?}"))),
                }
                if request.path() == "/stream/stop" {
                    std::future::pending::<()>().await;
                }
            }
        }))
    }

    fn body_rule(&self, request: &Request) -> BodyRule {
        BodyRule {
            bytes_max: (request.path() == "/small").then_some(10),
            is_streamed: request.path().starts_with("/stream"),
        }
    }
}

/// The body of a request as the body of its answer.
struct EchoStream(Rc<Request>);

impl BodyStream for EchoStream {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        self.0.poll_body(cx).map(|piece| match piece {
            None => None,
            Some(Ok(piece)) => Some(Ok(Chunk::from(piece))),
            Some(Err(error)) => Some(Err(BodyError(format!("{error:?}")))),
        })
    }
}

fn uploads(limits: Limits) -> (Server, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&read);
    let server = Server::start(limits, move || Rc::new(Uploads { read: counter }));
    (server, read)
}

#[test]
fn bodies_reach_their_handlers() {
    let (server, _) = uploads(Limits::default());
    let mut client = Client::new(&server);
    assert_eq!(client.post("/", b"hello").text(), "hello");
    assert_eq!(client.post("/", b"").text(), "");
    let large: Vec<u8> = (0..900_000u32).map(|at| at as u8).collect();
    assert!(client.post("/", &large).body == large);
    assert_eq!(client.post("/stream", &large).text(), "900000 bytes");
    assert!(client.post("/stream/echo", &large).body == large);
    assert_eq!(client.post("/stream/unread", &large).text(), "unread");
    assert_eq!(client.post("/", b"on").text(), "on");
}

#[test]
fn a_body_without_room_is_refused() {
    let limits = Limits {
        received_bytes_max: 300_000,
        received_bytes_per_client_max: 300_000,
        ..Limits::default()
    };
    let (server, _) = uploads(limits);
    let mut client = Client::new(&server);
    assert_eq!(client.post("/length", &[b'a'; 200_000]).text(), "200000");
    let refused = client.post("/length", &[b'a'; 900_000]);
    assert_eq!(refused.status, 503);
    assert_eq!(client.post("/length", &[b'a'; 200_000]).text(), "200000");
    assert_eq!(client.post("/length", &[b'a'; 60_000]).text(), "60000");
}

#[test]
fn small_bodies_of_one_connection_count_together() {
    let limits = Limits {
        received_bytes_max: 200_000,
        received_bytes_per_client_max: 200_000,
        ..Limits::default()
    };
    let (server, _) = uploads(limits);
    let mut client = Client::new(&server);
    let mut open = Vec::new();
    for _ in 0..20 {
        let request = http::Request::post("https://h/length").header("content-length", 50_000);
        let (response, mut stream) = client.send(request.body(()).unwrap(), false);
        // Without its end the body stays in memory.
        stream.send_data(vec![b'a'; 40_000].into(), false).unwrap();
        open.push((response, stream));
    }
    let (response, _) = open.pop().unwrap();
    assert_eq!(client.read(response).status, 503);
    drop(open);
    wait::until("room again", || {
        client.post("/length", &[b'a'; 60_000]).text() == "60000"
    });
}

#[test]
fn bodies_are_held_to_their_limits() {
    let limits = Limits {
        body_bytes_max: 1000,
        ..Limits::default()
    };
    let (server, _) = uploads(limits);
    let mut client = Client::new(&server);
    assert_eq!(client.post("/", &[b'a'; 1000]).status, 200);
    assert_eq!(client.post("/", &[b'a'; 1001]).status, 413);
    assert_eq!(client.post("/small", &[b'a'; 11]).status, 413);
    let told = client.post("/stream", &[b'a'; 1001]);
    assert!(told.text().contains("status: 413"), "{}", told.text());
    let announced = http::Request::post("https://h/").header("content-length", 1001);
    let (response, _stream) = client.send(announced.body(()).unwrap(), false);
    assert_eq!(client.read(response).status, 413);
    assert_eq!(client.post("/", b"fine").text(), "fine");
}

#[test]
fn lengths_that_lie_are_refused() {
    let (server, _) = uploads(Limits::default());
    let mut client = Client::new(&server);
    for (length, sent) in [(5, 4), (5, 6), (0, 1)] {
        let request = http::Request::post("https://h/").header("content-length", length);
        let (response, mut stream) = client.send(request.body(()).unwrap(), false);
        stream.send_data(vec![b'a'; sent].into(), true).unwrap();
        let error = client.try_read(response).unwrap_err();
        assert_eq!(error.reason(), Some(Reason::PROTOCOL_ERROR), "{length}");
    }
    assert_eq!(server.handle.requests(), 0);
    assert_eq!(client.post("/", b"fine").text(), "fine");
}

#[test]
fn a_body_that_does_not_come_is_answered_408() {
    let limits = Limits {
        body_idle_millis_max: 150,
        ..Limits::default()
    };
    let (server, _) = uploads(limits);
    let mut client = Client::new(&server);
    let (response, mut stream) = client.send(post("/"), false);
    stream
        .send_data(Bytes::from_static(b"part"), false)
        .unwrap();
    assert_eq!(client.read(response).status, 408);
    let (response, _stream) = client.send(post("/stream"), false);
    let told = client.read(response);
    assert!(told.text().contains("status: 408"), "{}", told.text());
    assert_eq!(client.post("/", b"fine").text(), "fine");
}

#[test]
fn a_reader_that_stops_stops_its_client() {
    let (server, read) = uploads(Limits::default());
    let mut client = Client::new(&server);
    let (_response, mut stream) = client.send(post("/stream/stop"), false);
    let sent = client.wait(async {
        let mut sent = 0;
        loop {
            stream.reserve_capacity(16 * 1024);
            let more = std::future::poll_fn(|cx| stream.poll_capacity(cx));
            let time = std::time::Duration::from_millis(300);
            match tokio::time::timeout(time, more).await {
                Ok(Some(Ok(capacity))) => {
                    stream.send_data(vec![0; capacity].into(), false).unwrap();
                    sent += capacity;
                }
                _ => return sent,
            }
        }
    });
    let window = Limits::default().window_bytes_max;
    assert!(sent >= window && sent <= window + 128 * 1024, "{sent}");
    assert!(read.load(SeqCst) > 0);
    // Others go on.
    assert_eq!(client.post("/", b"fine").text(), "fine");
}

/// Sends what the windows allow of bodies, but for the last `kept` bytes of each. Returns how much that is.
fn send_all_allowed(
    client: &mut Client,
    bodies: &mut [(h2::SendStream<Bytes>, usize)],
    kept: usize,
) -> usize {
    let mut sent = 0;
    let mut quiet_rounds = 0;
    while quiet_rounds < 2 {
        quiet_rounds += 1;
        for (stream, left) in bodies.iter_mut().filter(|(_, left)| *left > kept) {
            stream.reserve_capacity((*left - kept).min(16 * 1024));
            let len = stream.capacity().min(*left - kept);
            if len > 0 {
                *left -= len;
                stream
                    .send_data(vec![b'a'; len].into(), *left == 0)
                    .unwrap();
                sent += len;
                quiet_rounds = 0;
            }
        }
        // The server has seen all of it by the second answer, and its new windows have come.
        client.get("/");
    }
    sent
}

#[test]
fn bodies_of_a_connection_are_bounded_together() {
    const STREAMS: usize = 30;
    let limits = Limits {
        body_bytes_max: 300_000,
        window_bytes_max: 16 * 1024,
        collected_bytes_max: 600_000,
        ..Limits::default()
    };
    let body = limits.body_bytes_max;
    let sent_max = limits.collected_bytes_max + body + STREAMS * limits.window_bytes_max;
    let (server, _) = uploads(limits);
    let mut client = Client::new(&server);
    let requests = (0..STREAMS).map(|_| client.send(post("/length"), false));
    let (responses, bodies): (Vec<_>, Vec<_>) = requests.unzip();
    let mut bodies: Vec<_> = bodies.into_iter().map(|stream| (stream, body)).collect();
    let mut sent = 0;
    // On a busy machine the windows of a stream come late.
    wait::until("all that may be collected", || {
        sent += send_all_allowed(&mut client, &mut bodies, 1);
        sent > 600_000
    });
    assert!(sent <= sent_max, "{sent} of {sent_max}");
    // Each in its turn is answered nevertheless.
    while send_all_allowed(&mut client, &mut bodies, 0) > 0 {}
    for response in responses {
        assert_eq!(client.read(response).text(), body.to_string());
    }
}

#[test]
fn the_body_is_asked_for() {
    let (server, _) = uploads(Limits::default());
    let mut client = Client::new(&server);
    for (path, answer) in [("/", "hello"), ("/stream", "5 bytes")] {
        let request = http::Request::post(format!("https://h{path}"));
        let request = request.header("expect", "100-continue");
        let (mut response, mut stream) = client.send(request.body(()).unwrap(), false);
        let interim = client.wait(std::future::poll_fn(|cx| response.poll_informational(cx)));
        assert_eq!(interim.unwrap().unwrap().status().as_u16(), 100);
        stream
            .send_data(Bytes::from_static(b"hello"), true)
            .unwrap();
        assert_eq!(client.read(response).text(), answer);
    }
}

/// Counts the pieces that it is asked for: of 16 KiB each, `left` of them, then perhaps an error.
struct Counting {
    asked: Arc<AtomicUsize>,
    left: usize,
    fails: bool,
}

impl BodyStream for Counting {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        if self.left == 0 {
            let error = BodyError("it fails".to_owned());
            return Poll::Ready(self.fails.then_some(Err(error)));
        }
        self.left -= 1;
        self.asked.fetch_add(1, SeqCst);
        Poll::Ready(Some(Ok(Chunk::from(vec![b'x'; 16 * 1024]))))
    }
}

/// A stream that never has anything.
struct Silent;

impl BodyStream for Silent {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        Poll::Pending
    }
}

fn downloads(limits: Limits) -> (Server, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let server = Server::start(limits, move || {
        let shared: Arc<[u8]> = (0..3_000_000u32).map(|at| at as u8).collect();
        let file = tempfile::tempfile().unwrap();
        (&file).write_all(&shared).unwrap();
        let file: Arc<File> = Arc::new(file);
        Rc::new(Function(move |request: &Rc<Request>| {
            let count = |left: usize, fails: bool| {
                let asked = Arc::clone(&counter);
                Body::Stream(Box::new(Counting { asked, left, fails }))
            };
            let part = |start: u64, len: u64| {
                let file = Arc::clone(&file);
                Body::File(FilePart { file, start, len })
            };
            let mut response = Response::new(200);
            response.set_body(match request.path() {
                "/stream" => count(100, false),
                "/endless" => count(usize::MAX, false),
                "/fails" => count(1, true),
                "/fails-at-once" => count(0, true),
                "/silent" => Body::Stream(Box::new(Silent)),
                "/shared" => Body::Shared(Arc::clone(&shared)),
                "/lent" => Body::Lent(Box::new(shared.to_vec())),
                "/file" => part(1000, 2_000_000),
                "/short" => part(2_900_000, 200_000),
                _ => Body::Bytes(b"fine".to_vec()),
            });
            Answer::Now(response)
        }))
    });
    (server, asked)
}

#[test]
fn answers_of_any_size_and_kind() {
    let (server, asked) = downloads(Limits::default());
    let mut client = Client::new(&server);
    let expected: Vec<u8> = (0..3_000_000u32).map(|at| at as u8).collect();
    assert_eq!(client.get("/stream").body.len(), 100 * 16 * 1024);
    assert_eq!(asked.load(SeqCst), 100);
    assert!(client.get("/shared").body == expected);
    assert!(client.get("/lent").body == expected);
    let file = client.get("/file");
    assert_eq!(file.fields["content-length"], "2000000");
    assert!(file.body == expected[1000..2_001_000]);
    for path in ["/short", "/fails"] {
        let response = client.begin(get(path));
        let error = client.try_read(response).unwrap_err();
        assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR), "{path}");
    }
    assert_eq!(client.get("/").text(), "fine");
}

#[test]
fn a_stream_that_fails_is_reset_behind_what_it_gave() {
    let (server, _) = downloads(Limits::default());
    let mut client = Client::new(&server);
    for (path, bytes) in [("/fails", 16 * 1024), ("/fails-at-once", 0)] {
        let (response, _) = client.send(get(path), true);
        let (status, received, error) = client.wait(async {
            let response = response.await.unwrap();
            let status = response.status();
            let mut stream = response.into_body();
            let mut received = 0;
            loop {
                match stream.data().await {
                    Some(Ok(data)) => received += data.len(),
                    Some(Err(error)) => break (status, received, error),
                    None => panic!("{path} is whole"),
                }
            }
        });
        assert_eq!((status.as_u16(), received), (200, bytes), "{path}");
        assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR), "{path}");
    }
    assert_eq!(client.get("/").text(), "fine");
}

#[test]
fn a_client_that_does_not_read_stops_its_stream() {
    let (server, asked) = downloads(Limits::default());
    let mut builder = h2::client::Builder::new();
    builder.initial_connection_window_size(1 << 20);
    let mut client = Client::with(&server, &mut builder);
    let (response, _) = client.send(get("/endless"), true);
    let head = client.wait(response).unwrap();
    client.get("/");
    // The window is 64 KiB, and as much waits.
    assert!(asked.load(SeqCst) <= 12, "{}", asked.load(SeqCst));
    drop(head);
    assert_eq!(client.get("/").text(), "fine");
}

#[test]
fn a_window_of_zero_has_its_time() {
    let limits = Limits {
        write_idle_millis_max: 200,
        ..Limits::default()
    };
    let (server, _) = downloads(limits);
    let mut builder = h2::client::Builder::new();
    builder.initial_window_size(0);
    let mut client = Client::with(&server, &mut builder);
    for path in ["/", "/shared", "/file", "/endless", "/fails"] {
        let (response, _) = client.send(get(path), true);
        let answered = client.wait(async {
            let mut stream = response.await?.into_body();
            // Nothing comes, and nothing is released.
            match stream.data().await {
                Some(Err(error)) => Err(error),
                other => panic!("{other:?}"),
            }
        });
        let error: h2::Error = match answered {
            Err(error) => error,
            Ok(()) => unreachable!(),
        };
        assert_eq!(error.reason(), Some(Reason::CANCEL), "{path}");
    }
}

#[test]
fn a_silent_stream_is_cut() {
    let limits = Limits {
        stream_idle_millis_max: 150,
        ..Limits::default()
    };
    let (server, _) = downloads(limits);
    let mut client = Client::new(&server);
    let response = client.begin(get("/silent"));
    let error = client.try_read(response).unwrap_err();
    assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR));
    assert_eq!(client.get("/").text(), "fine");
}
