//! JSON text to script values.
//!
//! The shared reader of `sampan-host` decides what is JSON and where it is not, so that both engines accept the same texts
//! and say the same about the others; script values are made from its tape.

use crate::vm::sys::{Cx, Failure, NULL, RawValue, Thrown, Val, boolean, number};
use rquickjs::qjs;
use sampan_host::json::{Tape, Token};
use sampan_host::request::bad_json;

/// The tape of a longer text is not kept for the next.
const TAPE_SOURCE_BYTES_MAX: usize = 64 * 1024;

/// The value of a JSON text. Where it is none, the error is the client's.
pub(crate) fn json(cx: Cx<'_>, source: &[u8]) -> Result<Val, Failure> {
    let core = cx.core();
    let mut tape = core.tape.take();
    let result = match tape.read(source, core.limits.json_depth_max) {
        Ok(()) => Builder {
            cx,
            tape: &tape,
            source,
            at: 0,
        }
        .value()
        .map_err(Failure::from),
        Err(error) => Err(bad_json(&error).into()),
    };
    if source.len() <= TAPE_SOURCE_BYTES_MAX {
        core.tape.replace(tape);
    }
    result
}

struct Builder<'a, 't> {
    cx: Cx<'a>,
    tape: &'t Tape,
    source: &'t [u8],
    at: usize,
}

impl Builder<'_, '_> {
    /// Makes the value that begins at the current token. Recursion is bounded by the depth that the reader allowed.
    fn value(&mut self) -> Result<Val, Thrown> {
        let cx = self.cx;
        let Some(token) = self.tape.tokens().get(self.at) else {
            return Ok(cx.undefined());
        };
        self.at += 1;
        match token {
            Token::Null | Token::End => Ok(cx.own(NULL)),
            Token::Bool(value) => Ok(cx.own(boolean(*value))),
            Token::Int(value) => Ok(cx.own(match i32::try_from(*value) {
                Ok(small) => qjs::JS_MKVAL(qjs::JS_TAG_INT, small),
                Err(_) => number(*value as f64),
            })),
            Token::Float(value) => Ok(cx.own(number(*value))),
            Token::Text(_) | Token::Unescaped(_) => {
                cx.string_from(self.tape.text(token, self.source))
            }
            Token::Array(count) => self.array(*count),
            Token::Object(count) => self.object(*count),
        }
    }

    fn array(&mut self, count: u32) -> Result<Val, Thrown> {
        let mut items = Vec::with_capacity(count as usize);
        for _ in 0..count {
            items.push(self.value()?);
        }
        self.at += 1;
        self.cx.array(items)
    }

    fn object(&mut self, count: u32) -> Result<Val, Thrown> {
        let cx = self.cx;
        let object = cx.object()?;
        for _ in 0..count {
            let name = self
                .tape
                .tokens()
                .get(self.at)
                .map(|token| self.tape.text(token, self.source))
                .unwrap_or_default();
            self.at += 1;
            let value = self.value()?;
            self.define(object.raw(), name, value)?;
        }
        self.at += 1;
        Ok(object)
    }

    fn define(&self, object: RawValue, name: &[u8], value: Val) -> Result<(), Thrown> {
        let cx = self.cx;
        // SAFETY: the reader has checked that strings are UTF-8; the atom is released.
        unsafe {
            let atom = qjs::JS_NewAtomLen(cx.raw(), name.as_ptr().cast(), name.len() as _);
            if atom == qjs::JS_ATOM_NULL {
                return Err(Thrown);
            }
            let done = cx.define_atom(object, atom, value);
            qjs::JS_FreeAtom(cx.raw(), atom);
            done
        }
    }
}
