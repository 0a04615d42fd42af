//! Attempts against a server that plays what it is told.

use super::*;
use crate::server::MailServer;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// The answers of a server on one connection, by the first word of the client's line.
#[derive(Clone, Copy, Default)]
struct Play {
    /// In place of `220`.
    greeting: Option<&'static str>,
    /// The beginning of a line, and its answer. Without an answer the connection is closed.
    answers: &'static [(&'static str, Option<&'static str>)],
    /// The answer to the mail itself.
    data: Data,
    /// True if nothing is answered at all.
    is_silent: bool,
}

#[derive(Clone, Copy, Default)]
enum Data {
    #[default]
    Takes,
    Answers(&'static str),
    Closes,
}

/// A mail server that plays what it is told.
struct Server {
    port: u16,
    /// The lines of clients, of one connection after the other, and the mails that were taken.
    seen: Receiver<Vec<String>>,
}

fn serve(plays: Vec<Play>) -> Server {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let (sender, seen) = channel();
    std::thread::spawn(move || {
        for play in plays {
            let (stream, _) = listener.accept().expect("a client");
            let mut lines = Vec::new();
            // A client may leave at any time.
            let _ = answer(&stream, play, &mut lines);
            drop(stream);
            let sender: &Sender<_> = &sender;
            if sender.send(lines).is_err() {
                return;
            }
        }
    });
    Server { port, seen }
}

fn answer(stream: &TcpStream, play: Play, lines: &mut Vec<String>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    let mut line = String::new();
    if play.is_silent {
        // Until the client has enough of it.
        reader.read_line(&mut line)?;
        return Ok(());
    }
    write!(writer, "{}\r\n", play.greeting.unwrap_or("220 hello"))?;
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let command = line.trim_end().to_owned();
        lines.push(command.clone());
        let known = play
            .answers
            .iter()
            .find(|(start, _)| command.starts_with(start));
        let answer = match known {
            Some((_, None)) => return Ok(()),
            Some((_, Some(answer))) => answer,
            None if command.starts_with("EHLO") => "250-hello\r\n250-AUTH PLAIN\r\n250 SIZE",
            None if command == "DATA" => "354 go on",
            None if command == "QUIT" => "221 bye",
            None if command.starts_with("AUTH") => "235 welcome",
            None => "250 ok",
        };
        write!(writer, "{answer}\r\n")?;
        if command == "DATA" && answer.starts_with("354") {
            let mut mail = String::new();
            loop {
                line.clear();
                if reader.read_line(&mut line)? == 0 {
                    return Ok(());
                }
                if line == ".\r\n" {
                    break;
                }
                mail.push_str(&line);
            }
            lines.push(mail);
            match play.data {
                Data::Takes => write!(writer, "250 taken\r\n")?,
                Data::Answers(answer) => write!(writer, "{answer}\r\n")?,
                Data::Closes => return Ok(()),
            }
        }
    }
}

fn delivery(port: u16, login: &str, to: &[&str]) -> (Delivery, UnboundedReceiver<Report>) {
    let url = format!("smtp://{login}127.0.0.1:{port}?tls=none");
    let config = MailConfig {
        server: Some(MailServer::parse(&url).expect("a server")),
        from: None,
        signer: None,
        message_bytes_max: 1000,
        attempts_max: 3,
        timeout: Duration::from_millis(200),
    };
    let mail = Mail {
        from: "app@example.com".to_owned(),
        to: to.iter().map(|to| (*to).to_owned()).collect(),
        source: b"Subject: x\r\n\r\n.hidden\r\nend\r\n".to_vec(),
    };
    let (sender, receiver) = unbounded_channel();
    (Delivery::new(Arc::new(config), mail, sender), receiver)
}

/// Makes attempts without the pauses between them, and returns their number and what the log is told.
fn run(plays: Vec<Play>, to: &[&str]) -> (u32, Vec<Report>, Server) {
    let server = serve(plays);
    let (mut delivery, mut reports) = delivery(server.port, "", to);
    while delivery.attempt().is_some() {}
    let mut told = Vec::new();
    while let Ok(report) = reports.try_recv() {
        told.push(report);
    }
    (delivery.attempts, told, server)
}

fn is_later(report: &Report, part: &str) -> bool {
    matches!(report, Report::Later(text) if text.contains(part))
}

fn is_given_up(report: &Report, part: &str) -> bool {
    matches!(report, Report::GivenUp(text) if text.contains(part))
}

