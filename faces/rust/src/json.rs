//! Values from and to JSON.

use crate::error::{Error, ErrorKind};
use sampan_host::Value;
use serde_json::{Map, Number};

/// A value from a text of JSON. Whole numbers that fit into 64 bits with a sign stay exact. Larger ones become floats,
/// which keep some 16 digits.
///
/// # Errors
/// The text is not JSON.
pub fn from_json(text: &[u8]) -> Result<Value, Error> {
    let read: serde_json::Value = serde_json::from_slice(text)
        .map_err(|error| Error::new(ErrorKind::Config, format!("no JSON: {error}")))?;
    Ok(of(read))
}

fn of(read: serde_json::Value) -> Value {
    match read {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(whole) => Value::Int(whole),
            None => Value::Float(number.as_f64().unwrap_or_default()),
        },
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Array(items) => Value::List(items.into_iter().map(of).collect()),
        serde_json::Value::Object(members) => Value::Map(
            members
                .into_iter()
                .map(|(key, value)| (key, of(value)))
                .collect(),
        ),
    }
}

/// A value as a text of JSON. Floats without a fraction are written as whole numbers, and -0 as 0, as `JSON.stringify`
/// does: readers take 2.0 and -0.0 for no integer.
///
/// # Errors
/// It holds what JSON has no form for: bytes that are no text, numbers that are none, native objects.
pub fn to_json(value: &Value) -> Result<String, Error> {
    Ok(written(value)?.to_string())
}

fn written(value: &Value) -> Result<serde_json::Value, Error> {
    let none = |what: &str| Error::new(ErrorKind::Script, format!("{what} has no form in JSON"));
    Ok(match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Float(value) if is_whole(*value) => (*value as i64).into(),
        Value::Float(value) => Number::from_f64(*value)
            .ok_or_else(|| none("a number that is not finite"))?
            .into(),
        Value::Text(text) => text.as_str().into(),
        Value::List(items) => {
            let items = items.iter().map(written);
            serde_json::Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Map(members) => {
            let members = members.iter();
            let members = members.map(|(key, value)| Ok((key.clone(), written(value)?)));
            serde_json::Value::Object(members.collect::<Result<Map<_, _>, Error>>()?)
        }
        other => return Err(none(&other.type_name())),
    })
}

/// Reports whether a float has no fraction and fits into 64 bits with a sign.
fn is_whole(value: f64) -> bool {
    const WHOLE_END: f64 = 9_223_372_036_854_775_808.0;
    value.fract() == 0.0 && value.abs() < WHOLE_END
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_goes_both_ways() {
        let text = r#"{"a":[1,2.5,"x",null,true],"b":9007199254740993}"#;
        let value = from_json(text.as_bytes()).expect("JSON");
        assert_eq!(value.get("b"), Some(&Value::Int(9_007_199_254_740_993)));
        assert_eq!(to_json(&value).expect("a text"), text);
        assert!(from_json(b"{").is_err());
        assert!(to_json(&Value::Bytes(vec![255])).is_err());
        assert!(to_json(&Value::Float(f64::NAN)).is_err());
    }

    #[test]
    fn floats_without_a_fraction_are_written_as_whole_numbers() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (2.0, "2"),
            (-3.0, "-3"),
            (1.5, "1.5"),
            (1_152_921_504_606_846_976.0, "1152921504606846976"),
            (-9_223_372_036_854_774_784.0, "-9223372036854774784"),
            (9_223_372_036_854_775_808.0, "9.223372036854776e+18"),
            (1e300, "1e+300"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(
                to_json(&Value::Float(value)).expect("a text"),
                text,
                "{value}"
            );
        }
    }

    #[test]
    fn whole_numbers_beyond_64_bits_with_a_sign_become_floats() {
        for (text, value) in [
            ("9223372036854775807", Value::Int(i64::MAX)),
            ("-9223372036854775808", Value::Int(i64::MIN)),
            (
                "18446744073709551615",
                Value::Float(18_446_744_073_709_551_616.0),
            ),
        ] {
            assert_eq!(from_json(text.as_bytes()).expect("JSON"), value);
        }
        assert!(from_json(b"1e400").is_err());
    }
}
