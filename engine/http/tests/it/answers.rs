//! Held answers, late answers, handlers that fail or take too long, clients that go away.

mod common;

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use common::*;
use sampan_http::codec::Exceeded;
use sampan_http::{
    Answer, Body, BodyError, BodyRule, BodyStream, Chunk, Handler, HandlerSlot, Limits, Observer,
    Request, Response, Seal, Ticket,
};

/// A native handler as a data layer would be one: `/hold` is held until `/release`, `/fail` or `/forget`
/// decides about everything held, which comes in over another connection.
#[derive(Default)]
struct Group {
    seals: RefCell<Vec<Seal>>,
}

impl Handler for Group {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let path = request.path().to_owned();
        match path.as_str() {
            "/release" => self.seals.take().into_iter().for_each(Seal::release),
            "/fail" => self
                .seals
                .take()
                .into_iter()
                .for_each(|seal| seal.replace_by(500)),
            "/forget" => drop(self.seals.take()),
            "/decided" => {
                let (ticket, seal) = Ticket::new();
                seal.release();
                return Answer::Held(with_body(path), ticket);
            }
            "/later-held" => {
                let (ticket, seal) = Ticket::new();
                self.seals.borrow_mut().push(seal);
                return Answer::Later(Box::pin(async move {
                    later().await;
                    Answer::Held(with_body(path), ticket)
                }));
            }
            "/later" => {
                return Answer::Later(Box::pin(async move {
                    later().await;
                    Answer::Now(with_body(path))
                }));
            }
            _ if path.starts_with("/hold") => {
                let (ticket, seal) = Ticket::new();
                self.seals.borrow_mut().push(seal);
                return Answer::Held(with_body(path), ticket);
            }
            _ => {}
        }
        Answer::Now(with_body(path))
    }
}

#[test]
fn held_answers_keep_everything_behind_them_back() {
    let server = Server::start(Limits::default(), || Rc::new(Group::default()));
    for (decision, status_line) in [
        ("/release", "HTTP/1.1 200"),
        ("/fail", "HTTP/1.1 500"),
        ("/forget", "HTTP/1.1 500"),
    ] {
        let mut held = server.connect();
        let mut other = server.connect();
        let before = server.handle.requests();
        held.write_all(
            &[
                get("/before"),
                get("/hold"),
                get("/behind"),
                get("/later"),
                get("/decided"),
            ]
            .concat(),
        )
        .unwrap();
        assert_eq!(read_response(&mut held).1, "/before");
        wait::until("handling", || server.handle.requests() - before >= 5);
        held.set_read_timeout(Some(Duration::from_millis(60)))
            .unwrap();
        let early = std::io::Read::read(&mut held, &mut [0u8; 1]).unwrap_err();
        assert_eq!(
            early.kind(),
            std::io::ErrorKind::WouldBlock,
            "something was sent before the decision"
        );
        held.set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        other.write_all(&get(decision)).unwrap();
        assert_eq!(read_response(&mut other).1, decision);
        let (head, body) = read_response(&mut held);
        assert!(head.starts_with(status_line), "{decision}: {head}");
        assert_eq!(body == "/hold", decision == "/release", "{body}");
        assert_eq!(read_response(&mut held).1, "/behind");
        assert_eq!(read_response(&mut held).1, "/later");
        assert_eq!(read_response(&mut held).1, "/decided");
    }
}

/// More than sockets hold.
const LARGE_BYTES: usize = 16 << 20;

/// `/large` is held until `/release`, and `/hinted` gives its hints then, and ends at `/end`.
#[derive(Default)]
struct Hinting {
    seal: RefCell<Option<Seal>>,
    may_end: Rc<Cell<bool>>,
    is_released: Rc<Cell<bool>>,
}

