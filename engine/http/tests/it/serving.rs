//! Ordinary use: keep-alive, pipelining, HEAD, bodies, streams, versions.

mod common;

use std::cell::Cell;
use std::io::{Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll};

use common::*;
use sampan_http::{
    Answer, Body, BodyError, BodyStream, Chunk, Limits, Precomputed, Response, WorkerMoment,
};

#[test]
fn keep_alive_pipelining_and_close() {
    let calls = Arc::new(AtomicUsize::new(0));
    let server = Server::start(Limits::default(), echo(&calls));
    let mut socket = server.connect();
    for path in ["/a", "/b"] {
        socket.write_all(&get(path)).unwrap();
        let (head, body) = read_response(&mut socket);
        assert!(
            head.starts_with("HTTP/1.1 200 OK\r\nDate: ") && !head.contains("Connection"),
            "{head}"
        );
        assert_eq!(body, format!("GET {path} "));
    }
    // Many at once, in several writes that end anywhere, and in the order of the requests.
    let mut batch = Vec::new();
    for number in 0..500 {
        batch.extend_from_slice(
            format!("POST /{number} HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
                .as_bytes(),
        );
    }
    let mut writer = socket.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        batch
            .chunks(777)
            .for_each(|part| writer.write_all(part).unwrap())
    });
    for number in 0..500 {
        assert_eq!(read_response(&mut socket).1, format!("POST /{number} abc"));
    }
    sender.join().unwrap();
    socket.write_all(b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\nGET /never HTTP/1.1\r\nHost: \
     h\r\n\r\n").unwrap();
    let rest = read_to_end(&mut socket);
    assert!(
        rest.contains("\r\nConnection: close\r\n") && rest.ends_with("GET /last "),
        "{rest}"
    );
    assert_eq!(calls.load(std::sync::atomic::Ordering::SeqCst), 503);
    assert_eq!(server.handle.requests(), 503);
}

#[test]
fn ten_thousand_requests_in_one_train_are_answered_in_order() {
    const COUNT: usize = 10_000;
    let calls = Arc::new(AtomicUsize::new(0));
    let server = Server::start(Limits::default(), echo(&calls));
    let mut socket = server.connect();
    let train: Vec<u8> = (0..COUNT).flat_map(|at| get(&format!("/{at}"))).collect();
    let mut writer = socket.try_clone().unwrap();
    // Answers are read meanwhile: a server reads no further than its output is taken.
    let sender = std::thread::spawn(move || writer.write_all(&train).unwrap());
    for at in 0..COUNT {
        assert_eq!(read_response(&mut socket).1, format!("GET /{at} "));
    }
    sender.join().unwrap();
    assert_eq!(calls.load(std::sync::atomic::Ordering::SeqCst), COUNT);
    assert_eq!(server.handle.requests(), COUNT as u64);
}

#[test]
fn http_1_0() {
    let server = Server::start(Limits::default(), echo(&Arc::default()));
    let answer = server.exchange(b"GET /old HTTP/1.0\r\n\r\n");
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n")
            && answer.contains("Connection: close\r\n")
            && answer.ends_with("GET /old ")
    );
    let mut socket = server.connect();
    socket
        .write_all(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        .unwrap();
    assert!(
        read_response(&mut socket)
            .0
            .contains("Connection: keep-alive\r\n")
    );
    socket.write_all(b"GET /b HTTP/1.0\r\n\r\n").unwrap();
    assert!(read_to_end(&mut socket).ends_with("GET /b "));
}

#[test]
fn a_client_that_half_closes_gets_its_answers() {
    let server = Server::start(Limits::default(), echo(&Arc::default()));
    let mut socket = server.connect();
    socket.write_all(&[get("/1"), get("/2")].concat()).unwrap();
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    let all = read_to_end(&mut socket);
    assert!(
        all.contains("GET /1 HTTP/1.1 200 OK") && all.ends_with("GET /2 "),
        "{all}"
    );
}

