//! The files of a project's folder that are packed: all but those that a server makes, those that are hidden, and what
//! only developers need.

use super::files::{Files, canonical};
use crate::archive::format::{Appended, appended};
use crate::files::{MIGRATIONS, SHARED};
use crate::media::SIBLINGS;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// The greatest depth to which folders may nest.
const DEPTH_MAX: usize = 32;
/// The first bytes of the files of SQLite: a database, its write-ahead log in either byte order, its rollback journal.
const SQLITE: [&[u8]; 4] = [
    b"SQLite format 3\0",
    b"\x37\x7f\x06\x82",
    b"\x37\x7f\x06\x83",
    b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",
];
/// The ends of the names that SQLite gives to files beside a database, also beside one that was renamed since.
const BESIDE_DATABASE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The only hidden name that is served, at the top of the static files (RFC 8615).
const WELL_KNOWN: &str = ".well-known";
/// Packages of JavaScript: only what is reached of them is packed.
const NODE_MODULES: &str = "node_modules";
/// Packages of Lua: only their Lua files can be run.
const LUA_MODULES: &str = "lua_modules";
/// The project's tests.
const TESTS: &str = "tests";

/// The files left out beside those that are always left out.
pub(super) struct Skipped<'a> {
    pub(super) written: Vec<PathBuf>,
    pub(super) databases: Vec<PathBuf>,
    pub(super) output: PathBuf,
    pub(super) exclude: &'a [String],
}

/// The files of a folder.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) files: Files,
    /// Encoded forms of static files that are older than what they were made of.
    pub(super) stale_encodings: BTreeSet<String>,
    /// The left-out files that the developer is told of.
    pub(super) left_out: Vec<String>,
    /// The paths of `--exclude`, as files of the project are called.
    pub(super) excluded: Vec<String>,
}

struct Walk<'a> {
    root: &'a Path,
    static_folder: &'a str,
    /// The canonical paths of what stays out.
    skipped: Vec<PathBuf>,
    found: Collected,
}

/// Collects the files of the project in the folder `root`, which is in its canonical form.
///
/// # Errors
/// A file cannot be read, or what is to stay out is not there.
pub(super) fn collect(
    root: &Path,
    static_folder: &str,
    skipped: &Skipped<'_>,
) -> Result<Collected, String> {
    let exclude = skipped.exclude.iter();
    let excluded = exclude.map(|path| path_in(root, path));
    let excluded = excluded.collect::<Result<_, _>>()?;
    let database = |path: &PathBuf, ending: &str| {
        let mut path = path.clone().into_os_string();
        path.push(ending);
        PathBuf::from(path)
    };
    let mut paths = skipped.written.clone();
    paths.push(skipped.output.clone());
    for path in &skipped.databases {
        paths.push(path.clone());
        paths.extend(BESIDE_DATABASE.map(|ending| database(path, ending)));
    }
    let mut walk = Walk {
        root,
        static_folder,
        skipped: paths.iter().filter_map(|path| canonical(path)).collect(),
        found: Collected {
            excluded,
            ..Collected::default()
        },
    };
    walk.folder(root, "", root, DEPTH_MAX)?;
    Ok(walk.found)
}

/// Returns a path of `--exclude` as files of the project are called: relative to the project's folder, with one slash
/// between its parts.
fn path_in(root: &Path, written: &str) -> Result<String, String> {
    let fault = |why: &str| Err(format!("--exclude {written:?}: {why}"));
    let path = Path::new(written);
    // An absolute path may lead through links to the project.
    let whole = path.is_absolute().then(|| canonical(path)).flatten();
    let inside = match (path.is_absolute(), whole.as_deref().unwrap_or(path)) {
        (true, whole) => match path.strip_prefix(root).or(whole.strip_prefix(root)) {
            Ok(inside) => inside,
            Err(_) => return fault("it is outside of the project's folder"),
        },
        (false, path) => path,
    };
    let mut parts = Vec::new();
    for part in inside.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if parts.pop().is_some() => {}
            Component::Normal(part) => parts.push(part.to_string_lossy()),
            _ => return fault("it is outside of the project's folder"),
        }
    }
    let inside = parts.join("/");
    match root.join(&inside).exists() {
        _ if inside.is_empty() => fault("it must be a file or folder in the project's folder"),
        true => Ok(inside),
        false => fault("the project has no such file or folder"),
    }
}

