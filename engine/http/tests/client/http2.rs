//! Servers that speak HTTP/2.

use super::*;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use sampan_client::certificates::Identity;
use sampan_http::client::ClientFaultKind;
use sampan_http::{BodyError, BodyStream, Chunk};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The work of a server on one connection.
type ConnectionWork = Box<dyn FnOnce(Socket) -> Pin<Box<dyn Future<Output = ()>>>>;
type Socket = TlsStream<TcpStream>;
type Asked = (http::Request<RecvStream>, SendResponse<Bytes>);

/// The ways in which a server and its client may differ from others.
#[derive(Default)]
struct ServerSetup {
    /// The work on the first connection.
    first: Option<ConnectionWork>,
    /// The most requests of a connection at once.
    streams_max: Option<u32>,
    limits: ClientLimits,
}

/// A server of HTTP/2 over TLS in the tests' own runtime, and the client that believes it.
struct Server {
    client: Client,
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server that does the same with each request.
    async fn start<F: Future<Output = ()> + 'static>(serve: impl Fn(Asked) -> F + 'static) -> Self {
        Self::start_as(ServerSetup::default(), serve).await
    }

    async fn start_as<F: Future<Output = ()> + 'static>(
        setup: ServerSetup,
        serve: impl Fn(Asked) -> F + 'static,
    ) -> Self {
        let mut first = setup.first;
        let mut builder = h2::server::Builder::new();
        if let Some(max) = setup.streams_max {
            builder.max_concurrent_streams(max);
        }
        let identity = Identity::new(&["localhost"]);
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let key = PrivateKeyDer::try_from(identity.key.serialize_der()).expect("a key");
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate.clone()], key)
            .expect("a certificate");
        config.alpn_protocols = vec![b"h2".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a listener");
        let port = listener.local_addr().expect("its address").port();
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, serve) = (Arc::clone(&connections), Rc::new(serve));
        drop(tokio::task::spawn_local(async move {
            loop {
                let (socket, _) = listener.accept().await.expect("a connection");
                count.fetch_add(1, Ordering::SeqCst);
                let (acceptor, serve) = (acceptor.clone(), Rc::clone(&serve));
                let (first, builder) = (first.take(), builder.clone());
                drop(tokio::task::spawn_local(async move {
                    let socket = acceptor.accept(socket).await.expect("a handshake");
                    if let Some(turn) = first {
                        return turn(socket).await;
                    }
                    let mut connection = builder.handshake(socket).await.expect("HTTP/2");
                    while let Some(Ok(asked)) = connection.accept().await {
                        match asked.0.uri().path() {
                            "/last" => connection.graceful_shutdown(),
                            // It neither reads nor writes any more.
                            "/mute" => return std::future::pending().await,
                            _ => {}
                        }
                        drop(tokio::task::spawn_local(serve(asked)));
                    }
                }));
            }
        }));
        let settings = ClientSettings {
            authorities: Some(identity.certificate_file()),
            offers_http2: true,
            ..settings(setup.limits)
        };
        let client = Client::new(Arc::new(settings), Lookups::default());
        // The file of the certificate is read with the first request.
        std::mem::forget(identity);
        Self {
            client,
            port,
            connections,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.port)
    }
}

/// Waits for a request and ends the connection with a GOAWAY of this last stream id.
async fn go_away(mut socket: Socket, last_stream: u32) {
    wait_for_request(&mut socket).await;
    let mut frame = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
    frame.extend(last_stream.to_be_bytes());
    frame.extend([0; 4]);
    socket.write_all(&frame).await.expect("sent");
    let _ = socket.shutdown().await;
}

/// Answers a request, and then sends PINGs and reads nothing, until the client has closed the connection.
async fn flood(mut socket: Socket, closed: Rc<Notify>) {
    wait_for_request(&mut socket).await;
    let ok = [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88];
    socket.write_all(&ok).await.expect("sent");
    let pings = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8].repeat(1024);
    while socket.write_all(&pings).await.is_ok() {}
    closed.notify_one();
}

/// Answers the first request by one byte each time that it is asked for, and nothing else, not even a PING.
async fn trickle(mut socket: Socket, asked: Rc<Notify>) {
    wait_for_request(&mut socket).await;
    let ok = [0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88];
    socket.write_all(&ok).await.expect("sent");
    loop {
        asked.notified().await;
        let piece = [0, 0, 1, 0, 0, 0, 0, 0, 1, b'x'];
        socket.write_all(&piece).await.expect("sent");
    }
}

