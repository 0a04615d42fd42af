//! Watches the files of a project. What changes within a moment is told once.
//!
//! Each folder is watched for itself, so that those with thousands of files that are no part of the app
//! (`node_modules`) cost nothing. Where the system has no watches left, or the file system tells nothing, the files are
//! looked at again and again (`poll`).

use super::poll::Files;
use notify::{
    Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind},
};
use sampan_host::log::Level;
use sampan_log::Logger;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// A save is over when nothing has changed for so long: editors write a file in several steps.
pub(super) const QUIET: Duration = Duration::from_millis(12);
/// The longest duration of a save.
pub(super) const SAVE_TIME_MAX: Duration = Duration::from_millis(80);
/// While a file is being written, it is over after this time in any case.
const WRITE_TIME_MAX: Duration = Duration::from_secs(1);
/// The greatest depth to which folders may nest.
pub(super) const DEPTH_MAX: usize = 16;
/// The most folders that are watched.
const FOLDERS_MAX: usize = 2048;
/// Folders that are no part of what is served, beside hidden ones.
const IGNORED: [&str; 3] = ["node_modules", "target", "tests"];
/// The endings of scripts, and of what they import.
const SCRIPTS: [&str; 10] = [
    "lua", "js", "mjs", "cjs", "jsx", "ts", "mts", "tsx", "json", "toml",
];
/// The folders all of whose files matter.
const FOLDERS: [&str; 3] = ["templates", "locales", "migrations"];

/// The changes since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// True if the project changed: scripts, templates, texts, migrations, the configuration, `.env`.
    pub(super) project: bool,
    /// Style sheets that are served as files.
    pub(super) styles: bool,
    /// Other files that are served.
    pub(super) pages: bool,
}

/// The files that are watched.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    /// The project's folder.
    pub(super) root: PathBuf,
    /// The folder in it whose files are served.
    pub(super) public: String,
    /// The storage folder, in which the app writes.
    pub(super) storage: PathBuf,
    /// A configuration file elsewhere.
    pub(super) config: Option<PathBuf>,
    /// True if to poll in any case.
    pub(super) is_polled: bool,
}

/// Watches from now on, on a thread of its own.
///
/// # Errors
/// The system has no thread left.
pub(super) fn start(watched: Watched, logger: &Logger) -> Result<Receiver<Changes>, String> {
    let (changes, receiver) = channel();
    let logger = logger.clone();
    // Before this returns, so that what changes from now on is seen.
    let source = match watched.is_polled {
        true => Source::Polled(Files::of(&watched)),
        false => Folders::open(watched.clone()).map_or_else(
            |error| {
                tell_polling(&logger, &error);
                Source::Polled(Files::of(&watched))
            },
            Source::System,
        ),
    };
    let body = move || {
        let files = match source {
            Source::Polled(files) => files,
            Source::System(mut folders) => {
                let Err(error) = folders.follow(&changes) else {
                    return;
                };
                tell_polling(&logger, &error);
                let files = Files::of(&watched);
                // What has changed before that is not known.
                let _ = changes.send(Changes {
                    project: true,
                    ..Changes::default()
                });
                files
            }
        };
        files.follow(&watched, &changes);
    };
    let thread = std::thread::Builder::new().name("sampan-watch".into());
    let thread = thread.spawn(body);
    thread.map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(receiver)
}

/// The source of change events.
enum Source {
    System(Folders),
    Polled(Files),
}

type Told = notify::Result<Event>;

/// The folders that are watched by the system.
struct Folders {
    watched: Watched,
    watcher: RecommendedWatcher,
    inbox: Receiver<Told>,
}

impl Folders {
    fn open(watched: Watched) -> notify::Result<Self> {
        let (events, inbox) = channel();
        let watcher = RecommendedWatcher::new(events, Config::default())?;
        let mut folders = Self {
            watched,
            watcher,
            inbox,
        };
        folders.watch_all()?;
        Ok(folders)
    }

