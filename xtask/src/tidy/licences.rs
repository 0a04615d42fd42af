//! What we ship: every third-party crate in the build comes from crates.io and is permissively licensed.

use std::process::Command;

use serde_json::Value;

use super::tree::Tree;
use crate::{Error, project};

/// Licences that let anybody use Sampan under either of its own.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The crates in the lock file that this platform builds are permissive and from the public registry.
///
/// # Errors
///
/// When cargo cannot resolve the workspace as locked.
pub(super) fn licences(tree: &Tree) -> Result<Vec<String>, Error> {
    let platform = host_platform()?;
    let metadata = project::metadata(tree.root(), &["--locked", "--filter-platform", &platform])?;
    let packages = metadata["packages"]
        .as_array()
        .ok_or("cargo metadata lists no packages")?;
    Ok(packages.iter().filter_map(complaint).collect())
}

fn host_platform() -> Result<String, Error> {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg("-vV")
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}

/// What is wrong with one package of `cargo metadata`, if anything. A package without a source is ours.
fn complaint(package: &Value) -> Option<String> {
    let source = package["source"].as_str()?;
    let name = format!(
        "{} {}",
        package["name"].as_str()?,
        package["version"].as_str()?
    );
    if !source.starts_with("registry+https://github.com/rust-lang/crates.io-index") {
        return Some(format!("{name} comes from {source}"));
    }
    match package["license"].as_str() {
        Some(expression) if is_permissive(expression) => None,
        Some(expression) => Some(format!("{name} has the licence {expression}")),
        None => Some(format!("{name} names no licence")),
    }
}

/// Whether an SPDX expression (`OR`, `AND`, parentheses, the old `/` for `OR`) can be met by permissive licences.
fn is_permissive(expression: &str) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest) == Some(true) && rest.is_empty()
}

/// `all OR all OR ...`; nothing where the expression is malformed.
fn any_of(words: &mut &[&str]) -> Option<bool> {
    let mut met = all_of(words)?;
    while take(words, "OR") {
        met |= all_of(words)?;
    }
    Some(met)
}

/// `one AND one AND ...`
fn all_of(words: &mut &[&str]) -> Option<bool> {
    let mut met = one(words)?;
    while take(words, "AND") {
        met &= one(words)?;
    }
    Some(met)
}

/// A licence, with its exception, or an expression in parentheses.
fn one(words: &mut &[&str]) -> Option<bool> {
    if take(words, "(") {
        let met = any_of(words)?;
        return take(words, ")").then_some(met);
    }
    let (name, rest) = words.split_first()?;
    *words = rest;
    if !take(words, "WITH") {
        return Some(PERMISSIVE.contains(name));
    }
    let (exception, rest) = words.split_first()?;
    *words = rest;
    Some(PERMISSIVE.contains(&format!("{name} WITH {exception}").as_str()))
}

/// Steps over `word` if it comes next.
fn take(words: &mut &[&str], word: &str) -> bool {
    let found = words.first() == Some(&word);
    *words = &words[usize::from(found)..];
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expressions_are_judged_as_a_whole() {
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_permissive(good), "{good}");
        }
        for bad in [
            "GPL-3.0",
            "MIT AND GPL-2.0",
            "(MIT OR Apache-2.0) AND LGPL-3.0",
            "MIT OR",
            "",
            "(MIT",
            "MIT WITH X",
        ] {
            assert!(!is_permissive(bad), "{bad}");
        }
    }

    #[test]
    fn a_foreign_source_or_a_missing_licence_is_found() {
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        let package = |source: &str, license: Option<&str>| json!({ "name": "a", "version": "1.0.0", "source": source, "license": license });
        assert_eq!(complaint(&package(registry, Some("MIT"))), None);
        assert_eq!(
            complaint(&package(registry, Some("AGPL-3.0"))),
            Some("a 1.0.0 has the licence AGPL-3.0".to_owned())
        );
        assert_eq!(
            complaint(&package(registry, None)),
            Some("a 1.0.0 names no licence".to_owned())
        );
        assert!(complaint(&package("git+https://example.com/a", Some("MIT"))).is_some());
        assert_eq!(
            complaint(&json!({ "name": "ours", "version": "0.1.0", "source": null })),
            None
        );
    }
}
