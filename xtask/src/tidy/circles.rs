//! Circles of files: files of one crate that import each other, directly or through others.
//!
//! The rule reads `use` declarations and paths: those that begin with `crate`, `super` or `self`, and those that begin
//! with a module below the file, as `child::f()` in a `mod.rs`. A path through a module that only passes a name on
//! counts as an import of that module. Test modules do not count: they may import what they test.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Tree;
use crate::error::Error;

/// The most files of a circle.
const CIRCLE_FILES_MAX: usize = 5;

/// The crates whose files must not form any circle.
const STRICT: &[&str] = &["app/project", "app/runtime", "app/serve"];

/// The modules of a crate, by their path in it, and the modules that each imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// No crate has a circle of more than [`CIRCLE_FILES_MAX`] files, and the crates of [`STRICT`] have none at all.
pub(super) fn circles(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    let manifests = tree
        .files()
        .filter_map(|path| path.strip_suffix("/Cargo.toml"));
    for folder in manifests {
        let source = format!("{folder}/src/");
        let mut texts = BTreeMap::new();
        for path in tree.files() {
            let name = path.strip_prefix(&source);
            if let Some(name) = name.and_then(|name| name.strip_suffix(".rs")) {
                texts.insert(module_of(name), (path.to_owned(), tree.text(path)?));
            }
        }
        let known: BTreeSet<&str> = texts.keys().map(String::as_str).collect();
        let imports = texts
            .iter()
            .map(|(module, (_, text))| (module.clone(), imports_of(module, text, &known)))
            .collect();
        let is_too_large =
            |circle: &Vec<String>| STRICT.contains(&folder) || circle.len() > CIRCLE_FILES_MAX;
        for circle in circles_of(&imports).into_iter().filter(is_too_large) {
            let paths: Vec<&str> = circle.iter().map(|module| &*texts[module].0).collect();
            complaints.push(format!(
                "these import each other: {}; move what they share into a file of its own",
                paths.join(", ")
            ));
        }
    }
    Ok(complaints)
}

/// The module of a file: `a::b` for `a/b` and for `a/b/mod`; empty for the root of a crate.
fn module_of(file: &str) -> String {
    match file {
        "lib" | "main" => String::new(),
        file => file.strip_suffix("/mod").unwrap_or(file).replace('/', "::"),
    }
}

/// The other modules of the crate that a module imports.
fn imports_of(module: &str, text: &str, known: &BTreeSet<&str>) -> BTreeSet<String> {
    let lines = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let text: String = lines
        .take_while(|line| line.starts_with(' ') || !line.ends_with("mod tests {"))
        .collect::<Vec<_>>()
        .join("\n");
    let mut paths = Vec::new();
    let mut code = String::new();
    let mut from = 0;
    for (at, _) in text.match_indices("use ") {
        let before = text[..at].rsplit('\n').next().unwrap_or_default().trim();
        let is_declaration = before.is_empty()
            || before == "pub"
            || (before.starts_with("pub(") && before.ends_with(')'));
        if let Some(length) = text[at..]
            .find(';')
            .filter(|_| is_declaration && at >= from)
        {
            spread("", &text[at + 4..at + length], &mut paths);
            code.push_str(&text[from..at]);
            from = at + length;
        }
    }
    code.push_str(&text[from..]);
    // `pub(in crate::a)` imports nothing, and `$crate` in a macro leads from where the macro is used.
    let code = code.replace("(in crate", "(in $crate");
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$');
    let written = code.split(|c| !is_part(c)).filter(|path| {
        let is_path = path.contains("::") && !path.starts_with(':');
        is_path && !path.contains('$')
    });
    paths.extend(written.map(|path| path.trim_end_matches(':').to_owned()));
    let found = paths.iter().filter_map(|path| target(module, path, known));
    found.filter(|target| target != module).collect()
}

/// Writes out the braces of a `use` declaration: `a::{b, c::{d}}` is `a::b` and `a::c::d`.
fn spread(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let (mut depth, mut from) = (0, 0);
    let mut parts = Vec::new();
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[from..]);
    for part in parts.into_iter().map(str::trim) {
        match part.split_once('{') {
            Some((head, rest)) => {
                let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
                spread(&format!("{prefix}{}", head.trim()), inner, paths);
            }
            None => {
                let path = part.split(" as ").next().unwrap_or_default().trim();
                paths.push(format!("{prefix}{path}"));
            }
        }
    }
}

/// The module of the crate that a path leads into, if it leads into one.
fn target(module: &str, path: &str, known: &BTreeSet<&str>) -> Option<String> {
    let mut base: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
    let mut parts: Vec<&str> = path.split("::").collect();
    match parts[0] {
        "crate" => {
            base.clear();
            parts.remove(0);
        }
        "super" => {
            while parts.first() == Some(&"super") {
                base.pop();
                parts.remove(0);
            }
        }
        "self" => drop(parts.remove(0)),
        first => {
            let child = [&base[..], &[first]].concat().join("::");
            if !known.contains(&*child) {
                return None;
            }
        }
    }
    base.extend(parts);
    (0..=base.len())
        .rev()
        .map(|count| base[..count].join("::"))
        .find(|module| known.contains(&**module))
}

