//! Source files: what they open with, how long they are, where unsafe code may be, and that they are finished.

use super::rust_text::{code_only, has_word};
use super::tree::Tree;
use crate::Error;

/// The longest source file that still shows what it is about.
const FILE_LINES_MAX: usize = 800;

/// The folders whose crates may use unsafe code anywhere; single modules elsewhere are listed in ARCHITECTURE.md.
const UNSAFE_FOLDERS: &[&str] = &["engine/lua/", "engine/js/"];

/// The heading in ARCHITECTURE.md below which those modules are listed.
const UNSAFE_HEADING: &str = "Unsafe modules";

/// Words that mark unfinished code. In two halves, as this file is source code too.
const MARKERS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];

/// Every `.rs` file opens with `//!`.
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn module_docs(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in tree.with_extension(&["rs"]) {
        let text = tree.text(path)?;
        let opening = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("//!"));
        if opening.is_none_or(|words| words.trim().is_empty()) {
            complaints.push(format!("{path} must open with `//!` and what it is for"));
        }
    }
    Ok(complaints)
}

/// No source file has more than [`FILE_LINES_MAX`] lines.
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn lengths(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in tree.with_extension(&["rs", "lua", "js", "mjs", "ts"]) {
        let lines = tree.text(path)?.lines().count();
        if lines > FILE_LINES_MAX {
            complaints.push(format!("{path} has {lines} lines: split it"));
        }
    }
    Ok(complaints)
}

/// Unsafe code stands only in the engines' crates and in the modules that ARCHITECTURE.md lists, and what is
/// listed needs to be.
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn unsafe_code(tree: &Tree) -> Result<Vec<String>, Error> {
    let listed = listed_modules(tree)?;
    let mut used = Vec::new();
    let mut complaints = Vec::new();
    for path in tree.with_extension(&["rs"]) {
        if UNSAFE_FOLDERS.iter().any(|folder| path.starts_with(folder))
            || !has_word(&code_only(&tree.text(path)?), "unsafe")
        {
            continue;
        }
        if listed.iter().any(|module| module == path) {
            used.push(path);
        } else {
            complaints.push(format!(
                "{path} has unsafe code and is not listed in ARCHITECTURE.md"
            ));
        }
    }
    let stale = listed
        .iter()
        .filter(|module| !used.contains(&module.as_str()));
    complaints.extend(
        stale.map(|module| format!("ARCHITECTURE.md lists {module}, which has no unsafe code")),
    );
    Ok(complaints)
}

/// The paths in backticks that end in `.rs`, below [`UNSAFE_HEADING`] to the next heading.
fn listed_modules(tree: &Tree) -> Result<Vec<String>, Error> {
    if !tree.has("ARCHITECTURE.md") {
        return Ok(Vec::new());
    }
    let text = tree.text("ARCHITECTURE.md")?;
    let is_heading = |line: &&str| line.starts_with('#');
    let below = text
        .lines()
        .skip_while(|line| !(is_heading(line) && line.contains(UNSAFE_HEADING)))
        .skip(1);
    let paths = below
        .take_while(|line| !is_heading(line))
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    // A place in the engines' folders needs no entry; one that is there explains itself.
    let counted = |path: &&str| {
        path.ends_with(".rs") && !UNSAFE_FOLDERS.iter().any(|folder| path.starts_with(folder))
    };
    Ok(paths.filter(counted).map(str::to_owned).collect())
}

/// No source file has a word that marks unfinished code.
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn markers(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    let sources = &[
        "rs", "lua", "js", "mjs", "ts", "go", "conf", "toml", "sh", "yml", "html", "css", "sql",
    ];
    let scripts = tree.files().filter(|path| path.starts_with(".ci/"));
    for path in tree.with_extension(sources).chain(scripts) {
        for (index, line) in tree.text(path)?.lines().enumerate() {
            if let Some(marker) = MARKERS.iter().find(|marker| has_word(line, marker)) {
                complaints.push(format!(
                    "{path}:{}: {marker}: do it, or file an issue",
                    index + 1
                ));
            }
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::super::Rule;
    use super::super::tree::tests::tree;
    use super::*;

    fn complaints(rule: Rule, files: &[(&str, &str)]) -> Vec<String> {
        let (_scratch, tree) = tree(files);
        rule(&tree).expect("readable")
    }

    #[test]
    fn a_module_without_an_opening_is_found() {
        assert_eq!(
            complaints(module_docs, &[("a.rs", "//! What it is for.\n")]),
            Vec::<String>::new()
        );
        for bad in ["", "use std::fs;\n//! Late.", "//!\n", "// No doc."] {
            assert_eq!(
                complaints(module_docs, &[("a.rs", bad)]).len(),
                1,
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_long_file_is_found() {
        let at_limit = "x\n".repeat(FILE_LINES_MAX);
        assert_eq!(
            complaints(lengths, &[("a.lua", &at_limit)]),
            Vec::<String>::new()
        );
        let over = "x\n".repeat(FILE_LINES_MAX + 1);
        assert_eq!(
            complaints(lengths, &[("a.lua", &over), ("b.txt", &over)]),
            ["a.lua has 801 lines: split it"]
        );
    }

    #[test]
    fn unsafe_code_outside_its_fence_is_found() {
        let code = "fn f() { unsafe { g() } }";
        assert_eq!(
            complaints(unsafe_code, &[("engine/lua/src/a.rs", code)]),
            Vec::<String>::new()
        );
        assert_eq!(
            complaints(
                unsafe_code,
                &[("app/a.rs", "// unsafe\n#![deny(unsafe_code)]")]
            ),
            Vec::<String>::new()
        );
        assert_eq!(
            complaints(unsafe_code, &[("app/a.rs", code)]),
            ["app/a.rs has unsafe code and is not listed in ARCHITECTURE.md"]
        );
    }

    #[test]
    fn the_list_of_unsafe_modules_is_kept_true() {
        let list = "# Map\n`app/b.rs`\n## Unsafe modules\n- `app/a.rs`: signals\n- `engine/js`, all of it\n## Next\n`app/c.rs`\n";
        let code = ("app/a.rs", "unsafe fn f() {}");
        assert_eq!(
            complaints(unsafe_code, &[("ARCHITECTURE.md", list), code]),
            Vec::<String>::new()
        );
        assert_eq!(
            complaints(
                unsafe_code,
                &[
                    ("ARCHITECTURE.md", list),
                    ("app/a.rs", "fn f() {}"),
                    ("app/b.rs", "unsafe fn f() {}")
                ]
            ),
            [
                "app/b.rs has unsafe code and is not listed in ARCHITECTURE.md",
                "ARCHITECTURE.md lists app/a.rs, which has no unsafe code"
            ]
        );
    }

    #[test]
    fn markers_are_found_with_their_line() {
        for marker in MARKERS {
            let text = format!("fine\n-- {marker}: later\n");
            assert_eq!(
                complaints(markers, &[("a.lua", &text)]),
                [format!("a.lua:2: {marker}: do it, or file an issue")]
            );
        }
        assert_eq!(
            complaints(markers, &[("a.rs", "let hacked = 1;")]),
            Vec::<String>::new()
        );
    }
}
