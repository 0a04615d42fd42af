//! The log of the executable as those who operate it meet it: formats, the access log, floods, and readers that do not read.

mod support;

use sampan_testkit::{Answer, Client};
use serde_json::Value;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Process, Scratch};

const APPS: [(&str, &str); 2] = [
    (
        "app.lua",
        r#"local app = require "sampan"
app.get("/", function() return "fine" end)
app.get("/item/:id", function(req) return req.id end)
app.get("/fixed", "fixed")
app.get("/boom", function() error("boom " .. math.random()) end)
app.get("/big", function() app.log.info(("x"):rep(1000000) .. "\nforged") return "logged" end)
app.get("/much", function() for _ = 1, 20 do app.log.info(("y"):rep(10000)) end return "logged" end)
app.get("/stream", function() return app.stream(function(write) write("one") write("two") end) end)
app.get("/db", function() app.db.exec("CREATE TABLE IF NOT EXISTS t (x)") return app.db.query("SELECT 1 AS one") end)
app.get("/slow", function() app.time.sleep(30) return "late" end)
"#,
    ),
    (
        "app.js",
        r#"import { app, db, log, stream, time } from "sampan";
app.get("/", () => "fine");
app.get("/item/:id", (req) => req.id);
app.get("/fixed", "fixed");
app.get("/boom", () => { throw new Error("boom " + Math.random()); });
app.get("/big", () => { log.info("x".repeat(1000000) + "\nforged"); return "logged"; });
app.get("/much", () => { for (let i = 0; i < 20; i++) log.info("y".repeat(10000)); return "logged"; });
app.get("/stream", () => stream(async (write) => { await write("one"); await write("two"); }));
app.get("/db", () => { db.exec("CREATE TABLE IF NOT EXISTS t (x)"); return db.query("SELECT 1 AS one"); });
app.get("/slow", async () => { await time.sleep(30); return "late"; });
"#,
    ),
];

/// A server with one worker whose `[log]` has these keys, and whose access log goes into the file `access`.
fn serve(scratch: &Scratch, app: &str, log: &str) -> Process {
    let text = format!(
        "[log]\n{log}\n[limits]\nbody_bytes_max = 100\nhead_bytes_max = 4096\ntarget_bytes_max = 2048\n"
    );
    std::fs::write(scratch.file("sampan.toml"), text).expect("a file");
    let output = File::create(scratch.file("access")).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    let (app, config) = (scratch.file(app), scratch.file("sampan.toml"));
    command.args(["run", &app, "--config", &config]);
    command.args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    Process::start_with_output(&mut command, output.into())
}

fn end(process: Process, scratch: &Scratch) -> (String, String) {
    process.signal("TERM");
    let (status, errors) = process.end();
    assert_eq!(status, Some(0), "{errors}");
    let access = std::fs::read_to_string(scratch.file("access")).expect("UTF-8");
    (access, errors)
}

fn ask(process: &Process, request: &str) -> Answer {
    let mut client = process.client();
    client.send(request.as_bytes()).expect("sent");
    client.read(request.starts_with("HEAD")).expect("an answer")
}

fn get(process: &Process, path: &str, more: &str) -> Answer {
    ask(
        process,
        &format!("GET {path} HTTP/1.1\r\nHost: h\r\n{more}\r\n"),
    )
}

/// One line of the combined format, taken apart as tools do it: host, request, status, bytes, and what stands behind.
fn combined(line: &str) -> (String, String, u16, u64, String) {
    let (host, rest) = line.split_once(" - - [").expect(line);
    let (time, rest) = rest.split_once("] \"").expect(line);
    assert_eq!(time.len(), "21/Nov/2026:05:00:00 +0000".len(), "{line}");
    let (request, rest) = rest.split_once("\" ").expect(line);
    let (status, rest) = rest.split_once(' ').expect(line);
    let (bytes, rest) = rest.split_once(" \"").expect(line);
    let (status, bytes) = (status.parse().expect(line), bytes.parse().expect(line));
    (host.into(), request.into(), status, bytes, rest.into())
}

