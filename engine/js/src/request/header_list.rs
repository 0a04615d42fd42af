//! The header fields that a builder is given, as the flat list of a `Headers`, made without one.
//!
//! Only the usual case is decided here: a plain object of names with text, whole numbers or lists of these. Whatever
//! else comes, right or wrong, is left to the Web surface, which has the rules and the errors. Nothing here runs a
//! script, so the object is the same when it is asked again.

use crate::values::inspect;
use crate::values::property_names::PropertyNames;
use crate::values::value::{has_own_class, is_ordinary};
use crate::vm::sys::{Cx, Failure, RawValue, Thrown, Val, class_id, is_object, is_string, tag};
use rquickjs::qjs;
use sampan_host::answer::FIELDS_MAX;

/// `headerList(fields, contentType)`: the list, with `contentType` (a string or `null`) at its end unless a field has
/// that name;
/// `undefined` where the Web surface must decide.
pub(crate) fn header_list(
    cx: Cx<'_>,
    _: RawValue<'_>,
    args: &[RawValue<'_>],
) -> Result<Val, Failure> {
    let &[fields, content_type] = args else {
        return Ok(cx.undefined());
    };
    if !is_object(fields) || !is_ordinary(cx, fields) || has_own_class(cx, fields) {
        return Ok(cx.undefined());
    }
    let mut list = HeaderList {
        cx,
        items: Vec::new(),
        has_content_type: false,
    };
    if !list.fill(fields)? {
        return Ok(cx.undefined());
    }
    if is_string(content_type) && !list.has_content_type {
        list.items.push(cx.string("content-type")?);
        list.items.push(cx.dup(content_type));
    }
    Ok(cx.array(list.items)?)
}

struct HeaderList<'a> {
    cx: Cx<'a>,
    /// Names in lower case and values, in turn.
    items: Vec<Val>,
    has_content_type: bool,
}

impl HeaderList<'_> {
    /// Adds all fields of a plain object. False if one of them is unusual.
    fn fill(&mut self, fields: RawValue<'_>) -> Result<bool, Thrown> {
        let names = PropertyNames::with_symbols(self.cx, fields)?;
        for name in names.iter() {
            if !self.field(fields, name)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn field(&mut self, fields: RawValue<'_>, atom: qjs::JSAtom) -> Result<bool, Thrown> {
        let cx = self.cx;
        // SAFETY: the atom is alive. The reference that comes back is owned.
        let key = unsafe { cx.check(qjs::JS_AtomToValue(cx.raw(), atom)) }?;
        let Some((false, value, _)) = inspect::own(cx, fields, atom)? else {
            return Ok(false);
        };
        if !is_string(key.raw()) {
            return Ok(false);
        }
        let Some(name) = lower_name(cx, &key)? else {
            return Ok(false);
        };
        self.has_content_type |= cx.with_bytes(name.raw(), |name| name == b"content-type")?;
        if is_object(value.raw()) && class_id(value.raw()) == cx.core().classes.array {
            return self.list(&name, value.raw());
        }
        self.add(name, &value)
    }

    /// A list of values is a field for each of them.
    fn list(&mut self, name: &Val, values: RawValue<'_>) -> Result<bool, Thrown> {
        let cx = self.cx;
        let length = u32::try_from(cx.length(values)?).unwrap_or(u32::MAX);
        if length as usize > FIELDS_MAX {
            return Ok(false);
        }
        for index in 0..length {
            // SAFETY: an index makes an atom without memory, which is released after its last use.
            let found = unsafe {
                let atom = qjs::JS_NewAtomUInt32(cx.raw(), index);
                let found = inspect::own(cx, values, atom);
                qjs::JS_FreeAtom(cx.raw(), atom);
                found?
            };
            let Some((false, value, _)) = found else {
                return Ok(false);
            };
            if !self.add(name.clone(), &value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add(&mut self, name: Val, value: &Val) -> Result<bool, Thrown> {
        let cx = self.cx;
        if self.items.len() >= 2 * FIELDS_MAX {
            return Ok(false);
        }
        if !is_string(value.raw()) && tag(value.raw()) != qjs::JS_TAG_INT {
            return Ok(false);
        }
        let value = cx.to_string(value.raw())?;
        if !cx.with_bytes(value.raw(), is_plain_value)? {
            return Ok(false);
        }
        self.items.push(name);
        self.items.push(value);
        Ok(true)
    }
}

/// Reports whether a value is sent as it is: visible ASCII with blanks inside.
fn is_plain_value(value: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| byte.is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
        && !is_blank(value.first())
        && !is_blank(value.last())
}

/// A name in lower case; `None` where it is no token (RFC 9110, section 5.6.2).
fn lower_name(cx: Cx<'_>, name: &Val) -> Result<Option<Val>, Thrown> {
    cx.with_bytes(name.raw(), |bytes| {
        let is_token =
            |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        if bytes.is_empty() || !bytes.iter().all(is_token) {
            return Ok(None);
        }
        if bytes.iter().any(u8::is_ascii_uppercase) {
            return cx.string_from(&bytes.to_ascii_lowercase()).map(Some);
        }
        Ok(Some(name.clone()))
    })?
}