async fn wait_for_request(socket: &mut Socket) {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const HEADERS: u8 = 1;
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    socket.write_all(&settings).await.expect("sent");
    let mut preface = vec![0; PREFACE.len()];
    socket.read_exact(&mut preface).await.expect("a preface");
    assert_eq!(preface, PREFACE);
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head).await.expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        socket.read_exact(&mut payload).await.expect("its payload");
        if head[3] == HEADERS {
            return;
        }
    }
}

async fn collect(mut body: RecvStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(Ok(piece)) = body.data().await {
        let _ = body.flow_control().release_capacity(piece.len());
        bytes.extend_from_slice(&piece);
    }
    bytes
}

#[test]
fn requests_share_a_connection() {
    run(async {
        let server = Server::start(|(request, mut respond)| async move {
            let (parts, body) = request.into_parts();
            let authority = parts.uri.authority().map(ToString::to_string);
            let text = format!(
                "{} {} {:?}",
                parts.method,
                parts.uri.path(),
                parts.headers.get("x-own")
            );
            assert!(authority.expect("an authority").starts_with("localhost:"));
            assert!(
                !parts.headers.contains_key("connection") && !parts.headers.contains_key("host")
            );
            let body = collect(body).await;
            let answer = http::Response::builder()
                .status(201)
                .header("Set-Cookie", "a")
                .header("set-cookie", "b");
            let mut stream = respond
                .send_response(answer.body(()).expect("an answer"), false)
                .expect("sent");
            let text = format!("{text} {}", String::from_utf8_lossy(&body));
            stream.send_data(text.into(), true).expect("sent");
        })
        .await;
        let ask = |path: &str, body: &'static str| {
            let mut post = request("POST", server.url(path), ClientBody::Bytes(body.into()));
            post.fields = vec![field("X-Own", "yes"), field("Connection", "close")];
            server.client.clone().fetch(post)
        };
        let (one, two, three) = tokio::join!(ask("/1", "one"), ask("/2", "two"), ask("/3", ""));
        for (answer, expected) in [
            (one, "/1 Some(\"yes\") one"),
            (two, "/2 Some(\"yes\") two"),
            (three, "/3 Some(\"yes\") "),
        ] {
            let answer = answer.expect("an answer");
            assert_eq!((answer.status, &*answer.status_text), (201, ""));
            assert_eq!(
                answer
                    .fields
                    .iter()
                    .filter(|(name, _)| **name == *b"set-cookie")
                    .count(),
                2
            );
            assert_eq!(whole(answer.body).await, Ok(format!("POST {expected}")));
        }
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
        assert_eq!(server.client.connections(), (1, 1));
    });
}

#[test]
fn large_bodies_go_both_ways_with_backpressure() {
    run(async {
        let server = Server::start(|(request, mut respond)| async move {
            let mut stream = respond
                .send_response(http::Response::new(()), false)
                .expect("sent");
            let mut body = request.into_body();
            while let Some(piece) = body.data().await {
                let mut piece = piece.expect("a piece");
                while !piece.is_empty() {
                    stream.reserve_capacity(piece.len());
                    let room = poll_fn(|cx| stream.poll_capacity(cx))
                        .await
                        .expect("open")
                        .expect("room");
                    let part = piece.split_to(room.min(piece.len()));
                    let _ = body.flow_control().release_capacity(part.len());
                    stream.send_data(part, false).expect("sent");
                }
            }
            stream.send_data(Bytes::new(), true).expect("sent");
        })
        .await;
        let bytes = 8 * 1024 * 1024;
        let post = request(
            "POST",
            server.url("/"),
            ClientBody::Bytes(vec![b'x'; bytes].into()),
        );
        let (status, text) = text(&server.client, post).await.expect("an answer");
        assert_eq!((status, text.len()), (200, bytes));
    });
}

