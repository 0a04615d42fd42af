//! Manifests: every version is written once, in the root, exactly.

use toml::{Table, Value};

use super::tree::Tree;
use crate::Error;

/// The root pins every third-party crate as `=x.y.z`, and members take theirs from the root.
///
/// # Errors
///
/// When a manifest cannot be read or parsed.
pub(super) fn pins(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in tree
        .files()
        .filter(|path| *path == "Cargo.toml" || path.ends_with("/Cargo.toml"))
    {
        let manifest: Table = tree
            .text(path)?
            .parse()
            .map_err(|error| format!("{path}: {error}"))?;
        if let Some(workspace) = manifest.get("workspace").and_then(Value::as_table) {
            pinned(path, workspace, &mut complaints);
        }
        inherited(path, &manifest, &mut complaints);
        for target in manifest
            .get("target")
            .and_then(Value::as_table)
            .into_iter()
            .flat_map(Table::values)
        {
            target
                .as_table()
                .into_iter()
                .for_each(|target| inherited(path, target, &mut complaints));
        }
    }
    Ok(complaints)
}

fn dependencies<'a>(table: &'a Table, kind: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    table
        .get(kind)
        .and_then(Value::as_table)
        .into_iter()
        .flatten()
}

fn pinned(path: &str, workspace: &Table, complaints: &mut Vec<String>) {
    for (name, entry) in dependencies(workspace, "dependencies") {
        let version = entry
            .as_str()
            .or_else(|| entry.get("version").and_then(Value::as_str));
        let ours = entry.get("path").is_some();
        if !ours && !version.is_some_and(is_exact) {
            complaints.push(format!(
                "{path}: {name} must be pinned exactly, as in \"=1.2.3\""
            ));
        }
        if entry.get("git").is_some() {
            complaints.push(format!(
                "{path}: {name} must come from crates.io, not from git"
            ));
        }
    }
}

fn inherited(path: &str, table: &Table, complaints: &mut Vec<String>) {
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for (name, entry) in dependencies(table, kind) {
            if entry.get("workspace").and_then(Value::as_bool) != Some(true) {
                complaints.push(format!(
                    "{path}: {name} must be `{name}.workspace = true`, its version in the root"
                ));
            }
        }
    }
}

/// `=1.2.3`, also with a pre-release or build part after it.
fn is_exact(version: &str) -> bool {
    let Some(version) = version.strip_prefix('=') else {
        return false;
    };
    let core = version.split(['-', '+']).next().unwrap_or_default();
    core.split('.').count() == 3 && core.split('.').all(|part| part.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    #[test]
    fn a_loose_version_is_found() {
        for loose in [
            "\"1\"",
            "\"^1.2.3\"",
            "\"=1.2\"",
            "{ version = \"1.2.3\" }",
            "{ git = \"https://example.com\" }",
        ] {
            let root = format!("[workspace.dependencies]\nthing = {loose}\n");
            let (_scratch, tree) = tree(&[("Cargo.toml", &root)]);
            let found = pins(&tree).expect("readable");
            assert!(
                found.first().is_some_and(|line| line.contains("thing")),
                "{loose}: {found:?}"
            );
        }
        let good = "[workspace.dependencies]\na = \"=1.2.3\"\nb = { version = \"=0.1.0-rc.1\" }\nc = { path = \"c\" }\n";
        let (_scratch, tree) = tree(&[("Cargo.toml", good)]);
        assert_eq!(pins(&tree).expect("readable"), Vec::<String>::new());
    }

    #[test]
    fn a_version_in_a_member_is_found() {
        let member = "[dependencies]\na.workspace = true\n[target.'cfg(unix)'.dev-dependencies]\nb = \"=1.2.3\"\n";
        let (_scratch, tree) = tree(&[("m/Cargo.toml", member)]);
        let found = pins(&tree).expect("readable");
        assert_eq!(
            found,
            ["m/Cargo.toml: b must be `b.workspace = true`, its version in the root"]
        );
    }
}
