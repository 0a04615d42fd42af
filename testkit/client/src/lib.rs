//! A small HTTP/1.1 client that shows what came over the wire, faults included.
//!
//! The scenario runner, the tests of the command and the benchmarks share it. It takes exactly the bytes that the
//! framing announces, so an answer that is longer or shorter than it says spoils the next one.

#[cfg(feature = "tls")]
pub mod certificates;
#[cfg(feature = "acme")]
pub mod pebble;
pub mod ports;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "tls")]
pub mod tunnel;
pub mod wait;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest time that the client waits for the next byte, in seconds.
const READ_SECONDS_MAX: u64 = 60;
/// The largest body that the client takes, in bytes.
const BODY_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The time that [`Client::is_silent`] listens, in milliseconds.
const SILENCE_MILLIS: u64 = 30;

/// One connection.
#[derive(Debug)]
pub struct Client {
    stream: BufReader<TcpStream>,
    server: SocketAddr,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The field lines, in order.
    pub headers: Vec<(String, String)>,
    /// The body, transfer coding removed.
    pub body: Vec<u8>,
    /// True if the connection ended before the body did.
    pub is_cut: bool,
    /// True if the connection goes on.
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
    /// No server listens there.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Self::over(stream, address)
    }

    /// Speaks over a connection that is there, such as the plain end of a tunnel.
    ///
    /// # Errors
    /// The system refuses the time limit.
    pub fn over(stream: TcpStream, server: SocketAddr) -> io::Result<Self> {
        stream.set_read_timeout(Some(Duration::from_secs(READ_SECONDS_MAX)))?;
        Ok(Self {
            stream: BufReader::new(stream),
            server,
        })
    }

    /// Changes how long the client waits for the next byte.
    ///
    /// # Errors
    /// The time is zero.
    pub fn set_read_time(&mut self, time: Duration) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(Some(time))
    }

    /// Sends a request, its body as JSON if there is one, and reads the answer. `lines` are further field lines.
    ///
    /// # Errors
    /// The connection fails, or the answer is malformed or ends early.
    pub fn ask(
        &mut self,
        method: &str,
        path: &str,
        lines: &[&str],
        body: &str,
    ) -> io::Result<Answer> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.server);
        for line in lines {
            request += &format!("{line}\r\n");
        }
        if !body.is_empty() {
            request += &format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                body.len()
            );
        }
        self.send((request + "\r\n" + body).as_bytes())?;
        let answer = self.read(method == "HEAD")?;
        if answer.is_cut {
            return Err(malformed("the connection ended before the body did"));
        }
        Ok(answer)
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
        let line = self.line()?;
        let status = match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
            [version, status, ..] if version.starts_with("HTTP/1.") => status.parse().ok(),
            _ => None,
        };
        let mut answer = Answer {
            status: status.ok_or_else(|| malformed(&format!("no status line: {line:?}")))?,
            ..Answer::default()
        };
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line
                .split_once(':')
                .ok_or_else(|| malformed(&format!("no field line: {line:?}")))?;
            answer
                .headers
                .push((name.to_owned(), value.trim().to_owned()));
        }
        answer.keeps_alive = !answer
            .header("connection")
            .iter()
            .any(|value| value.eq_ignore_ascii_case("close"));
        if !(is_head || matches!(answer.status, 100..200 | 204 | 304)) {
            self.read_body(&mut answer)?;
        }
        Ok(answer)
    }

    fn read_body(&mut self, answer: &mut Answer) -> io::Result<()> {
        let field = |name| answer.header(name).first().map(|value| (*value).to_owned());
        match (field("content-length"), field("transfer-encoding")) {
            (None, Some(coding)) if coding.eq_ignore_ascii_case("chunked") => {
                answer.is_cut = !self.read_chunks(&mut answer.body)?;
            }
            (Some(length), None) => {
                let length = length
                    .parse()
                    .map_err(|_| malformed("Content-Length is not a number"))?;
                self.take(length, &mut answer.body)?;
                answer.is_cut = (answer.body.len() as u64) < length;
            }
            (None, None) => {
                answer.keeps_alive = false;
                self.take(BODY_BYTES_MAX, &mut answer.body)?;
            }
            _ => return Err(malformed("contradictory framing")),
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
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16)
                .map_err(|_| malformed(&format!("no chunk size: {line:?}")))?;
            let before = into.len() as u64;
            self.take(size, into)?;
            if (into.len() as u64) < before + size {
                return Ok(false);
            }
            match self.line() {
                Ok(end) if end.is_empty() => {}
                Ok(_) => return Err(malformed("a chunk is longer than its size")),
                Err(_) => return Ok(false),
            }
            if size == 0 {
                return Ok(true);
            }
        }
    }

    /// Reports whether the server has closed the connection, or does so soon.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.fill_buf(), Ok([]) | Err(_))
    }

    /// Reports whether nothing more comes: no byte, for a moment.
    ///
    /// # Errors
    /// The connection fails.
    pub fn is_silent(&mut self) -> io::Result<bool> {
        let pause = Duration::from_millis(SILENCE_MILLIS);
        self.stream.get_ref().set_read_timeout(Some(pause))?;
        match self.stream.fill_buf() {
            Ok(bytes) => Ok(bytes.is_empty()),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// A line without its CR LF, which both must be there.
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line)?;
        match line.strip_suffix(b"\r\n") {
            Some(line) => Ok(String::from_utf8_lossy(line).into_owned()),
            None if line.is_empty() => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection",
            )),
            None => Err(malformed(&format!("a line without CRLF: {line:?}"))),
        }
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests;
