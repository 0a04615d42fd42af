//! The common parts of the tests: a server with a handler made on its thread, and clients that speak bytes.
#![allow(dead_code, unreachable_pub, unused_imports)] // each test binary uses its part

pub mod frames;
pub mod http2;
pub mod secure;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

pub use sampan_client::wait;
use sampan_http::{
    Accepting, Acceptor, Answer, Handler, Limits, Observer, Pump, Request, Response, Tls,
    WorkerHandle, Workers,
};

use sampan_client::certificates::Identity;

/// A server on a port of its own with one worker.
pub struct Server {
    pub address: SocketAddr,
    pub handle: WorkerHandle,
    pub workers: Workers,
    accepting: Option<Accepting>,
    /// The certificate of a server whose clients go through a tunnel.
    identity: Option<Identity>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts it; the handler is made on the worker's thread.
    pub fn start<H: Handler>(
        limits: Limits,
        make: impl FnOnce() -> Rc<H> + Send + 'static,
    ) -> Server {
        Server::start_with_notes(limits, make, |note| eprintln!("{note}"))
    }

    pub fn start_with_notes<H: Handler>(
        limits: Limits,
        make: impl FnOnce() -> Rc<H> + Send + 'static,
        note: impl Fn(&str) + Send + 'static,
    ) -> Server {
        if !is_secured() {
            return Server::start_on(limits, None, make, note);
        }
        let identity = Identity::new(&["localhost"]);
        let (tls, _) = Tls::read(secure::settings(&identity)).unwrap();
        let mut server = Server::start_on(limits, Some(tls), make, note);
        server.identity = Some(identity);
        server
    }

    /// Starts it on a port with or without TLS; clients connect as they are.
    pub fn start_on<H: Handler>(
        limits: Limits,
        tls: Option<Tls>,
        make: impl FnOnce() -> Rc<H> + Send + 'static,
        note: impl Fn(&str) + Send + 'static,
    ) -> Server {
        limits.check().unwrap();
        let limits = Arc::new(limits);
        let (handle, worker) = sampan_http::worker(limits.clone());
        let workers = Workers::new(vec![handle.clone()], &limits);
        let acceptor = Acceptor::bind("127.0.0.1:0".parse().unwrap(), &limits).unwrap();
        let address = acceptor.local_addr().unwrap();
        let acceptor = match tls {
            Some(tls) => acceptor.with_tls(tls),
            None => acceptor,
        };
        let accepting = acceptor.start(workers.clone(), note).unwrap();
        let thread = std::thread::spawn(move || run_worker(worker, make()));
        Server {
            address,
            handle,
            workers,
            accepting: Some(accepting),
            identity: None,
            thread: Some(thread),
        }
    }

    pub fn connect(&self) -> TcpStream {
        self.set_up(match &self.identity {
            Some(identity) => identity.tunnel(self.address),
            None => TcpStream::connect(self.address).unwrap(),
        })
    }

    /// Connects for HTTP/2: over TLS by its handshake, else with prior knowledge.
    pub fn connect_http2(&self) -> TcpStream {
        self.set_up(match &self.identity {
            Some(identity) => identity.tunnel_for_http2(self.address),
            None => TcpStream::connect(self.address).unwrap(),
        })
    }

    fn set_up(&self, socket: TcpStream) -> TcpStream {
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        socket.set_nodelay(true).unwrap();
        socket
    }

    /// Sends bytes on a connection of its own and reads to the end.
    pub fn exchange(&self, bytes: &[u8]) -> String {
        let mut socket = self.connect();
        socket.write_all(bytes).unwrap();
        read_to_end(&mut socket)
    }

