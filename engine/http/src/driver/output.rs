//! Bytes on their way to the client: a buffer of serialised responses, and behind it at most one large body
//! that is sent from where it is.

use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use socket2::Socket;

use super::pool::BufferPool;
use crate::response::FilePart;
use crate::send_file::{has_become_shorter, send_file};

#[derive(Default)]
pub(super) struct Output {
    buffer: Vec<u8>,
    sent: usize,
    tail: Option<Tail>,
    /// The bytes that end it on the wire: the line end behind a chunk.
    tail_end: &'static [u8],
    tail_sent: usize,
    /// All bytes that the connection has sent.
    sent_before: u64,
}

pub(super) enum Tail {
    Bytes(Vec<u8>),
    Shared(Arc<[u8]>),
    Lent(Box<dyn AsRef<[u8]>>),
    /// Lent until anything of a handler runs; see [`Output::keep_tail`].
    LentBriefly(Box<dyn AsRef<[u8]>>),
    File(FilePart),
}

impl Tail {
    /// Returns the bytes; none of a file.
    fn bytes(&self) -> &[u8] {
        match self {
            Tail::Bytes(bytes) => bytes,
            Tail::Shared(bytes) => bytes,
            Tail::Lent(lender) | Tail::LentBriefly(lender) => (**lender).as_ref(),
            Tail::File(_) => &[],
        }
    }

    fn len(&self) -> usize {
        match self {
            Tail::File(part) => part.len as usize,
            other => other.bytes().len(),
        }
    }
}

/// Bytes that are to be sent as records of TLS.
pub(super) trait Plaintext {
    /// Reports whether there are none.
    fn is_empty(&self) -> bool;

    /// Reports whether some of them are in a file.
    fn has_file(&self) -> bool {
        false
    }

    /// Returns bytes that lie together, from the place `after` on; none at the end. Those of a file are read into
    /// `space`.
    ///
    /// # Errors
    /// Those of the file; it may have become shorter.
    fn piece<'a>(&'a self, after: usize, space: &'a mut [u8]) -> io::Result<&'a [u8]>;
}

impl Plaintext for [u8] {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn piece<'a>(&'a self, after: usize, _: &'a mut [u8]) -> io::Result<&'a [u8]> {
        Ok(&self[after.min(self.len())..])
    }
}

impl Plaintext for Output {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn has_file(&self) -> bool {
        matches!(self.tail, Some(Tail::File(_)))
    }

    fn piece<'a>(&'a self, after: usize, space: &'a mut [u8]) -> io::Result<&'a [u8]> {
        let first = &self.buffer[self.sent..];
        if after < first.len() {
            return Ok(&first[after..]);
        }
        let at = self.tail_sent + (after - first.len());
        match &self.tail {
            None => Ok(&[]),
            Some(Tail::File(part)) => read_part(part, at as u64, space),
            Some(tail) => {
                let body = tail.bytes();
                let end = &self.tail_end[at.saturating_sub(body.len()).min(self.tail_end.len())..];
                Ok(body
                    .get(at..)
                    .filter(|rest| !rest.is_empty())
                    .unwrap_or(end))
            }
        }
    }
}

/// Reads bytes of a part of a file, from the place `at` in that part on.
fn read_part<'a>(part: &FilePart, at: u64, space: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let left = usize::try_from(part.len - at).unwrap_or(usize::MAX);
    let wanted = left.min(space.len());
    loop {
        match part.file.read_at(&mut space[..wanted], part.start + at) {
            Ok(0) if wanted > 0 => return Err(has_become_shorter()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read.map(|len| &space[..len]),
        }
    }
}

/// The result of one write.
pub(super) struct Written {
    pub(super) len: usize,
    /// True if the socket takes no more for now.
    pub(super) is_full: bool,
}

