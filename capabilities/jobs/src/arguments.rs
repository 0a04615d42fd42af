//! The arguments of jobs as JSON: whole numbers that would not come back as they were.

use sampan_host::Error;

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
}
