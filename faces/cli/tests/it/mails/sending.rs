//! Mails of a server that runs: what a mail server gets, over TLS too, and what it does not get.

use crate::commands::command::{sampan, serve};
use crate::mails::server::{MailServer, Protection};
use crate::support::{Process, Scratch};
use sampan_client::certificates::Identity;
use sampan_client::postgres::PostgresServer;
use std::process::Command;

const APP: &str = r#"
local app = require "sampan"
local db = app.db

db.exec("CREATE TABLE IF NOT EXISTS t (n INTEGER)")

local function send(subject)
  app.mail.send { to = "ann@example.org", from = "app@example.com", subject = subject, text = "hello" }
end

app.post("/send/:subject", function(req)
  db.exec("INSERT INTO t (n) VALUES (1)")
  send(req.params.subject)
  return "sent"
end)
app.post("/rolled-back", function()
  pcall(db.batch, function()
    db.exec("INSERT INTO t (n) VALUES (1)")
    send("rolled back")
    error("no")
  end)
  return "rolled back"
end)
"#;

fn start(url: Option<&str>, trusted: &Identity) -> (Scratch, Process) {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.arg("run").arg(scratch.path());
    command.args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    command.env("SSL_CERT_FILE", trusted.certificate_file());
    if let Some(url) = url {
        command.env("SAMPAN_MAIL_URL", url);
    }
    let process = Process::start(&mut command);
    (scratch, process)
}

const SERVER_LUA: &str = r#"
local app = require "sampan"
local db = app.db

local function send(subject)
  app.mail.send { to = "ann@example.org", from = "app@example.com", subject = subject, text = "hello" }
end

app.post("/rolled-back", function()
  pcall(db.batch, function() send("rolled back") error("no") end)
  pcall(db.transaction, function() send("rolled back") error("no") end)
end)
app.post("/plain", function() send("plain") end)
app.post("/batch", function() db.batch(function() send("batch") end) end)
app.post("/transaction", function() db.transaction(function(tx) tx:query("SELECT 1") send("transaction") end) end)
"#;

const SERVER_JS: &str = r#"
import { app, db, mail } from "sampan";

const send = (subject) => mail.send({ to: "ann@example.org", from: "app@example.com", subject, text: "hello" });

app.post("/rolled-back", async () => {
  try {
    await db.batch(() => { send("rolled back"); throw new Error("no"); });
  } catch { /* taken back */ }
  try {
    await db.transaction(async () => { await send("rolled back"); throw new Error("no"); });
  } catch { /* taken back */ }
});
app.post("/plain", () => send("plain"));
app.post("/batch", () => db.batch(() => { send("batch"); }));
app.post("/transaction", () => db.transaction(async (tx) => { await tx.query("SELECT 1"); await send("transaction"); }));
"#;

#[test]
fn a_mail_leaves_with_its_commit_on_postgresql() {
    let Some(database) = PostgresServer::shared() else {
        return;
    };
    let identity = Identity::new(&["localhost"]);
    for (file, app) in [("app.lua", SERVER_LUA), ("app.js", SERVER_JS)] {
        let server = MailServer::start(Protection::None, &identity);
        let scratch = Scratch::new(&[(file, app)]);
        let mut command = sampan(&["run"]);
        command.arg(scratch.path());
        command.args(["--listen", "127.0.0.1:0", "--workers", "1", "--db"]);
        command.arg(database.url(&database.database()));
        let url = format!("smtp://localhost:{}?tls=none", server.port);
        let process = Process::start(command.env("SAMPAN_MAIL_URL", url));
        assert_eq!(post(&process, "/rolled-back"), 204, "{file}");
        for subject in ["plain", "batch", "transaction"] {
            assert_eq!(post(&process, &format!("/{subject}")), 204, "{file}");
            let lines = server.next();
            assert!(has_subject(&lines, subject), "{file}: {lines:?}");
        }
    }
}

fn post(process: &Process, path: &str) -> u16 {
    let answer = process.client().ask("POST", path, &[], "");
    answer.expect("an answer").status
}

fn has_subject(lines: &[String], subject: &str) -> bool {
    lines.contains(&format!("Subject: {subject}")) && lines.contains(&".".to_owned())
}

#[test]
fn a_mail_leaves_with_its_commit_and_not_without() {
    let identity = Identity::new(&["localhost"]);
    let server = MailServer::start(Protection::None, &identity);
    let url = format!("smtp://localhost:{}?tls=none", server.port);
    let (_scratch, process) = start(Some(&url), &identity);
    assert_eq!(post(&process, "/rolled-back"), 200);
    assert_eq!(post(&process, "/send/kept"), 200);
    let lines = server.next();
    assert!(has_subject(&lines, "kept"), "{lines:?}");
    assert!(
        lines.contains(&"RCPT TO:<ann@example.org>".to_owned()),
        "{lines:?}"
    );
}

#[test]
fn the_login_is_sent_over_tls() {
    let identity = Identity::new(&["localhost"]);
    for (protection, scheme) in [(Protection::Tls, "smtps"), (Protection::StartTls, "smtp")] {
        let server = MailServer::start(protection, &identity);
        let url = format!("{scheme}://ann:p%40ss@localhost:{}", server.port);
        let (_scratch, process) = start(Some(&url), &identity);
        assert_eq!(post(&process, "/send/hello"), 200);
        let lines = server.next();
        // base64 of "\0ann\0p@ss".
        assert!(
            lines.contains(&"AUTH PLAIN AGFubgBwQHNz".to_owned()),
            "{lines:?}"
        );
        assert!(has_subject(&lines, "hello"), "{scheme}: {lines:?}");
    }
}

#[test]
fn a_server_that_is_not_trusted_gets_nothing_and_the_log_says_why() {
    let (identity, trusted) = (Identity::new(&["localhost"]), Identity::new(&["localhost"]));
    let server = MailServer::start(Protection::Tls, &identity);
    let url = format!("smtps://ann:secret@localhost:{}", server.port);
    let (_scratch, mut process) = start(Some(&url), &trusted);
    let log = process.read_errors();
    assert_eq!(post(&process, "/send/hello"), 200);
    log.until(" s: a mail to ann@example.org was not sent: ");
    let text = log.text();
    assert!(
        text.contains("certificate") && !text.contains("secret"),
        "{text}"
    );
    assert_eq!(server.next(), Vec::<String>::new());
}

#[test]
fn without_a_server_a_mail_is_an_error() {
    let identity = Identity::new(&["localhost"]);
    let (_scratch, mut process) = start(None, &identity);
    let log = process.read_errors();
    assert_eq!(post(&process, "/send/hello"), 500);
    log.until("there is no mail server: set url in [mail] of sampan.toml");
}

#[test]
fn a_sender_without_a_server_is_a_warning_at_start() {
    let toml = "[mail]\nfrom = 'app@example.com'\n";
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", toml)]);
    let mut command = serve(&scratch.file("app.lua"), 1);
    let warning = "sampan.toml:2: [mail] from is set, but no mail can be sent without a mail server: set url, or";
    drop(Process::start_until(&mut command, warning));
}
