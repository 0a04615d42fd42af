//! A project: its files, which one of them to run, and in what language that is.

use crate::archive::Archive;
use crate::files::own_calls::is_own_call;
use crate::files::sources::{FolderSources, MemorySources, SHARED, WithEntry, packages_folder};
use crate::language::Language;
use sampan_host::{Error, Place, Sources};
use sampan_js_modules::Modules;
use std::fmt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files that are looked for in a folder.
const ENTRIES: [&str; 7] = [
    "app.lua", "app.js", "app.mjs", "app.ts", "app.mts", "app.tsx", "app.jsx",
];

/// A project: a folder and the file in it that is run.
#[derive(Clone)]
pub struct Project {
    root: PathBuf,
    entry: String,
    sources: Arc<dyn Sources>,
    /// The archive that the files are in, if they are in one.
    archive: Option<Arc<Archive>>,
    /// The files as modules of JavaScript, transformed once for all workers.
    modules: Arc<Modules>,
}

impl Project {
    /// A project in an archive. What it keeps on the disk lies in the current folder.
    pub fn packed(archive: &Arc<Archive>) -> Result<Self, String> {
        let root = std::env::current_dir()
            .map_err(|error| format!("cannot tell the current folder: {error}"))?;
        let sources = Arc::clone(archive) as Arc<dyn Sources>;
        let project = Self::of_sources(root, archive.entry().to_owned(), sources);
        Ok(Self {
            archive: Some(Arc::clone(archive)),
            ..project
        })
    }

    /// Finds the project at `path`: a folder with one of `app.lua`, `app.js`, `app.ts` and the like, or the file to
    /// run.
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
                    // One that may not be read looks empty.
                    if let Err(error) = std::fs::read_dir(&whole) {
                        return Err(format!("cannot open {shown}: {error}"));
                    }
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
        if let Some(fault) = irregular(&root.join(&entry)) {
            return Err(format!("{shown} {fault}"));
        }
        if Language::of(&entry).is_none() {
            return Err(format!(
                "{shown} is neither Lua nor JavaScript: its name must end in .lua, .js, .mjs, .jsx, .ts, .mts or .tsx"
            ));
        }
        if let Err(error) = std::fs::File::open(root.join(&entry)) {
            return Err(format!("cannot open {entry}: {error}"));
        }
        let sources = Arc::new(FolderSources::new(root.clone()));
        Ok(Self::of_sources(root, entry, sources))
    }

    /// Looks whether the file to run still is a file, where it is to be loaded anew: loading would say that there is no
    /// such module.
    ///
    /// # Errors
    /// One line that says what is in its place.
    pub fn check_entry(&self) -> Result<(), String> {
        let is_on_disk = self.archive.is_none() && self.root.is_absolute();
        let fault = is_on_disk.then(|| irregular(&self.root.join(&self.entry)));
        match fault.flatten() {
            Some(fault) => Err(format!("{} {fault}", self.entry)),
            None => Ok(()),
        }
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

    /// Returns the reason why the project did not load: the place or at least the file, the message, the line of the
    /// source, and the stack.
    pub fn load_fault(&self, error: &Error) -> String {
        let mut told = match error.place() {
            Some(_) => error.to_string(),
            None if self.entry.is_empty() || is_of_setting(error) => error.to_string(),
            None => format!("{}: {error}", self.entry),
        };
        // The error of a template has its lines already.
        let is_shown = |place: &Place| told.contains(&format!("\n> {:>4} | ", place.line));
        let place = error.place().filter(|place| !is_shown(place));
        if let Some((place, line)) = place.and_then(|place| Some((place, self.line(place)?))) {
            told += &format!("\n{:>5} | {line}", place.line);
        }
        let calls = error.stack().into_iter().flat_map(str::lines);
        for call in calls.filter(|call| !is_own_call(call)) {
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
    pub fn without_entry(path: &Path) -> Result<Self, String> {
        let root = path.canonicalize();
        let root = root.map_err(|error| format!("cannot open {}: {error}", path.display()))?;
        let sources = Arc::new(FolderSources::new(root.clone()));
        Ok(Self::of_sources(root, String::new(), sources))
    }

    /// The project with another file to run, which exists in memory only.
    pub fn with_entry(&self, entry: &(String, String)) -> Self {
        let sources = Arc::new(WithEntry::new(entry, self.sources()));
        Self {
            archive: self.archive.clone(),
            ..Self::of_sources(self.root.clone(), entry.0.clone(), sources)
        }
    }

    /// No project: nothing to run, and no folder.
    pub fn none() -> Self {
        Self::in_memory("", &[])
    }

    /// A project without a folder: its files by name.
    pub fn in_memory(entry: &str, files: &[(&str, &str)]) -> Self {
        let sources = Arc::new(MemorySources::new(files));
        Self::of_sources(PathBuf::new(), entry.to_owned(), sources)
    }

    /// Returns the project with another source of files.
    pub fn with_sources(&self, sources: Arc<dyn Sources>) -> Self {
        Self::of_sources(self.root.clone(), self.entry.clone(), sources)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folders outside of the project's own from which its files are read: that of its workspace of
    /// packages, and those that it shares with other projects by links. A project in an archive has none.
    pub fn outer_folders(&self) -> Vec<PathBuf> {
        if self.archive.is_some() || self.root.as_os_str().is_empty() {
            return Vec::new();
        }
        let shared = SHARED.into_iter().map(|folder| self.root.join(folder));
        let shared = shared.filter_map(|folder| folder.canonicalize().ok());
        let folders = shared.chain([packages_folder(&self.root)]);
        folders
            .filter(|folder| !folder.starts_with(&self.root))
            .collect()
    }

    /// The file to run, relative to the folder.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// The language of that file; `None` if its name tells none.
    pub fn language(&self) -> Option<Language> {
        Language::of(&self.entry)
    }

    /// The modules of a JavaScript project.
    pub fn modules(&self) -> Arc<Modules> {
        Arc::clone(&self.modules)
    }

    /// The archive that the files are in, if they are in one.
    pub fn archive(&self) -> Option<&Arc<Archive>> {
        self.archive.as_ref()
    }

    /// The files.
    pub fn sources(&self) -> Arc<dyn Sources> {
        Arc::clone(&self.sources)
    }
}

/// Describes why a path is not that of a regular file, links followed: nothing may be read from a pipe or a device.
fn irregular(path: &Path) -> Option<String> {
    let kind = std::fs::metadata(path).ok()?.file_type();
    let what = match kind {
        _ if kind.is_file() => return None,
        _ if kind.is_dir() => "a folder",
        _ if kind.is_fifo() => "a FIFO",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Some(format!("is not a regular file: it is {what}"))
}

impl fmt::Debug for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Project")
            .field("root", &self.root)
            .field("entry", &self.entry)
            .finish_non_exhaustive()
    }
}

/// Reports whether an error begins with the origin of a setting, such as `sampan.toml:3: [static]`.
fn is_of_setting(error: &Error) -> bool {
    let origin = error.message().split_once(": [").map(|(origin, _)| origin);
    origin.is_some_and(|origin| {
        let is_file = origin.contains(".toml") && !origin.contains('\n');
        is_file || origin.starts_with("SAMPAN_") || origin == "--set"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::ErrorKind;
    use std::fs;

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
    fn a_project_is_found_or_the_error_says_what_to_do() {
        let scratch = tempfile::tempdir().expect("a folder");
        let inside = scratch.path().join("inside");
        fs::create_dir(&inside).expect("a folder");
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
