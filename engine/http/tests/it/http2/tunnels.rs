//! Streams of HTTP/2 that a handler takes over (RFC 8441).

use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::ext::Protocol;
use h2::{Reason, RecvStream, SendStream};
use http::Request as Asked;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::common::http2::{Client, get, read_body};
use super::common::*;
use sampan_http::{Answer, Limits, LocalFuture, Request, Upgrade, Upgraded};

/// The ends that the handlers of tunnels have seen.
type Ends = Arc<Mutex<Vec<String>>>;

async fn echo_capitals(mut socket: Upgraded) -> io::Result<String> {
    let mut bytes = [0; 1000];
    loop {
        let len = socket.read(&mut bytes).await?;
        if len == 0 {
            socket.shutdown().await?;
            return Ok("the client's end".to_owned());
        }
        bytes[..len].make_ascii_uppercase();
        socket.write_all(&bytes[..len]).await?;
        if bytes[..len].contains(&b'!') {
            socket.shutdown().await?;
            return Ok("our end".to_owned());
        }
    }
}

/// Writes as much as the client takes; `written` counts it.
async fn write_on(mut socket: Upgraded, written: Arc<AtomicUsize>) -> io::Result<String> {
    loop {
        let len = socket.write(&[b'x'; 10_000]).await?;
        written.fetch_add(len, SeqCst);
    }
}

/// The time after which a tunnel ends that waits for one.
const TIME_MILLIS: u64 = 200;

/// Waits for the worker's end, or for a time.
async fn wait_for_end(socket: Upgraded, is_for_time: bool) -> io::Result<String> {
    let mut socket = pin!(socket);
    let began = socket.now_millis();
    std::future::poll_fn(|cx| {
        let is_late = is_for_time && socket.now_millis() >= began + TIME_MILLIS;
        if socket.is_draining() || is_late {
            return Poll::Ready(());
        }
        if is_for_time {
            socket.wake_at(began + TIME_MILLIS);
        }
        // It has the stream polled for nothing else.
        let _ = cx;
        Poll::Pending
    })
    .await;
    let shut = std::future::poll_fn(|cx| Pin::new(&mut *socket).poll_shutdown(cx));
    shut.await?;
    Ok("the end".to_owned())
}

/// Says that so many bytes wait for the client, until that ends the tunnel.
async fn hold(mut socket: Upgraded, bytes: usize) -> io::Result<String> {
    socket.note_unsent(bytes, false);
    let len = socket.read(&mut [0; 10]).await?;
    Ok(format!("{len} bytes"))
}

struct Tunnels {
    server: Server,
    ends: Ends,
    written: Arc<AtomicUsize>,
}

fn start() -> Tunnels {
    start_with(Limits::default())
}

fn start_with(limits: Limits) -> Tunnels {
    let (ends, written) = (Ends::default(), Arc::new(AtomicUsize::new(0)));
    let (of_handler, counted) = (Arc::clone(&ends), Arc::clone(&written));
    let server = Server::start(limits, move || {
        Rc::new(Function(move |request: &Rc<Request>| {
            let path = request.path().to_owned();
            if path == "/plain" || !request.is_extended_connect() {
                let text = format!("{} {}", request.method_str(), request.is_extended_connect());
                return Answer::Now(with_body(text));
            }
            let (ends, written) = (Arc::clone(&of_handler), Arc::clone(&counted));
            let take = move |socket| -> LocalFuture<()> {
                assert!(path != "/panic-at-once", "as asked");
                Box::pin(async move {
                    assert!(path != "/panic", "as asked");
                    let ended = match path.as_str() {
                        "/hold" => hold(socket, 5_000_000).await,
                        "/write" => write_on(socket, written).await,
                        "/end" => wait_for_end(socket, false).await,
                        "/time" => wait_for_end(socket, true).await,
                        _ => echo_capitals(socket).await,
                    };
                    let ended = ended.unwrap_or_else(|error| error.kind().to_string());
                    ends.lock().unwrap().push(ended);
                })
            };
            let mut upgrade = Upgrade::new("websocket", take).unwrap();
            upgrade.header(b"X-A", b"b").unwrap();
            Answer::Upgrade(Box::new(upgrade))
        }))
    });
    Tunnels {
        server,
        ends,
        written,
    }
}

