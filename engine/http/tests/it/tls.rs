//! TLS alone: handshakes, certificates, and clients that speak another protocol than their port.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use common::secure::{files, settings};
use common::*;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, HandshakeKind};
use sampan_client::certificates::{Authority, Identity, Secured, client_of, connect, trusting};
use sampan_http::{
    AcmeFiles, Answer, Chunk, ClientAuth, ConnectionFault, Handler, Limits, Observer, Peer,
    Request, Response, Tls, TlsSettings,
};

type Faults = Arc<Mutex<Vec<ConnectionFault>>>;

/// Answers with what it sees of TLS, and keeps the faults that it is told of.
struct Shows(Faults);

impl Handler for Shows {
    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        if request.path() == "/cut" {
            return Answer::Now(cut_stream());
        }
        let Some(tls) = request.tls() else {
            return Answer::Now(with_body("plain"));
        };
        let client = tls.client.as_ref();
        let client = client.map(|client| format!("{} {}", client.subject, client.fingerprint));
        Answer::Now(with_body(format!(
            "{} {} {:?} {client:?}",
            tls.version, tls.cipher, tls.server_name
        )))
    }

    fn connection_fault(&self, _: Peer, fault: &ConnectionFault) {
        self.0.lock().unwrap().push(fault.clone());
    }
}

