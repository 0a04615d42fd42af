//! Watches the files of a project. What changes within a moment is told once.
//!
//! Each folder is watched for itself, so that those with thousands of files that are no part of the app
//! (`node_modules`) cost nothing. Where the system has no watches left, or the file system tells nothing, the files are
//! looked at again and again (`poll`).

pub(crate) mod changes;
mod links;
mod poll;

use changes::{Changes, DEPTH_MAX, QUIET, SAVE_TIME_MAX, Watched, find};
use links::Links;
use notify::{
    Config, ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode, ModifyKind},
};
use poll::Files;
use sampan_host::log::Level;
use sampan_log::Logger;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// While a file is being written, it is over after this time in any case.
const WRITE_TIME_MAX: Duration = Duration::from_secs(1);

/// Watches from now on, on a thread of its own.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn start(watched: Watched, logger: &Logger) -> Result<Receiver<Changes>, String> {
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
    links: Links,
    /// The folders that have files of the project in them, at any depth. Of one that goes the system tells no more than
    /// its name.
    used: HashSet<PathBuf>,
    watcher: RecommendedWatcher,
    inbox: Receiver<Told>,
}

impl Folders {
    fn open(watched: Watched) -> notify::Result<Self> {
        let (events, inbox) = channel();
        let watcher = RecommendedWatcher::new(events, Config::default())?;
        let mut folders = Self {
            watched,
            links: Links::default(),
            used: HashSet::new(),
            watcher,
            inbox,
        };
        folders.watch_all()?;
        Ok(folders)
    }

    /// Sends the changes until the receiver is dropped, or until the system cannot watch any more.
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
        self.links = Links::of(&self.watched.root);
        let mut found = Vec::new();
        find(&self.watched, &self.watched.root, DEPTH_MAX, &mut found);
        let config = self.watched.config.as_deref();
        found.extend(config.and_then(Path::parent).map(Path::to_owned));
        for folder in &found {
            self.note_files(folder);
            // A folder that has gone meanwhile, or that cannot be read, is not missed.
            if let Err(error) = self.watcher.watch(folder, RecursiveMode::NonRecursive)
                && std::fs::read_dir(folder).is_ok()
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes note of a folder, if files of the project lie in it.
    fn note_files(&mut self, folder: &Path) {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let mut files = entries.flatten().map(|entry| entry.path());
        if files.any(|file| self.watched.meaning_of(&file).project) {
            self.note_used(folder);
        }
    }

    /// Takes note of a folder with files of the project, and of those that it lies in.
    fn note_used(&mut self, folder: &Path) {
        let root = &self.watched.root;
        let folders = folder.ancestors().take_while(|one| one.starts_with(root));
        self.used.extend(folders.map(Path::to_owned));
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
    fn add(&mut self, save: &mut Save, event: Told) {
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
            let names = self.links.names(&path);
            if path.is_dir() {
                if event.kind.is_create() || event.kind.is_modify() {
                    let new = names.into_iter();
                    save.folders
                        .extend(new.filter(|name| !self.watched.ignores(name)));
                }
                continue;
            }
            let mut meaning = Changes::default();
            for name in &names {
                self.watched.add(&mut meaning, name);
                self.watched.add(&mut save.changes, name);
                save.changes.project |= self.used.remove(name);
            }
            if meaning.project {
                let folders = names.iter().filter_map(|name| name.parent());
                folders.for_each(|folder| self.note_used(folder));
            }
            if !is_write {
                save.open.remove(&path);
            } else if meaning != Changes::default() {
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
    let millis = poll::PAUSE.as_millis();
    let text = format!("{reason}: looking for changes every {millis} ms instead");
    logger.text(Level::Warn, text);
}

#[cfg(test)]
mod tests {
    use super::changes::NOT_SERVED;
    use super::*;
    use std::fs;

    fn watched(root: &Path, is_polled: bool) -> Watched {
        Watched {
            root: root.to_owned(),
            public: "public".to_owned(),
            storage: root.join("storage"),
            ignored: NOT_SERVED,
            config: None,
            is_polled,
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

    #[test]
    fn saves_behind_links_and_folders_that_go_are_told() {
        for is_polled in [false, true] {
            let scratch = tempfile::tempdir().expect("a folder");
            let root = scratch.path().canonicalize().expect("a folder");
            for (link, target) in [("templates", "aaa"), ("locales", "zzz")] {
                fs::create_dir(root.join(target)).expect("a folder");
                std::os::unix::fs::symlink(target, root.join(link)).expect("a link");
            }
            fs::create_dir(root.join("migrations")).expect("a folder");
            fs::write(root.join("migrations/0001_a.sql"), "").expect("written");
            fs::create_dir_all(root.join("lib/deep")).expect("folders");
            fs::write(root.join("lib/deep/a.lua"), "").expect("written");
            fs::create_dir(root.join("notes")).expect("a folder");
            fs::write(root.join("notes/a.txt"), "").expect("written");
            let logger = Logger::captured(Level::Info);
            let changes = start(watched(&root, is_polled), &logger).expect("watched");
            let told = || {
                let first = changes.recv_timeout(Duration::from_secs(10));
                while changes.recv_timeout(Duration::from_millis(600)).is_ok() {}
                first.expect("told").project
            };
            for file in ["aaa/a.html", "templates/b.html", "zzz/de.txt"] {
                fs::write(root.join(file), "a").expect("written");
                assert!(told(), "{file}, {is_polled}");
            }
            fs::rename(root.join("migrations"), root.join("old")).expect("renamed");
            assert!(told(), "{is_polled}");
            let other = tempfile::tempdir().expect("a folder");
            for (from, to) in [
                (root.as_path(), other.path()),
                (other.path(), root.as_path()),
            ] {
                fs::rename(from.join("lib"), to.join("lib")).expect("moved");
                assert!(told(), "{is_polled}");
            }
            fs::rename(root.join("notes"), other.path().join("notes")).expect("moved");
            assert!(changes.recv_timeout(Duration::from_millis(600)).is_err());
        }
    }
}
