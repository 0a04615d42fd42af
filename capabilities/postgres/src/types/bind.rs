//! Values of scripts as parameters of a type that the server has found.
//!
//! All go as text but for `bytea`. The server reads dates, numbers and JSON itself, so its errors tell what is wrong
//! with them. Whole numbers and booleans are checked here, where the message can name the parameter.

use super::array;
use super::dates;
use super::oids::{self, Oid};
use bytes::{BufMut, BytesMut};
use sampan_host::Value;

/// The reason for which text is refused.
pub(crate) const HAS_NUL: &str =
    "PostgreSQL keeps no text with the character NUL: use bytes, in a column of type bytea";

/// Returns the format in which a parameter of a type goes: 0 for text, 1 for binary.
pub(crate) fn format(oid: Oid) -> i16 {
    i16::from(oid == oids::BYTEA)
}

/// Writes a parameter with its length.
///
/// # Errors
/// The reason for which the type does not take the value.
pub(crate) fn write(value: &Value, oid: Oid, out: &mut BytesMut) -> Result<(), String> {
    if *value == Value::Null {
        out.put_i32(-1);
        return Ok(());
    }
    let start = out.len();
    out.put_i32(0);
    write_value(value, oid, out)?;
    let len = i32::try_from(out.len() - start - 4).map_err(|_| "too large".to_owned())?;
    out[start..start + 4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

fn write_value(value: &Value, oid: Oid, out: &mut BytesMut) -> Result<(), String> {
    match oid {
        oids::INT2 => write_integer(value, oid, i16::MIN.into(), i16::MAX.into(), out),
        oids::INT4 => write_integer(value, oid, i32::MIN.into(), i32::MAX.into(), out),
        oids::INT8 => write_integer(value, oid, i64::MIN, i64::MAX, out),
        oids::OID => write_integer(value, oid, 0, u32::MAX.into(), out),
        oids::BOOL => write_bool(value, out),
        oids::BYTEA => match value {
            Value::Bytes(bytes) => put(bytes, out),
            Value::Text(text) => put(text.as_bytes(), out),
            other => Err(unfit(other, oid, "")),
        },
        oids::FLOAT4 | oids::FLOAT8 | oids::NUMERIC => match value {
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => write_text(value, oid, out),
            // The server reads it, so that no digit is lost.
            Value::Text(text) if text.trim().parse::<f64>().is_ok() => write_text(value, oid, out),
            other => Err(unfit(other, oid, "")),
        },
        oids::DATE | oids::TIMESTAMP | oids::TIMESTAMPTZ | oids::TIME | oids::TIMETZ => match value
        {
            Value::Text(text) => match dates::far_year(text)? {
                Some(text) => put(text.as_bytes(), out),
                None => write_text(value, oid, out),
            },
            Value::Float(number) if number.is_nan() => {
                Err("NaN, or an invalid Date, is no time".to_owned())
            }
            // Where cells are times, one of `infinity` is such a number.
            Value::Float(number) if number.is_infinite() => write_text(value, oid, out),
            other => {
                let advice = ": give text such as 2026-01-31 12:00:00, or write to_timestamp(?) for seconds since 1970";
                Err(unfit(other, oid, advice))
            }
        },
        oids::JSON | oids::JSONB => match value {
            Value::Bool(value) => put(value.to_string().as_bytes(), out),
            Value::List(_) | Value::Map(_) => Err(unfit(value, oid, ": give it as JSON text")),
            other => write_text(other, oid, out),
        },
        _ => write_text(value, oid, out),
    }
}

fn put(bytes: &[u8], out: &mut BytesMut) -> Result<(), String> {
    out.put_slice(bytes);
    Ok(())
}

/// Writes a value for a type that takes text.
fn write_text(value: &Value, oid: Oid, out: &mut BytesMut) -> Result<(), String> {
    match value {
        Value::Text(text) if text.contains('\0') => return Err(HAS_NUL.to_owned()),
        Value::Text(text) => out.put_slice(text.as_bytes()),
        Value::Int(value) => out.put_slice(itoa::Buffer::new().format(*value).as_bytes()),
        Value::Bool(value) => out.put_u8(b'0' + u8::from(*value)),
        Value::Float(value) => out.put_slice(float_text(*value, Some(oid))?.as_bytes()),
        Value::List(items) if oids::element(oid).is_some() || !is_known(oid) => {
            let mut literal = String::new();
            array::write_literal(items, oids::element(oid), &mut literal)?;
            out.put_slice(literal.as_bytes());
        }
        // An empty table of Lua is a list too.
        Value::Map(members) if members.is_empty() && oids::element(oid).is_some() => {
            out.put_slice(b"{}");
        }
        Value::List(_) => {
            let advice = "; for IN write = ANY(?), which takes a list";
            return Err(unfit(value, oid, advice));
        }
        other => return Err(unfit(other, oid, "")),
    }
    Ok(())
}

fn is_known(oid: Oid) -> bool {
    oids::name(oid) != oids::name(0)
}

fn write_integer(
    value: &Value,
    oid: Oid,
    min: i64,
    max: i64,
    out: &mut BytesMut,
) -> Result<(), String> {
    let number = match value {
        Value::Int(value) => *value,
        Value::Bool(value) => i64::from(*value),
        // 2^63 is the first that an i64 does not have.
        Value::Float(value)
            if value.fract() == 0.0 && value.abs() < 9_223_372_036_854_775_808.0 =>
        {
            *value as i64
        }
        Value::Float(value) if value.is_finite() && value.fract() == 0.0 => {
            return Err(outside(value, oid));
        }
        Value::Float(value) => {
            return Err(format!(
                "{value} is not a whole number, as the type {} has",
                oids::name(oid)
            ));
        }
        // SQLite compares text with digits to numbers too: parts of paths are given so.
        Value::Text(text) => text.trim().parse().map_err(|_| {
            let shown: String = text.chars().take(40).collect();
            if is_whole(text.trim()) {
                return outside(&shown, oid);
            }
            format!(
                "the text \"{shown}\" is not a whole number, as the type {} has",
                oids::name(oid)
            )
        })?,
        other => return Err(unfit(other, oid, "")),
    };
    if number < min || number > max {
        return Err(outside(&number, oid));
    }
    out.put_slice(itoa::Buffer::new().format(number).as_bytes());
    Ok(())
}

fn outside(number: &dyn std::fmt::Display, oid: Oid) -> String {
    format!("{number} is outside of the type {}", oids::name(oid))
}

/// Reports whether a text is a whole number of any size.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn write_bool(value: &Value, out: &mut BytesMut) -> Result<(), String> {
    let flag = match value {
        Value::Bool(flag) => *flag,
        Value::Int(0) => false,
        Value::Int(1) => true,
        Value::Text(text) if matches!(&**text, "0" | "f" | "false" | "no" | "off") => false,
        Value::Text(text) if matches!(&**text, "1" | "t" | "true" | "yes" | "on") => true,
        other => return Err(unfit(other, oids::BOOL, ": give a boolean, 0 or 1")),
    };
    out.put_u8(if flag { b't' } else { b'f' });
    Ok(())
}

/// Returns a number as PostgreSQL reads it. `oid` is its type, where it is known.
///
/// # Errors
/// It is NaN, for a type whose cells are never NaN.
pub(crate) fn float_text(value: f64, oid: Option<Oid>) -> Result<String, String> {
    Ok(match value {
        value if value.is_nan() => match oid {
            Some(oids::FLOAT4 | oids::FLOAT8 | oids::NUMERIC) => "NaN".to_owned(),
            _ => return Err("NaN is no number".to_owned()),
        },
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        // A whole number has no point where it is kept as text. JavaScript writes an exponent from here on too.
        value if value.fract() == 0.0 && value.abs() < 1e21 => format!("{value}"),
        value => format!("{value:?}"),
    })
}

fn unfit(value: &Value, oid: Oid, advice: &str) -> String {
    let found = match value {
        Value::Int(value) => format!("the number {value}"),
        Value::Float(value) => format!("the number {value}"),
        other => other.type_name().into_owned(),
    };
    format!("{found} is not of the type {}{advice}", oids::name(oid))
}
