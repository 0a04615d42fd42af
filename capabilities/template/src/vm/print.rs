//! Printing of values.

use super::Cursor;
use super::Machine;
use crate::fault::{Fault, Outcome};
use crate::program::Escape;
use crate::value::TemplateValue;
use minijinja::value::ValueKind;
use minijinja::{UndefinedBehavior, Value};
use sampan_host::Handle;
use sampan_host::reader::Kind;

/// Output that is kept back. It lies in the same buffer as all output.
pub(super) struct Capture {
    start: usize,
    is_wanted: bool,
}

impl Machine<'_, '_> {
    /// Fails if there is more output than the isolate may have memory.
    #[inline]
    pub(super) fn check_size(&self) -> Outcome<()> {
        if self.out.len() > self.limits.memory_bytes_max {
            return Err(self.limits.value_too_large().into());
        }
        Ok(())
    }

    pub(super) fn begin_capture(&mut self, is_wanted: bool) {
        self.captures.push(Capture {
            start: self.out.len(),
            is_wanted,
        });
    }

    /// Returns the captured output. Where printed values are escaped, it is text that was.
    pub(super) fn end_capture(&mut self) -> Value {
        let Some(capture) = self.captures.pop() else {
            return Value::UNDEFINED;
        };
        let text = self.out.split_off(capture.start);
        if !capture.is_wanted {
            return Value::UNDEFINED;
        }
        let text = String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        self.rendered(text)
    }

    /// Text that a part of the template has printed.
    pub(super) fn rendered(&self, text: String) -> Value {
        match self.escape {
            Escape::None => Value::from(text),
            _ => Value::from_safe_string(text),
        }
    }

    pub(super) fn is_discarding(&self) -> bool {
        self.captures
            .last()
            .is_some_and(|capture| !capture.is_wanted)
    }

    pub(super) fn push_escape(&mut self, value: &TemplateValue, initial: Escape) -> Outcome<()> {
        let value = self.owned(value)?;
        let is_true = value == Value::from(true);
        let mode = match (value.as_str(), is_true) {
            (Some("html"), _) => Escape::Html,
            (Some("json"), _) => Escape::Json,
            (Some("none"), _) | (None, false) => Escape::None,
            (None, true) if initial == Escape::None => Escape::Html,
            (None, true) => initial,
            _ => {
                return Err(Fault::new(
                    "invalid operation: invalid value to autoescape tag",
                ));
            }
        };
        self.escapes.push(std::mem::replace(&mut self.escape, mode));
        Ok(())
    }

    pub(super) fn emit(&mut self, value: &TemplateValue, cursor: &Cursor) -> Outcome<()> {
        if !self.try_emit(value)? && self.undefined != UndefinedBehavior::Chainable {
            return Err(self.undefined_fault(cursor));
        }
        self.check_size()
    }

    /// Prints a value. False if it is not there and must not be used.
    #[inline]
    fn try_emit(&mut self, value: &TemplateValue) -> Outcome<bool> {
        match value {
            TemplateValue::Script(it) => self.emit_in_place(*it),
            TemplateValue::Own(value) => self.emit_own(value),
            value => {
                let value = self.owned(value)?;
                self.emit_own(&value)
            }
        }
    }

    /// Prints a value of the script. False, with nothing done, if it is not there.
    #[inline]
    pub(super) fn emit_handle(&mut self, it: Handle) -> Outcome<bool> {
        let is_there = self.emit_in_place(it)?;
        self.check_size()?;
        Ok(is_there)
    }

    #[inline]
    fn emit_in_place(&mut self, it: Handle) -> Outcome<bool> {
        let kind = self.reader.kind(it);
        let out = &mut self.out;
        match (kind, self.escape) {
            (Kind::Text, Escape::Html) => {
                self.reader.bytes(it, &mut |bytes| escape_html(out, bytes))
            }
            (Kind::Text, Escape::None) => self
                .reader
                .bytes(it, &mut |bytes| out.extend_from_slice(bytes)),
            (Kind::Int(whole), Escape::Html | Escape::None) => {
                out.extend_from_slice(itoa::Buffer::new().format(whole).as_bytes());
            }
            (Kind::Nothing, _) if self.is_strict() => return Ok(false),
            _ => {
                let value = self.copy(it)?;
                return self.emit_own(&value);
            }
        }
        Ok(true)
    }

    pub(super) fn emit_own(&mut self, value: &Value) -> Outcome<bool> {
        let kind = value.kind();
        match (kind, self.escape) {
            (ValueKind::Undefined, _) | (_, Escape::Json) => {
                let mode = self.escape;
                match self.state(mode)?.format(value.clone()) {
                    Ok(text) => self.out.extend_from_slice(text.as_bytes()),
                    Err(_) if kind == ValueKind::Undefined => return Ok(false),
                    Err(error) => return Err(error.into()),
                }
            }
            (ValueKind::String, mode) => {
                let text = value.as_str().unwrap_or_default().as_bytes();
                if mode == Escape::None || value.is_safe() {
                    self.out.extend_from_slice(text);
                } else {
                    escape_html(&mut self.out, text);
                }
            }
            (kind, mode) => {
                let text = self.shown(value)?;
                let is_plain =
                    matches!(kind, ValueKind::None | ValueKind::Bool | ValueKind::Number);
                if mode == Escape::None || is_plain {
                    self.out.extend_from_slice(text.as_bytes());
                } else {
                    escape_html(&mut self.out, text.as_bytes());
                }
            }
        }
        Ok(true)
    }
}

/// Writes text so that HTML and XML show it as it is, also in an attribute. minijinja writes the same.
#[inline]
pub(crate) fn escape_html(out: &mut Vec<u8>, text: &[u8]) {
    match first_special(text) {
        None => out.extend_from_slice(text),
        Some(at) => escape_from(out, text, at),
    }
}

/// Escapes text whose first special character is at `first`.
fn escape_from(out: &mut Vec<u8>, text: &[u8], first: usize) {
    let (mut start, mut at) = (0, first);
    while let Some(byte) = text.get(at) {
        out.extend_from_slice(&text[start..at]);
        let replacement: &[u8] = match byte {
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'&' => b"&amp;",
            b'"' => b"&quot;",
            b'\'' => b"&#x27;",
            _ => b"&#x2f;",
        };
        out.extend_from_slice(replacement);
        start = at + 1;
        at = start + first_special(&text[start..]).unwrap_or(text.len() - start);
    }
    out.extend_from_slice(&text[start..]);
}

/// Returns the position of the first character that HTML does not show as it is.
#[inline]
pub(super) fn first_special(text: &[u8]) -> Option<usize> {
    match has_special(text) {
        true => text.iter().position(|byte| IS_SPECIAL[usize::from(*byte)]),
        false => None,
    }
}

/// Looks at many bytes with a few vector instructions; at some of them twice, where that is quicker than to look at
/// each of the rest.
#[inline]
fn has_special(text: &[u8]) -> bool {
    let any = |block: [u8; 16]| {
        block
            .iter()
            .fold(false, |any, byte| any | is_special(*byte))
    };
    if let Some(last) = text.last_chunk::<16>() {
        return text.as_chunks::<16>().0.iter().any(|block| any(*block)) || any(*last);
    }
    text.iter().any(|byte| IS_SPECIAL[usize::from(*byte)])
}

const IS_SPECIAL: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0);
    while byte < table.len() {
        table[byte] = is_special(byte as u8);
        byte += 1;
    }
    table
};

#[inline]
const fn is_special(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'&' | b'"' | b'\'' | b'/')
}
