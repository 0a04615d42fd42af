//! Servers behind proxies that tell the client's address by the PROXY protocol.

use sampan_client::certificates::{Identity, connect, trusting};
use sampan_client::wait;
use sampan_runtime::{AppConfig, Running, Server};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::Arc;

const APPS: [(&str, &str); 2] = [
    (
        "app.lua",
        "local app = require 'sampan'\napp.get('/', function(req) return req.ip end)\n",
    ),
    (
        "app.js",
        "import { app } from 'sampan';\napp.get('/', (req) => req.ip);\n",
    ),
];
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const HEADER: &[u8] = b"PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n";

/// A header of version 2 for 2001:db8::7 (`proxy-protocol.txt` section 2.2).
fn binary_header() -> Vec<u8> {
    let mut bytes = b"\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x24".to_vec();
    bytes.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    bytes.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    bytes.extend([0x12, 0x67, 1, 0xbb]);
    bytes
}

fn project(app: (&str, &str)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(app.0), app.1).expect("written");
    folder
}

fn start(folder: &Path, trusted: &str, more: &str) -> Running {
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 2\ntrusted_proxies = [{trusted:?}]\nproxy_protocol = true\n{more}"
    );
    let config = AppConfig::from_text(folder, &text).expect("valid");
    Server::start(config).expect("it starts")
}

/// Sends these pieces one after the other, and returns all of the answer.
fn exchange(stream: &mut (impl Read + Write), pieces: &[&[u8]]) -> String {
    for piece in pieces {
        // A server that has closed already says so below.
        let _ = stream.write_all(piece).and_then(|()| stream.flush());
    }
    let mut answer = Vec::new();
    // A reset is the end too: the server closes with bytes that it has not read.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).expect("text")
}

fn ask(running: &Running, pieces: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(running.address()).expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    exchange(&mut stream, pieces)
}

#[test]
fn the_clients_address_is_that_of_the_header() {
    for app in APPS {
        let folder = project(app);
        let running = start(folder.path(), "127.0.0.1", "");
        let answer = ask(&running, &[HEADER, REQUEST]);
        assert!(answer.ends_with("\r\n\r\n203.0.113.7"), "{answer}");
        let together = [HEADER, REQUEST].concat();
        assert!(ask(&running, &[&together]).ends_with("\r\n\r\n203.0.113.7"));
        // Byte for byte, as over a slow network.
        let bytes: Vec<&[u8]> = together.chunks(1).collect();
        assert!(ask(&running, &bytes).ends_with("\r\n\r\n203.0.113.7"));
        let binary = binary_header();
        let answer = ask(&running, &[&binary, REQUEST]);
        assert!(answer.ends_with("\r\n\r\n2001:db8::7"), "{answer}");
        // The client is no trusted proxy, so its own fields are not believed.
        let forwarded =
            b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.2.3.4\r\nConnection: close\r\n\r\n";
        assert!(ask(&running, &[HEADER, forwarded]).ends_with("\r\n\r\n203.0.113.7"));
        let unknown = b"PROXY UNKNOWN\r\n";
        assert!(ask(&running, &[unknown, REQUEST]).ends_with("\r\n\r\n127.0.0.1"));
        assert!(running.shutdown());
    }
}

#[test]
fn fields_of_a_client_without_a_name_are_not_believed() {
    const FORWARDED: &[u8] =
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.2.3.4\r\nConnection: close\r\n\r\n";
    let of = |start: &[u8], rest: &[u8]| [&b"\r\n\r\n\0\r\nQUIT\n"[..], start, rest].concat();
    let unnamed = [
        b"PROXY UNKNOWN\r\n".to_vec(),
        // LOCAL, one without a family, and a Unix socket.
        of(b"\x20\0\0\0", b""),
        of(b"\x21\0\0\0", b""),
        of(b"\x21\x31\0\xd8", &[b'x'; 216]),
    ];
    for app in APPS {
        let folder = project(app);
        let running = start(folder.path(), "127.0.0.1", "");
        for header in &unnamed {
            let answer = ask(&running, &[header, FORWARDED]);
            assert!(answer.ends_with("\r\n\r\n127.0.0.1"), "{answer}");
        }
        // A proxy behind the one that passes bytes on is a client with a name.
        let trusted = b"PROXY TCP4 127.0.0.1 10.0.0.1 4711 443\r\n";
        assert!(ask(&running, &[trusted, FORWARDED]).ends_with("\r\n\r\n1.2.3.4"));
        assert!(running.shutdown());
    }
}

#[test]
fn a_client_without_a_name_is_in_no_network() {
    let apps = [
        (
            "app.lua",
            "local app = require 'sampan'\n\
             app.use('/*', app.allow_ips{ networks = { '127.0.0.1', '203.0.113.7' } })\n\
             app.get('/', function() return 'in' end)\n",
        ),
        (
            "app.js",
            "import { app } from 'sampan';\n\
             app.use('/*', app.allowIps({ networks: ['127.0.0.1', '203.0.113.7'] }));\n\
             app.get('/', () => 'in');\n",
        ),
    ];
    for app in apps {
        let folder = project(app);
        let running = start(folder.path(), "127.0.0.1", "");
        let named = ask(&running, &[HEADER, REQUEST]);
        assert!(named.ends_with("\r\n\r\nin"), "{named}");
        let unnamed = ask(&running, &[b"PROXY UNKNOWN\r\n", REQUEST]);
        assert!(unnamed.starts_with("HTTP/1.1 403"), "{unnamed}");
        assert!(running.shutdown());
    }
}

