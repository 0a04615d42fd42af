//! The crate graph: which of our crates may depend on which, who may depend on the engines' libraries, and where
//! everything else comes from.

use cargo_metadata::semver::Op;
use cargo_metadata::{Dependency, DependencyKind, MetadataCommand, Package};
use spdx::{Expression, LicenseReq, Licensee, ParseMode};

use super::tree::Tree;
use crate::error::Error;

/// Each place of the house and those that it may depend on. A name that ends in `/` stands for all crates in that
/// folder.
const ARROWS: &[(&str, &[&str])] = &[
    ("engine/http", &[]),
    ("engine/host", &[]),
    ("engine/lua", &["engine/host"]),
    (
        "engine/js",
        &["engine/host", "engine/js_contract", "engine/js_modules"],
    ),
    ("engine/js_contract", &["engine/host"]),
    ("engine/js_modules", &["engine/host"]),
    ("engine/napi", &["engine/host", "engine/js_contract"]),
    ("engine/rig", &["engine/host", "testkit/client"]),
    ("capabilities/", &["engine/host"]),
    ("capabilities/db", &["capabilities/postgres"]),
    ("app/acme", &[]),
    ("app/sandbox", &[]),
    ("app/project", &["engine/host", "engine/js_modules"]),
    ("app/serve", &["engine/http", "engine/host", "app/project"]),
    (
        "app/runtime",
        &[
            "app/acme",
            "app/project",
            "app/sandbox",
            "app/serve",
            "engine/http",
            "engine/host",
            "engine/lua",
            "engine/js",
            "engine/js_modules",
            "capabilities/",
        ],
    ),
    ("faces/", &["app/", "engine/http", "engine/host", "testkit"]),
    (
        "faces/cli",
        &[
            "engine/js_modules",
            "capabilities/db",
            "capabilities/jobs",
            "capabilities/log",
        ],
    ),
    ("faces/node", &["engine/napi"]),
    ("faces/c", &["faces/rust"]),
    (
        "testkit",
        &[
            "app/project",
            "app/runtime",
            "engine/http",
            "engine/host",
            "capabilities/log",
            "testkit/client",
        ],
    ),
    ("testkit/client", &[]),
    ("bench", &["testkit/client"]),
    ("soak", &["engine/http", "testkit"]),
    ("xtask", &[]),
    (
        "fuzz",
        &[
            "engine/http",
            "engine/host",
            "engine/lua",
            "engine/js",
            "engine/js_modules",
            "engine/rig",
            "capabilities/",
            "app/project",
            "app/serve",
            "faces/rust",
            "faces/c",
        ],
    ),
];

/// Arrows that tests may follow besides: tests share a client and a rig, and engines show that they bind real
/// capabilities.
const TEST_ARROWS: &[(&str, &[&str])] = &[
    ("engine/http", &["testkit/client"]),
    ("capabilities/", &["testkit/client"]),
    ("app/runtime", &["testkit/client"]),
    ("app/", &["testkit/client"]),
    ("engine/lua", &["engine/rig", "capabilities/"]),
    ("engine/js", &["engine/rig", "capabilities/"]),
    ("faces/node", &["testkit", "testkit/client"]),
    ("faces/cli", &["testkit/client"]),
    ("faces/rust", &["testkit/client"]),
];

/// Libraries that these crates alone may depend on, so that everything else stays free of them.
const OWNERS: &[(&str, &str)] = &[
    ("mlua", "engine/lua"),
    ("mlua-sys", "engine/lua"),
    ("luajit-src", "engine/lua"),
    ("rquickjs", "engine/js"),
    ("rquickjs-core", "engine/js"),
    ("rquickjs-sys", "engine/js"),
    ("napi-sys", "engine/napi"),
    ("napi-sys", "faces/node"),
    ("rusqlite", "capabilities/db"),
    ("libsqlite3-sys", "capabilities/db"),
    ("postgres-protocol", "capabilities/postgres"),
];

/// The file that lists the licences.
const LICENCES: &str = "deny.toml";

