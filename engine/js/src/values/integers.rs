//! Whole numbers for scripts.

use crate::vm::sys::{Cx, Thrown, Val, number, whole};
use rquickjs::qjs;

/// The largest whole number that a JavaScript number holds exactly, with all below it.
const SAFE_MAX: i64 = 9_007_199_254_740_991;

/// A number where that is exact, a BigInt otherwise.
#[inline]
pub(crate) fn integer(cx: Cx<'_>, value: i64) -> Result<Val, Thrown> {
    if let Ok(small) = i32::try_from(value) {
        return Ok(cx.dup(whole(small)));
    }
    if (-SAFE_MAX..=SAFE_MAX).contains(&value) {
        return Ok(cx.dup(number(value as f64)));
    }
    // SAFETY: the context is alive. The reference that comes back is owned.
    unsafe { cx.check(qjs::JS_NewBigInt64(cx.raw(), value)) }
}
