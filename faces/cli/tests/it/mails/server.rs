//! A mail server that keeps what it is told, and answers as a test wants.

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sampan_client::certificates::Identity;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The longest time that an event may take, on a machine that compiles meanwhile.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The protection of a server's connections.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    None,
    Tls,
    StartTls,
}

/// A mail server for `localhost`.
pub(crate) struct MailServer {
    pub(crate) port: u16,
    /// All lines of the client on each connection.
    seen: Receiver<Vec<String>>,
    replies: Replies,
}

/// The answers to lines that begin so, in place of the usual ones, and how often each was given.
type Replies = Arc<Mutex<Vec<(String, Reply, usize)>>>;

/// An answer to a line.
#[derive(Clone)]
pub(crate) enum Reply {
    Line(&'static str),
    /// The connection is closed.
    Close,
    /// No answer, until the client leaves.
    Silence,
}

impl MailServer {
    pub(crate) fn start(protection: Protection, identity: &Identity) -> Self {
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
        let replies = Replies::default();
        let known = Arc::clone(&replies);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let sender: &Sender<_> = &sender;
                let mut lines = Vec::new();
                // A client may leave at any time.
                let _ = serve(
                    stream.expect("a client"),
                    protection,
                    &config,
                    &known,
                    &mut lines,
                );
                if sender.send(lines).is_err() {
                    return;
                }
            }
        });
        Self {
            port,
            seen,
            replies,
        }
    }

    /// Sets the answers to lines that begin so.
    pub(crate) fn reply(&self, replies: &[(&str, Reply)]) {
        let replies = replies.iter();
        let replies = replies.map(|(start, reply)| ((*start).to_owned(), reply.clone(), 0));
        *self.replies.lock().expect("not poisoned") = replies.collect();
    }

    /// Reports whether an answer of [`MailServer::reply`] was given.
    pub(crate) fn has_replied(&self, start: &str) -> bool {
        let replies = self.replies.lock().expect("not poisoned");
        replies
            .iter()
            .any(|(known, _, count)| known == start && *count > 0)
    }

    pub(crate) fn next(&self) -> Vec<String> {
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
    replies: &Replies,
    lines: &mut Vec<String>,
) -> std::io::Result<()> {
    match protection {
        Protection::Tls => talk(&mut secured(stream, config), true, "", replies, lines),
        Protection::None => talk(&mut stream, true, "", replies, lines),
        Protection::StartTls => {
            talk(&mut stream, true, "250-STARTTLS\r\n", replies, lines)?;
            talk(&mut secured(stream, config), false, "", replies, lines)
        }
    }
}

/// Talks until the client begins with TLS or leaves.
fn talk(
    stream: &mut (impl Read + Write),
    greets: bool,
    offers: &str,
    replies: &Replies,
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
        let known = {
            let mut replies = replies.lock().expect("not poisoned");
            let found = replies
                .iter_mut()
                .find(|(start, _, _)| line.starts_with(start.as_str()));
            found
                .filter(|_| !is_mail || line == ".")
                .map(|(_, reply, count)| {
                    *count += 1;
                    reply.clone()
                })
        };
        match known {
            Some(Reply::Close) => return Ok(()),
            Some(Reply::Silence) => {
                std::io::copy(stream, &mut std::io::sink())?;
                return Ok(());
            }
            Some(Reply::Line(answer)) => {
                is_mail = false;
                stream.write_all(format!("{answer}\r\n").as_bytes())?;
                continue;
            }
            None => {}
        }
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
