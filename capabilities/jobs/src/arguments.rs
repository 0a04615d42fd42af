//! The arguments of jobs as JSON: whole numbers that would not come back as they were, and unique keys.

use crate::options::{json_text, json_value};
use sampan_host::{Error, Value};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::fmt::Write;

/// A whole number in JSON that neither 64 bits nor a number of the script keep as it is.
#[derive(Debug, PartialEq, Eq)]
struct TooLarge<'a> {
    digits: &'a str,
    /// The place of its item, where the JSON is a list.
    item: usize,
}

/// Checks that all whole numbers in the arguments of a job come back exactly. `json` was written by an engine.
///
/// # Errors
/// The number that does not.
pub(crate) fn check(name: &str, json: &str) -> Result<(), Error> {
    match too_large(json) {
        None => Ok(()),
        Some(number) => Err(refusal(name, number.digits)),
    }
}

/// Checks the arguments of the jobs of a batch, a list.
///
/// # Errors
/// The number that would not come back exactly, and its place.
pub(crate) fn check_list(name: &str, json: &str) -> Result<(), Error> {
    match too_large(json) {
        None => Ok(()),
        Some(number) => Err(of_entry(refusal(name, number.digits), number.item)),
    }
}

/// Adds to an error of an entry of a batch where that stands in the list.
#[cold]
pub(crate) fn of_entry(error: Error, item: usize) -> Error {
    let text = format!("entry {} of the batch: {}", item + 1, error.message());
    error.with_message(text)
}

#[cold]
fn refusal(name: &str, digits: &str) -> Error {
    Error::script(format!(
        "the arguments of the job {name:?} have the number {digits}, which takes more than 64 bits: pass it as a text"
    ))
}

/// Finds the first whole number that a job would get changed.
fn too_large(json: &str) -> Option<TooLarge<'_>> {
    /// The digits of the largest number of 64 bits with a sign.
    const DIGITS: usize = 19;
    let bytes = json.as_bytes();
    let (mut at, mut depth, mut item) = (0, 0_usize, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(&byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                    at += if byte == b'\\' { 2 } else { 1 };
                }
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => item += 1,
            b'-' | b'0'..=b'9' => {
                let is_part =
                    |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let len = bytes[at..].iter().take_while(is_part).count();
                let digits = &json[at..at + len];
                if len >= DIGITS && is_changed(digits) {
                    return Some(TooLarge { digits, item });
                }
                at += len;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Reports whether a number becomes another one when it is read. JavaScript writes numbers up to 1e21 with all digits,
/// and those stay the same.
fn is_changed(number: &str) -> bool {
    let is_whole = number
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_kept = || number.parse::<i64>().is_ok();
    let is_float = || {
        let float = number.parse::<f64>();
        float.is_ok_and(|float| float.to_string() == number)
    };
    is_whole && !is_kept() && !is_float()
}

/// The most bytes of a key that has the arguments themselves. An entry of an index of PostgreSQL has 2,704 at most, and
/// the key of a job that has ended is longer.
const KEY_BYTES_MAX: usize = 1_000;

/// Returns the unique key of a job by its arguments, which an engine has written as JSON.
///
/// # Errors
/// The arguments are not JSON.
pub(crate) fn key_of_args(name: &str, json: &str) -> Result<String, Error> {
    let args = sorted(json)?;
    if name.len() + 1 + args.len() <= KEY_BYTES_MAX {
        return Ok(format!("{name}\t{args}"));
    }
    // No JSON begins with this word.
    let mut key = format!("{name}\tsha256:");
    for byte in Sha256::digest(args.as_bytes()) {
        let _ = write!(key, "{byte:02x}");
    }
    Ok(key)
}

/// Returns the JSON with the members of all objects in one order: JavaScript writes them as they were added.
fn sorted(json: &str) -> Result<Cow<'_, str>, Error> {
    if !json.contains('{') {
        return Ok(Cow::Borrowed(json));
    }
    let mut value = json_value(json)?;
    sort(&mut value);
    json_text(&value).map(Cow::Owned)
}

fn sort(value: &mut Value) {
    match value {
        Value::List(items) => items.iter_mut().for_each(sort),
        Value::Map(members) => {
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            members.iter_mut().for_each(|(_, member)| sort(member));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_kept_pass() {
        for json in [
            "null",
            "[9223372036854775807,-9223372036854775808,1.5,-0]",
            "100000000000000000000",
            "{\"a\":\"99999999999999999999999\",\"b\\\"99999999999999999999999\":[]}",
            "123456789012345678901234567890e-10",
            "1e+300",
        ] {
            assert_eq!(too_large(json), None, "{json}");
        }
    }

    #[test]
    fn numbers_beyond_64_bits_are_found_with_their_item() {
        let json = "[1,{\"a\":[2,3],\"b\":\",\"},[18446744073709551615]]";
        let found = too_large(json).expect("the number");
        assert_eq!((found.digits, found.item), ("18446744073709551615", 2));
        let error = check_list("part", json).expect_err("it is refused");
        assert_eq!(
            error.message(),
            "entry 3 of the batch: the arguments of the job \"part\" have the number 18446744073709551615, which takes \
             more than 64 bits: pass it as a text"
        );
        assert!(check("part", "-9223372036854775809").is_err());
    }

    fn key(json: &str) -> String {
        key_of_args("send", json).expect("it is JSON")
    }

    #[test]
    fn the_order_of_members_makes_no_other_key() {
        let sorted = r#"{"a":[{"b":1,"c":"x"}],"d":{"e":null,"f":9007199254740993}}"#;
        let other = r#"{"d":{"f":9007199254740993,"e":null},"a":[{"c":"x","b":1}]}"#;
        assert_eq!(key(other), format!("send\t{sorted}"));
        assert_eq!(key(sorted), key(other));
        assert_ne!(key("[1,2]"), key("[2,1]"));
        assert_ne!(key(r#"{"a":1,"b":2}"#), key(r#"{"a":2,"b":1}"#));
    }

    #[test]
    fn long_arguments_have_a_short_key_of_their_own() {
        let list = |last| format!("[{}{last}]", "\"0123456789\",".repeat(200));
        let long = key(&list(1));
        assert_eq!(long.len(), "send\tsha256:".len() + 64);
        assert_eq!(long, key(&list(1)));
        assert_ne!(long, key(&list(2)));
        let other = key_of_args("other", &list(1)).expect("it is JSON");
        assert_ne!(long, other);
    }
}
