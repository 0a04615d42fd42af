//! Capabilities stand in one list: no other code of the application names one.

use super::tree::Tree;
use crate::error::Error;

/// The folder of the application's crates, and of the faces.
const PLACES: &[&str] = &["app/", "faces/", "testkit/src/"];

/// The list.
const LIST: &str = "app/runtime/src/capabilities.rs";

/// The crates that other code may name, and the reasons.
const OWNED: &[(&str, &str)] = &[
    (
        "sampan_db",
        "the server opens the database before anything is loaded",
    ),
    ("sampan_log", "the server logs before anything is loaded"),
    (
        "sampan_env",
        "the server reads the variables of a project's .env",
    ),
    (
        "sampan_middleware",
        "the guard against requests of other sites stands before each project",
    ),
    (
        "sampan_trace",
        "the server sends the spans of its workers, and ends that last",
    ),
    (
        "sampan_backup",
        "the server copies its database, and restores it before anything is loaded",
    ),
    (
        "sampan_jobs",
        "the command `sampan jobs` shows and changes its tables",
    ),
];

/// No code but the list names a capability that brings its own hooks.
pub(super) fn listed(tree: &Tree) -> Result<Vec<String>, Error> {
    let folders: Vec<String> = tree
        .files()
        .filter_map(|path| {
            path.strip_prefix("capabilities/")?
                .strip_suffix("/Cargo.toml")
        })
        .map(|folder| format!("sampan_{folder}"))
        .filter(|name| OWNED.iter().all(|(owned, _)| owned != name))
        .collect();
    tree.faults_of_lines(tree.with_extension(&["rs"]), |path| {
        let is_source = path.contains("src/") && path != LIST && !path.ends_with("/tests.rs");
        let folders = &folders;
        let fault_of = move |line: &str| {
            let code = line.split("//").next().unwrap_or_default();
            let mut names = folders.iter();
            let name = names.find(|name| code.contains(&format!("{name}::")))?;
            Some(format!(
                "only {LIST} names {name}; use a hook or a trait of host"
            ))
        };
        (is_source && PLACES.iter().any(|place| path.starts_with(place))).then_some(fault_of)
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    #[test]
    fn a_capability_named_elsewhere_is_found() {
        let (_scratch, tree) = tree(&[
            ("capabilities/mail/Cargo.toml", ""),
            ("capabilities/db/Cargo.toml", ""),
            (LIST, "&sampan_mail::CAPABILITY"),
            (
                "app/serve/src/a.rs",
                "// sampan_mail::A\nuse sampan_mail::B;\nuse sampan_db::C;\n",
            ),
        ]);
        let complaints = listed(&tree).expect("read");
        assert_eq!(complaints.len(), 1);
        assert!(
            complaints[0].starts_with("app/serve/src/a.rs:2:"),
            "{complaints:?}"
        );
    }
}
