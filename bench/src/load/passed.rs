//! A body that a server passes on as it comes: from another server to a client, or the other way. Client and other
//! server are both here, and count its bytes.

use std::io::{self, BufReader, Error, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::plain_server::{Head, listen};

/// The size of one read or write.
const PART_BYTES: usize = 256 * 1024;

/// The longest time that the other side may do nothing.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts the other server on a port of 127.0.0.1, for as long as this program lives. It answers `GET /BYTES` with so
/// many bytes, and counts the body of a POST.
///
/// # Errors
///
/// When there is no port.
pub(crate) fn start() -> io::Result<SocketAddr> {
    listen(serve)
}

/// Answers requests until the connection ends.
fn serve(stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::with_capacity(PART_BYTES, stream);
    while let Some(head) = Head::read(&mut stream)? {
        if let Some(path) = head.first.strip_prefix("GET /") {
            let bytes = path.split(' ').next().unwrap_or_default();
            let bytes = bytes.parse().map_err(Error::other)?;
            let out = stream.get_mut();
            out.write_all(answer(bytes, "").as_bytes())?;
            write_body(out, bytes)?;
        } else {
            let bytes = head.count_body(&mut stream)?.to_string();
            let answer = answer(bytes.len() as u64, &bytes);
            stream.get_mut().write_all(answer.as_bytes())?;
        }
    }
    Ok(())
}

/// Makes an answer with a body of this length, and its beginning.
fn answer(length: u64, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// Reads so many bytes through `GET /download/BYTES`.
///
/// # Errors
///
/// When another number of bytes comes.
pub(crate) fn download(server: SocketAddr, bytes: u64) -> io::Result<()> {
    let mut stream = connect(server)?;
    write!(
        stream.get_mut(),
        "GET /download/{bytes} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )?;
    let head = Head::of_answer(&mut stream)?;
    counted(head.count_body(&mut stream)?, bytes)
}

/// Sends so many bytes to `POST /upload`, which answers with their number as the other server has counted them.
///
/// # Errors
///
/// When another number has arrived.
pub(crate) fn upload(server: SocketAddr, bytes: u64) -> io::Result<()> {
    let mut stream = connect(server)?;
    let out = stream.get_mut();
    write!(
        out,
        "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: {bytes}\r\n\r\n"
    )?;
    write_body(out, bytes)?;
    let head = Head::of_answer(&mut stream)?;
    let mut text = String::new();
    stream.take(head.length).read_to_string(&mut text)?;
    counted(text.parse().map_err(Error::other)?, bytes)
}

fn counted(bytes: u64, wanted: u64) -> io::Result<()> {
    match bytes == wanted {
        true => Ok(()),
        false => Err(Error::other(format!(
            "{bytes} of {wanted} bytes have arrived"
        ))),
    }
}

fn connect(server: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(BufReader::with_capacity(PART_BYTES, stream))
}

fn write_body(out: &mut TcpStream, bytes: u64) -> io::Result<()> {
    let part = vec![b'x'; PART_BYTES];
    let mut left = bytes;
    while left > 0 {
        let len = left.min(PART_BYTES as u64);
        out.write_all(&part[..len as usize])?;
        left -= len;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 1_000_000;

    #[test]
    fn bodies_are_counted_on_both_sides() {
        let server = start().expect("a port");
        let mut stream = connect(server).expect("it listens");
        let out = stream.get_mut();
        write!(out, "GET /{BYTES} HTTP/1.1\r\n\r\n").expect("sent");
        let head = Head::of_answer(&mut stream).expect("an answer");
        assert_eq!(head.count_body(&mut stream).ok(), Some(BYTES));
        // What a server sends that knows no length.
        let chunked = "POST /upload HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        stream
            .get_mut()
            .write_all(chunked.as_bytes())
            .expect("sent");
        let head = Head::of_answer(&mut stream).expect("an answer");
        assert_eq!(head.length, 1);
        let mut text = [0];
        stream.read_exact(&mut text).expect("a number");
        assert_eq!(&text, b"3");
        drop(stream);
        assert!(upload(server, BYTES).is_ok());
        let fault = download(server, BYTES).err();
        assert!(fault.is_some(), "the other server itself has no such path");
        let fault = counted(1, 2).map_err(|error| error.to_string());
        assert_eq!(fault, Err("1 of 2 bytes have arrived".to_owned()));
    }
}
