//! Attempts against a server that plays what it is told.

use super::*;
use crate::server::MailServer;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

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
    /// Says nothing until the client leaves.
    Stalls,
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
                Data::Stalls => {
                    reader.read_line(&mut line)?;
                    return Ok(());
                }
            }
        }
    }
}

fn config(port: u16, login: &str) -> MailConfig {
    let url = format!("smtp://{login}127.0.0.1:{port}?tls=none");
    MailConfig {
        server: Some(MailServer::parse(&url).expect("a server")),
        from: None,
        signer: None,
        message_bytes_max: 1000,
        attempts_max: 3,
        timeout: Duration::from_millis(200),
    }
}

fn mail(to: &[&str]) -> Delivery {
    let mail = Mail {
        from: "app@example.com".to_owned(),
        to: to.iter().map(|to| (*to).to_owned()).collect(),
        source: b"Subject: x\r\n\r\n.hidden\r\nend\r\n".to_vec(),
    };
    Delivery::new(mail).expect("UTF-8")
}

/// The attempts to deliver a mail, as its job makes them.
struct Attempts {
    config: MailConfig,
    args: String,
    number: u32,
}

impl Attempts {
    fn new(config: MailConfig, mail: &Delivery) -> Self {
        Self {
            config,
            args: mail.to_json().expect("JSON"),
            number: 0,
        }
    }

    /// Makes the next attempt. Returns its error, and true if the job is dead.
    fn next(&mut self) -> Option<(bool, String)> {
        self.number += 1;
        let mail = Delivery::read(&self.args).expect("a mail");
        let failure = mail.attempt(&self.config, self.number, &|| true).err()?;
        if let Some(args) = failure.args {
            self.args = args;
        }
        let is_dead = failure.is_final || self.number == self.config.attempts_max;
        Some((is_dead, failure.error.to_string()))
    }

    /// Makes attempts until the mail is delivered or dead, and returns their errors.
    fn all(&mut self) -> Vec<(bool, String)> {
        let mut errors = Vec::new();
        while let Some((is_dead, error)) = self.next() {
            errors.push((is_dead, error));
            if is_dead {
                break;
            }
        }
        errors
    }

    fn left(&self) -> Delivery {
        Delivery::read(&self.args).expect("a mail")
    }
}

/// Makes attempts without the pauses between them, and returns their number and their errors.
fn run(plays: Vec<Play>, to: &[&str]) -> (u32, Vec<(bool, String)>, Server) {
    let server = serve(plays);
    let mut attempts = Attempts::new(config(server.port, ""), &mail(to));
    let errors = attempts.all();
    (attempts.number, errors, server)
}

fn is_later(error: &(bool, String), part: &str) -> bool {
    !error.0 && error.1.contains(part)
}

fn is_dead(error: &(bool, String), part: &str) -> bool {
    error.0 && error.1.contains(part)
}

/// Returns the addresses that a server was given on its next connection.
fn addresses(server: &Server) -> Vec<String> {
    let lines = server.seen.recv().expect("a connection");
    let to = lines.iter().filter_map(|line| {
        let address = line.strip_prefix("RCPT TO:<")?.strip_suffix('>')?;
        Some(address.to_owned())
    });
    to.collect()
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
    let config = config(server.port, "ann:p%40ss@");
    assert_eq!(Attempts::new(config, &mail(&["a@x.org"])).next(), None);
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
    let config = config(server.port, "ann:wrong@");
    let error = Attempts::new(config, &mail(&["a@x.org"])).next();
    let error = error.expect("an error");
    assert!(is_later(&error, "535"), "{error:?}");
}

#[test]
fn a_refused_mail_is_dead_at_once() {
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
        let (attempts, errors, _server) = run(vec![play], &["a@x.org"]);
        assert_eq!(attempts, 1, "{start}");
        assert!(is_dead(&errors[0], "was refused: "), "{errors:?}");
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
    let (attempts, errors, _server) = run(vec![busy, refuses], &["a@x.org"]);
    assert_eq!(attempts, 2);
    assert!(is_later(&errors[0], "451"), "{errors:?}");
    assert!(is_dead(&errors[1], "554"), "{errors:?}");
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
    let (attempts, errors, _server) = run(vec![closed, silent, full], &["a@x.org"]);
    assert_eq!(attempts, 3);
    assert!(
        is_later(&errors[0], "421") && is_later(&errors[1], "was not sent"),
        "{errors:?}"
    );
    assert!(
        is_later(&errors[1], "no answer within 200 ms (timeout_millis)"),
        "{errors:?}"
    );
    assert!(
        is_dead(&errors[2], "452") && is_dead(&errors[2], "this was the last of 3 attempts"),
        "{errors:?}"
    );
}

