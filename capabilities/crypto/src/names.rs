//! Names that scripts choose from a list, such as those of algorithms.

use sampan_host::Error;

/// The longest text that an error repeats, in bytes. Keys are longer.
const SHOWN_BYTES_MAX: usize = 16;

/// Returns the error for a name that is not in its list. `place` is the argument or the member that has it.
///
/// A script that swaps its arguments gives a key or a password here, and errors are logged. So only a short word of
/// letters, digits, `-` and `_` is repeated.
#[cold]
pub(crate) fn unknown(kind: &str, place: &str, given: &str, known: &str) -> Error {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_shown = given.len() <= SHOWN_BYTES_MAX && given.bytes().all(is_of_word);
    Error::script(match is_shown {
        true => format!("the {kind} {given:?} is not known; there is {known}"),
        false => format!("{place} does not name a known {kind}; there is {known}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_words_are_repeated() {
        let text = |given| {
            let error = unknown("hash", "argument 1 (hash)", given, "\"sha256\"");
            error.message().to_owned()
        };
        for name in ["", "md5", "SHA-512_256", "sixteen-letters_"] {
            let wanted = format!("the hash \"{name}\" is not known; there is \"sha256\"");
            assert_eq!(text(name), wanted);
        }
        for secret in [
            "seventeen-letters",
            "-----BEGIN PRIVATE KEY-----\nMC4CAQ",
            "pass word",
            "p\u{e4}ss",
            "pa$$",
        ] {
            let wanted = "argument 1 (hash) does not name a known hash; there is \"sha256\"";
            assert_eq!(text(secret), wanted);
        }
    }
}
