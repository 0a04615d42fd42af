//! Strings as JSON has them, and the names of members, which are remembered as they are written.

use crate::vm::sys::{Cx, Failure, Thrown};
use rquickjs::qjs;
use sampan_host::json as host_json;
use std::cell::RefCell;

/// After how many bytes the writer looks whether it must stop: a few values may be very long.
pub(super) const BYTES_PER_CHECK: usize = 64 * 1024;

/// Refuses a text of more than `memory_bytes_max` bytes.
pub(super) fn fits(cx: Cx<'_>, length: usize) -> Result<(), Failure> {
    let limits = &cx.core().limits;
    if length > limits.memory_bytes_max {
        return Err(limits.value_too_large().into());
    }
    Ok(())
}

/// Writes a text as [`write_text`] does, in pieces, with a look at the limits before each: a control character takes
/// six bytes.
#[cold]
pub(super) fn write_long_text(cx: Cx<'_>, out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Failure> {
    let mut rest = bytes;
    out.push(b'"');
    while !rest.is_empty() {
        if cx.core().must_stop() {
            return Err(cx.core().stopped_error().into());
        }
        let mut length = rest.len().min(BYTES_PER_CHECK);
        // No character is cut.
        while length < rest.len() && rest[length] & 0xc0 == 0x80 {
            length += 1;
        }
        let (piece, after) = rest.split_at(length);
        fits(cx, out.len() + length)?;
        // The quote that is there is the one in front of the piece.
        out.pop();
        let quote = out.len();
        write_text(out, piece);
        if rest.len() < bytes.len() {
            out.remove(quote);
        }
        rest = after;
    }
    Ok(())
}

/// Writes a string in quotes. `bytes` are UTF-8 but for surrogates without a partner, which are escaped
/// (ECMA-262, QuoteJSONString).
pub(crate) fn write_text(out: &mut Vec<u8>, bytes: &[u8]) {
    if !host_json::write_string(out, bytes) {
        write_with_surrogates(out, bytes);
    }
}

#[cold]
fn write_with_surrogates(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut quoted = Vec::new();
    out.push(b'"');
    for chunk in bytes.utf8_chunks() {
        quoted.clear();
        host_json::write_string(&mut quoted, chunk.valid().as_bytes());
        out.extend_from_slice(&quoted[1..quoted.len() - 1]);
        // A surrogate has three bytes, which are one invalid byte after the other to Rust; the first tells the rest.
        if let [0xed] = chunk.invalid() {
            let at = chunk.invalid().as_ptr() as usize - bytes.as_ptr() as usize;
            if let Some([_, middle, last]) = bytes.get(at..at + 3) {
                let unit = 0xd000 | (u32::from(middle & 0x3f) << 6) | u32::from(last & 0x3f);
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
        }
    }
    out.push(b'"');
}

/// Member names as they are written, `"name":`, by their atom. Scripts write the same few names again and again.
pub(crate) struct MemberNames(RefCell<Vec<Option<Written>>>);

/// A name and how it is written.
type Written = (qjs::JSAtom, Box<[u8]>);

impl MemberNames {
    /// The number of names that are remembered; a power of two.
    const SLOTS: usize = 512;
    /// Longer names are not worth remembering.
    const BYTES_MAX: usize = 64;

    pub(crate) fn new() -> Self {
        Self(RefCell::new(vec![None; Self::SLOTS]))
    }

    #[inline]
    pub(super) fn write(
        &self,
        cx: Cx<'_>,
        out: &mut Vec<u8>,
        name: qjs::JSAtom,
    ) -> Result<(), Thrown> {
        let index = name as usize & (Self::SLOTS - 1);
        if let Some((known, text)) = &self.0.borrow()[index]
            && *known == name
        {
            out.extend_from_slice(text);
            return Ok(());
        }
        self.write_new(cx, out, name, index)
    }

    #[cold]
    fn write_new(
        &self,
        cx: Cx<'_>,
        out: &mut Vec<u8>,
        name: qjs::JSAtom,
        index: usize,
    ) -> Result<(), Thrown> {
        let start = out.len();
        let text = cx.name(name)?;
        cx.with_bytes(text.raw(), |bytes| write_text(out, bytes))?;
        out.push(b':');
        if out.len() - start <= Self::BYTES_MAX {
            // SAFETY: a remembered atom is kept alive, so that its number means no other name; the forgotten one is
            // released.
            unsafe {
                qjs::JS_DupAtom(cx.raw(), name);
                if let Some((old, _)) =
                    self.0.borrow_mut()[index].replace((name, out[start..].into()))
                {
                    qjs::JS_FreeAtom(cx.raw(), old);
                }
            }
        }
        Ok(())
    }

    /// Releases the atoms; to be called before the context goes.
    pub(crate) fn clear(&self, cx: Cx<'_>) {
        for (atom, _) in self.0.borrow_mut().iter_mut().filter_map(Option::take) {
            // SAFETY: `write_new` took a reference of each atom, which leaves the table and is freed once.
            unsafe { qjs::JS_FreeAtom(cx.raw(), atom) };
        }
    }
}
