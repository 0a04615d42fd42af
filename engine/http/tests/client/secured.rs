//! TLS: authorities, certificates that cannot be believed, and proxies.

use super::*;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sampan_client::certificates::Identity;
use sampan_http::client::{ClientFaultKind, ProxySettings};

type TlsSocket<S> = StreamOwned<ServerConnection, S>;

/// The server's side of TLS with this certificate.
fn secured<S: Read + Write>(identity: &Identity, socket: S) -> TlsSocket<S> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::try_from(identity.key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.clone()], key)
        .expect("a certificate");
    let connection = ServerConnection::new(Arc::new(config)).expect("a connection");
    StreamOwned::new(connection, socket)
}

/// A client that believes this certificate.
fn trusting(identity: &Identity) -> ClientSettings {
    ClientSettings {
        authorities: Some(identity.certificate_file()),
        ..settings(ClientLimits::default())
    }
}

fn made(settings: ClientSettings) -> Client {
    Client::new(Arc::new(settings), Lookups::default())
}

fn https(peer: &Peer, path: &str) -> String {
    format!("https://localhost:{}{path}", peer.address.port())
}

#[test]
fn a_server_is_asked_by_tls() {
    let identity = Identity::new(&["localhost"]);
    let client = made(trusting(&identity));
    let peer = Peer::once(move |socket| {
        let mut socket = secured(&identity, socket);
        for body in ["one", "two"] {
            let head = read_head(&mut socket);
            assert!(
                head.starts_with("GET /path HTTP/1.1\r\nhost: localhost:"),
                "{head}"
            );
            answer(&mut socket, body);
        }
    });
    run(async {
        for body in ["one", "two"] {
            let answer = text(&client, get(https(&peer, "/path"))).await;
            assert_eq!(answer, Ok((200, body.to_owned())));
        }
        assert_eq!(client.connections(), (1, 1));
        drop(client);
    });
    peer.ended();
}

#[test]
fn the_fault_says_what_is_wrong_with_a_certificate() {
    let day = |year| rcgen::date_time_ymd(year, 1, 1);
    let expired = Identity::changed(&["localhost"], |params| {
        (params.not_before, params.not_after) = (day(2020), day(2021));
    });
    let early = Identity::changed(&["localhost"], |params| {
        (params.not_before, params.not_after) = (day(2090), day(2091));
    });
    let trusted = Identity::new(&["localhost"]);
    for (identity, is_believed, fault) in [
        (expired, true, "the server's certificate has expired"),
        (
            early,
            true,
            "the server's certificate is not valid yet: is the clock of this machine right?",
        ),
        (
            Identity::new(&["other.test"]),
            true,
            "the server's certificate is for another name (other.test)",
        ),
        (
            Identity::new(&["localhost"]),
            false,
            "name a file with the authority in [fetch]: ca = \"FILE\"",
        ),
    ] {
        let settings = trusting(if is_believed { &identity } else { &trusted });
        let peer = Peer::once(move |socket| {
            let mut socket = secured(&identity, socket);
            assert_eq!(read_head(&mut socket), "", "nothing is sent");
        });
        run(async {
            let client = made(settings);
            let found = text(&client, get(https(&peer, "/"))).await.unwrap_err();
            assert_eq!(found.kind, ClientFaultKind::Tls, "{found}");
            assert!(found.text.ends_with(fault), "{found}");
            assert_eq!(client.connections(), (0, 0));
        });
        peer.ended();
    }
}

#[test]
fn a_port_without_tls_is_told() {
    let identity = Identity::new(&["localhost"]);
    let peer = Peer::once(|mut socket| {
        let mut hello = [0; 100];
        socket.read_exact(&mut hello).expect("a greeting");
        socket
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .expect("sent");
        let _ = socket.read_to_end(&mut Vec::new());
    });
    run(async {
        let client = made(trusting(&identity));
        let fault = text(&client, get(https(&peer, "/"))).await.unwrap_err();
        assert!(
            fault
                .text
                .ends_with("the server does not speak TLS on this port"),
            "{fault}"
        );
    });
    peer.ended();
}

#[test]
fn a_file_of_authorities_must_have_some() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").expect("written");
    for (file, fault) in [
        (empty.clone(), "empty.pem: it has no certificate"),
        (folder.path().join("missing.pem"), "missing.pem: "),
    ] {
        let peer = Peer::once(drop);
        run(async {
            let client = made(ClientSettings {
                authorities: Some(file),
                ..settings(ClientLimits::default())
            });
            let found = text(&client, get(https(&peer, "/"))).await.unwrap_err();
            assert_eq!(found.kind, ClientFaultKind::Tls);
            assert!(found.text.contains(fault), "{found}");
        });
        peer.ended();
    }
}

/// The settings of a client that reaches nothing of this machine but a proxy on it.
fn by_proxy(proxy: &Peer, bypassed: &[&str]) -> ClientSettings {
    let url = format!("http://us%40er:pass@{}", proxy.address);
    ClientSettings {
        proxy: Some(ProxySettings {
            url: url.parse().expect("a URL"),
            bypassed: bypassed.iter().map(|text| (*text).to_owned()).collect(),
        }),
        ..ClientSettings::default()
    }
}

