//! Reading and writing a socket once per event.
//!
//! Events are edge-triggered: the system reports when a socket becomes readable or writable, and tokio
//! remembers it until it is told otherwise. A read that leaves room in its buffer has emptied the socket, and
//! a write that leaves bytes over has filled it, so both take the readiness back at once; otherwise every
//! request would cost a second read whose only answer is "would block" (epoll(7), question 9).

use std::io::{self, Read};
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::output::Output;

/// Reads once into `space`, which is not empty. `Ok(0)` is the end.
pub(super) fn read_once(
    socket: &TcpStream,
    cx: &mut Context<'_>,
    space: &mut [u8],
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_read_ready(cx))?;
        match attempt(socket, Interest::READABLE, || {
            let len = (&mut &*SockRef::from(socket)).read(space)?;
            Ok((len, len > 0 && len < space.len()))
        }) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}

/// Reads once into the spare capacity of `bytes`, which is not zero. `Ok(0)` is the end.
pub(super) fn read_into(
    socket: &TcpStream,
    cx: &mut Context<'_>,
    bytes: &mut Vec<u8>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_read_ready(cx))?;
        let space = bytes.capacity() - bytes.len();
        // Writes into memory that was not initialised, which the standard library cannot do yet.
        match socket.try_read_buf(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(len) if len > 0 && len < space => {
                let exhausted: io::Result<()> =
                    socket.try_io(Interest::READABLE, || Err(io::ErrorKind::WouldBlock.into()));
                debug_assert!(exhausted.is_err());
                return Poll::Ready(Ok(len));
            }
            result => return Poll::Ready(result),
        }
    }
}

/// Writes once from `output`, which is not empty. Never `Ok(0)`.
pub(super) fn write_once(
    socket: &TcpStream,
    cx: &mut Context<'_>,
    output: &Output,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_write_ready(cx))?;
        match attempt(socket, Interest::WRITABLE, || {
            let written = output.write(&SockRef::from(socket))?;
            Ok((written.len, written.is_full))
        }) {
            Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}

/// Runs `operation`, which tells how many bytes it moved and whether the socket has nothing more to give or
/// take. tokio forgets the readiness of a socket when it sees "would block", so that is what it is shown.
fn attempt(
    socket: &TcpStream,
    interest: Interest,
    operation: impl FnOnce() -> io::Result<(usize, bool)>,
) -> io::Result<usize> {
    let mut moved = None;
    let result = socket.try_io(interest, || {
        let (len, exhausted) = operation()?;
        moved = Some(len);
        if exhausted {
            Err(io::ErrorKind::WouldBlock.into())
        } else {
            Ok(len)
        }
    });
    match moved {
        Some(len) => Ok(len),
        None => result,
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::Write;

    use super::*;

    /// A request that fits the buffer costs one read: after it the socket is not asked again.
    #[test]
    fn a_short_read_ends_the_readiness() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let server = listener.accept().unwrap().0;
            server.set_nonblocking(true).unwrap();
            let server = TcpStream::from_std(server).unwrap();
            let mut space = [0; 8];
            client.write_all(b"hello").unwrap();
            let len = poll_fn(|cx| read_once(&server, cx, &mut space)).await;
            assert_eq!(len.unwrap(), 5);
            let ready = poll_fn(|cx| Poll::Ready(server.poll_read_ready(cx).is_ready())).await;
            assert!(!ready, "a second read would be tried");
            // What fills the buffer may have more behind it.
            client.write_all(b"hello, world").unwrap();
            let len = poll_fn(|cx| read_once(&server, cx, &mut space)).await;
            assert_eq!(len.unwrap(), 8);
            let ready = poll_fn(|cx| Poll::Ready(server.poll_read_ready(cx).is_ready())).await;
            assert!(ready);
            // The end that arrives with the last bytes is not lost with the readiness.
            client.shutdown(std::net::Shutdown::Write).unwrap();
            let len = poll_fn(|cx| read_once(&server, cx, &mut space)).await;
            assert_eq!(len.unwrap(), 4);
            let len = poll_fn(|cx| read_once(&server, cx, &mut space)).await;
            assert_eq!(len.unwrap(), 0);
        });
    }
}
