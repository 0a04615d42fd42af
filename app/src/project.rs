//! A project's files: which one to run, and no way out of its folder.

use crate::archive::Archive;
use crate::config::Flags;
use crate::config::db::{MIGRATIONS, migrations_of};
use sampan_db::migrate::Migrations;
use sampan_host::{Error, Place, Sources};
use sampan_i18n::Catalogs;
use sampan_js_modules::Modules;
use sampan_template::Templates;
use std::collections::HashMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The files that are looked for in a folder.
const ENTRIES: [&str; 7] = [
    "app.lua", "app.js", "app.mjs", "app.ts", "app.mts", "app.tsx", "app.jsx",
];
/// How many folders above the project are looked through for the workspace that it is a part of.
const FOLDERS_UP_MAX: usize = 16;
/// The largest source file that is read, in bytes.
const SOURCE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How deep folders may nest whose files are listed.
const LIST_DEPTH_MAX: usize = 16;
/// The folder of the templates.
pub(crate) const TEMPLATES: &str = "templates";
/// Folders that may be links to a folder outside of the project, so that projects can share them.
pub(crate) const SHARED: [&str; 2] = [TEMPLATES, "locales"];

/// A project: a folder and the file in it that is run.
#[derive(Clone)]
pub struct Project {
    root: PathBuf,
    entry: String,
    sources: Arc<dyn Sources>,
    /// The archive that the files are in, if they are in one.
    archive: Option<Arc<Archive>>,
    /// The same files as modules of JavaScript, transformed once for all workers.
    modules: Arc<Modules>,
}

impl Project {
    /// The project that the command line names, or the one that this program carries.
    ///
    /// # Errors
    /// As [`Project::find`].
    pub(crate) fn of(flags: &Flags) -> Result<Self, String> {
        match &flags.archive {
            Some(archive) => Self::packed(archive),
            None => Self::find(&flags.path),
        }
    }

    /// A project in an archive. What it keeps on the disk lies in the current folder.
    fn packed(archive: &Arc<Archive>) -> Result<Self, String> {
        let root = std::env::current_dir()
            .map_err(|error| format!("cannot tell the current folder: {error}"))?;
        let sources = Arc::clone(archive) as Arc<dyn Sources>;
        let project = Self::of_sources(root, archive.entry().to_owned(), sources);
        Ok(Self {
            archive: Some(Arc::clone(archive)),
            ..project
        })
    }

