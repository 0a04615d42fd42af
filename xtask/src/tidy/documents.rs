//! The documents at the root: they exist, and README holds the commands that do everything.

use super::tree::Tree;
use crate::Error;

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

/// Each document exists and says something; README names the commands.
///
/// # Errors
///
/// When a document cannot be read.
pub(super) fn documents(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for document in DOCUMENTS {
        if !tree.has(document) {
            complaints.push(format!("{document} is missing"));
        } else if tree.text(document)?.trim().is_empty() {
            complaints.push(format!("{document} is empty"));
        }
    }
    if tree.has("README.md") {
        let readme = tree.text("README.md")?;
        let missing = COMMANDS.iter().filter(|command| !readme.contains(*command));
        complaints
            .extend(missing.map(|command| format!("README.md must show the command `{command}`")));
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let (_scratch, tree) = tree(files);
        documents(&tree).expect("readable")
    }

    #[test]
    fn missing_and_empty_documents_are_found() {
        let readme = "Run `cargo run --release -- run examples/hello/app.lua`, test with `cargo xtask test`.";
        let mut files: Vec<(&str, &str)> = DOCUMENTS.iter().map(|name| (*name, "text")).collect();
        files[0].1 = readme;
        assert_eq!(complaints(&files), Vec::<String>::new());
        files[0].1 = "Run `cargo xtask test`.";
        files[1].1 = "\n";
        files.remove(3);
        assert_eq!(
            complaints(&files),
            [
                "ARCHITECTURE.md is empty",
                "CHANGELOG.md is missing",
                "README.md must show the command `cargo run --release -- run examples/hello/app.lua`"
            ]
        );
    }
}
