//! The crate graph: which of our crates may depend on which, and who may depend on the engines' libraries.

use super::tree::Tree;
use crate::{Error, project};

/// A part of the house. What it may depend on is [`Part::allowed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Http,
    Host,
    Lua,
    Js,
    Capability,
    App,
    Face,
    Testkit,
    Client,
    Bench,
    Xtask,
    Fuzz,
}

impl Part {
    /// The part that the crate in `folder` (relative to the root) is.
    fn of(folder: &str) -> Option<Self> {
        Some(match folder {
            "engine/http" => Self::Http,
            "engine/host" => Self::Host,
            "engine/lua" => Self::Lua,
            "engine/js" => Self::Js,
            "app" => Self::App,
            "testkit" => Self::Testkit,
            "testkit/client" => Self::Client,
            "bench" => Self::Bench,
            "xtask" => Self::Xtask,
            "fuzz" => Self::Fuzz,
            _ => match folder.split_once('/') {
                Some(("capabilities", name)) if !name.contains('/') => Self::Capability,
                Some(("faces", name)) if !name.contains('/') => Self::Face,
                _ => return None,
            },
        })
    }

    /// The arrows of the house.
    fn allowed(self) -> &'static [Self] {
        match self {
            Self::Http | Self::Host | Self::Client | Self::Xtask => &[],
            Self::Lua | Self::Js | Self::Capability => &[Self::Host],
            Self::App => &[
                Self::Http,
                Self::Host,
                Self::Lua,
                Self::Js,
                Self::Capability,
            ],
            Self::Testkit => &[Self::App, Self::Client],
            Self::Face => &[Self::Testkit, Self::App],
            Self::Bench => &[Self::Client],
            Self::Fuzz => &[Self::Http, Self::Host, Self::Lua, Self::Js],
        }
    }
}

/// Arrows that tests may follow besides: an engine shows that it binds real capabilities.
fn allowed_in_tests(from: Part, to: Part) -> bool {
    matches!(from, Part::Lua | Part::Js) && to == Part::Capability
}

/// Libraries that one crate alone may depend on, so that everything else stays free of them.
const OWNERS: &[(&str, &str)] = &[
    ("mlua", "engine/lua"),
    ("mlua-sys", "engine/lua"),
    ("rquickjs", "engine/js"),
    ("rquickjs-core", "engine/js"),
    ("rquickjs-sys", "engine/js"),
    ("rusqlite", "capabilities/db"),
    ("libsqlite3-sys", "capabilities/db"),
];

/// One of our crates, as cargo knows it.
struct Crate {
    /// Its folder relative to the root.
    folder: String,
    dependencies: Vec<Dependency>,
}

struct Dependency {
    /// The package's own name, also where the manifest renames it.
    name: String,
    /// Its folder relative to the root, where it is one of ours.
    folder: Option<String>,
    /// Whether only tests, examples and benchmarks see it.
    is_dev: bool,
}

/// Every dependency between our crates follows an allowed arrow.
///
/// # Errors
///
/// When cargo cannot read the workspace.
pub(super) fn arrows(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for krate in crates(tree)? {
        let Some(part) = Part::of(&krate.folder) else {
            complaints.push(format!(
                "{}: no such place in the house; see ARCHITECTURE.md",
                krate.folder
            ));
            continue;
        };
        for dependency in &krate.dependencies {
            let Some(target) = &dependency.folder else {
                continue;
            };
            let allowed = Part::of(target).is_some_and(|to| {
                part.allowed().contains(&to) || (dependency.is_dev && allowed_in_tests(part, to))
            });
            if !allowed && *target != krate.folder {
                complaints.push(format!(
                    "{} must not depend on {target} ({})",
                    krate.folder, dependency.name
                ));
            }
        }
    }
    Ok(complaints)
}

/// Only the named crate depends on each of the engines' libraries.
///
/// # Errors
///
/// When cargo cannot read the workspace.
pub(super) fn owners(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for krate in crates(tree)? {
        for dependency in &krate.dependencies {
            let owner = OWNERS.iter().find(|(name, _)| *name == dependency.name);
            if let Some((name, owner)) = owner.filter(|(_, owner)| *owner != krate.folder) {
                complaints.push(format!(
                    "{} must not depend on {name}: only {owner} does",
                    krate.folder
                ));
            }
        }
    }
    Ok(complaints)
}