/// A stream that breaks after its first chunk.
fn cut_stream() -> Response {
    struct Broken(bool);
    impl sampan_http::BodyStream for Broken {
        fn poll_chunk(
            &mut self,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<Chunk, sampan_http::BodyError>>> {
            if std::mem::replace(&mut self.0, true) {
                return std::task::Poll::Ready(Some(Err(sampan_http::BodyError(
                    "broken".to_owned(),
                ))));
            }
            std::task::Poll::Ready(Some(Ok(Chunk::Bytes(b"begun".to_vec()))))
        }
    }
    let mut response = Response::new(200);
    response.set_body(sampan_http::Body::Stream(Box::new(Broken(false))));
    response
}

fn start(limits: Limits, settings: Option<TlsSettings>) -> (Server, Option<Tls>, Faults) {
    let tls = settings.map(|settings| Tls::read(settings).unwrap().0);
    let faults = Faults::default();
    let keep = Arc::clone(&faults);
    let make = move || Rc::new(Shows(keep));
    let server = Server::start_on(limits, tls.clone(), make, |note| eprintln!("{note}"));
    (server, tls, faults)
}

fn ask(stream: &mut Secured) -> String {
    stream.write_all(&get("/")).unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let head = String::from_utf8(answer).unwrap();
    let (_, length) = head.split_once("Content-Length: ").unwrap();
    let length = length.split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

/// The error that a client gets instead of an answer.
fn refusal(mut stream: Secured) -> String {
    let sent = stream.write_all(&get("/"));
    let mut answer = Vec::new();
    let read = sent.and_then(|()| stream.read_to_end(&mut answer));
    read.expect_err("no answer").to_string()
}

#[test]
fn a_request_shows_version_cipher_and_name() {
    let identity = Identity::new(&["example.org"]);
    let (server, ..) = start(Limits::default(), Some(settings(&identity)));
    for (version, shown) in [
        (&TLS13, "TLSv1.3 TLS_AES_256_GCM_SHA384 "),
        (&TLS12, "TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 "),
    ] {
        let config = Arc::new(client_of(&[version], &[&identity.certificate], None));
        let mut stream = connect(server.address, &config, "EXAMPLE.org");
        let answer = ask(&mut stream);
        assert_eq!(answer, format!("{shown}Some(\"example.org\") None"));
        assert_eq!(ask(&mut stream), answer);
    }
}

#[test]
fn the_server_chooses_the_cipher() {
    let identity = Identity::new(&["localhost"]);
    let (server, _, _) = start(Limits::default(), Some(settings(&identity)));
    for versions in [[&TLS13], [&TLS12]] {
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        provider.cipher_suites.reverse();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(identity.certificate.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut client = connect(server.address, &Arc::new(config), "localhost");
        let answer = ask(&mut client);
        assert!(answer.contains("AES_256_GCM"), "{answer}");
    }
}

#[test]
fn the_protocol_is_agreed_on_or_the_client_is_refused() {
    let identity = Identity::new(&["localhost"]);
    let (server, _, faults) = start(Limits::default(), Some(settings(&identity)));
    for (offered, agreed) in [
        (&[&b"http/1.1"[..], b"http/1.0"][..], true),
        (&[], true),
        (&[b"spdy/3"], false),
    ] {
        let mut config = trusting(&[&identity.certificate]);
        config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
        let mut stream = connect(server.address, &Arc::new(config), "localhost");
        if agreed {
            ask(&mut stream);
            let expected = (!offered.is_empty()).then_some(&b"http/1.1"[..]);
            assert_eq!(stream.conn.alpn_protocol(), expected);
        } else {
            assert!(refusal(stream).contains("NoApplicationProtocol"));
        }
    }
    wait::until("the fault", || faults.lock().unwrap().len() == 1);
}

#[test]
fn http2_is_not_offered_where_it_is_turned_off() {
    let identity = Identity::new(&["localhost"]);
    let settings = TlsSettings {
        takes_http2: false,
        ..settings(&identity)
    };
    let (server, ..) = start(Limits::default(), Some(settings));
    let client = |offered: &[&[u8]]| {
        let mut config = trusting(&[&identity.certificate]);
        config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
        connect(server.address, &Arc::new(config), "localhost")
    };
    let mut stream = client(&[b"h2", b"http/1.1"]);
    ask(&mut stream);
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert!(refusal(client(&[b"h2"])).contains("NoApplicationProtocol"));
}

/// The certificate that a client of this name is shown.
fn shown(server: &Server, config: &Arc<ClientConfig>, name: &str) -> Vec<u8> {
    let mut stream = connect(server.address, config, name);
    // A name that is on none makes the client refuse what it gets.
    let _ = stream.write_all(&get("/"));
    let certificates = stream.conn.peer_certificates();
    certificates.map_or_else(Vec::new, |chain| chain[0].to_vec())
}

#[test]
fn certificates_are_chosen_by_name() {
    let one = Identity::new(&["one.test", "Both.test"]);
    let two = Identity::new(&["*.two.test", "both.test", "127.0.0.1"]);
    let settings = TlsSettings {
        certificates: vec![files(&one), files(&two)],
        ..settings(&one)
    };
    let (server, ..) = start(Limits::default(), Some(settings));
    let config = Arc::new(trusting(&[&one.certificate, &two.certificate]));
    for (name, identity) in [
        ("one.test", &one),
        ("both.test", &one),
        ("a.two.test", &two),
        // An address is no name to ask for, so it gets the first certificate for an address.
        ("127.0.0.1", &two),
    ] {
        assert_eq!(
            shown(&server, &config, name),
            identity.certificate.as_ref(),
            "{name}"
        );
    }
    // A name that is on none: the first, which is not for it.
    for name in ["two.test", "a.b.two.test", "other.test"] {
        let error = refusal(connect(server.address, &config, name));
        assert!(
            error.contains("certificate not valid for name"),
            "{name}: {error}"
        );
    }
}

/// The key and the certificate, as an ACME client keeps them.
fn in_one_file(identity: &Identity) -> String {
    let files = [identity.key_file(), identity.certificate_file()];
    files
        .map(|file| std::fs::read_to_string(file).unwrap())
        .concat()
}

#[test]
fn a_certificate_of_acme_comes_before_others_for_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let own = Identity::new(&["a.test", "b.test"]);
    let renewed = Identity::new(&["a.test"]);
    let file = folder.path().join("acme.pem");
    std::fs::write(&file, in_one_file(&renewed)).unwrap();
    let settings = TlsSettings {
        acme: Some(AcmeFiles {
            certificates: vec![file],
            challenges: folder.path().to_owned(),
        }),
        ..settings(&own)
    };
    let (server, ..) = start(Limits::default(), Some(settings));
    let config = Arc::new(trusting(&[&own.certificate, &renewed.certificate]));
    for (name, identity) in [("a.test", &renewed), ("b.test", &own)] {
        let chosen = shown(&server, &config, name);
        assert_eq!(chosen, identity.certificate.as_ref(), "{name}");
    }
}

#[test]
fn challenges_are_answered_in_the_handshake_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let (own, asked) = (Identity::new(&["localhost"]), Identity::new(&["a.test"]));
    std::fs::write(folder.path().join("a.test.pem"), in_one_file(&asked)).unwrap();
    let settings = TlsSettings {
        acme: Some(AcmeFiles {
            certificates: vec![folder.path().join("to_come.pem")],
            challenges: folder.path().to_owned(),
        }),
        ..settings(&own)
    };
    let (server, ..) = start(Limits::default(), Some(settings));
    let client = |protocols: &[&[u8]]| {
        let mut config = trusting(&[&own.certificate, &asked.certificate]);
        config.alpn_protocols = protocols.iter().map(|one| one.to_vec()).collect();
        Arc::new(config)
    };
    let mut stream = connect(server.address, &client(&[b"acme-tls/1"]), "a.test");
    let mut answer = Vec::new();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        .unwrap();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(answer, b"");
    let chain = stream.conn.peer_certificates().unwrap();
    assert_eq!(chain[0], asked.certificate);
    let mut stream = connect(server.address, &client(&[b"acme-tls/1"]), "localhost");
    assert!(stream.write_all(b"GET").is_err());
    // A client that can do more gets the usual certificate and an answer.
    let both = client(&[b"acme-tls/1", b"http/1.1"]);
    assert_eq!(shown(&server, &both, "localhost"), own.certificate.to_vec());
}

#[test]
fn a_half_handshake_has_the_time_of_a_head() {
    let identity = Identity::new(&["localhost"]);
    let limits = Limits {
        head_millis_max: 300,
        ..Limits::default()
    };
    let (server, _, faults) = start(limits, Some(settings(&identity)));
    let hello = client_hello(&identity);
    let mut sockets = Vec::new();
    for part in [0, 1, 5, 20, hello.len() - 1, hello.len()] {
        let mut socket = server.connect();
        socket.write_all(&hello[..part]).unwrap();
        sockets.push(socket);
    }
    for mut socket in sockets {
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    }
    wait::until("all to be closed", || server.handle.connections() == 0);
    // A client that goes away has made no fault.
    assert_eq!(*faults.lock().unwrap(), []);
}

/// The first bytes of a client.
fn client_hello(identity: &Identity) -> Vec<u8> {
    let config = Arc::new(trusting(&[&identity.certificate]));
    let name = "localhost".try_into().unwrap();
    let mut client = rustls::ClientConnection::new(config, name).unwrap();
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    hello
}

#[test]
fn a_handshake_may_come_byte_by_byte() {
    let identity = Identity::new(&["localhost"]);
    let (server, ..) = start(Limits::default(), Some(settings(&identity)));
    let config = Arc::new(trusting(&[&identity.certificate]));
    let mut client =
        rustls::ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    let mut socket = server.connect();
    client.writer().write_all(&get("/")).unwrap();
    let mut answer = Vec::new();
    while answer.is_empty() {
        let mut sent = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut sent).unwrap();
        }
        for byte in sent {
            socket.write_all(&[byte]).unwrap();
        }
        client.read_tls(&mut socket).unwrap();
        let state = client.process_new_packets().unwrap();
        answer.resize(state.plaintext_bytes_to_read(), 0);
        client.reader().read_exact(&mut answer).unwrap();
    }
    assert!(answer.starts_with(b"HTTP/1.1 200"));
}

