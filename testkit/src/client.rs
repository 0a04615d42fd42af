//! A small HTTP/1.1 client that shows what came over the wire, faults included.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long the client waits for the next byte, in seconds.
const READ_SECONDS_MAX: u64 = 15;
/// The largest body that the client takes, in bytes.
const BODY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The field lines, in order.
    pub headers: Vec<(String, String)>,
    /// The body, transfer coding removed.
    pub body: Vec<u8>,
    /// Whether the connection ended before the body did.
    pub is_cut: bool,
    /// Whether the connection goes on.
    pub keeps_alive: bool,
}

impl Answer {
    /// The values of all fields with this name.
    pub fn header(&self, name: &str) -> Vec<&str> {
        let lines = self
            .headers
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name));
        lines.map(|(_, value)| value.as_str()).collect()
    }

    /// The body as text, whatever is in it.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(READ_SECONDS_MAX)))?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// The connection is closed.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads the next final answer; interim ones (1xx) are passed over.
    ///
    /// # Errors
    /// The connection ended before an answer did begin, or what came is no answer.
    pub fn read(&mut self, is_head: bool) -> io::Result<Answer> {
        loop {
            let answer = self.read_one(is_head)?;
            if answer.status >= 200 {
                return Ok(answer);
            }
        }
    }

    fn read_one(&mut self, is_head: bool) -> io::Result<Answer> {
        let status_line = self.line()?;
        let mut words = status_line.splitn(3, ' ');
        let version = words.next().unwrap_or_default().to_owned();
        let status = words
            .next()
            .and_then(|word| word.parse().ok())
            .filter(|_| version.starts_with("HTTP/1."));
        let Some(status) = status else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("no status line: {status_line:?}"),
            ));
        };
        let mut answer = Answer {
            status,
            ..Answer::default()
        };
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(':') else {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("no field line: {line:?}"),
                ));
            };
            answer
                .headers
                .push((name.to_owned(), value.trim().to_owned()));
        }
        answer.keeps_alive = !answer
            .header("connection")
            .iter()
            .any(|value| value.eq_ignore_ascii_case("close"));
        if !(is_head || status < 200 || status == 204 || status == 304) {
            self.read_body(&mut answer)?;
        }
        Ok(answer)
    }

    fn read_body(&mut self, answer: &mut Answer) -> io::Result<()> {
        if answer
            .header("transfer-encoding")
            .iter()
            .any(|value| value.eq_ignore_ascii_case("chunked"))
        {
            answer.is_cut = !self.read_chunks(&mut answer.body)?;
        } else if let Some(length) = answer
            .header("content-length")
            .first()
            .and_then(|text| text.parse().ok())
        {
            self.take(length, &mut answer.body)?;
            answer.is_cut = (answer.body.len() as u64) < length;
        } else {
            answer.keeps_alive = false;
            self.take(BODY_BYTES_MAX, &mut answer.body)?;
        }
        answer.keeps_alive &= !answer.is_cut;
        Ok(())
    }

    /// Reads up to `length` bytes, fewer if the connection ends.
    fn take(&mut self, length: u64, into: &mut Vec<u8>) -> io::Result<()> {
        match (&mut self.stream)
            .take(length.min(BODY_BYTES_MAX))
            .read_to_end(into)
        {
            Err(error) if error.kind() != io::ErrorKind::ConnectionReset => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads a chunked body; false if it has no end.
    fn read_chunks(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            let Ok(line) = self.line() else {
                return Ok(false);
            };
            let size = line
                .split(';')
                .next()
                .map(str::trim)
                .and_then(|size| u64::from_str_radix(size, 16).ok());
            let Some(size) = size else {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("no chunk size: {line:?}"),
                ));
            };
            let before = into.len() as u64;
            self.take(size, into)?;
            if (into.len() as u64) < before + size || self.line().is_err() {
                return Ok(false);
            }
            if size == 0 {
                return Ok(true);
            }
        }
    }

    /// Whether the server has closed the connection, or does so soon.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.fill_buf(), Ok([]) | Err(_))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line)?;
        match line.strip_suffix(b"\r\n") {
            Some(line) => Ok(String::from_utf8_lossy(line).into_owned()),
            None if line.is_empty() => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            )),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a line without CRLF: {line:?}"),
            )),
        }
    }
}