    /// Finds the project at `path`: a folder with one of `app.lua`, `app.js`, `app.ts` and the like, or the file to run.
    ///
    /// # Errors
    /// One line that says what is missing and what to do.
    pub fn find(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let whole = path.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                format!("{shown} does not exist: name the project's folder or the file to run")
            }
            _ => format!("cannot open {shown}: {error}"),
        })?;
        let (root, entry) = if whole.is_dir() {
            let present: Vec<&str> = ENTRIES
                .into_iter()
                .filter(|name| whole.join(name).is_file())
                .collect();
            match present[..] {
                [entry] => (whole, entry.to_owned()),
                [] => {
                    return Err(format!(
                        "{shown} has no app.lua, app.js, app.jsx, app.ts or app.tsx: name the file to run"
                    ));
                }
                _ => {
                    return Err(format!(
                        "{shown} has {}: name the one to run",
                        present.join(" and ")
                    ));
                }
            }
        } else {
            let name = whole
                .file_name()
                .and_then(|name| name.to_str())
                .map(str::to_owned);
            let root = whole.parent().map(Path::to_owned);
            match (root, name) {
                (Some(root), Some(name)) => (root, name),
                _ => return Err(format!("{shown}: its name is not UTF-8")),
            }
        };
        if Language::of(&entry).is_none() {
            return Err(format!(
                "{shown} is neither Lua nor JavaScript: its name must end in .lua, .js, .mjs, .jsx, .ts, .mts or .tsx"
            ));
        }
        let sources = Arc::new(FolderSources::new(root.clone()));
        Ok(Self::of_sources(root, entry, sources))
    }

    fn of_sources(root: PathBuf, entry: String, sources: Arc<dyn Sources>) -> Self {
        let mut modules = Modules::new(Arc::clone(&sources));
        if let Some(chosen) = std::env::var("NODE_ENV").ok().filter(|it| !it.is_empty()) {
            modules = modules.with_node_env(chosen);
        }
        Self {
            root,
            entry,
            sources,
            archive: None,
            modules: Arc::new(modules),
        }
    }

    /// Why the project did not load: the place or at least the file, the message, the line of the source, and the stack.
    pub fn load_fault(&self, error: &Error) -> String {
        let mut told = match error.place() {
            Some(_) => error.to_string(),
            None => format!("{}: {error}", self.entry),
        };
        // The error of a template has its lines already.
        let is_shown = |place: &Place| told.contains(&format!("\n> {:>4} | ", place.line));
        let place = error.place().filter(|place| !is_shown(place));
        if let Some((place, line)) = place.and_then(|place| Some((place, self.line(place)?))) {
            told += &format!("\n{:>5} | {line}", place.line);
        }
        for call in error.stack().into_iter().flat_map(str::lines) {
            told += &format!("\n  {}", call.trim());
        }
        told
    }

    /// A line of a source file, as far as a terminal shows it.
    pub fn line(&self, place: &Place) -> Option<String> {
        const SHOWN_CHARS_MAX: usize = 160;
        let source = self.modules.source_text(&place.file)?;
        let text = String::from_utf8_lossy(&source);
        let line = text.lines().nth((place.line as usize).checked_sub(1)?)?;
        let line = line.trim_end().replace('\t', "    ");
        let shown = line.chars().filter(|one| !one.is_control());
        Some(shown.take(SHOWN_CHARS_MAX).collect())
    }

    /// A folder as a project without a file to run.
    pub(crate) fn without_entry(path: &Path) -> Result<Self, String> {
        let root = path.canonicalize();
        let root = root.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
        let sources = Arc::new(FolderSources::new(root.clone()));
        Ok(Self::of_sources(root, String::new(), sources))
    }

    /// The project with another file to run, which exists in memory only.
    pub(crate) fn with_entry(&self, entry: &(String, String)) -> Self {
        let sources = Arc::new(WithEntry {
            name: entry.0.clone(),
            text: entry.1.clone(),
            others: self.sources(),
        });
        Self::of_sources(self.root.clone(), entry.0.clone(), sources)
    }

    /// No project: nothing to run, and no folder.
    pub(crate) fn none() -> Self {
        Self::in_memory("", &[])
    }

    /// A project without a folder: its files by name.
    pub fn in_memory(entry: &str, files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect();
        let sources = Arc::new(MemorySources(files));
        Self::of_sources(PathBuf::new(), entry.to_owned(), sources)
    }

    /// The same project, whose files are read in another way.
    pub(crate) fn with_sources(&self, sources: Arc<dyn Sources>) -> Self {
        Self::of_sources(self.root.clone(), self.entry.clone(), sources)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file to run, relative to the folder.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// The language of that file; `None` if its name tells none.
    pub fn language(&self) -> Option<Language> {
        Language::of(&self.entry)
    }

    /// The project's templates, compiled.
    ///
    /// # Errors
    /// One that is no template: its file, its line and what is around it.
    pub(crate) fn templates(&self) -> Result<Templates, String> {
        let files = self.sources.list(TEMPLATES).into_iter().filter_map(|path| {
            let text = self.sources.read(&path)?;
            let name = path.strip_prefix(TEMPLATES)?.strip_prefix('/')?;
            Some((name.to_owned(), text))
        });
        Templates::compile(files).map_err(|error| error.to_string())
    }

    /// The project's texts in the languages of its readers.
    ///
    /// # Errors
    /// One line: a file that is wrong, its line and why, or a setting.
    pub(crate) fn catalogs(&self, settings: &sampan_i18n::Settings) -> Result<Catalogs, String> {
        let paths = self.sources.list(sampan_i18n::FOLDER).into_iter();
        let files = paths.filter_map(|path| {
            let bytes = self.sources.read(&path)?;
            Some((path, bytes))
        });
        Catalogs::read(&files.collect::<Vec<_>>(), settings)
    }

    /// The modules of a JavaScript project.
    pub(crate) fn modules(&self) -> Arc<Modules> {
        Arc::clone(&self.modules)
    }

    /// The archive that the files are in, if they are in one.
    pub(crate) fn archive(&self) -> Option<&Arc<Archive>> {
        self.archive.as_ref()
    }

    /// The migrations, of which there need be none.
    ///
    /// # Errors
    /// There is a file in the place of their folder.
    pub(crate) fn migrations(&self) -> Result<Migrations, String> {
        match &self.archive {
            Some(archive) => Ok(packed_migrations(archive)),
            None => migrations_of(&self.root),
        }
    }

    /// The files.
    pub fn sources(&self) -> Arc<dyn Sources> {
        Arc::clone(&self.sources)
    }
}

