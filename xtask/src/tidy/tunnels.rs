//! Names of one crate that another passes on: each crate imports what it uses from the crate that has it.

use std::collections::BTreeSet;

use super::tree::Tree;
use crate::error::Error;

/// Files that pass names on, and the reasons.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "engine/napi/src/sys/mod.rs",
        "the error of its own interface",
    ),
    (
        "engine/rig/src/lib.rs",
        "one import for the tests of engines",
    ),
    ("faces/rust/src/lib.rs", "the crate that users depend on"),
    ("testkit/src/lib.rs", "one import for tests"),
];

/// The section of the workspace's manifest that names the crates of others.
const DEPENDENCIES: &str = "[workspace.dependencies]";

/// No library of ours re-exports another, or a crate of others.
pub(super) fn tunnels(tree: &Tree) -> Result<Vec<String>, Error> {
    let crates = crates_of_others(tree)?;
    tree.faults_of_lines(tree.with_extension(&["rs"]), |path| {
        let is_excepted = EXCEPTIONS.iter().any(|(file, _)| *file == path);
        // A file that cannot be read is a fault of its own.
        let text = tree.text(path).unwrap_or_default();
        let modules: BTreeSet<String> = text.lines().filter_map(module).collect();
        let crates = &crates;
        let fault_of = move |line: &str| {
            let line = line.trim_start();
            let rest = ["pub use ", "pub extern crate "]
                .iter()
                .find_map(|start| line.strip_prefix(start))?;
            let rest = rest.trim_start_matches("::");
            let name = rest.split(|c: char| !is_of_name(c)).next()?;
            let is_other = crates.contains(name) && !modules.contains(name);
            (is_other || name.starts_with("sampan_"))
                .then(|| "import it from its own crate where it is used".to_owned())
        };
        (path.contains("/src/") && !is_excepted).then_some(fault_of)
    })
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The name of the module that a line declares: the crate of that name is not meant by paths in its file.
fn module(line: &str) -> Option<String> {
    let (before, rest) = line.split_once("mod ")?;
    let is_declaration = before.trim().is_empty() || before.trim_start().starts_with("pub");
    let name = rest.split(|c: char| !is_of_name(c)).next()?;
    is_declaration.then(|| name.to_owned())
}

/// The crates of others that the workspace depends on, by their names in code.
fn crates_of_others(tree: &Tree) -> Result<BTreeSet<String>, Error> {
    if !tree.has("Cargo.toml") {
        return Ok(BTreeSet::new());
    }
    let text = tree.text("Cargo.toml")?;
    let lines = text.lines().skip_while(|line| *line != DEPENDENCIES);
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| Some(line.split_once(" = ")?.0));
    Ok(names.map(|name| name.trim().replace('-', "_")).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    #[test]
    fn a_crate_that_passes_another_on_is_named() {
        let text = "use sampan_host::Error;\npub use sampan_http as http;\n";
        let (_scratch, tree) = tree(&[("app/serve/src/lib.rs", text)]);
        let complaints = tunnels(&tree).expect("read");
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("app/serve/src/lib.rs:2:"));
    }

    #[test]
    fn a_crate_of_others_that_is_passed_on_is_named() {
        let manifest = "[workspace]\n[workspace.dependencies]\nquick-row = \"=1.0.0\"\nrows = \"=1.0.0\"\n[other]\n";
        let text =
            "mod rows;\npub use quick_row::version;\npub use rows::Row;\npub use std::fmt;\n";
        let (_scratch, tree) = tree(&[("Cargo.toml", manifest), ("app/serve/src/lib.rs", text)]);
        let complaints = tunnels(&tree).expect("read");
        assert_eq!(complaints.len(), 1, "{complaints:?}");
        assert!(complaints[0].starts_with("app/serve/src/lib.rs:2:"));
    }
}
