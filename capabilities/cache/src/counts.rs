//! Values that are whole numbers, and sums of them.

use crate::entries::Entry;
use sampan_host::Error;
use sampan_host::topics::Payload;
use std::sync::Arc;
use std::time::Duration;

/// Returns the sum of the number of an entry, which is 0 where there is none, and `by`, and the entry that has it. The
/// entry keeps its time; a new one counts until `until`.
///
/// # Errors
/// The value is not a whole number, or the sum is not between -2^63 and 2^63 - 1.
pub(crate) fn added(
    before: Option<&Entry>,
    by: i64,
    until: Option<Duration>,
) -> Result<(i64, Entry), Error> {
    let (number, until) = match before {
        None => (0, until),
        Some(entry) => (whole(&entry.value)?, entry.until),
    };
    let sum = number.checked_add(by);
    let sum = sum.ok_or_else(|| {
        Error::script(format!(
            "{number} and {by} have no sum between -2^63 and 2^63 - 1"
        ))
    })?;
    let value = Arc::new(Payload::Json(sum.to_string()));
    Ok((sum, Entry { value, until }))
}

fn whole(value: &Payload) -> Result<i64, Error> {
    let found = match value {
        // Scripts see it as a key that is not there.
        Payload::Json(json) if json == "null" => Some(0),
        Payload::Json(json) => json.parse().ok(),
        Payload::Text(_) | Payload::Bytes(_) => None,
    };
    found.ok_or_else(|| {
        let kind = match value {
            Payload::Text(_) => "text",
            Payload::Bytes(_) => "bytes",
            Payload::Json(_) => "another value",
        };
        Error::script(format!(
            "cache.incr: the key has {kind} and not a whole number"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: Payload, until: Option<u64>) -> Entry {
        Entry {
            value: Arc::new(value),
            until: until.map(Duration::from_secs),
        }
    }

    fn json(text: &str) -> Entry {
        entry(Payload::Json(text.to_owned()), Some(7))
    }

    #[test]
    fn a_number_is_added_to_and_its_time_stays() {
        let minute = Some(Duration::from_secs(60));
        let sum = |before: Option<&Entry>, by| {
            let (sum, entry) = added(before, by, minute).expect("a sum");
            let Payload::Json(json) = &*entry.value else {
                panic!("{entry:?}");
            };
            assert_eq!(*json, sum.to_string());
            (sum, entry.until.map(|until| until.as_secs()))
        };
        assert_eq!(sum(None, 1), (1, Some(60)));
        assert_eq!(sum(Some(&json("41")), 1), (42, Some(7)));
        assert_eq!(sum(Some(&json("5")), -8), (-3, Some(7)));
        assert_eq!(sum(Some(&json("null")), 2), (2, Some(7)));
        let forever = entry(Payload::Json("1".to_owned()), None);
        assert_eq!(sum(Some(&forever), 1), (2, None));
    }

    #[test]
    fn values_that_are_not_whole_numbers_are_errors() {
        for wrong in [
            entry(Payload::Text("1".to_owned()), None),
            entry(Payload::Bytes(b"1".to_vec()), None),
            json("1.5"),
            json("[1]"),
            json("9223372036854775808"),
        ] {
            assert!(added(Some(&wrong), 1, None).is_err(), "{wrong:?}");
        }
        let most = json("9223372036854775807");
        assert!(added(Some(&most), 1, None).is_err());
        assert!(added(Some(&most), -1, None).is_ok());
    }
}
