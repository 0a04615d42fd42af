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
pub(super) fn tunnels(tree: &Tree) -> Result<Vec<String>, Error> {
    tree.faults_of_lines(tree.with_extension(&["rs"]), |path| {
        let is_excepted = EXCEPTIONS.iter().any(|(file, _)| *file == path);
        let fault_of = |line: &str| {
            let line = line.trim_start();
            let is_tunnel = ["pub use sampan_", "pub extern crate sampan_"]
                .iter()
                .any(|start| line.starts_with(start));
            is_tunnel.then(|| "import it from its own crate where it is used".to_owned())
        };
        (path.contains("/src/") && !is_excepted).then_some(fault_of)
    })
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
}
