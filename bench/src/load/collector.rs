//! A collector of traces that reads them and keeps none.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::thread;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

/// Listens on a port of 127.0.0.1 for as long as this program lives.
///
/// # Errors
///
/// When there is no port.
pub(crate) fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A connection that fails is the server's to tell.
            thread::spawn(move || drop(answer(stream)));
        }
    });
    Ok(address)
}

/// Answers requests until the connection ends.
fn answer(stream: TcpStream) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut bytes) = (String::new(), 0);
        loop {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line == "\r\n" {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                bytes = value.trim().parse().unwrap_or(0);
            }
        }
        io::copy(&mut stream.by_ref().take(bytes), &mut io::sink())?;
        stream.get_mut().write_all(ANSWER)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_client::Client;

    #[test]
    fn each_request_of_a_connection_is_answered() {
        let address = start().expect("a port");
        let mut client = Client::connect(address).expect("it listens");
        for body in ["", "spans", "more spans"] {
            let answer = client.ask("POST", "/v1/traces", &[], body);
            assert_eq!(answer.expect("an answer").status, 200);
        }
    }
}
