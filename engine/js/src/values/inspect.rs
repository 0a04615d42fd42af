//! Reads properties without side effects, so that the size checked is the size used.

use crate::vm::limits::PROTOTYPES_MAX;
use crate::vm::sys::{
    Cx, RawValue, Thrown, UNDEFINED, Val, address, class_id, is_object, is_string,
};
use rquickjs::qjs;
use std::ffi::CStr;

/// The property found under a name.
pub(crate) enum FoundProperty {
    /// A plain value.
    Value(Val),
    /// No property.
    Nothing,
    /// A getter, a proxy, or more prototypes than are looked at.
    Computed,
}

/// The property `name` of an object or its prototypes; `Nothing` for other values. A getter counts as plain if it is
/// `allowed`.
pub(crate) fn named(
    cx: Cx<'_>,
    value: RawValue<'_>,
    name: &CStr,
    allowed: RawValue<'_>,
) -> Result<FoundProperty, Thrown> {
    // SAFETY: the name is terminated; the atom is released after its last use.
    unsafe {
        let atom = qjs::JS_NewAtom(cx.raw(), name.as_ptr());
        let found = property(cx, value, atom, allowed);
        qjs::JS_FreeAtom(cx.raw(), atom);
        found
    }
}

/// Reads the property of a symbol.
pub(crate) fn symbol(
    cx: Cx<'_>,
    value: RawValue<'_>,
    symbol: RawValue<'_>,
    allowed: RawValue<'_>,
) -> Result<FoundProperty, Thrown> {
    // SAFETY: the symbol is alive; the atom is released after its last use.
    unsafe {
        let atom = qjs::JS_ValueToAtom(cx.raw(), symbol.js());
        let found = property(cx, value, atom, allowed);
        qjs::JS_FreeAtom(cx.raw(), atom);
        found
    }
}

/// The getter of an own property.
pub(crate) fn getter(cx: Cx<'_>, object: RawValue<'_>, name: &CStr) -> Result<Val, Thrown> {
    // SAFETY: the name is terminated; the atom is released after its last use.
    let found = unsafe {
        let atom = qjs::JS_NewAtom(cx.raw(), name.as_ptr());
        let found = own(cx, object, atom);
        qjs::JS_FreeAtom(cx.raw(), atom);
        found?
    };
    Ok(found.map_or(cx.undefined(), |(_, _, getter)| getter))
}

/// Reads the property of an atom.
pub(crate) fn property(
    cx: Cx<'_>,
    value: RawValue<'_>,
    atom: qjs::JSAtom,
    allowed: RawValue<'_>,
) -> Result<FoundProperty, Thrown> {
    let mut at = cx.dup(value);
    for _ in 0..PROTOTYPES_MAX {
        if !is_object(at.raw()) {
            return Ok(FoundProperty::Nothing);
        }
        if is_proxy(at.raw()) {
            return Ok(FoundProperty::Computed);
        }
        match own(cx, at.raw(), atom)? {
            Some((false, plain, _)) => return Ok(FoundProperty::Value(plain)),
            Some((true, _, getter))
                if is_object(allowed) && address(getter.raw()) == address(allowed) =>
            {
                return Ok(FoundProperty::Value(cx.get_atom(value, atom)?));
            }
            Some(_) => return Ok(FoundProperty::Computed),
            None => {}
        }
        at = prototype(cx, &at);
    }
    Ok(FoundProperty::Computed)
}

/// An own property of an object that is no proxy: whether it is computed, its value, its getter.
pub(crate) fn own(
    cx: Cx<'_>,
    object: RawValue<'_>,
    atom: qjs::JSAtom,
) -> Result<Option<(bool, Val, Val)>, Thrown> {
    let mut found = qjs::JSPropertyDescriptor {
        flags: 0,
        value: UNDEFINED.js(),
        getter: UNDEFINED.js(),
        setter: UNDEFINED.js(),
    };
    // SAFETY: something else holds the object, and the caller the atom. `found` is a local variable, and each reference
    // that QuickJS writes into it is taken over once.
    match unsafe { qjs::JS_GetOwnProperty(cx.raw(), &raw mut found, object.js(), atom) } {
        0 => Ok(None),
        1.. => {
            let is_computed = found.flags as u32 & qjs::JS_PROP_GETSET != 0;
            // SAFETY: QuickJS has written three references, each of which is taken once.
            let (value, getter, _setter) = unsafe {
                let value = cx.own(found.value);
                (value, cx.own(found.getter), cx.own(found.setter))
            };
            Ok(Some((is_computed, value, getter)))
        }
        _ => Err(Thrown),
    }
}

/// Reports whether an object that is no proxy has an own property.
pub(crate) fn has_own(cx: Cx<'_>, object: RawValue<'_>, atom: qjs::JSAtom) -> bool {
    // SAFETY: object and atom are alive; without a descriptor nothing is written.
    unsafe { qjs::JS_GetOwnProperty(cx.raw(), std::ptr::null_mut(), object.js(), atom) > 0 }
}

/// The prototype of an object that is no proxy.
fn prototype(cx: Cx<'_>, object: &Val) -> Val {
    // SAFETY: the object is alive. The reference that comes back is owned.
    unsafe { cx.own(qjs::JS_GetPrototype(cx.raw(), object.js())) }
}

/// Reports whether an object has at most `max` prototypes, and none is a proxy.
pub(crate) fn is_shallow(cx: Cx<'_>, object: RawValue<'_>, max: usize) -> bool {
    let mut at = cx.dup(object);
    for _ in 0..=max {
        if is_proxy(at.raw()) {
            return false;
        }
        at = prototype(cx, &at);
        if !is_object(at.raw()) {
            return true;
        }
    }
    false
}

/// The name of the class of the Web surface that a value is of. Looks without running scripts: no proxy is shown the
/// key.
pub(crate) fn web_kind(cx: Cx<'_>, value: RawValue<'_>) -> Result<Option<Val>, Thrown> {
    if class_id(value) != cx.core().classes.object {
        return Ok(None);
    }
    let kind = property(cx, value, cx.core().atoms.web_kind, UNDEFINED)?;
    Ok(match kind {
        FoundProperty::Value(kind) if is_string(kind.raw()) => Some(kind),
        _ => None,
    })
}

/// Reports whether a value is a proxy.
pub(crate) fn is_proxy(value: RawValue<'_>) -> bool {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    unsafe { qjs::JS_IsProxy(value.js()) }
}

/// Reports whether a value is a regular expression.
pub(crate) fn is_regexp(value: RawValue<'_>) -> bool {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    unsafe { qjs::JS_IsRegExp(value.js()) }
}

/// Reports whether a value is a typed array.
pub(crate) fn is_typed_array(value: RawValue<'_>) -> bool {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    unsafe { qjs::JS_GetTypedArrayType(value.js()) >= 0 }
}

/// Reports whether a value counts as true.
pub(crate) fn is_truthy(cx: Cx<'_>, value: RawValue<'_>) -> bool {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`, and this runs no script.
    unsafe { qjs::JS_ToBool(cx.raw(), value.js()) > 0 }
}

/// The length that a value means which is no object.
pub(crate) fn to_length(cx: Cx<'_>, value: RawValue<'_>) -> Result<i64, Thrown> {
    let mut number = 0.0;
    // SAFETY: the value is alive, `number` is writable.
    if unsafe { qjs::JS_ToFloat64(cx.raw(), &raw mut number, value.js()) } < 0 {
        return Err(Thrown);
    }
    Ok(number as i64)
}
