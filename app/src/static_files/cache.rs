//! The files of a folder that were asked for lately.
//!
//! A file is looked at again when it is asked for and the last look is longer ago than `check_millis`. Between two looks its answers
//! need no call of the system.

use super::folder::{Folder, Opened};
use super::paths::INDEX;
use super::stored::StoredFile;
use hashlink::LruCache;
use sampan_host::request::Coding;
use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;
use std::rc::Rc;

/// The most files that one cache keeps.
const ENTRIES_MAX: usize = 4096;

/// The most files that one cache keeps open.
pub(crate) const OPEN_FILES_MAX: usize = 64;

/// What a cache may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheLimits {
    /// How long a file is believed to be what it was.
    pub(super) check_millis: u64,
    /// Larger files are not kept in memory.
    pub(super) file_bytes_max: u64,
    /// What all that are kept in memory may have together.
    pub(super) cache_bytes_max: usize,
}

/// What is at a path.
pub(super) enum Found {
    File(Rc<StoredFile>),
    /// A folder with an index file; the path has no slash at its end.
    Folder,
    Nothing,
}

/// A folder, and the files in it that were asked for lately.
pub(super) struct FileCache {
    folder: Folder,
    /// The extensions of the encoded forms that are looked for.
    siblings: &'static [(Coding, &'static str)],
    limits: CacheLimits,
    /// By the path that was asked for, which may be spelled in several ways.
    entries: RefCell<LruCache<Box<str>, Rc<StoredFile>>>,
    bytes: Cell<usize>,
    open_files: Cell<usize>,
}

impl FileCache {
    /// The files of the folder at `path`. `None` if there is no folder.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn open(
        path: &Path,
        siblings: &'static [(Coding, &'static str)],
        limits: CacheLimits,
    ) -> io::Result<Option<Self>> {
        Ok(Folder::open(path)?.map(|folder| Self {
            folder,
            siblings,
            limits,
            entries: RefCell::new(LruCache::new_unbounded()),
            bytes: Cell::new(0),
            open_files: Cell::new(0),
        }))
    }

    /// What is at a path, which `key` stands for. `file` gives the path of the file that is meant, and is asked only where that is not known.
    ///
    /// # Errors
    /// It cannot be read at the moment.
    pub(super) fn find(
        &self,
        key: &str,
        now: u64,
        file: impl FnOnce() -> Option<String>,
    ) -> io::Result<Found> {
        if let Some(known) = self.known(key, now) {
            return Ok(Found::File(known));
        }
        let Some(path) = file() else {
            return Ok(Found::Nothing);
        };
        let opened = match self.folder.find(&path)? {
            None => return Ok(Found::Nothing),
            Some(Opened::Folder) => {
                let index = format!("{path}/{INDEX}");
                let has_index = self.folder.stamp(&index).is_some();
                return Ok(if has_index {
                    Found::Folder
                } else {
                    Found::Nothing
                });
            }
            Some(Opened::File(file, stamp)) => (file, stamp),
        };
        let most = self.limits.file_bytes_max;
        let loaded = StoredFile::load(&self.folder, &path, opened, self.siblings, most, now)?;
        let loaded = Rc::new(loaded);
        self.keep(key, &loaded);
        Ok(Found::File(loaded))
    }

    /// A file that is still what it was.
    fn known(&self, key: &str, now: u64) -> Option<Rc<StoredFile>> {
        let known = Rc::clone(self.entries.borrow_mut().get(key)?);
        let age = now.saturating_sub(known.checked.get());
        if age < self.limits.check_millis {
            return Some(known);
        }
        if known.is_unchanged(&self.folder) {
            known.checked.set(now);
            return Some(known);
        }
        let gone = self.entries.borrow_mut().remove(key);
        self.count_out(gone.as_deref());
        None
    }

    fn keep(&self, key: &str, file: &Rc<StoredFile>) {
        let mut entries = self.entries.borrow_mut();
        let before = entries.insert(key.into(), Rc::clone(file));
        self.count_out(before.as_deref());
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
    use super::super::stored::{Content, SIBLINGS};
    use super::*;
    use std::fs;
    use std::time::{Duration, SystemTime};

    const LIMITS: CacheLimits = CacheLimits {
        check_millis: 1000,
        file_bytes_max: 100,
        cache_bytes_max: 10_000,
    };

    fn cache(folder: &tempfile::TempDir) -> FileCache {
        let cache = FileCache::open(folder.path(), SIBLINGS, LIMITS).expect("readable");
        cache.expect("a folder")
    }

    fn find(cache: &FileCache, path: &str, now: u64) -> Option<Rc<StoredFile>> {
        match cache.find(path, now, || Some(path.to_owned())) {
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
        assert_eq!((cache.bytes.get(), cache.open_files.get()), (0, 0));
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
            assert!(cache.bytes.get() <= LIMITS.cache_bytes_max);
            assert!(cache.open_files.get() <= OPEN_FILES_MAX);
        }
        assert!(cache.entries.borrow().len() < 12);
        assert!(find(&cache, "0.txt", 0).is_some(), "it is loaded again");
    }
}