#[test]
fn plain_http_on_the_port_of_tls_gets_a_hint() {
    let identity = Identity::new(&["localhost"]);
    let (server, _, faults) = start(Limits::default(), Some(settings(&identity)));
    let answer = server.exchange(&get("/"));
    assert_eq!(status(&answer), 400);
    assert!(
        answer.contains("\r\nContent-Type: text/plain; charset=utf-8\r\n"),
        "{answer}"
    );
    assert!(answer.contains("https://"), "{answer}");
    assert!(
        server
            .exchange(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
            .ends_with("\r\n\r\n")
    );
    assert_eq!(
        *faults.lock().unwrap(),
        [const { ConnectionFault::PlainOnTlsPort }; 2]
    );
    // What is neither gets an alert: a record of type 21.
    let answer = server.connect_and_send(&[0x80; 100]);
    assert_eq!(answer[0], 21);
    let fault = faults.lock().unwrap().last().cloned().unwrap();
    assert!(matches!(fault, ConnectionFault::HandshakeFailed(_)));
}

#[test]
fn tls_on_a_plain_port_is_refused_and_told() {
    let identity = Identity::new(&["localhost"]);
    let (server, _, faults) = start(Limits::default(), None);
    let answer = server.connect_and_send(&client_hello(&identity));
    assert_eq!(status(&String::from_utf8(answer).unwrap()), 400);
    assert_eq!(*faults.lock().unwrap(), [ConnectionFault::TlsOnPlainPort]);
    assert_eq!(status(&server.exchange(b"bad\r\n\r\n")), 400);
    assert_eq!(faults.lock().unwrap().len(), 1, "not every fault is TLS");
    let mut socket = server.connect();
    socket.write_all(&get("/")).unwrap();
    assert_eq!(read_response(&mut socket).1, "plain");
}

impl Server {
    /// Sends bytes and reads to the end, whatever comes.
    fn connect_and_send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut socket = self.connect();
        socket.write_all(bytes).unwrap();
        socket.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        answer
    }
}