#[test]
fn a_stream_that_is_reset_is_a_fault_of_its_request_alone() {
    run(async {
        let server = Server::start(|(request, mut respond)| async move {
            match request.uri().path() {
                "/reset" => respond.send_reset(Reason::INTERNAL_ERROR),
                "/half" => {
                    let mut stream = respond
                        .send_response(http::Response::new(()), false)
                        .expect("sent");
                    stream.send_data("half".into(), false).expect("sent");
                    stream.send_reset(Reason::INTERNAL_ERROR);
                }
                "/silent" => {
                    let reason = poll_fn(|cx| respond.poll_reset(cx)).await.expect("a reset");
                    assert_eq!(reason, Reason::CANCEL);
                }
                _ => drop(
                    respond
                        .send_response(http::Response::new(()), true)
                        .expect("sent"),
                ),
            }
        })
        .await;
        for (path, kind) in [
            ("/reset", ClientFaultKind::Closed),
            ("/half", ClientFaultKind::Closed),
        ] {
            let fault = text(&server.client, get(server.url(path)))
                .await
                .unwrap_err();
            assert_eq!(fault.kind, kind, "{fault}");
        }
        let mut late = get(server.url("/silent"));
        late.options.head_millis_max = Some(20);
        let fault = text(&server.client, late).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Timeout, "{fault}");
        assert_eq!(
            text(&server.client, get(server.url("/"))).await,
            Ok((200, String::new()))
        );
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_connection_that_takes_no_more_is_replaced() {
    run(async {
        let server = Server::start(|(_, mut respond)| async move {
            drop(
                respond
                    .send_response(http::Response::new(()), true)
                    .expect("sent"),
            );
        })
        .await;
        for _ in 0..3 {
            let post = request(
                "POST",
                server.url("/last"),
                ClientBody::Bytes("body".into()),
            );
            assert_eq!(text(&server.client, post).await, Ok((200, String::new())));
        }
    });
}

#[test]
fn a_request_that_is_always_refused_ends() {
    run(async {
        let asked = Rc::new(std::cell::Cell::new(0));
        let count = Rc::clone(&asked);
        let server = Server::start(move |(_, mut respond)| {
            count.set(count.get() + 1);
            async move { respond.send_reset(Reason::REFUSED_STREAM) }
        })
        .await;
        let fault = text(&server.client, get(server.url("/")))
            .await
            .unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Closed, "{fault}");
        assert_eq!(asked.get(), 4, "as often as allowed");
    });
}

async fn answer_empty((_, mut respond): Asked) {
    let sent = respond.send_response(http::Response::new(()), true);
    drop(sent.expect("sent"));
}

/// Returns a POST, which may have had an effect if the server has seen it.
fn post(server: &Server, path: &str) -> ClientRequest {
    let body = ClientBody::Bytes("body".into());
    request("POST", server.url(path), body)
}

#[test]
fn a_post_that_was_refused_is_sent_again() {
    run(async {
        let asked = Rc::new(std::cell::Cell::new(0));
        let count = Rc::clone(&asked);
        let server = Server::start(move |(request, mut respond)| {
            count.set(count.get() + 1);
            let is_refused = count.get() <= 2;
            async move {
                if is_refused {
                    return respond.send_reset(Reason::REFUSED_STREAM);
                }
                let mut stream = respond
                    .send_response(http::Response::new(()), false)
                    .expect("sent");
                let body = collect(request.into_body()).await;
                stream.send_data(body.into(), true).expect("sent");
            }
        })
        .await;
        let answer = text(&server.client, post(&server, "/")).await;
        assert_eq!(answer, Ok((200, "body".to_owned())), "with its whole body");
        assert_eq!(asked.get(), 3);

        // A body that comes once cannot be sent twice.
        asked.set(0);
        let stream = ClientBody::Stream(Box::new(Once(Some("body"))), None);
        let request = request("POST", server.url("/"), stream);
        let fault = text(&server.client, request).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Closed, "{fault}");
        assert_eq!(asked.get(), 1);
    });
}

/// A body of one piece.
struct Once(Option<&'static str>);

impl BodyStream for Once {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Chunk, BodyError>>> {
        let piece = self.0.take();
        Poll::Ready(piece.map(|piece| Ok(piece.as_bytes().to_vec().into())))
    }
}

#[test]
fn a_post_that_was_reset_for_another_reason_is_sent_once() {
    run(async {
        let asked = Rc::new(std::cell::Cell::new(0));
        let count = Rc::clone(&asked);
        let server = Server::start(move |(_, mut respond)| {
            count.set(count.get() + 1);
            async move { respond.send_reset(Reason::CANCEL) }
        })
        .await;
        let fault = text(&server.client, post(&server, "/")).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Closed, "{fault}");
        assert_eq!(asked.get(), 1);
    });
}

