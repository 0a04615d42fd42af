//! The modules that a project reaches from the file that is run. No script runs for it.
//!
//! For JavaScript the modules are resolved and loaded as an isolate does, through sources that note what is found and
//! read: the files of packages, their `package.json`, what `tsconfig.json` extends. So a packed project finds exactly
//! what it found on the disk. Lua files are all packed anyway, unless a folder of them is left out: here those that are
//! required at the top level are found, and missing ones are noticed.

use super::files::Files;
use super::lua_requires::{self, Requires};
use crate::Language;
use crate::files::Project;
use sampan_host::{Place, Sources};
use sampan_js_modules::{Asked, ImportWay, Modules};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places that `require` searches, as `package.path` has it.
const LUA_PATH: [&str; 6] = [
    "?.lua",
    "?/init.lua",
    "lib/?.lua",
    "lib/?/init.lua",
    "lua_modules/share/lua/5.1/?.lua",
    "lua_modules/share/lua/5.1/?/init.lua",
];

/// The files that a project reaches.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) files: Files,
    /// Paths that mean other files: links in `node_modules`.
    pub(super) links: BTreeMap<String, String>,
    /// The imports that find nothing and that the project may do without, with their lines.
    pub(super) warnings: Vec<String>,
}

/// Finds the files that the started file reaches.
///
/// # Errors
/// The project does not have the started file; an import that it cannot load without finds nothing, or a file is no
/// JavaScript: the line, and why.
pub(super) fn reached(project: &Project) -> Result<Reached, String> {
    let entry = project.entry();
    if project.sources().read(entry).is_none() {
        return Err(format!(
            "there is no file {entry} in the project: a link to a file outside of it is not followed"
        ));
    }
    match project.language() {
        Some(Language::Js) => reached_js(project),
        _ => Ok(Reached {
            files: reached_lua(&*project.sources(), project.entry())?,
            ..Reached::default()
        }),
    }
}