#[test]
fn a_server_that_is_not_there_is_tried_again() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    drop(listener);
    let mut attempts = Attempts::new(config(port, ""), &mail(&["a@x.org"]));
    let errors = attempts.all();
    assert_eq!(errors.len(), 3);
    assert!(is_later(&errors[0], "refused"), "{errors:?}");
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
    let server = serve(vec![first, Play::default(), Play::default()]);
    let mut attempts = Attempts::new(
        config(server.port, ""),
        &mail(&["ann@x.org", "gone@x.org", "full@x.org"]),
    );
    let error = attempts.next().expect("an error");
    assert!(
        is_later(&error, "a mail to gone@x.org was refused: ")
            && is_later(&error, "a mail to full@x.org was not sent: "),
        "{error:?}"
    );
    assert_eq!(addresses(&server).len(), 3);
    // The rest is delivered, and the address that was refused makes the mail a dead letter.
    let error = attempts.next().expect("an error");
    assert!(
        is_dead(&error, "a mail to gone@x.org was refused"),
        "{error:?}"
    );
    assert_eq!(addresses(&server), ["full@x.org"]);
    let left = attempts.left();
    assert_eq!(
        (left.to.len(), left.refused),
        (0, vec!["gone@x.org".to_owned()])
    );
    // People ask for it again.
    attempts.number = 0;
    assert_eq!(attempts.next(), None);
    assert_eq!(addresses(&server), ["gone@x.org"]);
}

#[test]
fn a_mail_whose_connection_is_lost_behind_it_is_sent_once_more_at_most() {
    for (data, why) in [
        (Data::Closes, ""),
        (Data::Stalls, "no answer within 200 ms"),
    ] {
        let lost = Play {
            data,
            ..Play::default()
        };
        let (attempts, errors, _server) = run(vec![lost, lost, Play::default()], &["a@x.org"]);
        assert_eq!(attempts, 2);
        assert!(is_later(&errors[0], why), "{errors:?}");
        assert!(
            is_dead(&errors[1], "is not sent a third time"),
            "{errors:?}"
        );
        let (attempts, errors, _server) = run(vec![lost, Play::default()], &["a@x.org"]);
        assert_eq!((attempts, errors.len()), (2, 1));
    }
}

#[test]
fn a_connection_that_is_lost_before_the_mail_is_no_doubt() {
    let closes = Play {
        answers: &[("DATA", None)],
        ..Play::default()
    };
    let (attempts, errors, _server) = run(vec![closes, closes, Play::default()], &["a@x.org"]);
    assert_eq!((attempts, errors.len()), (3, 2), "{errors:?}");
}

#[test]
fn nothing_is_sent_without_the_protection_that_was_asked_for() {
    let server = serve(vec![Play::default()]);
    let url = format!("smtp://ann:secret@127.0.0.1:{}", server.port);
    let config = MailConfig {
        server: Some(MailServer::parse(&url).expect("a server")),
        ..config(server.port, "")
    };
    let error = Attempts::new(config, &mail(&["a@x.org"])).next();
    let error = error.expect("an error");
    assert!(is_later(&error, "STARTTLS"), "{error:?}");
    let lines = server.seen.recv().expect("a connection");
    assert_eq!(lines, ["EHLO example.com"]);
}

#[test]
fn an_attempt_that_was_given_up_sends_nothing() {
    let server = serve(vec![Play::default()]);
    let config = config(server.port, "");
    let failure = mail(&["a@x.org"]).attempt(&config, 1, &|| false);
    let failure = failure.expect_err("given up");
    assert!(!failure.is_final && failure.args.is_none(), "{failure:?}");
    let lines = server.seen.recv().expect("a connection");
    assert!(!lines.contains(&"DATA".to_owned()), "{lines:?}");
}

#[test]
fn a_mail_survives_its_way_through_a_job() {
    let mail = Delivery {
        to: vec!["ann@x.org".to_owned(), "jürgen@x.org".to_owned()],
        refused: vec!["bob@x.org".to_owned()],
        may_be_sent: true,
        from: "app@example.com".to_owned(),
        source: "To: \"Ann\" <ann@x.org>\r\n\r\n\tgrüß\u{1f600}\\\u{0}\r\n".to_owned(),
    };
    let args = mail.to_json().expect("JSON");
    assert!(args.starts_with(r#"{"to":["ann@x.org","#), "{args}");
    assert_eq!(Delivery::read(&args).expect("a mail"), mail);
    assert!(Delivery::read("[1]").is_err());
}
