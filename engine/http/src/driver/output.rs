//! Bytes on their way to the client: a buffer of serialised responses, and behind it at most one large body
//! that is sent from where it is.

use std::io::{self, IoSlice};
use std::sync::Arc;

use socket2::Socket;

use super::pool::BufferPool;
use crate::response::FilePart;
use crate::send_file::send_file;

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
