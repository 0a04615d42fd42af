//! The resource use of the process: idle connections cost little, an idle worker sleeps, and clients that go away
//! leave nothing behind. A test binary of its own, and its tests one after the other, because of that view.

#[path = "it/common/mod.rs"]
mod common;

use std::future::pending;
use std::io::Write;
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use common::*;
use sampan_http::{Answer, Limits, Request};

fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn clients_that_go_away_take_their_handlers_with_them() {
    let _alone = alone();
    let (started, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (started.clone(), dropped.clone());
    let server = Server::start(Limits::default(), move || {
        Rc::new(Function(move |request: &Rc<Request>| {
            counters.0.fetch_add(1, SeqCst);
            let (guard, kept) = (CountDrop(counters.1.clone()), request.clone());
            // Something with a size, so that a leak of 10,000 of them shows.
            let state = vec![1u8; 16 * 1024];
            Answer::Later(Box::pin(async move {
                let _kept = (guard, kept, state);
                pending().await
            }))
        }))
    });
    let mut asked = 0;
    let mut round = || {
        let sockets: Vec<_> = (0..100)
            .map(|number| {
                let mut socket = server.connect();
                socket.write_all(&get("/wait")).unwrap();
                if number % 2 == 0 {
                    // A pipelined request behind it must not hide that the client is gone.
                    socket.write_all(&get("/behind")).unwrap();
                }
                socket
            })
            .collect();
        asked += 100;
        wait::until("starting", || started.load(SeqCst) == asked);
        drop(sockets);
        wait::until("dropping", || {
            dropped.load(SeqCst) == asked && server.handle.connections() == 0
        });
    };
    (0..20).for_each(|_| round());
    let before = rss_kib("self");
    (0..100).for_each(|_| round());
    let grown = rss_kib("self").saturating_sub(before);
    assert!(
        grown < 2 * 1024,
        "RSS grew by {grown} KiB over 10,000 clients"
    );
}

/// With the clients in another process (see [`hold_connections`]), so that only the server's side is seen.
#[test]
fn idle_connections_own_no_buffers() {
    let _alone = alone();
    const CLIENTS: usize = 8_000;
    let mut limits = Limits {
        connections_max: CLIENTS + 100,
        idle_millis_max: 120_000,
        ..Limits::default()
    };
    if let Ok(Some(note)) = sampan_http::raise_open_files(&mut limits, 200, 0) {
        eprintln!("{note}");
    }
    let clients = CLIENTS.min(limits.connections_max);
    let server = Server::start(limits, echo(&Arc::default()));
    let warm: Vec<TcpStream> = (0..50).map(|_| served(&server)).collect();
    drop(warm);
    wait::until("closing", || server.handle.connections() == 0);
    let before = rss_kib("self");
    let mut child = spawn_clients(&server, clients, true);
    wait::until("connecting", || {
        server.handle.requests() >= 50 + clients as u64
    });
    let each = || rss_kib("self").saturating_sub(before) as f64 * 1024.0 / clients as f64;
    assert_eq!(server.handle.connections(), clients);
    wait::until("less than 2 KiB of resident memory each", || {
        each() < 2_048.0
    });
    println!(
        "{clients} idle connections: {:.0} bytes of resident memory each",
        each()
    );
    child.kill().unwrap();
    child.wait().unwrap();
    wait::until("closing", || server.handle.connections() == 0);
}

#[test]
fn ten_thousand_silent_clients_are_closed_while_others_are_served() {
    let _alone = alone();
    let mut limits = Limits {
        connections_max: 10_100,
        head_millis_max: 3_000,
        ..Limits::default()
    };
    if let Ok(Some(note)) = sampan_http::raise_open_files(&mut limits, 200, 0) {
        eprintln!("{note}");
    }
    let clients = 10_000.min(limits.connections_max - 10);
    let server = Server::start(limits, echo(&Arc::default()));
    let mut other = served(&server);
    let mut child = spawn_clients(&server, clients, false);
    let mut most = 0;
    // They come, say nothing and are closed; all the time the other one is served.
    wait::until("coming and going", || {
        other.write_all(&get("/other")).unwrap();
        assert_eq!(read_response(&mut other).1, "GET /other ");
        most = most.max(server.handle.connections());
        most >= clients / 2 && server.handle.connections() == 1
    });
    assert!(
        child.wait().unwrap().success(),
        "the clients were not closed silently"
    );
}

/// Ticks end where nothing happens: an idle process sleeps, and still counts as alive.
/// Twenty clients that do not read a file of 10 MB cost less memory than one copy of it.
#[test]
fn a_file_that_waits_for_its_client_takes_no_memory() {
    const LEN: u64 = 10 * 1024 * 1024;
    let _alone = alone();
    let path = std::env::temp_dir().join(format!("sampan-waiting-{}", std::process::id()));
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path)
        .unwrap();
    std::fs::remove_file(&path).unwrap();
    file.set_len(LEN).unwrap();
    let file = Arc::new(file);
    let server = Server::start(Limits::default(), move || {
        Rc::new(Function(move |_: &Rc<Request>| {
            let mut response = sampan_http::Response::new(200);
            response.set_body(sampan_http::Body::File(sampan_http::FilePart {
                file: file.clone(),
                start: 0,
                len: LEN,
            }));
            Answer::Now(response)
        }))
    });
    let before = rss_kib("self");
    let mut sockets: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for socket in &mut sockets {
        socket.write_all(&get("/file")).unwrap();
    }
    wait::until("asking", || server.handle.requests() == 20);
    let grown = wait::settled("memory", || rss_kib("self").saturating_sub(before));
    assert!(grown < 5 * 1024, "{grown} KiB for files that wait");
    let mut received = vec![0; LEN as usize];
    std::io::Read::read_exact(&mut sockets[7], &mut received).unwrap();
}

