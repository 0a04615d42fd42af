//! Printing of values.

use super::state::Capture;
use super::{Cursor, Machine};
use crate::escape::escape_html;
use crate::fault::{Outcome, TemplateFault};
use crate::program::Escape;
use crate::value::TemplateValue;
use minijinja::value::ValueKind;
use minijinja::{UndefinedBehavior, Value};
use sampan_host::Handle;
use sampan_host::reader::Kind;

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
                return Err(TemplateFault::new(
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
