//! The examples that `cargo xtask bench` measures answer as it expects.

use crate::commands::command::serve;
use crate::support::Process;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

const ITEM: &str = r#"{"id":7,"name":"Ada Lovelace","tags":["math"]}"#;

/// The file of an example.
fn example(file: &str) -> String {
    format!("{}/../../examples/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// A server that answers each request with [`ITEM`].
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let length = ITEM.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{ITEM}"
    );
    let (mut head, mut byte) = (Vec::new(), [0]);
    while stream.read_exact(&mut byte).is_ok() {
        head.push(byte[0]);
        if head.ends_with(b"\r\n\r\n") {
            assert!(head.starts_with(b"GET /item HTTP/1.1\r\n"));
            stream.write_all(answer.as_bytes()).expect("sent");
            head.clear();
        }
    }
}

#[test]
fn the_example_of_requests_to_others_answers_as_it_is_measured() {
    let origin = origin();
    for file in ["app.lua", "app.js"] {
        let mut command = serve(&example(&format!("bench_fetch/{file}")), 1);
        let process = Process::start(command.env("ORIGIN", format!("http://{origin}")));
        let mut client = process.client();
        for _ in 0..2 {
            let passed = client.ask("GET", "/passed", &[], "").expect("an answer");
            assert_eq!(
                passed.header("content-type"),
                ["application/json"],
                "{file}"
            );
            assert_eq!(
                (passed.status, passed.text().as_str()),
                (200, ITEM),
                "{file}"
            );
            let read = client.ask("GET", "/read", &[], "").expect("an answer");
            let read: serde_json::Value = serde_json::from_slice(&read.body).expect("JSON");
            let wanted = serde_json::json!({ "id": 7, "name": "Ada Lovelace" });
            assert_eq!(read, wanted, "{file}");
        }
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
    }
}
