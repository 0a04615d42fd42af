//! Workers that are deaf to their stop: the last resort of the limits. No script that we know of can be that, so these
//! tests give theirs a capability of their own that blocks its thread.

mod support;

use sampan_host::log::Level;
use sampan_host::{
    Args, Context, Error, ErrorKind, Function, FunctionKind, Module, Param, Type, Value,
};
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Running, Server, ServerEvent, count_panics, modules_with};
use sampan_testkit::{Client, wait};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};
use support::{Process, Scratch};

/// Blocks the worker, as a native function would that never returns.
static DEAF: Module = Module {
    name: "deaf",
    doc: "Blocks its thread.",
    functions: &[
        Function {
            name: "block",
            params: &[Param {
                name: "seconds",
                ty: Type::Number,
                optional: false,
                doc: "How long.",
            }],
            returns: Type::Nothing,
            doc: "Blocks the thread.",
            kind: FunctionKind::Sync(block),
        },
        Function {
            name: "panic",
            params: &[],
            returns: Type::Nothing,
            doc: "Panics.",
            kind: FunctionKind::Sync(panic),
        },
        Function {
            name: "load",
            params: &[],
            returns: Type::Nothing,
            doc: "Fails as often as the test asked for.",
            kind: FunctionKind::Sync(load),
        },
    ],
    ..Module::EMPTY
};

/// The number of loads that fail from now on.
static FAILING_LOADS: AtomicUsize = AtomicUsize::new(0);

fn block(_: &Context, args: Args) -> Result<Value, Error> {
    wait::dawdle(Duration::from_secs_f64(args.number(0).unwrap_or(0.0)));
    Ok(Value::Null)
}

fn panic(_: &Context, _: Args) -> Result<Value, Error> {
    panic!("on purpose")
}

fn load(_: &Context, _: Args) -> Result<Value, Error> {
    match FAILING_LOADS.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) {
        Ok(_) => Err(Error::new(ErrorKind::Internal, "not this time")),
        Err(_) => Ok(Value::Null),
    }
}

const APPS: [(&str, &str); 2] = [
    (
        "app.lua",
        "local app = require 'sampan'\n\napp.get('/deaf/:s', { slow = false }, function(req) \
         app.deaf.block(tonumber(req.params.s)) end)\napp.get('/', function() return 'fine' end)\n\
         app.get('/panic', function() app.deaf.panic() end)\n\
         app.get('/panic/slow', { slow = true }, function() app.deaf.panic() end)\n",
    ),
    (
        "app.js",
        "import { app, deaf } from 'sampan';\n\napp.get('/deaf/:s', { slow: false }, (req) => \
         deaf.block(Number(req.params.s)));\napp.get('/', () => 'fine');\n\
         app.get('/panic', () => deaf.panic());\napp.get('/panic/slow', { slow: true }, () => deaf.panic());\n",
    ),
];

const SLOW_APPS: [&str; 2] = [
    "local app = require 'sampan'\n\napp.get('/deaf/:s', { slow = true }, function(req) \
     app.deaf.block(tonumber(req.params.s)) end)\napp.get('/slow', { slow = true }, function() return 'fine' end)\n\
     app.get('/quick', function() return 'fine' end)\n",
    "import { app, deaf } from 'sampan';\n\napp.get('/deaf/:s', { slow: true }, (req) => \
     deaf.block(Number(req.params.s)));\napp.get('/slow', { slow: true }, () => 'fine');\n\
     app.get('/quick', () => 'fine');\n",
];

const JOB_APPS: [&str; 2] = [
    "local app = require 'sampan'\n\napp.job('deaf', { timeout = '300 ms', attempts = 1 }, function(seconds) \
     app.deaf.block(seconds) app.log.info('has run') end)\n\
     app.get('/add/:s', function(req) app.enqueue('deaf', tonumber(req.params.s)) end)\n",
    "import { app, deaf, log } from 'sampan';\n\napp.job('deaf', { timeout: '300 ms', attempts: 1 }, (seconds) => {\
     deaf.block(seconds); log.info('has run'); });\n\
     app.get('/add/:s', (req) => { app.enqueue('deaf', Number(req.params.s)); });\n",
];

