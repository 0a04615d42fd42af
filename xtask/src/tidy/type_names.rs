//! Names of types that say little: each stands for one thing.

use super::tree::Tree;
use crate::error::Error;

/// The name, and the files that may declare a type of it.
#[rustfmt::skip]
const SHORT_NAMES: &[(&str, &[&str])] = &[
    ("Fault", &["engine/http/src/codec/fault.rs"]),
    ("Options", &[]),
    ("Parts", &[]),
    ("Ticket", &["engine/http/src/answer.rs"]),
    ("Turn", &["engine/http/src/driver/runtime/pump/mod.rs"]),
    ("Verdict", &["engine/host/src/run/outbox.rs"]),
    // The same thing for each engine.
    ("Waiting", &[
        "engine/js/src/promises/suspend.rs",
        "engine/lua/src/coroutines/suspend.rs",
        "engine/napi/src/promises/suspend.rs",
    ]),
];

const KINDS: &[&str] = &["struct", "enum", "type", "union", "trait"];

/// No file declares a type of a short name that belongs to another.
pub(super) fn type_names(tree: &Tree) -> Result<Vec<String>, Error> {
    tree.faults_of_lines(tree.with_extension(&["rs"]), |path| {
        let path = path.to_owned();
        Some(move |line: &str| {
            let (_, files) = SHORT_NAMES
                .iter()
                .find(|(name, _)| declared(line) == Some(name))?;
            let is_other = !files.contains(&path.as_str());
            is_other
                .then(|| "this name says little: say which it is, as `CsvOptions` does".to_owned())
        })
    })
}

/// Returns the name of the type that a line of a module declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split([' ', '<', '(', ';', ':']);
    let is_declaration = !line.starts_with(' ') && words.any(|word| KINDS.contains(&word));
    words.next().filter(|_| is_declaration)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    #[test]
    fn a_short_name_belongs_to_one_file() {
        let (_scratch, tree) = tree(&[
            (
                "a/src/lib.rs",
                "//! A.\n\npub(crate) struct Options<'a> {\n",
            ),
            ("engine/http/src/codec/fault.rs", "pub enum Fault {\n"),
            (
                "b/src/lib.rs",
                "pub struct CsvOptions;\n    Options,\nuse a::Options;\n",
            ),
            ("c/src/lib.rs", "type Fault = ();\n"),
        ]);
        let found = type_names(&tree).expect("readable");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a/src/lib.rs:3: "), "{found:?}");
        assert!(found[1].starts_with("c/src/lib.rs:1: "), "{found:?}");
    }
}
