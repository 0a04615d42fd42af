//! The state of a reader, and which reader is the innermost.

use super::list::HandleList;
use crate::values::layout::Layout;
use crate::values::layout::text::TextLayout;
use crate::vm::isolate::Core;
use crate::vm::sys::Cx;
use sampan_js_contract::BoundRow;
use std::cell::Cell;

/// Reads values for one call.
pub(crate) struct JsReader<'a> {
    pub(super) cx: Cx<'a>,
    pub(super) core: &'a Core,
    /// The row that reads.
    pub(super) row: BoundRow,
    pub(super) layout: Option<Layout>,
    pub(super) text_layout: Option<TextLayout>,
    pub(super) list: HandleList<'a>,
    /// The most questions that may be asked before the next look at the limits.
    pub(super) until_check: Cell<u32>,
    /// The reader of the row that runs around this one.
    pub(super) outer: *const JsReader<'static>,
}

impl Drop for JsReader<'_> {
    fn drop(&mut self) {
        self.core.innermost_reader.0.set(self.outer);
    }
}

/// The innermost reader of an isolate, if a row reads now.
pub(crate) struct Innermost(pub(super) Cell<*const JsReader<'static>>);

impl Default for Innermost {
    fn default() -> Self {
        Self(Cell::new(std::ptr::null()))
    }
}

impl Innermost {
    /// To be called before script may run: what the readers have found stays alive then.
    #[inline]
    pub(crate) fn own_all(&self) {
        let mut reader = self.0.get();
        // SAFETY: a reader takes itself out before it goes, and those around it are there still.
        while let Some(inner) = unsafe { reader.as_ref() } {
            inner.list.own_all();
            reader = inner.outer;
        }
    }
}
