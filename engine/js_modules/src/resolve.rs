//! The file that an import means, by Node.js's rules for modules and with what users of TypeScript leave out.

use crate::built_in;
use crate::package::{IMPORT, Package, REQUIRE, Replacement};
use crate::paths::{
    extension, is_of_package, is_outside, join, package_of, package_root, parent, split_package,
};
use crate::tsconfig::TsConfig;
use sampan_host::Sources;
use sampan_host::names::file_hint;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of folders above the project's that are looked into. The sources say which of them may be read.
const FOLDERS_UP_MAX: usize = 16;

/// Endings that files of the project may leave out, in the order in which they are tried.
const ENDINGS: &[&str] = &["ts", "tsx", "mts", "js", "jsx", "mjs", "cjs", "json"];

/// Endings that files of packages may leave out: Node.js's own first, as packages may ship their sources beside what
/// was made from them.
const PACKAGE_ENDINGS: &[&str] = &["js", "json", "cjs", "mjs", "jsx", "ts", "tsx", "mts"];

/// Node.js's own modules, which packages may ask for. Those with a `node:` in front need not stand here.
const NODE_MODULES: &[&str] = &[
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "stream",
    "string_decoder",
    "sys",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];

/// Modules of Node.js that packages for other servers ask for too, and what there is here.
const NODE_ADVICE: &[(&str, &str)] = &[
    (
        "async_hooks",
        "AsyncLocalStorage is not there yet; pass the request, or what belongs to it, as an argument",
    ),
    (
        "crypto",
        "use the global crypto (crypto.subtle, crypto.getRandomValues), or crypto of the module sampan",
    ),
    ("fs", "use files of the module sampan"),
    (
        "buffer",
        "use Uint8Array, TextEncoder and codec of the module sampan",
    ),
];

/// The asking module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// An `import`.
    Import,
    /// A `require`.
    Require,
}

impl Asked {
    fn conditions(self) -> &'static [&'static str] {
        match self {
            Self::Import => IMPORT,
            Self::Require => REQUIRE,
        }
    }
}

/// Finds modules among the sources.
pub(crate) struct Resolver {
    sources: Arc<dyn Sources>,
    /// The packages that were read, by their folders. Forgotten when an isolate begins to load.
    packages: Mutex<HashMap<String, Option<Arc<Package>>>>,
}

impl Resolver {
    pub(crate) fn new(sources: Arc<dyn Sources>) -> Self {
        Self {
            sources,
            packages: Mutex::default(),
        }
    }

    /// Forgets what was read, so that it is read again.
    pub(crate) fn forget(&self) {
        self.packages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// The path of the module that `importer` calls `name`.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    pub(crate) fn resolve(
        &self,
        config: &TsConfig,
        importer: &str,
        name: &str,
        asked: Asked,
    ) -> Result<String, String> {
        let found = self.found(config, importer, name, asked)?;
        Ok(self.for_browsers(&found).unwrap_or(found))
    }

    /// The file that a package has in place of another one where Node.js is not there.
    fn for_browsers(&self, path: &str) -> Option<String> {
        let place = package_root(path)?;
        let package = self.package_in(place)?;
        let inside = path.strip_prefix(place)?;
        match package.for_browsers(&format!(".{inside}"))? {
            Replacement::Empty => Some(built_in::EMPTY.to_owned()),
            Replacement::Module(target) => self.below(place, &join(place, target)),
        }
    }

    fn found(
        &self,
        config: &TsConfig,
        importer: &str,
        name: &str,
        asked: Asked,
    ) -> Result<String, String> {
        let folder = parent(importer);
        if name.starts_with("./") || name.starts_with("../") || matches!(name, "." | "..") {
            return self.near(importer, &join(&folder, name));
        }
        if let Some(rest) = name.strip_prefix('/') {
            return self.near(importer, &join("", rest));
        }
        if name.starts_with('#') {
            return self.internal(config, importer, name, asked);
        }
        if !is_of_package(importer)
            && let Some(found) = self.short(config, name)
        {
            return Ok(found);
        }
        if let Some(place) = package_root(importer)
            && let Some(package) = self.package_in(place)
            && let Some(replacement) = package.for_browsers(name)
        {
            return match replacement {
                Replacement::Empty => Ok(built_in::EMPTY.to_owned()),
                Replacement::Module(target) if target.starts_with("./") => self
                    .below(place, &join(place, target))
                    .ok_or_else(|| format!("there is no file {}", join(place, target))),
                Replacement::Module(target) => self
                    .bare(place, target, asked)
                    .unwrap_or_else(|| Err(self.absent(importer, target))),
            };
        }
        self.bare(&folder, name, asked)
            .unwrap_or_else(|| Err(self.absent(importer, name)))
    }

