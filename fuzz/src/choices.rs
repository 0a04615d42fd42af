//! Bytes as a source of decisions. When they are used up, numbers drawn from their hash decide the rest.

use crate::mutate::hash;

/// The source of the decisions.
#[derive(Debug)]
pub(crate) struct Choices<'a> {
    bytes: &'a [u8],
    state: u64,
}

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let state = hash(bytes) | 1;
        Self { bytes, state }
    }

    /// A number below `end`, which is 1 to 256.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        if let [byte, rest @ ..] = self.bytes {
            self.bytes = rest;
            return usize::from(*byte) % end;
        }
        // xorshift64
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 33) as usize % end
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Reports whether no byte is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next bytes, up to `end`, which is dropped, or up to the end of all.
    pub(crate) fn until(&mut self, end: u8) -> &'a [u8] {
        let at = self.bytes.iter().position(|byte| *byte == end);
        let (taken, rest) = self.bytes.split_at(at.unwrap_or(self.bytes.len()));
        self.bytes = rest.get(1..).unwrap_or_default();
        taken
    }

    /// All bytes that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }
}
