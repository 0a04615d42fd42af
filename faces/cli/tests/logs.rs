//! The log of the executable as those who operate it meet it: formats, the access log, floods, and readers that do not read.

mod faults;
mod support;

use faults::Project;
use faults::shim::{Disk, Fault};
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
app.get("/loop", function() while true do end end)
app.get("/silent", function() return app.stream(function(write) write("one") app.time.sleep(30) end) end)
app.get("/ticker", function() return app.stream(function(write) while true do write("t") app.time.sleep(0.02) end end) end)
app.get("/trace", function()
  local function deep() error("first\n2026-01-01T00:00:00.000Z ERROR forged") end
  local _, trace = xpcall(deep, debug.traceback)
  app.log.error(trace)
  return "logged"
end)
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
app.get("/loop", () => { while (true) {} });
app.get("/silent", () => stream(async (write) => { await write("one"); await time.sleep(30); }));
app.get("/ticker", () => stream(async (write) => { for (;;) { await write("t"); await time.sleep(0.02); } }));
app.get("/trace", () => {
  const deep = () => { throw new Error("first\n2026-01-01T00:00:00.000Z ERROR forged"); };
  try { deep(); } catch (error) { console.error(error); }
  return "logged";
});
"#,
    ),
];

/// A server with one worker whose `[log]` has these keys, and whose access log goes into the file `access`.
fn serve(scratch: &Scratch, app: &str, log: &str) -> Process {
    let limits = "body_bytes_max = 100\nhead_bytes_max = 4096\ntarget_bytes_max = 2048\n";
    serve_within(scratch, app, log, limits)
}

/// The same, with these limits.
fn serve_within(scratch: &Scratch, app: &str, log: &str, limits: &str) -> Process {
    let text = format!("[log]\n{log}\n[limits]\n{limits}\n");
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

/// A figure behind the combined format.
fn figure(rest: &str, name: &str) -> f64 {
    let (_, value) = rest.split_once(&format!(" {name}=")).expect(rest);
    value
        .split(' ')
        .next()
        .unwrap_or_default()
        .parse()
        .expect(rest)
}

#[test]
fn the_access_log_shows_every_request_also_those_refused() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&APPS);
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
        let figure = |line: usize, name: &str| figure(&lines[line].4, name);
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
        let scratch = Scratch::new(&APPS);
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
        let scratch = Scratch::new(&APPS);
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
        assert!(big.ends_with("(cut, 1000000 bytes) id=r1"), "{big}");
    }
}

#[test]
fn a_flood_of_one_error_is_counted() {
    const REQUESTS: usize = 300;
    for (app, _) in APPS {
        let scratch = Scratch::new(&APPS);
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
fn a_reader_that_does_not_read_stops_nothing_and_is_told_what_it_missed() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&APPS);
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        let app = scratch.file(app);
        command.args(["run", &app, "--listen", "127.0.0.1:0", "--workers", "1"]);
        // Nobody reads the pipe: it takes 64 KiB, and the queue 8 MiB.
        let mut process = Process::start(&mut command);
        let mut client = process.client();
        let mut much = || {
            client
                .send(b"GET /much HTTP/1.1\r\nHost: h\r\n\r\n")
                .expect("sent");
            assert_eq!(client.read(false).expect("an answer").text(), "logged");
        };
        (0..100).for_each(|_| much());
        let errors = process.read_errors();
        // What waits is written first; then there is room for what tells of the loss.
        std::thread::sleep(Duration::from_millis(500));
        much();
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
        let errors = errors.join().expect("it does not panic");
        let lost = errors.lines().filter_map(|line| {
            let (_, rest) = line.split_once(" WARN ")?;
            let count =
                rest.strip_suffix(" lines of the log were lost: it is not read fast enough")?;
            Some(count.parse::<usize>().expect("a number"))
        });
        let written = errors.matches(" INFO yyy").count();
        let lost: usize = lost.sum();
        assert!(lost > 0, "{}", &errors[errors.len().saturating_sub(2000)..]);
        assert_eq!(written + lost, 101 * 20);
    }
}

#[test]
fn a_process_ends_although_nobody_reads_its_log() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&APPS);
        std::fs::write(scratch.file("sampan.toml"), "[log]\naccess = \"common\"\n")
            .expect("a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        let (app, config) = (scratch.file(app), scratch.file("sampan.toml"));
        command.args(["run", &app, "--config", &config]);
        command.args(["--listen", "127.0.0.1:0", "--workers", "1"]);
        let mut process = Process::start_with_output(&mut command, Stdio::piped());
        let (mut client, begun) = (process.client(), Instant::now());
        for _ in 0..10 {
            client
                .send(b"GET /much HTTP/1.1\r\nHost: h\r\n\r\n")
                .expect("sent");
            assert_eq!(client.read(false).expect("an answer").text(), "logged");
        }
        drop(client);
        process.signal("TERM");
        assert_eq!(process.status(), Some(0));
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn further_lines_of_a_message_are_indented_in_text_and_one_line_in_json() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&APPS);
        let process = serve(&scratch, app, "");
        get(&process, "/trace", "X-Request-Id: r1\r\n");
        let (_, errors) = end(process, &scratch);
        let lines = errors.lines().skip_while(|line| !line.contains("first"));
        let lines: Vec<&str> = lines.collect();
        assert!(lines[0].ends_with("first id=r1"), "{errors}");
        assert_eq!(lines[1], "    2026-01-01T00:00:00.000Z ERROR forged");
        assert!(
            lines[2..lines.len() - 1]
                .iter()
                .all(|line| line.starts_with("    ")),
            "{errors}"
        );
        assert!(lines[2..].iter().any(|line| line.contains(app)), "{errors}");
        assert!(
            lines[lines.len() - 1].ends_with("shutting down"),
            "{errors}"
        );

        let process = serve(&scratch, app, "format = \"json\"");
        get(&process, "/trace", "");
        let (_, errors) = end(process, &scratch);
        let mut lines = errors
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect(line));
        let message = |line: &Value| line["message"].as_str().unwrap_or_default().to_owned();
        let told = lines.find(|line| message(line).contains("first\n2026"));
        assert!(
            told.is_some_and(|line| line["level"] == "error"),
            "{errors}"
        );
    }
}

