//! A small HTTP/1.1 client that trusts nothing: it takes exactly the bytes that the framing announces.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer may take.
const ANSWER_MILLIS_MAX: u64 = 5_000;

/// How long to listen for bytes that should not come.
const SILENCE_MILLIS: u64 = 30;

/// The longest body that is taken.
const BODY_BYTES_MAX: usize = 1 << 20;

/// One keep-alive connection.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
    host: SocketAddr,
}

/// An answer, its body complete.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The first header of this (lower-case) name.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    ///
    /// When nobody listens.
    pub(super) fn connect(host: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(host)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_millis(ANSWER_MILLIS_MAX)))?;
        // Small: thousands of these are held open at once.
        Ok(Self {
            stream: BufReader::with_capacity(1024, stream),
            host,
        })
    }

    /// Sends a request, its body as JSON if there is one, and takes the answer.
    ///
    /// # Errors
    ///
    /// When the connection fails, or the answer is malformed or has no exact length.
    pub(super) fn send(
        &mut self,
        method: &str,
        path: &str,
        lines: &[&str],
        body: &str,
    ) -> io::Result<Answer> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.host);
        for line in lines {
            head.push_str(line);
            head.push_str("\r\n");
        }
        if !body.is_empty() {
            head.push_str(&format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            ));
        }
        head.push_str("\r\n");
        head.push_str(body);
        self.stream.get_mut().write_all(head.as_bytes())?;
        self.receive()
    }

    /// Makes sure that the server sends nothing more than it announced.
    ///
    /// # Errors
    ///
    /// When there is more.
    pub(super) fn expect_silence(mut self) -> io::Result<()> {
        self.stream
            .get_ref()
            .set_read_timeout(Some(Duration::from_millis(SILENCE_MILLIS)))?;
        match self.stream.fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(malformed(
                "bytes after the end that Content-Length announced",
            )),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self) -> io::Result<Answer> {
        let start = self.line()?;
        let status = start
            .strip_prefix("HTTP/1.1 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| malformed(&format!("not a status line: {start:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| malformed(&format!("not a header: {line:?}")))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer {
            status,
            headers,
            body: Vec::new(),
        };
        answer.body = self.body(&answer)?;
        Ok(answer)
    }

    fn body(&mut self, answer: &Answer) -> io::Result<Vec<u8>> {
        match (
            answer.header("content-length"),
            answer.header("transfer-encoding"),
        ) {
            (Some(length), None) => {
                let length = length
                    .parse()
                    .map_err(|_| malformed("Content-Length is not a number"))?;
                self.bytes(length)
            }
            (None, Some("chunked")) => self.chunks(),
            (None, None) => Err(malformed(
                "neither Content-Length nor chunks: the end cannot be known",
            )),
            _ => Err(malformed("contradictory framing")),
        }
    }

    fn chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = usize::from_str_radix(&self.line()?, 16)
                .map_err(|_| malformed("not a chunk size"))?;
            body.extend(self.bytes(size)?);
            if !self.line()?.is_empty() {
                return Err(malformed("a chunk is longer than its size"));
            }
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn bytes(&mut self, length: usize) -> io::Result<Vec<u8>> {
        if length > BODY_BYTES_MAX {
            return Err(malformed("the body is too long"));
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// A line without its CR LF, which both must be there.
    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if line.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            ));
        }
        match line.strip_suffix("\r\n") {
            Some(text) => Ok(text.to_owned()),
            None => Err(malformed(&format!("a line without CR LF: {line:?}"))),
        }
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::net::TcpListener;

    /// A server that sends these bytes to everybody, one answer for each request (a read that ends in a full head).
    pub(in crate::bench) fn serve(answers: &'static [&'static str]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                for answer in answers {
                    let mut request = [0; 4096];
                    if stream.read(&mut request).is_ok_and(|count| count > 0) {
                        stream
                            .write_all(answer.as_bytes())
                            .expect("the client listens");
                    }
                }
            }
        });
        address
    }

    impl Answer {
        /// An empty answer of this status.
        pub(in crate::bench) fn plain(status: u16) -> Self {
            Self {
                status,
                headers: Vec::new(),
                body: Vec::new(),
            }
        }
    }

    #[test]
    fn bodies_are_taken_to_the_byte() {
        let address = serve(&[
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        ]);
        let mut client = Client::connect(address).expect("it listens");
        assert_eq!(
            client.send("GET", "/", &[], "").expect("well-formed").body,
            b"{}"
        );
        let second = client.send("GET", "/", &[], "").expect("well-formed");
        assert_eq!(
            (second.status, second.body.as_slice()),
            (404, b"abc".as_slice())
        );
        client.expect_silence().expect("nothing more comes");
    }

    #[test]
    fn a_body_longer_than_announced_is_found() {
        let address = serve(&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}}"]);
        let mut client = Client::connect(address).expect("it listens");
        client
            .send("GET", "/", &[], "")
            .expect("the first part is well-formed");
        assert!(client.expect_silence().is_err());
    }

    #[test]
    fn malformed_answers_are_errors() {
        for answer in [
            &["HTTP/1.1 200 OK\nContent-Length: 0\n\n"] as &[&str],
            &["HTTP/1.1 200 OK\r\n\r\n"],
            &["HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n"],
            &["hello"],
        ] {
            let mut client = Client::connect(serve(answer)).expect("it listens");
            assert!(client.send("GET", "/", &[], "").is_err(), "{answer:?}");
        }
    }
}