const STOPPED: &str =
    "[limits]\nscript_millis_max = 1000\n[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n";

/// The way the child that gives up is told which project to serve.
const CHILD: &str = "SAMPAN_TEST_DEAF_CHILD";

fn config(app: &Path, workers: usize) -> AppConfig {
    let mut config = AppConfig::from_text(
        app,
        "[limits]\nscript_millis_max = 300\n[server]\nlisten = \"127.0.0.1:0\"\n",
    )
    .expect("valid");
    config.base.workers = workers;
    config.program.modules = modules_with(&[&DEAF]);
    config
}

fn start(app: &Path, workers: usize) -> (Running, Logger) {
    let logger = Logger::captured(Level::Info);
    let mut config = config(app, workers);
    config.program.logger = logger.clone();
    (Server::start(config).expect("it starts"), logger)
}

/// Returns the isolates that the server has given up, as its metrics have them.
fn abandoned(running: &Running) -> u64 {
    counted(running, "sampan_isolates_abandoned_total")
}

fn counted(running: &Running, metric: &str) -> u64 {
    let mut client = Client::connect(running.address()).expect("someone listens");
    send(&mut client, "/_sampan/metrics");
    let text = client.read(false).expect("an answer").text();
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(metric)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {metric}: {text}"))
}

fn send(client: &mut Client, path: &str) {
    client
        .send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes())
        .expect("sent");
}

#[test]
fn a_panic_costs_its_request_alone_and_is_counted() {
    count_panics();
    let scratch = Scratch::new(&APPS);
    for app in ["app.lua", "app.js"] {
        let logger = Logger::captured(Level::Info);
        let mut config = config(&scratch.path().join(app), 1);
        // The hook that tells of a panic takes longer than a script may run in the other tests.
        config.serving.script.script_millis_max = 10_000;
        config.program.logger = logger.clone();
        let running = Server::start(config).expect("it starts");
        let ask = |path: &str| {
            let mut client = Client::connect(running.address()).expect("someone listens");
            send(&mut client, path);
            client.read(false).expect("an answer")
        };
        let panics = || counted(&running, "sampan_panics_total");
        let before = panics();
        for path in ["/panic", "/panic/slow"] {
            assert_eq!(ask(path).status, 500, "{app} {path}");
            assert_eq!(ask("/").text(), "fine", "{app} {path}");
            let lines = logger.lines();
            let told = lines.lines().find(|line| line.contains(path));
            let told = told.unwrap_or_else(|| panic!("{app} {path}: {lines}"));
            assert!(told.contains("panic: on purpose"), "{told}");
        }
        assert_eq!(panics(), before + 2, "{app}");
        assert!(running.shutdown());
    }
}

#[test]
fn a_deaf_worker_is_replaced_and_the_process_lives() {
    let scratch = Scratch::new(&APPS);
    for (app, place) in [("app.lua", "app.lua:3"), ("app.js", "app.js:3")] {
        let (running, logger) = start(&scratch.path().join(app), 2);
        assert_eq!(abandoned(&running), 0);
        let mut stuck = Client::connect(running.address()).expect("someone listens");
        send(&mut stuck, "/deaf/4");
        assert!(
            stuck.read(false).is_err(),
            "its client sees the connection close"
        );
        wait::until("the place is filled", || {
            logger.lines().contains("a fresh worker serves in place")
        });
        let lines = logger.lines();
        assert!(
            lines.contains(&format!("GET /deaf/:s ({place})")) && lines.contains("1 of 3"),
            "{lines}"
        );
        assert_eq!(abandoned(&running), 1, "{app}");
        for _ in 0..8 {
            let mut client = Client::connect(running.address()).expect("someone listens");
            send(&mut client, "/");
            assert_eq!(client.read(false).expect("an answer").text(), "fine");
        }
        assert!(
            running.shutdown(),
            "the abandoned thread does not hold up the end"
        );
    }
}