#[test]
fn an_idle_worker_sleeps() {
    let _alone = alone();
    let server = Server::start(Limits::default(), echo(&Arc::default()));
    let mut socket = served(&server);
    // A worker that ticks each 20 ms never comes to rest.
    wait::until("a rest of 200 ms", || {
        let before = server_switches();
        wait::dawdle(Duration::from_millis(200));
        server_switches() == before
    });
    assert!(server.handle.is_responsive());
    // The clock does not stand still meanwhile.
    let date = |head: &str| {
        head.lines()
            .find_map(|line| line.strip_prefix("Date: ").map(str::to_owned))
            .unwrap()
    };
    socket.write_all(&get("/")).unwrap();
    let first = date(&read_response(&mut socket).0);
    wait::until("another second", || {
        socket.write_all(&get("/")).unwrap();
        date(&read_response(&mut socket).0) != first
    });
}

/// Returns the number of times that the other threads of this process went to sleep so far.
fn server_switches() -> u64 {
    let own = std::fs::read_link("/proc/thread-self").unwrap();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let others = tasks.filter(|task| Some(&*task.file_name()) != own.file_name());
    let statuses =
        others.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let counts = statuses.filter_map(|status| {
        let line = status
            .lines()
            .find(|line| line.starts_with("voluntary_ctxt_switches:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    counts.sum()
}

/// A connection on which one request has been served.
fn served(server: &Server) -> TcpStream {
    let mut socket = server.connect();
    socket.write_all(&get("/")).unwrap();
    read_response(&mut socket);
    socket
}

/// Starts this test binary again as a client process, see [`hold_connections`].
fn spawn_clients(server: &Server, clients: usize, ask: bool) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_connections", "--nocapture"])
        .env(
            "HOLD_CONNECTIONS",
            format!("{} {clients} {ask}", server.address),
        )
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// In the client process: opens connections, asks once on each or says nothing, then waits until the server
/// closes them, which must happen without a byte. As an ordinary test it has nothing to do.
#[test]
fn hold_connections() {
    let Ok(order) = std::env::var("HOLD_CONNECTIONS") else {
        return;
    };
    let words: Vec<&str> = order.split(' ').collect();
    let (clients, ask) = (words[1].parse::<usize>().unwrap(), words[2] == "true");
    let mut limits = Limits {
        connections_max: clients,
        refused_max: 0,
        ..Limits::default()
    };
    sampan_http::raise_open_files(&mut limits, 0, 0).expect("enough files");
    let sockets: Vec<TcpStream> = (0..clients)
        .map(|_| {
            let mut socket = TcpStream::connect(words[0]).unwrap();
            if ask {
                socket.write_all(&get("/")).unwrap();
                read_response(&mut socket);
            }
            socket
        })
        .collect();
    for mut socket in sockets {
        assert_eq!(read_to_end(&mut socket), "");
    }
}
