//! The life of workers and acceptor: capacity, balance, shutdown, workers that are stuck.

mod common;

use std::io::{BufRead, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use common::*;
use sampan_client::ports;
use sampan_http::{Acceptor, Answer, Limits, Opening, Request, WorkerHandle, Workers};

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
    wait::until("accepting", || server.handle.connections() == 3);
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
    wait::until("closing", || {
        server.handle.connections() == 2 && server.handle.refused() == 0
    });
    assert!(
        server
            .exchange(b"GET / HTTP/1.0\r\n\r\n")
            .ends_with("GET / ")
    );
}

/// Several workers behind one acceptor, each answering with its number; `/stuck` blocks its thread until the end of the
/// test.
fn start_many(
    count: usize,
    limits: Limits,
) -> (
    Vec<WorkerHandle>,
    Workers,
    sampan_http::Accepting,
    Vec<JoinHandle<()>>,
    Arc<AtomicBool>,
) {
    let limits = Arc::new(limits);
    let is_free = Arc::default();
    let (handles, threads) = (0..count)
        .map(|number| start_one(&limits, number, &is_free))
        .unzip::<_, _, Vec<_>, Vec<_>>();
    let workers = Workers::new(handles.clone(), &limits);
    let acceptor = Acceptor::bind("[::1]:0".parse().unwrap(), &limits).unwrap();
    let accepting = acceptor
        .start(workers.clone(), |note| eprintln!("{note}"))
        .unwrap();
    (handles, workers, accepting, threads, is_free)
}

fn start_one(
    limits: &Arc<Limits>,
    number: usize,
    is_free: &Arc<AtomicBool>,
) -> (WorkerHandle, JoinHandle<()>) {
    let (handle, worker) = sampan_http::worker(limits.clone());
    let is_free = is_free.clone();
    let thread = std::thread::spawn(move || {
        run_worker(
            worker,
            Rc::new(Function(move |request: &Rc<Request>| {
                if request.path() == "/stuck" {
                    wait::until("the end of the test", || is_free.load(SeqCst));
                }
                Answer::Now(with_body(number.to_string()))
            })),
        );
    });
    (handle, thread)
}

#[test]
fn all_addresses_of_both_families_share_a_port() {
    let limits = Limits::default();
    let port = ports::free();
    let four: SocketAddr = format!("0.0.0.0:{port}").parse().unwrap();
    let six: SocketAddr = format!("[::]:{port}").parse().unwrap();
    for list in [[four, six], [six, four]] {
        let bind = |address: SocketAddr| Acceptor::bind_beside(address, list, &limits).unwrap();
        let acceptors = list.map(bind);
        assert_eq!(acceptors.map(|one| one.local_addr().unwrap()), list);
    }
    // Alone it is for clients of IPv4 too.
    let _alone = Acceptor::bind_beside(six, [six], &limits).unwrap();
    let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
}

#[test]
fn a_socket_of_two_processes_goes_on_when_one_stops() {
    let (_, workers, first, threads, _) = start_many(1, Limits::default());
    let address = first.local_addr().unwrap();
    let shared = first.socket().duplicate().unwrap().unwrap();
    let noted = Arc::new(AtomicUsize::new(0));
    let count = noted.clone();
    let second = Acceptor::from_handed_over(shared).unwrap();
    let second = second
        .start(workers.clone(), move |_| {
            count.fetch_add(1, SeqCst);
        })
        .unwrap();
    first.stop();
    for _ in 0..3 {
        assert_eq!(ask(&mut TcpStream::connect(address).unwrap(), "/"), "0");
    }
    assert_eq!(noted.load(SeqCst), 0, "accepting never pauses");
    second.stop();
    workers.shutdown();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn ask(socket: &mut TcpStream, path: &str) -> String {
    socket.write_all(&get(path)).unwrap();
    read_response(socket).1
}

#[test]
fn connections_are_balanced() {
    let (handles, workers, accepting, threads, _) = start_many(3, Limits::default());
    let connect = |_| {
        // On a busy machine a worker may be late, and then another gets the connection.
        wait::until("ticks", || handles.iter().all(WorkerHandle::is_responsive));
        let mut socket = TcpStream::connect(accepting.local_addr().unwrap()).unwrap();
        ask(&mut socket, "/");
        socket
    };
    let sockets: Vec<_> = (0..30).map(connect).collect();
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
    let (handles, workers, accepting, mut threads, is_free) = start_many(2, limits.clone());
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
    wait::until("being stuck", || !handles[stuck].is_responsive());
    assert!(handles[stuck].last_tick_millis() >= 50);
    let served = (0..10).filter(|_| {
        wait::until("ticking", || handles[1 - stuck].is_responsive());
        let mut fresh = connect();
        let time_max = Some(Duration::from_secs(4));
        fresh.set_read_timeout(time_max).unwrap();
        fresh.write_all(&get("/")).unwrap();
        let is_served = fresh.read(&mut [0]).is_ok_and(|count| count == 1);
        more.push(fresh);
        is_served
    });
    // On a busy machine the other one may be late too just when a connection comes.
    let served = served.count();
    assert!(served >= 7, "{served} of 10");
    // Given up, its clients see the end while its handler goes on, and a fresh one takes its place.
    let (fresh, thread) = start_one(&Arc::new(limits), 7, &is_free);
    threads.push(thread);
    let old = workers.replace(stuck, fresh).unwrap();
    old.abandon();
    assert_eq!(read_to_end(&mut one), "");
    assert!(
        old.give(connect(), Opening::default()).is_err(),
        "it takes no more"
    );
    let mut last: Vec<_> = (0..20).map(|_| connect()).collect();
    assert!(
        last.iter_mut().any(|socket| ask(socket, "/") == "7"),
        "the fresh worker serves"
    );
    drop((last, more, one, two));
    accepting.stop();
    workers.shutdown();
    is_free.store(true, SeqCst);
    // The stuck one ends too once its handler has returned.
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn shutdown_finishes_what_is_in_flight() {
    let (finished, is_free) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let (counter, gate) = (finished.clone(), is_free.clone());
    let mut server = Server::start(Limits::default(), move || {
        Rc::new(Function(move |request: &Rc<Request>| {
            let (counter, gate) = (counter.clone(), gate.clone());
            let is_slow = request.path() == "/slow";
            Answer::Later(Box::pin(async move {
                let is_over = || !is_slow || gate.load(SeqCst);
                wait::until_async("the end of the slow one", is_over).await;
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
    wait::until("starting", || {
        server.handle.requests() == 2 && server.handle.connections() == 3
    });
    server.stop_accepting();
    server.handle.shutdown();
    // Although another is in flight.
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
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
    is_free.store(true, SeqCst);
    let answers = read_to_end(&mut slow);
    assert_eq!(answers.matches("done").count(), 2, "{answers}");
    assert_eq!(answers.matches("Connection: close").count(), 1, "{answers}");
    assert_eq!(finished.load(SeqCst), 4);
    drop((idle, slow, body));
    server.stop();
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
    wait::until("starting", || server.handle.requests() == 1);
    server.stop();
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
    let note = |note: &str| println!("{note}");
    let server = Server::start_on(Limits::default(), None, echo(&Arc::default()), note);
    println!("address {}", server.address);
    let _ = std::io::stdin().read(&mut [0]);
    server.stop();
}