    /// A file of the project, or of the package that asks for it.
    fn near(&self, importer: &str, path: &str) -> Result<String, String> {
        if is_outside(path) {
            if !is_outside(importer) {
                return Err("it lies outside the project".to_owned());
            }
            // A package may have further files package.json below its own.
            let own = package_root(importer).map(str::to_owned).or_else(|| {
                let above = self.package_above(&parent(importer));
                above.map(|(folder, _)| folder)
            });
            if !own.is_some_and(|own| {
                path.strip_prefix(&own)
                    .is_some_and(|rest| rest.starts_with('/'))
            }) {
                return Err("it lies outside its package".to_owned());
            }
        }
        self.file(path)
            .ok_or_else(|| format!("there is no file {path}{}", self.nearest(path)))
    }

    /// Returns the reason why a name that is not relative means nothing: it may lack the front of a path.
    #[cold]
    fn absent(&self, importer: &str, name: &str) -> String {
        let beside = (join(&parent(importer), name), "./");
        let at_root = (join("", name), "/");
        let is_file = |(path, _): &(String, &str)| !is_outside(path) && self.file(path).is_some();
        let found = match is_of_package(importer) {
            true => None,
            false => [beside, at_root].into_iter().find(is_file),
        };
        match found {
            Some((_, front)) => {
                format!("it is a file of the project, not a package: write \"{front}{name}\"")
            }
            None => absent(importer, name),
        }
    }

    /// Returns the advice which file of the same folder of the project a path may mean, or nothing.
    #[cold]
    fn nearest(&self, path: &str) -> String {
        if is_of_package(path) {
            return String::new();
        }
        let folder = parent(path);
        let names = self.sources.names_in(&folder);
        let files = names.iter().map(|name| join(&folder, name));
        file_hint(path, &files.collect::<Vec<_>>())
    }

    /// Returns the path of a name by `paths` and `baseUrl` of `tsconfig.json` make of a name.
    fn short(&self, config: &TsConfig, name: &str) -> Option<String> {
        let mut places = config.places(name);
        places.extend(config.base_url.as_ref().map(|base| join(base, name)));
        places
            .iter()
            .filter(|place| !is_outside(place))
            .find_map(|place| self.file(place))
    }

    /// `#name`: what the package of the importer says in `imports`.
    fn internal(
        &self,
        config: &TsConfig,
        importer: &str,
        name: &str,
        asked: Asked,
    ) -> Result<String, String> {
        let folder = parent(importer);
        if let Some((place, package)) = self.package_above(&folder)
            && let Some(target) = package.imported(name, asked.conditions())
        {
            if target.starts_with("./") {
                let path = join(&place, &target);
                return self
                    .below(&place, &path)
                    .ok_or_else(|| format!("there is no file {path}"));
            }
            return self
                .bare(&place, &target, asked)
                .unwrap_or_else(|| Err(self.absent(importer, &target)));
        }
        let short = (!is_of_package(importer))
            .then(|| self.short(config, name))
            .flatten();
        short.ok_or_else(|| {
            format!("\"imports\" of the package.json above {importer} has no \"{name}\"")
        })
    }

    /// A package by its name, as seen from a folder; `None` if no such package is installed.
    fn bare(&self, folder: &str, name: &str, asked: Asked) -> Option<Result<String, String>> {
        let (package_name, subpath) = split_package(name)?;
        let subpath_key = if subpath.is_empty() {
            ".".to_owned()
        } else {
            format!("./{subpath}")
        };
        if let Some((own, package)) = self.package_above(folder)
            && package.name() == Some(package_name)
            && package.has_exports()
        {
            return Some(self.exported(&own, &package, package_name, &subpath_key, asked));
        }
        let mut above = folder.to_owned();
        loop {
            if !is_modules_folder(&above) {
                let place = join(&above, &format!("node_modules/{package_name}"));
                if let Some(found) = self.installed(&place, package_name, &subpath_key, asked) {
                    return Some(found);
                }
            }
            above = parent(&above);
            if above.matches("..").count() > FOLDERS_UP_MAX {
                return None;
            }
        }
    }

    /// Returns the result from the package in a folder; `None` if there is no such folder.
    fn installed(
        &self,
        place: &str,
        name: &str,
        subpath: &str,
        asked: Asked,
    ) -> Option<Result<String, String>> {
        let package = self.package_in(place);
        if let Some(package) = &package
            && package.has_exports()
        {
            return Some(self.exported(place, package, name, subpath, asked));
        }
        let found = if subpath == "." {
            let main = package.as_ref().and_then(|package| package.main());
            main.and_then(|main| self.below(place, &join(place, main)))
                .or_else(|| self.file(&join(place, "index")))
        } else {
            self.below(place, &join(place, subpath))
        };
        match found {
            Some(found) => Some(Ok(found)),
            None => package.map(|_| {
                Err(match subpath {
                    "." => format!(
                        "the package {name} has no \"exports\", and its \"main\" is not there"
                    ),
                    _ => format!("there is no file {}", join(place, subpath)),
                })
            }),
        }
    }