impl Tunnels {
    fn client(&self) -> Client {
        let mut builder = h2::client::Builder::new();
        builder.initial_connection_window_size(1 << 20);
        let client = Client::with(&self.server, &mut builder);
        client.wait(async {
            let is_on = || client.requests.is_extended_connect_protocol_enabled();
            wait::until_async("the settings", is_on).await;
        });
        client
    }

    fn wait_for(&self, client: &Client, ends: &[&str]) {
        client.wait(async {
            wait::until_async("the ends", || *self.ends.lock().unwrap() == ends).await;
        });
    }
}

fn connect(path: &str, protocol: &'static str) -> Asked<()> {
    let request = Asked::connect(format!("https://h{path}"));
    let request = request.extension(Protocol::from_static(protocol));
    request.body(()).unwrap()
}

/// Opens a tunnel.
fn open(client: &mut Client, path: &str) -> (SendStream<Bytes>, RecvStream) {
    let (response, sending) = client.send(connect(path, "websocket"), false);
    let (head, receiving) = client.wait(response).unwrap().into_parts();
    assert_eq!(head.status, 200);
    assert_eq!(head.headers["x-a"], "b");
    assert!(!head.headers.contains_key("upgrade"));
    (sending, receiving)
}

fn status_of(client: &Client, response: ResponseFuture) -> u16 {
    client.wait(response).unwrap().status().as_u16()
}

async fn read_exactly(stream: &mut RecvStream, len: usize) -> Vec<u8> {
    let mut read = Vec::new();
    while read.len() < len {
        let bytes = stream.data().await.expect("more").unwrap();
        stream.flow_control().release_capacity(bytes.len()).unwrap();
        read.extend_from_slice(&bytes);
    }
    read
}

#[test]
fn bytes_go_both_ways_beside_other_requests() {
    let tunnels = start();
    let mut client = tunnels.client();
    let (mut sending, mut receiving) = open(&mut client, "/");
    let (mut other, mut of_other) = open(&mut client, "/");
    sending
        .send_data(Bytes::from_static(b"one"), false)
        .unwrap();
    other.send_data(Bytes::from_static(b"two"), false).unwrap();
    assert_eq!(client.wait(read_exactly(&mut of_other, 3)), b"TWO");
    assert_eq!(client.wait(read_exactly(&mut receiving, 3)), b"ONE");
    assert_eq!(client.get("/seen").text(), "GET false");
    // More than all windows, both ways.
    let large = Bytes::from(vec![b'x'; 3_000_000]);
    let echoed = client.wait(async {
        sending.send_data(large, true).unwrap();
        read_body(receiving).await.unwrap()
    });
    assert!(echoed.len() == 3_000_000 && echoed.iter().all(|byte| *byte == b'X'));
    tunnels.wait_for(&client, &["the client's end"]);
    other.send_data(Bytes::from_static(b"!"), false).unwrap();
    assert_eq!(client.wait(read_body(of_other)).unwrap(), b"!");
    tunnels.wait_for(&client, &["the client's end", "our end"]);
    assert_eq!(client.get("/seen").text(), "GET false");
}

#[test]
fn other_answers_and_protocols_open_nothing() {
    let tunnels = start();
    let mut client = tunnels.client();
    for (path, protocol, is_last, status) in [
        ("/plain", "websocket", false, 400),
        ("/", "connect-udp", false, 501),
        ("/", "websocket", true, 400),
    ] {
        let (response, _sending) = client.send(connect(path, protocol), is_last);
        assert_eq!(status_of(&client, response), status, "{path} {protocol}");
    }
    let asked = connect("/", "websocket");
    let (mut parts, ()) = asked.into_parts();
    parts.headers.insert("content-length", "3".parse().unwrap());
    let (response, _sending) = client.send(Asked::from_parts(parts, ()), false);
    assert_eq!(status_of(&client, response), 400);
    assert_eq!(client.ask(get("/")).text(), "GET false");
    assert!(tunnels.ends.lock().unwrap().is_empty());
}

