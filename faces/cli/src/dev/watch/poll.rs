//! Watching where the system tells nothing: all files are looked at again and again, and compared with what they were.

use super::changes::{Changes, DEPTH_MAX, QUIET, SAVE_TIME_MAX, Watched, find};
use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// The interval at which the files are looked at.
pub(super) const PAUSE: Duration = Duration::from_millis(250);

/// The mark that tells a file from its predecessor: seconds alone would miss a second save, and a rename may keep the
/// time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    modified: (i64, i64),
    len: u64,
    inode: u64,
}

impl Mark {
    fn of(metadata: &Metadata) -> Self {
        Self {
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            len: metadata.len(),
            inode: metadata.ino(),
        }
    }
}

/// The files of a project as they were at one time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Files(HashMap<PathBuf, Mark>);

impl Files {
    pub(super) fn of(watched: &Watched) -> Self {
        let mut folders = Vec::new();
        find(watched, &watched.root, DEPTH_MAX, &mut folders);
        let mut files = HashMap::new();
        let mut add = |path: &Path| {
            if let Ok(metadata) = path.metadata()
                && metadata.is_file()
                && watched.meaning_of(path) != Changes::default()
            {
                files.insert(path.to_owned(), Mark::of(&metadata));
            }
        };
        for folder in folders {
            let entries = std::fs::read_dir(folder).into_iter().flatten();
            entries.flatten().for_each(|entry| add(&entry.path()));
        }
        watched.config.iter().for_each(|path| add(path));
        Self(files)
    }

    /// Sends the changes until the receiver is dropped.
    pub(super) fn follow(mut self, watched: &Watched, changes: &Sender<Changes>) {
        loop {
            std::thread::sleep(PAUSE);
            let mut now = Self::of(watched);
            if now == self {
                continue;
            }
            // A program may be in the middle of writing.
            let begun = Instant::now();
            while begun.elapsed() < SAVE_TIME_MAX {
                std::thread::sleep(QUIET);
                let later = Self::of(watched);
                if std::mem::replace(&mut now, later) == now {
                    break;
                }
            }
            let changed = now.since(&self, watched);
            self = now;
            if changed != Changes::default() && changes.send(changed).is_err() {
                return;
            }
        }
    }

    /// Returns the changes since then: files that are others, that came and that went.
    fn since(&self, before: &Self, watched: &Watched) -> Changes {
        let mut changes = Changes::default();
        for (path, mark) in &self.0 {
            if before.0.get(path) != Some(mark) {
                watched.add(&mut changes, path);
            }
        }
        for path in before.0.keys().filter(|path| !self.0.contains_key(*path)) {
            watched.add(&mut changes, path);
        }
        changes
    }
}
