//! The number of files in a folder.

use std::collections::BTreeMap;

use super::tree::Tree;
use crate::error::Error;

/// The most source files of a folder. Files in folders below it do not count.
const FOLDER_FILES_MAX: usize = 15;

/// No folder has more than [`FOLDER_FILES_MAX`] source files. A package in Go is one folder, so its files do not count.
///
/// # Errors
///
/// None.
pub(super) fn folders(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in tree.with_extension(&["rs", "lua", "js", "cjs", "mjs", "ts"]) {
        let (folder, _) = path.rsplit_once('/').unwrap_or_default();
        *counts.entry(folder).or_default() += 1;
    }
    let full = counts
        .into_iter()
        .filter(|(_, count)| *count > FOLDER_FILES_MAX);
    Ok(full
        .map(|(folder, count)| {
            format!(
                "{folder} has {count} source files, of which there may be {FOLDER_FILES_MAX}: group them into folders"
            )
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    #[test]
    fn full_folders_are_found() {
        let found = |count: usize| {
            let paths: Vec<String> = (0..count).map(|at| format!("a/src/m{at}.rs")).collect();
            let more = ["a/src/b/one.rs", "a/src/notes.md"].map(str::to_owned);
            let files: Vec<(&str, &str)> = paths
                .iter()
                .chain(&more)
                .map(|path| (&**path, ""))
                .collect();
            let (_scratch, tree) = tree(&files);
            folders(&tree).expect("readable")
        };
        assert!(found(FOLDER_FILES_MAX).is_empty());
        let full = found(FOLDER_FILES_MAX + 1);
        assert_eq!(full.len(), 1, "{full:?}");
        assert!(full[0].starts_with("a/src has 16 source files"), "{full:?}");
    }
}
