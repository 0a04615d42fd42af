//! The files that a generation of the project was loaded from, and whether they are still the same.

use sampan_host::Sources;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The number of files that are remembered.
const FILES_MAX: usize = 10_000;
/// The size of the kept texts, in bytes. Later files are read from the disk each time.
const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A file that was changed less than this before it was read may have been changed again without a difference in its
/// times.
const YOUNG: Duration = Duration::from_millis(100);

/// Notes each file that is read through it.
pub(crate) struct SeenFiles {
    root: PathBuf,
    sources: Arc<dyn Sources>,
    seen: Mutex<HashMap<String, Seen>>,
    /// The files that were read, so that an isolate that loads later loads the same.
    kept: Mutex<Kept>,
    /// True if missing files are noted too: while the project loads, it may be for lack of one that it fails.
    notes_missing: AtomicBool,
}

/// The files read for a generation: the first answer to each question. `None` stands for what was not there.
#[derive(Default)]
struct Kept {
    texts: HashMap<String, Option<Vec<u8>>>,
    found: HashMap<String, Option<String>>,
    bytes: usize,
}

/// A file as it was.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    stamp: Option<Stamp>,
    /// Of its bytes; nothing if it was not there.
    hash: Option<u64>,
}

/// The metadata of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    id: (u64, u64),
    len: u64,
    changed: (i64, i64),
    is_young: bool,
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        let age = file.modified().ok().and_then(|time| {
            // A time in the future counts as young.
            SystemTime::now().duration_since(time).ok()
        });
        Some(Self {
            id: (file.dev(), file.ino()),
            len: file.len(),
            // The time of the last change of the file or its name, which no program can set.
            changed: (file.ctime(), file.ctime_nsec()),
            is_young: age.is_none_or(|age| age < YOUNG),
        })
    }
}

impl SeenFiles {
    /// The files of `sources`, which lie in `root`.
    pub(crate) fn new(root: &Path, sources: Arc<dyn Sources>) -> Self {
        Self {
            root: root.to_owned(),
            sources,
            seen: Mutex::default(),
            kept: Mutex::default(),
            notes_missing: AtomicBool::new(true),
        }
    }

    /// Returns the same files, none of them read yet.
    pub(crate) fn anew(&self) -> Self {
        Self::new(&self.root, Arc::clone(&self.sources))
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<String, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports whether it is noted that a file is there, or that it is not.
    fn notes(&self, is_there: bool) -> bool {
        is_there || self.notes_missing.load(Ordering::Relaxed)
    }

    fn note(&self, path: &str, it: Seen) {
        let is_noted = self.notes(it.hash.is_some());
        let mut seen = self.seen();
        if is_noted && (seen.len() < FILES_MAX || seen.contains_key(path)) {
            // Where it was read twice while it changed, the first text counts, so that the next look finds a
            // difference.
            seen.entry(path.to_owned()).or_insert(it);
        }
    }

    /// The project is loaded: files that are missing do not matter.
    pub(crate) fn is_loaded(&self) {
        self.notes_missing.store(false, Ordering::Relaxed);
        self.seen().retain(|_, seen| seen.hash.is_some());
        let mut kept = self.kept();
        kept.texts.retain(|_, text| text.is_some());
        kept.found.retain(|_, found| found.is_some());
    }

    /// The project is loaded, in one isolate: what that one did not find is not there for the others either, and should
    /// it come that is a change. What is missing from now on does not matter.
    pub(crate) fn keep_missing(&self) {
        self.notes_missing.store(false, Ordering::Relaxed);
    }

    /// Another generation of the project did not load: nothing is tried again until one of its files has changed too.
    pub(crate) fn wait_for_change_of(&self, failed: &Self) {
        let mut seen = self.seen();
        seen.extend(failed.seen().drain());
    }

    /// Reports whether one of the files has changed.
    pub(crate) fn have_changed(&self) -> bool {
        let mut seen = self.seen();
        let mut files = seen.iter_mut();
        files.any(|(path, seen)| {
            let stamp = Stamp::of(&self.root.join(path));
            if stamp == seen.stamp && stamp.is_none_or(|stamp| !stamp.is_young) {
                return false;
            }
            if self.sources.read(path).map(|bytes| hash(&bytes)) != seen.hash {
                return true;
            }
            seen.stamp = stamp;
            false
        })
    }

    /// Waits until the files are no longer written to: an editor may empty one before it fills it.
    pub(crate) fn wait_for_quiet(&self) {
        const PAUSE: Duration = Duration::from_millis(10);
        const PAUSES_MAX: usize = 10;
        let paths: Vec<PathBuf> = self
            .seen()
            .keys()
            .map(|path| self.root.join(path))
            .collect();
        let look = || {
            let stamps = paths.iter().map(|path| Stamp::of(path));
            let stamps = stamps.map(|stamp| stamp.map(|it| (it.id, it.len, it.changed)));
            stamps.collect::<Vec<_>>()
        };
        let mut before = look();
        for _ in 0..PAUSES_MAX {
            std::thread::sleep(PAUSE);
            let now = look();
            if now == before {
                return;
            }
            before = now;
        }
    }
}

impl Sources for SeenFiles {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        if let Some(text) = self.kept().texts.get(path) {
            return text.clone();
        }
        // Before it is read: what is written later makes a difference then.
        let stamp = Stamp::of(&self.root.join(path));
        let bytes = self.sources.read(path);
        let mut kept = self.kept();
        // Another isolate may have read it at the same time.
        if let Some(text) = kept.texts.get(path) {
            return text.clone();
        }
        let hash = bytes.as_deref().map(hash);
        self.note(path, Seen { stamp, hash });
        let size = kept.bytes + bytes.as_ref().map_or(0, Vec::len);
        if self.notes(bytes.is_some()) && kept.texts.len() < FILES_MAX && size <= KEPT_BYTES_MAX {
            kept.bytes = size;
            kept.texts.insert(path.to_owned(), bytes.clone());
        }
        bytes
    }