const AUTHORIZATION: &str = "\r\nproxy-authorization: Basic dXNAZXI6cGFzcw==\r\n";

#[test]
fn a_proxy_gets_whole_urls() {
    let proxy = Peer::once(|mut socket| {
        for _ in 0..2 {
            let head = read_head(&mut socket);
            assert!(
                head.starts_with("GET http://name.test/a?b HTTP/1.1\r\nhost: name.test\r\n"),
                "{head}"
            );
            assert!(head.contains(AUTHORIZATION), "{head}");
            answer(&mut socket, "by proxy");
        }
    });
    run(async {
        let client = made(by_proxy(&proxy, &[]));
        for _ in 0..2 {
            let answer = text(&client, get("http://name.test/a?b#c")).await;
            assert_eq!(answer, Ok((200, "by proxy".to_owned())));
        }
        // It is no way around the check of addresses.
        for host in [
            "127.0.0.1",
            "localhost",
            "169.254.169.254",
            "[::ffff:10.0.0.1]",
        ] {
            let fault = text(&client, get(format!("http://{host}/")))
                .await
                .unwrap_err();
            assert_eq!(fault.kind, ClientFaultKind::Refused, "{fault}");
        }
    });
    proxy.ended();
}

#[test]
fn tls_goes_through_a_proxy() {
    let identity = Identity::new(&["name.test"]);
    let authorities = Some(identity.certificate_file());
    let kept = identity.certificate_file();
    let proxy = Peer::once(move |mut socket| {
        let head = read_head(&mut socket);
        assert!(
            head.starts_with("CONNECT name.test:443 HTTP/1.1\r\nhost: name.test:443\r\n"),
            "{head}"
        );
        assert!(head.contains(AUTHORIZATION), "{head}");
        socket
            .write_all(b"HTTP/1.1 200 Connection Established\r\n\r\n")
            .expect("sent");
        let mut socket = secured(&identity, socket);
        let head = read_head(&mut socket);
        assert!(
            head.starts_with("GET /a HTTP/1.1\r\nhost: name.test\r\n"),
            "{head}"
        );
        assert!(!head.contains("proxy-authorization"), "{head}");
        answer(&mut socket, "through");
    });
    assert!(kept.exists());
    run(async {
        let client = made(ClientSettings {
            authorities,
            ..by_proxy(&proxy, &[])
        });
        let answer = text(&client, get("https://name.test/a")).await;
        assert_eq!(answer, Ok((200, "through".to_owned())));
    });
    proxy.ended();
}

#[test]
fn tls_goes_through_a_proxy_that_is_reached_by_tls() {
    let (outer, inner) = (Identity::new(&["127.0.0.1"]), Identity::new(&["name.test"]));
    let both = [outer.certificate_file(), inner.certificate_file()];
    let both: Vec<_> = both
        .iter()
        .map(|file| std::fs::read(file).expect("a certificate"))
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let authorities = folder.path().join("both.pem");
    std::fs::write(&authorities, both.concat()).expect("written");
    let proxy = Peer::once(move |socket| {
        let mut socket = secured(&outer, socket);
        let head = read_head(&mut socket);
        assert!(head.starts_with("CONNECT name.test:443 "), "{head}");
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("sent");
        let mut socket = secured(&inner, socket);
        let head = read_head(&mut socket);
        assert!(
            head.starts_with("GET /a HTTP/1.1\r\nhost: name.test\r\n"),
            "{head}"
        );
        answer(&mut socket, "through");
    });
    run(async {
        let url = format!("https://{}", proxy.address);
        let client = made(ClientSettings {
            authorities: Some(authorities),
            proxy: Some(ProxySettings::of(&url, Vec::new()).expect("a proxy")),
            ..ClientSettings::default()
        });
        let answer = text(&client, get("https://name.test/a")).await;
        assert_eq!(answer, Ok((200, "through".to_owned())));
    });
    proxy.ended();
}

#[test]
fn a_proxy_may_refuse_or_be_bypassed() {
    let proxy = Peer::once(|mut socket| {
        read_head(&mut socket);
        let refused = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
        socket.write_all(refused.as_bytes()).expect("sent");
    });
    let direct = Peer::once(|mut socket| {
        let head = read_head(&mut socket);
        assert!(
            head.starts_with("GET /a HTTP/1.1") && !head.contains("proxy-authorization"),
            "{head}"
        );
        answer(&mut socket, "direct");
    });
    run(async {
        let client = made(ClientSettings {
            policy: AddressPolicy::default().with_loopback(),
            ..by_proxy(&proxy, &["127.0.0.1"])
        });
        let fault = text(&client, get("https://name.test/")).await.unwrap_err();
        assert_eq!(fault.kind, ClientFaultKind::Proxy);
        assert!(
            fault
                .text
                .ends_with("the proxy refused: 407 Proxy Authentication Required"),
            "{fault}"
        );
        assert_eq!(
            text(&client, get(direct.url("/a"))).await,
            Ok((200, "direct".to_owned()))
        );
    });
    proxy.ended();
    direct.ended();
}
