//! Writes JSON from script values straight into an output buffer, as `JSON.stringify` would.
//!
//! Differences that are meant: a BigInt is written with its digits (an integer of a database row that a number cannot
//! hold), nesting has a limit, and objects that would be `{}` though they hold something (a `Map`, an `Error`, a
//! promise, bytes) are refused with advice. Everything else, from the order of keys to the escapes, is the standard's.

mod numbers;
mod refusals;
pub(crate) mod strings;

pub(crate) use refusals::found;

use crate::values::layout::Layout;
use crate::values::property_names::PropertyNames;
use crate::values::shapes::{ShapeHash, WritePlan};
use crate::values::value::{has_own_class, is_ordinary};
use crate::vm::limits::VALUES_PER_CHECK;
use crate::vm::sys::{
    Cx, Failure, RawValue, UNDEFINED, Val, address, class_id, float_of, int_of, is_string, is_true,
    is_undefined, tag, throw_type,
};
use refusals::{refuse, refused, web_class};
use rquickjs::qjs;
use sampan_host::{ErrorKind, json as host_json};
use std::ffi::c_void;
use strings::{BYTES_PER_CHECK, fits, write_long_text, write_text};

/// Writes a value. False, with nothing written, for what has no JSON: `undefined`, functions and symbols.
pub(crate) fn write(cx: Cx<'_>, out: &mut Vec<u8>, value: RawValue<'_>) -> Result<bool, Failure> {
    let depth = cx.core().limits.json_depth_max;
    Writer {
        cx,
        out,
        depth_left: depth,
        is_standard: false,
        around: Vec::new(),
        until_check: VALUES_PER_CHECK,
        check_at: BYTES_PER_CHECK,
    }
    .value(value, Key::None)
}

