//! `JSON.stringify`, with our own writer where it can be used, and a limit for lists of keys.

use crate::values::inspect;
use crate::values::json_write;
use crate::vm::limits::{PROTOTYPES_MAX, SEARCH_STEPS_MAX};
use crate::vm::sys::{
    Cx, Failure, RawValue, Val, arguments, class_id, is_object, is_string, native, throw_range,
};
use rquickjs::qjs;
use std::ffi::c_int;

/// The most keys that a list of keys may have. QuickJS compares each with all before it.
const KEYS_MAX: i64 = 4096;

/// Writes a value alone with our own writer, which is several times faster, and all else with QuickJS's.
// SAFETY: called by QuickJS alone, with a context that has a core, `argc` values and one datum.
pub(super) unsafe extern "C" fn stringify(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    argc: c_int,
    argv: *mut qjs::JSValue,
    _: c_int,
    data: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    native(cx, |cx| {
        // SAFETY: QuickJS passes `argc` values, and the function was made with one datum. All are held until this
        // returns.
        let (this, args, original) = unsafe {
            let this = RawValue::from_js(this);
            (this, arguments(argc, argv), RawValue::from_js(*data))
        };
        if let [value] = args
            && let Some(text) = json_write::standard(cx, *value)?
        {
            return Ok(text);
        }
        if let [value, list, rest @ ..] = args
            && let Some(list) = keys(cx, *list)?
        {
            let args = [&[*value, list.raw()], rest].concat();
            return Ok(cx.call(original, this, &args)?);
        }
        Ok(cx.call(original, this, args)?)
    })
}

/// Returns a copy of a list of keys, so that the keys used are those that were measured. `None` for what is no array.
fn keys(cx: Cx<'_>, list: RawValue<'_>) -> Result<Option<Val>, Failure> {
    let refuse = |why: &str| throw_range(cx, &format!("JSON.stringify: {why}"));
    if !is_object(list) || cx.is_function(list) {
        return Ok(None);
    }
    if inspect::is_proxy(list) {
        return Err(refuse("a proxy as the list of keys"));
    }
    if class_id(list) != cx.core().classes.array {
        return Ok(None);
    }
    let length = cx.length(list)?;
    if length > KEYS_MAX {
        return Err(refuse(&format!("more than {KEYS_MAX} keys in the list")));
    }
    if !inspect::is_shallow(cx, list, PROTOTYPES_MAX) {
        return Err(refuse("too many prototypes, or a proxy"));
    }
    let (mut keys, mut characters) = (Vec::new(), 0_i64);
    for index in 0..length {
        let key = cx.at(list, index as u32)?;
        if is_string(key.raw()) {
            characters = characters.saturating_add(cx.length(key.raw())?);
        }
        keys.push(key);
    }
    if characters.saturating_mul(length) > SEARCH_STEPS_MAX {
        return Err(refuse("the keys in the list are too long"));
    }
    Ok(Some(cx.array(keys)?))
}