/// Returns the scripts of its own that a project reaches, with their texts.
///
/// # Errors
/// As [`reached`].
pub(super) fn scripts(project: &Project) -> Result<Vec<(String, String)>, String> {
    let files = reached(project)?.files.into_iter();
    let is_own = |path: &str| {
        let ending = path.rsplit('.').next().unwrap_or_default();
        let is_script = matches!(ending, "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "tsx");
        is_script && !path.contains("node_modules/")
    };
    let own = files.filter(|(path, _)| is_own(path));
    Ok(own
        .map(|(path, bytes)| (path, String::from_utf8_lossy(&bytes).into_owned()))
        .collect())
}

/// Sources that note what is found and read.
struct Noting {
    sources: Arc<dyn Sources>,
    reached: Mutex<Reached>,
}

impl Noting {
    fn reached(&self) -> MutexGuard<'_, Reached> {
        self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sources for Noting {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let bytes = self.sources.read(path)?;
        let path = path.strip_prefix("./").unwrap_or(path);
        self.reached().files.insert(path.to_owned(), bytes.clone());
        Some(bytes)
    }

    fn find(&self, path: &str) -> Option<String> {
        let found = self.sources.find(path)?;
        let path = path.strip_prefix("./").unwrap_or(path);
        let mut reached = self.reached();
        if found != path {
            reached.links.insert(path.to_owned(), found.clone());
        }
        // The resolver looks for a file that a `browser` map replaces, and reads only the other one.
        if let Entry::Vacant(place) = reached.files.entry(found.clone())
            && let Some(bytes) = self.sources.read(&found)
        {
            place.insert(bytes);
        }
        Some(found)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.sources.list(folder)
    }

    fn names_in(&self, folder: &str) -> Vec<String> {
        self.sources.names_in(folder)
    }
}

fn reached_js(project: &Project) -> Result<Reached, String> {
    let noting = Arc::new(Noting {
        sources: project.sources(),
        reached: Mutex::default(),
    });
    let modules = Modules::new(Arc::clone(&noting) as Arc<dyn Sources>);
    let fault = |error: sampan_host::Error| project.load_fault(&error);
    modules.begin().map_err(fault)?;
    let mut seen = BTreeSet::from([project.entry().to_owned()]);
    let mut next = vec![project.entry().to_owned()];
    let mut warnings = Vec::new();
    while let Some(path) = next.pop() {
        let script = modules.load(&path).map_err(fault)?;
        for import in script.imports().map_err(fault)? {
            if import.name == "sampan" {
                continue;
            }
            let asked = match import.way {
                ImportWay::Require => Asked::Require,
                ImportWay::Static | ImportWay::Dynamic => Asked::Import,
            };
            match modules.resolve(&path, &import.name, asked) {
                Ok(found) => {
                    if seen.insert(found.clone()) {
                        next.push(found);
                    }
                }
                Err(why) => {
                    let place = Place {
                        file: path.clone(),
                        line: import.line,
                    };
                    let told = || missing(project, &place, "import", &import.name, &why);
                    match import.way {
                        ImportWay::Static => return Err(told()),
                        ImportWay::Dynamic if is_own_path(&path, &import.name) => {
                            warnings.push(told());
                        }
                        // Packages try what may not be there.
                        ImportWay::Dynamic | ImportWay::Require => {}
                    }
                }
            }
        }
    }
    let mut reached = std::mem::take(&mut *noting.reached());
    reached.warnings = warnings;
    Ok(reached)
}

/// Reports whether a file of the project itself imports a path: one that leads nowhere is probably a mistake, while a
/// package may try several ways.
fn is_own_path(importer: &str, name: &str) -> bool {
    let is_of_package =
        importer.starts_with("../") || importer.split('/').any(|part| part == "node_modules");
    !is_of_package && name.starts_with('.')
}

/// An import that finds nothing, with its line.
fn missing(project: &Project, place: &Place, how: &str, name: &str, why: &str) -> String {
    let mut told = format!("{place}: cannot {how} \"{name}\": {why}");
    if let Some(line) = project.line(place) {
        told += &format!("\n{:>5} | {line}", place.line);
    }
    told
}

/// Finds the entry of a project in Lua and the modules that its files require at their top level, where the project
/// cannot do without.
fn reached_lua(sources: &dyn Sources, entry: &str) -> Result<Files, String> {
    let mut files = Files::new();
    let mut seen = BTreeSet::from([entry.to_owned()]);
    let mut next = vec![entry.to_owned()];
    let mut missing = Vec::new();
    while let Some(file) = next.pop() {
        let bytes = sources.read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        files.insert(file.clone(), bytes);
        let Requires {
            names,
            changes_path,
        } = lua_requires::requires(&text);
        if changes_path {
            // Modules come from elsewhere then.
            return Ok(files);
        }
        for (line, name) in names {
            if lua_requires::BUILT_IN.contains(&&*name) {
                continue;
            }
            let base = name.replace('.', "/");
            let candidates = LUA_PATH.iter().map(|template| template.replace('?', &base));
            let found = candidates
                .into_iter()
                .find(|path| sources.find(path).is_some());
            match found {
                Some(found) if seen.insert(found.clone()) => next.push(found),
                Some(_) => {}
                None => {
                    let shown = text.lines().nth(line - 1).unwrap_or_default().trim_end();
                    missing.push(format!(
                        "{file}:{line}: cannot require \"{name}\": there is no {base}.lua and no {base}/init.lua, \
                         neither here nor in lib/ \
                         or lua_modules/\n{line:>5} | {shown}"
                    ));
                }
            }
        }
    }
    missing.into_iter().next().map_or(Ok(files), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lua_modules_are_looked_for_where_require_does() {
        let libraries = include_str!("../../../../engine/lua/src/libraries/modules.lua");
        let path = format!("local PATH = \"{}\"", LUA_PATH.join(";"));
        assert!(libraries.contains(&path), "{path}");
    }

    #[test]
    fn paths_of_the_project_itself_are_told_from_those_of_packages() {
        assert!(is_own_path("lib/a.js", "./late.js"));
        assert!(!is_own_path("app.js", "maybe"));
        assert!(!is_own_path("node_modules/a/b.js", "./c"));
        assert!(!is_own_path("../pkg/b.js", "./c"));
    }

    #[test]
    fn modules_of_lua_and_the_entry_are_found() {
        let project = Project::in_memory(
            "app.lua",
            &[
                ("app.lua", "require 'tests.helper'"),
                ("tests/helper.lua", "return require 'm'"),
                ("lib/m.lua", "package.path = 'x'"),
                ("other.lua", ""),
            ],
        );
        let files = reached(&project).expect("all are there").files;
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(names, ["app.lua", "lib/m.lua", "tests/helper.lua"]);
    }

    #[test]
    fn a_file_that_a_package_replaces_is_packed_too() {
        let project = Project::in_memory(
            "app.js",
            &[
                ("app.js", "import 'dep';"),
                (
                    "node_modules/dep/package.json",
                    r#"{"main": "./lib/main.js", "browser": {"./lib/main.js": "./lib/browser.js"}}"#,
                ),
                ("node_modules/dep/lib/main.js", ""),
                ("node_modules/dep/lib/browser.js", ""),
            ],
        );
        let files = reached(&project).expect("all are there").files;
        assert!(files.contains_key("node_modules/dep/lib/main.js"));
    }
}
