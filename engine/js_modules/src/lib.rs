//! The modules of a JavaScript project before an engine sees them: which file an import means, and TypeScript and JSX
//! made into JavaScript.
//!
//! One [`Modules`] serves all isolates of a process, so that each file is transformed once. An isolate calls
//! [`Modules::begin`], then [`Modules::resolve`] and [`Modules::load`] for each import, and asks the [`Script`]s that
//! it loaded for the place in the source of each line that an error names.
//!
//! Nothing here runs a script, and files are read through [`Sources`] alone.

mod analysis;
mod awaits;
mod built_in;
mod imports;
mod nesting;
mod package;
mod parameters;
mod paths;
mod promises;
pub mod repl;
mod resolve;
mod source_map;
mod transform;
mod tsconfig;

pub use awaits::{MissingAwait, missing_awaits};
pub use imports::{Import, ImportWay};
pub use package::is_workspace;
pub use parameters::destructured_parameters;
pub use promises::{PromiseUse, promise_uses};
pub use resolve::Asked;
pub use source_map::SourcePlace;

use paths::{extension, is_of_package, parent};
use resolve::Resolver;
use sampan_host::{Error, ErrorKind, Place, Sources};
use source_map::{MapOrigin, SourceMap};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tsconfig::{TransformSettings, TsConfig};

/// The kind of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ECMAScript module.
    Esm,
    /// A module of CommonJS: a function of `exports`, `require` and `module`.
    CommonJs,
    /// JSON text.
    Json,
}

/// A module, ready to be compiled by an engine.
pub struct Script {
    /// The kind.
    pub kind: Kind,
    /// The code, as the engine takes it.
    pub code: Vec<u8>,
    path: String,
    origin: MapOrigin,
    map: OnceLock<Option<SourceMap>>,
    sources: Arc<dyn Sources>,
    mapped_texts: MappedTexts,
}

/// Texts of sources, by their files.
type MappedTexts = Arc<Mutex<HashMap<String, Arc<str>>>>;

impl Script {
    /// Reports whether lines of it stand for lines of other files.
    pub fn is_mapped(&self) -> bool {
        !matches!(self.origin, MapOrigin::None)
    }

    /// The place in the source that a place in the code stands for. Both count from 1. `None` if they are the same.
    pub fn source_place(&self, line: u32, column: u32) -> Option<SourcePlace> {
        let map = self
            .map
            .get_or_init(|| self.origin.read(&self.path, &*self.sources));
        let map = map.as_ref()?;
        let place = map.source_place(line, column)?;
        if let Some(text) = map.text(&place.file) {
            lock(&self.mapped_texts)
                .entry(place.file.clone())
                .or_insert(text);
        }
        Some(place)
    }
}

/// The modules of a project.
pub struct Modules {
    sources: Arc<dyn Sources>,
    resolver: Resolver,
    /// The content of `tsconfig.json`, or why it could not be. Forgotten when an isolate begins to load.
    config: Mutex<Option<Arc<Result<TsConfig, String>>>>,
    /// The sources that only source maps have, of those that errors named.
    mapped_texts: MappedTexts,
    node_env: String,
    /// The scripts made from files, with the hash of what it was made from.
    made: Mutex<HashMap<String, (u64, Arc<Script>)>>,
}

impl Modules {
    /// The modules among the files of a project.
    pub fn new(sources: Arc<dyn Sources>) -> Self {
        Self {
            resolver: Resolver::new(Arc::clone(&sources)),
            sources,
            config: Mutex::default(),
            mapped_texts: MappedTexts::default(),
            node_env: "production".to_owned(),
            made: Mutex::default(),
        }
    }

    /// Sets `process.env.NODE_ENV`; the default is `production`.
    #[must_use]
    pub fn with_node_env(mut self, node_env: impl Into<String>) -> Self {
        self.node_env = node_env.into();
        self
    }

    /// Returns `process.env.NODE_ENV`.
    pub fn node_env(&self) -> &str {
        &self.node_env
    }

    /// The text of a source that an error named: of the file, or what a source map has of it.
    pub fn source_text(&self, file: &str) -> Option<Vec<u8>> {
        let mapped = || {
            lock(&self.mapped_texts)
                .get(file)
                .map(|text| text.as_bytes().to_vec())
        };
        self.sources.read(file).or_else(mapped)
    }

    /// Reports whether a source map that an error was translated by has this source.
    pub fn has_mapped(&self, file: &str) -> bool {
        lock(&self.mapped_texts).contains_key(file)
    }

    /// An isolate begins to load: `tsconfig.json` and the packages are read again. What has not changed is not made
    /// again.
    ///
    /// # Errors
    /// A `tsconfig.json` that is none.
    pub fn begin(&self) -> Result<(), Error> {
        self.resolver.forget();
        *lock(&self.config) = None;
        match &*self.config() {
            Ok(_) => Ok(()),
            Err(fault) => Err(Error::new(ErrorKind::Load, fault.clone())),
        }
    }

