//! The parts of a socket's state.

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The event `open` has not run.
    Fresh,
    /// Messages are taken.
    Open,
    /// A fault: what comes is dropped until the client has read the close frame.
    Broken,
    /// Reading has ended; the event `close` is to run.
    Ended,
    /// The event `close` has been started.
    Told,
}

/// The signs of life of a client.
pub(super) struct SignsOfLife {
    /// The time at which the client was last heard, or took something that waited for it.
    pub(super) heard: u64,
    /// True if it was sent a ping since.
    pub(super) is_asked: bool,
}

impl SignsOfLife {
    pub(super) fn note(&mut self, now: u64) {
        self.heard = now;
        self.is_asked = false;
    }
}

/// Bytes that were read and wait for their turn.
#[derive(Default)]
pub(super) struct Input {
    room: Vec<u8>,
    /// The bytes that were taken.
    taken: usize,
}

impl Input {
    /// Creates one of the last `left` bytes.
    pub(super) fn of_last(left: usize, bytes: &[u8]) -> Self {
        Self {
            room: bytes[bytes.len() - left..].to_vec(),
            taken: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.room[self.taken..]
    }

    /// Keeps the last `left` bytes. They are copied only if that frees half of the memory.
    pub(super) fn keep(&mut self, left: usize) {
        self.taken = self.room.len() - left;
        if self.taken >= left {
            *self = Self::of_last(left, &self.room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept_and_none_hold_no_memory() {
        let mut input = Input::of_last(5, b"..abcde");
        input.keep(4);
        assert_eq!(input.bytes(), b"bcde");
        input.keep(2);
        assert_eq!(input.bytes(), b"de");
        assert!(!input.is_empty());
        input.keep(0);
        assert!(input.is_empty());
        assert_eq!(input.room.capacity(), 0);
    }
}
