//! The files of a folder that were asked for lately.
//!
//! A file is looked at again when it is asked for and the last look is longer ago than `check_millis`. Between two
//! looks its answers need no call of the system. A large file is kept open from one tick to the next, so that one that
//! was removed takes no room on the disk.

use super::folder::{Folder, Opened};
use super::made::MadeForms;
use super::paths::INDEX;
use super::stored::StoredFile;
use hashlink::LruCache;
use sampan_host::request::Coding;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

/// The most files that one cache keeps.
const ENTRIES_MAX: usize = 4096;

/// The most files that one cache keeps open at a time.
pub const OPEN_FILES_MAX: usize = 64;

/// The limits of a cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheLimits {
    /// The time that a file is believed to be what it was.
    pub(super) check_millis: u64,
    /// Larger files are not kept in memory.
    pub(super) file_bytes_max: u64,
    /// The total size of the files kept in memory may have together.
    pub(super) cache_bytes_max: usize,
    /// True if files without encoded forms are given some.
    pub(super) makes_forms: bool,
}

/// The entry at a path.
pub(super) enum Found {
    File(Rc<StoredFile>),
    /// A folder with an index file; the path has no slash at its end.
    Folder,
    Nothing,
}

/// Files that were asked for lately.
pub(super) struct FileCache {
    /// The extensions of the encoded forms that are looked for.
    siblings: &'static [(Coding, &'static str)],
    limits: CacheLimits,
    made: Option<MadeForms>,
    /// By the path that was asked for, which may be spelled in several ways.
    entries: RefCell<LruCache<Box<str>, Rc<StoredFile>>>,
    bytes: Cell<usize>,
    open_files: Cell<usize>,
    /// The keys of those that were opened since the last tick.
    opened: RefCell<Vec<Box<str>>>,
}

