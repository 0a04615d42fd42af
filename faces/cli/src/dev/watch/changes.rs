//! The files that are watched, and what their changes mean.

use sampan_project::files::{MIGRATIONS, SHARED};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// A save is over when nothing has changed for so long: editors write a file in several steps.
pub(super) const QUIET: Duration = Duration::from_millis(12);
/// The longest duration of a save.
pub(super) const SAVE_TIME_MAX: Duration = Duration::from_millis(80);
/// The greatest depth to which folders may nest.
pub(super) const DEPTH_MAX: usize = 16;
/// The most folders that are watched.
const FOLDERS_MAX: usize = 2048;
/// Folders that are no part of what is served, beside hidden ones.
pub(in crate::dev) const NOT_SERVED: &[&str] = &["node_modules", "target", "tests"];
/// The endings of scripts, and of what they import.
const SCRIPTS: [&str; 10] = [
    "lua", "js", "mjs", "cjs", "jsx", "ts", "mts", "tsx", "json", "toml",
];
/// The changes since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// True if the project changed: scripts, templates, texts, migrations, the configuration, `.env`.
    pub(in crate::dev) project: bool,
    /// Style sheets that are served as files.
    pub(in crate::dev) styles: bool,
    /// Other files that are served.
    pub(in crate::dev) pages: bool,
}

/// The files that are watched.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// The project's folder.
    pub(crate) root: PathBuf,
    /// The folder in it whose files are served.
    pub(crate) public: String,
    /// The storage folder, in which the app writes.
    pub(crate) storage: PathBuf,
    /// The names of folders in which nothing matters, beside hidden ones.
    pub(crate) ignored: &'static [&'static str],
    /// A configuration file elsewhere.
    pub(crate) config: Option<PathBuf>,
    /// True if to poll in any case.
    pub(crate) is_polled: bool,
}

/// Adds a folder and those below it.
pub(super) fn find(watched: &Watched, folder: &Path, depth_left: usize, found: &mut Vec<PathBuf>) {
    if found.len() >= FOLDERS_MAX || watched.ignores(folder) {
        return;
    }
    found.push(folder.to_owned());
    if depth_left == 0 {
        return;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        // The folders of a project may be links; links further down may lead in a circle.
        let may_be_link = folder == watched.root;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder || (may_be_link && path.is_dir()) {
            find(watched, &path, depth_left - 1, found);
        }
    }
}

impl Watched {
    /// The parts of a path below the project's folder, if they are text.
    fn parts<'a>(&self, path: &'a Path) -> Option<Vec<&'a str>> {
        let below = path.strip_prefix(&self.root).ok()?;
        let parts = below.components().map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        parts.collect()
    }

    /// Reports whether nothing in a folder matters.
    pub(super) fn ignores(&self, folder: &Path) -> bool {
        let Some(parts) = self.parts(folder) else {
            return true;
        };
        let is_ignored = |part: &&str| part.starts_with('.') || self.ignored.contains(part);
        parts.iter().any(is_ignored) || folder == self.storage
    }

    pub(super) fn add_below(&self, changes: &mut Changes, folder: &Path, depth_left: usize) {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth_left > 0 && !self.ignores(&path) => {
                    self.add_below(changes, &path, depth_left - 1);
                }
                _ => self.add(changes, &path),
            }
        }
    }

    /// Returns the effect of a changed file.
    pub(super) fn meaning_of(&self, path: &Path) -> Changes {
        let mut changes = Changes::default();
        self.add(&mut changes, path);
        changes
    }

    /// Adds what the change of a file means.
    pub(super) fn add(&self, changes: &mut Changes, path: &Path) {
        if self.config.as_deref() == Some(path) {
            changes.project = true;
            return;
        }
        let Some(parts) = self.parts(path) else {
            return;
        };
        let Some((name, folders)) = parts.split_last() else {
            return;
        };
        if folders.is_empty() && *name == sampan_project::config::DOTENV_FILE {
            changes.project = true;
            return;
        }
        // What editors write beside the file that is edited.
        let is_own = name.starts_with('.') || name.ends_with('~') || name.starts_with('#');
        let parent = path.parent().unwrap_or(path);
        if is_own || self.ignores(parent) {
            return;
        }
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        if path.starts_with(self.root.join(&self.public)) {
            changes.styles |= ending == "css";
            changes.pages |= ending != "css";
            return;
        }
        // A folder that has gone tells no more than its name.
        let is_loaded = parts
            .first()
            .is_some_and(|first| SHARED.contains(first) || *first == MIGRATIONS);
        changes.project |= is_loaded || SCRIPTS.contains(&ending);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(root: &Path) -> Watched {
        Watched {
            root: root.to_owned(),
            public: "public".to_owned(),
            storage: root.join("storage"),
            ignored: NOT_SERVED,
            config: None,
            is_polled: false,
        }
    }

    #[test]
    fn a_change_means_what_the_file_is() {
        let watched = watched(Path::new("/p"));
        let of = |path: &str| {
            let changes = watched.meaning_of(Path::new(path));
            (changes.project, changes.styles, changes.pages)
        };
        let (project, styles, pages) = (
            (true, false, false),
            (false, true, false),
            (false, false, true),
        );
        for (path, expected) in [
            ("/p/app.lua", project),
            ("/p/lib/a/b.tsx", project),
            ("/p/templates/page.html", project),
            ("/p/locales/de.toml", project),
            ("/p/migrations/0001_a.sql", project),
            ("/p/migrations", project),
            ("/p/public", pages),
            ("/p/other", Default::default()),
            ("/p/sampan.toml", project),
            ("/p/.env", project),
            ("/p/public/app.css", styles),
            ("/p/public/a/b.js", pages),
            ("/p/data.db-wal", Default::default()),
            ("/p/storage/a.json", Default::default()),
            ("/p/node_modules/a/b.js", Default::default()),
            ("/p/tests/a.test.lua", Default::default()),
            ("/p/.app.lua.swp", Default::default()),
            ("/p/app.lua~", Default::default()),
            ("/p/templates/.#page.html", Default::default()),
            ("/p/.git/config.json", Default::default()),
            ("/other/app.lua", Default::default()),
        ] {
            assert_eq!(of(path), expected, "{path}");
        }
    }
}
