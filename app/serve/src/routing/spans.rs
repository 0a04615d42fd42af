//! The positions of a route's parameters in a path.

use std::ops::Range;

/// The most parameters that one pattern may have.
pub(crate) const PARAMS_MAX: usize = 16;

/// The number of parameters whose positions need no allocation: most routes have fewer.
const INLINE_PARAMS: usize = 4;

/// The positions of the parameters' values in a path, in bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Spans {
    len: u8,
    at: [(u32, u32); INLINE_PARAMS],
    more: Option<Box<[(u32, u32); PARAMS_MAX - INLINE_PARAMS]>>,
}

impl Spans {
    /// The `index`th value.
    pub fn of<'a>(&self, path: &'a str, index: usize) -> Option<&'a str> {
        path.get(self.range(index)?)
    }

    /// The bytes of the `index`th value.
    pub(crate) fn bytes_of<'a>(&self, path: &'a [u8], index: usize) -> Option<&'a [u8]> {
        path.get(self.range(index)?)
    }

    fn range(&self, index: usize) -> Option<Range<usize>> {
        if index >= usize::from(self.len) {
            return None;
        }
        let (start, end) = match index.checked_sub(INLINE_PARAMS) {
            None => self.at[index],
            Some(index) => *self.more.as_ref()?.get(index)?,
        };
        Some(start as usize..end as usize)
    }

    /// Adds the position of a value; one more than a pattern may have is left out.
    pub(super) fn push(&mut self, start: usize, end: usize) {
        let index = usize::from(self.len);
        let slot = match index.checked_sub(INLINE_PARAMS) {
            None => self.at.get_mut(index),
            Some(index) => self.more.get_or_insert_default().get_mut(index),
        };
        if let Some(slot) = slot {
            *slot = (start as u32, end as u32);
            self.len += 1;
        }
    }

    /// Returns the number of values.
    pub(super) fn count(&self) -> u8 {
        self.len
    }

    /// Forgets the values behind the first `len`.
    pub(super) fn truncate(&mut self, len: u8) {
        self.len = len;
    }
}