/// Every dependency between our crates follows an allowed arrow, and only the named crate depends on each of the
/// engines' libraries.
pub(super) fn arrows(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for (folder, package) in ours(tree)? {
        if !ARROWS.iter().any(|(place, _)| is_at(place, &folder)) {
            complaints.push(format!(
                "{folder}: no such place in the house; see ARCHITECTURE.md"
            ));
        }
        for dependency in package.dependencies {
            let name = &dependency.name;
            let owners = OWNERS.iter().filter(|(library, _)| library == name);
            let owners: Vec<&str> = owners.map(|(_, owner)| *owner).collect();
            if !owners.is_empty() && !owners.contains(&folder.as_str()) {
                let owners = owners.join(" and ");
                complaints.push(format!(
                    "{folder} must not depend on {name}: only {owners} does"
                ));
            }
            let Some(path) = &dependency.path else {
                continue;
            };
            let target = tree.relative(path.as_std_path());
            let is_test = dependency.kind == DependencyKind::Development;
            let allowed = follows(ARROWS, &folder, &target)
                || is_test && follows(TEST_ARROWS, &folder, &target);
            if !allowed {
                complaints.push(format!("{folder} must not depend on {target} ({name})"));
            }
        }
    }
    Ok(complaints)
}

/// The page with the arrows, and the lines around them there.
const PAGE: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- arrows: printed by `cargo xtask tidy` -->\n```\n";
const END: &str = "```\n";

/// ARCHITECTURE.md shows the allowed arrows as they are checked here.
pub(super) fn printed_arrows(tree: &Tree) -> Result<Vec<String>, Error> {
    let page = tree.text(PAGE)?;
    let shown = page
        .split_once(BEGIN)
        .and_then(|(_, rest)| rest.split_once(END));
    let printed: String = ARROWS.iter().map(printed_arrow).collect();
    if shown.is_some_and(|(shown, _)| shown == printed) {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "{PAGE}: the arrows are these:\n{BEGIN}{printed}{END}"
    )])
}

/// One line for each place: the place, and the places that it may depend on.
fn printed_arrow((place, targets): &(&str, &[&str])) -> String {
    let name = |place: &str| match place.strip_suffix('/') {
        Some(folder) => format!("{folder}/*"),
        None => place.to_owned(),
    };
    let targets: Vec<String> = targets.iter().map(|target| name(target)).collect();
    match targets.is_empty() {
        true => format!("{:<20} → (nothing of ours)\n", name(place)),
        false => format!("{:<20} → {}\n", name(place), targets.join(", ")),
    }
}

fn is_at(place: &str, folder: &str) -> bool {
    match place.strip_suffix('/') {
        Some(_) => folder
            .strip_prefix(place)
            .is_some_and(|name| !name.contains('/')),
        None => folder == place,
    }
}

fn follows(arrows: &[(&str, &[&str])], from: &str, to: &str) -> bool {
    let targets = arrows.iter().filter(|(place, _)| is_at(place, from));
    targets
        .flat_map(|(_, targets)| *targets)
        .any(|target| is_at(target, to))
}

/// Every third-party crate is pinned as `=x.y.z`, to the same version everywhere, and every crate has the workspace's
/// lints.
pub(super) fn pins(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    let packages = ours(tree)?;
    let all: Vec<&Dependency> = packages
        .iter()
        .flat_map(|(_, package)| &package.dependencies)
        .collect();
    for (folder, package) in &packages {
        if !tree
            .text(&format!("{folder}/Cargo.toml"))?
            .contains("[lints]\nworkspace = true")
        {
            complaints.push(format!(
                "{folder}/Cargo.toml must have `[lints]` with `workspace = true`"
            ));
        }
        for dependency in package.dependencies.iter().filter(|one| one.path.is_none()) {
            let (name, req) = (&dependency.name, &dependency.req);
            let is_exact =
                matches!(&req.comparators[..], [one] if one.op == Op::Exact && one.patch.is_some());
            let differs = |other: &&Dependency| other.name == *name && other.req != *req;
            if !is_exact || all.iter().any(differs) {
                complaints.push(format!(
                    "{folder}: {name} {req} must be `{name}.workspace = true`, and \"=x.y.z\" in the root"
                ));
            }
        }
    }
    Ok(complaints)
}

