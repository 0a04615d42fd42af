//! Paths that scripts give, and names of files that clients give.

use crate::limits::{NAME_BYTES_MAX, PATH_BYTES_MAX};
use sampan_host::Error;

/// The folder below the storage folder that has what is not complete yet.
pub(crate) const OWN_FOLDER: &str = ".sampan";

/// Checks a path: names with `/` between them. What it means on the disk, the folder decides that it is opened in; this
/// refuses what would be an error in the script anyway, with a clear word.
pub(crate) fn check(path: &str) -> Result<&str, Error> {
    let fault = if path.is_empty() {
        "it is empty"
    } else if path.len() > PATH_BYTES_MAX {
        "it is too long"
    } else if path.starts_with('/') {
        "it must be relative"
    } else if path.contains('\\') {
        "it has a backslash"
    } else if path.contains(char::is_control) {
        "it has control characters"
    } else if path.split('/').any(|name| name.len() > NAME_BYTES_MAX) {
        "a name in it is too long"
    } else if path.split('/').any(|name| matches!(name, "" | "." | "..")) {
        "it has an empty name, '.' or '..'"
    } else if path.split('/').next() == Some(OWN_FOLDER) {
        "this folder is the server's own"
    } else {
        return Ok(path);
    };
    let text = format!("{path:?} is no path of a file here: {fault}");
    Err(Error::script(text).with_code("path"))
}

/// The folder of a path, empty if it has none, and the name in it.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// A name that is safe to use for a file, of what a client says that its file is called: the last part of a path,
/// without control characters and what other systems do not take.
pub(crate) fn safe_name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let is_kept = |one: &char| !one.is_control() && !is_formatting(*one);
    let plain = |one: char| if "<>:\"|?*".contains(one) { '_' } else { one };
    let name: String = last.chars().filter(is_kept).map(plain).collect();
    // Names that begin with a dot are hidden; other systems drop dots and blanks at the end.
    let name = name.trim_start_matches(['.', ' ']);
    let name = name.trim_end_matches(['.', ' ']);
    let mut name = shortened(name);
    if name.is_empty() {
        name.push_str("file");
    }
    if is_reserved(&name) {
        name.insert(0, '_');
    }
    name
}

/// Characters that change how those around them are shown: `exe.gpj` could look like `jpg.exe`.
fn is_formatting(one: char) -> bool {
    matches!(one, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Cuts a name in front of its extension.
fn shortened(name: &str) -> String {
    // Room for what may be put in front.
    const ROOM: usize = NAME_BYTES_MAX - 1;
    const EXTENSION_BYTES_MAX: usize = 32;
    if name.len() <= ROOM {
        return name.to_owned();
    }
    let dot = name.rfind('.').unwrap_or(name.len());
    let extension = Some(&name[dot..]).filter(|text| text.len() <= EXTENSION_BYTES_MAX);
    let extension = extension.unwrap_or_default();
    let mut end = ROOM - extension.len();
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{extension}", &name[..end])
}

/// Names of devices on Windows, with any extension.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end();
    let stem = stem.to_ascii_uppercase();
    let numbered = |prefix: &str| {
        let number = stem
            .strip_prefix(prefix)
            .and_then(|rest| rest.chars().next());
        let is_number = |one: char| one.is_ascii_digit() || "¹²³".contains(one);
        stem.chars().count() == 4 && number.is_some_and(is_number)
    };
    matches!(&*stem, "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_plain_and_relative() {
        for path in [
            "a",
            "a/b.txt",
            ".hidden",
            "ä/ö ü",
            "a..b",
            "...",
            "a/.sampan",
        ] {
            assert_eq!(check(path).expect(path), path);
        }
        let long = "a".repeat(256);
        let deep = "a/".repeat(2001);
        for path in [
            "",
            "/",
            "/a",
            "..",
            "../a",
            "a/..",
            "a/../b",
            ".",
            "./a",
            "a//b",
            "a/",
            "a\\b",
            "..\\a",
            "a\0b",
            "a\nb",
            ".sampan",
            ".sampan/x",
            &long,
            &deep,
        ] {
            let error = check(path).expect_err(path);
            assert_eq!(error.code(), Some("path"), "{path}");
        }
    }

    #[test]
    fn names_of_clients_are_made_safe() {
        let long = format!("{}.jpeg", "ä".repeat(300));
        for (given, safe) in [
            ("photo.jpg", "photo.jpg"),
            ("größe 1.png", "größe 1.png"),
            ("../../x", "x"),
            ("C:\\temp\\a.txt", "a.txt"),
            ("..\\..\\a", "a"),
            ("/etc/passwd", "passwd"),
            ("a/", "file"),
            ("", "file"),
            ("..", "file"),
            (".htaccess", "htaccess"),
            ("a\0b\r\nc\u{85}", "abc"),
            ("a<b>:\"|?*", "a_b______"),
            ("name. . ", "name"),
            ("nul", "_nul"),
            ("CON.txt", "_CON.txt"),
            ("com1.log", "_com1.log"),
            ("COM10", "COM10"),
            ("lpt¹", "_lpt¹"),
            ("aux .x", "_aux .x"),
            ("exe\u{202e}gpj.exe", "exegpj.exe"),
        ] {
            assert_eq!(safe_name(given), safe, "{given:?}");
        }
        let short = safe_name(&long);
        assert!(
            short.len() <= NAME_BYTES_MAX && short.ends_with("ä.jpeg"),
            "{short}"
        );
        let short = safe_name(&"x".repeat(1000));
        assert_eq!(short.len(), NAME_BYTES_MAX - 1);
    }
}