/// The migrations in an archive.
pub(crate) fn packed_migrations(archive: &Archive) -> Migrations {
    let names = archive.list(MIGRATIONS);
    let files = names.into_iter().filter_map(|path| {
        let name = path.strip_prefix(MIGRATIONS)?.strip_prefix('/')?;
        let text = archive.read(&path)?;
        (!name.contains('/')).then(|| (name.to_owned(), text))
    });
    Migrations::packed(MIGRATIONS, files.collect())
}

impl fmt::Debug for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Project")
            .field("root", &self.root)
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

/// What a project is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Lua.
    Lua,
    /// JavaScript, and TypeScript that becomes it.
    Js,
}

impl Language {
    /// The language of a file, by its name.
    pub fn of(entry: &str) -> Option<Self> {
        match entry.rsplit_once('.')?.1 {
            "lua" => Some(Self::Lua),
            "js" | "mjs" | "jsx" | "ts" | "mts" | "tsx" => Some(Self::Js),
            _ => None,
        }
    }
}

/// A folder on disk.
struct FolderSources {
    /// Canonical: a file's canonical path must start with it.
    root: PathBuf,
    /// The folder that the project's packages may lie in: that of the workspace, or of the nearest `package.json`; the root where
    /// there is none.
    packages: PathBuf,
    /// How many folders that is above the root.
    folders_up: usize,
}

impl FolderSources {
    fn new(root: PathBuf) -> Self {
        let packages = packages_folder(&root);
        let folders_up = root.components().count() - packages.components().count();
        Self {
            root,
            packages,
            folders_up,
        }
    }

    /// The canonical path of a file that may be read.
    fn file(&self, path: &str) -> Option<PathBuf> {
        let relative = Path::new(path);
        if path.contains('\0') {
            return None;
        }
        let ups = relative
            .components()
            .take_while(|part| matches!(part, Component::ParentDir))
            .count();
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if ups > self.folders_up || !relative.components().skip(ups).all(inside) {
            return None;
        }
        let file = self.root.join(relative).canonicalize().ok()?;
        let is_of_package = ups > 0
            || relative
                .components()
                .any(|part| part.as_os_str() == "node_modules");
        // A symbolic link may point within the project, but not out of it. Those of a workspace point to its other packages.
        let may_be_read = file.starts_with(&self.root)
            || is_of_package && file.starts_with(&self.packages)
            || self.is_shared(relative, &file);
        may_be_read.then_some(file)
    }

    /// Whether a file, by its canonical path, lies in a shared folder. Links in that folder may not point out of it.
    fn is_shared(&self, relative: &Path, file: &Path) -> bool {
        SHARED
            .into_iter()
            .filter(|folder| relative.starts_with(folder))
            .filter_map(|folder| self.root.join(folder).canonicalize().ok())
            .any(|folder| folder.is_dir() && file.starts_with(folder))
    }
}

impl Sources for FolderSources {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.file(path)?;
        let kind = file.metadata().ok()?;
        if !kind.is_file() || kind.len() > SOURCE_BYTES_MAX {
            return None;
        }
        std::fs::read(file).ok()
    }

    fn find(&self, path: &str) -> Option<String> {
        let file = self.file(path).filter(|file| file.is_file())?;
        let mut found = String::new();
        let mut above = self.root.as_path();
        while !file.starts_with(above) {
            // It lies in a folder that is shared by a link.
            if above == self.packages {
                return Some(path.to_owned());
            }
            found.push_str("../");
            above = above.parent()?;
        }
        found.push_str(file.strip_prefix(above).ok()?.to_str()?);
        Some(found)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let mut found = Vec::new();
        list_below(&self.root, folder, LIST_DEPTH_MAX, &mut found);
        found.sort();
        found
    }
}

/// The files of a project, and one more.
struct WithEntry {
    name: String,
    text: String,
    others: Arc<dyn Sources>,
}

