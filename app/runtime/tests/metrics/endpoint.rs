//! The clients that get the measurements, and the addresses.

use crate::support::{Measured, PATH, Values, start};
use sampan_client::certificates::{Identity, connect, trusting};
use sampan_client::{Client, wait};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

const APP: (&str, &str) = (
    "app.lua",
    "local app = require \"sampan\"\napp.get(\"/\", function() return \"hello\" end)\n",
);
/// The field of a request that a proxy passes on, which then comes from another machine.
const PASSED_ON: &str = "X-Forwarded-For: 192.0.2.7";

fn status(measured: &Measured, lines: &[&str]) -> u16 {
    let answer = measured.client().ask("GET", PATH, lines, "");
    answer.expect("an answer").status
}

#[test]
fn this_machine_needs_no_token_and_others_do() {
    let measured = start(APP, "");
    let answer = measured.ask("GET", PATH);
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("content-type"),
        ["text/plain; version=0.0.4; charset=utf-8"]
    );
    assert_eq!(answer.header("cache-control"), ["no-store"]);
    assert!(
        answer.text().contains("\n# TYPE sampan_build_info gauge\n"),
        "{}",
        answer.text()
    );
    assert_eq!(status(&measured, &[PASSED_ON]), 403);
    assert_eq!(
        status(&measured, &[PASSED_ON, "Authorization: Bearer "]),
        403
    );
    assert!(measured.server.shutdown());
    let measured = start(APP, "[metrics]\ntoken = \"a long secret\"");
    assert_eq!(status(&measured, &[]), 200);
    assert_eq!(status(&measured, &[PASSED_ON]), 403);
    assert_eq!(
        status(&measured, &[PASSED_ON, "Authorization: Bearer another"]),
        403
    );
    assert_eq!(
        status(
            &measured,
            &[PASSED_ON, "Authorization: bearer a long secret"]
        ),
        200
    );
    assert!(measured.server.shutdown());
}

#[test]
fn head_and_other_methods_are_answered() {
    let measured = start(APP, "");
    let head = measured.ask("HEAD", PATH);
    assert_eq!((head.status, head.body.len()), (200, 0));
    let post = measured.ask("POST", PATH);
    assert_eq!(
        (post.status, post.header("allow")),
        (405, vec!["GET, HEAD"])
    );
    for path in [
        "/_sampan/metrics/",
        "/_sampan/metrics/x",
        "/_sampan/metricsx",
    ] {
        assert_eq!(measured.ask("GET", path).status, 404, "{path}");
    }
    assert!(measured.server.shutdown());
}

#[test]
fn it_can_have_another_path_or_be_off() {
    let measured = start(APP, "[metrics]\npath = \"/internal/metrics\"");
    assert_eq!(measured.ask("GET", "/internal/metrics").status, 200);
    assert_eq!(measured.ask("GET", PATH).status, 404);
    assert!(measured.server.shutdown());
    let measured = start(APP, "[metrics]\nenabled = false\nlisten = \"127.0.0.1:0\"");
    assert_eq!(measured.ask("GET", PATH).status, 404);
    assert_eq!(measured.server.metrics_address(), None);
    assert!(measured.server.shutdown());
}

#[test]
fn an_address_of_its_own_answers_nothing_else() {
    let measured = start(APP, "[metrics]\nlisten = \"127.0.0.1:0\"");
    assert_eq!(measured.ask("GET", "/").status, 200);
    assert_eq!(measured.ask("GET", PATH).status, 404);
    let address = measured.server.metrics_address().expect("an address");
    let mut client = Client::connect(address).expect("it listens");
    let name = "sampan_http_requests_total{route=\"/\",method=\"GET\",status=\"200\"}";
    wait::until("the request is counted", || {
        let answer = client.ask("GET", PATH, &[PASSED_ON], "");
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, 200);
        Values::of(&answer.text()).get(name) == Some(1.0)
    });
    let answer = client.ask("GET", "/", &[], "").expect("an answer");
    assert_eq!((answer.status, answer.text().contains(PATH)), (404, true));
    let answer = client.ask("POST", PATH, &[], "{}").expect("an answer");
    assert_eq!(answer.status, 405);
    assert!(measured.server.shutdown());
    let measured = start(
        APP,
        "[metrics]\nlisten = \"127.0.0.1:0\"\ntoken = \"a long secret\"",
    );
    let address = measured.server.metrics_address().expect("an address");
    let mut client = Client::connect(address).expect("it listens");
    let answer = client
        .ask("GET", PATH, &[PASSED_ON], "")
        .expect("an answer");
    assert_eq!(answer.status, 403);
    assert!(measured.server.shutdown());
}

#[test]
fn it_is_answered_over_tls() {
    let identity = Identity::new(&["localhost"]);
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let toml = format!("[tls]\ncert = {certificate:?}\nkey = {key:?}\n");
    let measured = start(APP, &toml);
    let trusted = Arc::new(trusting(&[&identity.certificate]));
    // A client that does not trust the certificate ends the handshake.
    let stranger = Arc::new(trusting(&[&Identity::new(&["localhost"]).certificate]));
    let name = "localhost".try_into().expect("a name");
    let mut refusing = rustls::ClientConnection::new(stranger, name).expect("valid");
    let mut socket = TcpStream::connect(measured.server.address()).expect("it listens");
    let refused = refusing.complete_io(&mut socket);
    assert!(refused.is_err(), "the certificate is not trusted");
    drop(socket);
    let mut stream = connect(measured.server.address(), &trusted, "localhost");
    let request = format!("GET {PATH} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
    Values::of(body).is("sampan_tls_handshakes_total{result=\"ok\"}", 1.0);
    assert!(measured.server.shutdown());
}

#[test]
fn a_client_that_does_not_leave_keeps_no_other_connection_open_at_the_end() {
    let limits = "[metrics]\nlisten = \"127.0.0.1:0\"\n[limits]\nlinger_millis_max = 100_000\n\
        linger_idle_millis_max = 100_000\nshutdown_millis_max = 100_000\n";
    let Measured { server, folder } = start(APP, limits);
    let connected = |address: SocketAddr| {
        let stream = TcpStream::connect(address).expect("it listens");
        let time = Some(wait::EVENT_TIME_MAX);
        stream.set_read_timeout(time).expect("a time");
        stream
    };
    let mut idle = connected(server.address());
    let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    idle.write_all(request).expect("sent");
    let (mut answer, mut space) = (String::new(), [0; 1024]);
    while !answer.ends_with("hello") {
        let len = idle.read(&mut space).expect("an answer");
        answer += &String::from_utf8_lossy(&space[..len]);
    }
    let mut slow = connected(server.metrics_address().expect("an address"));
    let request = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nx";
    slow.write_all(request).expect("sent");
    // The server has sent all of its answer, and waits for the client's end.
    slow.read_to_end(&mut Vec::new()).expect("an answer");
    let ending = std::thread::spawn(move || server.shutdown());
    idle.read_to_end(&mut Vec::new()).expect("it is closed");
    assert!(
        !ending.is_finished(),
        "it did not wait for the other client"
    );
    drop(slow);
    assert!(ending.join().expect("no panic"));
    drop(folder);
}
