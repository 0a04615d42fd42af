//! The kinds of values of a script are to a reader. Looking runs no script.

use crate::values::objects;
use crate::values::value::{float_is_positive, is_bytes};
use crate::vm::sys::whole_number;
use crate::vm::sys::{
    Cx, RawValue, Thrown, class_id, float_of, is_promise, is_string, is_true, tag,
};
use rquickjs::qjs;
use sampan_host::reader::Kind;

/// The most proxies that may stand one behind the other before an array.
const PROXIES_MAX: usize = 16;

/// Returns the kind of a value.
pub(super) fn kind(cx: Cx<'_>, value: RawValue<'_>) -> Kind {
    match tag(value) {
        qjs::JS_TAG_UNDEFINED => Kind::Nothing,
        qjs::JS_TAG_NULL => Kind::Null,
        qjs::JS_TAG_BOOL => Kind::Bool(is_true(value)),
        qjs::JS_TAG_INT | qjs::JS_TAG_FLOAT64 => match whole_number(value) {
            Some(whole) if whole != 0 || float_is_positive(value) => Kind::Int(whole),
            _ => Kind::Float(float_of(value)),
        },
        qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => big_int(cx, value),
        qjs::JS_TAG_OBJECT => object(cx, value),
        _ if is_string(value) => Kind::Text,
        _ => Kind::Other("symbol"),
    }
}

/// A BigInt is a whole number like any other if it fits.
#[cold]
fn big_int(cx: Cx<'_>, value: RawValue<'_>) -> Kind {
    let mut whole = 0;
    // SAFETY: the value is alive, `whole` is writable. Of a number that does not fit the lower 64 bits are read, which
    // make another. The reference that comes back is owned.
    let fits = unsafe {
        qjs::JS_ToBigInt64(cx.raw(), &raw mut whole, value.js());
        let same = cx.check(qjs::JS_NewBigInt64(cx.raw(), whole));
        same.map(|same| qjs::JS_IsStrictEqual(cx.raw(), same.js(), value.js()))
    };
    match fits {
        Ok(true) => return Kind::Int(whole),
        Ok(false) => {}
        // There is no memory, which stops the run.
        Err(Thrown) => drop(cx.exception()),
    }
    Kind::Other("BigInt")
}

/// Reports whether a value tells at once what it is.
#[inline]
pub(super) fn is_simple(cx: Cx<'_>, value: RawValue<'_>) -> bool {
    match tag(value) {
        qjs::JS_TAG_OBJECT => {
            let (class, classes) = (class_id(value), &cx.core().classes);
            class == classes.object || class == classes.array
        }
        tag => tag != qjs::JS_TAG_BIG_INT,
    }
}

fn object(cx: Cx<'_>, value: RawValue<'_>) -> Kind {
    if class_id(value) == cx.core().classes.object {
        return Kind::Map;
    }
    if let Some(object) = objects::at(cx, value) {
        return Kind::Object(object);
    }
    if class_id(value) == cx.core().classes.boxed_big_int {
        return Kind::Other("BigInt object");
    }
    if is_date(cx, value) {
        return Kind::Text;
    }
    if cx.is_function(value) {
        return Kind::Function;
    }
    if is_bytes(value) {
        return Kind::Bytes;
    }
    if is_promise(value) {
        return Kind::Other("promise");
    }
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    if unsafe { qjs::JS_IsSet(value.js()) } {
        return Kind::Other("Set");
    }
    match is_list(cx, value) {
        true => Kind::List,
        false => Kind::Map,
    }
}

/// Reports whether a value is a `Date`, which is its text to a reader.
pub(super) fn is_date(cx: Cx<'_>, value: RawValue<'_>) -> bool {
    class_id(value) == cx.core().classes.date
}

/// Reports whether a value is an array, or a proxy of one.
pub(super) fn is_list(cx: Cx<'_>, value: RawValue<'_>) -> bool {
    let array = cx.core().classes.array;
    if class_id(value) == array {
        return true;
    }
    let mut at = cx.dup(value);
    for _ in 0..PROXIES_MAX {
        // SAFETY: `at` owns a reference of the value, and this only reads its class.
        if !unsafe { qjs::JS_IsProxy(at.js()) } {
            break;
        }
        // SAFETY: the proxy is alive. The reference that comes back is owned.
        match unsafe { cx.check(qjs::JS_GetProxyTarget(cx.raw(), at.js())) } {
            Ok(target) => at = target,
            Err(Thrown) => {
                // The proxy was revoked.
                drop(cx.exception());
                return false;
            }
        }
    }
    class_id(at.raw()) == array
}

/// Reports whether a value is a `Map`.
#[inline]
pub(super) fn is_map(value: RawValue<'_>) -> bool {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    unsafe { qjs::JS_IsMap(value.js()) }
}
