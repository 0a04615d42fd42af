//! Snapshots: what a test gave once, kept in a file beside it, one for each.

use super::compare::difference;
use sampan_host::{Error, Value};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The folder of all snapshots, below `tests`.
const FOLDER: &str = "tests/snapshots";

/// The outcome of a snapshot that fits, or was made to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Snapshot {
    /// Unchanged.
    Same,
    /// Written, as it is new or has changed.
    Written,
}

/// The file of the snapshot `name` of a test.
fn path_of(root: &Path, file: &str, test: &str, name: &str) -> PathBuf {
    let file = file.strip_prefix("tests/").unwrap_or(file);
    root.join(FOLDER)
        .join(file)
        .join(format!("{}.txt", words(&[test, name])))
}

/// The longest name of a snapshot, in characters: file systems take 255 bytes.
const NAME_CHARS_MAX: usize = 60;

/// Names as one that every file system takes. One that cannot tell them from others ends in their checksum.
fn words(names: &[&str]) -> String {
    let plain = |name: &&&str| !name.is_empty();
    let names: Vec<&str> = names.iter().filter(plain).copied().collect();
    let text = names.join("--");
    let letter = |one: char| match one {
        one if one.is_alphanumeric() || matches!(one, '-' | '_') => one,
        _ => '-',
    };
    let word: String = text.chars().map(letter).take(NAME_CHARS_MAX).collect();
    if word == text && names.iter().all(|name| !name.contains("--")) {
        return word;
    }
    let mut checksum = flate2::Crc::new();
    for name in names {
        checksum.update(name.as_bytes());
        checksum.update(&[0]);
    }
    format!("{word}-{:08x}", checksum.sum())
}

/// The header fields of answers that are others each time.
const CHANGING: [&str; 3] = ["date", "last-modified", "x-request-id"];

/// A value without what is another each time: of an answer of the app some header fields, and the values of cookies.
pub(super) fn steady(value: Value) -> Value {
    let is_answer = ["status", "headers", "body"]
        .iter()
        .all(|name| value.get(name).is_some());
    match value {
        Value::Map(mut members) if is_answer => {
            for (_, fields) in members.iter_mut().filter(|(name, _)| name == "headers") {
                if let Value::Map(fields) = fields {
                    fields.retain(|(name, _)| !CHANGING.contains(&name.as_str()));
                    let cookies = fields.iter_mut().filter(|(name, _)| name == "set-cookie");
                    cookies.for_each(|(_, value)| *value = cookie_names(value));
                }
            }
            Value::Map(members)
        }
        value => value,
    }
}

/// `session=...` in place of a cookie's value and its attributes, one of which may be a time.
fn cookie_names(value: &Value) -> Value {
    match value {
        Value::Text(cookie) => {
            let name = cookie.split('=').next().unwrap_or_default();
            Value::Text(format!("{name}=..."))
        }
        Value::List(cookies) => Value::List(cookies.iter().map(cookie_names).collect()),
        other => other.clone(),
    }
}

/// Compares `actual` with what the snapshot has, and writes it where there is none, or where `update` says so.
///
/// # Errors
/// They differ, or the file cannot be read or written.
pub(super) fn check(
    root: &Path,
    [file, test, name]: [&str; 3],
    actual: &str,
    update: bool,
) -> Result<Snapshot, Error> {
    let path = path_of(root, file, test, name);
    let shown = path
        .strip_prefix(root)
        .unwrap_or(&path)
        .display()
        .to_string();
    // Files of text end with a line break. It is added in any case, so that one more or less is a difference.
    let whole = format!("{actual}\n");
    let fault = |error: io::Error| Error::script(format!("the snapshot {shown}: {error}"));
    match fs::read_to_string(&path) {
        Ok(expected) if expected == whole => return Ok(Snapshot::Same),
        Ok(expected) if !update => {
            let lines = difference(&expected, &whole);
            return Err(Error::script(format!(
                "the snapshot {shown} differs; sampan test --update accepts it\n{lines}"
            )));
        }
        Ok(_) => {}
        // A server of continuous integration would not commit it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if !update && env::var_os("CI").is_some_and(|value| value != "false") {
                return Err(Error::script(format!(
                    "there is no snapshot {shown}: run sampan test where CI is not set, and commit it"
                )));
            }
        }
        Err(error) => return Err(fault(error)),
    }
    let folder = path.parent().unwrap_or(root);
    fs::create_dir_all(folder).map_err(fault)?;
    fs::write(&path, whole).map_err(fault)?;
    Ok(Snapshot::Written)
}

#[cfg(test)]
mod tests {
    use super::words;
    use std::collections::HashSet;

    #[test]
    fn names_of_different_tests_have_different_files() {
        let long = "a".repeat(300);
        let longer = "a".repeat(301);
        let names: [&[&str]; 9] = [
            &["GET /a?x"],
            &["GET /a-x"],
            &["GET--a-x"],
            &["a", "b"],
            &["a--b"],
            &["a", "b--c"],
            &["a--b", "c"],
            &[&long],
            &[&longer],
        ];
        let files: HashSet<String> = names.iter().map(|names| words(names)).collect();
        assert_eq!(files.len(), names.len(), "{files:?}");
        assert!(files.iter().all(|file| file.len() < 100), "{files:?}");
        assert!(files.contains("a--b"), "{files:?}");
    }
}