#[test]
fn what_passes_a_limit_shows_its_status_and_the_limit() {
    let limits = "script_millis_max = 100\nhandler_millis_max = 300\nstream_idle_millis_max = 200\n\
                  shutdown_millis_max = 200";
    for (app, _) in APPS {
        for (format, of) in [
            ("common", (|line| combined(line).2) as fn(&str) -> u16),
            ("json", |line| {
                let object: Value = serde_json::from_str(line).expect(line);
                object["status"].as_u64().unwrap_or_default() as u16
            }),
        ] {
            let scratch = Scratch::new(&APPS);
            let process = serve_within(&scratch, app, &format!("access = \"{format}\""), limits);
            assert_eq!(get(&process, "/loop", "").status, 503);
            assert_eq!(get(&process, "/slow", "").status, 504);
            assert!(get(&process, "/silent", "").is_cut);
            // More than are told one by one.
            let mut readers: Vec<Client> = (0..13).map(|_| process.client()).collect();
            for reader in &mut readers {
                reader
                    .send(b"GET /ticker HTTP/1.1\r\nHost: h\r\n\r\n")
                    .expect("sent");
            }
            std::thread::sleep(Duration::from_millis(200));
            let (access, errors) = end(process, &scratch);
            let statuses: Vec<u16> = access.lines().map(of).collect();
            assert_eq!(statuses[..2], [503, 504], "{access}");
            assert_eq!(statuses[2..], [200; 14], "{access}");
            assert_eq!(access.matches("aborted").count(), 14, "{access}");
            for part in [
                "ERROR GET /loop: ",
                "script_millis_max (100 ms)",
                "ERROR GET /slow: no answer after ",
                "given up (handler_millis_max)",
                "ERROR GET /silent (stream): cut, as it sent nothing for too long (stream_idle_millis_max, 200 ms)",
                "WARN ... and 3 more like this in the last second: cut by the shutdown",
            ] {
                assert!(errors.contains(part), "{part}: {errors}");
            }
            let cut =
                "WARN GET /ticker (stream): cut by the shutdown (shutdown_millis_max, 200 ms)";
            assert_eq!(errors.matches(cut).count(), 10, "{errors}");
        }
    }
}

#[test]
fn a_connection_above_the_most_shows_in_the_access_log() {
    for (app, _) in APPS {
        let scratch = Scratch::new(&APPS);
        let process = serve_within(&scratch, app, "access = \"common\"", "connections_max = 1");
        let mut first = process.client();
        first
            .send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            .expect("sent");
        assert_eq!(first.read(false).expect("an answer").status, 200);
        let refused = get(&process, "/item/7", "");
        assert_eq!(
            (refused.status, refused.header("retry-after").len()),
            (503, 1)
        );
        drop(first);
        let (access, _) = end(process, &scratch);
        let statuses: Vec<u16> = access.lines().map(|line| combined(line).2).collect();
        assert_eq!(statuses, [200, 503], "{access}");
    }
}

/// The answer waits for the sync of its group: its line has the status that was sent, and the time of the wait.
#[test]
fn an_answer_that_waits_for_its_commit_is_told_when_that_has_ended() {
    for app in faults::APPS {
        let project = Project::new("access", "full", "[log]\naccess = \"common\"");
        let disk = Disk::failing(&project);
        let output = File::create(project.file("access")).expect("a file");
        let mut command = project.command_for(app, 1);
        disk.under(&mut command);
        let process = Process::start_with_output(&mut command, output.into());
        let write = |id: u32| {
            let request =
                format!("POST /write/1/{id} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
            ask(&process, &request).status
        };
        assert_eq!(write(1), 200);
        disk.crawl();
        assert_eq!(write(2), 200);
        disk.fail(Fault::Sync);
        assert_eq!(write(3), 500);
        process.signal("TERM");
        process.end();
        let access = std::fs::read_to_string(project.file("access")).expect("UTF-8");
        let lines: Vec<_> = access.lines().map(combined).collect();
        let statuses: Vec<u16> = lines.iter().map(|line| line.2).collect();
        assert_eq!(statuses, [200, 200, 500], "{access}");
        assert!(
            figure(&lines[1].4, "time") >= 0.4,
            "a sync takes so long: {access}"
        );
    }
}
