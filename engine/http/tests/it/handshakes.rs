//! Handshakes of clients that ask for no name, and of clients that abuse them: many that never end, and a second one
//! within a connection.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use common::secure::{files, settings};
use common::*;
use rustls::version::TLS12;
use rustls::{ClientConnection, ConnectionTrafficSecrets};
use sampan_client::certificates::{Identity, client_of, connect, trusting};
use sampan_http::{AcmeFiles, Limits, Tls, TlsSettings, raise_open_files};

const CLIENTS: usize = 2000;

/// The memory of one half handshake that a server may use, in KiB, with what its client in this process uses.
const CLIENT_KIB_MAX: usize = 24;

fn start(identity: &Identity, limits: Limits) -> Server {
    let (tls, _) = Tls::read(settings(identity)).unwrap();
    let make = echo(&Arc::default());
    Server::start_on(limits, Some(tls), make, |note| eprintln!("{note}"))
}

/// The first message of a client.
fn hello(config: rustls::ClientConfig) -> Vec<u8> {
    let name = "localhost".try_into().unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    bytes
}

fn half_handshakes(server: SocketAddr, hello: &[u8]) -> Vec<TcpStream> {
    let half = |at: usize| {
        let mut socket = TcpStream::connect(server).unwrap();
        // Some stop within the first message, some before the second.
        let len = if at.is_multiple_of(2) {
            hello.len()
        } else {
            hello.len() / 2
        };
        socket.write_all(&hello[..len]).unwrap();
        socket
    };
    (0..CLIENTS).map(half).collect()
}

#[test]
fn two_thousand_slow_handshakes_leave_room_for_others() {
    if !is_alone(
        module_path!(),
        "two_thousand_slow_handshakes_leave_room_for_others",
    ) {
        return;
    }
    let identity = Identity::new(&["localhost"]);
    let mut limits = Limits {
        head_millis_max: 3_600_000,
        connections_max: 2 * CLIENTS,
        ..Limits::default()
    };
    // The clients have files too.
    let note = raise_open_files(&mut limits, 2 * CLIENTS as u64, 0);
    assert_eq!(note, Ok(None));
    let server = start(&identity, limits);
    let config = Arc::new(trusting(&[&identity.certificate]));
    let served = || {
        let mut stream = connect(server.address, &config, "localhost");
        stream.write_all(&get("/served")).unwrap();
        let mut part = [0; 12];
        stream.read_exact(&mut part).unwrap();
        assert_eq!(&part, b"HTTP/1.1 200");
    };
    served();
    let before = rss_kib("self");
    let slow = half_handshakes(server.address, &hello(trusting(&[&identity.certificate])));
    wait::until("all of them", || server.handle.connections() >= CLIENTS);
    served();
    let grown = rss_kib("self").saturating_sub(before);
    assert!(grown < CLIENTS * CLIENT_KIB_MAX, "{grown} KiB");
    drop(slow);
    wait::until("their ends", || server.handle.connections() == 0);
}

/// Reports whether a client that expects this certificate gets it. It knows the server, which it finds at 127.0.0.1, by
/// the address `name`, so that it asks for no name.
fn is_shown(settings: TlsSettings, expected: &Identity, name: &str) -> bool {
    let (tls, _) = Tls::read(settings).unwrap();
    let make = echo(&Arc::default());
    let server = Server::start_on(Limits::default(), Some(tls), make, |note| {
        eprintln!("{note}");
    });
    let config = Arc::new(trusting(&[&expected.certificate]));
    let mut stream = connect(server.address, &config, name);
    let mut part = [0; 12];
    let sent = stream.write_all(&get("/"));
    sent.is_ok() && stream.read_exact(&mut part).is_ok() && &part == b"HTTP/1.1 200"
}

#[test]
fn a_client_without_a_name_gets_the_certificate_of_the_address() {
    let named = Identity::new(&["localhost"]);
    let other = Identity::new(&["192.0.2.1"]);
    let own = Identity::new(&["192.0.2.2", "127.0.0.1"]);
    let of = |identities: &[&Identity]| TlsSettings {
        certificates: identities.iter().map(|one| files(one)).collect(),
        ..settings(&named)
    };
    assert!(is_shown(of(&[&named, &other, &own]), &own, "127.0.0.1"));
    // Behind NAT clients know another address than the one that they arrive at.
    assert!(is_shown(of(&[&named, &other]), &other, "192.0.2.1"));
}

