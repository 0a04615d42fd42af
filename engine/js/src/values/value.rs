//! [`sampan_host::Value`]s to JavaScript and back.

use crate::values::adopted;
use crate::values::integers::integer;
use crate::values::objects;
use crate::values::passing;
use crate::values::property_names::{PropertyNames, check::NameCheck};
use crate::values::rows;
use crate::vm::limits::VALUE_DEPTH_MAX;
use crate::vm::sys::whole_number;
use crate::vm::sys::{
    Cx, Failure, NULL, RawValue, Thrown, Val, address, boolean, class_id, float_of, is_object,
    is_promise, is_string, is_true, number, tag, well_formed,
};
use rquickjs::qjs;
use sampan_host::words::cannot_pass;
use sampan_host::{Error, Value};
use std::ffi::{c_int, c_void};

/// A value for a script. Text keys become own properties, rows plain objects, integers that a number cannot hold
/// BigInts. Throws an error of the client for a value with too many names of the same hash.
#[inline]
pub(crate) fn to_js(cx: Cx<'_>, value: Value) -> Result<Val, Thrown> {
    make(cx, value, &mut NameCheck::default())
}

fn make(cx: Cx<'_>, value: Value, names: &mut NameCheck) -> Result<Val, Thrown> {
    match value {
        Value::Null => Ok(cx.dup(NULL)),
        Value::Bool(value) => Ok(cx.dup(boolean(value))),
        Value::Int(value) => integer(cx, value),
        Value::Float(value) => Ok(cx.dup(number(value))),
        Value::Text(text) => cx.string(&text),
        Value::Bytes(bytes) => adopted::bytes(cx, bytes),
        Value::List(items) => {
            let items = items
                .into_iter()
                .map(|item| make(cx, item, names))
                .collect::<Result<Vec<Val>, Thrown>>()?;
            cx.array(items)
        }
        Value::Map(members) => {
            let object = cx.object()?;
            for (key, member) in members {
                names.allow(cx, key.as_bytes())?;
                let atom = Atom::new(cx, &key)?;
                cx.define_atom(object.raw(), atom.0, make(cx, member, names)?)?;
            }
            Ok(object)
        }
        Value::Rows(rows) => rows::list(cx, &rows),
        Value::Row(rows) if rows.is_empty() => Ok(cx.dup(NULL)),
        Value::Row(rows) => rows::first(cx, &rows),
        Value::Object(object) => objects::new(cx, object),
    }
}

/// A property name that is released when it goes.
pub(crate) struct Atom<'a>(pub(crate) qjs::JSAtom, Cx<'a>);

impl<'a> Atom<'a> {
    pub(crate) fn new(cx: Cx<'a>, name: &str) -> Result<Self, Thrown> {
        let atom = cx.atom(name);
        if atom == qjs::JS_ATOM_NULL {
            Err(Thrown)
        } else {
            Ok(Self(atom, cx))
        }
    }
}

impl Drop for Atom<'_> {
    fn drop(&mut self) {
        // SAFETY: this value owns the reference that `cx.atom` gave, and frees it once, in a live context.
        unsafe { qjs::JS_FreeAtom(self.1.raw(), self.0) };
    }
}

/// A script's value for a capability. Functions, symbols, cycles and objects that hold no plain data are errors; an
/// object with
/// `toJSON`, such as a date, is what that returns. An invalid date is an error: as `null` it would go unnoticed.
pub(crate) fn from_js(cx: Cx<'_>, value: RawValue<'_>) -> Result<Value, Failure> {
    ValueReader::new(cx).read(value)
}

/// The bytes after which the reader looks whether it must stop.
const BYTES_PER_CHECK: usize = 64 * 1024;

/// Room for so many items is made before the first is read: a length may promise more than comes.
const ITEMS_AT_ONCE: u32 = 64;

struct ValueReader<'a> {
    cx: Cx<'a>,
    /// The objects that are being read, to notice a cycle.
    inside: Vec<*mut c_void>,
    /// The bytes that the rest of the value may take: a small value is huge when it is copied, if it shares others.
    bytes_left: usize,
    /// The number of bytes left at which the reader looks whether it must stop.
    check_at: usize,
}