#[test]
fn a_deaf_isolate_of_slow_routes_is_replaced_and_its_client_told() {
    let scratch = Scratch::new(&[("slow.lua", SLOW_APPS[0]), ("slow.js", SLOW_APPS[1])]);
    for (app, place) in [("slow.lua", "slow.lua:3"), ("slow.js", "slow.js:3")] {
        let (running, logger) = start(&scratch.path().join(app), 1);
        let mut other = Client::connect(running.address()).expect("someone listens");
        let mut stuck = Client::connect(running.address()).expect("someone listens");
        send(&mut stuck, "/deaf/30");
        assert_eq!(stuck.read(false).expect("an answer").status, 503);
        send(&mut stuck, "/slow");
        let answer = stuck.read(false).expect("an answer on the same connection");
        assert_eq!(answer.text(), "fine");
        send(&mut other, "/quick");
        assert_eq!(other.read(false).expect("an answer").text(), "fine");
        let told =
            format!("an isolate of slow routes is deaf to its stop in GET /deaf/:s ({place})");
        wait::until("the log has it", || {
            let lines = logger.lines();
            lines.contains(&told) && lines.contains("1 of 3")
        });
        assert_eq!(abandoned(&running), 1, "{app}");
        assert!(
            running.shutdown(),
            "the abandoned thread does not hold up the end"
        );
    }
}

#[test]
fn a_deaf_job_is_given_up_and_others_run() {
    let scratch = Scratch::new(&[("jobs.lua", JOB_APPS[0]), ("jobs.js", JOB_APPS[1])]);
    for app in ["jobs.lua", "jobs.js"] {
        let (running, logger) = start(&scratch.path().join(app), 1);
        let mut client = Client::connect(running.address()).expect("someone listens");
        send(&mut client, "/add/30");
        assert_eq!(client.read(false).expect("an answer").status, 204);
        wait::until("the job is given up", || {
            logger
                .lines()
                .contains("a thread beside requests is deaf to its stop")
        });
        send(&mut client, "/add/0");
        assert_eq!(client.read(false).expect("an answer").status, 204);
        wait::until("the next runs", || logger.lines().contains("has run"));
        assert_eq!(abandoned(&running), 1, "{app}");
        assert!(
            running.shutdown(),
            "the abandoned thread does not hold up the end"
        );
        std::fs::remove_file(scratch.path().join("data.db")).expect("removed");
    }
}

#[test]
fn a_replacement_that_cannot_load_is_tried_again() {
    let app = [(
        "app.lua",
        "local app = require 'sampan'\napp.deaf.load()\n\
         app.get('/deaf/:s', { slow = false }, function(req) app.deaf.block(tonumber(req.params.s)) end)\n\
         app.get('/', function() return 'fine' end)\n",
    )];
    let scratch = Scratch::new(&app);
    let (running, logger) = start(&scratch.path().join("app.lua"), 1);
    FAILING_LOADS.store(2, SeqCst);
    let mut stuck = Client::connect(running.address()).expect("someone listens");
    send(&mut stuck, "/deaf/4");
    wait::until("the place is filled", || {
        logger.lines().contains("a fresh worker serves in place 1")
    });
    let lines = logger.lines();
    for attempt in ["attempt 1 of 5", "attempt 2 of 5"] {
        assert!(lines.contains(attempt), "{lines}");
    }
    let mut client = Client::connect(running.address()).expect("someone listens");
    send(&mut client, "/");
    assert_eq!(client.read(false).expect("an answer").text(), "fine");
    assert!(running.shutdown());
}

