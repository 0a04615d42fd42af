//! The bytes of values that do not lie in one piece.

use super::kinds::is_date;
use super::state::JsReader;
use crate::values::value::bytes_of;
use crate::vm::bind::callback::described;
use crate::vm::sys::{Failure, RawValue, Thrown, Val, is_object, is_string, well_formed};

impl JsReader<'_> {
    /// Shows a text that is not ASCII or lies in pieces, the text of a date, or the bytes of a buffer or of a view of
    /// one.
    #[cold]
    pub(super) fn other_bytes(&self, value: RawValue<'_>, see: &mut dyn FnMut(&[u8])) {
        let cx = self.cx;
        self.core.innermost_reader.own_all();
        if is_object(value) && is_date(cx, value) {
            match self.text_of_date(value) {
                Ok(text) => self.other_bytes(text.raw(), see),
                // There is no memory for it, which stops the run.
                Err(failure) => drop(described(cx, failure)),
            }
            return;
        }
        if !is_string(value) {
            // A copy: script that runs while it is shown may change the bytes or take the buffer away.
            if let Some(bytes) = is_object(value).then(|| bytes_of(cx, value)).flatten() {
                see(&bytes);
            }
            return;
        }
        let shown = cx.with_bytes(value, |bytes| match std::str::from_utf8(bytes) {
            Ok(_) => see(bytes),
            Err(_) => see(well_formed(bytes).as_bytes()),
        });
        if let Err(Thrown) = shown {
            // There is no memory for it, which stops the run.
            drop(cx.exception());
        }
    }

    fn text_of_date(&self, date: RawValue<'_>) -> Result<Val, Failure> {
        let intrinsics = &self.core.tables()?.intrinsics;
        Ok(intrinsics.text_of_date(self.cx, date)?)
    }
}
