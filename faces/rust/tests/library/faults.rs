//! Faults: starts that fail, handlers that panic, clients that leave, and what is left after a thousand starts and
//! stops.

use crate::support::{Log, get, post, project};
use sampan::host::Module;
use sampan::{App, Error, ErrorKind, Request, Scripts};
use sampan_client::wait;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn local(app: App) -> App {
    app.listen("127.0.0.1:0").workers(1).log(|_, _| {})
}

#[test]
fn what_does_not_start_says_why_and_where() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let error = App::new()
        .log(|_, _| {})
        .listen(&address)
        .start()
        .expect_err("taken");
    assert_eq!(error.kind(), ErrorKind::Address, "{error}");
    assert!(error.message().contains("is in use"), "{error}");

    let folder = project(&[("app.lua", "local x = 1\nerror('no')")]);
    let error = local(App::new().project(folder.path()))
        .start()
        .expect_err("it fails");
    assert_eq!(
        (error.kind(), error.file(), error.line()),
        (ErrorKind::Load, Some("app.lua"), Some(2))
    );

    let error = local(App::new().set("limits.nothing=1"))
        .start()
        .expect_err("no such key");
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");

    let twice = App::new()
        .get("/a/:x", |_: Request| "1")
        .get("/a/:y", |_: Request| "2");
    let error = local(twice).start().expect_err("twice");
    let here = "faces/rust/tests/library/faults.rs";
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    assert!(error.file().is_some_and(|file| file.ends_with(here)));
    let line = error.line().expect("a line");
    let told = format!(
        "GET /a/:y is already declared as /a/:x, at {here}:{}",
        line - 1
    );
    assert_eq!(error.message(), told);

    let lua = "local app = require 'sampan'\napp.get('/a', function() end)";
    let folder = project(&[("app.lua", lua)]);
    let twice = App::new()
        .project(folder.path())
        .get("/a", |_: Request| "1");
    let error = local(twice).start().expect_err("twice");
    assert_eq!((error.file(), error.line()), (Some("app.lua"), Some(2)));
    let told = "GET /a is a route of the program too, at ";
    assert!(error.message().starts_with(told), "{error}");

    for (method, pattern, why) in [
        (Some("FETCH"), "/", "FETCH"),
        (Some("GET"), "no-slash", "must begin with '/'"),
        (Some("GET"), "users/:id", "must begin with '/'"),
        (Some("GET"), "a.example", "must begin with '/'"),
        (Some("GET"), "a.example:80/x", "not the name of a host"),
        (Some("GET"), "/a/{:id}{:x}", "no text between them"),
        (None, "/a/{id}", "write \":id\""),
        (None, "/a/{rest...}", "write \"*rest\""),
    ] {
        let bad = App::new().route(method, pattern, |_: Request| "x");
        let error = local(bad).start().expect_err(pattern);
        assert_eq!(error.line(), Some(line!() - 2), "{error}");
        assert!(error.message().contains(why), "{error}");
    }
}

#[test]
fn faults_of_options_name_the_function_that_gives_them() {
    for (app, told) in [
        (
            App::new().listen(":8080"),
            "listen: [server] listen: \":8080\" has no host",
        ),
        (App::new().workers(0), "workers: [server] workers: 0"),
        (
            App::new().set("limits.nothing=1"),
            "set: [limits] has no key \"nothing\"",
        ),
        (
            App::new().set("nothing"),
            "set: \"nothing\" is not of the form",
        ),
    ] {
        let error = app.start().expect_err(told);
        assert!(error.message().starts_with(told), "{error}");
    }
    let script = || Scripts::text("x.lua", "");
    for script in [script().set("limits.nothing=1"), script().workers(0)] {
        let error = script.load().expect_err("a wrong option");
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    }
}

static OURS: Module = Module {
    name: "db",
    doc: "A name of Sampan's.",
    ..Module::EMPTY
};

static OWN: Module = Module {
    name: "own",
    doc: "A name of the program's.",
    ..Module::EMPTY
};

static SAME: Module = Module {
    name: "own",
    doc: "The same name.",
    ..Module::EMPTY
};

#[test]
fn a_capability_cannot_hide_another() {
    let error = App::new().module(&OURS).start().expect_err("hides db");
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error.message().contains("\"db\" is a capability of Sampan"),
        "{error}"
    );
    let script = Scripts::text("x.lua", "").module(&OWN).module(&SAME);
    let error = script.load().expect_err("two of a name");
    assert!(
        error
            .message()
            .contains("two capabilities are called \"own\""),
        "{error}"
    );
}

