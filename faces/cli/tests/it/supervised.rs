//! `sampan run --supervise`: a server that crashes is started again.

use crate::serving::upgrade::upgrades;
use crate::support::{LiveLog, Process, Scratch};
use rustix::process::{Pid, Signal, kill_process};
use sampan_client::ports;
use sampan_testkit::{Client, wait};
use std::fs;
use std::process::Command;

struct Supervised {
    scratch: Scratch,
    process: Process,
    log: LiveLog,
    port: u16,
}

/// Starts a project under supervision. Its port stays the same.
fn start(options: &[&str]) -> Supervised {
    let app = "local app = require 'sampan'\napp.get('/', function() return 'here' end)\n";
    let scratch = Scratch::new(&[("app.lua", app)]);
    let port = ports::free();
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
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
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
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
