//! `sampan run --supervise`: a server that crashes is started again.

use crate::serving::upgrade::{refuses, replace_by_script, upgrades};
use crate::support::{LiveLog, Process, Scratch};
use rustix::process::{Pid, Signal, kill_process};
use sampan_client::ports;
use sampan_testkit::{Client, wait};
use std::fs;
use std::path::Path;
use std::process::Command;

const SAMPAN: &str = env!("CARGO_BIN_EXE_sampan");

const APP: &str = r#"
local app = require "sampan"
app.get("/", function() return "here" end)
app.get("/late", function() app.log.info("begun") app.time.sleep(1) return "late" end)
app.get("/never", function() app.log.info("begun") app.time.sleep(100) end)
"#;

struct Supervised {
    scratch: Scratch,
    process: Process,
    log: LiveLog,
    port: u16,
}

/// Starts a project under supervision. Its port stays the same.
fn start(options: &[&str]) -> Supervised {
    start_by(
        Path::new(SAMPAN),
        Scratch::new(&[("app.lua", APP)]),
        options,
    )
}

/// Starts a project by an executable.
fn start_by(executable: &Path, scratch: Scratch, options: &[&str]) -> Supervised {
    let port = ports::free();
    let mut command = Command::new(executable);
    command.args(["run", "--supervise", "--workers", "1", "--listen"]);
    command.arg(format!("127.0.0.1:{port}")).arg(scratch.path());
    let mut process = Process::start(command.args(options));
    let log = process.read_errors();
    Supervised {
        scratch,
        process,
        log,
        port,
    }
}

impl Supervised {
    /// Returns the process that serves.
    fn server(&self) -> Pid {
        let id = self.process.id();
        let children = format!("/proc/{id}/task/{id}/children");
        let number = || {
            let children = fs::read_to_string(&children).ok()?;
            let mut numbers = children.split_whitespace();
            // What a server has left behind is a child for a moment.
            let number = numbers.next().filter(|_| numbers.next().is_none())?;
            Pid::from_raw(number.parse().ok()?)
        };
        wait::found("the process that serves", number)
    }

    /// Asks until a server answers, which is not the one that was there before.
    fn answers(&self) {
        let asked = || {
            let mut client = Client::connect(([127, 0, 0, 1], self.port).into()).ok()?;
            client.ask("GET", "/", &[], "").ok()
        };
        assert_eq!(wait::found("an answer", asked).text(), "here");
    }

    /// Begins a request that is in flight for a while.
    fn asks(&self, path: &str) -> Client {
        let mut client = Client::connect(([127, 0, 0, 1], self.port).into()).expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
        client.send(request.as_bytes()).expect("sent");
        self.log.until("begun");
        client
    }

    fn ends_well(mut self) {
        self.process.signal("TERM");
        assert_eq!(self.process.status(), Some(0), "{}", self.log.text());
    }
}

#[test]
fn a_server_that_is_killed_starts_again() {
    let supervised = start(&[]);
    supervised.answers();
    for (times, (signal, told)) in [
        (Signal::KILL, "was ended by SIGKILL"),
        (Signal::ABORT, "was ended by SIGABRT"),
    ]
    .into_iter()
    .enumerate()
    {
        let before = supervised.server();
        kill_process(before, signal).expect("it is there");
        supervised.log.until(told);
        supervised.log.until_times("listening on", times + 1);
        supervised.answers();
        assert_ne!(supervised.server(), before);
    }
    supervised.ends_well();
}

#[test]
fn one_that_cannot_start_is_not_started_again() {
    let scratch = Scratch::new(&[("app.lua", "this is no Lua")]);
    let mut command = Command::new(SAMPAN);
    let command = command.args(["run", "--supervise"]).arg(scratch.path());
    let output = command.output().expect("the command starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(!told.contains("starts again"), "{told}");
}

#[test]
fn the_process_of_an_upgrade_is_watched_in_its_place() {
    let supervised = start(&[]);
    let before = supervised.server();
    let new = upgrades(&supervised.scratch);
    wait::until("the end of the old process", || {
        supervised.server() != before
    });
    let after = supervised.server();
    assert_eq!(after.as_raw_nonzero().get().to_string(), new.id());
    supervised.answers();
    kill_process(after, Signal::KILL).expect("it is there");
    supervised.log.until("was ended by SIGKILL");
    supervised.answers();
    drop(new);
    supervised.ends_well();
}

#[test]
fn the_process_of_an_upgrade_goes_on_when_the_old_one_is_killed() {
    // A confined server starts it by a process between them.
    for options in [&[][..], &["--set", "sandbox.enabled=false"]] {
        let supervised = start(options);
        let old = supervised.server();
        let _in_flight = supervised.asks("/never");
        let new = upgrades(&supervised.scratch);
        kill_process(old, Signal::KILL).expect("it answers what is in flight");
        supervised.log.until("was ended by SIGKILL: process ");
        let server = supervised.server().as_raw_nonzero().get();
        assert_eq!(server.to_string(), new.id());
        supervised.answers();
        let told = supervised.log.text();
        assert!(!told.contains("starts again"), "{told}");
        supervised.ends_well();
        drop(new);
    }
}

#[test]
fn a_supervisor_that_is_told_to_end_during_an_upgrade_ends_both_processes() {
    let supervised = start(&["--set", "limits.shutdown_millis_max=300"]);
    let port = supervised.port;
    let _in_flight = supervised.asks("/never");
    let new = upgrades(&supervised.scratch);
    supervised.ends_well();
    assert!(Client::connect(([127, 0, 0, 1], port).into()).is_err());
    drop(new);
}

#[test]
fn a_signal_to_all_processes_counts_once() {
    let mut supervised = start(&[]);
    let mut in_flight = supervised.asks("/late");
    kill_process(supervised.server(), Signal::TERM).expect("it is there");
    supervised.log.until("shutting down");
    let supervisor = i32::try_from(supervised.process.id()).expect("a number");
    let supervisor = Pid::from_raw(supervisor).expect("a process");
    kill_process(supervisor, Signal::TERM).expect("it is there");
    let answer = in_flight.read(false).expect("it is answered");
    assert_eq!(answer.text(), "late");
    let status = supervised.process.status();
    assert_eq!(status, Some(0), "{}", supervised.log.text());
}

#[test]
fn an_upgrade_starts_the_path_by_which_the_supervisor_was_started() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let link = scratch.path().join("server");
    std::os::unix::fs::symlink(SAMPAN, &link).expect("a link");
    let supervised = start_by(&link, scratch, &[]);
    supervised.answers();
    replace_by_script(&link, "#!/bin/sh\nexit 3\n");
    refuses(
        &supervised.scratch,
        "the new process ended before it served: exit status: 3",
    );
    supervised.ends_well();
}
