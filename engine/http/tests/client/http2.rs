//! Servers that speak HTTP/2.

use super::*;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use sampan_client::certificates::Identity;
use sampan_http::client::ClientFaultKind;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio_rustls::TlsAcceptor;

type Asked = (http::Request<RecvStream>, SendResponse<Bytes>);

/// A server of HTTP/2 over TLS in the tests' own runtime, and the client that believes it.
struct Server {
    client: Client,
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server that does the same with each request.
    async fn start<F: Future<Output = ()> + 'static>(serve: impl Fn(Asked) -> F + 'static) -> Self {
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
                drop(tokio::task::spawn_local(async move {
                    let socket = acceptor.accept(socket).await.expect("a handshake");
                    let mut connection = h2::server::handshake(socket).await.expect("HTTP/2");
                    while let Some(Ok(asked)) = connection.accept().await {
                        if asked.0.uri().path() == "/last" {
                            connection.graceful_shutdown();
                        }
                        drop(tokio::task::spawn_local(serve(asked)));
                    }
                }));
            }
        }));
        let settings = ClientSettings {
            authorities: Some(identity.certificate_file()),
            offers_http2: true,
            ..settings(ClientLimits::default())
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
        for _ in 0..2 {
            let fault = text(&server.client, get(server.url("/")))
                .await
                .unwrap_err();
            assert_eq!(fault.kind, ClientFaultKind::Closed, "{fault}");
        }
        assert_eq!(
            asked.get(),
            1 + 4,
            "once over a new connection, then as often as allowed"
        );
    });
}