/// The text that `JSON.stringify(value)` returns, or `undefined`. `None` where that is an error by the standard but not
/// to us, or the other way round: then the engine's own function must decide.
pub(crate) fn standard(cx: Cx<'_>, value: RawValue<'_>) -> Result<Option<Val>, Failure> {
    let mut out = Vec::new();
    let mut writer = Writer {
        cx,
        out: &mut out,
        depth_left: cx.core().limits.json_depth_max,
        is_standard: true,
        around: Vec::new(),
        until_check: VALUES_PER_CHECK,
        check_at: BYTES_PER_CHECK,
    };
    match writer.value(value, Key::None) {
        Ok(true) => Ok(Some(cx.string_from(&out)?)),
        Ok(false) => Ok(Some(cx.undefined())),
        Err(Failure::Error(error)) if error.kind() == ErrorKind::Script => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Under which name a value stands; `toJSON` is told.
#[derive(Clone, Copy)]
enum Key {
    None,
    Name(qjs::JSAtom),
    Index(u32),
}

struct Writer<'a, 'out> {
    cx: Cx<'a>,
    out: &'out mut Vec<u8>,
    depth_left: usize,
    /// True if a BigInt is an error.
    is_standard: bool,
    /// The objects around the value that is written, where one that contains itself is told as QuickJS tells it.
    around: Vec<*mut c_void>,
    /// The most values that may be written before the next look at the limits.
    until_check: u32,
    /// At which length of `out` the limits are looked at, in bytes.
    check_at: usize,
}

impl Writer<'_, '_> {
    fn value(&mut self, value: RawValue<'_>, key: Key) -> Result<bool, Failure> {
        self.until_check -= 1;
        if self.until_check == 0 || self.out.len() >= self.check_at {
            self.check()?;
        }
        match tag(value) {
            qjs::JS_TAG_INT => host_json::write_i64(self.out, i64::from(int_of(value))),
            qjs::JS_TAG_FLOAT64 => self.float(float_of(value), value)?,
            qjs::JS_TAG_BOOL => {
                self.out
                    .extend_from_slice(if is_true(value) { b"true" } else { b"false" })
            }
            qjs::JS_TAG_NULL => self.out.extend_from_slice(b"null"),
            qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => return self.big_int(value, key),
            qjs::JS_TAG_OBJECT => return self.object(value, key),
            _ if is_string(value) => self.string(value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A value may be written many times over, if it is shared, so time and size are looked at now and then.
    #[cold]
    fn check(&mut self) -> Result<(), Failure> {
        self.until_check = VALUES_PER_CHECK;
        self.poll()?;
        self.check_at = self.out.len() + BYTES_PER_CHECK;
        fits(self.cx, self.out.len())
    }

    /// Looks at the time where a property may have been looked for in many prototypes.
    #[inline]
    fn poll(&self) -> Result<(), Failure> {
        if self.cx.core().must_stop() {
            return Err(self.cx.core().stopped_error().into());
        }
        Ok(())
    }

    fn text_of(&mut self, value: RawValue<'_>) -> Result<(), Failure> {
        let (cx, out) = (self.cx, &mut *self.out);
        cx.with_bytes(value, |bytes| {
            fits(cx, out.len() + bytes.len())?;
            out.extend_from_slice(bytes);
            Ok(())
        })?
    }

    #[inline]
    fn string(&mut self, value: RawValue<'_>) -> Result<(), Failure> {
        let (cx, out) = (self.cx, &mut *self.out);
        cx.with_bytes(value, |bytes| {
            if bytes.len() > BYTES_PER_CHECK {
                return write_long_text(cx, out, bytes);
            }
            write_text(out, bytes);
            Ok(())
        })?
    }

    fn object(&mut self, value: RawValue<'_>, key: Key) -> Result<bool, Failure> {
        let cx = self.cx;
        let classes = &cx.core().classes;
        if let Some(layout) = cx.core().layout.get()
            && class_id(value) == classes.object
            && !self.is_too_deep()
            // SAFETY: the value has the class of objects, and the caller holds it.
            && let Some(plan) = unsafe { cx.core().shapes.plan(layout, value) }
            && !prototype_converts(cx)
        {
            // SAFETY: the value has the class of objects, and the caller holds it until this returns.
            self.nested(value, |writer| unsafe {
                writer.planned(value, layout, &plan)
            })?;
            return Ok(true);
        }
        self.poll()?;
        let to_json = cx.get_atom(value, cx.core().atoms.to_json)?;
        if cx.is_function(to_json.raw()) {
            return self.converted(value, &to_json, key);
        }
        if self.is_too_deep() {
            return self.unusual(value);
        }
        let class = class_id(value);
        if class == classes.array {
            self.nested(value, |writer| writer.array(value))?;
        } else if class == classes.object {
            if !self.is_standard
                && has_own_class(cx, value)
                && let Some(what) = web_class(cx, value)?
            {
                return Err(refuse(cx, key, what));
            }
            self.nested(value, |writer| writer.members(value))?;
        } else if cx.is_function(value) {
            return Ok(false);
        } else {
            if !self.is_standard
                && let Some(what) = refused(cx, value)?
            {
                return Err(refuse(cx, key, what));
            }
            return self.unusual(value);
        }
        Ok(true)
    }

    fn nested(
        &mut self,
        value: RawValue<'_>,
        write: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.is_standard {
            let place = address(value);
            if self.around.contains(&place) {
                return Err(throw_type(self.cx, c"circular reference"));
            }
            self.around.push(place);
        }
        let Some(left) = self.depth_left.checked_sub(1) else {
            let depth = self.cx.core().limits.json_depth_max;
            let text = format!("a value that contains itself or nests more than {depth} deep");
            return Err(host_json::no_json(&text).into());
        };
        self.depth_left = left;
        write(self)?;
        self.depth_left += 1;
        self.around.pop();
        Ok(())
    }

    fn converted(&mut self, value: RawValue<'_>, to_json: &Val, key: Key) -> Result<bool, Failure> {
        let cx = self.cx;
        let name = match key {
            Key::None => cx.string("")?,
            Key::Name(atom) => cx.name(atom)?,
            Key::Index(index) => cx.string(&index.to_string())?,
        };
        let plain = cx.call(to_json.raw(), value, &[name.raw()])?;
        // The result of `toJSON` is not asked for a `toJSON` of its own.
        match tag(plain.raw()) {
            qjs::JS_TAG_OBJECT => self.plain_object(plain.raw()),
            qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => self.plain_big_int(plain.raw()),
            _ => self.value(plain.raw(), key),
        }
    }

    /// Reports whether what is nested here is left to QuickJS's own writer: the standard has no limit of depth.
    fn is_too_deep(&self) -> bool {
        self.is_standard && self.depth_left == 0
    }

    fn plain_object(&mut self, value: RawValue<'_>) -> Result<bool, Failure> {
        if self.is_too_deep() {
            return self.unusual(value);
        }
        let class = class_id(value);
        if class == self.cx.core().classes.array {
            self.nested(value, |writer| writer.array(value))?;
        } else if is_ordinary(self.cx, value) {
            self.nested(value, |writer| writer.members(value))?;
        } else if self.cx.is_function(value) {
            return Ok(false);
        } else {
            return self.unusual(value);
        }
        Ok(true)
    }

    fn array(&mut self, value: RawValue<'_>) -> Result<(), Failure> {
        let length = self.cx.length(value)?;
        self.out.push(b'[');
        for index in 0..u32::try_from(length).unwrap_or(u32::MAX) {
            if index > 0 {
                self.out.push(b',');
            }
            let item = self.cx.at(value, index)?;
            if is_undefined(item.raw()) {
                self.poll()?;
            }
            if !self.value(item.raw(), Key::Index(index))? {
                self.out.extend_from_slice(b"null");
            }
        }
        self.out.push(b']');
        Ok(())
    }

    fn members(&mut self, value: RawValue<'_>) -> Result<(), Failure> {
        let cx = self.cx;
        let names = PropertyNames::of(cx, value)?;
        self.out.push(b'{');
        let mut first = true;
        let mut hash = ShapeHash::PLAIN;
        for name in names.iter() {
            hash.add(name);
            let member = cx.get_atom(value, name)?;
            let before = self.out.len();
            if !first {
                self.out.push(b',');
            }
            cx.core().member_names.write(cx, self.out, name)?;
            if self.value(member.raw(), Key::Name(name))? {
                first = false;
            } else {
                self.out.truncate(before);
            }
        }
        self.out.push(b'}');
        if !cx.core().shapes.knows(hash) {
            cx.core().shapes.keep(cx, hash, true, names.iter())?;
        }
        Ok(())
    }

    /// Writes the members of an object whose shape has a plan: its values are read where they lie.
    ///
    /// # Safety
    /// The value must be an object that is alive until this returns.
    unsafe fn planned(
        &mut self,
        value: RawValue<'_>,
        layout: Layout,
        plan: &WritePlan,
    ) -> Result<(), Failure> {
        let cx = self.cx;
        let start = self.out.len();
        for (index, member) in plan.members.iter().enumerate() {
            let (before, key) = (self.out.len(), Key::Name(member.name));
            self.out.extend_from_slice(&member.text);
            // A value may be an object whose `toJSON` changes this one: then the rest is asked for by its name.
            // SAFETY: the caller promises an object that is alive.
            let is_written = if unsafe { plan.fits(layout, value) } {
                // SAFETY: an object of this shape has a plain value for each of the names of the plan, in their order.
                // It keeps the value until script runs, before which that gets a reference of its own.
                let item = unsafe { RawValue::from_js(*layout.values(value).add(index)) };
                match tag(item) {
                    qjs::JS_TAG_OBJECT | qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => {
                        self.value(cx.dup(item).raw(), key)?
                    }
                    // No script runs for these, so the object keeps them.
                    _ => self.value(item, key)?,
                }
            } else {
                self.value(cx.get_atom(value, member.name)?.raw(), key)?
            };
            if !is_written {
                self.out.truncate(before);
            }
        }
        if self.out.len() == start {
            self.out.extend_from_slice(b"{}");
        } else {
            self.out[start] = b'{';
            self.out.push(b'}');
        }
        Ok(())
    }

    /// Everything else (wrapped numbers, maps, proxies, typed arrays, ...): the engine's own writer.
    fn unusual(&mut self, value: RawValue<'_>) -> Result<bool, Failure> {
        let cx = self.cx;
        // SAFETY: the value is alive. The reference that comes back is owned.
        let text = unsafe {
            cx.check(qjs::JS_JSONStringify(
                cx.raw(),
                value.js(),
                UNDEFINED.js(),
                UNDEFINED.js(),
            ))
        }?;
        if !is_string(text.raw()) {
            return Ok(false);
        }
        self.text_of(text.raw())?;
        Ok(true)
    }
}

/// The JSON of a value, for builders and capabilities.
pub(crate) fn text(cx: Cx<'_>, value: RawValue<'_>) -> Result<String, Failure> {
    let mut out = Vec::new();
    if !write(cx, &mut out, value)? {
        return Err(host_json::no_json(found(cx, value)).into());
    }
    // Everything that is written is UTF-8; lone surrogates are escaped.
    String::from_utf8(out).map_err(|_| host_json::no_json("a string that is not UTF-8").into())
}

/// Reports whether a script has given all objects a `toJSON`.
#[inline]
fn prototype_converts(cx: Cx<'_>) -> bool {
    let prototype = qjs::JS_MKPTR(qjs::JS_TAG_OBJECT, cx.core().object_prototype);
    let name = cx.core().atoms.to_json;
    // SAFETY: looks for an own property, without reading it, of an object that lives as long as the context.
    unsafe { qjs::JS_GetOwnProperty(cx.raw(), std::ptr::null_mut(), prototype, name) != 0 }
}
