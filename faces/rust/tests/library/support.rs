//! The common parts of the tests share: a client of a few lines, and projects in folders of their own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An answer: its status, its head and its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends a request whole, on a connection of its own, and reads to the end.
pub(crate) fn send(address: SocketAddr, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.get(9..12).and_then(|digits| digits.parse().ok());
    Answer {
        status: status.unwrap_or_else(|| panic!("no answer: {text:?}")),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    let head = "Host: h\r\nConnection: close";
    send(address, &format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n"))
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> Answer {
    let head = "Host: h\r\nConnection: close";
    let len = body.len();
    send(
        address,
        &format!("POST {path} HTTP/1.1\r\n{head}\r\nContent-Length: {len}\r\n\r\n{body}"),
    )
}

/// A folder with these files.
pub(crate) fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    folder
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

/// Lines of a log.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn taker(&self) -> impl Fn(sampan::Level, &str) + Send + Sync + 'static {
        let lines = Arc::clone(&self.0);
        move |level, line| {
            lines
                .lock()
                .expect("lines")
                .push(format!("{level:?} {line}"))
        }
    }

    pub(crate) fn text(&self) -> String {
        self.0.lock().expect("lines").join("\n")
    }
}
