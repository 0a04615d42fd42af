//! Capabilities stand in one list: no other code of the application names one.

use super::tree::Tree;
use crate::Error;

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
];

/// No code but the list names a capability that brings its own hooks.
///
/// # Errors
///
/// When a file cannot be read.
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
    let mut complaints = Vec::new();
    for path in tree.files() {
        let is_source = path.ends_with(".rs") && path.contains("src/") && path != LIST;
        let is_source = is_source && !path.ends_with("/tests.rs");
        if !is_source || !PLACES.iter().any(|place| path.starts_with(place)) {
            continue;
        }
        for (at, line) in tree.text(path)?.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let named = folders
                .iter()
                .filter(|name| code.contains(&format!("{name}::")));
            complaints.extend(named.map(|name| {
                format!(
                    "{path}:{}: only {LIST} names {name}; use a hook or a trait of host",
                    at + 1
                )
            }));
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_capability_named_elsewhere_is_found() {
        let scratch = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = scratch.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("written");
        };
        write("capabilities/mail/Cargo.toml", "");
        write("capabilities/db/Cargo.toml", "");
        write(LIST, "&sampan_mail::CAPABILITY");
        write(
            "app/serve/src/a.rs",
            "// sampan_mail::A\nuse sampan_mail::B;\nuse sampan_db::C;\n",
        );
        let tree = Tree::read(scratch.path()).expect("read");
        let complaints = listed(&tree).expect("read");
        assert_eq!(complaints.len(), 1);
        assert!(
            complaints[0].starts_with("app/serve/src/a.rs:2:"),
            "{complaints:?}"
        );
    }
}
