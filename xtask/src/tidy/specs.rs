//! Specs: every case under `tests/specs` holds the same app in both languages and one expected outcome.

use std::collections::BTreeMap;

use super::tree::Tree;
use crate::error::Error;

const FOLDER: &str = "tests/specs/";
const WANTED: &[&str] = &["app.lua", "app.js", "expect.toml"];
/// The programs of cases about TypeScript, which have no twins.
const TYPED: &[&str] = &["app.ts", "app.tsx"];

/// Every `tests/specs/<capability>/<case>/` has `app.lua`, `app.js` and `expect.toml`, or `app.ts` in place of both.
/// Their content is the test runner's business.
pub(super) fn twins(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut cases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in tree.files().filter_map(|path| path.strip_prefix(FOLDER)) {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        // A file that is one folder too high makes that folder a case, so that it is not overlooked.
        if WANTED.contains(&file) || TYPED.contains(&file) || folder.split('/').count() == 2 {
            cases.entry(folder).or_default().push(file);
        }
    }
    if cases.is_empty() {
        return Ok(vec![format!("{FOLDER} holds no case")]);
    }
    let lacks = |(case, files): (&&str, &Vec<&str>)| {
        let is_typed = files.iter().any(|file| TYPED.contains(file));
        let wanted = WANTED
            .iter()
            .filter(|wanted| !is_typed || **wanted == "expect.toml");
        let lacking = wanted.filter(|wanted| !files.contains(*wanted));
        let misplaced = (case.split('/').count() != 2)
            .then(|| format!("{FOLDER}{case} is no <capability>/<case>"));
        let lacking = lacking.map(|wanted| format!("{FOLDER}{case} lacks {wanted}"));
        lacking.chain(misplaced).collect::<Vec<_>>()
    };
    Ok(cases.iter().flat_map(lacks).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    fn complaints(files: &[&str]) -> Vec<String> {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|file| (format!("{FOLDER}{file}"), ""))
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
        let (_scratch, tree) = tree(&files);
        twins(&tree).expect("readable")
    }

    #[test]
    fn a_missing_twin_is_found() {
        let case = [
            "time/sleep/app.lua",
            "time/sleep/app.js",
            "time/sleep/expect.toml",
        ];
        assert_eq!(complaints(&case), [""; 0]);
        assert_eq!(
            complaints(&case[..2]),
            ["tests/specs/time/sleep lacks expect.toml"]
        );
        assert_eq!(
            complaints(&case[1..]),
            ["tests/specs/time/sleep lacks app.lua"]
        );
        assert_eq!(
            complaints(&["ts/enums/app.ts", "ts/enums/expect.toml"]),
            [""; 0]
        );
        assert_eq!(
            complaints(&["ts/enums/app.tsx"]),
            ["tests/specs/ts/enums lacks expect.toml"]
        );
        assert_eq!(complaints(&["time/sleep/extra.txt"]).len(), 3);
        assert_eq!(complaints(&[]), ["tests/specs/ holds no case"]);
    }

    #[test]
    fn a_file_one_folder_too_high_or_too_low_is_found() {
        assert_eq!(complaints(&["time/app.lua", "time/app.js"]).len(), 2);
        assert_eq!(complaints(&["time/sleep/deep/app.lua"]).len(), 3);
    }
}
