//! The classes whose objects hold no plain data: passed to a capability, they would arrive as empty objects.

use crate::values::inspect::{is_regexp, web_kind};
use crate::vm::sys::{Cx, RawValue, Thrown, class_id};
use rquickjs::qjs;
use sampan_js_contract::refused::{Refused, unpassable};

/// Returns the name and advice for an object of such a class; `None` for others. Looks without running scripts.
#[cold]
pub(crate) fn refused(cx: Cx<'_>, value: RawValue<'_>) -> Result<Option<Refused>, Thrown> {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; these only read its class.
    let (is_map, is_set, is_error) = unsafe {
        (
            qjs::JS_IsMap(value.js()),
            qjs::JS_IsSet(value.js()),
            qjs::JS_IsError(value.js()),
        )
    };
    Ok(if is_map {
        unpassable("Map")
    } else if is_set {
        unpassable("Set")
    } else if is_error {
        unpassable("Error")
    } else if is_regexp(value) {
        unpassable("RegExp")
    } else if class_id(value) == cx.core().classes.request {
        unpassable("Request")
    } else if let Some(kind) = web_kind(cx, value)? {
        unpassable(&cx.text(kind.raw())?)
    } else {
        None
    })
}
