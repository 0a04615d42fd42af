//! `package.json`: what a package exports, and which of its files that is.
//!
//! The rules are those of Node.js, "Modules: Packages" and the resolution algorithm in "Modules: ECMAScript modules".

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The conditions of an import, for the `exports` and `imports` of a package. A package's own order decides among those
/// that hold.
pub(crate) const IMPORT: &[&str] = &[
    "sampan", "workerd", "worker", "browser", "import", "default",
];
/// The conditions of a `require`.
pub(crate) const REQUIRE: &[&str] = &[
    "sampan", "workerd", "worker", "browser", "require", "default",
];

/// The greatest depth to which conditions and lists may nest.
const DEPTH_MAX: usize = 32;

/// The fields read of a `package.json`. A field of another type than expected counts as absent.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Package {
    name: Target,
    main: Target,
    #[serde(rename = "type")]
    kind: Target,
    /// The exports, where it says.
    exports: Target,
    /// The imports of its own files import by `#name`.
    pub(crate) imports: Target,
    workspaces: Target,
    /// Files, or one in the place of `main`, that need nothing of Node.js.
    browser: Target,
}

/// Reports whether the text of a `package.json` says that packages lie below its folder, which share what is installed.
pub fn is_workspace(text: &[u8]) -> bool {
    Package::read(text).is_ok_and(|package| package.workspaces.says_something())
}

impl Package {
    /// Reads the text of a `package.json`.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.text()
    }

    /// The file of the package itself, where there are no `exports`.
    pub(crate) fn main(&self) -> Option<&str> {
        self.browser.text().or_else(|| self.main.text())
    }

    /// Reports whether the package says what it exports.
    pub(crate) fn has_exports(&self) -> bool {
        self.exports.says_something()
    }

    /// The module in place of `name`, by a map under `browser`: a file is `./lib/x.js`, other names are of packages.
    pub(crate) fn for_browsers(&self, name: &str) -> Option<Replacement<'_>> {
        let Target::Choices(choices) = &self.browser else {
            return None;
        };
        let plain = name.strip_suffix(".js").filter(|_| name.starts_with("./"));
        let fits = |key: &str| key == name || Some(key) == plain;
        let (_, target) = choices.iter().find(|(key, _)| fits(key))?;
        match target {
            Target::False => Some(Replacement::Empty),
            target => target.text().map(Replacement::Module),
        }
    }

    /// `module` or `commonjs`, where it says.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.kind.text()
    }

    /// The path, below the package's folder, of what `subpath` (`.` or `./sub`) exports.
    pub(crate) fn exported(&self, subpath: &str, conditions: &[&str]) -> Option<String> {
        let has_subpaths = match &self.exports {
            Target::Choices(choices) => choices.iter().any(|(key, _)| key.starts_with('.')),
            _ => false,
        };
        if !has_subpaths {
            let target = (subpath == ".").then_some(&self.exports)?;
            return target.path(&Search::exports(conditions), 0).found();
        }
        self.exports.entry(subpath, Search::exports(conditions))
    }

    /// Returns the target of `#name`: a path below the package's folder, or the name of another package.
    pub(crate) fn imported(&self, name: &str, conditions: &[&str]) -> Option<String> {
        self.imports.entry(name, Search::imports(conditions))
    }
}

/// The module that takes the place of another where Node.js is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replacement<'a> {
    /// A module that exports nothing: `false`.
    Empty,
    /// A file of the package (`./lib/x.js`), or the name of another package.
    Module(&'a str),
}

/// A value of `exports` and `imports`, with its keys in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Target {
    /// Not there, or nothing that means anything here.
    #[default]
    Absent,
    /// `null`: explicitly not exported.
    Never,
    /// `false`: under `browser` an empty module. It means nothing elsewhere.
    False,
    Path(String),
    List(Vec<Target>),
    /// Conditions, or subpaths.
    Choices(Vec<(String, Target)>),
}

/// The result of one target.
enum Led {
    To(String),
    /// Explicitly nowhere: no other is tried.
    Nowhere,
    /// No result, because none of its conditions holds.
    On,
}