#[test]
fn clients_show_certificates_of_the_authority() {
    let identity = Identity::new(&["localhost"]);
    let (authority, other) = (Authority::new(), Authority::new());
    let (own, foreign) = (authority.issue("alice"), other.issue("mallory"));
    for is_required in [true, false] {
        let settings = TlsSettings {
            clients: Some(ClientAuth {
                authorities: authority.file(),
                is_required,
            }),
            ..settings(&identity)
        };
        let (server, _, faults) = start(Limits::default(), Some(settings));
        for version in [&TLS12, &TLS13] {
            let asking = |own: Option<&Identity>| {
                let config = client_of(&[version], &[&identity.certificate], own);
                connect(server.address, &Arc::new(config), "localhost")
            };
            let answer = ask(&mut asking(Some(&own)));
            assert!(answer.contains("CN=alice,O=Example "), "{answer}");
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &own.certificate);
            let digest: String = digest
                .as_ref()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert!(answer.contains(&digest), "{answer}");
            faults.lock().unwrap().clear();
            let error = refusal(asking(Some(&foreign)));
            assert!(error.contains("alert"), "{error}");
            if is_required {
                let error = refusal(asking(None));
                assert!(
                    error.contains("CertificateRequired") || error.contains("alert"),
                    "{error}"
                );
            } else {
                assert!(ask(&mut asking(None)).ends_with(" None"));
            }
            let count = 1 + usize::from(is_required);
            wait::until("the faults", || faults.lock().unwrap().len() == count);
        }
    }
}

#[test]
fn renewed_files_are_for_connections_to_come() {
    let (first, second) = (Identity::new(&["localhost"]), Identity::new(&["localhost"]));
    let (server, tls, _) = start(Limits::default(), Some(settings(&first)));
    let tls = tls.unwrap();
    let config = Arc::new(trusting(&[&first.certificate, &second.certificate]));
    let mut before = connect(server.address, &config, "localhost");
    ask(&mut before);
    assert!(tls.renew_if_changed().is_none());
    let original = std::fs::read(first.certificate_file()).unwrap();
    first.overwrite_with(&second);
    assert_eq!(tls.renew_if_changed().unwrap().unwrap(), [""; 0]);
    assert!(tls.renew_if_changed().is_none(), "once");
    let fresh = Arc::new(trusting(&[&second.certificate]));
    assert_eq!(
        shown(&server, &fresh, "localhost"),
        second.certificate.as_ref()
    );
    ask(&mut before);
    // A key that does not fit is told once, and changes nothing.
    std::fs::write(first.certificate_file(), original).unwrap();
    let error = tls.renew_if_changed().unwrap().unwrap_err();
    assert_eq!(error.file, first.key_file());
    assert!(
        error
            .reason
            .contains("is not the one of the first certificate"),
        "{error}"
    );
    assert!(tls.renew_if_changed().is_none());
    assert!(tls.renew().is_err());
    assert_eq!(
        shown(&server, &fresh, "localhost"),
        second.certificate.as_ref()
    );
}