#[test]
fn a_post_above_the_last_stream_of_a_goaway_is_sent_again() {
    run(async {
        for (last_stream, is_safe) in [(0, true), (1, false)] {
            let first: ConnectionWork =
                Box::new(move |socket| Box::pin(go_away(socket, last_stream)));
            let setup = ServerSetup {
                first: Some(first),
                ..ServerSetup::default()
            };
            let server = Server::start_as(setup, answer_empty).await;
            let answer = text(&server.client, post(&server, "/")).await;
            match is_safe {
                true => assert_eq!(answer, Ok((200, String::new()))),
                false => {
                    let fault = answer.unwrap_err();
                    assert_eq!(fault.kind, ClientFaultKind::Closed, "{fault}");
                }
            }
            let connections = server.connections.load(Ordering::SeqCst);
            assert_eq!(connections, 1 + usize::from(is_safe));
        }
    });
}

#[test]
fn bodies_that_are_not_read_do_not_stop_others() {
    run(async {
        let server = Server::start(|(request, mut respond)| async move {
            let bytes = match request.uri().path() {
                "/big" => 1024 * 1024,
                _ => 5,
            };
            let mut stream = respond
                .send_response(http::Response::new(()), false)
                .expect("sent");
            stream
                .send_data(vec![b'x'; bytes].into(), true)
                .expect("sent");
        })
        .await;
        let mut unread = Vec::new();
        for _ in 0..4 {
            let big = server.client.clone().fetch(get(server.url("/big"))).await;
            unread.push(big.expect("an answer"));
        }
        let mut small = get(server.url("/small"));
        small.options.idle_millis_max = Some(500);
        let answer = text(&server.client, small).await;
        assert_eq!(answer, Ok((200, "xxxxx".to_owned())));
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
        for answer in unread {
            let body = whole(answer.body).await;
            assert_eq!(body.map(|body| body.len()), Ok(1024 * 1024));
        }
    });
}

/// Lets time pass in which nothing happens.
async fn pass(time: Duration) {
    tokio::time::pause();
    let _: Result<(), _> = tokio::time::timeout(time, std::future::pending()).await;
    tokio::time::resume();
}

#[test]
fn a_connection_that_has_fallen_silent_is_not_used_again() {
    run(async {
        for is_given_up in [false, true] {
            let server = Server::start(answer_empty).await;
            let mut mute = get(server.url("/mute"));
            mute.options.head_millis_max = Some(if is_given_up { 30_000 } else { 20 });
            let asked = text(&server.client, mute);
            match tokio::time::timeout(Duration::from_millis(500), asked).await {
                Ok(answer) => {
                    let fault = answer.unwrap_err();
                    assert_eq!(fault.kind, ClientFaultKind::Timeout, "{fault}");
                }
                Err(_) => assert!(is_given_up, "it is late before"),
            }
            pass(Duration::from_secs(6)).await;
            let mut next = get(server.url("/"));
            next.options.head_millis_max = Some(5_000);
            let answer = text(&server.client, next).await;
            assert_eq!(answer, Ok((200, String::new())));
            assert_eq!(server.connections.load(Ordering::SeqCst), 2);
        }
    });
}

