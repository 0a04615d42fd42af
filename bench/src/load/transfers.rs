//! Large bodies, one after the other on one connection: sent to `POST /upload`, or read from `GET /download`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::LoadResult;
use crate::routes::Route;

/// The size of one transfer: 1,600 chunks of 64 kB.
const BYTES: usize = 102_400_000;

/// The size of one read or write.
const PART_BYTES: usize = 1 << 20;

/// The longest time that the other side may do nothing.
const PATIENCE: Duration = Duration::from_secs(20);

/// The end of a chunked body.
const LAST_CHUNK: &[u8] = b"\r\n0\r\n\r\n";

/// Moves bodies for so long, and at least one.
///
/// # Errors
///
/// When the server ends the connection, or counts or sends another number of bytes.
pub(crate) fn transfers(
    address: SocketAddr,
    route: Route,
    time: Duration,
) -> Result<LoadResult, String> {
    let begun = Instant::now();
    let mut micros = Vec::new();
    let mut run = || -> io::Result<()> {
        let mut socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let mut part = vec![b'x'; PART_BYTES];
        while micros.is_empty() || begun.elapsed() < time {
            let one = Instant::now();
            match route {
                Route::Upload => upload(&mut socket, &part)?,
                _ => download(&mut socket, &mut part)?,
            }
            micros.push(one.elapsed().as_secs_f64() * 1e6);
        }
        Ok(())
    };
    run().map_err(|error| error.to_string())?;
    Ok(LoadResult::of(micros, begun.elapsed()))
}

fn upload(socket: &mut TcpStream, part: &[u8]) -> io::Result<()> {
    write!(
        socket,
        "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: {BYTES}\r\n\r\n"
    )?;
    let mut left = BYTES;
    while left > 0 {
        let len = left.min(part.len());
        socket.write_all(&part[..len])?;
        left -= len;
    }
    let wanted = format!("{{\"bytes\":{BYTES}}}");
    let (mut answer, mut read) = ([0; 4096], 0);
    while !answer[..read].ends_with(wanted.as_bytes()) {
        match socket.read(&mut answer[read..])? {
            0 => {
                let text = String::from_utf8_lossy(&answer[..read]);
                return Err(io::Error::other(format!("a wrong answer: {text}")));
            }
            len => read += len,
        }
    }
    Ok(())
}

fn download(socket: &mut TcpStream, part: &mut [u8]) -> io::Result<()> {
    socket.write_all(b"GET /download HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
    // The end may come in two reads.
    let (mut read, mut last) = (0, Vec::new());
    while last != LAST_CHUNK {
        let len = socket.read(part)?;
        if len == 0 {
            return Err(io::Error::other(format!("cut after {read} bytes")));
        }
        read += len;
        last.extend_from_slice(&part[len.saturating_sub(LAST_CHUNK.len())..len]);
        last.drain(..last.len().saturating_sub(LAST_CHUNK.len()));
    }
    if (BYTES..BYTES + BYTES / 100).contains(&read) {
        Ok(())
    } else {
        Err(io::Error::other(format!("{read} bytes came")))
    }
}