impl WithEntry {
    fn is_entry(&self, path: &str) -> bool {
        path.strip_prefix("./").unwrap_or(path) == self.name
    }
}

impl Sources for WithEntry {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        match self.is_entry(path) {
            true => Some(self.text.clone().into_bytes()),
            false => self.others.read(path),
        }
    }

    fn find(&self, path: &str) -> Option<String> {
        match self.is_entry(path) {
            true => Some(self.name.clone()),
            false => self.others.find(path),
        }
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.others.list(folder)
    }
}

/// The nearest folder above that is a workspace of npm or pnpm; without one, the nearest with a `package.json`, or the root.
fn packages_folder(root: &Path) -> PathBuf {
    let has = |folder: &&Path| folder.join("package.json").is_file();
    let nearest = root.ancestors().take(FOLDERS_UP_MAX).find(has);
    let is_workspace = |folder: &&Path| {
        let package = std::fs::read(folder.join("package.json"));
        package.is_ok_and(|text| sampan_js_modules::is_workspace(&text))
            || folder.join("pnpm-workspace.yaml").is_file()
    };
    let workspace = root.ancestors().take(FOLDERS_UP_MAX).find(is_workspace);
    workspace.or(nearest).unwrap_or(root).to_owned()
}

/// Adds the files below a folder. A link to a folder is not followed.
fn list_below(root: &Path, folder: &str, depth_left: usize, found: &mut Vec<String>) {
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
            continue;
        };
        let path = format!("{folder}/{name}");
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder {
            found.push(path);
        } else if depth_left > 0 {
            list_below(root, &path, depth_left - 1, found);
        }
    }
}

/// Files in memory, for tests and programs that carry their project with them.
struct MemorySources(HashMap<String, Vec<u8>>);

