//! The limits of built-ins that copy the elements of a value into a typed array.

use crate::values::inspect::{self, FoundProperty};
use crate::vm::limits::{BUILTIN_LENGTH_MAX, HOLES_MAX, PROTOTYPES_MAX, TYPED_ELEMENTS_MAX};
use crate::vm::sys::{Cx, RawValue, Thrown, UNDEFINED, class_id, is_nothing, is_object};
use rquickjs::qjs;

/// Returns why the elements of a value may not be copied without polls; `None` if they may. `iterates` says that the
/// built-in walks the iterator of a value that has one: it collects what that gives, within the memory limit. A length
/// that a script computes is not known here, and is not limited.
pub(super) fn refusal(
    cx: Cx<'_>,
    value: RawValue<'_>,
    iterates: bool,
) -> Result<Option<String>, Thrown> {
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    let is_buffer = unsafe { qjs::JS_IsArrayBuffer(value.js()) };
    if !is_object(value) || is_buffer || inspect::is_typed_array(value) {
        return Ok(None);
    }
    let (length, max, what) = if class_id(value) == cx.core().classes.array {
        (cx.length(value)?, TYPED_ELEMENTS_MAX, "an array")
    } else {
        if iterates {
            match inspect::property(cx, value, cx.core().atoms.iterator, UNDEFINED)? {
                FoundProperty::Value(method) if is_nothing(method.raw()) => {}
                FoundProperty::Nothing => {}
                FoundProperty::Value(_) | FoundProperty::Computed => return Ok(None),
            }
        }
        let length = match inspect::named(cx, value, c"length", UNDEFINED)? {
            FoundProperty::Value(length) if !is_object(length.raw()) => {
                inspect::to_length(cx, length.raw())?
            }
            FoundProperty::Nothing => 0,
            FoundProperty::Value(_) | FoundProperty::Computed => return Ok(None),
        };
        (length, BUILTIN_LENGTH_MAX, "an object that is no array")
    };
    if length > max {
        return Ok(Some(format!("length above {max} of {what}")));
    }
    // An element that is missing is looked for in the prototypes.
    let is_far = length > HOLES_MAX && !inspect::is_shallow(cx, value, PROTOTYPES_MAX);
    Ok(is_far.then(|| "too many prototypes, or a proxy".into()))
}