#[test]
fn a_connection_with_a_late_answer_is_used_again() {
    run(async {
        let server = Server::start(|asked| async move {
            match asked.0.uri().path() {
                "/late" => std::future::pending().await,
                _ => answer_empty(asked).await,
            }
        })
        .await;
        let mut late = get(server.url("/late"));
        late.options.head_millis_max = Some(20);
        let fault = text(&server.client, late).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Timeout, "{fault}");
        for _ in 0..2 {
            let answer = text(&server.client, get(server.url("/"))).await;
            assert_eq!(answer, Ok((200, String::new())));
            // It has answered the PING before.
            pass(Duration::from_secs(6)).await;
        }
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn a_connection_that_brings_a_body_is_not_silent() {
    run(async {
        let asked = Rc::new(Notify::new());
        let more = Rc::clone(&asked);
        let first: ConnectionWork = Box::new(move |socket| Box::pin(trickle(socket, more)));
        let setup = ServerSetup {
            first: Some(first),
            ..ServerSetup::default()
        };
        let server = Server::start_as(setup, answer_empty).await;
        let slow = server.client.clone().fetch(get(server.url("/"))).await;
        let mut body = slow.expect("an answer").body.expect("a body");
        let mut late = get(server.url("/late"));
        late.options.head_millis_max = Some(20);
        let fault = text(&server.client, late).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Timeout, "{fault}");
        for _ in 0..4 {
            pass(Duration::from_secs(3)).await;
            asked.notify_one();
            let piece = poll_fn(|cx| body.poll_piece(cx)).await;
            assert_eq!(piece, Ok(Some(b"x".to_vec())));
        }
    });
}

#[test]
fn a_connection_that_is_not_used_ends_whatever_its_server_does() {
    run(async {
        let closed = Rc::new(Notify::new());
        let ended = Rc::clone(&closed);
        let first: ConnectionWork = Box::new(move |socket| Box::pin(flood(socket, ended)));
        let setup = ServerSetup {
            first: Some(first),
            ..ServerSetup::default()
        };
        let server = Server::start_as(setup, answer_empty).await;
        let answer = text(&server.client, get(server.url("/"))).await;
        assert_eq!(answer, Ok((200, String::new())));
        // Until neither side can send any more.
        pass(Duration::from_secs(1)).await;
        drop(server);
        tokio::time::pause();
        let ended = tokio::time::timeout(Duration::from_secs(60), closed.notified()).await;
        assert!(ended.is_ok(), "the connection has ended");
    });
}

#[test]
fn requests_above_the_limit_of_a_connection_get_another() {
    run(async {
        let all = Rc::new(tokio::sync::Barrier::new(5));
        let setup = ServerSetup {
            streams_max: Some(2),
            ..ServerSetup::default()
        };
        let server = Server::start_as(setup, move |asked| {
            let all = Rc::clone(&all);
            async move {
                if asked.0.uri().path() == "/together" {
                    all.wait().await;
                }
                answer_empty(asked).await;
            }
        })
        .await;
        // Then the client knows the limit.
        let first = text(&server.client, get(server.url("/"))).await;
        assert_eq!(first, Ok((200, String::new())));
        for _ in 0..2 {
            let ask = || {
                let mut together = get(server.url("/together"));
                together.options.head_millis_max = Some(5_000);
                text(&server.client, together)
            };
            let answers = tokio::join!(ask(), ask(), ask(), ask(), ask());
            let (one, two, three, four, five) = answers;
            for answer in [one, two, three, four, five] {
                assert_eq!(answer, Ok((200, String::new())));
            }
            assert_eq!(server.connections.load(Ordering::SeqCst), 3);
            assert_eq!(server.client.connections(), (3, 3));
        }
    });
}

#[test]
fn a_burst_before_the_limit_is_known_gets_more_connections() {
    const BURST: usize = 450;
    run(async {
        let all = Rc::new(tokio::sync::Barrier::new(BURST));
        let setup = ServerSetup {
            streams_max: Some(100),
            ..ServerSetup::default()
        };
        let server = Server::start_as(setup, move |asked| {
            let all = Rc::clone(&all);
            async move {
                all.wait().await;
                answer_empty(asked).await;
            }
        })
        .await;
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..BURST {
            let (client, request) = (server.client.clone(), get(server.url("/")));
            drop(asking.spawn_local(async move { text(&client, request).await }));
        }
        for answer in asking.join_all().await {
            assert_eq!(answer, Ok((200, String::new())));
        }
        assert_eq!(server.connections.load(Ordering::SeqCst), 5);
    });
}

#[test]
fn requests_above_the_limits_of_all_connections_wait_in_sight() {
    run(async {
        let setup = ServerSetup {
            streams_max: Some(1),
            limits: ClientLimits {
                connections_per_host_max: 1,
                waiting_max: 1,
                ..ClientLimits::default()
            },
            ..ServerSetup::default()
        };
        let go_on = Rc::new(Notify::new());
        let held = Rc::clone(&go_on);
        let server = Server::start_as(setup, move |asked| {
            let held = Rc::clone(&held);
            async move {
                if asked.0.uri().path() == "/held" {
                    held.notified().await;
                }
                answer_empty(asked).await;
            }
        })
        .await;
        let first = text(&server.client, get(server.url("/"))).await;
        assert_eq!(first, Ok((200, String::new())));
        let ask = |path| text(&server.client, get(server.url(path)));
        let mut holding = std::pin::pin!(ask("/held"));
        let mut waiting = std::pin::pin!(ask("/"));
        let pending = |polled: Poll<_>| Poll::Ready(polled.is_pending());
        assert!(poll_fn(|cx| pending(holding.as_mut().poll(cx))).await);
        assert!(poll_fn(|cx| pending(waiting.as_mut().poll(cx))).await);
        let fault = ask("/").await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Busy, "{fault}");
        go_on.notify_one();
        let (held, waited) = tokio::join!(holding, waiting);
        assert_eq!(held, Ok((200, String::new())));
        assert_eq!(waited, Ok((200, String::new())));
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    });
}
