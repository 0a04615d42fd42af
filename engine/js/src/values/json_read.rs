//! JSON text to script values.
//!
//! The shared reader of `sampan-host` decides what is JSON and where it is not, so that both engines accept the same
//! texts and say the same about the others; script values are made from its tape. The objects of a list mostly have the
//! same names, so a longer list looks its names up once: that is a third of the time of such a text (`bench hello`,
//! `/count`).

use crate::values::layout::shared::SharedShape;
use crate::values::property_names::check::NameCheck;
use crate::vm::sys::{Cx, Failure, NULL, RawValue, Thrown, UNDEFINED, Val, boolean, number, whole};
use rquickjs::qjs;
use sampan_host::json::bad_json;
use sampan_host::json::{Tape, Token};
use std::ffi::c_int;

/// The tape of a longer text is not kept for the next.
const TAPE_SOURCE_BYTES_MAX: usize = 64 * 1024;

/// The shortest list whose objects may share their shape: in shorter ones it costs more than it saves.
const ALIKE_ITEMS_MIN: u32 = 8;

/// The most names of such an object.
const ALIKE_NAMES_MAX: u32 = 32;

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
            names: NameCheck::default(),
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
    /// The names that were looked up.
    names: NameCheck,
}

/// The shape of the objects of a list.
struct AlikeObjects {
    /// The tokens of the names of one of them.
    names: Vec<usize>,
    shape: SharedShape,
}

/// Values that no object holds yet.
struct MadeValues<'a>(Cx<'a>, Vec<qjs::JSValue>);

impl MadeValues<'_> {
    /// Releases all from `start` on.
    fn release(&mut self, start: usize) {
        for raw in self.1.drain(start..) {
            // SAFETY: the list owns a reference of each value, which leaves it and is released once.
            drop(unsafe { self.0.own(raw) });
        }
    }
}

/// The values of an object that is being made. Those that are left are released.
struct TakenValues<'a>(Cx<'a>, std::vec::Drain<'a, qjs::JSValue>);

impl Iterator for TakenValues<'_> {
    type Item = Result<Val, Thrown>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: the list that is drained owned its references.
        self.1.next().map(|raw| Ok(unsafe { self.0.own(raw) }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.1.size_hint()
    }
}

impl ExactSizeIterator for TakenValues<'_> {}

impl Drop for TakenValues<'_> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl Drop for MadeValues<'_> {
    fn drop(&mut self) {
        self.release(0);
    }
}

