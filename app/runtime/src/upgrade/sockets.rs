//! Listening sockets on their way from one process to another.

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// The most sockets that are handed over; the kernel takes 253 in one message.
const SOCKETS_MAX: usize = 200;
/// The most bytes of the message that describes them.
const MESSAGE_BYTES_MAX: usize = SOCKETS_MAX * 2;

/// The purpose of a listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketUse {
    /// An address of `listen`.
    Listen,
    /// A socket of `LISTEN_FDS`.
    HandedOver,
    /// An address of `[tls] redirect_listen`.
    Redirect,
    /// The address of `[metrics] listen`.
    Metrics,
}

impl SocketUse {
    const ALL: [(Self, u8); 4] = [
        (Self::Listen, b'l'),
        (Self::HandedOver, b'h'),
        (Self::Redirect, b'r'),
        (Self::Metrics, b'm'),
    ];

    fn letter(self) -> u8 {
        let found = Self::ALL.iter().find(|(one, _)| *one == self);
        found.map_or(b'l', |(_, letter)| *letter)
    }

    fn of(letter: u8) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, one)| *one == letter);
        found.map(|(one, _)| *one)
    }
}

/// A listening socket, and its purpose.
#[derive(Debug)]
pub(crate) struct HandedSocket {
    pub(crate) usage: SocketUse,
    pub(crate) socket: OwnedFd,
}

/// Sends sockets, in one message.
///
/// # Errors
/// There are too many, or the other process has gone.
pub(crate) fn send(stream: &UnixStream, sockets: &[HandedSocket]) -> io::Result<()> {
    if sockets.len() > SOCKETS_MAX {
        let fault = format!("more than {SOCKETS_MAX} listening sockets");
        return Err(io::Error::other(fault));
    }
    let mut letters: Vec<u8> = sockets.iter().map(|one| one.usage.letter()).collect();
    letters.push(b'\n');
    let files: Vec<BorrowedFd<'_>> = sockets.iter().map(|one| one.socket.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !rights.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::Error::other("the message has no room for the sockets"));
    }
    let sent = sendmsg(
        stream,
        &[IoSlice::new(&letters)],
        &mut rights,
        SendFlags::NOSIGNAL,
    )?;
    match sent == letters.len() {
        true => Ok(()),
        false => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives the sockets of one message.
///
/// # Errors
/// The other process has gone, or sends something else.
pub(crate) fn receive(stream: &UnixStream) -> io::Result<Vec<HandedSocket>> {
    let mut bytes = [0; MESSAGE_BYTES_MAX];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MAX))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(
        stream,
        &mut [IoSliceMut::new(&mut bytes)],
        &mut rights,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut files = Vec::new();
    for message in rights.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = message {
            files.extend(more);
        }
    }
    let unknown = || io::Error::other("the old process sent something else than sockets");
    let letters = bytes[..received.bytes]
        .strip_suffix(b"\n")
        .ok_or_else(unknown)?;
    if letters.len() != files.len() {
        return Err(unknown());
    }
    let sockets = letters.iter().zip(files).map(|(letter, socket)| {
        let usage = SocketUse::of(*letter).ok_or_else(unknown)?;
        Ok(HandedSocket { usage, socket })
    });
    sockets.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn sockets_arrive_with_their_purpose() {
        let (one, other) = UnixStream::pair().expect("a pair");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let sent = |usage| HandedSocket {
            usage,
            socket: listener.try_clone().expect("a descriptor").into(),
        };
        send(&one, &SocketUse::ALL.map(|(usage, _)| sent(usage))).expect("sent");
        let received = receive(&other).expect("received");
        let uses: Vec<_> = received.iter().map(|one| one.usage).collect();
        assert_eq!(uses, SocketUse::ALL.map(|(usage, _)| usage));
        for one in received {
            let listener = TcpListener::from(one.socket);
            assert_eq!(listener.local_addr().expect("an address"), address);
        }
        send(&one, &[]).expect("sent");
        assert!(receive(&other).expect("received").is_empty());
    }

    #[test]
    fn anything_else_is_an_error() {
        for bytes in [b"".as_slice(), b"ll\n", b"\n\n", b"l", b"hello"] {
            let (mut one, other) = UnixStream::pair().expect("a pair");
            one.write_all(bytes).expect("sent");
            drop(one);
            let received = receive(&other);
            assert!(received.is_err(), "{bytes:?}");
        }
    }
}
