//! JSON values of two readers, compared.

use serde_json::Value;

/// The part by which two doubles may differ: `serde_json` reads the first 19 digits of a number, and rounds twice.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Reports whether two values are the same: members in any order, numbers as doubles within [`ROUNDING`].
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (
                one.as_f64().unwrap_or(f64::NAN),
                other.as_f64().unwrap_or(f64::NAN),
            );
            one == other || (one - other).abs() <= one.abs() * ROUNDING
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| same(value, other))
            };
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_members_does_not_matter_and_their_values_do() {
        assert!(same(
            &json!({ "a": [1, 2.5], "b": null }),
            &json!({ "b": null, "a": [1.0, 2.5] })
        ));
        for (one, other) in [
            (json!([1]), json!([1, 1])),
            (json!({ "a": 1 }), json!({ "b": 1 })),
            (json!(1), json!("1")),
        ] {
            assert!(!same(&one, &other), "{one} {other}");
        }
    }
}