impl Handler for Hinting {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        match request.path() {
            "/large" => {
                let (ticket, seal) = Ticket::new();
                *self.seal.borrow_mut() = Some(seal);
                return Answer::Held(with_body(vec![b'x'; LARGE_BYTES]), ticket);
            }
            "/hinted" => {
                let (request, is_released) = (Rc::clone(request), Rc::clone(&self.is_released));
                let may_end = Rc::clone(&self.may_end);
                return Answer::Later(Box::pin(async move {
                    while !is_released.get() {
                        later().await;
                    }
                    request.early_hint(b"</a>; rel=preload").unwrap();
                    while !may_end.get() {
                        later().await;
                    }
                    Answer::Now(with_body("hinted"))
                }));
            }
            "/release" => {
                self.seal.take().expect("an answer is held").release();
                self.is_released.set(true);
            }
            "/end" => self.may_end.set(true),
            _ => {}
        }
        Answer::Now(with_body(request.path()))
    }
}

#[test]
fn hints_wait_for_the_body_of_the_answer_before() {
    let server = Server::start(Limits::default(), || Rc::new(Hinting::default()));
    let (mut slow, mut other) = (server.connect(), server.connect());
    let mut ask = |path: &str| {
        other.write_all(&get(path)).unwrap();
        assert_eq!(read_response(&mut other).1, path);
    };
    slow.write_all(&[get("/large"), get("/hinted")].concat())
        .unwrap();
    wait::until("handling", || server.handle.requests() >= 2);
    ask("/release");
    some_turns(&server);
    let (_, large) = read_response(&mut slow);
    assert!(large.len() == LARGE_BYTES && large.bytes().all(|byte| byte == b'x'));
    let (hints, _) = read_response(&mut slow);
    assert!(hints.starts_with("HTTP/1.1 103 "), "{hints}");
    ask("/end");
    assert_eq!(read_response(&mut slow).1, "hinted");
}

#[test]
fn held_answers_of_many_connections_and_of_futures() {
    let server = Server::start(
        Limits {
            held_max: 4,
            ..Limits::default()
        },
        || Rc::new(Group::default()),
    );
    let mut clients: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for client in &mut clients {
        // More than may be kept on one connection: the rest wait unhandled and come later.
        client
            .write_all(
                &[
                    get("/later-held"),
                    get("/hold1"),
                    get("/hold2"),
                    get("/hold3"),
                    get("/hold4"),
                    get("/hold5"),
                ]
                .concat(),
            )
            .unwrap();
    }
    wait::until("handling", || server.handle.requests() >= 80);
    some_turns(&server);
    assert_eq!(server.handle.requests(), 85, "held_max is kept");
    let mut other = server.connect();
    // The first lets go what is held, so that the rest is handled, and the second that.
    for handled in [85 + 1 + 40, 85 + 1 + 40 + 1] {
        other.write_all(&get("/release")).unwrap();
        read_response(&mut other);
        wait::until("handling the rest", || server.handle.requests() == handled);
    }
    for client in &mut clients {
        for body in [
            "/later-held",
            "/hold1",
            "/hold2",
            "/hold3",
            "/hold4",
            "/hold5",
        ] {
            assert_eq!(read_response(client).1, body);
        }
    }
}

/// The interim response must not overtake an answer that is still held.
#[test]
fn a_body_is_not_asked_for_before_held_answers() {
    let server = Server::start(Limits::default(), || Rc::new(Group::default()));
    let mut held = server.connect();
    held.write_all(&get("/hold")).unwrap();
    held.write_all(
        b"POST /behind HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
    )
    .unwrap();
    wait::until("handling", || server.handle.requests() == 1);
    held.set_read_timeout(Some(Duration::from_millis(60)))
        .unwrap();
    assert!(
        std::io::Read::read(&mut held, &mut [0u8; 1]).is_err(),
        "something overtook a held answer"
    );
    held.set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    server.exchange(b"GET /release HTTP/1.0\r\n\r\n");
    assert_eq!(read_response(&mut held).1, "/hold");
    assert!(read_response(&mut held).0.starts_with("HTTP/1.1 100 "));
    held.write_all(b"ok").unwrap();
    assert_eq!(read_response(&mut held).1, "/behind");
}

