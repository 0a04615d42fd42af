//! The validation of a single value: what its type takes, and the bounds of its options.

use crate::address;
use crate::date;
use crate::limits::PATTERN_TEXT_BYTES_MAX;
use crate::schema::{DateBound, DateRange, Length, TextForm};
use crate::texts::Message;
use regex_lite::Regex;
use sampan_host::reader::Kind;
use sampan_host::{Error, Handle, Reader, Value};
use std::cmp::Ordering;

/// A valid value, or the reason why it is not valid.
pub(crate) type Checked<T> = Result<T, Message>;

/// A text.
pub(crate) fn text(
    text: String,
    form: TextForm,
    length: Length,
    pattern: Option<&Regex>,
) -> Checked<Value> {
    // Counting is cheaper than all that follows, and bounds it.
    let count = || text.chars().count();
    check_length(length, count, ["chars_min", "chars_max", "chars"])?;
    let fits = match form {
        TextForm::Any => Ok(()),
        TextForm::Email if address::is_email(&text) => Ok(()),
        TextForm::Url if address::is_url(&text) => Ok(()),
        TextForm::Email => Err("email"),
        TextForm::Url => Err("url"),
    };
    fits.map_err(Message::new)?;
    if let Some(pattern) = pattern
        && (text.len() > PATTERN_TEXT_BYTES_MAX || !pattern.is_match(&text))
    {
        return Err(Message::new("pattern"));
    }
    Ok(Value::Text(text))
}

/// Checks how many characters or items there are; `keys` are those of what is said of too few, too many, and another
/// number.
pub(crate) fn check_length(
    length: Length,
    count: impl FnOnce() -> usize,
    keys: [&'static str; 3],
) -> Checked<()> {
    if length.min.is_none() && length.max.is_none() && length.exact.is_none() {
        return Ok(());
    }
    let count = count();
    let said = |key, n: usize| Err(Message::with(key, "n", Value::Int(n as i64)));
    match length {
        Length {
            exact: Some(exact), ..
        } if count != exact => said(keys[2], exact),
        Length { min: Some(min), .. } if count < min => said(keys[0], min),
        Length { max: Some(max), .. } if count > max => said(keys[1], max),
        _ => Ok(()),
    }
}

/// A whole number.
pub(crate) fn integer(kind: Kind, text: Option<&str>) -> Option<Value> {
    match (kind, text) {
        (Kind::Int(number), _) => Some(Value::Int(number)),
        // The other zero.
        (Kind::Float(0.0), _) => Some(Value::Int(0)),
        (_, Some(text)) => text.parse().ok().map(Value::Int),
        _ => None,
    }
}

/// A number. Infinity and NaN are none.
pub(crate) fn number(kind: Kind, text: Option<&str>) -> Option<Value> {
    match (kind, text) {
        (Kind::Float(number), _) => number.is_finite().then_some(Value::Float(number)),
        (_, Some(text)) if text.contains(['.', 'e', 'E']) => {
            let is_decimal = |one: u8| one.is_ascii_digit() || b".eE+-".contains(&one);
            let number = text.bytes().all(is_decimal).then(|| text.parse::<f64>());
            let number = number?.ok().filter(|number| number.is_finite());
            number.map(Value::Float)
        }
        _ => integer(kind, text),
    }
}

/// Checks the bounds of a number.
pub(crate) fn check_range(value: &Value, min: Option<&Value>, max: Option<&Value>) -> Checked<()> {
    if let Some(min) = min.filter(|min| compare(value, min) == Ordering::Less) {
        return Err(Message::with("min", "min", min.clone()));
    }
    if let Some(max) = max.filter(|max| compare(value, max) == Ordering::Greater) {
        return Err(Message::with("max", "max", max.clone()));
    }
    Ok(())
}

/// Compares two numbers, which are not NaN.
fn compare(left: &Value, right: &Value) -> Ordering {
    /// The end of the range of `i64` as a number.
    const INT_END: f64 = 9_223_372_036_854_775_808.0;
    // Integers above 2^53 are exact, so a float is compared as the integer below it.
    let with_float = |left: i64, right: f64| {
        if right >= INT_END {
            return Ordering::Less;
        }
        if right < -INT_END {
            return Ordering::Greater;
        }
        let floor = right.floor();
        let order = left.cmp(&(floor as i64));
        match order {
            Ordering::Equal if floor < right => Ordering::Less,
            order => order,
        }
    };
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => left.cmp(right),
        (Value::Int(left), Value::Float(right)) => with_float(*left, *right),
        (Value::Float(left), Value::Int(right)) => with_float(*right, *left).reverse(),
        (Value::Float(left), Value::Float(right)) => {
            left.partial_cmp(right).unwrap_or(Ordering::Equal)
        }
        _ => Ordering::Equal,
    }
}

