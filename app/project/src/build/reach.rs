//! The modules that a project reaches from the file that is run. No script runs for it.
//!
//! For JavaScript the modules are resolved and loaded as an isolate does, through sources that note what is read: the
//! files of packages, their `package.json`, what `tsconfig.json` extends. So a packed project finds exactly what it
//! found on the disk. Lua files are all packed anyway; here only those that are missing are noticed.

use super::Files;
use super::lua_requires::{self, Requires};
use crate::Language;
use crate::files::Project;
use sampan_host::{Place, Sources};
use sampan_js_modules::{Asked, ImportWay, Modules};
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
}

/// Finds the files that the started file reaches.
///
/// # Errors
/// An import that the project cannot load without finds nothing, or a file is no JavaScript: the line, and why.
pub(super) fn reached(project: &Project) -> Result<Reached, String> {
    match project.language() {
        Some(Language::Js) => reached_js(project),
        _ => {
            check_lua(&*project.sources(), project.entry())?;
            Ok(Reached::default())
        }
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

/// Sources that note what is read.
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
        if found != path {
            let mut reached = self.reached();
            reached.links.insert(path.to_owned(), found.clone());
        }
        Some(found)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.sources.list(folder)
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
                Err(why) if is_needed(&path, &import.name, import.way) => {
                    let place = Place {
                        file: path,
                        line: import.line,
                    };
                    return Err(missing(project, &place, "import", &import.name, &why));
                }
                // Packages try what may not be there.
                Err(_) => {}
            }
        }
    }
    let mut reached = noting.reached();
    Ok(std::mem::take(&mut *reached))
}

/// Reports whether a project needs the import: a package may try several ways, in the project itself a path that leads
/// nowhere is a mistake.
fn is_needed(importer: &str, name: &str, way: ImportWay) -> bool {
    let is_own =
        !importer.starts_with("../") && !importer.split('/').any(|part| part == "node_modules");
    match way {
        ImportWay::Static => true,
        ImportWay::Dynamic => is_own && name.starts_with('.'),
        ImportWay::Require => false,
    }
}

/// An import that finds nothing, with its line.
fn missing(project: &Project, place: &Place, how: &str, name: &str, why: &str) -> String {
    let mut told = format!("{place}: cannot {how} \"{name}\": {why}");
    if let Some(line) = project.line(place) {
        told += &format!("\n{:>5} | {line}", place.line);
    }
    told
}

/// Looks for modules that a project in Lua requires at the top level of its files, where it cannot do without.
fn check_lua(sources: &dyn Sources, entry: &str) -> Result<(), String> {
    let mut seen = BTreeSet::from([entry.to_owned()]);
    let mut next = vec![entry.to_owned()];
    let mut missing = Vec::new();
    while let Some(file) = next.pop() {
        let text = sources.read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let Requires {
            names,
            changes_path,
        } = lua_requires::requires(&text);
        if changes_path {
            // Modules come from elsewhere then.
            return Ok(());
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
    missing.into_iter().next().map_or(Ok(()), Err)
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
    fn what_a_project_cannot_do_without() {
        assert!(is_needed("app.js", "./a.js", ImportWay::Static));
        assert!(is_needed("node_modules/a/b.js", "c", ImportWay::Static));
        assert!(is_needed("lib/a.js", "./late.js", ImportWay::Dynamic));
        assert!(!is_needed("app.js", "maybe", ImportWay::Dynamic));
        assert!(!is_needed("node_modules/a/b.js", "./c", ImportWay::Dynamic));
        assert!(!is_needed("../pkg/b.js", "./c", ImportWay::Dynamic));
        assert!(!is_needed("node_modules/a/b.js", "./c", ImportWay::Require));
    }
}
