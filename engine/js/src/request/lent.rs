//! A string that is the body of an answer and is sent from where it lies.
//!
//! A client that reads slowly keeps it alive meanwhile, in the memory of the isolate. So only a part of that memory may be lent;
//! beyond that strings are copied.

use crate::values::layout::TextLayout;
use crate::vm::isolate::Core;
use crate::vm::sys::{Cx, RawValue, Val};
use std::rc::Rc;

/// Shorter strings are copied: that is quicker than to keep track of them.
const LENT_BYTES_MIN: usize = 32 * 1024;

/// Which part of an isolate's memory may be lent: one of so many.
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
    pub(crate) fn of(cx: Cx<'_>, core: &Rc<Core>, text: RawValue) -> Option<Self> {
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