#[test]
fn a_client_without_a_name_gets_the_certificate_of_acme_before_others() {
    let folder = tempfile::tempdir().unwrap();
    let own = Identity::new(&["192.0.2.1"]);
    let renewed = ["192.0.2.2", "192.0.2.3"].map(|name| Identity::new(&[name]));
    let certificates = [0, 1].map(|at: usize| {
        let file = folder.path().join(format!("{at}.pem"));
        let parts = [renewed[at].key_file(), renewed[at].certificate_file()];
        let parts = parts.map(|part| std::fs::read_to_string(part).unwrap());
        std::fs::write(&file, parts.concat()).unwrap();
        file
    });
    let settings = TlsSettings {
        acme: Some(AcmeFiles {
            certificates: certificates.to_vec(),
            challenges: folder.path().to_owned(),
        }),
        ..settings(&own)
    };
    assert!(is_shown(settings, &renewed[0], "192.0.2.2"));
}

#[test]
fn slow_handshakes_have_the_time_of_a_head() {
    let identity = Identity::new(&["localhost"]);
    let limits = Limits {
        head_millis_max: 200,
        ..Limits::default()
    };
    let server = start(&identity, limits);
    let hello = hello(trusting(&[&identity.certificate]));
    for len in [1, hello.len() / 2, hello.len()] {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        socket.write_all(&hello[..len]).unwrap();
        read_to_end(&mut socket);
    }
    wait::until("their ends", || server.handle.connections() == 0);
}

/// Makes a record of TLS 1.2 with AES-GCM (RFC 5288 section 3).
fn record(
    secrets: &(u64, ConnectionTrafficSecrets),
    number: u64,
    kind: u8,
    plain: &[u8],
) -> Vec<u8> {
    let ConnectionTrafficSecrets::Aes256Gcm { key, iv } = &secrets.1 else {
        panic!("another cipher");
    };
    let number = (secrets.0 + number).to_be_bytes();
    let mut nonce = [0; 12];
    nonce[..4].copy_from_slice(&iv.as_ref()[..4]);
    nonce[4..].copy_from_slice(&number);
    let length = (plain.len() as u16).to_be_bytes();
    let associated = [&number[..], &[kind, 3, 3], &length].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_ref()).unwrap());
    let mut sealed = plain.to_vec();
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, Aad::from(associated), &mut sealed)
        .unwrap();
    let length = ((8 + sealed.len()) as u16).to_be_bytes();
    [&[kind, 3, 3], &length[..], &number, &sealed].concat()
}

/// A client that begins a second handshake within its connection, as TLS 1.2 allows (RFC 5746), again and again.
#[test]
fn renegotiation_is_refused() {
    const HANDSHAKE: u8 = 22;
    const ALERT: u8 = 21;
    let identity = Identity::new(&["localhost"]);
    let server = start(&identity, Limits::default());
    let client = || client_of(&[&TLS12], &[&identity.certificate], None);
    let mut config = client();
    config.enable_secret_extraction = true;
    let mut stream = connect(server.address, &Arc::new(config), "localhost");
    stream.write_all(&get("/")).unwrap();
    let mut part = [0; 12];
    stream.read_exact(&mut part).unwrap();
    assert_eq!(&part, b"HTTP/1.1 200");
    let (tls, mut socket) = stream.into_parts();
    let secrets = tls.dangerous_extract_secrets().unwrap().tx;
    // Without the head of its record.
    let hello = hello(client())[5..].to_vec();
    for number in 0..10 {
        // The server may have ended it by then.
        let _ = socket.write_all(&record(&secrets, number, HANDSHAKE, &hello));
    }
    let mut answer = Vec::new();
    let mut space = [0; 1000];
    while let Ok(len @ 1..) = socket.read(&mut space) {
        answer.extend_from_slice(&space[..len]);
    }
    let mut rest = &answer[..];
    while let [kind, _, _, high, low, after @ ..] = rest {
        assert_eq!(*kind, ALERT, "the server goes along");
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        rest = &after[length.min(after.len())..];
    }
    wait::until("the end", || server.handle.connections() == 0);
    let mut other = connect(server.address, &Arc::new(client()), "localhost");
    other.write_all(&get("/")).unwrap();
    other.read_exact(&mut part).unwrap();
}
