//! The life of workers and acceptor: capacity, balance, shutdown, workers that are stuck.

mod common;

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use common::*;
use sampan_client::Stopwatch;
use sampan_http::{Acceptor, Answer, Limits, Request, WorkerHandle, Workers};

#[test]
fn over_capacity_is_answered_and_ends() {
    let limits = Limits {
        connections_max: 3,
        refused_max: 2,
        retry_after_seconds: 7,
        linger_millis_max: 400,
        ..Limits::default()
    };
    let server = Server::start(limits, echo(&Arc::default()));
    let mut served: Vec<_> = (0..3).map(|_| server.connect()).collect();
    wait_until("accepting", Duration::from_secs(5), || {
        server.handle.connections() == 3
    });
    // More than are refused politely at one time; the others are told too, or closed.
    let mut over: Vec<_> = (0..5).map(|_| server.connect()).collect();
    let mut told = 0;
    for socket in &mut over {
        let _ = socket.write_all(&get("/"));
        let answer = read_to_end(socket);
        if answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n") {
            assert!(
                answer.contains("\r\nRetry-After: 7\r\n")
                    && answer.contains("\r\nConnection: close\r\n"),
                "{answer}"
            );
            told += 1;
        }
    }
    assert!(told >= 2, "{told} of 5 were told");
    for socket in &mut served {
        socket.write_all(&get("/")).unwrap();
        assert_eq!(read_response(socket).1, "GET / ");
    }
    drop(served.pop());
    drop(over);
    wait_until("closing", Duration::from_secs(5), || {
        server.handle.connections() == 2 && server.handle.refused() == 0
    });
    assert!(
        server
            .exchange(b"GET / HTTP/1.0\r\n\r\n")
            .ends_with("GET / ")
    );
}

/// Several workers behind one acceptor, each answering with its number; `/stuck` blocks its thread.
fn start_many(
    count: usize,
    limits: Limits,
) -> (
    Vec<WorkerHandle>,
    Workers,
    sampan_http::Accepting,
    Vec<JoinHandle<()>>,
) {
    let limits = Arc::new(limits);
    let (handles, threads) = (0..count)
        .map(|number| start_one(&limits, number))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    let workers = Workers::new(handles.clone(), &limits);
    let acceptor = Acceptor::bind("[::1]:0".parse().unwrap(), &limits).unwrap();
    let accepting = acceptor
        .start(workers.clone(), |note| eprintln!("{note}"))
        .unwrap();
    (handles, workers, accepting, threads)
}

fn start_one(limits: &Arc<Limits>, number: usize) -> (WorkerHandle, JoinHandle<()>) {
    let (handle, worker) = sampan_http::worker(limits.clone());
    let thread = std::thread::spawn(move || {
        run_worker(
            worker,
            Rc::new(Function(move |request: &Rc<Request>| {
                if request.path() == "/stuck" {
                    std::thread::sleep(Duration::from_millis(1_500));
                }
                Answer::Now(with_body(number.to_string()))
            })),
        );
    });
    (handle, thread)
}

fn ask(socket: &mut TcpStream, path: &str) -> String {
    socket.write_all(&get(path)).unwrap();
    read_response(socket).1
}

