//! Strings and bytes that are sent from where they lie.
//!
//! A string never changes. A client that reads slowly keeps it alive meanwhile, in the memory of the isolate. So only a
//! part of that memory may be lent; beyond that strings are copied.
//!
//! Bytes are the script's, which may change or detach them whenever it runs. So they are lent until then, and looked up
//! each time.

use crate::values::layout::text::TextLayout;
use crate::values::value::place_of_bytes;
use crate::vm::isolate::Core;
use crate::vm::sys::{Cx, RawValue, Val};
use std::rc::Rc;

/// Shorter strings are copied: that is quicker than to keep track of them.
const LENT_BYTES_MIN: usize = 32 * 1024;

/// The part of an isolate's memory that may be lent: one of so many.
const LENT_PARTS: usize = 8;

/// The lent string.
pub(crate) struct LentText {
    text: Val,
    layout: TextLayout,
    // Last: it keeps the context of the string.
    core: Rc<Core>,
}

impl LentText {
    /// Lends a string if it is long and ASCII.
    #[inline]
    pub(crate) fn of(cx: Cx<'_>, core: &Rc<Core>, text: RawValue<'_>) -> Option<Self> {
        let layout = core.text_layout.get()?;
        let text = cx.dup(text);
        let length = layout
            .length(&text)
            .filter(|&length| length >= LENT_BYTES_MIN)?;
        let lent = core.lent_bytes.get() + length;
        if lent > core.limits.memory_bytes_max / LENT_PARTS {
            return None;
        }
        layout.ascii(&text)?;
        core.lent_bytes.set(lent);
        Some(Self {
            text,
            layout,
            core: core.clone(),
        })
    }
}

impl AsRef<[u8]> for LentText {
    fn as_ref(&self) -> &[u8] {
        self.layout.still_ascii(&self.text)
    }
}

impl Drop for LentText {
    fn drop(&mut self) {
        let lent = self.core.lent_bytes.get() - self.as_ref().len();
        self.core.lent_bytes.set(lent);
    }
}

/// A `Uint8Array` that is sent before anything of the script runs.
pub(crate) struct LentBytes {
    bytes: Val,
    // Last: it keeps the context of the bytes.
    core: Rc<Core>,
}

impl LentBytes {
    /// Fewer bytes are copied: the HTTP engine does it anyway.
    const BYTES_MIN: usize = 16 * 1024;

    /// Lends a `Uint8Array` if it is long.
    pub(crate) fn of(core: &Rc<Core>, bytes: &Val) -> Option<Self> {
        let lent = Self {
            bytes: bytes.clone(),
            core: core.clone(),
        };
        (lent.as_ref().len() > Self::BYTES_MIN).then_some(lent)
    }
}

impl AsRef<[u8]> for LentBytes {
    fn as_ref(&self) -> &[u8] {
        match place_of_bytes(self.core.cx(), self.bytes.raw()) {
            // SAFETY: the value is alive, and its memory stays until a script detaches or resizes the buffer. The slice
            // borrows `self`, which `chunk` gives away as `Chunk::LentBriefly`. The output of a connection takes the
            // slice anew for each write to the socket, and lets go of it when that returns; meanwhile nothing else runs
            // on this thread, so no script does.
            Some((start, length)) => unsafe { std::slice::from_raw_parts(start, length) },
            None => &[],
        }
    }
}