impl<'t> Builder<'_, 't> {
    fn document(&mut self) -> Result<Val, Thrown> {
        let raw = self.value()?;
        // SAFETY: `value` gives a reference to its caller.
        Ok(unsafe { self.cx.own(raw) })
    }

    /// Makes the value that begins at the current token, with a reference that the caller owns. Recursion is bounded by
    /// the depth that the reader allowed.
    fn value(&mut self) -> Result<qjs::JSValue, Thrown> {
        let cx = self.cx;
        let Some(token) = self.tape.tokens().get(self.at) else {
            return Ok(UNDEFINED.js());
        };
        self.at += 1;
        match token {
            Token::Null | Token::End => Ok(NULL.js()),
            Token::Bool(value) => Ok(boolean(*value).js()),
            Token::Int(value) => Ok(match i32::try_from(*value) {
                Ok(small) => whole(small).js(),
                Err(_) => number(*value as f64).js(),
            }),
            Token::Float(value) => Ok(number(*value).js()),
            Token::Text(_) | Token::Unescaped(_) => Ok(cx
                .string_from(self.tape.text(token, self.source))?
                .into_raw()),
            Token::Array(count) => self.array(*count),
            Token::Object(count) => self.object(*count),
        }
    }

    fn array(&mut self, count: u32) -> Result<qjs::JSValue, Thrown> {
        let start = self.made.1.len();
        self.made.1.reserve(count as usize);
        let alike = match count >= ALIKE_ITEMS_MIN {
            true => self.alike()?,
            false => None,
        };
        for _ in 0..count {
            let item = match &alike {
                Some(alike) => self.item(alike)?,
                None => self.value()?,
            };
            self.made.1.push(item);
        }
        self.at += 1;
        let items = &self.made.1[start..];
        // SAFETY: the pointer and the length describe `items`, whose references the function takes, so that they are
        // forgotten here. It gives that of the array.
        let array = unsafe {
            let array = qjs::JS_NewArrayFrom(self.cx.raw(), items.len() as c_int, items.as_ptr());
            self.made.1.set_len(start);
            self.cx.check(array)?
        };
        Ok(array.into_raw())
    }

    fn object(&mut self, count: u32) -> Result<qjs::JSValue, Thrown> {
        let object = self.cx.object()?;
        for _ in 0..count {
            let name = self.name_at(self.at);
            self.at += 1;
            let value = self.value()?;
            // SAFETY: `value` gives a reference to its caller.
            let value = unsafe { self.cx.own(value) };
            self.define(object.raw(), name, value)?;
        }
        self.at += 1;
        Ok(object.into_raw())
    }

    /// Finds the shape of the object that begins at the current token, for a list of its like. `None` if no object
    /// does, or QuickJS does not share its shape.
    fn alike(&mut self) -> Result<Option<AlikeObjects>, Thrown> {
        let (tape, layout) = (self.tape, self.cx.core().layout.get());
        let (Some(Token::Object(count @ 1..=ALIKE_NAMES_MAX)), Some(layout)) =
            (tape.tokens().get(self.at), layout)
        else {
            return Ok(None);
        };
        let (mut names, mut at) = (Vec::with_capacity(*count as usize), self.at + 1);
        for _ in 0..*count {
            let name = self.name_at(at);
            // An index would come before the other names.
            let is_index = name.first().is_none_or(u8::is_ascii_digit);
            if is_index || names.iter().any(|known| self.name_at(*known) == name) {
                return Ok(None);
            }
            self.names.allow(self.cx, name)?;
            names.push(at);
            at = self.end_of(at + 1);
        }
        let atoms = names.iter().map(|name| self.atom(self.name_at(*name)));
        let atoms: Vec<Atom<'_>> = atoms.collect::<Result<_, Thrown>>()?;
        let raw: Vec<qjs::JSAtom> = atoms.iter().map(|atom| atom.1).collect();
        let prototype = self.cx.prototype(&self.cx.object()?)?;
        let shape = SharedShape::new(self.cx, layout, prototype, &raw)?;
        Ok(shape.map(|shape| AlikeObjects { names, shape }))
    }

    /// Returns the token behind the value that begins at `at`.
    fn end_of(&self, mut at: usize) -> usize {
        let mut depth = 0_usize;
        loop {
            match self.tape.tokens().get(at) {
                Some(Token::Array(_) | Token::Object(_)) => depth += 1,
                Some(Token::End) => depth = depth.saturating_sub(1),
                Some(_) => {}
                None => return at,
            }
            at += 1;
            if depth == 0 {
                return at;
            }
        }
    }

    /// Makes an item of a list, of which the first object has this shape.
    fn item(&mut self, alike: &AlikeObjects) -> Result<qjs::JSValue, Thrown> {
        let (begin, start) = (self.at, self.made.1.len());
        match self.tape.tokens().get(begin) {
            Some(Token::Object(count)) if *count as usize == alike.names.len() => {}
            _ => return self.value(),
        }
        self.at += 1;
        for name in &alike.names {
            if self.name_at(self.at) != self.name_at(*name) {
                self.made.release(start);
                self.at = begin;
                return self.value();
            }
            self.at += 1;
            let value = self.value()?;
            self.made.1.push(value);
        }
        self.at += 1;
        let values = TakenValues(self.cx, self.made.1.drain(start..));
        let made = alike.shape.object(self.cx, values)?;
        if let Ok(object) = made {
            return Ok(object.into_raw());
        }
        drop(made);
        self.at = begin;
        self.value()
    }

    fn atom(&self, name: &[u8]) -> Result<Atom<'_>, Thrown> {
        let (raw, name_bytes) = (self.cx.raw(), name.as_ptr().cast());
        // SAFETY: the reader has checked that strings are UTF-8.
        let atom = unsafe { qjs::JS_NewAtomLen(raw, name_bytes, name.len() as _) };
        match atom {
            qjs::JS_ATOM_NULL => Err(Thrown),
            atom => Ok(Atom(self.cx, atom)),
        }
    }

    /// The text of the token at `at`.
    #[inline]
    fn name_at(&self, at: usize) -> &'t [u8] {
        let token = self.tape.tokens().get(at);
        token
            .map(|token| self.tape.text(token, self.source))
            .unwrap_or_default()
    }

    fn define(&mut self, object: RawValue<'_>, name: &[u8], value: Val) -> Result<(), Thrown> {
        self.names.allow(self.cx, name)?;
        let atom = self.atom(name)?;
        self.cx.define_atom(object, atom.1, value)
    }
}

/// A property name that is released at the end.
struct Atom<'a>(Cx<'a>, qjs::JSAtom);

impl Drop for Atom<'_> {
    fn drop(&mut self) {
        // SAFETY: the atom is owned, and the context lives.
        unsafe { qjs::JS_FreeAtom(self.0.raw(), self.1) };
    }
}
