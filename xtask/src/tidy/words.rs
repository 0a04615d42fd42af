//! Words: doc comments open as those of Rust's standard library do.

use super::tree::Tree;
use crate::Error;

/// Words that a doc comment must not begin with.
const REFUSED_OPENINGS: &[&str] = &[
    "What", "Whether", "How", "Who", "Whom", "Whose", "Where", "It", "That", "The same",
];

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
                    "{path}:{}: a doc comment begins with a verb (\"Returns\") or a noun phrase, not with \"{opening}\"",
                    index + 1
                ));
            }
            before = comment;
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
    fn refuses_openings_that_are_no_verb_or_noun_phrase() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = "//! What it is.\n\n/// Whatever fits.\nfn a() {}\n\n/// Returns one.\n/// It is odd.\nfn b() {}\n\n/// Whether it is.\nfn c() {}\n";
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