    /// The path of the module that the file `importer` calls `name`.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    pub fn resolve(&self, importer: &str, name: &str, asked: Asked) -> Result<String, String> {
        if let Some((known, _)) = built_in::find(name) {
            return Ok(known.to_owned());
        }
        let config = self.config();
        let config = Result::as_ref(&config).map_err(Clone::clone)?;
        self.resolver.resolve(config, importer, name, asked)
    }

    /// The module at a path that [`resolve`](Self::resolve) gave.
    ///
    /// # Errors
    /// There is no such file, or it is no TypeScript: what is wrong, with its place.
    pub fn load(&self, path: &str) -> Result<Arc<Script>, Error> {
        if let Some((_, source)) = built_in::find(path) {
            return Ok(self.script(path, Kind::Esm, source.as_bytes().to_vec()));
        }
        if path == built_in::EMPTY {
            return Ok(self.script(path, Kind::CommonJs, Vec::new()));
        }
        let absent = || Error::new(ErrorKind::Load, format!("there is no file {path}"));
        let source = self.sources.read_script(path).ok_or_else(absent)?;
        match extension(path) {
            "ts" | "mts" | "tsx" | "jsx" => self.transformed(path, source),
            "json" => Ok(self.script(path, Kind::Json, source)),
            "cjs" => Ok(self.script(path, Kind::CommonJs, source)),
            "js" if is_of_package(path) => self.of_package(path, source),
            "node" | "wasm" => Err(Error::new(
                ErrorKind::Load,
                format!("{path} is no JavaScript: modules of machine code are not supported"),
            )),
            _ => Ok(self.script(path, Kind::Esm, source)),
        }
    }

    fn script(&self, path: &str, kind: Kind, code: Vec<u8>) -> Arc<Script> {
        let origin = if kind == Kind::Json {
            MapOrigin::None
        } else {
            MapOrigin::of_text(&code)
        };
        self.made_script(path, kind, code, origin, OnceLock::new())
    }

    fn made_script(
        &self,
        path: &str,
        kind: Kind,
        code: Vec<u8>,
        origin: MapOrigin,
        map: OnceLock<Option<SourceMap>>,
    ) -> Arc<Script> {
        Arc::new(Script {
            kind,
            code,
            path: path.to_owned(),
            origin,
            map,
            sources: Arc::clone(&self.sources),
            mapped_texts: Arc::clone(&self.mapped_texts),
        })
    }

    fn transformed(&self, path: &str, source: Vec<u8>) -> Result<Arc<Script>, Error> {
        let config = self.config();
        let no_settings = TransformSettings::default();
        let settings = match &*config {
            Ok(config) if !is_of_package(path) => &config.settings,
            _ => &no_settings,
        };
        self.once(path, &source, settings, || {
            let (code, map) = transform::transform(path, &text_of(path, &source)?, settings)?;
            let map = OnceLock::from(Some(map));
            Ok(self.made_script(path, Kind::Esm, code.into_bytes(), MapOrigin::Made, map))
        })
    }

    /// A `.js` of a package is what its `package.json` says, and without that what its syntax is.
    fn of_package(&self, path: &str, source: Vec<u8>) -> Result<Arc<Script>, Error> {
        let package = self.resolver.package_above(&parent(path));
        match package.as_ref().and_then(|(_, package)| package.kind()) {
            Some("module") => return Ok(self.script(path, Kind::Esm, source)),
            Some("commonjs") => return Ok(self.script(path, Kind::CommonJs, source)),
            _ => {}
        }
        self.once(path, &source, &TransformSettings::default(), || {
            let is_module = transform::is_module(path, &text_of(path, &source)?)?;
            let kind = if is_module { Kind::Esm } else { Kind::CommonJs };
            Ok(self.script(path, kind, source.clone()))
        })
    }

    /// Returns the script made from the same text before, or the one made of it now. Other threads that ask for it
    /// meanwhile wait.
    fn once(
        &self,
        path: &str,
        source: &[u8],
        settings: &TransformSettings,
        make: impl FnOnce() -> Result<Arc<Script>, Error>,
    ) -> Result<Arc<Script>, Error> {
        let mut hasher = DefaultHasher::new();
        (source, settings).hash(&mut hasher);
        let hash = hasher.finish();
        let mut made = lock(&self.made);
        if let Some((_, script)) = made.get(path).filter(|(known, _)| *known == hash) {
            return Ok(Arc::clone(script));
        }
        let script = make()?;
        made.insert(path.to_owned(), (hash, Arc::clone(&script)));
        Ok(script)
    }

    /// Returns the settings of `tsconfig.json` of the project, or of the nearest folder above that may be read, says.
    fn config(&self) -> Arc<Result<TsConfig, String>> {
        const FOLDERS_UP: [&str; 4] = ["", "..", "../..", "../../.."];
        if let Some(config) = &*lock(&self.config) {
            return Arc::clone(config);
        }
        let paths = FOLDERS_UP.map(|folder| paths::join(folder, "tsconfig.json"));
        let found = paths.iter().find(|path| self.sources.find(path).is_some());
        let read = |path: &str| self.sources.read(path);
        let find = |from: &str, name: &str| {
            let extended = |name: &str| {
                self.resolver
                    .resolve(&TsConfig::default(), from, name, Asked::Require)
                    .ok()
            };
            extended(name).or_else(|| extended(&format!("{name}/tsconfig.json")))
        };
        let config = Arc::new(match found {
            Some(path) => TsConfig::read(path, &read, &find),
            None => Ok(TsConfig::default()),
        });
        *lock(&self.config) = Some(Arc::clone(&config));
        config
    }
}

fn text_of(path: &str, source: &[u8]) -> Result<String, Error> {
    let fault = |error: std::str::Utf8Error| {
        let line = source[..error.valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count()
            + 1;
        let place = Place {
            file: path.to_owned(),
            line: line as u32,
        };
        Error::new(ErrorKind::Load, "the file is not UTF-8").at(Some(place))
    };
    let text = std::str::from_utf8(source).map_err(fault)?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
