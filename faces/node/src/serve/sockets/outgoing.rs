//! Bytes on their way to a client: frames, of which large ones are shared by all sockets that they were published to.

use std::collections::VecDeque;
use std::rc::Rc;

use sampan_http::websocket::{Head, Opcode};

/// A larger frame is not copied behind others.
const COPIED_BYTES_MAX: usize = 4 * 1024;

/// The most pongs that wait at a time. A client that pings without reading gets no more (RFC 6455 section 5.5.3 allows
/// that).
const PONGS_MAX: usize = 8;

enum Piece {
    Own(Vec<u8>),
    Shared(Rc<[u8]>),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// Makes a frame that is a whole message.
pub(super) fn frame(opcode: Opcode, is_compressed: bool, payload: &[u8]) -> Vec<u8> {
    let head = Head {
        is_compressed,
        ..Head::whole(opcode, payload.len())
    };
    let (bytes, len) = head.encode();
    let mut frame = Vec::with_capacity(len + payload.len());
    frame.extend_from_slice(&bytes[..len]);
    frame.extend_from_slice(payload);
    frame
}

/// The frames that wait for a client.
#[derive(Default)]
pub(super) struct Outgoing {
    pieces: VecDeque<Piece>,
    /// The bytes of the first piece that are written.
    written: usize,
    len: usize,
    /// The bytes of all pieces that are written.
    taken: u64,
    /// The ends of the pongs that wait, counted as `taken` is.
    pongs: VecDeque<u64>,
}

impl Outgoing {
    /// Returns the number of bytes that wait.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, frame: Vec<u8>) {
        self.len += frame.len();
        match self.pieces.back_mut() {
            Some(Piece::Own(last)) if last.len() + frame.len() <= COPIED_BYTES_MAX => {
                last.extend_from_slice(&frame);
            }
            _ => self.pieces.push_back(Piece::Own(frame)),
        }
    }

    /// Adds a pong, unless too many wait.
    pub(super) fn push_pong(&mut self, payload: &[u8]) {
        if self.pongs.len() >= PONGS_MAX {
            return;
        }
        self.push(frame(Opcode::Pong, false, payload));
        self.pongs.push_back(self.taken + self.len as u64);
    }

    /// Adds a frame that others get too.
    pub(super) fn push_shared(&mut self, frame: &Rc<[u8]>) {
        if frame.len() <= COPIED_BYTES_MAX {
            return self.push(frame.to_vec());
        }
        self.len += frame.len();
        self.pieces.push_back(Piece::Shared(Rc::clone(frame)));
    }

    /// Returns bytes to write next; none if none wait.
    pub(super) fn next(&self) -> &[u8] {
        let first = self.pieces.front().map_or(&[][..], Piece::bytes);
        &first[self.written..]
    }

    /// Takes note that so many bytes of [`Outgoing::next`] are written.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.written += bytes;
        self.len -= bytes;
        self.taken += bytes as u64;
        while self.pongs.front().is_some_and(|end| *end <= self.taken) {
            self.pongs.pop_front();
        }
        let is_done = |piece: &Piece| piece.bytes().len() <= self.written;
        if self.pieces.front().is_some_and(is_done) {
            self.pieces.pop_front();
            self.written = 0;
        }
    }

    /// Drops what has not begun to be written.
    pub(super) fn clear_behind_first(&mut self) {
        let keep = usize::from(self.written > 0);
        self.pieces.truncate(keep);
        self.len = self.next().len();
        let end = self.taken + self.len as u64;
        self.pongs.retain(|pong| *pong <= end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_in_their_order() {
        let mut out = Outgoing::default();
        let shared: Rc<[u8]> = vec![7; COPIED_BYTES_MAX + 1].into();
        out.push(vec![1, 2]);
        out.push(vec![3]);
        out.push_shared(&shared);
        out.push(vec![4]);
        assert_eq!((out.next(), out.len()), (&[1, 2, 3][..], shared.len() + 4));
        out.advance(2);
        assert_eq!(out.next(), [3]);
        out.advance(1);
        out.advance(shared.len());
        assert_eq!((out.next(), out.len()), (&[4][..], 1));
        out.advance(1);
        assert_eq!((out.next(), out.len()), (&[][..], 0));
    }

    #[test]
    fn few_pongs_wait_and_more_are_taken_once_these_are_written() {
        let mut out = Outgoing::default();
        out.push(vec![1; 5]);
        for _ in 0..1_000 {
            out.push_pong(b"x");
        }
        assert_eq!(out.len(), 5 + PONGS_MAX * 3);
        out.advance(5 + 2 * 3);
        out.push_pong(b"x");
        out.push_pong(b"x");
        out.push_pong(b"x");
        assert_eq!(out.len(), PONGS_MAX * 3);
        out.push(vec![0; COPIED_BYTES_MAX]);
        out.clear_behind_first();
        out.advance(out.len());
        out.push_pong(b"x");
        assert_eq!(out.len(), 3);
    }

    #[test]
    fn a_frame_that_has_begun_stays() {
        let mut out = Outgoing::default();
        out.push(vec![0; COPIED_BYTES_MAX]);
        out.push(vec![1]);
        out.advance(1);
        out.clear_behind_first();
        assert_eq!(out.len(), COPIED_BYTES_MAX - 1);
        out.advance(COPIED_BYTES_MAX - 1);
        out.push(vec![2]);
        out.clear_behind_first();
        assert_eq!(out.len(), 0);
    }
}