impl<'a> ValueReader<'a> {
    fn new(cx: Cx<'a>) -> Self {
        let bytes_left = cx.core().limits.memory_bytes_max;
        Self {
            cx,
            inside: Vec::new(),
            bytes_left,
            check_at: bytes_left.saturating_sub(BYTES_PER_CHECK),
        }
    }

    fn refuse(&self, what: &str, hint: &str) -> Result<Value, Failure> {
        Err(Error::script(format!("{}{hint}", cannot_pass(what))).into())
    }

    fn read(&mut self, value: RawValue<'_>) -> Result<Value, Failure> {
        self.spend(size_of::<Value>())?;
        match tag(value) {
            qjs::JS_TAG_NULL | qjs::JS_TAG_UNDEFINED => Ok(Value::Null),
            qjs::JS_TAG_BOOL => Ok(Value::Bool(is_true(value))),
            qjs::JS_TAG_INT | qjs::JS_TAG_FLOAT64 => Ok(match whole_number(value) {
                Some(whole) if whole != 0 || float_is_positive(value) => Value::Int(whole),
                _ => Value::Float(float_of(value)),
            }),
            qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => self.read_big_int(value),
            qjs::JS_TAG_OBJECT => self.read_object(value),
            _ if is_string(value) => Ok(Value::Text(self.read_text(value)?)),
            _ => self.refuse("a symbol", ""),
        }
    }

    /// Takes the size of a part from the bytes that are left, before the part is copied.
    #[inline]
    fn spend(&mut self, bytes: usize) -> Result<(), Failure> {
        match self.bytes_left.checked_sub(bytes) {
            Some(left) if left > self.check_at => {
                self.bytes_left = left;
                Ok(())
            }
            left => self.check(left),
        }
    }

    /// Looks at the limits, with the bytes that are left, or `None` if there are too few.
    #[cold]
    fn check(&mut self, left: Option<usize>) -> Result<(), Failure> {
        let core = self.cx.core();
        if core.must_stop() {
            return Err(core.stopped_error().into());
        }
        self.bytes_left = left.ok_or_else(|| core.limits.value_too_large())?;
        self.check_at = self.bytes_left.saturating_sub(BYTES_PER_CHECK);
        Ok(())
    }

    fn read_text(&mut self, value: RawValue<'_>) -> Result<String, Failure> {
        self.cx.with_bytes(value, |bytes| {
            self.spend(bytes.len())?;
            Ok(well_formed(bytes))
        })?
    }

    fn read_big_int(&self, value: RawValue<'_>) -> Result<Value, Failure> {
        match self.cx.text(value)?.parse() {
            Ok(whole) => Ok(Value::Int(whole)),
            Err(_) => {
                let why = cannot_pass("a BigInt that takes more than 64 bits");
                let error = Error::script(format!("{why}: give it as text"));
                Err(error.with_code("parameter").into())
            }
        }
    }

    fn read_object(&mut self, value: RawValue<'_>) -> Result<Value, Failure> {
        if class_id(value) == self.cx.core().classes.array {
            return self.read_inside(value, Self::read_list);
        }
        if let Some(object) = objects::at(self.cx, value) {
            return Ok(Value::Object(object));
        }
        let bytes = with_bytes_of(self.cx, value, |bytes| {
            self.spend(bytes.len())?;
            Ok(bytes.to_vec())
        });
        if let Some(bytes) = bytes {
            return bytes.map(Value::Bytes);
        }
        if class_id(value) == self.cx.core().classes.boxed_big_int {
            return self.refuse("an object that holds a BigInt", ": give the BigInt itself");
        }
        if self.cx.is_function(value) {
            return self.refuse("a function", "");
        }
        if is_promise(value) {
            return self.refuse("a promise", ": is an await missing?");
        }
        self.read_inside(value, Self::read_members)
    }