#[test]
fn connections_are_balanced() {
    let (handles, workers, accepting, threads) = start_many(3, Limits::default());
    let mut sockets: Vec<_> = (0..30)
        .map(|_| TcpStream::connect(accepting.local_addr().unwrap()).unwrap())
        .collect();
    for socket in &mut sockets {
        ask(socket, "/");
    }
    assert_eq!(
        handles
            .iter()
            .map(WorkerHandle::connections)
            .collect::<Vec<_>>(),
        [10, 10, 10]
    );
    assert_eq!(
        (
            workers.connections(),
            handles.iter().map(WorkerHandle::requests).sum::<u64>()
        ),
        (30, 30)
    );
    drop(sockets);
    accepting.stop();
    workers.shutdown();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_stuck_worker_gets_no_connections_and_can_be_abandoned() {
    let limits = Limits::default();
    let (handles, workers, accepting, mut threads) = start_many(2, limits.clone());
    let connect = || {
        let socket = TcpStream::connect(accepting.local_addr().unwrap()).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket
    };
    let (mut one, mut two) = (connect(), connect());
    let stuck: usize = ask(&mut one, "/").parse().unwrap();
    assert_ne!(ask(&mut two, "/"), stuck.to_string());
    // Another worker may have more connections: what counts is that it reacts.
    let mut more: Vec<_> = (0..4).map(|_| connect()).collect();
    one.write_all(&get("/stuck")).unwrap();
    std::thread::sleep(Duration::from_millis(120));
    assert!(!handles[stuck].is_responsive() && handles[stuck].last_tick_millis() >= 50);
    wait_until("ticking", Duration::from_secs(1), || {
        handles[1 - stuck].is_responsive()
    });
    for socket in &mut more {
        socket
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
    }
    for _ in 0..10 {
        let mut fresh = connect();
        let start = Stopwatch::start();
        assert_eq!(ask(&mut fresh, "/"), (1 - stuck).to_string());
        assert!(
            start.fair() < Duration::from_millis(300),
            "{:?}",
            start.elapsed()
        );
        more.push(fresh);
    }
    // Given up, its clients see the end at once, and a fresh one takes its place.
    let (fresh, thread) = start_one(&Arc::new(limits), 7);
    threads.push(thread);
    let old = workers.replace(stuck, fresh).unwrap();
    let start = Stopwatch::start();
    old.abandon();
    assert_eq!(read_to_end(&mut one), "");
    assert!(
        start.fair() < Duration::from_millis(300),
        "{:?}",
        start.elapsed()
    );
    assert!(old.give(connect()).is_err(), "it takes no more");
    let mut last: Vec<_> = (0..20).map(|_| connect()).collect();
    assert!(
        last.iter_mut().any(|socket| ask(socket, "/") == "7"),
        "the fresh worker serves"
    );
    drop((last, more, one, two));
    accepting.stop();
    workers.shutdown();
    // The stuck one ends too once its handler has returned.
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn shutdown_finishes_what_is_in_flight() {
    let finished = Arc::new(AtomicUsize::new(0));
    let counter = finished.clone();
    let mut server = Server::start(Limits::default(), move || {
        Rc::new(Function(move |request: &Rc<Request>| {
            let (counter, slow) = (counter.clone(), request.path() == "/slow");
            Answer::Later(Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(if slow { 400 } else { 0 })).await;
                counter.fetch_add(1, SeqCst);
                Answer::Now(with_body("done"))
            }))
        }))
    });
    let (mut idle, mut slow, mut body) = (server.connect(), server.connect(), server.connect());
    idle.write_all(&get("/")).unwrap();
    read_response(&mut idle);
    slow.write_all(&[get("/slow"), get("/behind")].concat())
        .unwrap();
    body.write_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab")
        .unwrap();
    wait_until("starting", Duration::from_secs(5), || {
        server.handle.requests() == 2 && server.handle.connections() == 3
    });
    std::thread::sleep(Duration::from_millis(30));
    let start = Stopwatch::start();
    server.stop_accepting();
    server.handle.shutdown();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    assert!(
        start.fair() < Duration::from_millis(300),
        "an idle connection was kept for {:?}",
        start.elapsed()
    );
    assert!(
        TcpStream::connect(server.address).is_err(),
        "still listening"
    );
    body.write_all(b"cd").unwrap();
    let answer = read_to_end(&mut body);
    assert!(
        answer.ends_with("done") && answer.contains("\r\nConnection: close\r\n"),
        "{answer}"
    );
    let answers = read_to_end(&mut slow);
    assert_eq!(answers.matches("done").count(), 2, "{answers}");
    assert_eq!(answers.matches("Connection: close").count(), 1, "{answers}");
    assert_eq!(finished.load(SeqCst), 4);
    let closed = Stopwatch::start();
    drop((idle, slow, body));
    server.stop();
    assert!(
        closed.fair() < Duration::from_millis(500),
        "{:?}",
        closed.elapsed()
    );
}

#[test]
fn shutdown_is_bounded() {
    let server = Server::start(
        Limits {
            shutdown_millis_max: 200,
            ..Limits::default()
        },
        || {
            Rc::new(Function(|_: &Rc<Request>| {
                Answer::Later(Box::pin(std::future::pending()))
            }))
        },
    );
    let mut socket = server.connect();
    socket.write_all(&get("/")).unwrap();
    wait_until("starting", Duration::from_secs(5), || {
        server.handle.requests() == 1
    });
    let start = Stopwatch::start();
    server.stop();
    assert!(
        start.elapsed() >= Duration::from_millis(150) && start.fair() < Duration::from_millis(1500),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(read_to_end(&mut socket), "");
}

#[test]
fn running_out_of_files_is_survived() {
    // The server runs in a process of its own, with the limit set by its shell.
    let this = std::env::current_exe().unwrap();
    // This file is a module of `pumped` too.
    let module = module_path!().split_once("::").map_or("", |(_, rest)| rest);
    let name = match module {
        "" => "serve_with_few_files".to_owned(),
        module => format!("{module}::serve_with_few_files"),
    };
    let command = format!(
        "ulimit -n 64; exec {} --exact {name} --nocapture",
        this.display()
    );
    let mut child = std::process::Command::new("sh")
        .args(["-c", &command])
        .env("SERVE_WITH_FEW_FILES", "yes")
        .stdout(std::process::Stdio::piped())
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let address = lines
        .find_map(|line| line.strip_prefix("address ").map(str::to_owned))
        .unwrap();
    let connect = || {
        let socket = TcpStream::connect(&address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket
    };
    let mut first = connect();
    assert_eq!(ask(&mut first, "/"), "GET / ");
    // The system queues what the server cannot accept; those who are in are served.
    let many: Vec<_> = (0..100).map(|_| connect()).collect();
    assert!(
        lines
            .find(|line| line.starts_with("accepting pauses: "))
            .is_some()
    );
    assert_eq!(ask(&mut first, "/"), "GET / ");
    drop(many);
    assert_eq!(ask(&mut connect(), "/"), "GET / ");
    drop((first, child.stdin.take()));
    let notes = lines
        .filter(|line| line.starts_with("accepting pauses: "))
        .count();
    assert!(notes <= 2, "{notes} further notes for one shortage");
    child.wait().unwrap();
}

/// The server process of the test above: serves until its standard input ends.
#[test]
fn serve_with_few_files() {
    if std::env::var_os("SERVE_WITH_FEW_FILES").is_none() {
        return;
    }
    let server = Server::start_with_notes(Limits::default(), echo(&Arc::default()), |note| {
        println!("{note}")
    });
    println!("address {}", server.address);
    let _ = std::io::stdin().read(&mut [0]);
    server.stop();
}