#[test]
fn a_ticket_that_nobody_decides_becomes_504() {
    let server = Server::start(
        Limits {
            handler_millis_max: 150,
            ..Limits::default()
        },
        || Rc::new(Group::default()),
    );
    let mut socket = server.connect();
    socket
        .write_all(&[get("/hold"), get("/behind")].concat())
        .unwrap();
    assert!(read_response(&mut socket).0.starts_with("HTTP/1.1 504 "));
    assert_eq!(read_response(&mut socket).1, "/behind");
}

#[test]
fn late_answers_come_in_order_and_keep_their_request() {
    let server = Server::start(Limits::default(), || {
        Rc::new(Function(|request: &Rc<Request>| {
            let request = request.clone();
            Answer::Later(Box::pin(async move {
                for _ in 0..request.path()[1..].parse().unwrap() {
                    later().await;
                }
                Answer::Now(with_body(request.body()))
            }))
        }))
    });
    let mut socket = server.connect();
    let mut batch = Vec::new();
    for (turns, body) in [(30, "first"), (1, "second"), (10, "third")] {
        batch.extend_from_slice(
            format!(
                "POST /{turns} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .as_bytes(),
        );
    }
    socket.write_all(&batch).unwrap();
    for body in ["first", "second", "third"] {
        assert_eq!(read_response(&mut socket).1, body);
    }
}

#[test]
fn a_handler_that_never_answers_is_dropped_with_504() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = dropped.clone();
    let server = Server::start(
        Limits {
            handler_millis_max: 150,
            ..Limits::default()
        },
        move || {
            Rc::new(Function(move |request: &Rc<Request>| {
                if request.path() != "/never" {
                    return Answer::Now(with_body("fine"));
                }
                let guard = CountDrop(counter.clone());
                Answer::Later(Box::pin(async move {
                    let _guard = guard;
                    pending().await
                }))
            }))
        },
    );
    let mut socket = server.connect();
    socket
        .write_all(&[get("/never"), get("/fine")].concat())
        .unwrap();
    let (head, body) = read_response(&mut socket);
    assert!(
        head.starts_with("HTTP/1.1 504 Gateway Timeout\r\n")
            && body == "{\"error\":\"Gateway Timeout\"}",
        "{head}{body}"
    );
    assert_eq!(read_response(&mut socket).1, "fine");
    assert_eq!(dropped.load(SeqCst), 1);
}

/// A handler with limits and error answers of its own, which answers late, late and late again.
struct Own;

impl Handler for Own {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        fn again() -> Answer {
            Answer::Later(Box::pin(async {
                later().await;
                again()
            }))
        }
        if request.path() == "/again" {
            return again();
        }
        Answer::Now(with_body(request.body()))
    }

    fn body_rule(&self, request: &Request) -> BodyRule {
        let bytes_max = match request.path() {
            "/small" => Some(3),
            "/large" => Some(100),
            _ => None,
        };
        BodyRule {
            bytes_max,
            is_streamed: false,
        }
    }

    fn error(&self, status: u16, _: Option<Exceeded>) -> Response {
        let mut response = with_body(format!("own {status}"));
        response.set_status(status);
        response
    }
}

#[test]
fn limits_of_routes_and_own_error_answers() {
    let limits = Limits {
        body_bytes_max: 10,
        handler_millis_max: 150,
        ..Limits::default()
    };
    let server = Server::start(limits, || Rc::new(Own));
    let post = |path: &str, bytes: usize| {
        let body = "x".repeat(bytes);
        let sized = format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n{body}"
        );
        let chunked = format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: \
             chunked\r\n\r\n{bytes:x}\r\n{body}\r\n0\r\n\r\n"
        );
        let answers = [
            server.exchange(sized.as_bytes()),
            server.exchange(chunked.as_bytes()),
        ];
        assert_eq!(status(&answers[0]), status(&answers[1]), "{answers:?}");
        answers[0].clone()
    };
    for (path, largest) in [("/small", 3), ("/other", 10), ("/large", 100)] {
        assert!(
            post(path, largest).ends_with(&format!("\r\n\r\n{}", "x".repeat(largest))),
            "{path}"
        );
        assert!(
            post(path, largest + 1).ends_with("\r\n\r\nown 413"),
            "{path}"
        );
    }
    // However often the answer is put off, it has one time in all.
    let mut socket = server.connect();
    socket.write_all(&get("/again")).unwrap();
    assert_eq!(read_response(&mut socket).1, "own 504");
}

struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A stream that panics, at its first piece.
struct PanickingStream;

impl BodyStream for PanickingStream {
    fn poll_chunk(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Chunk, BodyError>>> {
        panic!("in a stream")
    }
}

#[test]
fn panics_are_answered_and_the_worker_lives() {
    let server = Server::start(Limits::default(), || {
        Rc::new(Function(|request: &Rc<Request>| match request.path() {
            "/now" => panic!("in the handler"),
            "/later" => Answer::Later(Box::pin(async { panic!("in the future") })),
            "/stream" => {
                let mut response = Response::new(200);
                response.set_body(Body::Stream(Box::new(PanickingStream)));
                Answer::Now(response)
            }
            _ => Answer::Now(with_body("fine")),
        }))
    });
    let mut socket = server.connect();
    socket
        .write_all(
            &[
                get("/now"),
                get("/fine"),
                get("/later"),
                get("/fine"),
                get("/stream"),
            ]
            .concat(),
        )
        .unwrap();
    for _ in 0..2 {
        assert!(read_response(&mut socket).0.starts_with("HTTP/1.1 500 "));
        assert_eq!(read_response(&mut socket).1, "fine");
    }
    let cut = read_to_end(&mut socket);
    assert!(!cut.contains("0\r\n\r\n"), "no last chunk: {cut}");
    assert!(server.exchange(b"GET / HTTP/1.0\r\n\r\n").ends_with("fine"));
}

#[test]
fn a_handler_can_be_replaced_while_it_serves() {
    let limits = Arc::new(Limits::default());
    let (handle, worker) = sampan_http::worker(limits.clone());
    let acceptor = sampan_http::Acceptor::bind("127.0.0.1:0".parse().unwrap(), &limits).unwrap();
    let address = acceptor.local_addr().unwrap();
    let accepting = acceptor
        .start(
            sampan_http::Workers::new(vec![handle.clone()], &limits),
            |_| {},
        )
        .unwrap();
    let open = Arc::new(AtomicUsize::new(0));
    let opener = open.clone();
    let thread = std::thread::spawn(move || {
        let slot_in_handler: Rc<RefCell<Option<HandlerSlot>>> = Rc::default();
        let inner = slot_in_handler.clone();
        let old = Function(move |request: &Rc<Request>| {
            if request.path() == "/reload" {
                let new = Function(|_: &Rc<Request>| Answer::Now(with_body("new")));
                inner.borrow().as_ref().unwrap().replace(Rc::new(new));
            }
            let path = request.path().to_owned();
            let open = open.clone();
            Answer::Later(Box::pin(async move {
                if path == "/slow" {
                    wait::until_async("the end of the slow one", || open.load(SeqCst) == 1).await;
                }
                Answer::Now(with_body("old"))
            }))
        });
        let slot = HandlerSlot::new(Rc::new(old));
        *slot_in_handler.borrow_mut() = Some(slot.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, worker.run(slot));
        slot_in_handler.take();
    });
    let ask = |path: &str| {
        let mut socket = std::net::TcpStream::connect(address).unwrap();
        socket.write_all(&get(path)).unwrap();
        socket
    };
    let mut slow = ask("/slow");
    wait::until("its start", || handle.requests() == 1);
    assert_eq!(read_response(&mut ask("/")).1, "old");
    assert_eq!(read_response(&mut ask("/reload")).1, "old");
    assert_eq!(read_response(&mut ask("/")).1, "new");
    opener.store(1, SeqCst);
    assert_eq!(
        read_response(&mut slow).1,
        "old",
        "requests in flight end on the old handler"
    );
    drop(slow);
    accepting.stop();
    handle.shutdown();
    thread.join().unwrap();
}