#[test]
fn what_a_handler_fails_with_is_in_the_log_with_its_request() {
    type Failing = Result<String, Box<dyn std::error::Error + Send + Sync>>;
    let log = Log::default();
    let app = App::new()
        .listen("127.0.0.1:0")
        .workers(1)
        .log(log.taker())
        .get("/reads", |_: Request| -> Failing {
            Ok(std::fs::read_to_string("/no such/file")?)
        })
        .get("/later", async |_: Request| {
            "x7".parse::<i32>().map(|number| number.to_string())
        })
        .get("/ours", |_: Request| -> Result<(), Error> {
            Err(Error::new(ErrorKind::Internal, "a secret of ours"))
        })
        .get("/refused", |_: Request| -> Failing {
            Err(Error::with_status(404, "no such tea"))?
        });
    let server = app.start().expect("it starts");
    for (path, why) in [
        ("/reads", "No such file"),
        ("/later", "invalid digit"),
        ("/ours", "a secret of ours"),
    ] {
        let answer = get(server.address(), path);
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (500, "500 Internal Server Error")
        );
        let told = log.text();
        let line = format!("GET {path}: the program's handler failed: ");
        let line = told.lines().find(|told| told.contains(&line));
        let line = line.unwrap_or_else(|| panic!("{path}: {told}"));
        assert!(line.contains(why) && line.contains(" id="), "{line}");
    }
    let refused = get(server.address(), "/refused");
    assert_eq!(
        (refused.status, refused.body.as_str()),
        (404, "no such tea")
    );
    assert!(!log.text().contains("/refused"), "{}", log.text());
    server.stop();
}

#[test]
fn a_handler_that_is_given_up_is_in_the_log() {
    let log = Log::default();
    let app = App::new()
        .listen("127.0.0.1:0")
        .workers(1)
        .log(log.taker())
        .set("limits.handler_millis_max=2000")
        .get("/never", async |_: Request| {
            std::future::pending::<String>().await
        });
    let server = app.start().expect("it starts");
    assert_eq!(get(server.address(), "/never").status, 504);
    let told = "GET /never: no answer after 2000 ms: given up (handler_millis_max)";
    assert!(log.text().contains(told), "{}", log.text());
    let told = log.text().lines().count();
    // A client that leaves is none of the log's matter.
    let mut leaves = TcpStream::connect(server.address()).expect("a connection");
    leaves
        .write_all(b"GET /never HTTP/1.1\r\nHost: h\r\n\r\n")
        .expect("sent");
    until(|| server.requests() == 2);
    drop(leaves);
    // The worker has seen it leave when it has answered others.
    for _ in 0..5 {
        assert_eq!(get(server.address(), "/nowhere").status, 404);
    }
    server.stop();
    assert_eq!(log.text().lines().count(), told, "{}", log.text());
}

#[test]
fn a_handler_that_panics_answers_500_and_the_server_lives() {
    let log = Log::default();
    let app = App::new()
        .listen("127.0.0.1:0")
        .workers(1)
        .log(log.taker())
        .get("/", |_: Request| "alive")
        .get("/panics", |_: Request| -> &'static str {
            panic!("on purpose")
        })
        .get("/panics-later", async |_: Request| -> &'static str {
            tokio::task::yield_now().await;
            panic!("later, on purpose")
        });
    let server = app.start().expect("it starts");
    for path in ["/panics", "/panics-later"] {
        assert_eq!(get(server.address(), path).status, 500, "{path}");
        assert_eq!(get(server.address(), "/").body, "alive");
    }
    for line in [
        "GET /panics: the program's handler panicked: on purpose id=",
        "GET /panics-later: the program's handler panicked: later, on purpose id=",
    ] {
        assert!(log.text().contains(line), "{}", log.text());
    }
    assert!(
        !log.text().contains("fault of the server"),
        "{}",
        log.text()
    );
    server.stop();
}

#[test]
fn a_body_above_the_limit_never_reaches_a_handler() {
    let app = App::new()
        .set("limits.body_bytes_max=10")
        .post("/", |request: Request| request.body().to_vec());
    let server = local(app).start().expect("it starts");
    assert_eq!(post(server.address(), "/", "0123456789").body, "0123456789");
    assert_eq!(post(server.address(), "/", "01234567890").status, 413);
    server.stop();
}