#[test]
fn head_and_statuses_without_body() {
    let server = Server::start(Limits::default(), || {
        let fixed = Precomputed::new(with_body("fixed body")).unwrap();
        Rc::new(Function(
            move |request: &Rc<sampan_http::Request>| match request.path() {
                "/fixed" => Answer::Precomputed(fixed.clone()),
                "/204" => Answer::Now(Response::new(204)),
                "/304" => {
                    let mut response = with_body("must not be sent");
                    response.set_status(304);
                    Answer::Now(response)
                }
                "/stream" => {
                    let mut response = with_body("");
                    response.set_body(Body::Stream(Box::new(Pieces(vec!["x"; 3], None))));
                    Answer::Now(response)
                }
                _ => Answer::Now(with_body("plain body")),
            },
        ))
    });
    let mut socket = server.connect();
    for (path, length) in [
        ("/plain", Some(10)),
        ("/fixed", Some(10)),
        ("/204", None),
        ("/stream", None),
    ] {
        socket
            .write_all(format!("HEAD {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes())
            .unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let expected = length.map(|length| format!("Content-Length: {length}\r\n"));
        assert_eq!(
            head.contains("Content-Length"),
            expected.is_some(),
            "{head}"
        );
        assert!(expected.is_none_or(|line| head.contains(&line)), "{head}");
    }
    socket
        .write_all(
            b"GET /304 HTTP/1.1\r\nHost: h\r\n\r\nGET /204 HTTP/1.1\r\nHost: h\r\nConnection: \
     close\r\n\r\n",
        )
        .unwrap();
    let rest = read_to_end(&mut socket);
    assert!(
        rest.starts_with("HTTP/1.1 304 Not Modified\r\n") && !rest.contains("must not"),
        "{rest}"
    );
    assert!(
        rest.contains("\r\n\r\nHTTP/1.1 204 No Content\r\n") && rest.ends_with("\r\n\r\n"),
        "{rest}"
    );
}

/// A stream of these pieces, `Pending` before each, then perhaps an error.
struct Pieces(Vec<&'static str>, Option<&'static str>);

impl BodyStream for Pieces {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        thread_local!(static READY: Cell<bool> = const { Cell::new(false) });
        if !READY.replace(!READY.get()) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(match (self.0.pop(), self.1) {
            (Some(piece), _) => Some(Ok(piece.as_bytes().to_vec().into())),
            (None, Some(error)) => Some(Err(BodyError(error.into()))),
            (None, None) => None,
        })
    }
}

/// A stream that nothing wakes: it gives a piece when its time has come, and ends when its worker begins to end.
#[derive(Default)]
struct Timed {
    due: Option<u64>,
    is_due: bool,
    ends_over: Option<u64>,
    is_over: bool,
}

impl BodyStream for Timed {
    fn look(&mut self, worker: WorkerMoment) -> u64 {
        const PAUSE_MILLIS: u64 = 30;
        let now = worker.now_millis;
        self.ends_over = worker.ends_over_millis;
        let due = *self.due.get_or_insert(now + PAUSE_MILLIS);
        self.is_due = due <= now;
        if self.is_due {
            self.due = Some(now + PAUSE_MILLIS);
        }
        self.due.unwrap_or(u64::MAX)
    }

    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let piece = match self.ends_over {
            _ if self.is_over => return Poll::Ready(None),
            Some(millis) => format!("ends over {millis}"),
            None if self.is_due => "tick".to_owned(),
            None => return Poll::Pending,
        };
        self.is_over = self.ends_over.is_some();
        Poll::Ready(Some(Ok(piece.into_bytes().into())))
    }
}

