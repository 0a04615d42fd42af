//! The bill of materials: what the executable is made from, as CycloneDX 1.6 in JSON.
//!
//! The crates are those that `cargo tree` finds for the command `sampan`, with the features of that alone. Crates that
//! are compiled in but only asked for by build scripts are known by their names: they end in `-src`. The text has no
//! time and no random number, so that one version gives one text.

use crate::error::Error;
use crate::project;
use cargo_metadata::{Metadata, MetadataCommand, Package};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The command.
const COMMAND: &str = "sampan";
/// The package of the command.
const PACKAGE: &str = "sampan-cli";

/// A bill of materials.
pub(super) struct Bom {
    pub(super) text: String,
    /// The version of the command.
    pub(super) version: String,
    pub(super) components: usize,
}

/// A crate, by name and version.
type Crate = (String, String);

/// Creates the list for the command in a workspace, for a target.
///
/// # Errors
/// Cargo does not know the crates.
pub(super) fn of_workspace(root: &Path, triple: &str) -> Result<Bom, Error> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .other_options(vec!["--locked".to_owned()])
        .exec()?;
    let checksums = checksums(&std::fs::read_to_string(root.join("Cargo.lock"))?)?;
    let mut crates = tree(root, triple, "normal")?;
    let sources = tree(root, triple, "normal,build")?.into_iter();
    crates.extend(sources.filter(|(name, _)| name.ends_with("-src")));
    let known = |package: &&Package| crates.contains(&key(package));
    let packages: Vec<&Package> = metadata.packages.iter().filter(known).collect();
    let own = packages.iter().find(|package| package.name == PACKAGE);
    let own = own.ok_or("the workspace has no package sampan-cli")?;
    let mut components: Vec<Value> = packages
        .iter()
        .filter(|package| package.id != own.id)
        .map(|package| component(package, checksums.get(&key(package))))
        .collect();
    components.sort_by_key(|one| one["bom-ref"].to_string());
    let count = components.len();
    let bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": purl(own),
            "name": COMMAND,
            "version": own.version.to_string(),
            "licenses": [{ "expression": own.license }],
        }},
        "components": components,
        "dependencies": dependencies(&metadata, &packages),
    });
    Ok(Bom {
        text: serde_json::to_string_pretty(&bom)? + "\n",
        version: own.version.to_string(),
        components: count,
    })
}

fn key(package: &Package) -> Crate {
    (package.name.to_string(), package.version.to_string())
}

fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(package: &Package, checksum: Option<&String>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version.to_string(),
        "purl": purl(package),
    });
    if let Some(license) = &package.license {
        // Older crates have a slash where the rules want OR.
        let expression = license.replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// Returns the dependencies of each of the packages depends on, among them.
fn dependencies(metadata: &Metadata, packages: &[&Package]) -> Vec<Value> {
    let refs: BTreeMap<_, String> = packages
        .iter()
        .map(|package| (&package.id, purl(package)))
        .collect();
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let mut all: Vec<(String, BTreeSet<&String>)> = nodes
        .filter_map(|node| {
            let on = node.dependencies.iter().filter_map(|id| refs.get(id));
            Some((refs.get(&node.id)?.clone(), on.collect()))
        })
        .collect();
    all.sort();
    let all = all.into_iter();
    all.map(|(own, on)| json!({ "ref": own, "dependsOn": on }))
        .collect()
}

/// The crates that the command is built with, by the kinds of dependencies that are followed.
fn tree(root: &Path, triple: &str, kinds: &str) -> Result<BTreeSet<Crate>, Error> {
    let output = project::cargo(root)
        .args(["tree", "--locked", "--package", PACKAGE, "--target", triple])
        .args(["--edges", kinds, "--prefix", "none", "--format", "{p}"])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let text = String::from_utf8(output.stdout)?;
    let crates = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        Some((name.to_owned(), version.to_owned()))
    });
    Ok(crates.collect())
}

/// The checksums of crates from a registry, as `Cargo.lock` has them.
fn checksums(lock: &str) -> Result<BTreeMap<Crate, String>, Error> {
    let lock: toml::Table = toml::from_str(lock)?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let packages = packages.into_iter().flatten().filter_map(|package| {
        let text = |key: &str| Some(package.get(key)?.as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    });
    Ok(packages.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_executable_is_named() {
        let root = project::root();
        let bom = of_workspace(&root, "x86_64-unknown-linux-gnu").expect("a workspace");
        let value: Value = serde_json::from_str(&bom.text).expect("JSON");
        let components = value["components"].as_array().expect("a list");
        assert_eq!(components.len(), bom.components);
        let find = |name: &str| components.iter().find(|one| one["name"] == name);
        for name in [
            "libsqlite3-sys",
            "luajit-src",
            "rquickjs-sys",
            "sampan-http",
        ] {
            assert!(find(name).is_some(), "{name}");
        }
        // Of the tests, the benchmark and the build alone.
        for name in ["sampan-bench", "cargo_metadata", "libtest-mimic", "cc"] {
            assert!(find(name).is_none(), "{name}");
        }
        let sqlite = find("libsqlite3-sys").expect("there");
        assert_eq!(sqlite["licenses"][0]["expression"], "MIT");
        let hash = sqlite["hashes"][0]["content"].as_str().expect("a hash");
        assert_eq!(hash.len(), 64);
        let dependencies = value["dependencies"].as_array().expect("a list");
        let rusqlite = dependencies.iter().find(|one| {
            one["ref"]
                .as_str()
                .is_some_and(|name| name.starts_with("pkg:cargo/rusqlite@"))
        });
        let on = rusqlite.expect("there")["dependsOn"].to_string();
        assert!(on.contains("pkg:cargo/libsqlite3-sys@"), "{on}");
        let again = of_workspace(&root, "x86_64-unknown-linux-gnu").expect("a workspace");
        assert_eq!(bom.text, again.text);
    }
}
