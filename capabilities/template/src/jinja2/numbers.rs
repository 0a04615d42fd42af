//! Numbers of texts. Unlike minijinja's, these give their default for what is not a number.

use super::given::Given;
use minijinja::value::{StringInput, ValueKind};
use minijinja::{Error, State, Value};

/// Beyond it a float has no whole number of 128 bits.
const WHOLE_MAX: f64 = 1.7e38;

pub(super) fn int(
    state: &mut State<'_, '_>,
    value: &Value,
    given: &Given<'_>,
) -> Result<Value, Error> {
    let base = given.count("base").unwrap_or(10);
    let found = match value.kind() {
        ValueKind::Bool => Some(i128::from(value.is_true())),
        ValueKind::Number if value.is_integer() => return Ok(value.clone()),
        ValueKind::Number => f64::try_from(value.clone()).ok().and_then(whole),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            whole_of_text(text, base).or_else(|| float_of_text(text).and_then(whole))
        }
        ValueKind::Undefined => {
            StringInput::new(state, value)?;
            None
        }
        _ => None,
    };
    Ok(match found {
        Some(number) => Value::from(number),
        None => given.get("default").cloned().unwrap_or(Value::from(0)),
    })
}

pub(super) fn float(
    state: &mut State<'_, '_>,
    value: &Value,
    given: &Given<'_>,
) -> Result<Value, Error> {
    let found = match value.kind() {
        ValueKind::Bool => Some(f64::from(u8::from(value.is_true()))),
        ValueKind::Number => f64::try_from(value.clone()).ok(),
        ValueKind::String => float_of_text(value.as_str().unwrap_or_default()),
        ValueKind::Undefined => {
            StringInput::new(state, value)?;
            None
        }
        _ => None,
    };
    Ok(match found {
        Some(number) => Value::from(number),
        None => given.get("default").cloned().unwrap_or(Value::from(0.0)),
    })
}

fn whole(number: f64) -> Option<i128> {
    (number.abs() < WHOLE_MAX).then_some(number as i128)
}

fn float_of_text(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// Reads a whole number as Python does: with a sign, the prefix of its base, and `_` between digits.
fn whole_of_text(text: &str, base: usize) -> Option<i128> {
    let text = text.trim();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefix = match base {
        2 => "0b",
        8 => "0o",
        16 => "0x",
        3..=36 => "",
        _ => return None,
    };
    let digits = match digits.get(..prefix.len()) {
        Some(found) if found.eq_ignore_ascii_case(prefix) => &digits[prefix.len()..],
        _ => digits,
    };
    let is_wrong = digits.starts_with(['+', '-', '_']) || digits.ends_with('_');
    if is_wrong || digits.contains("__") {
        return None;
    }
    let number = i128::from_str_radix(&digits.replace('_', ""), base as u32).ok()?;
    Some(if is_negative { -number } else { number })
}
