//! Idle connections that belong to no worker: the next request goes to a worker that is free.

#[path = "../common/mod.rs"]
mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use common::*;
use sampan_client::certificates::{Identity, Secured, connect, trusting};
use sampan_http::{
    Accepting, Acceptor, Answer, ClientBytes, Limits, Parking, Proxies, Request, Tls, WorkerHandle,
    Workers,
};

/// Two workers that share their idle connections. An answer tells worker, peer and TLS; `/stuck` blocks its worker, and
/// `/wait` waits, until the server is freed.
struct Crew {
    handles: Vec<WorkerHandle>,
    workers: Workers,
    accepting: Option<Accepting>,
    threads: Vec<JoinHandle<()>>,
    is_free: Arc<AtomicBool>,
}

impl Crew {
    fn start(limits: Limits) -> Self {
        Self::start_with(limits, |acceptor| acceptor)
    }

    fn start_with(limits: Limits, change: impl FnOnce(Acceptor) -> Acceptor) -> Self {
        let limits = Arc::new(limits);
        let parking = Arc::new(Parking::new().unwrap());
        let unsent = ClientBytes::new(&limits);
        let is_free = Arc::<AtomicBool>::default();
        let start = |number: usize| {
            let (handle, worker) = sampan_http::worker_sharing(
                Arc::clone(&limits),
                Arc::clone(&unsent),
                Some(Arc::clone(&parking)),
            );
            let is_free = Arc::clone(&is_free);
            let thread = std::thread::spawn(move || {
                let answer = move |request: &Rc<Request>| answer(request, number, &is_free);
                run_worker(worker, Rc::new(Function(answer)));
            });
            (handle, thread)
        };
        let (handles, threads): (Vec<_>, _) = (0..2).map(start).unzip();
        let workers = Workers::new(handles.clone(), &limits);
        let acceptor = Acceptor::bind("127.0.0.1:0".parse().unwrap(), &limits).unwrap();
        let accepting = change(acceptor).start(workers.clone(), |note| eprintln!("{note}"));
        Self {
            handles,
            workers,
            accepting: Some(accepting.unwrap()),
            threads,
            is_free,
        }
    }

    fn connect(&self) -> TcpStream {
        let address = self.accepting.as_ref().unwrap().local_addr().unwrap();
        let socket = TcpStream::connect(address).unwrap();
        let time = Some(Duration::from_secs(30));
        socket.set_read_timeout(time).unwrap();
        socket
    }

    /// Clients that have been answered once.
    fn served(&self, count: usize) -> Vec<TcpStream> {
        let client = |_| {
            let mut socket = self.connect();
            ask(&mut socket, "/");
            socket
        };
        (0..count).map(client).collect()
    }

    /// Waits until so many connections are parked, and no worker has any.
    fn wait_parked(&self, count: usize) {
        wait::until("parking", || {
            self.workers.parked() == count && self.workers.connections() == count
        });
    }

    /// Begins to shut down.
    fn shut_down(&mut self) {
        self.accepting.take().unwrap().stop();
        self.workers.shutdown();
    }

    /// Waits for the threads of a server that shuts down.
    fn end(self) {
        self.is_free.store(true, SeqCst);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }

    fn stop(mut self) {
        self.shut_down();
        self.end();
    }
}

fn answer(request: &Rc<Request>, number: usize, is_free: &Arc<AtomicBool>) -> Answer {
    let peer = request.peer();
    let version = request.tls().map(|tls| tls.version);
    let shown = format!("{number} {peer:?} {version:?}");
    match request.path() {
        "/stuck" => {
            wait::until("the end of the test", || is_free.load(SeqCst));
            Answer::Now(with_body(shown))
        }
        "/wait" => {
            let is_free = Arc::clone(is_free);
            Answer::Later(Box::pin(async move {
                wait::until_async("the end of the test", || is_free.load(SeqCst)).await;
                Answer::Now(with_body(shown))
            }))
        }
        _ => Answer::Now(with_body(shown)),
    }
}

fn ask(socket: &mut TcpStream, path: &str) -> String {
    socket.write_all(&get(path)).unwrap();
    read_response(socket).1
}

