//! Objects with keys of the script's own: what QuickJS asks about a property, the rows `get`, `set` and `keys` of the
//! class answer.

use super::at;
use crate::vm::sys::{
    Cx, Failure, NULL, RawValue, Thrown, UNDEFINED, Val, boolean, is_nothing, is_true, native, tag,
};
use rquickjs::qjs;
use sampan_host::names::camel_case;
use sampan_host::{Error, Object};
use sampan_js_contract::call_method;
use std::ffi::c_int;

/// The methods that QuickJS calls for objects of such a class.
pub(super) static METHODS: qjs::JSClassExoticMethods = qjs::JSClassExoticMethods {
    get_own_property: Some(get_own_property),
    get_own_property_names: Some(get_own_property_names),
    delete_property: Some(delete_property),
    define_own_property: Some(define_own_property),
    has_property: None,
    get_property: None,
    set_property: Some(set_property),
};

/// Runs `body`: 1 for true, 0 for false, -1 for an exception, as QuickJS wants it.
fn status<'a>(cx: Cx<'a>, body: impl FnOnce(Cx<'a>) -> Result<bool, Failure>) -> c_int {
    let result = native(cx, |cx| Ok(cx.dup(boolean(body(cx)?))));
    // SAFETY: a boolean and the mark of an exception have no reference count.
    let result = unsafe { RawValue::from_js(result) };
    match tag(result) {
        qjs::JS_TAG_EXCEPTION => -1,
        _ => c_int::from(is_true(result)),
    }
}

fn object_at(cx: Cx<'_>, this: RawValue<'_>) -> Result<Object, Error> {
    at(cx, this).ok_or_else(|| Error::script("this is not a native object"))
}

/// The key that a property stands for, if it is one: symbols are not.
fn key(cx: Cx<'_>, property: qjs::JSAtom) -> Result<Option<Val>, Thrown> {
    // SAFETY: the atom is alive. The reference that comes back is owned.
    let key = unsafe { cx.check(qjs::JS_AtomToValue(cx.raw(), property)) }?;
    Ok(Some(key).filter(|key| tag(key.raw()) != qjs::JS_TAG_SYMBOL))
}

fn set(
    cx: Cx<'_>,
    this: RawValue<'_>,
    property: qjs::JSAtom,
    value: RawValue<'_>,
) -> Result<bool, Failure> {
    let object = object_at(cx, this)?;
    let Some(key) = key(cx, property)? else {
        let text = format!("a {} has no symbols as keys", object.class().name);
        return Err(Error::script(text).into());
    };
    call_method(cx, object, "set", &[key.raw(), value])?;
    Ok(true)
}

// SAFETY: called by QuickJS alone, with a context that has a core, a live object of such a class, and a place for the
// property or none.
unsafe extern "C" fn get_own_property(
    ctx: *mut qjs::JSContext,
    found: *mut qjs::JSPropertyDescriptor,
    this: qjs::JSValue,
    property: qjs::JSAtom,
) -> c_int {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this) = unsafe { (Cx::from_raw(ctx), RawValue::from_js(this)) };
    status(cx, |cx| {
        let object = object_at(cx, this)?;
        let Some(key) = key(cx, property)? else {
            return Ok(false);
        };
        let name = cx.text(key.raw())?;
        let mut methods = object.class().methods.iter();
        if methods.any(|method| camel_case(method.name) == name) {
            return Ok(false);
        }
        let value = call_method(cx, object, "get", &[key.raw()])?;
        if is_nothing(value.raw()) {
            return Ok(false);
        }
        if !found.is_null() {
            let flags = qjs::JS_PROP_C_W_E as c_int;
            let property = qjs::JSPropertyDescriptor {
                flags,
                value: value.into_raw(),
                getter: UNDEFINED.js(),
                setter: UNDEFINED.js(),
            };
            // SAFETY: the place is QuickJS's, which takes the reference over.
            unsafe { found.write(property) };
        }
        Ok(true)
    })
}

// SAFETY: called by QuickJS alone, with a context that has a core, a live object of such a class, and places for the
// list and its length.
unsafe extern "C" fn get_own_property_names(
    ctx: *mut qjs::JSContext,
    list: *mut *mut qjs::JSPropertyEnum,
    length: *mut u32,
    this: qjs::JSValue,
) -> c_int {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this) = unsafe { (Cx::from_raw(ctx), RawValue::from_js(this)) };
    let listed = status(cx, |cx| {
        let keys = call_method(cx, object_at(cx, this)?, "keys", &[])?;
        let mut names = Vec::new();
        for index in 0..u32::try_from(cx.length(keys.raw())?).unwrap_or(0) {
            names.push(cx.text(cx.at(keys.raw(), index)?.raw())?);
        }
        // SAFETY: the places are QuickJS's, which releases the list and its atoms. Nothing fails once the first atom is
        // made.
        unsafe {
            let bytes = names.len().max(1) * size_of::<qjs::JSPropertyEnum>();
            let entries = qjs::js_malloc(cx.raw(), bytes as _).cast::<qjs::JSPropertyEnum>();
            if entries.is_null() {
                return Err(Thrown.into());
            }
            for (at, name) in names.iter().enumerate() {
                entries.add(at).write(qjs::JSPropertyEnum {
                    is_enumerable: true,
                    atom: cx.atom(name),
                });
            }
            list.write(entries);
            length.write(names.len() as u32);
        }
        Ok(true)
    });
    if listed < 0 { -1 } else { 0 }
}

// SAFETY: called by QuickJS alone, with a context that has a core and a live object of such a class.
unsafe extern "C" fn delete_property(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    property: qjs::JSAtom,
) -> c_int {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this) = unsafe { (Cx::from_raw(ctx), RawValue::from_js(this)) };
    status(cx, |cx| set(cx, this, property, NULL))
}

// SAFETY: called by QuickJS alone, with a context that has a core, a live object of such a class, and live values.
unsafe extern "C" fn define_own_property(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    property: qjs::JSAtom,
    value: qjs::JSValue,
    _: qjs::JSValue,
    _: qjs::JSValue,
    flags: c_int,
) -> c_int {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this, value) = unsafe {
        (
            Cx::from_raw(ctx),
            RawValue::from_js(this),
            RawValue::from_js(value),
        )
    };
    status(cx, |cx| {
        if flags as u32 & qjs::JS_PROP_HAS_VALUE == 0 {
            let class = object_at(cx, this)?.class().with_article();
            let text = format!("a key of {class} has a value and nothing else");
            return Err(Error::script(text).into());
        }
        set(cx, this, property, value)
    })
}

// SAFETY: called by QuickJS alone, with a context that has a core, a live object of such a class, and live values.
unsafe extern "C" fn set_property(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    property: qjs::JSAtom,
    value: qjs::JSValue,
    _: qjs::JSValue,
    _: c_int,
) -> c_int {
    // SAFETY: QuickJS calls this with a context that is alive until it returns, and holds the values as long.
    let (cx, this, value) = unsafe {
        (
            Cx::from_raw(ctx),
            RawValue::from_js(this),
            RawValue::from_js(value),
        )
    };
    status(cx, |cx| set(cx, this, property, value))
}