/// Counts how many of it there are.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_future_ends_with_its_client_and_with_its_time() {
    let alive = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&alive);
    let app = App::new()
        .set("limits.handler_millis_max=300")
        .get("/never", move |_: Request| {
            counted.fetch_add(1, Ordering::SeqCst);
            let held = Counted(Arc::clone(&counted));
            async move {
                std::future::pending::<()>().await;
                drop(held);
                "never"
            }
        });
    let server = local(app).start().expect("it starts");
    assert_eq!(get(server.address(), "/never").status, 504);
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    let mut clients: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut client = TcpStream::connect(server.address()).expect("a connection");
            client
                .write_all(b"GET /never HTTP/1.1\r\nHost: h\r\n\r\n")
                .expect("sent");
            client
        })
        .collect();
    until(|| alive.load(Ordering::SeqCst) > 0);
    clients.clear();
    until(|| alive.load(Ordering::SeqCst) == 0);
    server.stop();
}

#[test]
fn stop_lets_requests_in_flight_end() {
    let gate = Arc::new(AtomicUsize::new(0));
    let opener = Arc::clone(&gate);
    let app = App::new().get("/slow", move |_: Request| {
        let gate = Arc::clone(&gate);
        async move {
            wait::until_async("the end", || gate.load(Ordering::SeqCst) == 1).await;
            "whole"
        }
    });
    let server = local(app).start().expect("it starts");
    let mut client = TcpStream::connect(server.address()).expect("a connection");
    client
        .write_all(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        .expect("sent");
    until(|| server.requests() == 1);
    let address = server.address();
    let opening = std::thread::spawn(move || {
        until(|| TcpStream::connect(address).is_err());
        opener.store(1, Ordering::SeqCst);
    });
    assert!(server.stop());
    opening.join().expect("no panic");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect("an answer");
    assert!(answer.ends_with("whole"), "{answer}");
    assert!(TcpStream::connect(address).is_err());
}

/// The threads, the open files and the memory of this process (in KiB).
fn usage() -> (usize, usize, usize) {
    let count = |path| std::fs::read_dir(path).expect("a folder").count();
    let (threads, files) = (count("/proc/self/task"), count("/proc/self/fd"));
    (threads, files, rss_kib())
}

/// The memory of this process.
pub(crate) fn rss_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let rss = rss.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
    rss.expect("a size")
}

/// Other tests of this process would be counted too, so it runs in one of its own.
#[test]
fn starting_and_stopping_leaves_nothing_behind() {
    const ALONE: &str = "SAMPAN_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let myself = std::env::current_exe().expect("this program");
        let name = "faults::starting_and_stopping_leaves_nothing_behind";
        let status = std::process::Command::new(myself)
            .args(["--exact", name, "--nocapture"])
            .env(ALONE, "1")
            .status();
        assert!(status.expect("it runs").success());
        return;
    }
    let lua = "local app = require 'sampan'\napp.get('/s', function() return 's' end)\nfunction f() return 1 end";
    let folder = project(&[("app.lua", lua)]);
    let cycle = |with_scripts: bool| {
        let app = local(App::new()).get("/", |_: Request| "x");
        let app = match with_scripts {
            true => app.project(folder.path()),
            false => app,
        };
        let server = app.start().expect("it starts");
        assert_eq!(get(server.address(), "/").body, "x");
        server.stop();
        if with_scripts {
            let scripts = Scripts::file(folder.path())
                .workers(1)
                .log(|_, _| {})
                .load()
                .expect("it loads");
            scripts.call_blocking("f", [], None).expect("1");
            scripts.stop();
        }
    };
    let cycles = |count| (0..count).for_each(|at| cycle(at % 5 == 0));
    cycles(100);
    let before = usage();
    cycles(900);
    // The thread that watches scripts notices the end when it looks next.
    until(|| usage().0 <= before.0 + 2);
    let after = usage();
    assert!(after.1 <= before.1 + 2, "open files: {before:?}, {after:?}");
    assert!(
        after.2 <= before.2 + 8 * 1024,
        "memory: {before:?}, {after:?}"
    );
}

pub(crate) fn until(is_so: impl Fn() -> bool) {
    wait::until("what the test waits for", is_so);
}
