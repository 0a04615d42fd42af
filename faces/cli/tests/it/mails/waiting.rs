//! Mails that wait in the database: for a process that delivers them, for the next attempt, and for people.

use crate::commands::command::{sampan, serve};
use crate::mails::server::{MailServer, Protection, Reply};
use crate::support::{Process, Scratch};
use sampan_client::certificates::Identity;
use sampan_testkit::wait;
use serde_json::Value;
use std::fs;
use std::process::Command;

const APP: &str = r#"
local app = require "sampan"
local db = app.db

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS t (n INTEGER)") end)

local function send(to, subject)
  app.mail.send { to = to, from = "app@example.com", subject = subject, text = "hello" }
end

app.post("/send/:subject", function(req)
  db.exec("INSERT INTO t (n) VALUES (1)")
  send("ann@example.org", req.params.subject)
end)
app.post("/large", function()
  local pdf = { name = "a.pdf", content = ("x"):rep(1024 * 1024) }
  app.mail.send {
    to = "ann@example.org", from = "app@example.com", subject = "large", text = "hello", attachments = { pdf },
  }
end)
app.post("/to-three", function() send({ "ann@example.org", "gone@example.org", "bob@example.org" }, "three") end)
"#;

/// In both languages: mails that are kept and mails that are not.
const KEPT: [(&str, &str); 2] = [
    (
        "app.lua",
        r#"
local app = require "sampan"
local db, time = app.db, app.time

app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS t (n INTEGER)") end)

local function send(subject)
  app.mail.send { to = "ann@example.org", from = "app@example.com", subject = subject, text = "hello" }
end

app.post("/plain", function() send("plain") end)
app.post("/batch", function()
  db.batch(function()
    db.exec("INSERT INTO t (n) VALUES (1)")
    send("batch")
  end)
  pcall(db.batch, function()
    send("no: batch")
    error("no")
  end)
end)
app.post("/transaction", function()
  db.transaction(function(tx)
    tx:exec("INSERT INTO t (n) VALUES (1)")
    time.sleep(0.001)
    send("transaction")
    pcall(tx.batch, tx, function()
      send("no: batch in a transaction")
      error("no")
    end)
  end)
  pcall(db.transaction, function()
    send("no: transaction")
    error("no")
  end)
end)
app.job("mail", function() send("job") end)
app.post("/job", function() app.enqueue("mail") end)
app.post("/later", function()
  db.transaction(function()
    app.log.info("the transaction is open")
    time.sleep(2)
  end)
end)
"#,
    ),
    (
        "app.js",
        r#"
import { app, db, mail, time } from "sampan";

app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS t (n INTEGER)"); });

const send = (subject) => {
  mail.send({ to: "ann@example.org", from: "app@example.com", subject, text: "hello" });
};
const no = () => { throw new Error("no"); };

app.post("/plain", () => { send("plain"); });
app.post("/batch", () => {
  db.batch(() => {
    db.exec("INSERT INTO t (n) VALUES (1)");
    send("batch");
  });
  try {
    db.batch(() => {
      send("no: batch");
      no();
    });
  } catch { /* taken back */ }
});
app.post("/transaction", async () => {
  await db.transaction(async (tx) => {
    tx.exec("INSERT INTO t (n) VALUES (1)");
    await time.sleep(0.001);
    send("transaction");
    try {
      tx.batch(() => {
        send("no: batch in a transaction");
        no();
      });
    } catch { /* taken back */ }
  });
  try {
    await db.transaction(async () => {
      send("no: transaction");
      no();
    });
  } catch { /* taken back */ }
});
app.job("mail", () => { send("job"); });
app.post("/job", () => { app.enqueue("mail"); });
"#,
    ),
];

/// The server of a project, its mail server, and the command beside it.
struct Setup {
    scratch: Scratch,
    server: MailServer,
}

impl Setup {
    fn new() -> Self {
        Self::of(("app.lua", APP))
    }

    fn of(app: (&str, &str)) -> Self {
        let identity = Identity::new(&["localhost"]);
        let server = MailServer::start(Protection::None, &identity);
        let scratch = Scratch::new(&[app]);
        let setup = Self { scratch, server };
        setup.use_port(setup.server.port);
        setup
    }

    /// Writes the settings: a mail that fails once is dead, so that attempts are made when the test wants it.
    fn use_port(&self, port: u16) {
        self.write_settings(port, 1);
    }