/// The number of the worker in an answer.
fn worker_of(answer: &str) -> usize {
    answer.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn requests_on_parked_connections_go_to_the_worker_that_is_free() {
    let server = Crew::start(Limits::default());
    // Both workers have had some of them.
    let mut clients = server.served(8);
    server.wait_parked(8);
    clients[0].write_all(&get("/stuck")).unwrap();
    wait::until("being stuck", || {
        server.handles.iter().any(|handle| !handle.is_responsive())
    });
    let answers: Vec<String> = clients[1..]
        .iter_mut()
        .map(|socket| ask(socket, "/"))
        .collect();
    // All of them were answered while the other worker was stuck.
    server.is_free.store(true, SeqCst);
    let stuck = worker_of(&read_response(&mut clients[0]).1);
    for answer in answers {
        assert_eq!(worker_of(&answer), 1 - stuck);
    }
    // They are parked again, and keep their peers.
    server.wait_parked(8);
    for socket in &mut clients {
        let peer = socket.local_addr().unwrap();
        assert!(ask(socket, "/").ends_with(&format!(" Tcp({peer}) None")));
    }
    server.stop();
}

#[test]
fn connections_without_a_request_are_parked_too() {
    let server = Crew::start(Limits::default());
    let mut clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
    server.wait_parked(4);
    for socket in &mut clients {
        ask(socket, "/");
    }
    server.stop();
}

#[test]
fn connections_with_work_stay_with_their_worker() {
    let server = Crew::start(Limits::default());
    let (mut waiting, mut half) = (server.connect(), server.connect());
    waiting.write_all(&get("/wait")).unwrap();
    half.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
    wait::until("starting", || server.workers.connections() == 2);
    let _idle = server.served(1);
    wait::until("parking", || server.workers.parked() == 1);
    // On its way into the park it counts twice for a moment.
    wait::until("three", || server.workers.connections() == 3);
    half.write_all(b"st: h\r\n\r\n").unwrap();
    read_response(&mut half);
    server.is_free.store(true, SeqCst);
    read_response(&mut waiting);
    server.wait_parked(3);
    server.stop();
}

#[test]
fn an_idle_deadline_closes_parked_connections() {
    let server = Crew::start(Limits {
        idle_millis_max: 2_000,
        ..Limits::default()
    });
    let mut clients = server.served(3);
    server.wait_parked(3);
    for socket in &mut clients {
        assert_eq!(read_to_end(socket), "");
    }
    server.wait_parked(0);
    server.stop();
}

#[test]
fn clients_that_leave_or_begin_a_request_are_noticed() {
    let server = Crew::start(Limits {
        head_millis_max: 300,
        ..Limits::default()
    });
    let mut clients = server.served(4);
    server.wait_parked(4);
    drop(clients.pop());
    server.wait_parked(3);
    // Half a request has the time of a head, and the other half gets an answer.
    clients[0].write_all(b"GET / HT").unwrap();
    let answer = read_to_end(&mut clients[0]);
    assert_eq!(status(&answer), 408, "{answer}");
    clients[1].write_all(b"GET /").unwrap();
    wait::until("leaving the park", || server.workers.parked() < 2);
    clients[1]
        .write_all(b" HTTP/1.1\r\nHost: h\r\n\r\n")
        .unwrap();
    assert_eq!(status(&read_response(&mut clients[1]).0), 200);
    server.stop();
}

#[test]
fn a_shutdown_closes_parked_connections() {
    let mut server = Crew::start(Limits::default());
    let mut clients = server.served(6);
    server.wait_parked(6);
    // A request that has come before the end is answered.
    clients[0].write_all(&get("/wait")).unwrap();
    wait::until("waiting", || server.workers.parked() == 5);
    server.shut_down();
    for socket in &mut clients[1..] {
        assert_eq!(read_to_end(socket), "");
    }
    server.is_free.store(true, SeqCst);
    // The worker may have begun the answer before it heard of the end: then only the connection tells it.
    let answer = read_to_end(&mut clients[0]);
    assert_eq!(status(&answer), 200, "{answer}");
    server.end();
}

#[test]
fn parked_connections_are_answered_while_their_server_leaves() {
    let server = Crew::start(Limits::default());
    let mut clients = server.served(2);
    server.wait_parked(2);
    server.handles.iter().for_each(WorkerHandle::leave);
    for socket in &mut clients {
        socket.write_all(&get("/")).unwrap();
        let answer = read_to_end(socket);
        assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
    }
    server.wait_parked(0);
    server.stop();
}

#[test]
fn parked_connections_count_as_connections() {
    let server = Crew::start(Limits {
        connections_max: 2,
        ..Limits::default()
    });
    let clients = server.served(2);
    server.wait_parked(2);
    let mut third = server.connect();
    third.write_all(&get("/")).unwrap();
    assert_eq!(status(&read_to_end(&mut third)), 503);
    drop(clients);
    server.wait_parked(0);
    ask(&mut server.connect(), "/");
    server.stop();
}

#[test]
fn an_abandoned_worker_takes_no_parked_connection_with_it() {
    let server = Crew::start(Limits::default());
    let mut clients = server.served(4);
    server.wait_parked(4);
    // Each worker has some that are not parked: once it comes back to life it ends only when they have.
    let _waiting: Vec<_> = (0..4)
        .map(|_| {
            let mut socket = server.connect();
            socket.write_all(&get("/wait")).unwrap();
            socket
        })
        .collect();
    wait::until("they wait", || server.workers.connections() == 8);
    clients[0].write_all(&get("/stuck")).unwrap();
    // On a busy machine the other one may be late for a moment.
    let stuck = wait::found("being stuck", || {
        let is_stuck = |at: usize| server.handles[at].last_tick_millis() >= 1_000;
        (0..2).find(|at| is_stuck(*at) && server.handles[1 - at].is_responsive())
    });
    server.handles[stuck].abandon();
    assert_eq!(read_to_end(&mut clients[0]), "");
    for socket in &mut clients[1..] {
        assert_eq!(worker_of(&ask(socket, "/")), 1 - stuck);
    }
    server.is_free.store(true, SeqCst);
    server.stop();
}

#[test]
fn the_address_that_a_proxy_has_told_is_kept() {
    let server = Crew::start_with(Limits::default(), |acceptor| {
        acceptor.with_proxies(Proxies::new(|_| true))
    });
    let mut socket = server.connect();
    socket
        .write_all(b"PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n")
        .unwrap();
    for _ in 0..2 {
        let answer = ask(&mut socket, "/");
        assert!(answer.ends_with(" Tcp(192.0.2.7:4711) None"), "{answer}");
        server.wait_parked(1);
    }
    server.stop();
}

#[test]
fn sessions_of_tls_are_parked() {
    let identity = Identity::new(&["localhost"]);
    let (tls, _) = Tls::read(secure::settings(&identity)).unwrap();
    let mut server = Crew::start_with(Limits::default(), |acceptor| acceptor.with_tls(tls));
    let address = server.accepting.as_ref().unwrap().local_addr().unwrap();
    let config = Arc::new(trusting(&[&identity.certificate]));
    let mut clients: Vec<Secured> = (0..4)
        .map(|_| connect(address, &config, "localhost"))
        .collect();
    for _ in 0..2 {
        for client in &mut clients {
            client.write_all(&get("/")).unwrap();
            let mut answer = vec![0; 16];
            client.read_exact(&mut answer).unwrap();
            while !answer.ends_with(b"Some(\"TLSv1.3\")") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                answer.push(byte[0]);
            }
        }
        server.wait_parked(4);
    }
    server.shut_down();
    for client in &mut clients {
        // The session ends before its socket: a client would see an error else.
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    }
    server.end();
}

#[test]
fn thousands_of_parked_connections_are_answered() {
    const CLIENTS: usize = 2_000;
    let mut limits = Limits {
        connections_max: CLIENTS,
        ..Limits::default()
    };
    let note = sampan_http::raise_open_files(&mut limits, 2 * CLIENTS as u64, 0);
    assert_eq!(note, Ok(None), "too few open files for this test");
    let server = Crew::start(limits);
    let mut clients = server.served(CLIENTS);
    server.wait_parked(CLIENTS);
    for socket in &mut clients {
        socket.write_all(&get("/")).unwrap();
    }
    for socket in &mut clients {
        assert_eq!(status(&read_response(socket).0), 200);
    }
    drop(clients);
    server.wait_parked(0);
    server.stop();
}
