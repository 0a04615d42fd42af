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

/// Writes once from `output`, which is not empty. Never `Ok(0)`.
pub(super) fn write_once(
    socket: &TcpStream,
    cx: &mut Context<'_>,
    output: &Output,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(socket.poll_write_ready(cx))?;
        match attempt(socket, Interest::WRITABLE, || {
            let len = output.write(&SockRef::from(socket))?;
            Ok((len, len < output.len()))
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