#[test]
fn the_access_log_shows_every_request_also_those_refused() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&format!("access-{app}"), &APPS);
        let process = serve(&scratch, app, "access = \"common\"");
        let sent = get(
            &process,
            "/item/7?q=%22",
            "X-Request-Id: r-1\r\nUser-Agent: \"x\\\r\n",
        );
        assert_eq!(sent.text(), "r-1");
        assert_eq!(
            ask(&process, "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n").status,
            200
        );
        get(&process, "/fixed", "");
        get(&process, "/stream", "");
        get(&process, "/db", "");
        let long = format!("X-Long: {}\r\n", "x".repeat(5000));
        let too_large = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n";
        let refused = [
            get(&process, "/nowhere", ""),
            ask(&process, "DELETE /fixed HTTP/1.1\r\nHost: h\r\n\r\n"),
            ask(&process, "garbage\r\n\r\n"),
            ask(&process, too_large),
            get(&process, "/", &long),
        ]
        .map(|answer| answer.body.len() as u64);
        let mut client = process.client();
        client
            .send("GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(3).as_bytes())
            .expect("sent");
        for _ in 0..3 {
            assert_eq!(client.read(false).expect("an answer").status, 200);
        }
        // A client that leaves before it is answered.
        let mut client = process.client();
        client
            .send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
            .expect("sent");
        std::thread::sleep(Duration::from_millis(100));
        drop(client);
        std::thread::sleep(Duration::from_millis(100));
        let (access, errors) = end(process, &scratch);
        let lines: Vec<_> = access.lines().map(combined).collect();
        let told: Vec<_> = lines
            .iter()
            .map(|line| (line.1.as_str(), line.2, line.3))
            .collect();
        assert_eq!(
            told,
            [
                ("GET /item/7?q=%22 HTTP/1.1", 200, 3),
                ("HEAD / HTTP/1.1", 200, 0),
                ("GET /fixed HTTP/1.1", 200, 5),
                // Two chunks of three bytes with their framing, and the last one.
                ("GET /stream HTTP/1.1", 200, 21),
                ("GET /db HTTP/1.1", 200, 11),
                ("GET /nowhere HTTP/1.1", 404, refused[0]),
                ("DELETE /fixed HTTP/1.1", 405, refused[1]),
                ("-", 400, refused[2]),
                ("POST / HTTP/1.1", 413, refused[3]),
                ("-", 431, refused[4]),
                ("GET / HTTP/1.1", 200, 4),
                ("GET / HTTP/1.1", 200, 4),
                ("GET / HTTP/1.1", 200, 4),
                ("GET /slow HTTP/1.1", 499, 0),
            ],
            "{access}{errors}"
        );
        let first = &lines[0].4;
        assert!(
            first.contains("\"\\x22x\\x5C\" route=\"/item/:id\" time=0."),
            "{first}"
        );
        assert!(first.ends_with(" id=r-1"), "{first}");
        assert!(lines[13].4.ends_with(" aborted=true"), "{access}");
        let figure = |line: usize, name: &str| -> f64 {
            let rest = lines[line]
                .4
                .split_once(&format!(" {name}="))
                .expect(name)
                .1;
            rest.split(' ')
                .next()
                .unwrap_or_default()
                .parse()
                .expect(name)
        };
        let (time, script, db) = (figure(4, "time"), figure(4, "script"), figure(4, "db"));
        assert!(
            db > 0.0 && script > 0.0 && time >= script,
            "{time} {script} {db}"
        );
        assert_eq!(
            (figure(2, "script"), figure(2, "db")),
            (0.0, 0.0),
            "precomputed"
        );
        assert!(figure(13, "time") >= 0.05, "{access}");
    }
}