#[test]
fn files_that_cannot_be_used_are_named_with_the_reason() {
    let identity = Identity::new(&["localhost"]);
    let fault = |certificate: &str, key: &str| {
        let files = files(&identity);
        std::fs::write(&files.certificate, certificate).unwrap();
        std::fs::write(&files.key, key).unwrap();
        let error = Tls::read(settings(&identity)).unwrap_err();
        let is_key = error.file == files.key;
        assert!(is_key || error.file == files.certificate, "{error}");
        (is_key, error.reason)
    };
    let certificate = std::fs::read_to_string(identity.certificate_file()).unwrap();
    let key = identity.key.serialize_pem();
    let locked = key.replace("PRIVATE", "ENCRYPTED PRIVATE");
    let other = Identity::new(&["localhost"]).key.serialize_pem();
    let noise = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (certificate, key, (is_key, reason)) in [
        ("", &*key, (false, "holds no certificate")),
        ("-----BEGIN CERTIFICATE-----\n", &key, (false, "not PEM")),
        (noise, &key, (false, "is not one of X.509")),
        (&certificate, "", (true, "holds no private key")),
        (&certificate, &certificate, (true, "holds no private key")),
        (&certificate, &locked, (true, "the key has a passphrase")),
        (
            &certificate,
            &other,
            (true, "is not the one of the first certificate"),
        ),
        (
            &certificate,
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            (true, "of no supported kind"),
        ),
    ] {
        let found = fault(certificate, key);
        assert_eq!(found.0, is_key, "{found:?}");
        assert!(found.1.contains(reason), "{found:?}");
    }
    std::fs::remove_file(identity.key_file()).unwrap();
    std::fs::write(identity.certificate_file(), &certificate).unwrap();
    let error = Tls::read(settings(&identity)).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("key.pem: cannot be read: No such file or directory (os error 2)"),
        "{error}"
    );
}

#[test]
fn certificates_that_are_not_valid_now_are_warned_of() {
    for (from, until, warning) in [
        (
            2000,
            2001,
            Some("has expired on Mon, 01 Jan 2001 00:00:00 GMT"),
        ),
        (
            2090,
            2091,
            Some("is not valid before Sun, 01 Jan 2090 00:00:00 GMT"),
        ),
        (2000, 2091, None),
    ] {
        let identity = Identity::changed(&["localhost"], |params| {
            params.not_before = rcgen::date_time_ymd(from, 1, 1);
            params.not_after = rcgen::date_time_ymd(until, 1, 1);
        });
        let (_, warnings) = Tls::read(settings(&identity)).unwrap();
        assert_eq!(
            warnings.len(),
            usize::from(warning.is_some()),
            "{warnings:?}"
        );
        assert!(
            warnings.iter().all(|text| text.contains(warning.unwrap())),
            "{warnings:?}"
        );
    }
}

