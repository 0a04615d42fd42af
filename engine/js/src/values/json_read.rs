//! JSON text to script values.
//!
//! The shared reader of `sampan-host` decides what is JSON and where it is not, so that both engines accept the same
//! texts and say the same about the others; script values are made from its tape.

use crate::vm::sys::{Cx, Failure, NULL, RawValue, Thrown, UNDEFINED, Val, boolean, number, whole};
use rquickjs::qjs;
use sampan_host::json::{Tape, Token};
use sampan_host::request::bad_json;
use std::ffi::c_int;

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
            made: MadeValues(cx, Vec::new()),
        }
        .document()
        .map_err(Failure::from),
        Err(error) => Err(bad_json(&error).into()),
    };
    if source.len() <= TAPE_SOURCE_BYTES_MAX {
        core.tape.replace(tape);
    }
    result
}

/// Builds the value of a tape. No script runs meanwhile.
struct Builder<'a, 't> {
    cx: Cx<'a>,
    tape: &'t Tape,
    source: &'t [u8],
    /// The token that is next.
    at: usize,
    /// The items of the lists that are open.
    made: MadeValues<'a>,
}

/// Values that no object holds yet.
struct MadeValues<'a>(Cx<'a>, Vec<RawValue>);

impl Drop for MadeValues<'_> {
    fn drop(&mut self) {
        for raw in self.1.drain(..) {
            drop(self.0.own(raw));
        }
    }
}

impl<'t> Builder<'_, 't> {
    fn document(&mut self) -> Result<Val, Thrown> {
        let raw = self.value()?;
        Ok(self.cx.own(raw))
    }

    /// Makes the value that begins at the current token, with a reference that the caller owns. Recursion is bounded by
    /// the depth that the reader allowed.
    fn value(&mut self) -> Result<RawValue, Thrown> {
        let cx = self.cx;
        let Some(token) = self.tape.tokens().get(self.at) else {
            return Ok(UNDEFINED);
        };
        self.at += 1;
        match token {
            Token::Null | Token::End => Ok(NULL),
            Token::Bool(value) => Ok(boolean(*value)),
            Token::Int(value) => Ok(match i32::try_from(*value) {
                Ok(small) => whole(small),
                Err(_) => number(*value as f64),
            }),
            Token::Float(value) => Ok(number(*value)),
            Token::Text(_) | Token::Unescaped(_) => Ok(cx
                .string_from(self.tape.text(token, self.source))?
                .into_raw()),
            Token::Array(count) => self.array(*count),
            Token::Object(count) => self.object(*count),
        }
    }

    fn array(&mut self, count: u32) -> Result<RawValue, Thrown> {
        let start = self.made.1.len();
        self.made.1.reserve(count as usize);
        for _ in 0..count {
            let item = self.value()?;
            self.made.1.push(item);
        }
        self.at += 1;
        let items = &self.made.1[start..];
        // SAFETY: the pointer and the length describe `items`, whose references the function takes, so that they are
        // forgotten here.
        let array = unsafe {
            let array = qjs::JS_NewArrayFrom(self.cx.raw(), items.len() as c_int, items.as_ptr());
            self.made.1.set_len(start);
            array
        };
        Ok(self.cx.check(array)?.into_raw())
    }

    fn object(&mut self, count: u32) -> Result<RawValue, Thrown> {
        let object = self.cx.object()?;
        for _ in 0..count {
            let name = self.name_at(self.at);
            self.at += 1;
            let value = self.value()?;
            self.define(object.raw(), name, self.cx.own(value))?;
        }
        self.at += 1;
        Ok(object.into_raw())
    }

    /// The text of the token at `at`.
    #[inline]
    fn name_at(&self, at: usize) -> &'t [u8] {
        let token = self.tape.tokens().get(at);
        token
            .map(|token| self.tape.text(token, self.source))
            .unwrap_or_default()
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