    fn write_settings(&self, port: u16, attempts_max: u32) {
        let toml = format!(
            "[mail]\nurl = 'smtp://localhost:{port}?tls=none'\nattempts_max = {attempts_max}\n[jobs]\nlease = '1s'\n"
        );
        fs::write(self.scratch.file("sampan.toml"), toml).expect("written");
    }

    fn command(&self) -> Command {
        serve(&self.scratch.path().display().to_string(), 2)
    }

    fn start(&self) -> Process {
        Process::start(&mut self.command())
    }

    /// Starts a process that delivers no mails.
    fn start_without_jobs(&self) -> Process {
        Process::start(self.command().env("SAMPAN_JOBS_WORKERS", "0"))
    }

    fn run(&self, args: &[&str]) -> String {
        let output = sampan(args).current_dir(self.scratch.path()).output();
        let output = output.expect("the command");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// Returns the jobs of mails.
    fn jobs(&self) -> Vec<Value> {
        let list: Value =
            serde_json::from_str(&self.run(&["jobs", "list", "--json"])).expect("JSON");
        let jobs = list["jobs"].as_array().expect("a list").clone();
        assert!(
            jobs.iter().all(|job| job["name"] == "sampan.mail"),
            "{list}"
        );
        jobs
    }

    /// Waits until the only mail is in a state.
    fn only_one(&self, state: &str) -> Value {
        wait::found(format!("a mail that is {state}"), || {
            let jobs = self.jobs();
            assert!(jobs.len() < 2, "{jobs:?}");
            jobs.into_iter().find(|job| job["state"] == state)
        })
    }

    fn retry(&self, job: &Value) {
        self.run(&["jobs", "retry", &job["id"].to_string()]);
    }

    fn none_is_left(&self) {
        wait::until("the end of all mails", || self.jobs().is_empty());
    }
}

fn post(process: &Process, path: &str) {
    let answer = process.client().ask("POST", path, &[], "");
    let answer = answer.expect("an answer");
    assert!(answer.status < 300, "{path}: {}", answer.text());
}

/// Returns the subject and the addresses of a mail that was sent whole.
fn sent(lines: &[String]) -> (String, Vec<String>) {
    assert!(lines.contains(&".".to_owned()), "{lines:?}");
    let after = |start: &str| {
        let found = lines.iter().filter_map(|line| line.strip_prefix(start));
        found
            .map(|rest| rest.trim_end_matches('>').to_owned())
            .collect::<Vec<_>>()
    };
    (after("Subject: ").concat(), after("RCPT TO:<"))
}

fn last_error(job: &Value) -> String {
    let errors = job["errors"].as_array().expect("a list");
    let last = errors.last().expect("an error");
    last["error"].as_str().expect("text").to_owned()
}

#[test]
fn a_kill_between_commit_and_delivery_loses_no_mail() {
    let setup = Setup::new();
    let process = setup.start_without_jobs();
    post(&process, "/send/kept");
    process.signal("KILL");
    process.end();
    setup.only_one("ready");
    let _process = setup.start();
    assert_eq!(sent(&setup.server.next()).0, "kept");
    setup.none_is_left();
}

#[test]
fn a_kill_during_a_delivery_is_a_failed_attempt() {
    let setup = Setup::new();
    setup.server.reply(&[("RCPT", Reply::Silence)]);
    let process = setup.start();
    post(&process, "/send/kept");
    wait::until("an attempt", || setup.server.has_replied("RCPT"));
    process.signal("KILL");
    process.end();
    setup.server.reply(&[]);
    let _process = setup.start();
    let job = setup.only_one("dead");
    assert!(last_error(&job).starts_with("its process ended"), "{job}");
    setup.retry(&job);
    let mails = [setup.server.next(), setup.server.next()];
    assert!(!mails[0].contains(&"DATA".to_owned()), "{mails:?}");
    assert_eq!(sent(&mails[1]).0, "kept");
    setup.none_is_left();
}

#[test]
fn a_mail_is_kept_or_rolled_back_with_what_is_written_beside_it() {
    for app in KEPT {
        let setup = Setup::of(app);
        let process = setup.start();
        for name in ["plain", "batch", "transaction", "job"] {
            post(&process, &format!("/{name}"));
            assert_eq!(sent(&setup.server.next()).0, name, "{}", app.0);
        }
        setup.none_is_left();
    }
}

#[test]
fn a_mail_may_be_larger_than_the_arguments_of_other_jobs() {
    let setup = Setup::new();
    let process = setup.start_without_jobs();
    post(&process, "/large");
    let job = setup.only_one("ready");
    assert!(job["args"].is_null(), "a list has no large arguments");
    drop(process);
    let _process = setup.start();
    let lines = setup.server.next();
    assert_eq!(sent(&lines).0, "large");
    assert!(lines.iter().map(String::len).sum::<usize>() > 1024 * 1024);
    setup.none_is_left();
}

#[test]
fn a_mail_waits_for_the_transaction_of_another_request() {
    let setup = Setup::of(KEPT[0]);
    let mut process = setup.start();
    let log = process.read_errors();
    // At first a route that may write waits before its handler runs.
    post(&process, "/plain");
    assert_eq!(sent(&setup.server.next()).0, "plain");
    let mut client = process.client();
    let request = b"POST /later HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n";
    client.send(request).expect("sent");
    log.until("the transaction is open");
    post(&process, "/plain");
    assert_eq!(sent(&setup.server.next()).0, "plain");
    assert_eq!(client.read(false).expect("an answer").status, 204);
}

#[test]
fn a_refused_mail_is_dead_at_once_and_people_can_have_it_sent_again() {
    let setup = Setup::new();
    setup.write_settings(setup.server.port, 10);
    let refuses = Reply::Line("550 5.7.1 not from you");
    setup.server.reply(&[("MAIL", refuses)]);
    let mut process = setup.start();
    let log = process.read_errors();
    post(&process, "/send/spam");
    let job = setup.only_one("dead");
    assert_eq!(job["attempt"], 1);
    assert!(last_error(&job).contains("5.7.1 not from you"), "{job}");
    log.until("job sampan.mail");
    log.until("a mail to ann@example.org was refused: ");
    setup.server.next();
    setup.server.reply(&[]);
    setup.retry(&job);
    assert_eq!(sent(&setup.server.next()).0, "spam");
    setup.none_is_left();
}

#[test]
fn a_retry_sends_to_the_addresses_that_are_left() {
    let setup = Setup::new();
    setup.server.reply(&[
        ("RCPT TO:<gone@", Reply::Line("550 unknown")),
        ("RCPT TO:<bob@", Reply::Line("452 full")),
    ]);
    let process = setup.start();
    post(&process, "/to-three");
    let job = setup.only_one("dead");
    let shown = setup.run(&["jobs", "show", &job["id"].to_string()]);
    let left = r#"{"to":["bob@example.org"],"refused":["gone@example.org"]"#;
    assert!(shown.contains(left), "{shown}");
    assert_eq!(sent(&setup.server.next()).1.len(), 3);
    setup
        .server
        .reply(&[("RCPT TO:<gone@", Reply::Line("550 unknown"))]);
    setup.retry(&job);
    let job = setup.only_one("dead");
    assert!(
        last_error(&job).contains("a mail to gone@example.org was refused: "),
        "{job}"
    );
    assert_eq!(
        sent(&setup.server.next()).1,
        ["bob@example.org", "gone@example.org"]
    );
    setup.server.reply(&[]);
    setup.retry(&job);
    assert_eq!(sent(&setup.server.next()).1, ["gone@example.org"]);
    setup.none_is_left();
}

#[test]
fn a_connection_that_is_lost_behind_the_mail_is_noted() {
    let setup = Setup::new();
    setup.server.reply(&[(".", Reply::Close)]);
    let process = setup.start();
    post(&process, "/send/perhaps");
    let job = setup.only_one("dead");
    assert_eq!(job["args"]["may_be_sent"], true, "{job}");
    assert!(
        last_error(&job).contains("was sent, and the server has not answered"),
        "{job}"
    );
    assert_eq!(sent(&setup.server.next()).0, "perhaps");
}

#[test]
fn mails_wait_through_a_reload_and_go_by_the_new_settings() {
    let setup = Setup::new();
    let refuses = Reply::Line("451 not now");
    setup.server.reply(&[("MAIL", refuses)]);
    let process = setup.start();
    post(&process, "/send/moved");
    setup.only_one("dead");
    assert!(!setup.server.next().contains(&"DATA".to_owned()));
    let other = MailServer::start(Protection::None, &Identity::new(&["localhost"]));
    setup.use_port(other.port);
    setup.run(&["reload"]);
    // A thread for jobs may change its settings a moment later.
    wait::until("the delivery", || {
        let jobs = setup.jobs();
        let dead = jobs.iter().filter(|job| job["state"] == "dead");
        dead.for_each(|job| setup.retry(job));
        jobs.is_empty()
    });
    assert_eq!(sent(&other.next()).0, "moved");
}