#[test]
fn a_stream_is_polled_when_its_time_has_come_and_when_its_worker_ends() {
    let limits = Limits {
        drain_millis: 123,
        ..Limits::default()
    };
    let server = Server::start(limits, || {
        Rc::new(Function(|_: &Rc<sampan_http::Request>| {
            let mut response = with_body("");
            response.set_body(Body::Stream(Box::new(Timed::default())));
            Answer::Now(response)
        }))
    });
    let mut socket = server.connect();
    socket.write_all(&get("/")).unwrap();
    let (mut got, mut room) = (String::new(), [0; 1000]);
    while got.matches("\r\ntick\r\n").count() < 3 {
        let len = socket.read(&mut room).unwrap();
        assert!(len > 0, "{got}");
        got += std::str::from_utf8(&room[..len]).unwrap();
    }
    server.handle.leave();
    while !got.ends_with("\r\nends over 123\r\n0\r\n\r\n") {
        let len = socket.read(&mut room).unwrap();
        assert!(len > 0, "{got}");
        got += std::str::from_utf8(&room[..len]).unwrap();
    }
    server.stop();
}

#[test]
fn streams_are_chunked_or_end_with_the_connection() {
    let server = Server::start(Limits::default(), || {
        Rc::new(Function(|request: &Rc<sampan_http::Request>| {
            let mut response = with_body("");
            let error = (request.path() == "/broken").then_some("disk");
            response.set_body(Body::Stream(Box::new(Pieces(
                vec!["c", "", "bb", "a"],
                error,
            ))));
            Answer::Now(response)
        }))
    });
    let mut socket = server.connect();
    // The second request waits for the first one's stream.
    socket
        .write_all(
            &[
                get("/"),
                b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".to_vec(),
            ]
            .concat(),
        )
        .unwrap();
    let all = read_to_end(&mut socket);
    let body = "\r\n\r\n1\r\na\r\n2\r\nbb\r\n1\r\nc\r\n0\r\n\r\n";
    assert_eq!(all.matches(body).count(), 2, "{all}");
    assert!(all.contains("Transfer-Encoding: chunked\r\n") && !all.contains("Content-Length"));

    let old = server.exchange(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert!(
        old.ends_with("\r\n\r\nabbc")
            && old.contains("Connection: close")
            && !old.contains("chunked"),
        "{old}"
    );

    let broken = server.exchange(&get("/broken"));
    assert!(
        broken.ends_with("1\r\nc\r\n"),
        "without the last chunk: {broken}"
    );
}

#[test]
fn large_bodies_in_both_directions() {
    let server = Server::start(
        Limits {
            body_bytes_max: 8 << 20,
            ..Limits::default()
        },
        || {
            let shared: Arc<[u8]> = vec![b's'; 3 << 20].into();
            Rc::new(Function(move |request: &Rc<sampan_http::Request>| {
                let mut response = with_body(request.body());
                if request.path() == "/shared" {
                    response.set_body(Body::Shared(shared.clone()));
                }
                Answer::Now(response)
            }))
        },
    );
    let mut socket = server.connect();
    let body: Vec<u8> = (0..5_000_000u32)
        .map(|number| b'a' + (number % 26) as u8)
        .collect();
    for chunk_bytes in [0, 65_536, 1000] {
        let mut request = b"POST / HTTP/1.1\r\nHost: h\r\n".to_vec();
        if chunk_bytes == 0 {
            request.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            request.extend_from_slice(&body);
        } else {
            request.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(chunk_bytes) {
                request.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                request.extend_from_slice(chunk);
                request.extend_from_slice(b"\r\n");
            }
            request.extend_from_slice(b"0\r\n\r\n");
        }
        let mut writer = socket.try_clone().unwrap();
        let sender = std::thread::spawn(move || writer.write_all(&request).unwrap());
        let (_, answer) = read_response(&mut socket);
        sender.join().unwrap();
        assert!(answer.as_bytes() == body, "chunks of {chunk_bytes}");
    }
    socket
        .write_all(&[get("/shared"), get("/empty")].concat())
        .unwrap();
    assert!(
        read_response(&mut socket)
            .1
            .bytes()
            .all(|byte| byte == b's')
    );
    assert_eq!(read_response(&mut socket).1, "");
}
