//! A connection of HTTP/2 with any frames, on a real socket: the server does not panic, the connection ends, and
//! nothing of it stays in memory.
//!
//! The bytes are a list of frames: kind, flags, stream, length of the payload, payload. Lengths are those of the frames,
//! so that mutations reach what lies behind the first frame. A kind of 128 or more repeats the frame.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sampan_http::codec::Fault;
use sampan_http::{
    Acceptor, Answer, Body, BodyError, BodyRule, BodyStream, Chunk, Handler, Limits, Observer,
    Request, Response, WorkerHandle, Workers, worker,
};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The frames that one with a kind of 128 or more becomes.
const REPEATED: usize = 64;

/// The longest time that a connection may last, in seconds. Its deadlines are much shorter.
const CONNECTION_SECONDS_MAX: u64 = 60;

/// The memory that the process may have more than at first, in KiB.
const GROWN_KIB_MAX: u64 = 512 * 1024;

/// Heads of GET and POST, by the static table and by literals; then frames of each kind.
pub(crate) const WORDS: &[&[u8]] = &[
    b"\x01\x05\x01\x07\x82\x84\x87\x41\x02h1",
    b"\x01\x04\x01\x07\x83\x84\x87\x41\x02h1",
    b"\x01\x04\x03\x0e\x83\x04\x07/stream\x87\x41\x01h",
    b"\x01\x05\x05\x0d\x82\x04\x06/later\x87\x41\x01h",
    b"\x00\x01\x01\x05hello",
    b"\x80\x00\x03\x05hello",
    b"\x03\x00\x01\x04\x00\x00\x00\x08",
    b"\x04\x00\x00\x06\x00\x04\x00\x00\x00\x00",
    b"\x04\x01\x00\x00",
    b"\x06\x00\x00\x0812345678",
    b"\x07\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00",
    b"\x08\x00\x01\x04\x00\x00\x40\x00",
    b"\x09\x04\x01\x00",
    b"\x02\x00\x01\x05\x00\x00\x00\x00\x01",
    b"\x40\x06cookie\x03a=b",
    b"\xbe\xbe\xbe\xbe",
];

pub(crate) fn run(bytes: &[u8]) {
    static SERVER: OnceLock<FuzzedServer> = OnceLock::new();
    let server = SERVER.get_or_init(FuzzedServer::start);
    let mut socket = TcpStream::connect(server.address).expect("it listens");
    let time_max = Duration::from_secs(CONNECTION_SECONDS_MAX);
    socket.set_read_timeout(Some(time_max)).expect("a time");
    socket.set_write_timeout(Some(time_max)).expect("a time");
    let frames = [PREFACE, &frames_of(bytes)].concat();
    // A server that has had enough closes before all is sent.
    let _ = socket.write_all(&frames);
    let _ = socket.shutdown(Shutdown::Write);
    let mut space = [0; 16 * 1024];
    loop {
        match socket.read(&mut space) {
            Ok(1..) => {}
            Ok(0) => break,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("the connection does not end: {error}"),
        }
    }
    drop(socket);
    let end = Instant::now() + time_max;
    while server.handle.connections() > 0 {
        assert!(!server.thread.is_finished(), "the worker has panicked");
        assert!(Instant::now() < end, "the connection stays");
        std::thread::yield_now();
    }
    assert_eq!(server.handle.unsent().bytes(), 0, "bytes are still counted");
    let grown = resident_kib().saturating_sub(server.resident_kib);
    assert!(grown < GROWN_KIB_MAX, "{grown} KiB more");
}

/// The frames that the bytes stand for.
fn frames_of(mut bytes: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    while let [kind, flags, stream, len, rest @ ..] = bytes {
        let (payload, after) = rest.split_at(usize::from(*len).min(rest.len()));
        bytes = after;
        let times = if *kind >= 128 { REPEATED } else { 1 };
        for _ in 0..times {
            frames.extend([
                0,
                0,
                payload.len() as u8,
                kind % 128,
                *flags,
                0,
                0,
                0,
                *stream,
            ]);
            frames.extend(payload);
        }
    }
    frames
}

/// A server that lives as long as the process.
struct FuzzedServer {
    address: SocketAddr,
    handle: WorkerHandle,
    thread: JoinHandle<()>,
    resident_kib: u64,
}

impl FuzzedServer {
    fn start() -> Self {
        let limits = Arc::new(Limits {
            head_millis_max: 200,
            body_idle_millis_max: 200,
            write_idle_millis_max: 200,
            idle_millis_max: 200,
            handler_millis_max: 200,
            stream_idle_millis_max: 200,
            linger_millis_max: 200,
            linger_idle_millis_max: 100,
            ..Limits::default()
        });
        let (handle, worker) = worker(Arc::clone(&limits));
        let worker = worker.with_h2c(true);
        let workers = Workers::new(vec![handle.clone()], &limits);
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let acceptor = Acceptor::bind(address, &limits).expect("a port");
        let address = acceptor.local_addr().expect("bound");
        let accepting = acceptor.start(workers, |_| {}).expect("a thread");
        let thread = std::thread::spawn(move || {
            let _accepting = accepting;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            let served = worker.run(Rc::new(Echo));
            tokio::task::LocalSet::new().block_on(&runtime, served);
        });
        Self {
            address,
            handle,
            thread,
            resident_kib: resident_kib(),
        }
    }
}

/// Answers with the body of the request; `/later` in a later turn, `/stream` as it comes.
struct Echo;

impl Handler for Echo {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        if request.is_streamed() {
            let mut response = Response::new(200);
            response.set_body(Body::Stream(Box::new(EchoStream(Rc::clone(request)))));
            return Answer::Now(response);
        }
        let mut response = Response::new(200);
        *response.body_mut() = request.body().to_vec();
        if request.path() == "/later" {
            return Answer::Later(Box::pin(async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Answer::Now(response)
            }));
        }
        Answer::Now(response)
    }

    fn body_rule(&self, request: &Request) -> BodyRule {
        BodyRule {
            bytes_max: None,
            is_streamed: request.path() == "/stream",
        }
    }

    fn refuse_body(&self, _: &Rc<Request>, fault: Fault, _: Option<Rc<dyn Observer>>) -> Answer {
        Answer::Now(Response::new(fault.status))
    }

    fn panicked(&self, message: &str) {
        panic!("{message}");
    }
}

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

/// The resident memory of this process.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or_default()
}
