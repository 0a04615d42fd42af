//! Words and lines: doc comments open as those of Rust's standard library do, and lines end at [`COLUMNS_MAX`].

use super::tree::Tree;
use crate::Error;

/// Words that a doc comment must not begin with.
const REFUSED_OPENINGS: &[&str] = &[
    "What", "Whether", "How", "Who", "Whom", "Whose", "Where", "It", "That", "The same",
];

/// Words that leave open who does something, and the folders whose comments must not have them.
const REFUSED_WORDS: &[&str] = &["nobody", "whoever", "somebody", "what of"];
const REFUSED_WORDS_IN: &[&str] = &[
    "app/",
    "capabilities/",
    "engine/host/",
    "engine/http/",
    "engine/js_contract/",
    "engine/js_modules/",
    "engine/napi/",
    "engine/rig/",
    "faces/",
];

/// The last column of a line.
const COLUMNS_MAX: usize = 120;

/// Parts of paths whose lines may be longer: scripts, templates and JSON within them are easier to read unbroken.
const LONG_LINES: &[&str] = &[
    "/tests/",
    "/tests.rs",
    "/benches/",
    "bench/",
    "fuzz/",
    // One SVG, in one text.
    "faces/cli/src/profile/svg.rs",
    // Package files in tests.
    "engine/js_modules/src/package.rs",
    "engine/js_modules/src/tsconfig.rs",
];

/// No line of a source file ends behind [`COLUMNS_MAX`].
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn columns(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in tree.with_extension(&["rs"]) {
        if LONG_LINES.iter().any(|part| path.contains(part)) {
            continue;
        }
        for (index, line) in tree.text(path)?.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX {
                let number = index + 1;
                complaints.push(format!(
                    "{path}:{number}: {columns} columns, of which there may be {COLUMNS_MAX}"
                ));
            }
        }
    }
    Ok(complaints)
}

/// Folders of documents that a program writes.
const WRITTEN_BY_PROGRAMS: &[&str] = &["docs/reference/", "bench/results/", "docs/bench/"];

/// No line of prose ends behind [`COLUMNS_MAX`]. Tables, comments and blocks of code may be wider.
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn prose_columns(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in tree.with_extension(&["md"]) {
        if WRITTEN_BY_PROGRAMS
            .iter()
            .any(|folder| path.starts_with(folder))
        {
            continue;
        }
        let (mut is_code, mut is_comment) = (false, false);
        for (index, line) in tree.text(path)?.lines().enumerate() {
            let was_comment = is_comment;
            is_comment = (is_comment || line.contains("<!--")) && !line.contains("-->");
            if was_comment || is_comment {
                continue;
            }
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            let columns = line.chars().count();
            if columns > COLUMNS_MAX && !is_code && !line.starts_with('|') {
                let number = index + 1;
                complaints.push(format!(
                    "{path}:{number}: {columns} columns, of which there may be {COLUMNS_MAX}"
                ));
            }
        }
    }
    Ok(complaints)
}

/// No doc comment begins with one of [`REFUSED_OPENINGS`].
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn openings(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in tree.with_extension(&["rs"]) {
        let text = tree.text(path)?;
        let mut before = None;
        for (index, line) in text.lines().enumerate() {
            let comment = doc_comment(line);
            if let (None, Some(words)) = (before, comment)
                && let Some(opening) = refused(words)
            {
                complaints.push(format!(
                    "{path}:{}: a doc comment begins with a verb (\"Returns\") or a noun phrase, not \
                     with \"{opening}\"",
                    index + 1
                ));
            }
            before = comment;
        }
    }
    Ok(complaints)
}

/// No comment in [`REFUSED_WORDS_IN`] has one of [`REFUSED_WORDS`].
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn plain_words(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in tree.with_extension(&["rs"]) {
        let is_read = REFUSED_WORDS_IN
            .iter()
            .any(|folder| path.starts_with(folder));
        if !is_read || path.contains("/tests/") {
            continue;
        }
        for (index, line) in tree.text(path)?.lines().enumerate() {
            let comment = line.trim_start().strip_prefix("//").unwrap_or_default();
            let comment = comment.to_lowercase();
            if let Some(word) = REFUSED_WORDS.iter().find(|word| comment.contains(*word)) {
                complaints.push(format!(
                    "{path}:{}: say who does it, in place of \"{word}\"",
                    index + 1
                ));
            }
        }
    }
    Ok(complaints)
}

/// Returns the text of a line of a doc comment.
fn doc_comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))
        .map(str::trim_start)
}

fn refused(words: &str) -> Option<&'static str> {
    REFUSED_OPENINGS.iter().copied().find(|opening| {
        words
            .strip_prefix(opening)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_words_that_leave_open_who_does_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, "// Nobody waits.\nlet nobody = 1;\n").expect("written");
        };
        write("app/a.rs");
        write("engine/lua/a.rs");
        let tree = Tree::read(folder.path()).expect("a tree");
        let complaints = plain_words(&tree).expect("read");
        assert_eq!(
            complaints,
            ["app/a.rs:1: say who does it, in place of \"nobody\""]
        );
    }

    #[test]
    fn refuses_prose_that_is_too_wide() {
        let folder = tempfile::tempdir().expect("a folder");
        let long = "x".repeat(121);
        let page = format!("| {long}\n```\n{long}\n```\n{long}\n");
        std::fs::write(folder.path().join("a.md"), page).expect("written");
        let tree = Tree::read(folder.path()).expect("a tree");
        let complaints = prose_columns(&tree).expect("read");
        assert_eq!(
            complaints,
            ["a.md:5: 121 columns, of which there may be 120"]
        );
    }

    #[test]
    fn refuses_lines_that_are_too_long() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = format!("//! {}\n//! {}\n", "x".repeat(116), "x".repeat(117));
        std::fs::write(folder.path().join("a.rs"), source).expect("written");
        let tree = Tree::read(folder.path()).expect("a tree");
        let complaints = columns(&tree).expect("read");
        assert_eq!(
            complaints,
            ["a.rs:2: 121 columns, of which there may be 120"]
        );
    }

    #[test]
    fn refuses_openings_that_are_no_verb_or_noun_phrase() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = "//! What it is.\n\n/// Whatever fits.\nfn a() {}\n\n/// Returns one.\n/// It is odd.\nfn b() \
         {}\n\n/// Whether it is.\nfn c() {}\n";
        std::fs::write(folder.path().join("a.rs"), source).expect("written");
        let tree = Tree::read(folder.path()).expect("a tree");
        let complaints = openings(&tree).expect("read");
        let lines: Vec<&str> = complaints
            .iter()
            .map(|complaint| complaint.split(": ").next().unwrap_or_default())
            .collect();
        assert_eq!(lines, ["a.rs:1", "a.rs:10"]);
    }
}