impl Led {
    fn found(self) -> Option<String> {
        match self {
            Self::To(path) => Some(path),
            Self::Nowhere | Self::On => None,
        }
    }
}

/// The rules by which a target is searched for a path.
struct Search<'a> {
    /// The text in place of each `*`.
    middle: Option<&'a str>,
    conditions: &'a [&'a str],
    /// True under `imports`, where a target may be the name of another package.
    may_name_packages: bool,
}

impl<'a> Search<'a> {
    fn exports(conditions: &'a [&'a str]) -> Self {
        Self {
            middle: None,
            conditions,
            may_name_packages: false,
        }
    }

    fn imports(conditions: &'a [&'a str]) -> Self {
        Self {
            may_name_packages: true,
            ..Self::exports(conditions)
        }
    }

    /// Reports whether a path is a valid target. Node.js skips others in a list.
    fn accepts(&self, path: &str) -> bool {
        match path.strip_prefix("./") {
            Some(inside) => {
                let leads_out = |part: &str| matches!(part, "." | ".." | "node_modules");
                !inside.split(['/', '\\']).any(leads_out)
            }
            None => self.may_name_packages && !path.starts_with("../") && !path.starts_with('/'),
        }
    }
}

impl Target {
    /// Reports whether the field is there, with a value that can mean something.
    fn says_something(&self) -> bool {
        !matches!(self, Self::Absent | Self::False)
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Path(text) => Some(text),
            _ => None,
        }
    }

    /// The target of a key: the key itself, or the longest one with a `*` that fits.
    fn entry(&self, name: &str, search: Search<'_>) -> Option<String> {
        let Self::Choices(choices) = self else {
            return None;
        };
        if !name.contains('*')
            && let Some((_, target)) = choices.iter().find(|(key, _)| key == name)
        {
            return target.path(&search, 0).found();
        }
        let fitting = choices.iter().filter_map(|(key, target)| {
            let (front, back) = key.split_once('*')?;
            let middle = name.strip_prefix(front)?.strip_suffix(back)?;
            let fits = !middle.is_empty() && name.len() >= key.len();
            fits.then_some((front.len(), key.len(), middle, target))
        });
        let (.., middle, target) = fitting.max_by_key(|(front, whole, ..)| (*front, *whole))?;
        let search = Search {
            middle: Some(middle),
            ..search
        };
        target.path(&search, 0).found()
    }

    /// The first path that holds.
    fn path(&self, search: &Search<'_>, depth: usize) -> Led {
        if depth > DEPTH_MAX {
            return Led::On;
        }
        let mut tried = Led::On;
        match self {
            Self::Absent | Self::False => Led::On,
            Self::Never => Led::Nowhere,
            Self::Path(path) => Led::To(match search.middle {
                Some(middle) => path.replace('*', middle),
                None => path.clone(),
            }),
            Self::List(targets) => {
                for target in targets {
                    match target.path(search, depth + 1) {
                        Led::To(path) if search.accepts(&path) => return Led::To(path),
                        Led::To(_) => tried = Led::Nowhere,
                        other => tried = other,
                    }
                }
                tried
            }
            Self::Choices(choices) => {
                for (condition, target) in choices {
                    if search.conditions.contains(&condition.as_str()) {
                        match target.path(search, depth + 1) {
                            Led::On => {}
                            led => return led,
                        }
                    }
                }
                Led::On
            }
        }
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TargetVisitor)
    }
}

struct TargetVisitor;

