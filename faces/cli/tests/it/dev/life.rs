//! The start, the waiting and the end of `sampan dev`.

use super::{Page, app, dev, get, write};
use crate::commands::terminal::Terminal;
use crate::support::{Process, Scratch};
use sampan_testkit::wait;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn an_edited_migration_offers_a_reset_and_nothing_is_deleted() {
    let app = "local app = require 'sampan'\napp.get('/', function() return app.db.query('SELECT * FROM t') end)\n\
        app.post('/', function() app.db.exec('INSERT INTO t DEFAULT VALUES') end)\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    write(
        &scratch,
        "migrations/0001_t.sql",
        "CREATE TABLE t (a INTEGER DEFAULT 7);",
    );
    let process = Process::start(&mut dev(&scratch, &[]));
    let mut page = Page::open(&process);
    assert_eq!(
        process
            .client()
            .ask("POST", "/", &[], "")
            .expect("an answer")
            .status,
        204
    );
    write(
        &scratch,
        "migrations/0001_t.sql",
        "CREATE TABLE t (a INTEGER DEFAULT 7, b TEXT DEFAULT 'x');",
    );
    let fault = page.hears_of_fault();
    assert!(
        fault.contains("was changed after it was applied")
            && fault.contains("sampan dev --reset-db moves "),
        "{fault}"
    );
    assert_eq!(get(&process, "/", &[]).1, "[{\"a\":7}]");
    // Not while a server uses it.
    let refused = dev(&scratch, &["--reset-db"]).output().expect("it runs");
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        refused.status.code() == Some(1) && told.contains("stop it first"),
        "{told}"
    );
    process.signal("TERM");
    assert_eq!(process.end().0, Some(0));

    // Without the flag it waits, and leaves the database alone. Ctrl-C ends that too.
    let process = Process::start_until(&mut dev(&scratch, &[]), "waiting for a change");
    process.signal("INT");
    assert_eq!(process.end().0, Some(0));
    let process = Process::start(&mut dev(&scratch, &["--reset-db"]));
    assert_eq!(get(&process, "/", &[]).1, "[]");
    process.signal("TERM");
    assert_eq!(process.end().0, Some(0));
    let kept = fs::read(scratch.file("data.db.before-reset-1")).expect("kept");
    assert!(kept.starts_with(b"SQLite format 3"));
}

#[test]
fn a_database_that_was_removed_is_made_anew_at_the_next_save() {
    let app = "local app = require 'sampan'\napp.get('/', function() return app.db.query('SELECT * FROM t') end)\n\
        app.post('/', function() app.db.exec('INSERT INTO t DEFAULT VALUES') end)\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    let migration = "CREATE TABLE t (a INTEGER DEFAULT 7);";
    write(&scratch, "migrations/0001_t.sql", migration);
    let mut process = Process::start(&mut dev(&scratch, &[]));
    let added = process.client().ask("POST", "/", &[], "");
    assert_eq!(added.expect("an answer").status, 204);
    assert_eq!(get(&process, "/", &[]).1, "[{\"a\":7}]");
    fs::remove_file(scratch.file("data.db")).expect("removed");
    let log = process.read_errors();
    write(&scratch, "app.lua", &format!("{app}-- saved\n"));
    // The new process has the id of the old one and a port of its own.
    let made =
        |scratch: &Scratch| fs::metadata(scratch.file("data.db")).is_ok_and(|file| file.len() > 0);
    wait::until("a database", || made(&scratch));
    log.until("migration 0001_t applied");
    log.until("INFO listening on http://");
    process.signal("INT");
    assert_eq!(process.status(), Some(0));
    let log = log.join().expect("text");
    assert!(
        log.contains("was removed: starting anew") && log.contains("migration 0001_t applied"),
        "{log}"
    );
}

#[test]
fn a_handler_that_returns_nothing_is_told_once() {
    for (file, text) in [
        (
            "app.lua",
            "local app = require 'sampan'\n\
             app.get('/forgotten/:id', function() app.text('lost') end)\n\
             app.get('/empty', function() return app.text('', 204) end)\n\
             app.get('/answer', function() return 'answer' end)\n\
             app.get('/none', function() return app.text('none', 404) end)\n",
        ),
        (
            "app.js",
            "import { app, text } from 'sampan';\n\
             app.get('/forgotten/:id', async () => { text('lost'); });\n\
             app.get('/empty', () => null);\n\
             app.get('/answer', () => new Response(null, { status: 204 }));\n\
             app.get('/none', () => text('', 204));\n",
        ),
        // Behind middleware that waits.
        (
            "app.js",
            "import { app, text, time } from 'sampan';\n\
             app.use(async (req, next) => { await time.sleep(0.001); return await next(req); });\n\
             app.use('/forgotten/*', async (req, next) => { await next(req); });\n\
             app.get('/forgotten/:id', () => { text('lost'); });\n\
             app.get('/empty', () => null);\n\
             app.get('/answer', () => new Response(null, { status: 204 }));\n\
             app.get('/none', () => text('', 204));\n",
        ),
    ] {
        let scratch = Scratch::new(&[(file, text)]);
        let process = Process::start(&mut dev(&scratch, &[]));
        for path in ["/forgotten/1", "/forgotten/2", "/empty", "/answer", "/none"] {
            get(&process, path, &[]);
        }
        let options = process.client().ask("OPTIONS", "/empty", &[], "");
        assert_eq!(options.expect("an answer").status, 204);
        process.signal("TERM");
        let (status, log) = process.end();
        assert_eq!(status, Some(0), "{file}: {log}");
        let hint =
            "INFO GET /forgotten/:id returned nothing, so the answer is 204: is a return missing?";
        assert!(log.contains(hint), "{file}: {log}");
        assert_eq!(log.matches("returned nothing").count(), 1, "{file}: {log}");
    }
}

