//! The events that wait to be written to one client.

use crate::response::Chunk;
use std::collections::VecDeque;
use std::sync::Arc;

/// The most bytes that are copied into one piece, and the largest event that is copied at all.
const PIECE_BYTES: usize = 16 * 1024;

/// The bytes of one or more events.
#[derive(Clone, Debug)]
pub enum EventBytes {
    /// Bytes for one client.
    Own(Vec<u8>),
    /// Bytes that several clients share.
    Shared(Arc<[u8]>),
}

impl EventBytes {
    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// The queue of one stream.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    waiting: VecDeque<EventBytes>,
    bytes: usize,
}

impl Outgoing {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, event: EventBytes) {
        self.bytes += event.bytes().len();
        self.waiting.push_back(event);
    }

    /// Takes the events from the one at `at`.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let waiting = self.waiting.split_off(at.min(self.waiting.len()));
        let bytes = waiting.iter().map(|event| event.bytes().len()).sum();
        self.bytes -= bytes;
        Self { waiting, bytes }
    }

    /// Adds the events of another queue.
    pub(super) fn append(&mut self, mut other: Self) {
        self.waiting.append(&mut other.waiting);
        self.bytes += other.bytes;
    }

    /// Returns the number of events.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes what is sent next: small events together, a large one as it lies.
    pub(super) fn take(&mut self) -> Option<Chunk> {
        let first = self.pop()?;
        let mut piece = match first {
            EventBytes::Shared(bytes) if bytes.len() > PIECE_BYTES => {
                return Some(Chunk::Lent(Box::new(bytes)));
            }
            EventBytes::Shared(bytes) => bytes.to_vec(),
            EventBytes::Own(bytes) => bytes,
        };
        while let Some(next) = self.waiting.front() {
            if piece.len() + next.bytes().len() > PIECE_BYTES {
                break;
            }
            piece.extend_from_slice(next.bytes());
            self.pop();
        }
        if self.waiting.is_empty() {
            // A silent stream owns no memory for what it does not send.
            self.waiting = VecDeque::new();
        }
        Some(Chunk::Bytes(piece))
    }

    fn pop(&mut self) -> Option<EventBytes> {
        let event = self.waiting.pop_front()?;
        self.bytes -= event.bytes().len();
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_events_leave_together_and_large_ones_are_not_copied() {
        let mut out = Outgoing::default();
        let large: Arc<[u8]> = vec![b'x'; PIECE_BYTES + 1].into();
        out.push(EventBytes::Own(b"a".to_vec()));
        out.push(EventBytes::Shared(b"b".as_slice().into()));
        out.push(EventBytes::Shared(Arc::clone(&large)));
        out.push(EventBytes::Own(b"c".to_vec()));
        assert_eq!(out.bytes(), PIECE_BYTES + 4);
        assert!(matches!(out.take(), Some(Chunk::Bytes(bytes)) if bytes == b"ab"));
        let Some(Chunk::Lent(lent)) = out.take() else {
            panic!("it is copied");
        };
        assert!(std::ptr::eq((*lent).as_ref(), &*large));
        assert!(matches!(out.take(), Some(Chunk::Bytes(bytes)) if bytes == b"c"));
        assert!(out.take().is_none() && out.bytes() == 0);
    }
}
