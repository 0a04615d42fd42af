//! Names of one crate that another passes on: each crate imports what it uses from the crate that has it.

use super::tree::Tree;
use crate::Error;

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

/// No library of ours re-exports another.
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn tunnels(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in tree.files() {
        let is_source = path.ends_with(".rs") && path.contains("/src/");
        if !is_source || EXCEPTIONS.iter().any(|(file, _)| *file == path) {
            continue;
        }
        for (at, line) in tree.text(path)?.lines().enumerate() {
            let line = line.trim_start();
            if line.starts_with("pub use sampan_") || line.starts_with("pub extern crate sampan_") {
                complaints.push(format!(
                    "{path}:{}: import it from its own crate where it is used",
                    at + 1
                ));
            }
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_passes_another_on_is_named() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("app/serve/src");
        std::fs::create_dir_all(&folder).expect("folders");
        let text = "use sampan_host::Error;\npub use sampan_http as http;\n";
        std::fs::write(folder.join("lib.rs"), text).expect("written");
        let tree = Tree::read(scratch.path()).expect("read");
        let complaints = tunnels(&tree).expect("read");
        assert_eq!(complaints.len(), 1);
        assert!(complaints[0].starts_with("app/serve/src/lib.rs:2:"));
    }
}