    /// Tells what changes until nobody listens, or until the system cannot watch any more.
    fn follow(&mut self, changes: &Sender<Changes>) -> notify::Result<()> {
        while let Ok(first) = self.inbox.recv() {
            let changed = self.gather(first)?;
            if changed != Changes::default() && changes.send(changed).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Watches every folder.
    fn watch_all(&mut self) -> notify::Result<()> {
        let mut found = Vec::new();
        find(&self.watched, &self.watched.root, DEPTH_MAX, &mut found);
        let config = self.watched.config.as_deref();
        found.extend(config.and_then(Path::parent).map(Path::to_owned));
        for folder in &found {
            // One that has gone meanwhile, or that cannot be read, is missed by nobody.
            if let Err(error) = self.watcher.watch(folder, RecursiveMode::NonRecursive)
                && std::fs::read_dir(folder).is_ok()
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Gathers the changes of one save.
    fn gather(&mut self, first: Told) -> notify::Result<Changes> {
        let (mut save, begun) = (Save::default(), Instant::now());
        self.add(&mut save, first);
        loop {
            let elapsed = begun.elapsed();
            let is_being_written = !save.open.is_empty() && elapsed < WRITE_TIME_MAX;
            if elapsed >= SAVE_TIME_MAX && !is_being_written {
                break;
            }
            match self.inbox.recv_timeout(QUIET) {
                Ok(next) => self.add(&mut save, next),
                Err(_) if is_being_written => {}
                Err(_) => break,
            }
        }
        if save.has_lost_count || !save.folders.is_empty() {
            self.watch_all()?;
        }
        // Files may have come with a folder, before it was watched.
        for folder in &save.folders {
            let changes = &mut save.changes;
            self.watched.add_below(changes, folder, DEPTH_MAX);
        }
        Ok(save.changes)
    }

    /// Takes note of an event.
    fn add(&self, save: &mut Save, event: Told) {
        let Ok(event) = event else {
            save.changes.project = true;
            save.has_lost_count = true;
            return;
        };
        let is_close = event.kind == EventKind::Access(AccessKind::Close(AccessMode::Write));
        if event.kind.is_access() && !is_close {
            return;
        }
        if event.need_rescan() {
            save.changes.project = true;
            save.has_lost_count = true;
        }
        let is_write = matches!(event.kind, EventKind::Modify(ModifyKind::Data(_)));
        for path in event.paths {
            if path.is_dir() {
                let may_be_new = event.kind.is_create() || event.kind.is_modify();
                if may_be_new && !self.watched.ignores(&path) {
                    save.folders.insert(path);
                }
                continue;
            }
            self.watched.add(&mut save.changes, &path);
            if !is_write {
                save.open.remove(&path);
            } else if self.watched.meaning_of(&path) != Changes::default() {
                save.open.insert(path);
            }
        }
    }
}

/// The state of a save that goes on.
#[derive(Default)]
struct Save {
    changes: Changes,
    /// Files that were written to and are not closed yet: half of them would be read.
    open: HashSet<PathBuf>,
    /// Folders that may not be watched yet.
    folders: HashSet<PathBuf>,
    /// The system has not told everything.
    has_lost_count: bool,
}

fn tell_polling(logger: &Logger, error: &notify::Error) {
    let reason = match error.kind {
        ErrorKind::MaxFilesWatch => {
            "the system has no watches left (fs.inotify.max_user_watches)".to_owned()
        }
        _ => format!("the system cannot watch it ({error})"),
    };
    let millis = super::poll::PAUSE.as_millis();
    let text = format!("{reason}: looking for changes every {millis} ms instead");
    logger.text(Level::Warn, text);
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
    fn ignores(&self, folder: &Path) -> bool {
        let Some(parts) = self.parts(folder) else {
            return true;
        };
        let is_ignored = |part: &&str| part.starts_with('.') || IGNORED.contains(part);
        parts.iter().any(is_ignored) || folder == self.storage
    }

    fn add_below(&self, changes: &mut Changes, folder: &Path, depth_left: usize) {
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
        let is_loaded = folders.first().is_some_and(|first| FOLDERS.contains(first));
        changes.project |= is_loaded || SCRIPTS.contains(&ending);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn watched(root: &Path, is_polled: bool) -> Watched {
        Watched {
            root: root.to_owned(),
            public: "public".to_owned(),
            storage: root.join("storage"),
            config: None,
            is_polled,
        }
    }

    #[test]
    fn a_change_means_what_the_file_is() {
        let watched = watched(Path::new("/p"), false);
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

    #[test]
    fn saves_are_told_by_watching_and_by_polling() {
        for is_polled in [false, true] {
            let scratch = tempfile::tempdir().expect("a folder");
            let root = scratch.path().canonicalize().expect("a folder");
            fs::create_dir(root.join("templates")).expect("a folder");
            fs::write(root.join("app.lua"), "1").expect("written");
            let logger = Logger::captured(Level::Info);
            let changes = start(watched(&root, is_polled), &logger).expect("watched");
            let told = || {
                let mut all = changes.recv_timeout(Duration::from_secs(10)).expect("told");
                while let Ok(more) = changes.recv_timeout(Duration::from_millis(600)) {
                    all.project |= more.project;
                    all.styles |= more.styles;
                    all.pages |= more.pages;
                }
                all
            };
            fs::write(root.join("templates/a.html"), "a").expect("written");
            assert!(told().project, "{is_polled}");
            // As editors do: another file takes its place.
            fs::write(root.join(".app.lua.new"), "two").expect("written");
            fs::rename(root.join(".app.lua.new"), root.join("app.lua")).expect("renamed");
            assert!(told().project, "{is_polled}");
            // A folder that comes later, with a file in it.
            fs::create_dir_all(root.join("public/css")).expect("folders");
            fs::write(root.join("public/css/a.css"), "a {}").expect("written");
            assert!(told().styles, "{is_polled}");
            fs::write(root.join("public/css/a.css"), "a { color: red }").expect("written");
            assert!(told().styles, "{is_polled}");
            fs::write(root.join("data.db"), "x").expect("written");
            assert!(changes.recv_timeout(Duration::from_millis(600)).is_err());
        }
    }
}
