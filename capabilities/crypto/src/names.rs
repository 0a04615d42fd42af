//! Names that scripts choose from a list, such as those of algorithms.

use sampan_host::Error;
use sampan_host::names::hint;

/// The longest text that an error repeats, in bytes: three letters longer than the longest name. Keys are longer.
const SHOWN_BYTES_MAX: usize = 11;

/// Returns the error for a name that is not in its list. `place` is the argument or the member that has it.
///
/// A script that swaps its arguments gives a key or a password here, and errors are logged. So only a misspelt name is
/// repeated: a short word of letters, digits, `-` and `_`, few of which differ from those of a known name.
#[cold]
pub(crate) fn unknown(kind: &str, place: &str, given: &str, known: &[&str]) -> Error {
    let list = listed(known);
    Error::script(match is_misspelt(given, known) {
        true => format!("the {kind} {given:?} is not known; there is {list}"),
        false => format!("{place} does not name a known {kind}; there is {list}"),
    })
}

fn is_misspelt(given: &str, known: &[&str]) -> bool {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if given.len() > SHOWN_BYTES_MAX || !given.bytes().all(is_of_word) {
        return false;
    }
    let known: Vec<String> = known.iter().map(|name| name.to_ascii_lowercase()).collect();
    let given = given.to_ascii_lowercase();
    !hint(&given, known.iter().map(String::as_str)).is_empty()
}

/// Returns `"a", "b" and "c"`.
fn listed(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
    match quoted.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_misspelt_names_are_repeated() {
        let text = |given| {
            let error = unknown("hash", "argument 1 (hash)", given, &["sha256", "sha1"]);
            error.message().to_owned()
        };
        for name in ["sha-256", "SHA265", "sha", "SHA_1"] {
            let wanted =
                format!("the hash \"{name}\" is not known; there is \"sha256\" and \"sha1\"");
            assert_eq!(text(name), wanted);
        }
        for secret in [
            "",
            "md5",
            "hunter2",
            "Passw0rd",
            "sha256secret",
            "sha1sha1sha1",
            "-----BEGIN PRIVATE KEY-----\nMC4CAQ",
            "pass word",
            "p\u{e4}ss",
            "pa$$",
        ] {
            let wanted =
                "argument 1 (hash) does not name a known hash; there is \"sha256\" and \"sha1\"";
            assert_eq!(text(secret), wanted);
        }
    }
}
