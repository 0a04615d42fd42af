//! JSON as `jsonb` writes it again (`jsonb_util.c` of PostgreSQL): the names of an object sorted, the last of equal
//! ones kept, numbers as `numeric` has them, spaces and escapes in one way.

use super::canonical;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The most values inside of each other.
const DEPTH_MAX: usize = 100;

/// Returns JSON as `jsonb::text` gives it; `None` if it is not JSON, or is nested too deeply.
pub(super) fn jsonb(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    write_value(serde_json::from_str(text).ok()?, &mut out, DEPTH_MAX)?;
    Some(out)
}

fn write_value(value: &RawValue, out: &mut String, depth_left: usize) -> Option<()> {
    let depth_left = depth_left.checked_sub(1)?;
    let text = value.get();
    match text.as_bytes().first()? {
        b'{' => {
            // The last of equal names stays.
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
            let mut members: Vec<_> = members.into_iter().collect();
            // Those of equal length stay in the order of their bytes.
            members.sort_by_key(|(name, _)| name.len());
            out.push('{');
            for (at, (name, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_string(name, out)?;
                out.push_str(": ");
                write_value(value, out, depth_left)?;
            }
            out.push('}');
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_value(item, out, depth_left)?;
            }
            out.push(']');
        }
        b'"' => write_string(&serde_json::from_str::<String>(text).ok()?, out)?,
        b'-' | b'0'..=b'9' => out.push_str(&numeric(text)?),
        _ => out.push_str(text),
    }
    Some(())
}

/// Writes a string with the escapes of the server, which are those of `serde_json`.
fn write_string(text: &str, out: &mut String) -> Option<()> {
    out.push_str(&serde_json::to_string(text).ok()?);
    Some(())
}

/// Returns a number as `numeric` writes it, which keeps zeros behind the point.
fn numeric(text: &str) -> Option<String> {
    let mut number = canonical::number(text, None)?.into_owned();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().ok()?),
        None => (text, 0_i64),
    };
    let fraction = mantissa
        .split_once('.')
        .map_or("", |(_, fraction)| fraction);
    let scale = i64::try_from(fraction.len()).ok()? - exponent;
    let scale = usize::try_from(scale.max(0)).ok()?;
    let known = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    if scale > 0 && known == 0 {
        number.push('.');
    }
    number.extend(std::iter::repeat_n('0', scale.saturating_sub(known)));
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_written_as_the_server_does() {
        for (text, expected) in [
            (" null ", Some("null")),
            (
                "[1,2.50,-0.0,1e2,1.5e-3]",
                Some("[1, 2.50, 0.0, 100, 0.0015]"),
            ),
            ("[ ]", Some("[]")),
            (
                r#"{"bb":1,"a":{"y":[],"x":{}},"c":true,"a":2}"#,
                Some(r#"{"a": 2, "c": true, "bb": 1}"#),
            ),
            (
                r#""\u00e4\/\ud83d\ude00\u0001\n\"\\""#,
                Some("\"ä/😀\\u0001\\n\\\"\\\\\""),
            ),
            (
                r#"["\u001f\b\f\r\t\u007f",{"\u0062":1,"b":-1E-2,"aa":2e3}]"#,
                Some("[\"\\u001f\\b\\f\\r\\t\u{7f}\", {\"b\": -0.01, \"aa\": 2000}]"),
            ),
            (r#""\ud83d""#, None),
            (r#"{"\ud83d":1}"#, None),
            ("[1,]", None),
            ("{1:2}", None),
            ("[1 2]", None),
            ("nil", None),
            ("1 2", None),
            ("", None),
        ] {
            assert_eq!(jsonb(text).as_deref(), expected, "{text}");
        }
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(jsonb(&nested(DEPTH_MAX)), Some(nested(DEPTH_MAX)));
        assert_eq!(jsonb(&nested(DEPTH_MAX + 1)), None);
        assert_eq!(jsonb(&nested(100_000)), None);
    }
}
