//! Specs: every case under `tests/specs` holds the same app in both languages and one expected outcome.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::tree::Tree;
use crate::Error;

const FOLDER: &str = "tests/specs/";
const APPS: &[&str] = &["app.lua", "app.js"];
const OUTCOME: &str = "expect.toml";

/// Every `tests/specs/<capability>/<case>/` has `app.lua`, `app.js` and a well-formed `expect.toml`.
///
/// # Errors
///
/// When an outcome file cannot be read.
pub(super) fn twins(tree: &Tree) -> Result<Vec<String>, Error> {
    let cases = cases(tree);
    if cases.is_empty() {
        return Ok(vec![format!("{FOLDER} holds no case")]);
    }
    let mut complaints = Vec::new();
    for (case, files) in cases {
        for wanted in APPS.iter().chain([&OUTCOME]) {
            if !files.contains(wanted) {
                complaints.push(format!("{FOLDER}{case} lacks {wanted}"));
            }
        }
        if files.contains(&OUTCOME) {
            let path = format!("{FOLDER}{case}/{OUTCOME}");
            complaints.extend(
                outcome(&tree.text(&path)?)
                    .into_iter()
                    .map(|fault| format!("{path}: {fault}")),
            );
        }
    }
    Ok(complaints)
}

/// The cases, as `capability/case`, with the files directly in them. An app or outcome one folder too high makes
/// that folder a case, so that it is not overlooked.
fn cases(tree: &Tree) -> BTreeMap<String, Vec<&str>> {
    let mut cases: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for path in tree.files().filter_map(|path| path.strip_prefix(FOLDER)) {
        let parts: Vec<&str> = path.split('/').collect();
        let (folder, file) = match parts.as_slice() {
            [capability, case, file] => (format!("{capability}/{case}"), Some(*file)),
            [capability, case, _, ..] => (format!("{capability}/{case}"), None),
            [capability, file] if APPS.contains(file) || *file == OUTCOME => {
                ((*capability).to_owned(), Some(*file))
            }
            _ => continue,
        };
        cases.entry(folder).or_default().extend(file);
    }
    cases
}

/// What is wrong with the shape of an outcome file. Its runner knows every key; this is about outcomes that would hold
/// whatever the app does.
fn outcome(text: &str) -> Vec<String> {
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return vec![error.to_string().trim_end().replace('\n', " ")],
    };
    if table
        .get("load_error")
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty())
    {
        return Vec::new();
    }
    let requests = table
        .get("request")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    if requests.is_empty() {
        return vec!["needs a load_error or at least one [[request]]".to_owned()];
    }
    let faults = requests.iter().enumerate().filter_map(|(index, request)| {
        request_fault(request).map(|fault| format!("request {}: {fault}", index + 1))
    });
    let mut faults: Vec<String> = faults.collect();
    if !requests.iter().any(expects_something) {
        faults.push("no request expects anything".to_owned());
    }
    faults
}

/// A request names its path, unless all its bytes are given.
fn request_fault(request: &Value) -> Option<&'static str> {
    let path = request.get("path").and_then(Value::as_str);
    let is_raw = request.get("raw").and_then(Value::as_str).is_some();
    let named = is_raw || path.is_some_and(|path| path.starts_with(['/', '*']));
    (!named).then_some("needs a path that starts with /, or raw bytes")
}

fn expects_something(request: &Value) -> bool {
    request
        .get("expect")
        .and_then(Value::as_table)
        .is_some_and(|expect| !expect.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    const GOOD: &str = "[[request]]\npath = \"/\"\nexpect.status = 200\n";

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let (_scratch, tree) = tree(files);
        twins(&tree).expect("readable")
    }

    #[test]
    fn a_missing_twin_is_found() {
        let lua = ("tests/specs/time/sleep/app.lua", "");
        let js = ("tests/specs/time/sleep/app.js", "");
        let expect = ("tests/specs/time/sleep/expect.toml", GOOD);
        assert_eq!(complaints(&[lua, js, expect]), Vec::<String>::new());
        assert_eq!(
            complaints(&[lua, expect]),
            ["tests/specs/time/sleep lacks app.js"]
        );
        assert_eq!(
            complaints(&[js, expect]),
            ["tests/specs/time/sleep lacks app.lua"]
        );
        assert_eq!(
            complaints(&[js, lua]),
            ["tests/specs/time/sleep lacks expect.toml"]
        );
        assert_eq!(complaints(&[]), ["tests/specs/ holds no case"]);
    }

    #[test]
    fn a_file_one_folder_too_high_or_too_low_is_found() {
        let case = [
            ("tests/specs/time/app.lua", ""),
            ("tests/specs/time/app.js", ""),
        ];
        assert_eq!(complaints(&case), ["tests/specs/time lacks expect.toml"]);
        let deep = [("tests/specs/time/sleep/deep/app.lua", "")];
        assert_eq!(complaints(&deep).len(), 3);
    }

    #[test]
    fn an_outcome_that_says_nothing_is_found() {
        assert_eq!(outcome(GOOD), Vec::<String>::new());
        assert_eq!(outcome("load_error = \"app.js:1\""), Vec::<String>::new());
        assert_eq!(
            outcome("[[request]]\nraw = \"x\"\nexpect.status = 400"),
            Vec::<String>::new()
        );
        let nothing = ["needs a load_error or at least one [[request]]"];
        assert_eq!(outcome(""), nothing);
        assert_eq!(outcome("load_error = \"\""), nothing);
        assert_eq!(
            outcome("[[request]]\npath = \"/\"\nexpect = {}"),
            ["no request expects anything"]
        );
        let unnamed = ["request 1: needs a path that starts with /, or raw bytes"];
        assert_eq!(outcome("[[request]]\nexpect.status = 200"), unnamed);
        assert_eq!(outcome("[[request").len(), 1);
    }
}
