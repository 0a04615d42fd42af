//! Mails of a server that runs: what a mail server gets, over TLS too, and what it does not get.

use crate::support::{Process, Scratch};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sampan_client::certificates::Identity;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

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

/// The longest time that an event may take, on a machine that compiles meanwhile.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The protection of a server's connections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protection {
    None,
    Tls,
    StartTls,
}

/// A mail server for `localhost`.
struct MailServer {
    port: u16,
    /// All lines of the client on each connection.
    seen: Receiver<Vec<String>>,
}

impl MailServer {
    fn start(protection: Protection, identity: &Identity) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let key = PrivateKeyDer::try_from(identity.key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate.clone()], key)
            .expect("a certificate");
        let config = Arc::new(config);
        let (sender, seen) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let sender: &Sender<_> = &sender;
                let mut lines = Vec::new();
                // A client may leave at any time.
                let _ = serve(stream.expect("a client"), protection, &config, &mut lines);
                if sender.send(lines).is_err() {
                    return;
                }
            }
        });
        Self { port, seen }
    }

    fn next(&self) -> Vec<String> {
        self.seen.recv_timeout(TIME_MAX).expect("a connection")
    }
}

fn secured(stream: TcpStream, config: &Arc<ServerConfig>) -> impl Read + Write {
    let session = ServerConnection::new(Arc::clone(config)).expect("a session");
    StreamOwned::new(session, stream)
}

fn serve(
    mut stream: TcpStream,
    protection: Protection,
    config: &Arc<ServerConfig>,
    lines: &mut Vec<String>,
) -> std::io::Result<()> {
    match protection {
        Protection::Tls => talk(&mut secured(stream, config), true, "", lines),
        Protection::None => talk(&mut stream, true, "", lines),
        Protection::StartTls => {
            talk(&mut stream, true, "250-STARTTLS\r\n", lines)?;
            talk(&mut secured(stream, config), false, "", lines)
        }
    }
}

/// Talks until the client begins with TLS or leaves.
fn talk(
    stream: &mut (impl Read + Write),
    greets: bool,
    offers: &str,
    lines: &mut Vec<String>,
) -> std::io::Result<()> {
    if greets {
        stream.write_all(b"220 hello\r\n")?;
    }
    // Clients wait for each answer, so nothing behind a line is read with it.
    let mut is_mail = false;
    loop {
        let mut line = String::new();
        if BufReader::with_capacity(1, &mut *stream).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let line = line.trim_end().to_owned();
        lines.push(line.clone());
        let answer = match line.as_str() {
            "." if is_mail => {
                is_mail = false;
                "250 taken".to_owned()
            }
            _ if is_mail => continue,
            "DATA" => {
                is_mail = true;
                "354 go on".to_owned()
            }
            "STARTTLS" => "220 go on".to_owned(),
            line if line.starts_with("EHLO") => format!("250-hello\r\n{offers}250 AUTH PLAIN"),
            line if line.starts_with("AUTH") => "235 welcome".to_owned(),
            _ => "250 ok".to_owned(),
        };
        stream.write_all(format!("{answer}\r\n").as_bytes())?;
        stream.flush()?;
        if line == "STARTTLS" {
            return Ok(());
        }
    }
}

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
    log.until("mail.send: a mail to ann@example.org was not sent: ");
    log.until("attempt 2 of 10 follows in 10 s");
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