impl Sources for MemorySources {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path.strip_prefix("./").unwrap_or(path)).cloned()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let is_below = |path: &&String| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let mut found: Vec<String> = self.0.keys().filter(is_below).cloned().collect();
        found.sort();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::ErrorKind;
    use sampan_js_modules::Asked;
    use std::fs;

    /// A fresh folder, with folders in it.
    fn scratch() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("inside/sub")).expect("folders in it");
        folder
    }

    #[test]
    fn the_line_of_a_fault_is_told_once() {
        let files = [
            ("app.js", "let a = 1;\nlet b = ;\n"),
            ("templates/a.html", "{{ x| }}"),
        ];
        let project = Project::in_memory("app.js", &files);
        let told = |file: &str, line, message: &str| {
            let place = Place {
                file: file.to_owned(),
                line,
            };
            project.load_fault(&Error::new(ErrorKind::Load, message).at(Some(place)))
        };
        assert_eq!(told("app.js", 2, "oh"), "app.js:2: oh\n    2 | let b = ;");
        let of_template = "oh\n>    1 | {{ x| }}";
        assert_eq!(
            told("templates/a.html", 1, of_template),
            format!("templates/a.html:1: {of_template}")
        );
    }

    #[test]
    fn nothing_outside_the_folder_is_read() {
        let scratch = scratch();
        fs::write(scratch.path().join("secret.lua"), "no").expect("written");
        fs::write(scratch.path().join("inside/app.lua"), "yes").expect("written");
        fs::write(scratch.path().join("inside/sub/m.lua"), "module").expect("written");
        std::os::unix::fs::symlink(
            scratch.path().join("secret.lua"),
            scratch.path().join("inside/out.lua"),
        )
        .expect("a link");
        std::os::unix::fs::symlink("sub/m.lua", scratch.path().join("inside/in.lua"))
            .expect("a link");
        let sources = Project::find(&scratch.path().join("inside"))
            .expect("a project")
            .sources();
        assert_eq!(sources.read("app.lua").as_deref(), Some(&b"yes"[..]));
        assert_eq!(sources.read("./sub/m.lua").as_deref(), Some(&b"module"[..]));
        assert_eq!(sources.read("in.lua").as_deref(), Some(&b"module"[..]));
        let absolute = scratch.path().join("secret.lua").display().to_string();
        for outside in [
            "../secret.lua",
            "sub/../../secret.lua",
            "out.lua",
            absolute.as_str(),
            "sub",
            "none.lua",
            "a\0b",
            "",
        ] {
            assert_eq!(sources.read(outside), None, "{outside:?}");
        }
    }

    #[test]
    fn projects_share_templates_by_links() {
        let scratch = scratch();
        let (shared, inside) = (scratch.path().join("shared"), scratch.path().join("inside"));
        fs::create_dir(&shared).expect("a folder");
        fs::write(shared.join("page.html"), "page").expect("written");
        fs::write(scratch.path().join("secret.html"), "no").expect("written");
        fs::write(inside.join("app.lua"), "").expect("written");
        let link = |from: &Path, to: PathBuf| std::os::unix::fs::symlink(from, to).expect("a link");
        link(Path::new("../shared"), inside.join("templates"));
        link(Path::new("../shared"), inside.join("lib"));
        link(Path::new("../secret.html"), shared.join("out.html"));
        let sources = Project::find(&inside).expect("a project").sources();
        assert_eq!(sources.list("templates").len(), 2);
        assert_eq!(
            sources.read("templates/page.html").as_deref(),
            Some(&b"page"[..])
        );
        for outside in [
            "templates/out.html",
            "templates/../app.lua",
            "lib/page.html",
        ] {
            assert_eq!(sources.read(outside), None, "{outside:?}");
        }
    }

    #[test]
    fn packages_of_a_workspace_are_read() {
        let scratch = scratch();
        let root = scratch.path();
        let write = |path: &str, text: &str| {
            let file = root.join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("written");
        };
        write("ws/package.json", r#"{"workspaces": ["apps/*"]}"#);
        write("ws/tsconfig.json", "{}");
        write("ws/apps/api/package.json", "{}");
        write("ws/apps/api/app.ts", "");
        write("ws/node_modules/dep/index.mjs", "");
        write("ws/shared/package.json", r#"{"main": "src/index.ts"}"#);
        write(
            "ws/shared/src/index.ts",
            "import './near'; import '../../secret';",
        );
        write("ws/shared/src/near.ts", "");
        write("ws/secret.ts", "");
        write("outside/package.json", "{}");
        write("outside/index.js", "");
        let link = |from: &str, to: &str| {
            std::os::unix::fs::symlink(from, root.join("ws/node_modules").join(to))
                .expect("a link");
        };
        link("../shared", "shared");
        link("../../outside", "outside");
        let project = Project::find(&root.join("ws/apps/api")).expect("a project");
        let modules = project.modules();
        modules.begin().expect("begun");
        let resolve = |from: &str, name: &str| modules.resolve(from, name, Asked::Import);
        let dep = "../../node_modules/dep/index.mjs";
        assert_eq!(resolve("app.ts", "dep").as_deref(), Ok(dep));
        let shared = "../../shared/src/index.ts";
        assert_eq!(resolve("app.ts", "shared").as_deref(), Ok(shared));
        assert!(modules.load(shared).is_ok());
        let near = "../../shared/src/near.ts";
        assert_eq!(resolve(shared, "./near").as_deref(), Ok(near));
        let fault = resolve(shared, "../../secret").expect_err("no way out");
        assert!(fault.contains("outside its package"), "{fault}");
        let fault = resolve("app.ts", "../../secret").expect_err("no way out");
        assert!(fault.contains("outside the project"), "{fault}");
        assert!(resolve("app.ts", "outside").is_err());
        assert_eq!(project.sources().read("../../../outside/index.js"), None);
    }

    #[test]
    fn a_project_is_found_or_the_error_says_what_to_do() {
        let scratch = scratch();
        let inside = scratch.path().join("inside");
        let fault = |path: &Path| Project::find(path).expect_err("no project");
        assert!(
            fault(&inside).ends_with(
                "has no app.lua, app.js, app.jsx, app.ts or app.tsx: name the file to run"
            )
        );
        assert!(fault(&inside.join("app.lua")).contains("does not exist"));
        fs::write(inside.join("app.lua"), "").expect("written");
        assert_eq!(Project::find(&inside).expect("found").entry(), "app.lua");
        fs::write(inside.join("app.js"), "").expect("written");
        assert!(fault(&inside).ends_with("has app.lua and app.js: name the one to run"));
        let file = Project::find(&inside.join("app.js")).expect("found");
        assert_eq!(
            (file.entry(), file.language()),
            ("app.js", Some(Language::Js))
        );
        fs::write(inside.join("app.py"), "").expect("written");
        assert!(fault(&inside.join("app.py")).contains("neither Lua nor JavaScript"));
    }
}