/// Returns the circles: modules that can all be reached from each other.
fn circles_of(imports: &Imports) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|module| (module.as_str(), reachable(module, imports)))
        .collect();
    let mut circles: Vec<Vec<String>> = Vec::new();
    let mut done = BTreeSet::new();
    for (module, others) in &reached {
        if !others.contains(module) || !done.insert(*module) {
            continue;
        }
        let circle = others
            .iter()
            .filter(|other| reached[**other].contains(module));
        let circle: Vec<String> = circle.map(|other| (*other).to_owned()).collect();
        done.extend(
            others
                .iter()
                .filter(|other| reached[**other].contains(module)),
        );
        circles.push(circle);
    }
    circles
}

fn reachable<'a>(module: &str, imports: &'a Imports) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = imports
        .get(module)
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    while let Some(next) = open.pop() {
        if let Some((known, imported)) = imports.get_key_value(next)
            && found.insert(known.as_str())
        {
            open.extend(imported.iter().map(String::as_str));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    fn imports(files: &[(&str, &str)]) -> Imports {
        let known: BTreeSet<&str> = files.iter().map(|(module, _)| *module).collect();
        let of = |(module, text): &(&str, &str)| {
            ((*module).to_owned(), imports_of(module, text, &known))
        };
        files.iter().map(of).collect()
    }

    #[test]
    fn files_that_import_each_other_are_a_circle() {
        let found = circles_of(&imports(&[
            ("", "mod a;\nmod b;\npub use a::A;"),
            ("a", "use crate::{b::{B, C}, c as d};"),
            ("b", "fn f(_: super::a::A) {} // use crate::c;"),
            ("e", "macro_rules! f { () => { $crate::f::F } }"),
            ("f", "use crate::e;"),
            (
                "c",
                "use std::fmt;\n#[cfg(test)]\nmod tests {\n use crate::a;",
            ),
        ]));
        assert_eq!(found, [["a", "b"]]);
    }

    #[test]
    fn a_parent_imports_the_children_that_it_calls() {
        let of = |parent| {
            let child = "use super::Files;\nfn write(_: &Files) {}";
            circles_of(&imports(&[("", parent), ("write", child)]))
        };
        assert_eq!(
            of("mod write;\nfn f() { write::write(&files) }"),
            [["", "write"]]
        );
        assert_eq!(
            of("mod write;\nfn f() { self::write::write(&files) }"),
            [["", "write"]]
        );
        assert_eq!(of("mod write;\nfn f(_: [write::A; 2]) {}"), [["", "write"]]);
        assert!(of("mod write;\nfn f() { std::write::f() }").is_empty());
        assert!(of("use other::{\n    write::A,\n};").is_empty());
    }

    #[test]
    fn tests_of_any_visibility_import_what_they_like() {
        let child = "#[cfg(test)]\npub(super) mod tests {\n    use super::super::*;\n}";
        let found = imports(&[("", "fn f() { a::f() }"), ("a", child)]);
        assert!(circles_of(&found).is_empty());
    }

    #[test]
    fn a_scope_is_no_import() {
        let found = imports(&[("a", "use b::B;"), ("a::b", "pub(in crate::a) struct B;")]);
        assert!(circles_of(&found).is_empty());
    }

    #[test]
    fn circles_of_a_few_files_are_allowed_outside_of_the_application() {
        let circle = |crate_folder: &str, count: usize| {
            let name = |at: usize| format!("m{}", at % count);
            let files: Vec<(String, String)> = (0..count)
                .map(|at| {
                    let path = format!("{crate_folder}/src/{}.rs", name(at));
                    (path, format!("use crate::{}::X;", name(at + 1)))
                })
                .chain([(format!("{crate_folder}/Cargo.toml"), String::new())])
                .collect();
            let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (&**a, &**b)).collect();
            let (_scratch, tree) = tree(&files);
            circles(&tree).expect("readable").len()
        };
        assert_eq!(circle("a", CIRCLE_FILES_MAX), 0);
        assert_eq!(circle("a", CIRCLE_FILES_MAX + 1), 1);
        assert_eq!(circle("app/serve", 2), 1);
    }

    #[test]
    fn a_module_and_what_it_passes_on_are_a_circle_if_one_needs_the_other() {
        let files = |child| [("a", "mod b;\npub use b::B;"), ("a::b", child)];
        assert!(circles_of(&imports(&files("use super::super::x;"))).is_empty());
        assert_eq!(circles_of(&imports(&files("use super::X;"))).len(), 1);
    }
}