#[test]
fn every_line_of_json_is_an_object_whatever_it_says() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&format!("json-{app}"), &APPS);
        let process = serve(&scratch, app, "format = \"json\"\naccess = \"json\"");
        get(&process, "/item/\"", "");
        for id in ["a\tb", "\x1b[2J", "a b", "é", &"x".repeat(129)] {
            let answer = get(
                &process,
                "/item/7",
                &format!("X-Request-Id: {id}\r\nReferer: \u{e9}\"\r\n"),
            );
            if answer.status == 200 {
                // What is no id is replaced by one of the server's.
                let text = answer.text();
                assert!(
                    text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit()),
                    "{text}"
                );
                assert_eq!(answer.header("x-request-id"), [text.as_str()]);
            } else {
                assert_eq!((answer.status, id), (400, "\x1b[2J"));
            }
        }
        get(&process, "/big", "X-Request-Id: big\r\n");
        get(&process, "/boom", "X-Request-Id: fails\r\n");
        let (access, errors) = end(process, &scratch);
        let objects = |text: &str| -> Vec<Value> {
            text.lines()
                .map(|line| serde_json::from_str(line).expect(line))
                .collect()
        };
        let lines = objects(&errors);
        let of = |id: &str| {
            let found = lines.iter().find(|line| line["id"] == id);
            found.unwrap_or_else(|| panic!("{id}: {errors}"))
        };
        let big = of("big")["message"].as_str().expect("text");
        assert!(big.len() < 65_536 && big.contains("1000007 bytes") && !big.contains("forged"));
        let fails = of("fails");
        assert_eq!(
            (&fails["level"], &fails["path"]),
            (&"error".into(), &"/boom".into())
        );
        assert!(
            fails["stack"]
                .as_str()
                .is_some_and(|stack| stack.contains(app)),
            "{fails}"
        );
        for line in objects(&access) {
            assert!(
                line["status"].is_u64() && line["time_ms"].is_f64() && line["bytes"].is_u64(),
                "{line}"
            );
            assert!(
                line["id"]
                    .as_str()
                    .is_none_or(|id| id.bytes().all(|b| b.is_ascii_graphic()))
            );
        }
    }
}

#[test]
fn a_line_of_a_megabyte_is_one_line_and_is_cut() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&format!("big-{app}"), &APPS);
        let process = serve(&scratch, app, "line_bytes_max = 2048");
        get(&process, "/big", "X-Request-Id: r1\r\n");
        let (_, errors) = end(process, &scratch);
        assert!(
            errors
                .lines()
                .all(|line| line.len() <= 2048 && !line.starts_with("forged"))
        );
        let big = errors
            .lines()
            .find(|line| line.contains("xxx"))
            .expect("a line");
        assert!(big.ends_with("(cut, 1000007 bytes) id=r1"), "{big}");
    }
}

#[test]
fn a_flood_of_one_error_is_counted() {
    const REQUESTS: usize = 300;
    for (app, _) in APPS {
        let scratch = Scratch::new(&format!("flood-{app}"), &APPS);
        let process = serve(&scratch, app, "");
        let mut client = process.client();
        let begun = Instant::now();
        for _ in 0..REQUESTS {
            client
                .send(b"GET /boom HTTP/1.1\r\nHost: h\r\n\r\n")
                .expect("sent");
            assert_eq!(client.read(false).expect("an answer").status, 500);
        }
        let seconds = begun.elapsed().as_secs() as usize + 1;
        let (_, errors) = end(process, &scratch);
        let written = errors.matches("GET /boom: ").count();
        assert!(
            (10..=10 * seconds).contains(&written),
            "{written} in {seconds} s"
        );
        let counted: usize = errors
            .lines()
            .filter_map(|line| {
                line.split_once("ERROR ... and ")?
                    .1
                    .split_once(" more like this")
            })
            .map(|(count, _)| count.replace(',', "").parse::<usize>().expect("a number"))
            .sum();
        assert_eq!(written + counted, REQUESTS, "{errors}");
    }
}

#[test]
fn a_reader_that_does_not_read_stops_nothing() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&format!("full-{app}"), &APPS);
        std::fs::write(scratch.file("sampan.toml"), "[log]\naccess = \"common\"\n")
            .expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        let (app, config) = (scratch.file(app), scratch.file("sampan.toml"));
        command.args(["run", &app, "--config", &config]);
        command.args(["--listen", "127.0.0.1:0", "--workers", "1"]);
        // Nobody reads either pipe: each takes 64 KiB, and the queue 8 MiB.
        let process = Process::start_with_output(&mut command, Stdio::piped());
        let mut client = Client::connect(process.address).expect("someone listens");
        for _ in 0..100 {
            client
                .send(b"GET /much HTTP/1.1\r\nHost: h\r\n\r\n")
                .expect("sent");
            assert_eq!(client.read(false).expect("an answer").text(), "logged");
        }
        drop(client);
        let begun = Instant::now();
        process.signal("TERM");
        let (status, _) = process.end();
        assert_eq!(status, Some(0));
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
    }
}