#[test]
fn sessions_are_resumed_on_any_worker_and_after_a_renewal() {
    let identity = Identity::new(&["localhost"]);
    let authority = Authority::new();
    for clients in [false, true] {
        let settings = TlsSettings {
            clients: clients.then(|| ClientAuth {
                authorities: authority.file(),
                is_required: false,
            }),
            ..settings(&identity)
        };
        let (server, tls, _) = start(Limits::default(), Some(settings));
        let tls = tls.unwrap();
        let faults = Faults::default();
        let beside = {
            let make = move || Rc::new(Shows(faults));
            Server::start_on(Limits::default(), Some(tls.clone()), make, |_| {})
        };
        for version in [&TLS12, &TLS13] {
            let config = Arc::new(client_of(&[version], &[&identity.certificate], None));
            let kind = |server: &Server| {
                let mut stream = connect(server.address, &config, "localhost");
                let answer = ask(&mut stream);
                assert!(answer.contains("Some(\"localhost\")"), "{answer}");
                stream.conn.handshake_kind().unwrap()
            };
            assert_ne!(kind(&server), HandshakeKind::Resumed);
            assert_eq!(kind(&beside), HandshakeKind::Resumed);
            tls.renew().unwrap();
            // Who is believed may have changed with a renewal.
            assert_eq!(kind(&server) == HandshakeKind::Resumed, !clients);
        }
    }
}

#[test]
fn orderly_ends_are_told_and_others_are_not() {
    let identity = Identity::new(&["localhost"]);
    let limits = Limits {
        idle_millis_max: 100,
        ..Limits::default()
    };
    let (server, ..) = start(limits, Some(settings(&identity)));
    let config = Arc::new(trusting(&[&identity.certificate]));
    let ended = |request: &[u8]| {
        let mut stream = connect(server.address, &config, "localhost");
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map(|_| answer)
    };
    // The end of a connection that has been idle, one that was asked for, and one after a fault.
    for request in [&get("/")[..], b"GET / HTTP/1.0\r\n\r\n", b"bad\r\n\r\n"] {
        assert!(ended(request).unwrap().starts_with(b"HTTP/1.1 "));
    }
    for request in [&get("/cut")[..], b"GET /cut HTTP/1.0\r\n\r\n"] {
        ended(request).expect_err("the body is not whole");
    }
}

#[test]
fn answers_ask_for_tls_from_then_on() {
    let identity = Identity::new(&["localhost"]);
    let settings = TlsSettings {
        strict_transport: Some("max-age=60".to_owned()),
        ..settings(&identity)
    };
    let tls = Tls::read(settings).unwrap().0;
    let fixed = || {
        let mut response = with_body("fixed");
        response
            .header(b"strict-transport-security", b"own")
            .unwrap();
        sampan_http::Precomputed::new(response).unwrap()
    };
    let make = move || {
        let fixed = fixed();
        Rc::new(Function(move |request: &Rc<Request>| {
            match request.path() {
                "/fixed" => Answer::Precomputed(fixed.clone()),
                "/large" => Answer::Now(with_body(vec![b'x'; 300_000])),
                _ => Answer::Now(with_body("short")),
            }
        }))
    };
    let server = Server::start_on(Limits::default(), Some(tls), make, |_| {});
    let config = Arc::new(trusting(&[&identity.certificate]));
    let mut stream = connect(server.address, &config, "localhost");
    let requests = [
        get("/"),
        get("/fixed"),
        get("/large"),
        b"bad\r\n\r\n".to_vec(),
    ]
    .concat();
    stream.write_all(&requests).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let answers: Vec<&str> = answer.split("HTTP/1.1 ").skip(1).collect();
    let (own, added) = (
        "strict-transport-security: own\r\n",
        "Strict-Transport-Security: max-age=60\r\n",
    );
    for (answer, expected) in answers.iter().zip([added, own, added, added]) {
        let fields = answer
            .to_ascii_lowercase()
            .matches("strict-transport-security: ")
            .count();
        assert!(
            fields == 1 && answer.contains(expected),
            "{:?}",
            &answer[..answer.len().min(300)]
        );
    }
    assert_eq!(answers.len(), 4);
    let body = answers[2].split("\r\n\r\n").nth(1).unwrap();
    assert_eq!((body.len(), body.trim_matches('x')), (300_000, ""));
}