#[test]
fn a_stop_that_comes_late_is_no_reason_to_abandon() {
    let scratch = Scratch::new(&APPS);
    let (running, logger) = start(&scratch.path().join("app.lua"), 1);
    let mut client = Client::connect(running.address()).expect("someone listens");
    send(&mut client, "/deaf/0.6");
    assert_eq!(
        client.read(false).expect("an answer").status,
        503,
        "stopped when it returned"
    );
    send(&mut client, "/");
    assert_eq!(
        client.read(false).expect("an answer").text(),
        "fine",
        "on the same connection"
    );
    assert!(!logger.lines().contains("abandoned"));
    assert!(running.shutdown());
}

#[test]
fn a_process_that_was_stopped_has_no_deaf_workers() {
    let scratch = Scratch::new(&[(
        "app.js",
        "import { app } from 'sampan';\napp.get('/loop', () => { for (;;); });\napp.get('/', () => 'fine');\n",
    )]);
    std::fs::write(scratch.path().join("sampan.toml"), STOPPED).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    let mut process = Process::start(command.args(["run", &scratch.file("app.js")]));
    let log = process.read_errors();
    let mut client = process.client();
    let before = process.cpu_ticks();
    send(&mut client, "/loop");
    wait::until("the script runs", || process.cpu_ticks() > before + 5);
    process.signal("STOP");
    // Longer than a run may take and a worker may be deaf, together. A process that is stopped tells no event.
    wait::dawdle(Duration::from_millis(2_500));
    process.signal("CONT");
    assert_eq!(client.read(false).expect("an answer").status, 503);
    send(&mut client, "/");
    assert_eq!(client.read(false).expect("an answer").text(), "fine");
    process.signal("TERM");
    let lines = log.join().expect("lines");
    assert!(!lines.contains("abandoned"), "{lines}");
}

#[test]
fn after_three_the_server_gives_up() {
    let scratch = Scratch::new(&APPS);
    let (running, logger) = start(&scratch.path().join("app.lua"), 1);
    let has_given_up = || logger.lines().contains("(3 of 3");
    wait::until("three workers are abandoned", || {
        // A client sees its connection close before the line is written, so there may be one request more than it
        // takes.
        let mut stuck = Client::connect(running.address()).expect("someone listens");
        send(&mut stuck, "/deaf/30");
        let _ = stuck.read(false);
        has_given_up()
    });
    let fresh = || logger.lines().matches("a fresh worker serves").count();
    wait::until("the first two are replaced", || fresh() >= 2);
    assert_eq!(running.wait(), ServerEvent::GiveUp);
    let lines = logger.lines();
    for count in 1..=3 {
        assert_eq!(
            lines.matches(&format!("({count} of 3")).count(),
            1,
            "{lines}"
        );
    }
    assert_eq!(fresh(), 2, "the third is not replaced: {lines}");
}

#[test]
fn a_server_that_gave_up_exits_70() {
    let scratch = Scratch::new(&APPS);
    let this = std::env::current_exe().expect("a test has an executable");
    let mut command = Command::new(this);
    command
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env(CHILD, scratch.file("app.lua"));
    let process = Process::start(&mut command);
    let deadline = Instant::now() + Duration::from_secs(12);
    while let Ok(mut stuck) = Client::connect(process.address) {
        assert!(Instant::now() < deadline, "it goes on");
        let request = b"GET /deaf/60 HTTP/1.1\r\nHost: h\r\n\r\n";
        let _ = stuck.send(request).map(|()| stuck.read(false));
    }
    let (status, errors) = process.end();
    assert_eq!(status, Some(70), "{errors}");
    assert!(errors.contains("giving up"), "{errors}");
}

/// Not a test: the process that `a_server_that_gave_up_exits_70` starts.
#[test]
#[ignore = "started by a_server_that_gave_up_exits_70"]
fn child() {
    if let Some(app) = std::env::var_os(CHILD) {
        let outcome = sampan_runtime::run(config(Path::new(&app), 1), || Err("no reload".into()))
            .expect("it starts");
        std::process::exit(outcome.exit_status().into());
    }
}
