//! A client of one stream over HTTP/1.1, which reads it as it comes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(crate) struct Feed {
    stream: BufReader<TcpStream>,
    pub(crate) head: String,
    /// The text that has come and was not taken.
    text: String,
    pub(crate) has_ended: bool,
}

impl Feed {
    /// Asks for a stream, and reads the head of the answer.
    pub(crate) fn open(address: SocketAddr, path: &str, lines: &[&str]) -> Self {
        let mut stream = TcpStream::connect(address).expect("connected");
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).expect("set");
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: h\r\n");
        for line in lines {
            request += &format!("{line}\r\n");
        }
        stream
            .write_all((request + "\r\n").as_bytes())
            .expect("sent");
        let mut feed = Self {
            stream: BufReader::new(stream),
            head: String::new(),
            text: String::new(),
            has_ended: false,
        };
        loop {
            let line = feed.line();
            if line.is_empty() {
                break;
            }
            feed.head += &line.to_ascii_lowercase();
            feed.head.push('\n');
        }
        feed
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line");
        line.trim_end_matches("\r\n").to_owned()
    }

    /// Reads the next chunk as bytes; `None` at the end of the body.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        if self.has_ended {
            return None;
        }
        let size = usize::from_str_radix(&self.line(), 16).expect("a size");
        let mut bytes = vec![0; size + 2];
        self.stream.read_exact(&mut bytes).expect("a chunk");
        bytes.truncate(size);
        self.has_ended = size == 0;
        (size > 0).then_some(bytes)
    }

    /// Reads until this has come, and takes everything up to there.
    pub(crate) fn until(&mut self, end: &str) -> String {
        loop {
            if let Some(at) = self.text.find(end) {
                let rest = self.text.split_off(at + end.len());
                return std::mem::replace(&mut self.text, rest);
            }
            let Some(chunk) = self.chunk() else {
                panic!("the stream ended before {end:?}: {:?}", self.text);
            };
            self.text += &String::from_utf8(chunk).expect("UTF-8");
        }
    }

    /// Takes the next event, or comment.
    pub(crate) fn event(&mut self) -> String {
        let event = self.until("\n\n");
        event.trim_end_matches('\n').to_owned()
    }

    /// Takes events up to the end of the stream, or until there are so many that have an id.
    pub(crate) fn rest_if_closed(&mut self, count: usize) -> Vec<String> {
        let mut events: Vec<String> = Vec::new();
        loop {
            let with_id = events.iter().filter(|event| event.starts_with("id: "));
            if with_id.count() == count {
                return events;
            }
            while !self.text.contains("\n\n") {
                match self.chunk() {
                    Some(chunk) => self.text += &String::from_utf8(chunk).expect("UTF-8"),
                    None => return events,
                }
            }
            events.push(self.event());
        }
    }

    /// Reads up to the end of the connection. True if the body has no end.
    pub(crate) fn is_cut(&mut self) -> bool {
        let mut rest = Vec::new();
        // A reset is a cut too.
        self.stream.read_to_end(&mut rest).is_err() || !rest.ends_with(b"0\r\n\r\n")
    }

    /// Takes everything up to the end of the stream.
    pub(crate) fn rest(&mut self) -> String {
        while let Some(chunk) = self.chunk() {
            self.text += &String::from_utf8(chunk).expect("UTF-8");
        }
        std::mem::take(&mut self.text)
    }
}

/// Returns the id and the data of an event of a topic.
pub(crate) fn id_and_data(event: &str) -> (&str, &str) {
    let event = event.strip_prefix("id: ").expect(event);
    event.split_once("\ndata: ").expect(event)
}

/// Returns the time that a client was told to wait, in milliseconds.
pub(crate) fn retry_of(text: &str) -> u64 {
    let found = text.rsplit_once("retry: ").map(|(_, rest)| rest);
    let number = found.and_then(|rest| rest.split('\n').next());
    number.and_then(|number| number.parse().ok()).expect(text)
}
