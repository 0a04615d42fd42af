//! Files: what they open with, how long they are, where unsafe code may be, that they are finished, and the documents.

use super::tree::Tree;
use crate::error::Error;

/// The folders whose crates may use unsafe code anywhere; single modules elsewhere are listed in ARCHITECTURE.md.
const UNSAFE_FOLDERS: &[&str] = &[
    "engine/lua/",
    "engine/js/",
    "engine/napi/",
    "faces/c/",
    "faces/node/",
];

/// The heading in ARCHITECTURE.md below which those modules are listed.
const UNSAFE_HEADING: &str = "Unsafe modules";

/// Words that mark unfinished code. In two halves, as this file is source code too.
const MARKERS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];

/// The heading in ARCHITECTURE.md of the glossary.
const GLOSSARY: &str = "## Glossary";

/// The documents at the root.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "Cargo.lock",
];

/// The two commands that a newcomer needs.
const COMMANDS: &[&str] = &[
    "cargo run --release -- run examples/hello/app.lua",
    "cargo xtask test",
];

/// Every `.rs` file opens with `//!`.
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

/// Unsafe code, which the workspace's lints deny, is allowed only in the engines' crates and in the modules that
/// ARCHITECTURE.md lists, and what is listed needs to be.
pub(super) fn unsafe_code(tree: &Tree) -> Result<Vec<String>, Error> {
    let listed = listed_modules(tree)?;
    let mut used = Vec::new();
    let mut complaints = Vec::new();
    for path in tree.with_extension(&["rs"]) {
        let is_engine = UNSAFE_FOLDERS.iter().any(|folder| path.starts_with(folder));
        if is_engine || !tree.text(path)?.lines().any(allows_unsafe) {
            continue;
        }
        used.push(path);
        if !listed.iter().any(|module| module == path) {
            complaints.push(format!(
                "{path} allows unsafe code and is not listed in ARCHITECTURE.md"
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

/// Reports whether this line, or the list of lints that it is a part of, lets unsafe code pass.
fn allows_unsafe(line: &str) -> bool {
    let line = line.trim();
    let is_attribute = line.starts_with('#') && line.contains("unsafe_code");
    is_attribute && !line.contains("deny(") && !line.contains("forbid(") || line == "unsafe_code,"
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
pub(super) fn markers(tree: &Tree) -> Result<Vec<String>, Error> {
    let sources = &[
        "rs", "lua", "js", "mjs", "ts", "go", "conf", "toml", "sh", "yml", "html", "css", "sql",
    ];
    let scripts = tree.files().filter(|path| path.starts_with(".ci/"));
    tree.faults_of_lines(tree.with_extension(sources).chain(scripts), |_| {
        Some(|line: &str| {
            let mut words = line.split(|found: char| !found.is_alphanumeric() && found != '_');
            let marker = words.find(|word| MARKERS.contains(word))?;
            Some(format!("{marker}: do it, or file an issue"))
        })
    })
}

/// Each document at the root exists and says something; README has the commands.
pub(super) fn documents(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for document in DOCUMENTS {
        if !tree.has(document) || tree.text(document)?.trim().is_empty() {
            complaints.push(format!("{document} is missing or empty"));
        }
    }
    let readme = tree.text("README.md").unwrap_or_default();
    let missing = COMMANDS.iter().filter(|command| !readme.contains(*command));
    complaints
        .extend(missing.map(|command| format!("README.md must show the command `{command}`")));
    Ok(complaints)
}

/// The words of the glossary stand in the order of the alphabet, each once.
pub(super) fn glossary(tree: &Tree) -> Result<Vec<String>, Error> {
    let text = tree.text("ARCHITECTURE.md")?;
    let lines = text.lines().skip_while(|line| *line != GLOSSARY).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("## "));
    let rows = lines.filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    // The first row names the columns.
    let words: Vec<String> = rows.skip(1).map(str::to_lowercase).collect();
    if words.is_empty() {
        return Ok(vec![format!(
            "ARCHITECTURE.md must have a table below `{GLOSSARY}`"
        )]);
    }
    let pairs = words.windows(2).filter(|pair| pair[0] >= pair[1]);
    let told = pairs.map(|pair| {
        let (first, second) = (&pair[0], &pair[1]);
        format!("ARCHITECTURE.md: in the glossary `{second}` must stand before `{first}`, and each word once")
    });
    Ok(told.collect())
}

#[cfg(test)]
mod tests {
    use super::super::TidyRule;
    use super::super::tree::tests::complaints;
    use super::*;

    #[test]
    fn a_glossary_out_of_order_is_found() {
        let told = |rows: &str| {
            let table = "| word | meaning |\n|---|---|\n";
            let text =
                format!("## Map\n| z | 1 |\n\n## Glossary\n\n{table}{rows}\n## Rules\n| a | b |\n");
            complaints(glossary, &[("ARCHITECTURE.md", &text)])
        };
        assert_eq!(
            told("| answer | a |\n| Bracket | b |\n| bracket row | c |\n"),
            [""; 0]
        );
        let swapped = told("| context | a |\n| confined | b |\n");
        assert_eq!(swapped.len(), 1);
        assert!(
            swapped[0].contains("`confined` must stand before `context`"),
            "{swapped:?}"
        );
        assert_eq!(told("| lane | a |\n| lane | b |\n").len(), 1);
        assert_eq!(told("").len(), 1);
    }

    #[test]
    fn a_module_without_an_opening_is_found() {
        assert_eq!(
            complaints(module_docs, &[("a.rs", "//! What it is for.\n")]),
            [""; 0]
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
    fn unsafe_code_outside_its_fence_is_found() {
        let found = |path: &str, code: &str| complaints(unsafe_code, &[(path, code)]).len();
        let fault = "    #[allow(unsafe_code)] // why\nfn f() {}";
        assert_eq!(found("engine/lua/src/a.rs", fault), 0);
        assert_eq!(
            found("app/a.rs", "// unsafe_code\n#![forbid(unsafe_code)]"),
            0
        );
        assert_eq!(found("app/a.rs", fault), 1);
        assert_eq!(
            found("app/a.rs", "#![allow(\n    unsafe_code,\n    dead_code\n)]"),
            1
        );
    }

    #[test]
    fn the_list_of_unsafe_modules_is_kept_true() {
        let list = "# Map\n`app/b.rs`\n## Unsafe modules\n- `app/a.rs`: signals\n- `engine/js`, all of it\n## \
         Next\n`app/c.rs`\n";
        let listed = |files: [(&str, &str); 2]| {
            complaints(
                unsafe_code as TidyRule,
                &[("ARCHITECTURE.md", list), files[0], files[1]],
            )
        };
        let code = "#![allow(unsafe_code)]";
        assert_eq!(listed([("app/a.rs", code), ("app/b.rs", "")]), [""; 0]);
        assert_eq!(
            listed([("app/a.rs", "fn f() {}"), ("app/b.rs", code)]),
            [
                "app/b.rs allows unsafe code and is not listed in ARCHITECTURE.md",
                "ARCHITECTURE.md lists app/a.rs, which has no unsafe code"
            ]
        );
    }

    #[test]
    fn missing_and_empty_documents_are_found() {
        let readme = COMMANDS.join("\n");
        let mut files: Vec<(&str, &str)> = DOCUMENTS.iter().map(|name| (*name, &*readme)).collect();
        assert_eq!(complaints(documents, &files), [""; 0]);
        files[0].1 = COMMANDS[1];
        files[1].1 = "\n";
        files.remove(3);
        assert_eq!(
            complaints(documents, &files),
            [
                "ARCHITECTURE.md is missing or empty".to_owned(),
                "CHANGELOG.md is missing or empty".to_owned(),
                format!("README.md must show the command `{}`", COMMANDS[0])
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
        assert_eq!(complaints(markers, &[("a.rs", "let hacked = 1;")]), [""; 0]);
    }
}