    fn exported(
        &self,
        place: &str,
        package: &Package,
        name: &str,
        subpath: &str,
        asked: Asked,
    ) -> Result<String, String> {
        let conditions = asked.conditions();
        let target = package.exported(subpath, conditions).ok_or_else(|| {
            format!(
                "the package {name} does not export \"{subpath}\" under any of the conditions {}",
                conditions.join(", ")
            )
        })?;
        let path = join(place, &target);
        let is_inside = target.starts_with("./") && is_below(place, &path);
        let found = is_inside.then(|| self.exact(&path)).flatten();
        found.ok_or_else(|| {
            format!("the package {name} exports \"{target}\", and there is no such file in it")
        })
    }

    /// The nearest `package.json` above, with its folder.
    pub(crate) fn package_above(&self, folder: &str) -> Option<(String, Arc<Package>)> {
        let mut above = folder.to_owned();
        loop {
            if is_modules_folder(&above) {
                return None;
            }
            if let Some(package) = self.package_in(&above) {
                return Some((above, package));
            }
            above = parent(&above);
            if above.matches("..").count() > FOLDERS_UP_MAX {
                return None;
            }
        }
    }

    fn package_in(&self, folder: &str) -> Option<Arc<Package>> {
        if let Some(known) = self
            .packages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(folder)
        {
            return known.clone();
        }
        let text = self.sources.read(&join(folder, "package.json"));
        // One that cannot be read says nothing.
        let package = text.map(|text| Arc::new(Package::read(&text).unwrap_or_default()));
        let mut packages = self.packages.lock().unwrap_or_else(PoisonError::into_inner);
        packages.insert(folder.to_owned(), package.clone());
        package
    }

    /// A file below a package's folder.
    fn below(&self, place: &str, path: &str) -> Option<String> {
        let is_inside = path == place || is_below(place, path);
        is_inside.then(|| self.file(path)).flatten()
    }

    /// The file that a path means: itself, the TypeScript that its `.js` is made from, with an ending, or the index of
    /// a folder.
    pub(crate) fn file(&self, path: &str) -> Option<String> {
        let endings = match is_of_package(path) {
            true => PACKAGE_ENDINGS,
            false => ENDINGS,
        };
        self.exact(path)
            .or_else(|| {
                endings
                    .iter()
                    .find_map(|ending| self.exact(&format!("{path}.{ending}")))
            })
            .or_else(|| {
                let main = self
                    .package_in(path)
                    .and_then(|package| package.main().map(str::to_owned))?;
                let main = join(path, &main);
                self.exact(&main).or_else(|| {
                    endings
                        .iter()
                        .find_map(|ending| self.exact(&format!("{main}.{ending}")))
                })
            })
            .or_else(|| {
                endings
                    .iter()
                    .find_map(|ending| self.exact(&join(path, &format!("index.{ending}"))))
            })
    }

    fn exact(&self, path: &str) -> Option<String> {
        if let Some(found) = self.sources.find(path) {
            return Some(found);
        }
        let stem = &path[..path.len() - extension(path).len()];
        let others: &[&str] = match extension(path) {
            "js" => &["ts", "tsx", "jsx"],
            "jsx" => &["tsx"],
            "mjs" => &["mts"],
            _ => &[],
        };
        others
            .iter()
            .find_map(|ending| self.sources.find(&format!("{stem}{ending}")))
    }
}

/// Reports whether a path lies in a folder.
fn is_below(folder: &str, path: &str) -> bool {
    if folder.is_empty() {
        return !is_outside(path);
    }
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/') && !rest.starts_with("/.."))
}

fn is_modules_folder(folder: &str) -> bool {
    folder.rsplit('/').next() == Some("node_modules")
}

/// Returns the reason why a name that is not relative means nothing.
fn absent(importer: &str, name: &str) -> String {
    if name.contains("://") || name.starts_with("data:") || name.starts_with("file:") {
        return "modules are files of the project and installed packages, not addresses".to_owned();
    }
    let plain = name.strip_prefix("node:").unwrap_or(name);
    let top = plain.split('/').next().unwrap_or(plain);
    if plain.len() < name.len() || NODE_MODULES.contains(&top) {
        let needs = match package_of(importer) {
            Some(package) => format!("the package {package} needs"),
            None => format!("{importer} needs"),
        };
        let instead = match NODE_ADVICE.iter().find(|(known, _)| *known == top) {
            Some((_, instead)) => format!(": {instead}"),
            None => String::new(),
        };
        return format!(
            "{needs} Node.js's module \"{plain}\", which Sampan does not have{instead}"
        );
    }
    let Some((package, _)) = split_package(name) else {
        return "this is no name of a package: files of the project begin with \"./\"".to_owned();
    };
    if name.ends_with("/jsx-runtime") && !is_of_package(importer) {
        return format!(
            "JSX needs the package {package}, which is not installed: npm install {package}, or name another one as \
             \"jsxImportSource\" in tsconfig.json"
        );
    }
    format!("the package {package} is not installed: npm install {package}")
}
