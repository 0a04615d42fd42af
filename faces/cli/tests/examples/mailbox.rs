//! A mail server for the examples: it takes all mails, and tests follow the links in them.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The longest time that a mail may take, on a machine that compiles meanwhile.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The mails that a server has sent, in their order.
pub(crate) struct Mailbox {
    port: u16,
    mails: Receiver<String>,
}

impl Mailbox {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let (sender, mails) = channel();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let sender = sender.clone();
                // A client may leave at any time.
                std::thread::spawn(move || take(client, &sender));
            }
        });
        Self { port, mails }
    }

    /// The value of `SAMPAN_MAIL_URL` for this server.
    pub(crate) fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}?tls=none", self.port)
    }

    /// Waits for the next mail, and returns the first link in it, without the site.
    pub(crate) fn next_link(&self) -> String {
        let mail = self.mails.recv_timeout(TIME_MAX).expect("a mail");
        // Quoted-printable, by RFC 2045: a line that is cut ends with `=`.
        let text = mail.replace("=\r\n", "").replace("=3D", "=");
        let (_, behind) = text.split_once("http://127.0.0.1:8080").expect("a link");
        let end = behind.find(char::is_whitespace).expect("its end");
        behind[..end].to_owned()
    }
}

/// Answers a client by RFC 5321, and passes its mails on.
fn take(mut client: TcpStream, sender: &Sender<String>) -> std::io::Result<()> {
    let mut lines = BufReader::new(client.try_clone()?);
    client.write_all(b"220 hello\r\n")?;
    let mut mail = None::<String>;
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let answer = match (&mut mail, line.trim_end()) {
            (Some(_), ".") => {
                let _ = sender.send(mail.take().unwrap_or_default());
                "250 taken"
            }
            (Some(mail), _) => {
                mail.push_str(&line);
                continue;
            }
            (None, "DATA") => {
                mail = Some(String::new());
                "354 go on"
            }
            (None, _) => "250 ok",
        };
        client.write_all(format!("{answer}\r\n").as_bytes())?;
    }
}