    fn find(&self, path: &str) -> Option<String> {
        if let Some(found) = self.kept().found.get(path) {
            return found.clone();
        }
        let found = self.sources.find(path);
        let mut kept = self.kept();
        if let Some(found) = kept.found.get(path) {
            return found.clone();
        }
        if found.is_none() {
            let (stamp, hash) = (None, None);
            self.note(path, Seen { stamp, hash });
        }
        if self.notes(found.is_some()) && kept.found.len() < FILES_MAX {
            kept.found.insert(path.to_owned(), found.clone());
        }
        found
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.sources.list(folder)
    }

    fn names_in(&self, folder: &str) -> Vec<String> {
        self.sources.names_in(folder)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_project::Project;
    use std::fs;

    #[test]
    fn a_change_of_a_file_that_was_read_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
        write("app.lua", "1").expect("written");
        write("other.lua", "1").expect("written");
        let project = Project::find(folder.path()).expect("a project");
        let seen = SeenFiles::new(project.root(), project.sources());
        assert_eq!(seen.read("app.lua").as_deref(), Some(&b"1"[..]));
        assert!(seen.read("later.lua").is_none());
        assert!(!seen.have_changed());
        write("other.lua", "2").expect("written");
        assert!(!seen.have_changed(), "no script has read it");
        // In the same tick of the clock, with the same length.
        write("app.lua", "2").expect("written");
        assert!(seen.have_changed());
        write("app.lua", "1").expect("written");
        assert!(!seen.have_changed(), "it is as it was");
        write("later.lua", "1").expect("written");
        assert!(seen.have_changed());
        seen.is_loaded();
        assert!(!seen.have_changed());
        fs::remove_file(folder.path().join("app.lua")).expect("removed");
        assert!(seen.have_changed());
    }

    #[test]
    fn what_failed_is_not_tried_again_before_it_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
        write("app.lua", "1").expect("written");
        let project = Project::find(folder.path()).expect("a project");
        let seen = SeenFiles::new(project.root(), project.sources());
        seen.read("app.lua");
        seen.is_loaded();
        write("app.lua", "2").expect("written");
        let failed = seen.anew();
        failed.read("app.lua");
        failed.read("missing.lua");
        seen.wait_for_change_of(&failed);
        assert!(!seen.have_changed());
        write("missing.lua", "1").expect("written");
        assert!(seen.have_changed());
    }
}
