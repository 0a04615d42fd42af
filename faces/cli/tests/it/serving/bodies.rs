//! Large answers, which are sent from where they lie.

use crate::support::Scratch;
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Server};
use sampan_testkit::{Client, wait};

/// Each answer is another string of 12 MB, more than the system takes from a client that does not read.
const APP: &str = r#"
import { app } from "sampan";
let count = 0;
app.get("/large", { slow: false }, () => String.fromCharCode(97 + count++ % 26).repeat(12_000_000));
app.get("/small", () => "small");
"#;

/// Strings that are being sent are in the isolate's memory: those of clients that do not read must not fill it.
#[test]
fn clients_that_do_not_read_leave_the_isolate_its_memory() {
    let scratch = Scratch::new(&[("app.js", APP)]);
    let toml =
        "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[limits]\nmemory_bytes_max = \"64MB\"\n";
    let mut config = AppConfig::from_text(scratch.path(), toml).expect("valid");
    let logger = Logger::captured(Level::Info);
    config.program.logger = logger.clone();
    let running = Server::start(config).expect("it starts");
    let connect = || Client::connect(running.address()).expect("someone listens");
    let mut clients: Vec<Client> = (0..8).map(|_| connect()).collect();
    for client in &mut clients {
        client
            .send(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
            .expect("sent");
        // It is under way before the next one is asked for.
        let small = connect().ask("GET", "/small", &[], "").expect("an answer");
        assert_eq!(small.text(), "small");
    }
    for (index, client) in clients.iter_mut().enumerate() {
        let answer = client.read(false).expect("an answer");
        let expected = b'a' + (index % 26) as u8;
        assert_eq!((answer.status, answer.body.len()), (200, 12_000_000));
        assert!(answer.body.iter().all(|byte| *byte == expected), "{index}");
    }
    let log = logger.lines();
    assert_eq!(log.lines().count(), 1, "nothing ran out: {log}");
    assert!(running.shutdown());
}

const UPLOADS: &str = r#"
import { app } from "sampan";
app.post("/upload", async (req) => String((await req.bytes()).byteLength));
"#;

const UPLOAD_BYTES: usize = 1_000_000;

/// Begins an upload that lacks its last byte.
fn begin_upload(client: &mut Client) {
    let head =
        format!("POST /upload HTTP/1.1\r\nHost: h\r\nContent-Length: {UPLOAD_BYTES}\r\n\r\n");
    let mut bytes = head.into_bytes();
    bytes.resize(bytes.len() + UPLOAD_BYTES - 1, b'x');
    client.send(&bytes).expect("sent");
}

/// Bodies that have begun may come to their end; others are told to come again.
#[test]
fn bodies_that_have_no_room_are_refused_until_others_have_ended() {
    let scratch = Scratch::new(&[("app.js", UPLOADS)]);
    let toml = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n\
                [limits]\nreceived_bytes_max = \"3500KB\"\nreceived_bytes_per_client_max = \"3500KB\"\n";
    let mut config = AppConfig::from_text(scratch.path(), toml).expect("valid");
    let logger = Logger::captured(Level::Info);
    config.program.logger = logger.clone();
    let running = Server::start(config).expect("it starts");
    let connect = || Client::connect(running.address()).expect("someone listens");
    let mut begun = Vec::new();
    let mut refused = Vec::new();
    for _ in 0..6 {
        let mut client = connect();
        begin_upload(&mut client);
        // The answer to another request tells that the server has looked at this one.
        let small = connect()
            .ask("POST", "/upload", &[], "abc")
            .expect("an answer");
        assert_eq!(small.text(), "3");
        begun.push(client);
    }
    let reached = "bodies of requests have reached received_bytes_max (3500000)";
    wait::until("a refusal", || logger.lines().contains(reached));
    let mut done = 0;
    for mut client in begun {
        // The server may read no more of a request that it has refused.
        let _ = client.send(b"x");
        let answer = client.read(false).expect("an answer");
        match answer.status {
            200 => {
                assert_eq!(answer.text(), UPLOAD_BYTES.to_string());
                done += 1;
            }
            status => {
                assert_eq!(status, 503);
                assert_eq!(answer.header("retry-after"), ["1"]);
                refused.push(answer.text());
            }
        }
    }
    assert!(done > 0 && !refused.is_empty(), "{done} {refused:?}");
    assert!(!refused[0].contains("received_bytes_max"), "{refused:?}");
    // All memory is free again.
    let body = "x".repeat(UPLOAD_BYTES);
    for _ in 0..4 {
        let answer = connect()
            .ask("POST", "/upload", &[], &body)
            .expect("an answer");
        assert_eq!(answer.status, 200);
    }
    assert!(running.shutdown());
}