impl Output {
    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.buffer.len() && self.tail.is_none()
    }

    /// Bytes that wait in the buffer.
    pub(super) fn pending(&self) -> usize {
        self.buffer.len() - self.sent
    }

    /// Reports whether more may be appended: nothing can go behind a large body, and the buffer has its limit.
    pub(super) fn has_room(&self, out_bytes_max: usize) -> bool {
        self.tail.is_none() && self.pending() < out_bytes_max
    }

    /// The buffer to append to.
    pub(super) fn buffer(&mut self, pool: &BufferPool) -> &mut Vec<u8> {
        debug_assert!(self.tail.is_none());
        if self.buffer.capacity() == 0 {
            self.buffer = pool.output();
        } else if self.sent > 0 && self.sent >= self.buffer.len() / 2 {
            // A slow reader of an endless stream must not make the buffer grow without end.
            self.buffer.drain(..self.sent);
            self.sent = 0;
        }
        &mut self.buffer
    }

    pub(super) fn set_tail(&mut self, tail: Tail, end: &'static [u8]) {
        self.tail = Some(tail);
        self.tail_end = end;
        self.tail_sent = 0;
    }

    /// Copies what is left of a body that was lent briefly.
    pub(super) fn keep_tail(&mut self) {
        if let Some(Tail::LentBriefly(lender)) = &self.tail {
            let bytes = (**lender).as_ref();
            let sent = self.tail_sent.min(bytes.len());
            let rest = bytes[sent..].to_vec();
            self.tail_sent -= sent;
            self.tail = Some(Tail::Bytes(rest));
        }
    }

    /// Bytes of the large body that wait, with its end.
    fn tail_pending(&self) -> usize {
        self.tail
            .as_ref()
            .map_or(0, |tail| tail.len() + self.tail_end.len() - self.tail_sent)
    }

    /// All bytes that the connection has sent.
    #[inline]
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sent_before
    }

    /// All bytes that it has sent or is going to send.
    pub(super) fn total_bytes(&self) -> u64 {
        self.sent_before + self.len() as u64
    }

    /// Returns the end of the last written head, of all bytes: `start` is where it begins.
    pub(super) fn head_end(&self, start: u64) -> u64 {
        let at = (start - self.sent_before) as usize + self.sent;
        let written = &self.buffer[at.min(self.buffer.len())..];
        let head = memchr::memmem::find(written, b"\r\n\r\n").map_or(written.len(), |end| end + 4);
        start + head as u64
    }

    /// Adds a field to the last written head, which begins at `start` of all bytes, unless that has one of this name.
    pub(super) fn add_field(&mut self, start: u64, name: &str, value: &str) {
        let at = (start - self.sent_before) as usize + self.sent;
        let head = at + (self.head_end(start) - start) as usize;
        let mut lines = self.buffer[at..head].split(|byte| *byte == b'\n');
        let Some(first) = lines.next() else {
            return;
        };
        let is_named = |line: &[u8]| {
            let begins = line.get(..name.len());
            begins.is_some_and(|begins| begins.eq_ignore_ascii_case(name.as_bytes()))
                && line.get(name.len()) == Some(&b':')
        };
        if !lines.any(is_named) {
            // Behind the status line.
            let at = at + first.len() + 1;
            let line = [name, ": ", value, "\r\n"].concat();
            self.buffer.splice(at..at, line.into_bytes());
        }
    }

    /// Bytes that wait, the large body included.
    pub(super) fn len(&self) -> usize {
        self.pending() + self.tail_pending()
    }

    /// The memory that waits for the client: all of a body that is kept for it, but none of what others keep anyway.
    pub(super) fn held_bytes(&self) -> usize {
        let tail = match &self.tail {
            Some(Tail::Bytes(bytes)) => bytes.capacity(),
            Some(Tail::Lent(lender) | Tail::LentBriefly(lender)) => (**lender).as_ref().len(),
            Some(Tail::Shared(_) | Tail::File(_)) | None => 0,
        };
        self.buffer.capacity() + tail
    }

    /// One write of as much as the socket takes. A client that has gone is an error, not a SIGPIPE.
    pub(super) fn write(&self, socket: &Socket) -> io::Result<Written> {
        let first = &self.buffer[self.sent..];
        if let Some(Tail::File(part)) = &self.tail {
            return self.write_file(socket, first, part);
        }
        let len = self.write_bytes(socket, first)?;
        Ok(Written {
            len,
            is_full: len < self.len(),
        })
    }

    /// A file has a write of its own behind what stands before it.
    fn write_file(&self, socket: &Socket, first: &[u8], part: &FilePart) -> io::Result<Written> {
        if !first.is_empty() {
            // In one packet with the beginning of the file.
            let flags = libc::MSG_NOSIGNAL | libc::MSG_MORE;
            let len = socket.send_with_flags(first, flags)?;
            let is_full = len < first.len();
            return Ok(Written { len, is_full });
        }
        let sent = self.tail_sent as u64;
        let len = send_file(socket, &part.file, part.start + sent, part.len - sent)?;
        // It may also have ended early because the file has, which the next write tells.
        Ok(Written {
            len,
            is_full: false,
        })
    }

    fn write_bytes(&self, socket: &Socket, first: &[u8]) -> io::Result<usize> {
        let Some(tail) = &self.tail else {
            return socket.send_with_flags(first, libc::MSG_NOSIGNAL);
        };
        let body = tail.bytes();
        let second = &body[self.tail_sent.min(body.len())..];
        let third = &self.tail_end[self.tail_sent.saturating_sub(body.len())..];
        let slices = [first, second, third].map(IoSlice::new);
        let slices = if first.is_empty() {
            &slices[1..]
        } else {
            &slices[..]
        };
        socket.send_vectored_with_flags(slices, libc::MSG_NOSIGNAL)
    }

    /// Takes note that `len` bytes were written.
    pub(super) fn consume(&mut self, len: usize) {
        self.sent_before += len as u64;
        let of_buffer = len.min(self.pending());
        self.sent += of_buffer;
        self.tail_sent += len - of_buffer;
        if self.tail_pending() == 0 {
            self.tail = None;
        }
    }

    /// Gives the buffer away when everything has been sent.
    pub(super) fn release(&mut self, pool: &BufferPool) {
        debug_assert!(self.is_empty());
        self.sent = 0;
        if self.buffer.capacity() > 0 {
            pool.give_output(std::mem::take(&mut self.buffer));
        }
    }
}
