//! Connections of HTTP/2: answers of all kinds, many at a time, and their ends.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::common::http2::{Client, get};
use super::common::*;
use sampan_http::{
    Answer, Handler, Limits, Observer, Peer, Precomputed, Request, RequestOutcome, Response, Seal,
    Ticket,
};

/// Answers in all ways. What is held is decided by `/release` and `/fail`.
#[derive(Default)]
struct Ways {
    seals: RefCell<Vec<Seal>>,
    precomputed: RefCell<Option<Arc<Precomputed>>>,
}

impl Handler for Ways {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        let path = request.path().to_owned();
        match path.as_str() {
            "/release" => self.seals.take().into_iter().for_each(Seal::release),
            "/fail" => self
                .seals
                .take()
                .into_iter()
                .for_each(|seal| seal.replace_by(500)),
            "/never" => return Answer::Later(Box::pin(std::future::pending())),
            "/panic" => panic!("in the handler"),
            "/late-panic" => return Answer::Later(Box::pin(async { panic!("in the future") })),
            "/hold" => {
                let (ticket, seal) = Ticket::new();
                self.seals.borrow_mut().push(seal);
                return Answer::Held(with_body(path), ticket);
            }
            "/precomputed" => {
                let mut known = self.precomputed.borrow_mut();
                let make = || Precomputed::new(with_body(path)).unwrap();
                return Answer::Precomputed(Arc::clone(known.get_or_insert_with(make)));
            }
            "/close" => {
                let mut response = with_body(path);
                response.close();
                return Answer::Now(response);
            }
            "/none" => return Answer::Now(Response::new(204)),
            "/seen" => {
                let fields = request
                    .headers()
                    .map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value)));
                let mut fields: Vec<String> = fields.collect();
                fields.sort();
                let head = format!("{} {}\n", request.method_str(), request.protocol());
                let host = request.host().unwrap_or_default();
                return Answer::Now(with_body(head + host + "\n" + &fields.concat()));
            }
            _ if path.starts_with("/later/") => {
                let turns: u32 = path["/later/".len()..].parse().unwrap();
                return Answer::Later(Box::pin(async move {
                    for _ in 0..turns {
                        later().await;
                    }
                    Answer::Now(with_body(path))
                }));
            }
            _ => {}
        }
        Answer::Now(with_body(path))
    }

    fn panicked(&self, _: &str) {}
}

fn start(limits: Limits) -> Server {
    Server::start(limits, || Rc::new(Ways::default()))
}

#[test]
fn answers_of_all_kinds() {
    let server = start(Limits::default());
    let mut client = Client::new(&server);
    for path in ["/now", "/precomputed", "/later/3", "/precomputed"] {
        let answer = client.get(path);
        assert_eq!((answer.status, answer.text()), (200, path));
        assert_eq!(answer.fields["content-type"], "text/plain");
        assert_eq!(answer.fields["content-length"], path.len().to_string());
        assert_eq!(answer.fields["date"].len(), 29);
        assert_eq!(answer.fields.len(), 3);
    }
    let head = http::Request::head("https://h/now").body(()).unwrap();
    let answer = client.ask(head);
    assert_eq!(
        (answer.fields["content-length"].as_bytes(), answer.text()),
        (&b"4"[..], "")
    );
    let answer = client.get("/none");
    assert_eq!(
        (answer.status, answer.fields.len(), answer.text()),
        (204, 1, "")
    );
    for path in ["/panic", "/late-panic"] {
        assert_eq!(client.get(path).status, 500);
    }
    assert_eq!(client.get("/fine").text(), "/fine");
    assert_eq!(server.handle.connections(), 1);
    assert_eq!(server.handle.requests(), 9);
}

#[test]
fn handlers_see_the_request_as_over_http1() {
    let server = start(Limits::default());
    let mut client = Client::new(&server);
    let request = http::Request::put("https://example.org:81/seen?a=b")
        .header("cookie", "a=1")
        .header("x-a", "one")
        .header("cookie", "b=2")
        .header("te", "trailers");
    let answer = client.ask(request.body(()).unwrap());
    assert_eq!(
        answer.text(),
        "PUT HTTP/2.0\nexample.org:81\ncookie: a=1; b=2\nhost: example.org:81\nte: \
         trailers\nx-a: one\n"
    );
}