#[test]
fn resets_panics_and_lost_connections_end_their_tunnels_alone() {
    let tunnels = start();
    let mut client = tunnels.client();
    let (mut sending, _receiving) = open(&mut client, "/");
    let (_kept, _of_kept) = open(&mut client, "/");
    sending.send_reset(Reason::CANCEL);
    tunnels.wait_for(&client, &["connection reset"]);
    for path in ["/panic", "/panic-at-once"] {
        let (response, _sending) = client.send(connect(path, "websocket"), false);
        let error = client.try_read(response).unwrap_err();
        assert_eq!(error.reason(), Some(Reason::CANCEL), "{path}");
    }
    assert_eq!(client.get("/seen").text(), "GET false");
    drop(client);
    // The other one ends with its connection, and can still do what it does at its end.
    wait::until("the ends", || tunnels.ends.lock().unwrap().len() == 2);
    wait::until("the connection", || {
        tunnels.server.handle.connections() == 0
    });
}

#[test]
fn bytes_that_tunnels_hold_are_counted_while_they_live() {
    let tunnels = start();
    let mut client = tunnels.client();
    let unsent = || tunnels.server.handle.unsent().bytes();
    let (mut first, _of_first) = open(&mut client, "/hold");
    let (_second, _of_second) = open(&mut client, "/hold");
    client.wait(async {
        wait::until_async("both", || unsent() >= 10_000_000).await;
        first.send_data(Bytes::from_static(b"end"), true).unwrap();
        wait::until_async("one", || (5_000_000..10_000_000).contains(&unsent())).await;
    });
    drop(client);
    wait::until("none", || unsent() == 0);
}

#[test]
fn a_client_that_does_not_read_stops_its_tunnel_alone() {
    let tunnels = start();
    let mut client = tunnels.client();
    let (_sending, mut receiving) = open(&mut client, "/write");
    let first = client.wait(receiving.data()).unwrap().unwrap();
    assert!(!first.is_empty());
    // The client has the window of one stream, and the server what it takes ahead.
    let mut before = usize::MAX;
    client.wait(async {
        wait::until_async("the stop", || {
            let now = tunnels.written.load(SeqCst);
            std::mem::replace(&mut before, now) == now
        })
        .await;
    });
    assert!(before < 300_000, "{before}");
    assert_eq!(client.get("/seen").text(), "GET false");
    let taken = client.wait(read_exactly(&mut receiving, 1_000_000));
    assert!(taken.len() >= 1_000_000);
}

#[test]
fn times_and_the_worker_s_end_reach_a_tunnel() {
    // A connection with tunnels is not idle, although nothing comes or goes.
    let limits = Limits {
        idle_millis_max: TIME_MILLIS / 2,
        write_idle_millis_max: TIME_MILLIS / 2,
        ..Limits::default()
    };
    let tunnels = start_with(limits);
    let mut client = tunnels.client();
    let (_sending, receiving) = open(&mut client, "/end");
    let (_sending_too, for_a_time) = open(&mut client, "/time");
    assert_eq!(client.wait(read_body(for_a_time)).unwrap(), b"");
    tunnels.server.handle.shutdown();
    assert_eq!(client.wait(read_body(receiving)).unwrap(), b"");
    tunnels.wait_for(&client, &["the end", "the end"]);
    let Tunnels { server, .. } = tunnels;
    server.stop();
}

#[test]
fn a_crowd_of_tunnels_is_let_go_one_after_the_other() {
    const CROWD: usize = 100;
    let limits = Limits {
        // More than half a minute for each.
        drain_millis: 3_600_000,
        ..Limits::default()
    };
    let tunnels = start_with(limits);
    let mut client = tunnels.client();
    let streams: Vec<_> = (0..CROWD).map(|_| open(&mut client, "/end")).collect();
    tunnels.server.handle.leave();
    let ended = || tunnels.ends.lock().unwrap().len();
    client.wait(async {
        wait::until_async("the first", || ended() > 0).await;
    });
    assert!(ended() < CROWD / 2, "{}", ended());
    // A worker that is asked to stop while it leaves waits for no moment.
    tunnels.server.handle.shutdown();
    for (_sending, receiving) in streams {
        assert_eq!(client.wait(read_body(receiving)).unwrap(), b"");
    }
    let Tunnels { server, .. } = tunnels;
    server.stop();
}