#[test]
fn a_client_that_closes_its_direction_gets_its_answers() {
    let identity = Identity::new(&["localhost"]);
    let (server, ..) = start(Limits::default(), Some(settings(&identity)));
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(client_of(&[version], &[&identity.certificate], None));
        let mut stream = connect(server.address, &config, "localhost");
        stream.write_all(&get("/").repeat(3)).unwrap();
        stream.conn.send_close_notify();
        stream.flush().unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.matches("HTTP/1.1 200").count(), 3);
    }
}

#[test]
fn a_record_that_was_changed_ends_the_connection() {
    let identity = Identity::new(&["localhost"]);
    let (server, ..) = start(Limits::default(), Some(settings(&identity)));
    let config = Arc::new(trusting(&[&identity.certificate]));
    let mut stream = connect(server.address, &config, "localhost");
    ask(&mut stream);
    stream.conn.writer().write_all(&get("/")).unwrap();
    let mut record = Vec::new();
    stream.conn.write_tls(&mut record).unwrap();
    *record.last_mut().unwrap() ^= 1;
    stream.sock.write_all(&record).unwrap();
    let mut answer = Vec::new();
    let error = stream.read_to_end(&mut answer).unwrap_err();
    assert!(error.to_string().contains("BadRecordMac"), "{error}");
    wait::until("the end", || server.handle.connections() == 0);
}

#[test]
fn spoilt_handshakes_end_alone() {
    let identity = Identity::new(&["localhost"]);
    let authority = Authority::new();
    let own = authority.issue("alice");
    let settings = TlsSettings {
        clients: Some(ClientAuth {
            authorities: authority.file(),
            is_required: true,
        }),
        ..settings(&identity)
    };
    let (server, _, faults) = start(Limits::default(), Some(settings));
    let mut spoilt = 0;
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(client_of(&[version], &[&identity.certificate], Some(&own)));
        // In each flight of the client a byte is changed: first, last, and some between.
        for (flight, part) in (0..2).flat_map(|flight| (0..12).map(move |part| (flight, part))) {
            let name = "localhost".try_into().unwrap();
            let mut client = rustls::ClientConnection::new(Arc::clone(&config), name).unwrap();
            let mut socket = server.connect();
            let mut flights = 0;
            while client.is_handshaking() || client.wants_write() {
                let mut bytes = Vec::new();
                while client.wants_write() {
                    client.write_tls(&mut bytes).unwrap();
                }
                if flights == flight {
                    let at = (bytes.len() - 1) * part / 11;
                    bytes[at] ^= 0x15;
                    spoilt += 1;
                }
                flights += usize::from(!bytes.is_empty());
                let sent = socket.write_all(&bytes);
                if sent.is_err() || flights > flight {
                    break;
                }
                client.read_tls(&mut socket).unwrap();
                client.process_new_packets().unwrap();
            }
            let _ = socket.shutdown(std::net::Shutdown::Write);
            let mut rest = Vec::new();
            let _ = socket.read_to_end(&mut rest);
        }
    }
    assert_eq!(spoilt, 48);
    let config = Arc::new(client_of(&[&TLS13], &[&identity.certificate], Some(&own)));
    ask(&mut connect(server.address, &config, "localhost"));
    // Some changes only make a longer message, whose end never comes.
    assert!(
        faults.lock().unwrap().len() > 24,
        "{:?}",
        faults.lock().unwrap()
    );
}

#[test]
fn a_worker_that_ends_waits_for_no_handshake() {
    let identity = Identity::new(&["localhost"]);
    const HOUR_MILLIS: u64 = 3_600_000;
    let limits = Limits {
        head_millis_max: HOUR_MILLIS,
        shutdown_millis_max: HOUR_MILLIS,
        ..Limits::default()
    };
    let (server, ..) = start(limits, Some(settings(&identity)));
    let hello = client_hello(&identity);
    let sockets: Vec<TcpStream> = [0, 10, hello.len()]
        .iter()
        .map(|len| {
            let mut socket = server.connect();
            socket.write_all(&hello[..*len]).unwrap();
            socket
        })
        .collect();
    wait::until("connecting", || server.handle.connections() == 3);
    server.stop();
    drop(sockets);
}
