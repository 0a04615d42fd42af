//! The end of a server: what is in flight, how long it may take, and a second signal.

use crate::commands::command::serve;
use crate::support::{Process, Scratch};
use sampan_testkit::{Client, wait};
use std::time::{Duration, Instant};

#[test]
fn sigterm_lets_requests_in_flight_end() {
    let app = "local app = require 'sampan'\napp.get('/', function() app.log.info('begun') app.time.sleep(0.4) return 'late' end)\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    for signal in ["TERM", "INT"] {
        let mut process = Process::start(&mut serve(&scratch.file("app.lua"), 2));
        let log = process.read_errors();
        let (mut busy, mut idle) = (process.client(), process.client());
        busy.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            .expect("sent");
        log.until("begun");
        process.signal(signal);
        assert!(idle.is_closed(), "idle connections are closed");
        let answer = busy.read(false).expect("the request in flight is answered");
        assert_eq!((answer.status, answer.text().as_str()), (200, "late"));
        assert!(
            Client::connect(process.address).is_err(),
            "nobody listens any more"
        );
        assert_eq!(process.status(), Some(0), "{}", log.text());
        let errors = log.join().expect("text");
        assert!(errors.contains("shutting down"), "{errors}");
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let app = "local app = require 'sampan'\napp.get('/', function() app.log.info('begun') app.time.sleep(60) end)\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    let mut process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let log = process.read_errors();
    let mut client = process.client();
    client
        .send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        .expect("sent");
    log.until("begun");
    process.signal("TERM");
    log.until("shutting down");
    process.signal("TERM");
    assert_eq!(process.status(), Some(128 + 15));
}

#[test]
fn a_shutdown_is_bounded() {
    let files = [
        (
            "app.lua",
            "local app = require 'sampan'\napp.get('/', function() app.log.info('begun') app.time.sleep(60) end)\n",
        ),
        ("sampan.toml", "[limits]\nshutdown_millis_max = 300\n"),
    ];
    let scratch = Scratch::new(&files);
    let mut process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let log = process.read_errors();
    let mut client = process.client();
    client
        .send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        .expect("sent");
    log.until("begun");
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    let errors = log.join().expect("text");
    assert!(
        errors.contains("WARN GET /: cut by the shutdown after "),
        "{errors}"
    );
}

#[test]
fn the_time_of_a_request_that_is_cut_counts_from_its_beginning() {
    let app = "local app = require 'sampan'\n\
        app.post('/', { stream = true }, function(req)\n\
        for chunk in req:chunks() do app.log.info('read ' .. chunk) end\nend)\n";
    let files = [
        ("app.lua", app),
        ("sampan.toml", "[limits]\nshutdown_millis_max = 300\n"),
    ];
    let scratch = Scratch::new(&files);
    let mut process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let log = process.read_errors();
    let mut client = process.client();
    let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n";
    client.send(head.as_bytes()).expect("sent");
    log.until("read one");
    let begun = Instant::now();
    wait::dawdle(Duration::from_secs(1));
    let waited = begun.elapsed();
    client.send(b"3\r\ntwo\r\n").expect("sent");
    log.until("read two");
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    let errors = log.join().expect("text");
    let told = errors.split("POST /: cut by the shutdown after ").nth(1);
    let millis = told.and_then(|told| told.split(' ').next()?.parse::<u128>().ok());
    assert!(
        millis.is_some_and(|millis| millis >= waited.as_millis()),
        "{errors}"
    );
}

#[test]
fn work_after_the_answer_ends_before_the_process_does() {
    let app = "import { app, log, time } from 'sampan';\n\
        const later = (seconds) => () => { time.sleep(seconds).then(() => log.info('later ' + seconds)); };\n\
        app.get('/short', later(0.4));\napp.get('/long', later(20));\n\
        export default { fetch: (request, env, context) => { context.waitUntil(later(0.3)()); } };\n\
        setInterval(() => {}, 1000);\n";
    let toml = "[limits]\nshutdown_millis_max = 1500\n";
    let scratch = Scratch::new(&[("app.js", app), ("sampan.toml", toml)]);
    for (path, told, is_cut) in [
        ("/short", "INFO later 0.4", false),
        ("/fetched", "INFO later 0.3", false),
        (
            "/long",
            "WARN work after answers (requests: 1): cut by the shutdown",
            true,
        ),
    ] {
        let process = Process::start(&mut serve(&scratch.file("app.js"), 1));
        let mut client = process.client();
        client
            .send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes())
            .expect("sent");
        assert_eq!(client.read(false).expect("an answer").status, 204, "{path}");
        process.signal("TERM");
        let (status, errors) = process.end();
        assert_eq!(status, Some(0), "{path}");
        assert!(errors.contains(told), "{path}: {errors}");
        assert_eq!(
            errors.contains("cut by the shutdown"),
            is_cut,
            "{path}: {errors}"
        );
    }
}