/// The crates in the lock file that this platform builds have licences of deny.toml and are from the public registry.
pub(super) fn licences(tree: &Tree) -> Result<Vec<String>, Error> {
    let accepted = AcceptedLicences::read(&tree.text(LICENCES)?)?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let platform = std::process::Command::new(rustc)
        .args(["--print", "host-tuple"])
        .output()?;
    let platform = String::from_utf8(platform.stdout)?;
    let options = ["--locked", "--filter-platform", platform.trim()].map(str::to_owned);
    let metadata = metadata(tree).other_options(options).exec()?;
    let faults = metadata.packages.iter().filter_map(|package| {
        let source = package.source.as_ref()?;
        let fault = accepted.fault(&package.name, &source.repr, package.license.as_deref())?;
        Some(format!("{} {} {fault}", package.name, package.version))
    });
    Ok(faults.collect())
}

/// The licences of any crate, and those of some crates.
struct AcceptedLicences(Vec<(Option<String>, Licensee)>);

impl AcceptedLicences {
    fn read(text: &str) -> Result<Self, Error> {
        let file: toml::Table = toml::from_str(text)?;
        let section = file
            .get("licenses")
            .ok_or_else(|| format!("{LICENCES} has no [licenses]"))?;
        let mut accepted = Vec::new();
        let exceptions = section.get("exceptions").and_then(toml::Value::as_array);
        for table in std::iter::once(section).chain(exceptions.into_iter().flatten()) {
            let name = table.get("crate").and_then(toml::Value::as_str);
            let allowed = table.get("allow").and_then(toml::Value::as_array);
            for licence in allowed.into_iter().flatten() {
                let licence = licence.as_str().unwrap_or_default();
                let licensee = Licensee::parse(licence)
                    .map_err(|error| format!("{LICENCES}: {licence:?}: {error}"))?;
                accepted.push((name.map(str::to_owned), licensee));
            }
        }
        Ok(Self(accepted))
    }

    fn fault(&self, name: &str, source: &str, licence: Option<&str>) -> Option<String> {
        if source != "registry+https://github.com/rust-lang/crates.io-index" {
            return Some(format!("comes from {source}"));
        }
        let licence = licence.unwrap_or("none");
        let is_met = |required: &LicenseReq| {
            self.0.iter().any(|(only, licensee)| {
                only.as_deref().is_none_or(|only| only == name) && licensee.satisfies(required)
            })
        };
        let expression = Expression::parse_mode(licence, ParseMode::LAX);
        let is_accepted = expression.is_ok_and(|expression| expression.evaluate(is_met));
        (!is_accepted).then(|| format!("has the licence {licence}"))
    }
}

fn metadata(tree: &Tree) -> MetadataCommand {
    let mut command = MetadataCommand::new();
    command.manifest_path(tree.root().join("Cargo.toml"));
    command
}

