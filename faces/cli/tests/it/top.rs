//! `sampan top`: one table, and the same live in a terminal.

use crate::commands::command::{fails, run, serve};
use crate::commands::terminal::Terminal;
use crate::support::{Process, Scratch};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const APP: &str = r#"
local app = require "sampan"
app.db.exec("CREATE TABLE IF NOT EXISTS t (a)")
app.get("/items/:id", function(req) return { id = req.params.id } end)
app.post("/items/:id", function(req) app.db.exec("INSERT INTO t VALUES (?)", { req.params.id }) end)
app.get("/fails", function() error("broken") end)
app.get("/slow", function()
  return app.db.one("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) SELECT max(i) FROM n")
end)
"#;

fn start(toml: &str) -> (Scratch, Process) {
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", toml)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 2));
    (scratch, process)
}

/// Requests that go on until it is dropped.
struct Load {
    is_over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Load {
    fn on(process: &Process) -> Self {
        let is_over: Arc<AtomicBool> = Arc::default();
        let (over, mut client) = (Arc::clone(&is_over), process.client());
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                for (method, path) in [("GET", "/items/7"), ("POST", "/items/8"), ("GET", "/fails")]
                {
                    client.ask(method, path, &[], "").expect("an answer");
                }
            }
        });
        Self {
            is_over,
            thread: Some(thread),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let thread = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(std::thread::panicking() || thread.is_some_and(|end| end.is_ok()));
    }
}

#[test]
fn one_table_tells_what_a_server_does() {
    let (_scratch, process) = start("");
    let url = format!("http://{}", process.address);
    let slow = process.client().ask("GET", "/slow", &[], "");
    assert_eq!(slow.expect("an answer").status, 200);
    let load = Load::on(&process);
    let (status, out, errors) = run(&["top", &url]);
    drop(load);
    assert_eq!((status, errors.as_str()), (0, ""), "{out}");
    assert!(!out.contains('\x1b'), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].starts_with("sampan ") && lines[0].contains("2 workers"),
        "{out}"
    );
    let line = |begin: &str| {
        let found = lines.iter().find(|line| line.starts_with(begin));
        found.copied().unwrap_or_else(|| panic!("{begin}: {out}"))
    };
    assert!(line("cpu ").contains("memory "), "{out}");
    assert!(!line("requests ").starts_with("requests 0/s"), "{out}");
    assert!(!line("commits ").starts_with("commits 0/s"), "{out}");
    assert!(!line("before a script runs ").contains('-'), "{out}");
    let (one, other) = (line("1   "), line("2   "));
    assert!(one.contains(" % ") && other.contains("iB"), "{out}");
    let title = line("SLOW STATEMENT");
    assert!(title.trim_end().ends_with("LONGEST"), "{out}");
    // Numbers in it are values.
    let slow = "WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + ? FROM n LIMIT ?) SELECT";
    let slow: Vec<&str> = line(slow).split_whitespace().rev().collect();
    assert!(slow[4].parse::<u32>().is_ok(), "{out}");
    let title: Vec<&str> = line("ROUTE").split_whitespace().collect();
    assert_eq!(
        title,
        ["ROUTE", "REQ/S", "P50", "P99", "SCRIPT99", "SQL99", "5XX/S"]
    );
    let route: Vec<&str> = line("/items/:id")
        .split("  ")
        .filter(|cell| !cell.is_empty())
        .collect();
    assert!(route.len() == 7 && route[6].trim() == "-", "{route:?}");
    assert!(!line("/fails").trim_end().ends_with('-'), "{out}");
}

#[test]
fn its_own_requests_are_left_out() {
    let (_scratch, process) = start("");
    let url = format!("http://{}", process.address);
    let (status, out, errors) = run(&["top", &url]);
    assert_eq!((status, errors.as_str()), (0, ""), "{out}");
    for part in [
        "requests 0/s   in flight 0 ",
        "connections 0   parked 0   new 0/s ",
    ] {
        assert!(out.contains(part), "{out}");
    }
    assert!(!out.contains("(none)"), "{out}");
}

#[test]
fn what_cannot_be_asked_is_told() {
    let (_scratch, process) = start("[metrics]\nenabled = false\n");
    let url = format!("http://{}", process.address);
    fails(
        &["top", &url],
        1,
        &[
            "it answered 404",
            "is [metrics] enabled there, and its path this one?",
        ],
    );
    let folder = Scratch::new(&[
        ("app.lua", APP),
        ("sampan.toml", "[metrics]\nenabled = false\n"),
    ]);
    fails(
        &["top", "--project", &folder.file("")],
        1,
        &["[metrics] enabled is false"],
    );
    fails(
        &["top", "ftp://127.0.0.1"],
        1,
        &["only http:// and https:// can be asked"],
    );
}

#[test]
fn in_a_terminal_it_goes_on() {
    let (scratch, process) = start("");
    let url = format!("http://{}", process.address);
    let load = Load::on(&process);
    let Some(mut terminal) = Terminal::start(&["top", &url], scratch.path()) else {
        return;
    };
    // Twice: each look begins in the upper left corner.
    for _ in 0..2 {
        terminal.wait_for("\x1b[H");
        terminal.wait_for("ROUTE");
        terminal.wait_for("/items/:id");
    }
    drop(load);
    assert!(terminal.is_sane());
}