#[test]
fn requests_of_one_connection_are_answered_as_they_are_ready() {
    let server = start(Limits::default());
    let mut client = Client::new(&server);
    let held = client.begin(get("/hold"));
    let late = client.begin(get("/later/50"));
    assert_eq!(client.get("/behind").text(), "/behind");
    assert_eq!(client.read(late).text(), "/later/50");
    let many: Vec<_> = (0..80)
        .map(|turns| client.begin(get(&format!("/later/{turns}"))))
        .collect();
    for (turns, response) in many.into_iter().enumerate() {
        assert_eq!(client.read(response).text(), format!("/later/{turns}"));
    }
    assert_eq!(client.get("/release").text(), "/release");
    assert_eq!(client.read(held).text(), "/hold");
    let held = client.begin(get("/hold"));
    client.get("/fail");
    assert_eq!(client.read(held).status, 500);
}

#[test]
fn handlers_that_take_too_long_are_dropped_with_504() {
    let limits = Limits {
        handler_millis_max: 150,
        ..Limits::default()
    };
    let server = start(limits);
    let mut client = Client::new(&server);
    let held = client.begin(get("/hold"));
    let never = client.begin(get("/never"));
    assert_eq!(client.get("/fine").text(), "/fine");
    assert_eq!(client.read(held).status, 504);
    assert_eq!(client.read(never).status, 504);
    assert_eq!(client.get("/fine").text(), "/fine");
}

#[test]
fn a_request_that_is_taken_back_is_dropped() {
    let dropped = Arc::new(AtomicUsize::new(0));
    struct CountDrop(Arc<AtomicUsize>);
    impl Drop for CountDrop {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let counter = Arc::clone(&dropped);
    let server = Server::start(Limits::default(), move || {
        Rc::new(Function(move |request: &Rc<Request>| {
            if request.path() == "/fine" {
                return Answer::Now(with_body("fine"));
            }
            let guard = CountDrop(Arc::clone(&counter));
            Answer::Later(Box::pin(async move {
                let _guard = guard;
                std::future::pending().await
            }))
        }))
    });
    let mut client = Client::new(&server);
    let (response, mut stream) = client.send(get("/never"), true);
    client.get("/fine");
    stream.send_reset(h2::Reason::CANCEL);
    assert!(client.try_read(response).is_err());
    client.get("/fine");
    wait::until("the drop", || dropped.load(SeqCst) == 1);
    // As the end of the connection does.
    let _response = client.begin(get("/never"));
    client.get("/fine");
    drop(client);
    wait::until("the second drop", || dropped.load(SeqCst) == 2);
    wait::until("the end", || server.handle.connections() == 0);
}

#[test]
fn a_worker_that_ends_answers_what_is_under_way() {
    let is_open = Arc::new(AtomicUsize::new(0));
    let opener = Arc::clone(&is_open);
    let server = Server::start(Limits::default(), move || {
        Rc::new(Function(move |request: &Rc<Request>| {
            if request.path() == "/now" {
                return Answer::Now(with_body("now"));
            }
            let is_open = Arc::clone(&is_open);
            Answer::Later(Box::pin(async move {
                wait::until_async("the opening", || is_open.load(SeqCst) == 1).await;
                Answer::Now(with_body("whole"))
            }))
        }))
    });
    let mut client = Client::new(&server);
    let mut idle = Client::new(&server);
    // The server may cut a connection whose handshake is not over.
    idle.get("/now");
    let response = client.begin(get("/"));
    client.wait(async {
        wait::until_async("the request", || server.handle.requests() == 2).await;
    });
    server.handle.shutdown();
    idle.end().unwrap();
    opener.store(1, SeqCst);
    assert_eq!(client.read(response).text(), "whole");
    client.end().unwrap();
    wait::until("the end", || server.handle.connections() == 0);
    server.stop();
}

#[test]
fn an_answer_may_end_the_connection() {
    let server = start(Limits::default());
    let mut client = Client::new(&server);
    assert_eq!(client.get("/close").text(), "/close");
    client.end().unwrap();
}

#[test]
fn idle_connections_are_closed() {
    let limits = Limits {
        idle_millis_max: 150,
        head_millis_max: 150,
        ..Limits::default()
    };
    let server = start(limits);
    let mut client = Client::new(&server);
    client.get("/fine");
    client.end().unwrap();
    // One that never asks, and one that does not even begin.
    Client::new(&server).end().unwrap();
    let mut silent = server.connect_http2();
    silent.write_all(b"PRI * HTTP/2.0\r\n\r\n").unwrap();
    read_to_end(&mut silent);
    wait::until("the end", || server.handle.connections() == 0);
}

#[test]
fn answers_without_a_body_begin_the_idle_time_anew() {
    let limits = Limits {
        head_millis_max: 3_000,
        ..Limits::default()
    };
    let server = start(limits);
    let mut client = Client::new(&server);
    for _ in 0..4 {
        assert_eq!(client.get("/none").status, 204);
        wait::dawdle(Duration::from_millis(1_000));
    }
    assert_eq!(client.get("/none").status, 204);
}

/// Keeps what it is told.
type Told = Arc<Mutex<Vec<(u16, u64, bool)>>>;

struct Watched(Told);

struct Teller(Told);

impl Observer for Teller {
    fn done(&self, outcome: &RequestOutcome) {
        let told = (outcome.status, outcome.body_bytes, outcome.is_whole);
        self.0.lock().unwrap().push(told);
    }
}

impl Handler for Watched {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        if request.path() == "/never" {
            return Answer::Later(Box::pin(std::future::pending()));
        }
        Answer::Now(with_body(request.path().as_bytes()))
    }

    fn observe(&self, _: Peer, _: Option<&Request>) -> Option<Rc<dyn Observer>> {
        Some(Rc::new(Teller(Arc::clone(&self.0))))
    }
}

