//! A client of an event stream.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest wait for the next event.
const PATIENCE: Duration = Duration::from_secs(120);

/// An open event stream.
pub(super) struct Feed {
    stream: BufReader<TcpStream>,
    /// The part of the next event that has come.
    text: String,
}

/// An event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FeedEvent {
    pub(super) name: String,
    pub(super) data: String,
    pub(super) id: String,
}

impl Feed {
    /// Opens a stream, behind the event that the client has got last.
    pub(super) fn open(address: SocketAddr, path: &str, last_id: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(address).expect("someone listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let last_id = last_id.map(|id| format!("Last-Event-ID: {id}\r\n"));
        let last_id = last_id.unwrap_or_default();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{last_id}\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let length = stream.read_line(&mut head).expect("a line");
            assert!(length > 0, "no head: {head}");
        }
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        assert!(
            head.to_lowercase().contains("transfer-encoding: chunked"),
            "{head}"
        );
        let text = String::new();
        Self { stream, text }
    }

    /// Waits for the next event; `None` at the end of the stream.
    pub(super) fn next(&mut self) -> Option<FeedEvent> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block: String = self.text.drain(..end + 2).collect();
                let event = event_of(&block);
                if event != FeedEvent::default() {
                    return Some(event);
                }
                continue;
            }
            let mut size = String::new();
            if self.stream.read_line(&mut size).expect("the next event") == 0 {
                return None;
            }
            let size = usize::from_str_radix(size.trim(), 16).expect("the size of a chunk");
            if size == 0 {
                return None;
            }
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).expect("a chunk");
            chunk.truncate(size);
            self.text
                .push_str(&String::from_utf8(chunk).expect("UTF-8"));
        }
    }

    /// Waits for the next message, whatever else happens.
    pub(super) fn message(&mut self) -> FeedEvent {
        self.until(|event| event.name.is_empty())
    }

    /// Waits for an event.
    pub(super) fn until(&mut self, is_it: impl Fn(&FeedEvent) -> bool) -> FeedEvent {
        loop {
            let event = self.next().expect("the stream goes on");
            if is_it(&event) {
                return event;
            }
        }
    }
}

fn event_of(block: &str) -> FeedEvent {
    let mut event = FeedEvent::default();
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("event", name)) => name.clone_into(&mut event.name),
            Some(("data", data)) => event.data.push_str(data),
            Some(("id", id)) => id.clone_into(&mut event.id),
            _ => {}
        }
    }
    event
}