/// Our crates with their folders, relative to the root.
fn ours(tree: &Tree) -> Result<Vec<(String, Package)>, Error> {
    let metadata = metadata(tree)
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()?;
    let folder = |package: &Package| {
        let manifest = package.manifest_path.as_std_path();
        tree.relative(manifest.parent().unwrap_or(manifest))
    };
    Ok(metadata
        .packages
        .into_iter()
        .map(|package| (folder(&package), package))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::super::TidyRule;
    use super::super::tree::tests::tree;
    use super::*;

    /// A workspace with crates in these folders, called as the folder's last part, each with this end of its manifest.
    fn complaints(rule: TidyRule, crates: &[(&str, &str)]) -> Vec<String> {
        let members: Vec<&str> = crates.iter().map(|(folder, _)| *folder).collect();
        let root = format!(
            "[workspace]\nresolver = \"3\"\nmembers = {members:?}\n[workspace.lints.rust]\n"
        );
        let mut files = vec![("Cargo.toml".to_owned(), root)];
        for (folder, rest) in crates {
            let name = folder.rsplit('/').next().unwrap_or_default();
            let manifest = format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}"
            );
            files.push((format!("{folder}/Cargo.toml"), manifest));
            files.push((format!("{folder}/src/lib.rs"), String::new()));
        }
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (&**path, &**text))
            .collect();
        let (_scratch, tree) = tree(&files);
        rule(&tree).expect("the workspace is readable")
    }

    #[test]
    fn a_forbidden_arrow_is_found_in_every_kind_of_dependency() {
        for table in [
            "dependencies",
            "dev-dependencies",
            "build-dependencies",
            "target.'cfg(unix)'.dependencies",
        ] {
            let host = format!("[{table}]\nrenamed = {{ path = \"../http\", package = \"http\" }}");
            let found = complaints(arrows, &[("engine/http", ""), ("engine/host", &host)]);
            assert_eq!(
                found,
                ["engine/host must not depend on engine/http (http)"],
                "{table}"
            );
        }
        let found = complaints(arrows, &[("engine/http", ""), ("helpers", "")]);
        assert_eq!(
            found,
            ["helpers: no such place in the house; see ARCHITECTURE.md"]
        );
    }

    #[test]
    fn only_the_tests_of_an_engine_see_capabilities() {
        for (table, faults) in [("dev-dependencies", 0), ("dependencies", 1)] {
            let lua = format!("[{table}]\ntime = {{ path = \"../../capabilities/time\" }}");
            let found = complaints(arrows, &[("engine/lua", &lua), ("capabilities/time", "")]);
            assert_eq!(found.len(), faults, "{table}: {found:?}");
        }
    }

    #[test]
    fn a_library_of_an_engine_elsewhere_is_found_under_any_name() {
        let http = "[dev-dependencies]\nx = { version = \"=0.12.0\", package = \"mlua\" }";
        let found = complaints(arrows, &[("engine/http", http)]);
        assert_eq!(
            found,
            ["engine/http must not depend on mlua: only engine/lua does"]
        );
    }

    #[test]
    fn a_loose_version_and_two_versions_are_found() {
        let manifest = |dependency: &str| {
            format!("[lints]\nworkspace = true\n[dependencies]\nthing = {dependency}")
        };
        let exact = manifest("\"=1.2.3\"");
        assert_eq!(complaints(pins, &[("a", &exact), ("b", &exact)]), [""; 0]);
        for loose in [
            "\"1\"",
            "\"1.2.3\"",
            "\"=1.2\"",
            "{ git = \"https://example.com\" }",
        ] {
            let found = complaints(pins, &[("a", &manifest(loose))]);
            assert!(found[0].starts_with("a: thing "), "{loose}: {found:?}");
        }
        assert_eq!(
            complaints(pins, &[("a", &exact), ("b", &manifest("\"=1.2.4\""))]).len(),
            2
        );
        assert_eq!(
            complaints(pins, &[("a", "")]),
            ["a/Cargo.toml must have `[lints]` with `workspace = true`"]
        );
    }

    #[test]
    fn a_foreign_source_and_a_licence_that_is_not_listed_are_found() {
        let list = "[licenses]\nallow = ['MIT', 'Apache-2.0 WITH LLVM-exception']\n\
                    exceptions = [{ crate = 'selectors', allow = ['MPL-2.0'] }]\n";
        let accepted = AcceptedLicences::read(list).expect("a list");
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        for good in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert_eq!(accepted.fault("a", registry, Some(good)), None, "{good}");
        }
        assert_eq!(accepted.fault("selectors", registry, Some("MPL-2.0")), None);
        for bad in ["GPL-3.0", "MIT AND GPL-2.0", "MIT OR", "", "MPL-2.0"] {
            assert_eq!(
                accepted.fault("a", registry, Some(bad)),
                Some(format!("has the licence {bad}"))
            );
        }
        assert_eq!(
            accepted.fault("a", registry, None).as_deref(),
            Some("has the licence none")
        );
        let foreign = "git+https://example.com/a";
        assert!(accepted.fault("a", foreign, Some("MIT")).is_some());
        assert!(AcceptedLicences::read("[licenses]\nallow = ['MITT']\n").is_err());
        assert!(AcceptedLicences::read("").is_err());
    }
}