#[test]
fn a_mail_is_sent_once_to_all_addresses() {
    let (attempts, told, server) = run(vec![Play::default()], &["a@x.org", "b@x.org"]);
    assert_eq!((attempts, told.len()), (1, 0));
    let lines = server.seen.recv().expect("a connection");
    let expected = [
        "EHLO example.com",
        "MAIL FROM:<app@example.com>",
        "RCPT TO:<a@x.org>",
        "RCPT TO:<b@x.org>",
        "DATA",
        // Its own dot is doubled on the way.
        "Subject: x\r\n\r\n..hidden\r\nend\r\n\r\n",
        "QUIT",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_login_is_sent_before_the_mail() {
    let server = serve(vec![Play::default()]);
    let (mut delivery, _reports) = delivery(server.port, "ann:p%40ss@", &["a@x.org"]);
    assert_eq!(delivery.attempt(), None);
    let lines = server.seen.recv().expect("a connection");
    // base64 of "\0ann\0p@ss".
    assert_eq!(lines[1], "AUTH PLAIN AGFubgBwQHNz");
}

#[test]
fn a_wrong_login_is_tried_again() {
    let play = Play {
        answers: &[("AUTH", Some("535 no"))],
        ..Play::default()
    };
    let server = serve(vec![play]);
    let (mut delivery, mut reports) = delivery(server.port, "ann:wrong@", &["a@x.org"]);
    assert!(delivery.attempt().is_some());
    let told = reports.try_recv().expect("a report");
    assert!(is_later(&told, "535"), "{told:?}");
}

#[test]
fn a_refused_mail_is_given_up_at_once() {
    for start in ["MAIL", "RCPT", "DATA"] {
        let answers: &'static [_] = match start {
            "MAIL" => &[("MAIL", Some("550 not from you"))],
            "RCPT" => &[("RCPT", Some("550 unknown"))],
            _ => &[("DATA", Some("554 not that"))],
        };
        let play = Play {
            answers,
            ..Play::default()
        };
        let (attempts, told, _server) = run(vec![play], &["a@x.org"]);
        assert_eq!(attempts, 1, "{start}");
        assert!(is_given_up(&told[0], "was refused: "), "{told:?}");
    }
}

#[test]
fn a_server_that_is_busy_is_tried_again_and_may_refuse_then() {
    let busy = Play {
        answers: &[("MAIL", Some("451 busy"))],
        ..Play::default()
    };
    let refuses = Play {
        data: Data::Answers("554 spam"),
        ..Play::default()
    };
    let (attempts, told, _server) = run(vec![busy, refuses], &["a@x.org"]);
    assert_eq!(attempts, 2);
    assert!(
        is_later(&told[0], "451") && is_later(&told[0], "attempt 2 of 3 follows in 10 s"),
        "{told:?}"
    );
    assert!(is_given_up(&told[1], "554"), "{told:?}");
}

#[test]
fn attempts_end() {
    let full = Play {
        data: Data::Answers("452 full"),
        ..Play::default()
    };
    let closed = Play {
        greeting: Some("421 not now"),
        ..Play::default()
    };
    let silent = Play {
        is_silent: true,
        ..Play::default()
    };
    let (attempts, told, _server) = run(vec![closed, silent, full], &["a@x.org"]);
    assert_eq!(attempts, 3);
    assert!(
        is_later(&told[0], "421") && is_later(&told[1], "was not sent"),
        "{told:?}"
    );
    assert!(
        is_given_up(&told[2], "was not sent in 3 attempts"),
        "{told:?}"
    );
}

#[test]
fn a_server_that_is_not_there_is_tried_again() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    drop(listener);
    let (mut delivery, mut reports) = delivery(port, "", &["a@x.org"]);
    assert_eq!(delivery.attempt(), Some(Duration::from_secs(10)));
    assert_eq!(delivery.attempt(), Some(Duration::from_secs(20)));
    assert_eq!(delivery.attempt(), None);
    assert!(is_later(&reports.try_recv().expect("a report"), "refused"));
}

#[test]
fn addresses_have_fates_of_their_own() {
    let first = Play {
        answers: &[
            ("RCPT TO:<gone@", Some("550 unknown")),
            ("RCPT TO:<full@", Some("452 full")),
        ],
        ..Play::default()
    };
    let (attempts, told, server) = run(
        vec![first, Play::default()],
        &["ann@x.org", "gone@x.org", "full@x.org"],
    );
    assert_eq!(attempts, 2);
    assert!(is_given_up(&told[0], "gone@x.org was refused"), "{told:?}");
    assert!(is_later(&told[1], "a mail to full@x.org"), "{told:?}");
    let first = server.seen.recv().expect("a connection");
    assert!(first.iter().any(|line| line == "DATA"));
    let second = server.seen.recv().expect("a connection");
    let to: Vec<_> = second
        .iter()
        .filter(|line| line.starts_with("RCPT"))
        .collect();
    assert_eq!(to, ["RCPT TO:<full@x.org>"]);
}

#[test]
fn a_mail_whose_connection_is_lost_behind_it_is_sent_once_more_at_most() {
    let closes = Play {
        data: Data::Closes,
        ..Play::default()
    };
    let (attempts, told, _server) = run(vec![closes, closes, Play::default()], &["a@x.org"]);
    assert_eq!(attempts, 2);
    assert!(
        is_given_up(&told[1], "is not sent a third time"),
        "{told:?}"
    );
    let (attempts, told, _server) = run(vec![closes, Play::default()], &["a@x.org"]);
    assert_eq!((attempts, told.len()), (2, 1));
}

#[test]
fn a_connection_that_is_lost_before_the_mail_is_no_doubt() {
    let closes = Play {
        answers: &[("DATA", None)],
        ..Play::default()
    };
    let (attempts, told, _server) = run(vec![closes, closes, Play::default()], &["a@x.org"]);
    assert_eq!((attempts, told.len()), (3, 2), "{told:?}");
}

#[test]
fn nothing_is_sent_without_the_protection_that_was_asked_for() {
    let server = serve(vec![Play::default()]);
    let (mut delivery, mut reports) = delivery(server.port, "", &["a@x.org"]);
    let url = format!("smtp://ann:secret@127.0.0.1:{}", server.port);
    let config = MailConfig {
        server: Some(MailServer::parse(&url).expect("a server")),
        ..MailConfig::clone(&delivery.config)
    };
    delivery.config = Arc::new(config);
    assert!(delivery.attempt().is_some());
    let told = reports.try_recv().expect("a report");
    assert!(is_later(&told, "STARTTLS"), "{told:?}");
    let lines = server.seen.recv().expect("a connection");
    assert_eq!(lines, ["EHLO example.com"]);
}
