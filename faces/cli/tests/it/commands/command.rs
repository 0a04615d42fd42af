//! The `sampan` command as its users meet it: exit statuses, messages, signals, the examples.

use crate::support::{Process, Scratch};
use sampan_host::log::Level;
use sampan_http::websocket::{Event, Opcode};
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Server};
use sampan_testkit::wait;
use sampan_testkit::{Client, SocketClient};
use std::io::{self, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

pub(crate) fn sampan(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.args(args);
    command
}

/// A server for `path` on a free port.
pub(crate) fn serve(path: &str, workers: usize) -> Command {
    sampan(&[
        "run",
        path,
        "--listen",
        "127.0.0.1:0",
        "--workers",
        &workers.to_string(),
    ])
}

/// Runs the command to its end: exit status, standard output, standard error.
pub(crate) fn run(args: &[&str]) -> (i32, String, String) {
    told(sampan(args).output().expect("the command starts"))
}

/// Runs the command as [`run`] does, with a text in its pipe.
pub(crate) fn piped(args: &[&str], text: &str) -> (i32, String, String) {
    let mut command = sampan(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(text.as_bytes()).expect("read");
    drop(input);
    told(child.wait_with_output().expect("it ends"))
}

fn told(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code().expect("no signal"),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Expects that the command succeeds and warns of nothing. Returns its standard output.
pub(crate) fn succeeds(args: &[&str]) -> String {
    let (code, out, errors) = run(args);
    assert_eq!((code, errors.as_str()), (0, ""), "{args:?}: {out}");
    out
}

/// Expects that the command fails with one line.
pub(crate) fn fails(args: &[&str], status: i32, parts: &[&str]) {
    let (code, _, errors) = run(args);
    assert_eq!(code, status, "{args:?}: {errors}");
    for part in parts {
        assert!(
            errors.contains(part),
            "{args:?}: {errors:?} does not contain {part:?}"
        );
    }
    if status == 1 {
        assert!(
            errors.starts_with("sampan: ") && errors.trim_end().lines().count() == 1,
            "one line: {errors:?}"
        );
    }
}

fn get(client: &mut Client, path: &str) -> io::Result<sampan_testkit::Answer> {
    client.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes())?;
    client.read(false)
}

const HELLO: &str = "local app = require 'sampan'\napp.get('/', function() return 'hello' end)\n";

#[test]
fn help_and_version() {
    let (code, out, _) = run(&["--help"]);
    assert!(
        code == 0 && out.contains("Usage: sampan") && out.contains("run"),
        "{out}"
    );
    let (code, out, _) = run(&["run", "--help"]);
    assert!(code == 0, "{out}");
    for word in [
        "--listen",
        "--workers",
        "--config",
        "DIR|FILE",
        "127.0.0.1:8080",
    ] {
        assert!(out.contains(word), "{out} does not contain {word}");
    }
    let (code, out, _) = run(&["--version"]);
    assert_eq!(
        (code, out.as_str()),
        (0, concat!("sampan ", env!("CARGO_PKG_VERSION"), "\n"))
    );
}

#[test]
fn a_command_line_that_makes_no_sense_exits_2() {
    fails(&[], 2, &["Usage"]);
    fails(&["serve"], 2, &["serve"]);
    fails(&["run", "--lisen", "x"], 2, &["--lisen", "--listen"]);
    for command in ["run", "dev"] {
        let words = [command, "--port", "3000"];
        fails(&words, 2, &["write --listen 127.0.0.1:3000"]);
    }
    fails(&["run", "--workers", "many"], 2, &["--workers", "many"]);
    fails(&["run", "a", "b"], 2, &["'b'"]);
    fails(
        &["run", "--workers", "0"],
        2,
        &["--workers", "from 1 to 1024"],
    );
    for port in ["9", ":9"] {
        fails(
            &["run", "--listen", port],
            2,
            &["--listen", "has no host: write 127.0.0.1:9 "],
        );
    }
    fails(
        &["run", "--listen", "no address"],
        2,
        &["--listen", "is no address to listen on"],
    );
    fails(&["backup", "-"], 2, &["standard output", "name a file"]);
}

#[test]
fn a_project_that_is_not_there_exits_1() {
    let scratch = Scratch::new(&[("notes.txt", "")]);
    fails(
        &["run", &scratch.file("none")],
        1,
        &["none does not exist: name the project's folder or the file to run"],
    );
    for (command, meant) in [
        (["migrate", "statsu"], "did you mean \"status\"?"),
        (["jobs", "lsit"], "did you mean \"list\"?"),
        (["db", "resotre"], "did you mean \"restore\"?"),
    ] {
        fails(&command, 1, &["does not exist", meant]);
    }
    fails(
        &["run", &scratch.path().display().to_string()],
        1,
        &["has no app.lua, app.js, app.jsx, app.ts or app.tsx: name the file to run"],
    );
    fails(
        &["run", &scratch.file("notes.txt")],
        1,
        &["must end in .lua, .js, .mjs, .jsx, .ts, .mts or .tsx"],
    );
    let both = Scratch::new(&[("app.lua", HELLO), ("app.js", "")]);
    fails(
        &["run", &both.path().display().to_string()],
        1,
        &["has app.lua and app.js: name the one to run"],
    );
}

#[test]
fn a_faulty_configuration_exits_1_and_names_the_place() {
    let scratch = Scratch::new(&[
        ("app.lua", HELLO),
        ("sampan.toml", "[server]\nworkers = 1\nlisen = \"x\"\n"),
    ]);
    let app = scratch.file("app.lua");
    fails(
        &["run", &app],
        1,
        &["sampan.toml:3: [server] has no key \"lisen\"; did you mean \"listen\"? It has listen"],
    );
    fails(
        &["run", &app, "--config", &scratch.file("none.toml")],
        1,
        &["cannot read", "none.toml"],
    );
    std::fs::write(
        scratch.file("sampan.toml"),
        "[limits]\nheaders_max = 1000\n",
    )
    .expect("written");
    fails(
        &["run", &app],
        1,
        &["sampan.toml:2: [limits] headers_max is 1000; it must be 1 to 256"],
    );
    std::fs::write(scratch.file("sampan.toml"), "").expect("written");
}

#[test]
fn an_address_that_cannot_be_had_exits_1() {
    let scratch = Scratch::new(&[("app.lua", HELLO)]);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("bound").to_string();
    let port = format!(
        "port {} is in use by process ",
        address.rsplit(':').next().unwrap_or_default()
    );
    fails(
        &["run", &scratch.file("app.lua"), "--listen", &address],
        1,
        &[&port, "--listen"],
    );
    fails(
        &["run", &scratch.file("app.lua"), "--listen", "192.0.2.1:80"],
        1,
        &["192.0.2.1:80", "--listen"],
    );
}

#[test]
fn a_project_that_does_not_load_exits_1_once_with_file_and_line() {
    let scratch = Scratch::new(&[
        (
            "app.lua",
            "local app = require 'sampan'\napp.get('/', function( return 1 end)\n",
        ),
        (
            "app.js",
            "import { app } from \"sampan\";\n\napp.get('/', () => ;\n",
        ),
    ]);
    for (file, place) in [("app.lua", "app.lua:2"), ("app.js", "app.js:3")] {
        let (code, _, errors) = run(&[
            "run",
            &scratch.file(file),
            "--listen",
            "127.0.0.1:0",
            "--workers",
            "4",
        ]);
        assert_eq!(code, 1, "{errors}");
        assert!(errors.starts_with(&format!("sampan: {place}")), "{errors}");
        assert_eq!(
            errors.matches("sampan: ").count(),
            1,
            "told once, not by each worker: {errors}"
        );
    }
}

#[test]
fn the_examples_serve_what_they_show() {
    for (file, runtime) in [("app.lua", "lua"), ("app.js", "js")] {
        let example = format!("{}/../../examples/hello/{file}", env!("CARGO_MANIFEST_DIR"));
        let scratch = Scratch::new(&[]);
        let mut command = serve(&example, 1);
        command.args(["--db", &scratch.file("hello.db")]);
        let process = Process::start(&mut command);
        let mut client = process.client();
        let mut ask = |request: &str| {
            client.send(request.as_bytes()).expect("sent");
            let answer = client.read(false).expect("an answer");
            assert_eq!(answer.status, 200, "{request}: {}", answer.text());
            serde_json::from_slice::<serde_json::Value>(&answer.body).expect("JSON")
        };
        let health = ask("GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(
            (&health["status"], &health["runtime"]),
            (&"ok".into(), &runtime.into())
        );
        assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(
            ask("GET /greet/Ann HTTP/1.1\r\nHost: h\r\n\r\n")["greeting"],
            "Hello, Ann"
        );
        assert_eq!(
            ask("GET /version HTTP/1.1\r\nHost: h\r\n\r\n")["version"],
            "1.0"
        );
        let post = |path: &str, body: &str| {
            format!(
                "POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        assert_eq!(
            ask(&post("/greet/Ann", "{\"greeting\":\"Hi\"}"))["greeting"],
            "Hi, Ann"
        );
        let echoed = "{\"a\":[],\"b\":{},\"c\":null}";
        assert_eq!(ask(&post("/echo", echoed)).to_string(), echoed);
        assert_eq!(
            ask("GET / HTTP/1.1\r\nHost: h\r\n\r\n")["message"],
            "visit recorded"
        );
        let visits = ask("GET /visits HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(
            (&visits[0]["id"], &visits[0]["path"]),
            (&1.into(), &"/".into())
        );
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
    }
}

#[test]
fn the_example_of_bodies_answers_as_it_is_measured() {
    for file in ["app.lua", "app.js"] {
        let folder = format!("{}/../../examples/bench_bodies", env!("CARGO_MANIFEST_DIR"));
        let process = Process::start(&mut serve(&format!("{folder}/{file}"), 1));
        let mut client = process.client();
        let mut ask = |method: &str, path: &str, body: &str| {
            let length = body.len();
            let head =
                format!("{method} {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n");
            client.send((head + body).as_bytes()).expect("sent");
            let answer = client.read(false).expect("an answer");
            assert_eq!(answer.status, 200, "{file} {path}: {}", answer.text());
            answer
        };
        let answer = ask("GET", "/headers", "");
        assert_eq!(answer.header("x-field-20"), ["the value of field 20"]);
        assert_eq!(answer.text(), "ok");
        assert_eq!(
            ask("POST", "/length", &"x".repeat(1_000_000)).text(),
            r#"{"length":1000000}"#
        );
        let items = r#"[{"id":1},{"id":2}]"#;
        let counted: serde_json::Value =
            serde_json::from_slice(&ask("POST", "/count", items).body).expect("JSON");
        assert_eq!(counted, serde_json::json!({ "count": 2, "last": 2 }));
        for (path, bytes) in [("10k", 10_000), ("100k", 100_000), ("1m", 1_000_000)] {
            let text = ask("GET", &format!("/text/{path}"), "").text();
            assert!(text == "0123456789".repeat(bytes / 10), "{file} {path}");
        }
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
    }
}

#[test]
fn the_example_of_templates_answers_as_it_is_measured() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for file in ["app.lua", "app.js"] {
        let process = Process::start(&mut serve(
            &format!("{root}/examples/bench_template/{file}"),
            1,
        ));
        let mut client = process.client();
        for name in ["simple", "loop", "full"] {
            let page = format!("{root}/bench/pages/{name}.html");
            let page = std::fs::read_to_string(page).expect("a page");
            let answer = get(&mut client, &format!("/{name}")).expect("an answer");
            let content_type = answer.header("content-type");
            assert_eq!(content_type, ["text/html; charset=utf-8"], "{file} {name}");
            // A template drops its last newline.
            assert_eq!(answer.text() + "\n", page, "{file} {name}");
        }
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
    }
}

#[test]
fn the_example_of_sockets_answers_as_it_is_measured() {
    for file in ["app.lua", "app.js"] {
        let folder = format!("{}/../../examples/bench_ws", env!("CARGO_MANIFEST_DIR"));
        let process = Process::start(&mut serve(&format!("{folder}/{file}"), 1));
        let open =
            |path: &str| SocketClient::connect(process.address, path, &[]).expect("a WebSocket");
        let text = |client: &mut SocketClient| match client.receive() {
            Ok(Some(Event::Text(text))) => text,
            other => panic!("{file}: {other:?}"),
        };
        let mut client = open("/echo");
        for sent in ["a", &"x".repeat(16_000)] {
            client.send(Opcode::Text, sent.as_bytes()).expect("sent");
            assert_eq!(text(&mut client), sent, "{file}");
        }
        let mut all = [open("/publish"), open("/publish")];
        for client in &mut all {
            assert_eq!(text(client), "subscribed", "{file}");
        }
        all[0].send(Opcode::Text, b"for all").expect("sent");
        for client in &mut all {
            assert_eq!(text(client), "for all", "{file}");
        }
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
    }
}

#[test]
fn connections_are_shared_among_the_workers() {
    let toml = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 2\n";
    let scratch = Scratch::new(&[("app.lua", HELLO)]);
    let mut config = AppConfig::from_text(scratch.path(), toml).expect("valid");
    config.program.logger = Logger::captured(Level::Info);
    let running = Server::start(config).expect("it starts");
    let mut clients: Vec<Client> = (0..8)
        .map(|_| Client::connect(running.address()).expect("someone listens"))
        .collect();
    for client in &mut clients {
        assert_eq!(get(client, "/").expect("an answer").text(), "hello");
    }
    let requests = running.requests();
    assert!(
        requests.iter().all(|count| (3..=5).contains(count)),
        "{requests:?}"
    );
    assert!(running.shutdown());
}

#[test]
fn clients_that_go_away_leave_nothing_behind() {
    /// The number of clients that go away in a round.
    const ROUND: usize = 10_000;
    /// The growth in a round that counts as flat, in KiB: 50 bytes for each client.
    const GROWTH_KIB_MAX: u64 = 512;
    /// The number of rounds after which the memory has found its size at the latest; a leak grows in every round.
    const ROUNDS_MAX: usize = 6;
    let apps = [
        (
            "app.lua",
            "local app = require 'sampan'\napp.get('/', function() app.time.sleep(60) end)\n",
        ),
        (
            "app.js",
            "import { app, time } from 'sampan';\napp.get('/', async () => { await time.sleep(60); });\n",
        ),
    ];
    let scratch = Scratch::new(&apps);
    for (app, _) in apps {
        let process = Process::start(&mut serve(&scratch.file(app), 1));
        let mut sizes = vec![process.memory_kib()];
        let is_flat = (0..ROUNDS_MAX).any(|_| {
            for _ in 0..ROUND {
                let sent = process.client().send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n");
                sent.expect("sent");
            }
            sizes.push(wait::settled("memory", || process.memory_kib()));
            sizes[sizes.len() - 1] <= sizes[sizes.len() - 2] + GROWTH_KIB_MAX
        });
        assert!(is_flat, "{app}: KiB after each round: {sizes:?}");
    }
}