#[test]
fn observers_are_told_the_outcome() {
    let told = Told::default();
    let teller = Arc::clone(&told);
    let server = Server::start(Limits::default(), move || Rc::new(Watched(teller)));
    let mut client = Client::new(&server);
    client.get("/five");
    client.ask(http::Request::connect("h:1").body(()).unwrap());
    let (_response, mut stream) = client.send(get("/never"), true);
    client.get("/");
    stream.send_reset(h2::Reason::CANCEL);
    client.get("/");
    wait::until("the outcomes", || told.lock().unwrap().len() == 5);
    let told = told.lock().unwrap().clone();
    let mut told: Vec<_> = told.into_iter().map(|told| (told.0, told.2)).collect();
    told.sort_unstable();
    let all = [
        (200, true),
        (200, true),
        (200, true),
        (499, false),
        (501, true),
    ];
    assert_eq!(told, all);
}

#[test]
fn http1_is_spoken_beside_it() {
    let server = start(Limits::default());
    let mut client = Client::new(&server);
    assert_eq!(client.get("/two").text(), "/two");
    assert!(
        server
            .exchange(b"GET /one HTTP/1.0\r\n\r\n")
            .ends_with("/one")
    );
    // Not after a request of HTTP/1.1: a proxy in front would not know of it.
    let mut socket = server.connect();
    socket.write_all(&get_bytes("/one")).unwrap();
    socket
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .unwrap();
    read_response(&mut socket);
    assert!(read_to_end(&mut socket).starts_with("HTTP/1.1 505 "));
}

fn get_bytes(path: &str) -> Vec<u8> {
    super::common::get(path)
}

#[test]
fn hints_leave_before_the_answer() {
    let server = Server::start(Limits::default(), || {
        Rc::new(Function(|request: &Rc<Request>| {
            let request = Rc::clone(request);
            Answer::Later(Box::pin(async move {
                request.early_hint(b"</a>; rel=preload").unwrap();
                request.early_hint(b"</b>; rel=preload").unwrap();
                later().await;
                Answer::Now(with_body("page"))
            }))
        }))
    });
    let mut client = Client::new(&server);
    let mut response = client.begin(get("/"));
    let hints = client.wait(std::future::poll_fn(|cx| response.poll_informational(cx)));
    let hints = hints.unwrap().unwrap();
    let links = hints.headers().get_all("link").iter();
    let links: Vec<&str> = links.map(|link| link.to_str().unwrap()).collect();
    assert_eq!(hints.status(), 103);
    assert_eq!(links, ["</a>; rel=preload", "</b>; rel=preload"]);
    assert_eq!(client.read(response).text(), "page");
}
