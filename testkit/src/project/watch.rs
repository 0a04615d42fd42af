//! Waits for changes of a project's files, for `sampan test --watch`: scripts, tests, templates, texts, migrations, the
//! configuration. The files are looked at again and again, which works on every file system and costs next to nothing
//! at this pace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, thread};

/// The pause between two looks. What is saved within one is told once.
const PAUSE: Duration = Duration::from_millis(150);
/// The greatest depth to which folders may nest.
const DEPTH_MAX: usize = 16;
/// Folders in which nothing matters, beside hidden ones. The app and the tests write in the last two.
const IGNORED: [&str; 4] = ["node_modules", "target", "snapshots", "storage"];
/// Folders all of whose files matter.
const WHOLE: [&str; 3] = ["templates", "locales", "migrations"];
/// The endings of the other files that matter. What tests write as reports is not among them.
const ENDINGS: [&str; 10] = [
    "lua", "js", "mjs", "cjs", "jsx", "ts", "mts", "tsx", "json", "toml",
];

/// When each file was changed, and its length.
type Stamps = BTreeMap<PathBuf, (SystemTime, u64)>;

/// The files of a project at the last look.
pub struct ProjectWatch {
    root: PathBuf,
    /// A configuration file, which may lie elsewhere.
    config: Option<PathBuf>,
    seen: Stamps,
}

impl ProjectWatch {
    /// Looks at the project at `path`: its folder, or a file in it.
    pub fn new(path: &Path, config: Option<&Path>) -> Self {
        let root = match path.is_dir() {
            true => path,
            false => path.parent().unwrap_or(path),
        };
        // The folder of a file that is named alone, such as `app.lua`.
        let root = match root.as_os_str().is_empty() {
            true => Path::new("."),
            false => root,
        };
        let mut watch = Self {
            root: root.to_owned(),
            config: config.map(Path::to_owned),
            seen: Stamps::new(),
        };
        watch.seen = watch.look();
        watch
    }

    /// Waits until a file has changed since the last look, and until the next look finds them at rest.
    pub fn changed(&mut self) {
        loop {
            let now = self.look();
            if now != self.seen {
                self.seen = now;
                break;
            }
            thread::sleep(PAUSE);
        }
        loop {
            thread::sleep(PAUSE);
            let now = self.look();
            if now == self.seen {
                return;
            }
            self.seen = now;
        }
    }

    fn look(&self) -> Stamps {
        let mut stamps = Stamps::new();
        add_below(&self.root, false, DEPTH_MAX, &mut stamps);
        if let Some(config) = &self.config {
            add(config, &mut stamps);
        }
        stamps
    }
}

fn add(path: &Path, stamps: &mut Stamps) {
    // One that is gone meanwhile is one that changed.
    if let Ok(metadata) = fs::metadata(path) {
        let changed = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        stamps.insert(path.to_owned(), (changed, metadata.len()));
    }
}

/// Adds the files of a folder; all of them if it is `whole`.
fn add_below(folder: &Path, whole: bool, depth_left: usize, stamps: &mut Stamps) {
    let entries = fs::read_dir(folder).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        if name.starts_with('.') || IGNORED.contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            if depth_left > 0 {
                let whole = whole || WHOLE.contains(&&*name);
                add_below(&path, whole, depth_left - 1, stamps);
            }
            continue;
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        if whole || ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            add(&path, stamps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_named_alone_lies_in_the_current_folder() {
        let watch = ProjectWatch::new(Path::new("app.lua"), None);
        assert_eq!(watch.root, Path::new("."));
        // The manifest of the crate in whose folder tests run.
        assert!(watch.seen.contains_key(Path::new("./Cargo.toml")));
    }
}
