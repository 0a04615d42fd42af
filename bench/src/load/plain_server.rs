//! Servers of a few lines, which are asked by those that are measured: HTTP/1.1 as far as that needs it.

use std::io::{self, BufRead, Error, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Serves connections to a port of 127.0.0.1, for as long as this program lives.
///
/// # Errors
///
/// When there is no port.
pub(super) fn listen(serve: fn(TcpStream) -> io::Result<()>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A connection that fails is the other side's to tell.
            thread::spawn(move || drop(serve(stream)));
        }
    });
    Ok(address)
}

/// The head of a request or an answer, as far as it is needed.
#[derive(Default)]
pub(super) struct Head {
    /// The first line, with its end.
    pub(super) first: String,
    /// The value of `Content-Length`, or 0.
    pub(super) length: u64,
    is_chunked: bool,
}

impl Head {
    /// Reads a head. `None` at the end of the connection.
    pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut head = Self::default();
        if input.read_line(&mut head.first)? == 0 {
            return Ok(None);
        }
        loop {
            let line = line(input)?.to_ascii_lowercase();
            match line.split_once(": ") {
                Some(("content-length", value)) => {
                    head.length = value.parse().map_err(Error::other)?;
                }
                Some(("transfer-encoding", value)) => head.is_chunked = value == "chunked",
                None if line.is_empty() => return Ok(Some(head)),
                _ => {}
            }
        }
    }

    /// Reads the head of an answer, which must be 200.
    pub(super) fn of_answer(input: &mut impl BufRead) -> io::Result<Self> {
        let head = Self::read(input)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        match head.first.starts_with("HTTP/1.1 200 ") {
            true => Ok(head),
            false => Err(Error::other(format!("a wrong answer: {}", head.first))),
        }
    }

    /// Reads the body, and returns its number of bytes.
    pub(super) fn count_body(&self, input: &mut impl BufRead) -> io::Result<u64> {
        if !self.is_chunked {
            return io::copy(&mut input.by_ref().take(self.length), &mut io::sink());
        }
        let mut bytes = 0;
        loop {
            let len = u64::from_str_radix(&line(input)?, 16).map_err(Error::other)?;
            bytes += io::copy(&mut input.by_ref().take(len), &mut io::sink())?;
            line(input)?;
            if len == 0 {
                return Ok(bytes);
            }
        }
    }
}

/// Reads a line, without its end.
fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}