impl FileCache {
    /// A cache without files.
    pub(super) fn new(siblings: &'static [(Coding, &'static str)], limits: CacheLimits) -> Self {
        Self {
            siblings,
            limits,
            made: limits
                .makes_forms
                .then(|| MadeForms::new(limits.cache_bytes_max)),
            entries: RefCell::new(LruCache::new_unbounded()),
            bytes: Cell::new(0),
            open_files: Cell::new(0),
            opened: RefCell::default(),
        }
    }

    /// Finds the file at a path in a folder, which `key` stands for. `file` gives the path of the file that is meant,
    /// and is asked only where that is
    /// not known.
    ///
    /// # Errors
    /// It cannot be read at the moment.
    pub(super) fn find(
        &self,
        folder: &Folder,
        key: &str,
        now: u64,
        file: impl FnOnce() -> Option<String>,
    ) -> io::Result<Found> {
        if let Some(known) = self.known(folder, key, now) {
            return Ok(Found::File(known));
        }
        let Some(path) = file() else {
            return Ok(Found::Nothing);
        };
        let opened = match folder.find(&path)? {
            None => return Ok(Found::Nothing),
            Some(Opened::Folder) => {
                let index = format!("{path}/{INDEX}");
                let has_index = folder.stamp(&index).is_some();
                return Ok(if has_index {
                    Found::Folder
                } else {
                    Found::Nothing
                });
            }
            Some(Opened::File(opened)) => opened,
        };
        let most = self.limits.file_bytes_max;
        let mut loaded = StoredFile::load(folder, &path, opened, self.siblings, most, now)?;
        if let Some(made) = &self.made {
            made.complete(folder, &mut loaded, now)?;
        }
        let loaded = Rc::new(loaded);
        self.keep(key, &loaded);
        Ok(Found::File(loaded))
    }

    /// A file that is still what it was.
    fn known(&self, folder: &Folder, key: &str, now: u64) -> Option<Rc<StoredFile>> {
        let known = Rc::clone(self.entries.borrow_mut().get(key)?);
        let age = now.saturating_sub(known.checked.get());
        if age < self.limits.check_millis {
            return Some(known);
        }
        if known.is_unchanged(folder) {
            known.checked.set(now);
            return Some(known);
        }
        let gone = self.entries.borrow_mut().remove(key);
        self.count_out(gone.as_deref());
        None
    }

    /// Closes the files that are open; answers that have begun keep theirs.
    #[inline]
    pub(super) fn close_files(&self) {
        if self.open_files.get() == 0 {
            return;
        }
        let mut entries = self.entries.borrow_mut();
        for key in self.opened.take() {
            let closed = entries.remove(&key);
            self.count_out(closed.as_deref());
        }
    }

    /// Keeps a file in the place of those that were asked for longest ago. One that has no room by itself is not kept:
    /// all others would leave for it.
    fn keep(&self, key: &str, file: &Rc<StoredFile>) {
        let mut entries = self.entries.borrow_mut();
        let before = entries.remove(key);
        self.count_out(before.as_deref());
        if file.memory_bytes() > self.limits.cache_bytes_max {
            return;
        }
        if file.open_files() > 0 {
            self.opened.borrow_mut().push(key.into());
        }
        entries.insert(key.into(), Rc::clone(file));
        self.bytes.set(self.bytes.get() + file.memory_bytes());
        self.open_files
            .set(self.open_files.get() + file.open_files());
        while self.bytes.get() > self.limits.cache_bytes_max
            || self.open_files.get() > OPEN_FILES_MAX
            || entries.len() > ENTRIES_MAX
        {
            let Some((_, oldest)) = entries.remove_lru() else {
                return;
            };
            self.count_out(Some(&oldest));
        }
    }

    fn count_out(&self, file: Option<&StoredFile>) {
        if let Some(file) = file {
            self.bytes.set(self.bytes.get() - file.memory_bytes());
            self.open_files
                .set(self.open_files.get() - file.open_files());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stored::Content;
    use super::*;
    use sampan_project::media::SIBLINGS;
    use std::fs;
    use std::time::{Duration, SystemTime};

    const LIMITS: CacheLimits = CacheLimits {
        check_millis: 1000,
        file_bytes_max: 100,
        cache_bytes_max: 10_000,
        makes_forms: false,
    };

    fn cache(folder: &tempfile::TempDir) -> (Folder, FileCache) {
        let opened = Folder::open(folder.path()).expect("readable");
        let cache = FileCache::new(SIBLINGS, LIMITS);
        (opened.expect("a folder"), cache)
    }

    fn find((folder, cache): &(Folder, FileCache), path: &str, now: u64) -> Option<Rc<StoredFile>> {
        match cache.find(folder, path, now, || Some(path.to_owned())) {
            Ok(Found::File(file)) => Some(file),
            _ => None,
        }
    }

    fn text(file: &StoredFile) -> String {
        match &file.plain.content {
            Content::Memory(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Content::Open(part) => format!("{} bytes", part.len),
        }
    }

    #[test]
    fn changes_are_noticed_at_the_next_look() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.txt");
        let cache = cache(&folder);
        assert!(find(&cache, "a.txt", 0).is_none());
        fs::write(&path, "one").expect("written");
        let first = find(&cache, "a.txt", 0).expect("there");
        assert_eq!(text(&first), "one");
        fs::write(&path, "two").expect("written");
        assert_eq!(text(&find(&cache, "a.txt", 999).expect("known")), "one");
        let second = find(&cache, "a.txt", 1000).expect("there");
        assert_eq!(text(&second), "two");
        assert_ne!(first.plain.tag, second.plain.tag);
        // Touched, it is loaded again with the same tag.
        let file = fs::File::options().write(true).open(&path).expect("open");
        file.set_modified(SystemTime::now() + Duration::from_secs(5))
            .expect("set");
        let third = find(&cache, "a.txt", 2000).expect("there");
        assert_eq!(second.plain.tag, third.plain.tag);
        assert!(!Rc::ptr_eq(&second, &third));
        fs::remove_file(&path).expect("removed");
        assert!(find(&cache, "a.txt", 2999).is_some());
        assert!(find(&cache, "a.txt", 3000).is_none());
        assert_eq!((cache.1.bytes.get(), cache.1.open_files.get()), (0, 0));
    }

    #[test]
    fn encoded_forms_come_and_go_and_stale_ones_do_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let cache = cache(&folder);
        fs::write(at("a.css"), "plain").expect("written");
        fs::write(at("a.css.gz"), "zipped").expect("written");
        let file = find(&cache, "a.css", 0).expect("there");
        assert_eq!(file.encoded.len(), 1);
        assert!(file.encoded[0].1.tag.ends_with("-gz\""));
        fs::write(at("a.css.br"), "brotli").expect("written");
        assert_eq!(find(&cache, "a.css", 1000).expect("there").encoded.len(), 2);
        let later = SystemTime::now() + Duration::from_secs(60);
        let plain = fs::File::options()
            .write(true)
            .open(at("a.css"))
            .expect("open");
        plain.set_modified(later).expect("set");
        assert_eq!(find(&cache, "a.css", 2000).expect("there").encoded.len(), 0);
    }

    #[test]
    fn the_cache_keeps_to_its_limits() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = cache(&folder);
        for number in 0..200 {
            let name = format!("{number}.txt");
            let len = if number % 2 == 0 { 10 } else { 200 };
            fs::write(folder.path().join(&name), "x".repeat(len)).expect("written");
            let file = find(&cache, &name, 0).expect("there");
            assert_eq!(file.plain.content.len(), len as u64);
            assert!(cache.1.bytes.get() <= LIMITS.cache_bytes_max);
            assert!(cache.1.open_files.get() <= OPEN_FILES_MAX);
        }
        assert!(cache.1.entries.borrow().len() < 12);
        assert!(find(&cache, "0.txt", 0).is_some(), "it is loaded again");
    }

    #[test]
    fn a_file_that_is_larger_than_the_cache_leaves_the_others_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let limits = CacheLimits {
            file_bytes_max: 100_000,
            ..LIMITS
        };
        let opened = Folder::open(folder.path()).expect("readable");
        let cache = (opened.expect("a folder"), FileCache::new(SIBLINGS, limits));
        let write = |name: &str, len| {
            fs::write(folder.path().join(name), "x".repeat(len)).expect("written");
        };
        write("small", 10);
        write("grows", 10);
        let small = find(&cache, "small", 0).expect("there");
        let bytes = cache.1.bytes.get();
        find(&cache, "grows", 0).expect("there");
        write("grows", 6_000);
        for now in [1000, 1001] {
            let large = find(&cache, "grows", now).expect("there");
            assert_eq!(large.plain.content.len(), 6_000);
            let again = find(&cache, "small", now).expect("there");
            assert!(Rc::ptr_eq(&small, &again));
            assert_eq!(cache.1.bytes.get(), bytes);
        }
        assert_eq!(cache.1.entries.borrow().len(), 1);
    }

    #[test]
    fn large_files_are_closed_at_the_next_tick() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = cache(&folder);
        fs::write(folder.path().join("small"), "x").expect("written");
        fs::write(folder.path().join("large"), "x".repeat(200)).expect("written");
        let small = find(&cache, "small", 0).expect("there");
        let large = Rc::downgrade(&find(&cache, "large", 0).expect("there"));
        let again = find(&cache, "large", 0).expect("there");
        assert!(
            Rc::ptr_eq(&large.upgrade().expect("open"), &again),
            "requests of one moment share it"
        );
        fs::remove_file(folder.path().join("large")).expect("removed");
        drop(again);
        cache.1.close_files();
        assert!(large.upgrade().is_none(), "a removed file is closed");
        assert_eq!(cache.1.open_files.get(), 0);
        assert!(Rc::ptr_eq(&small, &find(&cache, "small", 0).expect("kept")));
    }
}
