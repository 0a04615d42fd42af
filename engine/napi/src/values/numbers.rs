//! Numbers between JavaScript and capabilities.

use crate::sys::{Js, Thrown};
use crate::vm::core::Cx;
use sampan_host::Value;

/// The largest whole number that a JavaScript number holds exactly, with all below it.
const SAFE_MAX: i64 = 9_007_199_254_740_991;

/// A number where that is exact, a BigInt otherwise.
#[inline]
pub(crate) fn integer<'a>(cx: Cx<'a>, value: i64) -> Result<Js<'a>, Thrown> {
    if let Ok(small) = i32::try_from(value) {
        return cx.whole(small);
    }
    if (-SAFE_MAX..=SAFE_MAX).contains(&value) {
        return cx.number(value as f64);
    }
    cx.big_int(value)
}

/// A number as a capability has it.
pub(crate) fn number(value: f64) -> Value {
    let is_whole = value.fract() == 0.0 && value.abs() <= SAFE_MAX as f64;
    match is_whole && (value != 0.0 || value.is_sign_positive()) {
        true => Value::Int(value as i64),
        false => Value::Float(value),
    }
}