#[test]
fn a_client_that_has_closed_its_sending_direction_gets_an_answer_that_waits_for_a_commit() {
    let lua = "local app = require 'sampan'\napp.db.exec('CREATE TABLE IF NOT EXISTS seen (at)')\n\
        app.get('/', function() app.db.exec('INSERT INTO seen VALUES (1)') return 'written' end)\n";
    let js = "import { app, db } from 'sampan';\ndb.exec('CREATE TABLE IF NOT EXISTS seen (at)');\n\
        app.get('/', () => { db.exec('INSERT INTO seen VALUES (1)'); return 'written'; });\n";
    for (file, text) in [("app.lua", lua), ("app.js", js)] {
        let scratch = Scratch::new(&[(file, text)]);
        let process = Process::start(&mut dev(&scratch, &[]));
        let mut socket = TcpStream::connect(process.address).expect("connected");
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        socket.write_all(request).expect("sent");
        socket.shutdown(Shutdown::Write).expect("closed");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("an answer");
        assert!(answer.ends_with("\r\n\r\nwritten"), "{file}: {answer}");
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0), "{file}");
    }
}

#[test]
fn a_start_that_fails_waits_for_the_file_to_be_mended() {
    let scratch = Scratch::new(&[("app.lua", "local app = require 'sampan'\napp.get('/',")]);
    let mut process = Process::start_until(&mut dev(&scratch, &[]), "waiting for a change");
    let log = process.read_errors();
    write(&scratch, "app.lua", &app("app.lua", "mended"));
    log.until("INFO listening on http://");
    process.signal("INT");
    assert_eq!(process.status(), Some(0));
    let log = log.join().expect("text");
    assert!(log.contains("INFO listening on http://"), "{log}");

    let empty = Scratch::new(&[]);
    let output = dev(&empty, &[]).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1) && told.contains("has no app.lua"),
        "{told}"
    );
}

/// At no moment does Ctrl-C leave a process, or a database that is not whole.
#[test]
fn ctrl_c_ends_at_every_moment() {
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "x"))]);
    write(
        &scratch,
        "migrations/0001_t.sql",
        "CREATE TABLE t (x); INSERT INTO t VALUES (1);",
    );
    for millis in (0..120).step_by(6) {
        // A shell that starts the tests in the background has SIGINT ignored in all of them.
        let mut command = Command::new("env");
        let started = dev(&scratch, &["--open"]);
        command.arg("--default-signal=INT");
        command.arg(started.get_program()).args(started.get_args());
        // Where the browser would be opened it must not get the signal.
        let opener = scratch.path().join("bin");
        write(
            &scratch,
            "bin/xdg-open",
            "#!/bin/sh\ntrap 'echo killed > \"$0.killed\"' INT\nsleep 0.2\n",
        );
        let status = Command::new("chmod")
            .arg("+x")
            .arg(opener.join("xdg-open"))
            .status();
        assert!(status.is_ok_and(|status| status.success()));
        let path = std::env::var("PATH").expect("text");
        command.env("PATH", format!("{}:{path}", opener.display()));
        command.process_group(0).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        // Until `env` has become the server, the signal may be ignored.
        let name = format!("/proc/{}/comm", child.id());
        let has_begun = || fs::read_to_string(&name).is_ok_and(|name| name == "sampan\n");
        wait::until("the server", has_begun);
        // Each moment of a start is tried.
        wait::dawdle(Duration::from_millis(millis));
        // To the whole group, as a terminal does.
        let group = format!("-{}", child.id());
        let sent = Command::new("kill").args(["-INT", "--", &group]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        let status = wait::found("its end", || child.try_wait().expect("a child"));
        // Before it hears signals it ends by this one.
        assert!(
            status.code() == Some(0) || status.signal() == Some(2),
            "{status} after {millis} ms"
        );
        assert!(!opener.join("xdg-open.killed").exists());
    }
    let process = Process::start(&mut dev(&scratch, &[]));
    assert!(get(&process, "/", &[]).1.starts_with("<body>x"));
    process.signal("INT");
    assert_eq!(process.end().0, Some(0));
}

#[test]
fn a_port_in_use_names_who_has_it() {
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "x"))]);
    let mut command = dev(&scratch, &[]);
    let process = Process::start(command.current_dir(scratch.path()));
    let address = process.address.to_string();
    for name in ["dev", "run"] {
        let mut second = Command::new(env!("CARGO_BIN_EXE_sampan"));
        let second = second.arg(name).arg(scratch.path());
        let output = second
            .args(["--listen", &address])
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let folder = scratch.path().canonicalize().expect("a folder");
        let expected = format!(
            "sampan: port {} is in use by process {} (sampan in {}): stop it, or choose another with --listen\n",
            process.address.port(),
            process.id(),
            folder.display()
        );
        assert_eq!((output.status.code(), told), (Some(1), expected));
    }
    process.signal("TERM");
    assert_eq!(process.end().0, Some(0));
}

#[test]
fn a_terminal_shows_colours_and_ends_it_by_closing() {
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "hello"))]);
    let arguments = ["dev", &scratch.file(""), "--listen", "127.0.0.1:0"];
    for command in ["dev", "run"] {
        let arguments = [&[command], &arguments[1..]].concat();
        let Some(mut terminal) = Terminal::start(&arguments, scratch.path()) else {
            return;
        };
        let level = if command == "dev" {
            "Z\x1b[0m \x1b[36mINFO\x1b[0m "
        } else {
            "Z INFO "
        };
        terminal.wait_for(&format!("{level}listening on "));
        terminal.signal("HUP");
        assert_eq!(terminal.end(), 0, "{command}");
    }
}
