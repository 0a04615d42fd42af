//! The log of the executable as those who operate it meet it: formats, the access log, floods, and readers that do not
//! read.

mod access;

use crate::support::{Process, Scratch};
use sampan_testkit::Answer;
use sampan_testkit::wait;
use serde_json::Value;
use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Instant;

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
app.get("/slow", function() app.log.info("slow begins") app.time.sleep(30) return "late" end)
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
app.get("/slow", async () => { log.info("slow begins"); await time.sleep(30); return "late"; });
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

/// Serves with these limits.
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
                // What is not an id is replaced by one of the server's.
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
        wait::settled("the log", || errors.text().len());
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
        let mut client = process.client();
        for _ in 0..10 {
            client
                .send(b"GET /much HTTP/1.1\r\nHost: h\r\n\r\n")
                .expect("sent");
            assert_eq!(client.read(false).expect("an answer").text(), "logged");
        }
        drop(client);
        process.signal("TERM");
        assert_eq!(process.status(), Some(0));
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