impl Walk<'_> {
    /// Adds what is in a folder. `relative` is its path in the project, `within` the folder that links may not lead out
    /// of.
    fn folder(
        &mut self,
        folder: &Path,
        relative: &str,
        within: &Path,
        depth_left: usize,
    ) -> Result<(), String> {
        let unreadable =
            |path: &Path, error| format!("{}: cannot be read: {error}", path.display());
        let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, error))?;
        for entry in entries {
            let path = entry.map_err(|error| unreadable(folder, error))?.path();
            let name = path.file_name().unwrap_or_default();
            let Some(name) = name.to_str() else {
                let shown = path.display();
                self.leave_out(format!("{shown} (its name is not UTF-8)"));
                continue;
            };
            let inside = match relative {
                "" => name.to_owned(),
                folder => format!("{folder}/{name}"),
            };
            let is_well_known = name == WELL_KNOWN && relative == self.static_folder;
            if name.starts_with('.') && !is_well_known || name == NODE_MODULES {
                continue;
            }
            // A link that leads nowhere.
            let Ok(whole) = path.canonicalize() else {
                self.leave_out(format!("{inside} (a link that leads nowhere)"));
                continue;
            };
            let is_folder = whole.is_dir();
            if self.is_skipped(&inside, &whole) {
                let slash = if is_folder { "/" } else { "" };
                self.leave_out(format!("{inside}{slash}"));
                continue;
            }
            // Some folders may be links to a folder that projects share. Links in those may not lead out of them.
            let within = match is_folder && self.is_shared(&inside) {
                true => whole.clone(),
                false => within.to_owned(),
            };
            if !whole.starts_with(&within) {
                let place = self.left_by_link(&whole, &within);
                self.leave_out(format!("{inside} (a link out of {place})"));
            } else if !is_folder {
                self.file(&whole, inside)?;
            } else if depth_left == 0 {
                return Err(format!(
                    "{inside}: folders nest too deep, or a link leads in a circle"
                ));
            } else if self.is_circle(folder, &whole) {
                self.leave_out(format!("{inside} (a link in a circle)"));
            } else {
                self.folder(&whole, &inside, &within, depth_left - 1)?;
            }
        }
        Ok(())
    }

    /// Reports whether a folder is one of those around the folder that it is found in.
    fn is_circle(&self, folder: &Path, whole: &Path) -> bool {
        folder.starts_with(whole)
    }

    /// Describes the place that a link leads out of: the folder `within`, where it leads to another of the project.
    fn left_by_link(&self, whole: &Path, within: &Path) -> String {
        match within.strip_prefix(self.root) {
            Ok(folder) if whole.starts_with(self.root) => format!("{}/", folder.display()),
            _ => "the project".to_owned(),
        }
    }

    fn is_shared(&self, inside: &str) -> bool {
        SHARED.contains(&inside) || inside == MIGRATIONS || inside == self.static_folder
    }

    fn is_skipped(&self, inside: &str, whole: &Path) -> bool {
        inside == TESTS
            || self.found.excluded.iter().any(|path| path == inside)
            || self.skipped.iter().any(|path| path == whole)
    }

    fn leave_out(&mut self, what: String) {
        self.found.left_out.push(what);
    }

    fn file(&mut self, whole: &Path, inside: String) -> Result<(), String> {
        let unreadable = |error| format!("{}: cannot be read: {error}", whole.display());
        if !whole.is_file() {
            return Ok(());
        }
        let is_of_package = inside.split('/').any(|part| part == LUA_MODULES);
        if is_of_package && !inside.ends_with(".lua") {
            return Ok(());
        }
        let file = File::open(whole).map_err(unreadable)?;
        let is_beside_database = BESIDE_DATABASE
            .iter()
            .any(|ending| inside.ends_with(ending));
        if is_beside_database || is_database(&file) {
            self.leave_out(format!("{inside} (a database)"));
            return Ok(());
        }
        if matches!(appended(&file), Ok(Some(Appended::Archive(_)))) {
            self.leave_out(format!("{inside} (a built project)"));
            return Ok(());
        }
        if self.is_stale(whole, &inside) {
            self.found.stale_encodings.insert(inside.clone());
        }
        let bytes = fs::read(whole).map_err(unreadable)?;
        self.found.files.insert(inside, bytes);
        Ok(())
    }

    /// Reports whether a file is an encoded form of a static file that was changed later. A server with the folder
    /// takes no notice of it either.
    fn is_stale(&self, whole: &Path, inside: &str) -> bool {
        let mut siblings = SIBLINGS.iter();
        let plain = siblings.find_map(|(_, extension)| {
            let name = whole.to_str()?;
            name.strip_suffix(extension)?.strip_suffix('.')
        });
        let is_static = inside
            .strip_prefix(self.static_folder)
            .is_some_and(|rest| rest.starts_with('/'));
        let Some(plain) = plain.filter(|_| is_static) else {
            return false;
        };
        // In seconds, as a server looks at them.
        let changed = |path: &Path| path.metadata().map(|metadata| metadata.mtime());
        match (changed(whole), changed(Path::new(plain))) {
            (Ok(encoded), Ok(plain)) => encoded < plain,
            _ => false,
        }
    }
}

/// Reports whether a file begins as one of SQLite's does.
fn is_database(file: &File) -> bool {
    SQLITE.iter().any(|first| {
        let mut head = vec![0; first.len()];
        file.read_exact_at(&mut head, 0).is_ok() && head == *first
    })
}
