//! Words and lines: doc comments open as those of Rust's standard library do, and lines end at [`COLUMNS_MAX`].

use super::tree::Tree;
use crate::error::Error;

/// Words that a doc comment must not begin with.
const REFUSED_OPENINGS: &[&str] = &[
    "What", "Whatever", "Whether", "Which", "When", "Where", "Why", "How", "Who", "Whom", "Whose",
    "It", "That", "There", "The same", "Nothing", "As", "For", "If", "Only", "Also",
];

/// Words that leave open who does something, and the folders whose comments must not have them.
const REFUSED_WORDS: &[&str] = &["nobody", "whoever", "somebody", "what of"];
const REFUSED_WORDS_IN: &[&str] = &["app/", "capabilities/", "engine/", "faces/"];

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
pub(super) fn columns(tree: &Tree) -> Result<Vec<String>, Error> {
    tree.faults_of_lines(tree.with_extension(&["rs"]), |path| {
        let is_long = LONG_LINES.iter().any(|part| path.contains(part));
        (!is_long).then_some(too_wide)
    })
}

/// Returns the fault of a line that ends behind [`COLUMNS_MAX`].
fn too_wide(line: &str) -> Option<String> {
    let columns = line.chars().count();
    (columns > COLUMNS_MAX)
        .then(|| format!("{columns} columns, of which there may be {COLUMNS_MAX}"))
}

/// Folders of documents that a program writes.
const WRITTEN_BY_PROGRAMS: &[&str] = &["docs/reference/", "bench/results/", "docs/bench/"];

/// No line of prose ends behind [`COLUMNS_MAX`]. Tables, comments and blocks of code may be wider.
pub(super) fn prose_columns(tree: &Tree) -> Result<Vec<String>, Error> {
    tree.faults_of_lines(tree.with_extension(&["md"]), |path| {
        let (mut is_code, mut is_comment) = (false, false);
        let fault_of = move |line: &str| {
            let was_comment = is_comment;
            is_comment = (is_comment || line.contains("<!--")) && !line.contains("-->");
            if was_comment || is_comment {
                return None;
            }
            is_code ^= line.trim_start().starts_with("```");
            too_wide(line).filter(|_| !is_code && !line.starts_with('|'))
        };
        let mut written = WRITTEN_BY_PROGRAMS.iter();
        (!written.any(|folder| path.starts_with(folder))).then_some(fault_of)
    })
}

/// No doc comment begins with one of [`REFUSED_OPENINGS`].
pub(super) fn openings(tree: &Tree) -> Result<Vec<String>, Error> {
    tree.faults_of_lines(tree.with_extension(&["rs"]), |_| {
        let mut is_inside = false;
        Some(move |line: &str| {
            let comment = doc_comment(line);
            let opening = comment.filter(|_| !is_inside).and_then(refused);
            is_inside = comment.is_some();
            opening.map(|opening| {
                format!(
                    "a doc comment begins with a verb (\"Returns\") or a noun phrase, not with \"{opening}\""
                )
            })
        })
    })
}

/// No comment in [`REFUSED_WORDS_IN`] has one of [`REFUSED_WORDS`].
pub(super) fn plain_words(tree: &Tree) -> Result<Vec<String>, Error> {
    tree.faults_of_lines(tree.with_extension(&["rs"]), |path| {
        let mut folders = REFUSED_WORDS_IN.iter();
        let is_read = folders.any(|folder| path.starts_with(folder)) && !path.contains("/tests/");
        let fault_of = |line: &str| {
            let comment = line.trim_start().strip_prefix("//")?.to_lowercase();
            let word = REFUSED_WORDS.iter().find(|word| comment.contains(*word))?;
            Some(format!("say who does it, in place of \"{word}\""))
        };
        is_read.then_some(fault_of)
    })
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
        words.strip_prefix(opening).is_some_and(|rest| {
            // Names such as `If-Match` are nouns.
            !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::complaints;
    use super::*;

    #[test]
    fn refuses_words_that_leave_open_who_does_it() {
        let text = "// Nobody waits.\nlet nobody = 1;\n";
        assert_eq!(
            complaints(plain_words, &[("app/a.rs", text), ("fuzz/a.rs", text)]),
            ["app/a.rs:1: say who does it, in place of \"nobody\""]
        );
    }

    #[test]
    fn refuses_prose_that_is_too_wide() {
        let long = "x".repeat(121);
        let page = format!("| {long}\n```\n{long}\n```\n{long}\n");
        assert_eq!(
            complaints(prose_columns, &[("a.md", &page)]),
            ["a.md:5: 121 columns, of which there may be 120"]
        );
    }

    #[test]
    fn refuses_lines_that_are_too_long() {
        let source = format!("//! {}\n//! {}\n", "x".repeat(116), "x".repeat(117));
        assert_eq!(
            complaints(columns, &[("a.rs", &source)]),
            ["a.rs:2: 121 columns, of which there may be 120"]
        );
    }

    #[test]
    fn refuses_openings_that_are_no_verb_or_noun_phrase() {
        let source = "//! What it is.\n\n/// Items that fit.\nfn a() {}\n\n/// Returns one.\n/// It is odd.\nfn b() \
         {}\n\n/// Whether it is.\nfn c() {}\n\n/// When it was.\nfn d() {}\n\n/// As `d`.\nfn e() {}\n\n\
         /// If-Match, as a client sent it.\nfn f() {}\n\n/// None while it waits.\nfn g() {}\n";
        let complaints = complaints(openings, &[("a.rs", source)]);
        let lines: Vec<&str> = complaints
            .iter()
            .map(|complaint| complaint.split(": ").next().unwrap_or_default())
            .collect();
        assert_eq!(lines, ["a.rs:1", "a.rs:10", "a.rs:13", "a.rs:16"]);
    }
}
