//! JSON text to script values.
//!
//! The shared reader of `sampan-host` decides what is JSON and where it is not, so that both engines accept the same texts
//! and say the same about the others; script values are made from its tape. Objects of a list are alike as a rule, so one takes
//! over the shape of the one before it instead of looking up each of its names.

use crate::values::layout::{Layout, Shape};
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
            depth: 0,
            lists: 0,
            alike: Vec::new(),
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

/// An object with more names is made name by name.
const ALIKE_NAMES_MAX: usize = 32;

/// Builds the value of a tape. No script runs meanwhile.
struct Builder<'a, 't> {
    cx: Cx<'a>,
    tape: &'t Tape,
    source: &'t [u8],
    /// The token that is next.
    at: usize,
    /// How many objects and lists are open.
    depth: usize,
    /// How many lists are open.
    lists: usize,
    /// By depth, the last object inside of a list that was made name by name.
    alike: Vec<Option<LastObject>>,
    /// The items and members of what is open.
    made: MadeValues<'a>,
}

/// An object whose shape others may share.
struct LastObject {
    /// Keeps the shape.
    _object: Val,
    shape: Shape,
    /// The tokens of its names, each of which it has once.
    names: Vec<u32>,
}

/// Values that no object holds yet.
struct MadeValues<'a>(Cx<'a>, Vec<RawValue>);

impl MadeValues<'_> {
    /// Takes all from `start` on.
    fn take(&mut self, start: usize) -> TakenValues<'_> {
        TakenValues(self.0, self.1.drain(start..))
    }
}

impl Drop for MadeValues<'_> {
    fn drop(&mut self) {
        drop(self.take(0));
    }
}

/// Values that are taken. Those that nobody asks for are released.
struct TakenValues<'a>(Cx<'a>, std::vec::Drain<'a, RawValue>);

impl Iterator for TakenValues<'_> {
    type Item = Result<Val, Thrown>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.1.next().map(|raw| Ok(self.0.own(raw)))
    }
}

impl Drop for TakenValues<'_> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

impl<'t> Builder<'_, 't> {
    fn document(&mut self) -> Result<Val, Thrown> {
        let raw = self.value()?;
        Ok(self.cx.own(raw))
    }

    /// Makes the value that begins at the current token, with a reference that the caller owns. Recursion is bounded by the depth
    /// that the reader allowed.
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
        self.depth += 1;
        self.lists += 1;
        for _ in 0..count {
            let item = self.value()?;
            self.made.1.push(item);
        }
        self.depth -= 1;
        self.lists -= 1;
        self.at += 1;
        let items = &self.made.1[start..];
        // SAFETY: the pointer and the length describe `items`, whose references the function takes, so that they are forgotten here.
        let array = unsafe {
            let array = qjs::JS_NewArrayFrom(self.cx.raw(), items.len() as c_int, items.as_ptr());
            self.made.1.set_len(start);
            array
        };
        Ok(self.cx.check(array)?.into_raw())
    }

    fn object(&mut self, count: u32) -> Result<RawValue, Thrown> {
        let depth = self.depth;
        self.depth += 1;
        let last = self.alike.get_mut(depth).and_then(Option::take);
        let object = match (self.cx.core().layout.get(), last) {
            (Some(layout), Some(last)) if last.names.len() == count as usize => {
                self.like(layout, last)?
            }
            _ => self.unlike(self.cx.object()?, count, Vec::new())?,
        };
        self.depth -= 1;
        self.at += 1;
        Ok(object.into_raw())
    }

    /// Makes an object as large as the last one. As long as it has the same names, its members are kept aside.
    fn like(&mut self, layout: Layout, last: LastObject) -> Result<Val, Thrown> {
        let start = self.made.1.len();
        for (index, &name) in last.names.iter().enumerate() {
            if self.name_at(self.at) != self.name_at(name as usize) {
                return self.no_longer_like(&last, index, start);
            }
            self.at += 1;
            let value = self.value()?;
            self.made.1.push(value);
        }
        let (count, values) = (last.names.len(), self.made.take(start));
        // SAFETY: the last object is a plain one of this shape, and has each of these names once.
        let object = unsafe { layout.object(self.cx, last.shape, count, values)? };
        self.keep(last);
        Ok(object)
    }

    /// Goes on name by name where the object has another one at `index`.
    #[cold]
    fn no_longer_like(
        &mut self,
        last: &LastObject,
        index: usize,
        start: usize,
    ) -> Result<Val, Thrown> {
        let object = self.cx.object()?;
        let names = last.names[..index].to_vec();
        let values: Vec<Val> = self.made.take(start).collect::<Result<_, _>>()?;
        for (name, value) in names.iter().zip(values) {
            self.define(object.raw(), self.name_at(*name as usize), value)?;
        }
        let rest = (last.names.len() - index) as u32;
        self.unlike(object, rest, names)
    }

    /// Adds `count` further members to an object that has those called `names`.
    fn unlike(&mut self, object: Val, count: u32, mut names: Vec<u32>) -> Result<Val, Thrown> {
        let is_kept = self.lists > 0 && count as usize + names.len() <= ALIKE_NAMES_MAX;
        for _ in 0..count {
            if is_kept {
                names.push(self.at as u32);
            }
            let name = self.name_at(self.at);
            self.at += 1;
            let value = self.value()?;
            self.define(object.raw(), name, self.cx.own(value))?;
        }
        if is_kept
            && let Some(layout) = self.cx.core().layout.get()
            && self.are_distinct(&names)
        {
            self.keep(LastObject {
                shape: layout.shape(object.raw()),
                _object: object.clone(),
                names,
            });
        }
        Ok(object)
    }

    /// Has the next object of this depth compared with this one.
    fn keep(&mut self, last: LastObject) {
        let depth = self.depth - 1;
        if self.alike.len() <= depth {
            self.alike.resize_with(depth + 1, || None);
        }
        self.alike[depth] = Some(last);
    }

    fn are_distinct(&self, names: &[u32]) -> bool {
        let name = |at: &u32| self.name_at(*at as usize);
        let is_new =
            |(at, one): (usize, &u32)| names[..at].iter().all(|other| name(other) != name(one));
        !names.is_empty() && names.iter().enumerate().all(is_new)
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
