//! The examples that `cargo xtask bench` measures answer as it expects.

use crate::commands::command::serve;
use crate::support::{Process, Scratch};
use sampan_client::postgres::PostgresServer;
use sampan_testkit::wait;
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

#[test]
fn the_example_of_jobs_answers_as_it_is_measured() {
    let scratch = Scratch::new(&[
        ("none.toml", "[jobs]\nworkers = 0\n"),
        ("four.toml", "[jobs]\nworkers = 4\n"),
    ]);
    for file in ["app.lua", "app.js"] {
        let start = |settings: &str| {
            let mut command = serve(&example(&format!("bench_jobs/{file}")), 1);
            command.arg("--db").arg(scratch.file(&format!("{file}.db")));
            Process::start(command.arg("--config").arg(scratch.file(settings)))
        };
        let end = |process: Process| {
            process.signal("TERM");
            assert_eq!(process.end().0, Some(0));
        };
        let process = start("none.toml");
        let mut client = process.client();
        let mut ask = |method: &str, path: &str| {
            let answer = client.ask(method, path, &[], "").expect("an answer");
            assert_eq!(answer.status, 200, "{file} {path}: {}", answer.text());
            serde_json::from_slice::<serde_json::Value>(&answer.body).expect("JSON")
        };
        assert_eq!(ask("POST", "/add")["added"], 1000, "{file}");
        for (path, done, rows, jobs) in [
            ("/insert", 1, 1, 1000),
            ("/insert-insert", 2, 3, 1000),
            ("/insert-enqueue", 2, 4, 1001),
            ("/insert-ten", 11, 15, 1001),
            ("/enqueue-ten", 11, 16, 1011),
        ] {
            assert_eq!(ask("POST", path)["done"], done, "{file} {path}");
            assert_eq!(ask("GET", "/count")["count"], rows, "{file} {path}");
            assert_eq!(ask("GET", "/left")["left"], jobs, "{file} {path}");
        }
        end(process);
        let process = start("four.toml");
        let mut client = process.client();
        let mut ask = |method: &str, path: &str| {
            let answer = client.ask(method, path, &[], "").expect("an answer");
            serde_json::from_slice::<serde_json::Value>(&answer.body).expect("JSON")
        };
        assert_eq!(ask("GET", "/quick")["status"], "ok", "{file}");
        assert_eq!(ask("POST", "/start")["done"], 1, "{file}");
        assert!(ask("POST", "/burn/1")["till"].is_f64(), "{file}");
        wait::until("all jobs have ended", || ask("GET", "/left")["left"] == 0);
        let starts = ask("GET", "/starts");
        assert_eq!(starts.as_array().map(Vec::len), Some(1), "{file}");
        assert!(starts[0]["millis"].as_f64() > Some(0.0), "{file}: {starts}");
        end(process);
    }
}

#[test]
fn the_example_on_postgresql_answers_as_it_is_measured() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    for file in ["app.lua", "app.js"] {
        let mut command = serve(&example(&format!("bench_postgres/{file}")), 1);
        command.arg("--db").arg(server.url(&server.database()));
        let process = Process::start(&mut command);
        let mut client = process.client();
        let mut ask = |method: &str, path: &str| {
            let answer = client.ask(method, path, &[], "").expect("an answer");
            assert_eq!(answer.status, 200, "{file} {path}: {}", answer.text());
            serde_json::from_slice::<serde_json::Value>(&answer.body).expect("JSON")
        };
        let row = serde_json::json!({
            "id": 500, "kind": "seed", "payload": r#"{"user":00500,"page":"/home"}"#, "ts": 1_700_000_500,
        });
        assert_eq!(ask("GET", "/row/500"), row, "{file}");
        let rows = ask("GET", "/rows");
        assert_eq!(rows.as_array().map(Vec::len), Some(20), "{file}");
        assert_eq!(rows[0]["id"], 1_000, "{file}");
        assert_eq!(ask("POST", "/write")["id"], 1_001, "{file}");
        assert_eq!(ask("POST", "/write-batch")["inserted"], 10, "{file}");
        assert_eq!(ask("POST", "/update")["updated"], 20, "{file}");
        let count = serde_json::json!({ "count": 1_011, "sum": 20 });
        assert_eq!(ask("GET", "/count"), count, "{file}");
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
    }
}

#[test]
fn the_example_of_load_answers_as_it_is_measured() {
    let scratch = Scratch::new(&[]);
    for file in ["app.lua", "app.js"] {
        let mut command = serve(&example(&format!("bench_load/{file}")), 1);
        command.arg("--db").arg(scratch.file(&format!("{file}.db")));
        // A hundred thousand rows take their time on a busy machine.
        for limit in [
            "db.statement",
            "db.query_inline",
            "limits.script",
            "limits.handler",
        ] {
            command.args(["--set", &format!("{limit}_millis_max=100000")]);
        }
        let process = Process::start(&mut command);
        let mut client = process.client();
        let mut ask = |method: &str, path: &str| {
            let answer = client.ask(method, path, &[], "").expect("an answer");
            assert_eq!(answer.status, 200, "{file} {path}: {}", answer.text());
            serde_json::from_slice::<serde_json::Value>(&answer.body).expect("JSON")
        };
        assert_eq!(ask("GET", "/quick")["status"], "ok", "{file}");
        for path in ["/burn/10000", "/work/10000"] {
            assert_eq!(ask("GET", path)["x"], 1_043_618_065, "{file} {path}");
        }
        assert_eq!(ask("POST", "/login")["ok"], true, "{file}");
        let answer = client.ask("GET", "/rows", &[], "").expect("an answer");
        process.signal("TERM");
        let (status, log) = process.end();
        let rows = "{\"rows\":100000,\"sum\":49950000}";
        assert_eq!(answer.text(), rows, "{file}: {log}");
        assert_eq!(status, Some(0));
    }
}