/// Both languages; the first worker waits in it, or one that starts beside workers that serve.
#[test]
fn sigterm_ends_a_start_that_waits() {
    let lua = "local app = require 'sampan'\n\
        app.on_start(function() if app.worker.index == AT then app.log.info('starts') app.time.sleep(100) end end)\n\
        app.on_stop(function() app.log.info('stop ran') end)\n";
    let js = "import { app, log, time } from 'sampan';\n\
        app.onStart(async () => { if (app.worker.index === AT) { log.info('starts'); await time.sleep(100); } });\n\
        app.onStop(() => log.info('stop ran'));\n";
    for (name, source) in [("app.lua", lua), ("app.js", js)] {
        for at in ["1", "2"] {
            let scratch = Scratch::new(&[(name, &source.replace("AT", at))]);
            let process = Process::start_until(&mut serve(&scratch.file(name), 2), "starts");
            process.signal("TERM");
            let (status, errors) = process.end();
            assert_eq!(status, Some(0), "{name}: {errors}");
            assert!(errors.contains("shutting down"), "{name}: {errors}");
            assert_eq!(errors.contains("stop ran"), at == "2", "{name}: {errors}");
        }
    }
}

#[test]
fn a_start_that_takes_too_long_names_the_setting() {
    let files = [
        (
            "app.lua",
            "local app = require 'sampan'\napp.on_start(function() app.time.sleep(60) end)\n",
        ),
        ("sampan.toml", "[limits]\nhandler_millis_max = 100\n"),
    ];
    let scratch = Scratch::new(&files);
    let output = serve(&scratch.file("app.lua"), 1)
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let told = "app.on_start: it took longer than 100 ms (handler_millis_max)";
    assert!(errors.contains(told), "{errors}");
}

/// Both languages: what runs once does so for all workers, and what is written at the end is kept.
#[test]
fn hooks_run_at_start_and_at_the_end() {
    let lua = r#"
local app = require "sampan"
local db = app.db
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS t (what TEXT)") db.exec("INSERT INTO t VALUES ('once')") end, { once = true })
app.on_start(function() app.time.sleep(0.01) db.exec("INSERT INTO t VALUES ('each')") end)
app.on_stop(function() db.exec("INSERT INTO t VALUES ('stop')") app.time.sleep(0.01) app.log.info("stop ran") end)
app.on_stop(function() error("stop failed") end)
app.get("/", function() return db.one("SELECT group_concat(what, ' ' ORDER BY what) AS all_of_it FROM t").all_of_it end)
"#;
    let js = r#"
import { app, db, log, time } from "sampan";
app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS t (what TEXT)"); db.exec("INSERT INTO t VALUES ('once')"); }, { once: true });
app.onStart(async () => { await time.sleep(0.01); db.exec("INSERT INTO t VALUES ('each')"); });
app.onStop(async () => { db.exec("INSERT INTO t VALUES ('stop')"); await time.sleep(0.01); log.info("stop ran"); });
app.onStop(() => { throw new Error("stop failed"); });
app.get("/", () => db.one("SELECT group_concat(what, ' ' ORDER BY what) AS all_of_it FROM t").all_of_it);
"#;
    for (name, source) in [("app.lua", lua), ("app.js", js)] {
        let scratch = Scratch::new(&[(name, source)]);
        let mut expected = "each each once".to_owned();
        for _ in 0..2 {
            let process = Process::start(&mut serve(&scratch.file(name), 2));
            let mut client = process.client();
            client
                .send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                .expect("sent");
            let answer = client.read(false).expect("an answer");
            assert_eq!(answer.text(), expected, "{name}");
            process.signal("TERM");
            let (status, errors) = process.end();
            assert_eq!(status, Some(0), "{errors}");
            assert_eq!(errors.matches("stop ran").count(), 2, "{name}: {errors}");
            assert_eq!(errors.matches("stop failed").count(), 2, "{name}: {errors}");
            expected = "each each each each once once stop stop".to_owned();
        }
    }
}