impl<'de> Visitor<'de> for TargetVisitor {
    type Value = Target;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Target, E> {
        Ok(Target::Path(text.to_owned()))
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Target, E> {
        Ok(Target::Never)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Target, E> {
        Ok(match value {
            true => Target::Absent,
            false => Target::False,
        })
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<Target, E> {
        Ok(Target::Absent)
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<Target, E> {
        Ok(Target::Absent)
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<Target, E> {
        Ok(Target::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Target, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Target::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Target, A::Error> {
        const ENTRIES_MAX: usize = 100_000;
        let mut choices = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            choices.push(entry);
            if choices.len() > ENTRIES_MAX {
                return Err(A::Error::custom("too many entries"));
            }
        }
        Ok(Target::Choices(choices))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(text: &str) -> Package {
        Package::read(text.as_bytes()).expect("a package.json")
    }

    #[test]
    fn conditions_hold_in_the_order_of_the_package() {
        let one = package(
            r#"{"exports": {".": {"node": "./n.js", "types": "./t.d.ts", "import": "./i.js", "worker": "./w.js", "require": "./r.cjs"}}}"#,
        );
        assert_eq!(one.exported(".", IMPORT).as_deref(), Some("./i.js"));
        assert_eq!(one.exported(".", REQUIRE).as_deref(), Some("./w.js"));
        let own = package(r#"{"exports": {"sampan": "./s.js", "default": "./d.js"}}"#);
        assert_eq!(own.exported(".", IMPORT).as_deref(), Some("./s.js"));
        assert_eq!(own.exported("./sub", IMPORT), None);
        let nested =
            package(r#"{"exports": {".": {"import": {"types": "./t"}, "default": "./d.js"}}}"#);
        assert_eq!(nested.exported(".", IMPORT).as_deref(), Some("./d.js"));
        let closed = package(r#"{"exports": {".": {"import": null, "default": "./d.js"}}}"#);
        assert_eq!(closed.exported(".", IMPORT), None);
        assert_eq!(
            package(r#"{"exports": "./x.js"}"#)
                .exported(".", IMPORT)
                .as_deref(),
            Some("./x.js")
        );
        let list = package(r#"{"exports": [{"deno": "./a"}, "./b.js"]}"#);
        assert_eq!(list.exported(".", IMPORT).as_deref(), Some("./b.js"));
    }

    #[test]
    fn invalid_targets_of_a_list_are_skipped() {
        let one = package(r#"{"exports": ["bad", "../up.js", "./a/../b.js", false, "./a.js"]}"#);
        assert_eq!(one.exported(".", IMPORT).as_deref(), Some("./a.js"));
        let none = package(r#"{"exports": {"./*": ["./../*.js", "x"]}}"#);
        assert_eq!(none.exported("./a", IMPORT), None);
        let imports = package(r##"{"imports": {"#a": ["../up.js", "pkg", "./a.js"]}}"##);
        assert_eq!(imports.imported("#a", IMPORT).as_deref(), Some("pkg"));
    }

    #[test]
    fn the_longest_pattern_wins() {
        let one = package(
            r#"{"exports": {"./*": "./all/*.js", "./a/*": "./a/*/*.js", "./a/b/*": null, "./a/*.js": "./js/*.js"}}"#,
        );
        assert_eq!(one.exported("./x", IMPORT).as_deref(), Some("./all/x.js"));
        assert_eq!(one.exported("./a/x", IMPORT).as_deref(), Some("./a/x/x.js"));
        assert_eq!(
            one.exported("./a/x.js", IMPORT).as_deref(),
            Some("./js/x.js")
        );
        assert_eq!(one.exported("./a/b/x", IMPORT), None);
        assert_eq!(one.exported(".", IMPORT), None);
    }

    #[test]
    fn fields_of_a_wrong_type_count_as_absent() {
        let odd = package(
            r##"{"name": 1, "main": ["x"], "type": true, "exports": 5, "imports": {"#a": "./a.js"}}"##,
        );
        assert_eq!((odd.name(), odd.main(), odd.kind()), (None, None, None));
        assert_eq!(odd.exports, Target::Absent);
        assert_eq!(odd.imported("#a", IMPORT).as_deref(), Some("./a.js"));
        assert!(Package::read(b"{").is_err());
        let off = package(r#"{"exports": false, "browser": false}"#);
        assert!(!off.has_exports() && off.main().is_none());
        assert!(!is_workspace(br#"{"workspaces": false}"#));
    }
}