/// Returns the boolean that a form or JSON text stands for.
pub(crate) fn boolean(kind: Kind, text: Option<&str>) -> Option<Value> {
    match (kind, text) {
        (Kind::Bool(value), _) => Some(Value::Bool(value)),
        (_, Some("true" | "on" | "yes" | "1")) => Some(Value::Bool(true)),
        (_, Some("false" | "off" | "no" | "0")) => Some(Value::Bool(false)),
        _ => None,
    }
}

/// Checks the bounds of a date.
pub(crate) fn check_date(value: &str, range: &DateRange) -> Checked<()> {
    check_dates(value, range, &|bound| match bound {
        DateBound::Now => date::today(&range.zone),
        DateBound::At(at) => at.clone(),
    })
}

/// Checks the bounds of a date and time in canonical form.
pub(crate) fn check_datetime(value: &str, range: &DateRange) -> Checked<()> {
    let value = date::in_utc(value, &range.zone);
    check_dates(&value, range, &|bound| match bound {
        DateBound::Now => date::in_utc(&date::now_in_utc(), &range.zone),
        DateBound::At(at) => date::in_utc(at, &range.zone),
    })
}

/// Compares a date with its bounds. `text_of` gives the text of a bound that compares with that of the date.
fn check_dates(
    value: &str,
    range: &DateRange,
    text_of: &dyn Fn(&DateBound) -> String,
) -> Checked<()> {
    if let Some(min) = &range.min
        && value < text_of(min).as_str()
    {
        return Err(match min {
            DateBound::Now => Message::new("not_past"),
            DateBound::At(at) => Message::with("date_min", "min", at.as_str().into()),
        });
    }
    if let Some(max) = &range.max
        && value > text_of(max).as_str()
    {
        return Err(match max {
            DateBound::Now => Message::new("not_future"),
            DateBound::At(at) => Message::with("date_max", "max", at.as_str().into()),
        });
    }
    Ok(())
}

/// Reports whether a value is one of those that are taken.
pub(crate) fn is_among(value: &Value, choices: &[Value]) -> bool {
    choices.iter().any(|choice| match (value, choice) {
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            compare(value, choice) == Ordering::Equal
        }
        _ => value == choice,
    })
}

/// Returns the number of items of a list.
///
/// # Errors
/// A table of Lua that has values under other keys too, which would be lost.
pub(crate) fn list_len(reader: &dyn Reader, list: Handle) -> Result<usize, Error> {
    let count = reader.len(list)?;
    match reader.has_other_keys(list) {
        true => Err(Error::script(
            "a list has values under other keys than 1, 2, 3 and so on, which would be lost",
        )),
        false => Ok(count),
    }
}

/// A copy of a plain value of the script; `None` if there is something else in it, or if it nests too deeply.
pub(crate) fn copy(
    reader: &dyn Reader,
    it: Handle,
    depth_left: usize,
    bytes_left: &mut usize,
) -> Result<Option<Value>, Error> {
    let Some(depth_left) = depth_left.checked_sub(1) else {
        return Ok(None);
    };
    let mut spend = |bytes: usize| {
        let left = bytes_left.checked_sub(bytes + size_of::<Value>());
        left.map(|left| *bytes_left = left).ok_or_else(too_large)
    };
    spend(0)?;
    Ok(Some(match reader.kind(it) {
        Kind::Nothing | Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(value),
        Kind::Int(value) => Value::Int(value),
        Kind::Float(value) => Value::Float(value),
        Kind::Text | Kind::Bytes => {
            let bytes = reader.with_bytes(it, <[u8]>::to_vec).unwrap_or_default();
            spend(bytes.len())?;
            match String::from_utf8(bytes) {
                Ok(text) if reader.kind(it) == Kind::Text => Value::Text(text),
                Ok(text) => Value::Bytes(text.into_bytes()),
                Err(error) => Value::Bytes(error.into_bytes()),
            }
        }
        Kind::List => {
            let mut items = Vec::new();
            for at in 0..list_len(reader, it)? {
                let item = reader.round(|| {
                    let item = reader.item(it, at)?;
                    copy(reader, item, depth_left, bytes_left)
                })?;
                let Some(item) = item else { return Ok(None) };
                items.push(item);
            }
            Value::List(items)
        }
        Kind::Map => {
            let mut members = Vec::new();
            let mark = reader.mark();
            for key in reader.keys(it)?.iter() {
                let Some(name) = reader.text(key) else {
                    return Ok(None);
                };
                let member = reader.round(|| {
                    let member = reader.value(it, key)?;
                    copy(reader, member, depth_left, bytes_left)
                })?;
                let Some(member) = member else {
                    return Ok(None);
                };
                members.push((name, member));
            }
            reader.release(mark);
            Value::Map(members)
        }
        Kind::Function | Kind::Object(_) | Kind::Other(_) => return Ok(None),
    }))
}

#[cold]
pub(crate) fn too_large() -> Error {
    Error::script("the data are too large (memory_bytes_max)")
}
