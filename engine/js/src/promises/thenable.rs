//! Results that are no promises but have a function `then`, such as the queries of builders: they are awaited as
//! `await` does it.

use crate::values::objects;
use crate::vm::sys::{Cx, RawValue, Thrown, UNDEFINED, Val, class_id, is_object, is_promise};

/// Makes a promise of a result that `await` waits for; `None` of any other. `then` is asked for once.
///
/// # Errors
/// A getter of the script has thrown.
#[inline]
pub(crate) fn promise_of(cx: Cx<'_>, returned: &Val) -> Result<Option<Val>, Thrown> {
    let value = returned.raw();
    if !is_object(value) {
        return Ok(None);
    }
    if is_promise(value) {
        return Ok(Some(cx.dup(value)));
    }
    let (class, classes) = (class_id(value), &cx.core().classes);
    if class == classes.array || (class != classes.object && objects::at(cx, value).is_some()) {
        return Ok(None);
    }
    let then = cx.get_atom(value, cx.core().atoms.then)?;
    if !cx.is_function(then.raw()) {
        return Ok(None);
    }
    adopt(cx, value, &then).map(Some)
}

/// Makes a promise that follows an object by its function `then`.
#[cold]
fn adopt(cx: Cx<'_>, value: RawValue<'_>, then: &Val) -> Result<Val, Thrown> {
    let (promise, resolve, reject) = cx.promise()?;
    if cx
        .call(then.raw(), value, &[resolve.raw(), reject.raw()])
        .is_err()
    {
        // The first call of either counts, as for `await`.
        let thrown = cx.exception();
        cx.call(reject.raw(), UNDEFINED, &[thrown.raw()])?;
    }
    Ok(promise)
}