    pub fn stop_accepting(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.stop();
        }
    }

    /// Shuts down and waits for the worker's thread.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop_accepting();
        self.handle.shutdown();
        if let Some(thread) = self.thread.take() {
            let result = thread.join();
            if !std::thread::panicking() {
                result.unwrap();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Serves on this thread: on tokio, or on a pump in the tests of `pumped.rs` and `secured/pumped.rs`.
pub fn run_worker<H: Handler>(worker: sampan_http::Worker, handler: Rc<H>) {
    let worker = worker.with_h2c(module_path!().contains("::http2::"));
    if module_path!().contains("::pumped::") {
        return run_on_pump(worker, handler);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, worker.run(handler));
}

/// Handlers may use tokio's timers and local tasks there too: another thread keeps the time.
fn run_on_pump<H: Handler>(worker: sampan_http::Worker, handler: Rc<H>) {
    let timers = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let handle = timers.handle().clone();
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let keeper = std::thread::spawn(move || drop(timers.block_on(ended)));
    let _entered = handle.enter();
    let tasks = tokio::task::LocalSet::new();
    let _tasks_entered = tasks.enter();
    let pump = Pump::new().unwrap();
    let served = worker.run_on(pump.clone(), handler);
    pump.run_until(async move { tasks.run_until(served).await })
        .unwrap();
    drop(end);
    keeper.join().unwrap();
}

/// Reports whether clients go through a tunnel to a server that speaks TLS: in the tests of `secured/`.
pub fn is_secured() -> bool {
    module_path!().contains("::secured")
}

/// Runs a test in a process of its own, for what counts per process. True within that process: there the test goes on.
pub fn is_alone(module: &str, test: &str) -> bool {
    const ALONE: &str = "SAMPAN_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let (_, module) = module.split_once("::").expect("a module of this program");
    let name = format!("{module}::{test}");
    let this = std::env::current_exe().expect("a test has an executable");
    let mut command = std::process::Command::new(this);
    command.args(["--exact", &name]).env(ALONE, "yes");
    let output = command.output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}"
    );
    false
}

/// A handler made of a function.
pub struct Function<F>(pub F);

impl<F: Fn(&Rc<Request>) -> Answer + 'static> Handler for Function<F> {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        (self.0)(request)
    }

    fn panicked(&self, _message: &str) {}
}

/// Answers `METHOD path body` and counts its calls.
pub struct Echo(Arc<AtomicUsize>);

pub fn echo(calls: &Arc<AtomicUsize>) -> impl FnOnce() -> Rc<Echo> + Send + 'static + use<> {
    let calls = calls.clone();
    move || Rc::new(Echo(calls))
}

impl Handler for Echo {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        self.0.fetch_add(1, SeqCst);
        let mut text = format!("{} {} ", request.method_str(), request.path()).into_bytes();
        text.extend_from_slice(request.body());
        Answer::Now(with_body(text))
    }
}

pub fn with_body(body: impl Into<Vec<u8>>) -> Response {
    let mut response = Response::new(200);
    response.content_type("text/plain");
    *response.body_mut() = body.into();
    response
}

/// Reads until the other side closes. A reset counts as an end after what had arrived.
pub fn read_to_end(socket: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut part = [0u8; 4096];
    loop {
        match socket.read(&mut part) {
            Ok(0) => break,
            Ok(len) => all.extend_from_slice(&part[..len]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&all)),
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Reads one response with a Content-Length: head and body.
pub fn read_response(socket: &mut TcpStream) -> (String, String) {
    let mut head = Vec::new();
    let mut byte = [0u8];
    while !head.ends_with(b"\r\n\r\n") {
        assert_eq!(
            socket.read(&mut byte).unwrap(),
            1,
            "ended in a head: {:?}",
            String::from_utf8_lossy(&head)
        );
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |value| value.parse().unwrap());
    let mut body = vec![0; length];
    socket.read_exact(&mut body).unwrap();
    (head, String::from_utf8_lossy(&body).into_owned())
}

/// The status of a response text.
pub fn status(response: &str) -> u16 {
    response
        .get(9..12)
        .and_then(|digits| digits.parse().ok())
        .unwrap_or_else(|| panic!("no response: {response:?}"))
}

/// A GET of this path.
pub fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").into_bytes()
}

/// Resident memory of a process in KiB.
pub fn rss_kib(process: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Lets the worker have some turns, by requests of another client: what it could do before, it has done.
pub fn some_turns(server: &Server) {
    let mut socket = server.connect();
    for _ in 0..5 {
        socket.write_all(&get("/turn")).unwrap();
        read_response(&mut socket);
    }
}

/// Waits for another turn of the worker.
pub async fn later() {
    let mut is_later = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut is_later, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