fn crates(tree: &Tree) -> Result<Vec<Crate>, Error> {
    let metadata = project::metadata(tree.root(), &["--no-deps", "--offline"])?;
    // Cargo resolves links in paths, so the root must be taken from it too.
    let root = metadata["workspace_root"]
        .as_str()
        .ok_or("cargo metadata names no workspace root")?;
    let relative = |path: &str| {
        path.strip_prefix(root)
            .map(|rest| rest.trim_start_matches('/').to_owned())
    };
    let packages = metadata["packages"]
        .as_array()
        .ok_or("cargo metadata lists no packages")?;
    let mut crates = Vec::new();
    for package in packages {
        let manifest = package["manifest_path"]
            .as_str()
            .ok_or("a package without a manifest")?;
        let folder =
            relative(manifest).ok_or_else(|| format!("{manifest} lies outside the workspace"))?;
        let dependencies = package["dependencies"]
            .as_array()
            .ok_or("a package without a list of dependencies")?;
        crates.push(Crate {
            folder: folder
                .trim_end_matches("Cargo.toml")
                .trim_end_matches('/')
                .to_owned(),
            dependencies: dependencies
                .iter()
                .map(|dependency| Dependency {
                    name: dependency["name"].as_str().unwrap_or_default().to_owned(),
                    is_dev: dependency["kind"] == "dev",
                    folder: dependency["path"]
                        .as_str()
                        .map(|path| relative(path).unwrap_or_else(|| path.to_owned())),
                })
                .collect(),
        });
    }
    Ok(crates)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    fn manifest(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
    }

    /// A workspace with `http`, `host` and `cli`, each with these dependency tables.
    fn complaints(rule: super::super::Rule, http: &str, host: &str, cli: &str) -> Vec<String> {
        let (_scratch, tree) = tree(&[
            (
                "Cargo.toml",
                "[workspace]\nresolver = \"3\"\nmembers = [\"engine/http\", \"engine/host\", \"faces/cli\"]",
            ),
            ("engine/http/Cargo.toml", &manifest("http", http)),
            ("engine/http/src/lib.rs", ""),
            ("engine/host/Cargo.toml", &manifest("host", host)),
            ("engine/host/src/lib.rs", ""),
            ("faces/cli/Cargo.toml", &manifest("cli", cli)),
            ("faces/cli/src/lib.rs", ""),
        ]);
        rule(&tree).expect("the workspace is readable")
    }

    #[test]
    fn a_forbidden_arrow_is_found_in_every_kind_of_dependency() {
        assert_eq!(complaints(arrows, "", "", ""), Vec::<String>::new());
        for table in [
            "dependencies",
            "dev-dependencies",
            "build-dependencies",
            "target.'cfg(unix)'.dependencies",
        ] {
            let host = format!("[{table}]\nrenamed = {{ path = \"../http\", package = \"http\" }}");
            let found = complaints(arrows, "", &host, "");
            assert_eq!(
                found,
                ["engine/host must not depend on engine/http (http)"],
                "{table}"
            );
        }
        let found = complaints(
            arrows,
            "",
            "",
            "[dependencies]\nhttp = { path = \"../../engine/http\" }",
        );
        assert_eq!(found, ["faces/cli must not depend on engine/http (http)"]);
    }

    #[test]
    fn only_the_tests_of_an_engine_see_capabilities() {
        for (table, fault) in [("dev-dependencies", 0), ("dependencies", 1)] {
            let lua = format!("[{table}]\ntime = {{ path = \"../../capabilities/time\" }}");
            let (_scratch, tree) = tree(&[
                (
                    "Cargo.toml",
                    "[workspace]\nresolver = \"3\"\nmembers = [\"engine/lua\", \"capabilities/time\"]",
                ),
                ("engine/lua/Cargo.toml", &manifest("lua", &lua)),
                ("engine/lua/src/lib.rs", ""),
                ("capabilities/time/Cargo.toml", &manifest("time", "")),
                ("capabilities/time/src/lib.rs", ""),
            ]);
            assert_eq!(arrows(&tree).expect("readable").len(), fault, "{table}");
        }
    }

    #[test]
    fn a_library_of_an_engine_elsewhere_is_found_under_any_name() {
        assert_eq!(
            complaints(owners, "[dependencies]\nlibc = \"=0.2.1\"", "", ""),
            Vec::<String>::new()
        );
        let found = complaints(
            owners,
            "[dev-dependencies]\nx = { version = \"=0.12.0\", package = \"mlua\" }",
            "",
            "",
        );
        assert_eq!(
            found,
            ["engine/http must not depend on mlua: only engine/lua does"]
        );
    }

    #[test]
    fn places_outside_the_house_are_known() {
        assert_eq!(Part::of("capabilities/db"), Some(Part::Capability));
        assert_eq!(Part::of("capabilities/db/extra"), None);
        assert_eq!(Part::of("helpers"), None);
    }
}