#[test]
fn fields_of_a_client_without_a_name_are_not_believed_after_a_pause() {
    let folder = project(APPS[0]);
    let running = start(folder.path(), "127.0.0.1", "");
    let mut stream = TcpStream::connect(running.address()).expect("it listens");
    stream.write_all(b"PROXY UNKNOWN\r\n").expect("sent");
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("sent");
    let mut first = Vec::new();
    while !first.ends_with(b"127.0.0.1") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        first.extend(byte);
    }
    wait::until("the connection leaves its worker", || running.parked() == 1);
    let forwarded =
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.2.3.4\r\nConnection: close\r\n\r\n";
    let answer = exchange(&mut stream, &[forwarded]);
    assert!(answer.ends_with("\r\n\r\n127.0.0.1"), "{answer}");
    assert!(running.shutdown());
}

#[test]
fn the_header_comes_before_tls() {
    let identity = Identity::new(&["localhost"]);
    let config = Arc::new(trusting(&[&identity.certificate]));
    for app in APPS {
        let folder = project(app);
        let (certificate, key) = (identity.certificate_file(), identity.key_file());
        let tls = format!("[tls]\ncert = {certificate:?}\nkey = {key:?}\n");
        let running = start(folder.path(), "127.0.0.1", &tls);
        let mut secured = connect(running.address(), &config, "localhost");
        secured.sock.write_all(HEADER).expect("sent");
        let answer = exchange(&mut secured, &[REQUEST]);
        assert!(answer.ends_with("\r\n\r\n203.0.113.7"), "{answer}");
        assert!(running.shutdown());
    }
}

/// The bytes by which a client of HTTP/2 begins, with a request for `/` (RFC 9113 section 3.4, RFC 7541 appendix A).
fn http2_request() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    // SETTINGS, then HEADERS of stream 1: GET, /, https, and the authority `h`.
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    bytes.extend([0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x84, 0x87, 0x41, 1, b'h']);
    bytes
}

/// The first frame of DATA.
fn http2_body(stream: &mut impl Read) -> String {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        stream.read_exact(&mut payload).expect("a frame");
        if head[3] == 0 {
            return String::from_utf8(payload).expect("text");
        }
    }
}

#[test]
fn the_header_comes_before_http2_too() {
    let identity = Identity::new(&["localhost"]);
    let mut config = trusting(&[&identity.certificate]);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let tls = format!("[tls]\ncert = {certificate:?}\nkey = {key:?}\n");
    for app in APPS {
        let folder = project(app);
        let running = start(folder.path(), "127.0.0.1", &tls);
        let mut secured = connect(running.address(), &config, "localhost");
        secured.sock.write_all(HEADER).expect("sent");
        secured.write_all(&http2_request()).expect("sent");
        assert_eq!(http2_body(&mut secured), "203.0.113.7");
        assert!(running.shutdown());
        let running = start(folder.path(), "127.0.0.1", "h2c = true\n");
        let mut plain = TcpStream::connect(running.address()).expect("it listens");
        let bytes = [HEADER, &http2_request()].concat();
        plain.write_all(&bytes).expect("sent");
        assert_eq!(http2_body(&mut plain), "203.0.113.7");
        assert!(running.shutdown());
    }
}

#[test]
fn a_trusted_proxy_without_a_header_is_closed() {
    let folder = project(APPS[0]);
    let running = start(folder.path(), "127.0.0.1", "");
    for wrong in [
        REQUEST,
        b"PROXY TCP4 1.2.3 4.5.6.7 1 2\r\nGET / HTTP/1.1\r\n\r\n",
        &[b'P'; 5000],
    ] {
        assert_eq!(ask(&running, &[wrong]), "");
    }
    assert!(ask(&running, &[HEADER, REQUEST]).ends_with("203.0.113.7"));
    assert!(running.shutdown());
}

#[test]
fn half_a_header_has_the_time_of_a_head() {
    let folder = project(APPS[0]);
    let running = start(
        folder.path(),
        "127.0.0.1",
        "[limits]\nhead_millis_max = 100\n",
    );
    let mut stream = TcpStream::connect(running.address()).expect("it listens");
    stream.write_all(b"PROXY TC").expect("sent");
    assert_eq!(exchange(&mut stream, &[]), "");
    assert!(running.shutdown());
}

#[test]
fn half_a_header_ends_with_its_connection() {
    let folder = project(APPS[0]);
    let running = start(
        folder.path(),
        "127.0.0.1",
        "[limits]\nhead_millis_max = 3_600_000\n",
    );
    for half in [&b"PROXY TC"[..], &binary_header()[..20]] {
        let mut stream = TcpStream::connect(running.address()).expect("it listens");
        let time_max = std::time::Duration::from_secs(30);
        stream.set_read_timeout(Some(time_max)).expect("a time");
        stream.write_all(half).expect("sent");
        stream.shutdown(Shutdown::Write).expect("shut down");
        let end = stream.read(&mut [0]);
        // With a reset, where bytes were not read.
        let is_end = matches!(&end, Ok(0))
            || matches!(&end, Err(error) if error.kind() == ErrorKind::ConnectionReset);
        assert!(is_end, "{end:?}");
    }
    assert!(running.shutdown());
}

#[test]
fn others_need_no_header_and_may_not_send_one() {
    let folder = project(APPS[1]);
    let running = start(folder.path(), "10.0.0.0/8", "");
    let answer = ask(&running, &[REQUEST]);
    assert!(answer.ends_with("\r\n\r\n127.0.0.1"), "{answer}");
    assert!(ask(&running, &[HEADER, REQUEST]).starts_with("HTTP/1.1 400 "));
    assert!(running.shutdown());
}

#[test]
fn the_proxies_have_to_be_named() {
    let folder = project(APPS[0]);
    let fault = AppConfig::from_text(folder.path(), "[server]\nproxy_protocol = true\n").err();
    let fault = fault.expect("refused");
    assert!(fault.contains("trusted_proxies"), "{fault}");
}
