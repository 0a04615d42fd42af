//! Large answers, which are sent from where they lie.

use crate::support::Scratch;
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Server};
use sampan_testkit::Client;

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
