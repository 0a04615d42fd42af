//! The files of the checkout, as the rules see them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] = &[".git", ".peers", "node_modules", "target"];

/// All files below a root.
pub(super) struct Tree {
    root: PathBuf,
    /// Paths relative to the root, with `/`, in order.
    files: Vec<String>,
}

impl Tree {
    /// Lists the files below `root`; build output and installed packages are left out.
    ///
    /// # Errors
    ///
    /// When a folder cannot be read.
    pub(super) fn read(root: &Path) -> Result<Self, Error> {
        let mut tree = Self {
            // Cargo resolves links in the paths that it tells, so they are resolved here too.
            root: root.canonicalize()?,
            files: Vec::new(),
        };
        tree.walk("")?;
        tree.files.sort();
        Ok(tree)
    }

    fn walk(&mut self, folder: &str) -> Result<(), Error> {
        let place = self.root.join(folder);
        // Cargo marks its output folders with this file, under any name.
        if place.join("CACHEDIR.TAG").exists() {
            return Ok(());
        }
        for entry in
            fs::read_dir(&place).map_err(|error| format!("{}: {error}", place.display()))?
        {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = if folder.is_empty() {
                name.clone()
            } else {
                format!("{folder}/{name}")
            };
            let kind = entry.file_type()?;
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                self.walk(&path)?;
            } else if kind.is_file() {
                self.files.push(path);
            }
        }
        Ok(())
    }

    /// Returns the place of the checkout.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The part of a path below the root, with `/`.
    pub(super) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }

    /// All files, in order.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(String::as_str)
    }

    /// The files whose names end in one of `extensions` (without the dot).
    pub(super) fn with_extension<'a>(
        &'a self,
        extensions: &'a [&str],
    ) -> impl Iterator<Item = &'a str> {
        self.files().filter(|path| {
            Path::new(path)
                .extension()
                .is_some_and(|found| extensions.iter().any(|wanted| found == *wanted))
        })
    }

    /// The faults of lines, each with its place. `reader` gives for a path what finds the fault of a line, if lines of
    /// that file count.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub(super) fn faults_of_lines<'a, F: FnMut(&str) -> Option<String>>(
        &self,
        paths: impl Iterator<Item = &'a str>,
        reader: impl Fn(&str) -> Option<F>,
    ) -> Result<Vec<String>, Error> {
        let mut faults = Vec::new();
        for path in paths {
            let Some(mut fault_of) = reader(path) else {
                continue;
            };
            for (number, line) in (1..).zip(self.text(path)?.lines()) {
                let fault = fault_of(line);
                faults.extend(fault.map(|fault| format!("{path}:{number}: {fault}")));
            }
        }
        Ok(faults)
    }

    /// Reports whether the tree has this file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.files
            .binary_search_by(|file| file.as_str().cmp(path))
            .is_ok()
    }

    /// The text of a file.
    ///
    /// # Errors
    ///
    /// When it cannot be read or is not UTF-8.
    pub(super) fn text(&self, path: &str) -> Result<String, Error> {
        fs::read_to_string(self.root.join(path)).map_err(|error| format!("{path}: {error}").into())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::TidyRule;
    use super::*;
    use tempfile::TempDir;

    /// A checkout with these files; the first value keeps it on disk.
    pub(in crate::tidy) fn tree(files: &[(&str, &str)]) -> (TempDir, Tree) {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        for (path, text) in files {
            let path = scratch.path().join(path);
            fs::create_dir_all(path.parent().expect("it is below the folder"))
                .expect("a folder in it");
            fs::write(path, text).expect("a file in it");
        }
        let tree = Tree::read(scratch.path()).expect("readable");
        (scratch, tree)
    }

    /// Returns the complaints of a rule about these files.
    pub(in crate::tidy) fn complaints(rule: TidyRule, files: &[(&str, &str)]) -> Vec<String> {
        let (_scratch, tree) = tree(files);
        rule(&tree).expect("readable")
    }

    #[test]
    fn build_output_is_left_out_whatever_its_name() {
        let (_scratch, tree) = tree(&[
            ("a/src/lib.rs", ""),
            ("a/target/debug/x.rs", ""),
            ("out/CACHEDIR.TAG", ""),
            ("out/x.rs", ""),
            ("bench/.peers/bun/server.js", ""),
            (".ci/run", ""),
        ]);
        assert_eq!(
            tree.files().collect::<Vec<_>>(),
            [".ci/run", "a/src/lib.rs"]
        );
        assert!(tree.has(".ci/run"));
        assert_eq!(
            tree.with_extension(&["rs"]).collect::<Vec<_>>(),
            ["a/src/lib.rs"]
        );
    }
}