    /// Reads what is in an object.
    #[inline]
    fn read_inside(
        &mut self,
        value: RawValue<'_>,
        read: fn(&mut Self, RawValue<'_>) -> Result<Value, Failure>,
    ) -> Result<Value, Failure> {
        if self.inside.contains(&address(value)) {
            return self.refuse("an object that contains itself", "");
        }
        if self.inside.len() >= VALUE_DEPTH_MAX {
            return self.refuse(
                &format!("a value nested more than {VALUE_DEPTH_MAX} deep"),
                "",
            );
        }
        self.inside.push(address(value));
        let read = read(self, value);
        self.inside.pop();
        read
    }

    fn read_list(&mut self, value: RawValue<'_>) -> Result<Value, Failure> {
        let cx = self.cx;
        let to_json = cx.get_atom(value, cx.core().atoms.to_json)?;
        if cx.is_function(to_json.raw()) {
            let plain = cx.call(to_json.raw(), value, &[])?;
            return self.read(plain.raw());
        }
        let length = u32::try_from(cx.length(value)?).unwrap_or(u32::MAX);
        let mut items = Vec::with_capacity(length.min(ITEMS_AT_ONCE) as usize);
        for index in 0..length {
            let item = cx.at(value, index)?;
            items.push(self.read(item.raw())?);
        }
        Ok(Value::List(items))
    }

    fn read_members(&mut self, value: RawValue<'_>) -> Result<Value, Failure> {
        let cx = self.cx;
        let to_json = cx.get_atom(value, cx.core().atoms.to_json)?;
        if cx.is_function(to_json.raw()) {
            let plain = cx.call(to_json.raw(), value, &[])?;
            // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
            if tag(plain.raw()) == qjs::JS_TAG_NULL && unsafe { qjs::JS_IsDate(value.js()) } {
                return self.refuse("an invalid Date", "");
            }
            return self.read(plain.raw());
        }
        if (!is_ordinary(cx, value) || has_own_class(cx, value))
            && let Some([what, advice]) = passing::refused(cx, value)?
        {
            return self.refuse(what, &format!("; {advice}"));
        }
        let mut members = Vec::new();
        for name in PropertyNames::of(cx, value)?.iter() {
            let member = cx.get_atom(value, name)?;
            if tag(member.raw()) == qjs::JS_TAG_UNDEFINED {
                continue;
            }
            let key = cx.name(name)?;
            self.spend(size_of::<String>())?;
            members.push((self.read_text(key.raw())?, self.read(member.raw())?));
        }
        Ok(Value::Map(members))
    }
}

/// Reports whether a number is positive or a zero without sign.
pub(crate) fn float_is_positive(value: RawValue<'_>) -> bool {
    tag(value) == qjs::JS_TAG_INT || float_of(value).is_sign_positive()
}

/// The bytes of an `ArrayBuffer` or of a view of one.
pub(crate) fn bytes_of(cx: Cx<'_>, value: RawValue<'_>) -> Option<Vec<u8>> {
    with_bytes_of(cx, value, <[u8]>::to_vec)
}

/// Gives `each` the bytes of an `ArrayBuffer` or of a view of one; `each` must run no script. `None` for other values.
fn with_bytes_of<R>(cx: Cx<'_>, value: RawValue<'_>, each: impl FnOnce(&[u8]) -> R) -> Option<R> {
    if let Some((start, length)) = place_of_bytes(cx, value) {
        // SAFETY: the value is alive. Its memory stays until a script runs, which `each` does not.
        return Some(each(unsafe { std::slice::from_raw_parts(start, length) }));
    }
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; these only read its class.
    let is_view =
        unsafe { qjs::JS_IsDataView(value.js()) || qjs::JS_GetTypedArrayType(value.js()) >= 0 };
    if !is_view {
        return None;
    }
    let view = cx.core().tables().ok()?.intrinsics.view(cx, value).ok();
    let shown = view.as_ref().and_then(|view| {
        let end = view.start.checked_add(view.length)?;
        let (all, size) = place_of_bytes(cx, view.buffer.raw())?;
        // SAFETY: the buffer is held by `view`, and its memory stays until a script runs, which `each` does not.
        let all = unsafe { std::slice::from_raw_parts(all, size) };
        all.get(view.start..end)
    });
    if shown.is_none() {
        drop(cx.exception());
    }
    // A view of a buffer that is gone shows nothing.
    Some(each(shown.unwrap_or_default()))
}

/// Reports whether a value is a `Uint8Array`.
pub(crate) fn is_uint8_array(value: RawValue<'_>) -> bool {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    let kind = unsafe { qjs::JS_GetTypedArrayType(value.js()) };
    kind == qjs::JSTypedArrayEnum_JS_TYPED_ARRAY_UINT8 as c_int
}

/// Appends the bytes of a `Uint8Array` or an `ArrayBuffer`. Reports whether the value is one.
pub(crate) fn append_bytes_of(cx: Cx<'_>, value: RawValue<'_>, out: &mut Vec<u8>) -> bool {
    let Some((start, length)) = place_of_bytes(cx, value) else {
        return false;
    };
    // SAFETY: the value is alive. Its memory stays until a script runs, and none runs before the bytes are copied.
    // Isolates share no memory, so no other thread writes there.
    out.extend_from_slice(unsafe { std::slice::from_raw_parts(start, length) });
    true
}

/// Returns the place and the number of the bytes that a `Uint8Array` or an `ArrayBuffer` shows; they are valid until a
/// script runs. No bytes where the buffer is detached; `None` for other values.
pub(crate) fn place_of_bytes(cx: Cx<'_>, value: RawValue<'_>) -> Option<(*const u8, usize)> {
    const NO_BYTES: (*const u8, usize) = (std::ptr::dangling(), 0);
    if !is_uint8_array(value) {
        // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
        return unsafe { qjs::JS_IsArrayBuffer(value.js()) }.then(|| place_of_buffer(cx, value));
    }
    let (mut start, mut length) = (0, 0);
    // SAFETY: the value is a live `Uint8Array`; the last pointer may be null. The reference that comes back is owned.
    let buffer = unsafe {
        cx.check(qjs::JS_GetTypedArrayBuffer(
            cx.raw(),
            value.js(),
            &raw mut start,
            &raw mut length,
            std::ptr::null_mut(),
        ))
    };
    let Ok(buffer) = buffer else {
        drop(cx.exception());
        return Some(NO_BYTES);
    };
    let (all, size) = place_of_buffer(cx, buffer.raw());
    let (mut start, mut length) = (start as usize, length as usize);
    if start + length != size {
        // The view may follow the length of a buffer that was resized, and then this length is the old one.
        let view = cx.core().tables().ok()?.intrinsics.view(cx, value);
        let Ok(view) = view else {
            drop(cx.exception());
            return Some(NO_BYTES);
        };
        (start, length) = (view.start, view.length);
    }
    if start.checked_add(length).is_none_or(|end| end > size) {
        return Some(NO_BYTES);
    }
    // SAFETY: the view lies within its buffer, which it keeps alive.
    Some((unsafe { all.add(start) }, length))
}

fn place_of_buffer(cx: Cx<'_>, buffer: RawValue<'_>) -> (*const u8, usize) {
    let mut length = 0;
    // SAFETY: something else holds the buffer for the lifetime of the `RawValue`; `length` is a local variable.
    let start = unsafe { qjs::JS_GetArrayBuffer(cx.raw(), &raw mut length, buffer.js()) };
    if start.is_null() {
        // Detached, or empty.
        drop(cx.exception());
        return (std::ptr::dangling(), 0);
    }
    (start, length as usize)
}

/// Reports whether a value is an `ArrayBuffer` or a view of one.
pub(crate) fn is_bytes(value: RawValue<'_>) -> bool {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; these only read its class.
    unsafe {
        qjs::JS_IsArrayBuffer(value.js())
            || qjs::JS_IsDataView(value.js())
            || qjs::JS_GetTypedArrayType(value.js()) >= 0
    }
}

/// Reports whether an object, plain by its native class, has another prototype than objects made by a literal.
#[inline]
pub(crate) fn has_own_class(cx: Cx<'_>, value: RawValue<'_>) -> bool {
    // SAFETY: the object is alive, and holds its prototype while its address is compared. The reference that comes back
    // is owned.
    let prototype = unsafe { cx.own(qjs::JS_GetPrototype(cx.raw(), value.js())) };
    is_object(prototype.raw()) && address(prototype.raw()) != cx.core().object_prototype
}

/// Reports whether an object is a plain one by class: made by a literal or by a class of the script.
#[inline]
pub(crate) fn is_ordinary(cx: Cx<'_>, value: RawValue<'_>) -> bool {
    class_id(value) == cx.core().classes.object
}
