//! Reading and writing a socket once per event.
//!
//! Events are edge-triggered: the system reports when a socket becomes readable or writable, and the
//! runtime remembers it until it is told otherwise. A read that leaves room in its buffer has emptied the socket, and
//! a write that leaves bytes over has filled it, so both take the readiness back at once; otherwise every
//! request would cost a second read whose only answer is "would block" (epoll(7), question 9).

use std::io::{self, Read};
use std::task::{Context, Poll, ready};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::RecvFlags;
use socket2::SockRef;

use super::{Direction, Socket};
use crate::driver::output::Output;

/// Reads once into `space`, which is not empty. `Ok(0)` is the end.
pub(in crate::driver) fn read_once(
    socket: &impl Socket,
    cx: &mut Context<'_>,
    space: &mut [u8],
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_ready(Direction::Read, cx))?;
        match attempt(socket, Direction::Read, || {
            let len = (&mut &*SockRef::from(socket)).read(space)?;
            Ok((len, len > 0 && len < space.len()))
        }) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}

/// Fills `space` with what the socket has, and leaves it there, once `is_enough` holds, the space is full, or the other
/// end has sent all that it will. `Ok(0)` is the end.
pub(in crate::driver) fn peek_until(
    socket: &impl Socket,
    cx: &mut Context<'_>,
    space: &mut [u8],
    is_enough: impl Fn(&[u8]) -> bool,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_ready(Direction::Read, cx))?;
        let mut enough = false;
        let result = attempt(socket, Direction::Read, || {
            let (len, _) = rustix::net::recv(socket, &mut *space, RecvFlags::PEEK)?;
            enough = len == 0
                || len == space.len()
                || is_enough(&space[..len])
                || has_other_end_closed(socket);
            Ok((len, !enough))
        });
        match result {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The next bytes are an event of their own.
            Ok(_) if !enough => {}
            result => return Poll::Ready(result),
        }
    }
}

/// Reports whether the other end sends nothing more. Bytes that have not been read hide that from a read.
fn has_other_end_closed(socket: &impl Socket) -> bool {
    let mut files = [PollFd::new(socket, PollFlags::RDHUP)];
    poll(&mut files, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Reads once into the spare capacity of `bytes`, which is not zero. `Ok(0)` is the end.
pub(in crate::driver) fn read_into(
    socket: &impl Socket,
    cx: &mut Context<'_>,
    bytes: &mut Vec<u8>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_ready(Direction::Read, cx))?;
        match attempt(socket, Direction::Read, || {
            let space = bytes.capacity() - bytes.len();
            // Cheaper than read(2), which passes the checks of files.
            let (len, _) = rustix::net::recv(socket, spare_capacity(bytes), RecvFlags::empty())?;
            Ok((len, len > 0 && len < space))
        }) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}

/// Writes once from `output`, which is not empty. Never `Ok(0)`.
pub(in crate::driver) fn write_once(
    socket: &impl Socket,
    cx: &mut Context<'_>,
    output: &Output,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_ready(Direction::Write, cx))?;
        match attempt(socket, Direction::Write, || {
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

/// Writes once from `bytes`, which is not empty. Never `Ok(0)`.
pub(in crate::driver) fn send_once(
    socket: &impl Socket,
    cx: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_ready(Direction::Write, cx))?;
        match attempt(socket, Direction::Write, || {
            // A client that has gone is an error, not a SIGPIPE.
            let len = SockRef::from(socket).send_with_flags(bytes, libc::MSG_NOSIGNAL)?;
            Ok((len, len < bytes.len()))
        }) {
            Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}

/// Runs `operation`, which tells how many bytes it moved and whether the socket has nothing more to give or
/// take. The runtime forgets the readiness of a socket when it sees "would block", so that is what it is shown.
fn attempt(
    socket: &impl Socket,
    direction: Direction,
    operation: impl FnOnce() -> io::Result<(usize, bool)>,
) -> io::Result<usize> {
    let mut moved = None;
    let result = socket.try_io(direction, || {
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
    use tokio::net::TcpStream;

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
