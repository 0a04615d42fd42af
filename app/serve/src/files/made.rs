//! Encoded forms of files that have none beside them: each is made once, when the file is first asked for, and kept in
//! memory.

use super::folder::{Folder, Opened, Stamp};
use super::stored::{StoredFile, read};
use hashlink::LruCache;
use sampan_host::request::Coding;
use sampan_project::encoders::Encoders;
use sampan_project::media::is_text;
use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;

/// Smaller files gain less than a packet.
const FILE_BYTES_MIN: u64 = 1024;
/// Larger ones would keep the worker from its other requests for some 50 ms: `sampan build`, or a tool of the project,
/// encodes those.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// A form that was used a shorter time ago does not give way to another one, so that more files than there is room for
/// do not have every request compress one.
const KEPT_MILLIS_MIN: u64 = 60_000;
/// The codings that are tried. A client that takes zstd takes brotli too.
const CODINGS: [Coding; 2] = [Coding::Brotli, Coding::Gzip];

/// The encoded forms of a file. None where they would not be smaller.
type Forms = Vec<(Coding, Arc<[u8]>)>;

/// The forms that one worker has made.
pub(super) struct MadeForms {
    bytes_max: usize,
    bytes: Cell<usize>,
    /// By the path of the file.
    entries: RefCell<LruCache<Box<str>, Entry>>,
    encoders: RefCell<Encoders>,
}

struct Entry {
    stamp: Stamp,
    forms: Forms,
    used: u64,
}

impl Entry {
    fn bytes(&self) -> usize {
        /// The approximate cost of an entry beside its forms, about.
        const ENTRY_BYTES: usize = 256;
        let forms = self.forms.iter().map(|(_, form)| form.len());
        ENTRY_BYTES + forms.sum::<usize>()
    }
}

impl MadeForms {
    /// Room for forms of so many bytes together.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            bytes: Cell::new(0),
            entries: RefCell::new(LruCache::new_unbounded()),
            encoders: RefCell::default(),
        }
    }

    /// Gives a file that was just loaded its encoded forms, if it has none and is worth it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn complete(
        &self,
        folder: &Folder,
        file: &mut StoredFile,
        now: u64,
    ) -> io::Result<()> {
        let stamp = file.stamp();
        let fits = (FILE_BYTES_MIN..=FILE_BYTES_MAX).contains(&stamp.len);
        if !fits
            || !file.encoded.is_empty()
            // A file in an archive: what it gains by encoding was encoded when that was built.
            || stamp.modified.is_none()
            || !is_text(file.content_type.as_bytes())
        {
            return Ok(());
        }
        let path = file.path.clone();
        if let Some(known) = self.entries.borrow_mut().get_mut(&*path)
            && known.stamp == stamp
        {
            known.used = now;
            file.add_made(&known.forms);
            return Ok(());
        }
        self.forget(&path);
        if !self.make_room(now) {
            return Ok(());
        }
        let Some(Opened::File(opened)) = folder.find(&path)? else {
            return Ok(());
        };
        let plain = read(&opened.part)?;
        if opened.stamp != stamp || plain.len() as u64 != stamp.len {
            // It is being written: the next look sees what it has become.
            return Ok(());
        }
        let mut encoders = self.encoders.borrow_mut();
        let mut forms = Forms::new();
        for coding in CODINGS {
            let encoded = encoders.compress(coding, &plain);
            let smaller = encoded.filter(|encoded| encoded.len() < plain.len() / 10 * 9);
            forms.extend(smaller.map(|encoded| (coding, encoded.into())));
        }
        file.add_made(&forms);
        let entry = Entry {
            stamp,
            forms,
            used: now,
        };
        self.bytes.set(self.bytes.get() + entry.bytes());
        self.entries.borrow_mut().insert(path, entry);
        Ok(())
    }

    fn forget(&self, path: &str) {
        if let Some(gone) = self.entries.borrow_mut().remove(path) {
            self.bytes.set(self.bytes.get() - gone.bytes());
        }
    }

    /// Drops the forms that were used least recently until there is room. Reports whether there is.
    fn make_room(&self, now: u64) -> bool {
        let mut entries = self.entries.borrow_mut();
        while self.bytes.get() >= self.bytes_max {
            let oldest = entries.iter().next().map(|(_, oldest)| oldest.used);
            if oldest.is_none_or(|used| now.saturating_sub(used) < KEPT_MILLIS_MIN) {
                return false;
            }
            if let Some((_, gone)) = entries.remove_lru() {
                self.bytes.set(self.bytes.get() - gone.bytes());
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_project::media::SIBLINGS;

    const TEXT: &str = "all work and no play makes jack a dull boy. ";

    /// Returns the number of encoded forms that a file has when it is loaded.
    fn forms(made: &MadeForms, folder: &Folder, name: &str, now: u64) -> usize {
        let Ok(Some(Opened::File(opened))) = folder.find(name) else {
            panic!("{name} is not there");
        };
        let mut file =
            StoredFile::load(folder, name, opened, SIBLINGS, 64 * 1024, now).expect("readable");
        made.complete(folder, &mut file, now).expect("readable");
        file.encoded.len()
    }

    #[test]
    fn forms_are_made_once_for_each_content() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(scratch.path()).expect("readable");
        let folder = folder.expect("a folder");
        let write = |text: &str| std::fs::write(scratch.path().join("a.txt"), text);
        let made = MadeForms::new(1024 * 1024);
        write(&TEXT.repeat(100)).expect("written");
        assert_eq!(forms(&made, &folder, "a.txt", 0), 2);
        let bytes = made.bytes.get();
        assert_eq!(forms(&made, &folder, "a.txt", 1), 2);
        assert_eq!(made.bytes.get(), bytes);
        write(&TEXT.repeat(10_000)).expect("written");
        assert_eq!(forms(&made, &folder, "a.txt", 2), 2);
        assert!(made.bytes.get() > bytes && made.entries.borrow().len() == 1);
        for (text, expected) in [(TEXT.to_owned(), 0), (TEXT.repeat(30_000), 0)] {
            write(&text).expect("written");
            assert_eq!(forms(&made, &folder, "a.txt", 3), expected);
        }
    }

    #[test]
    fn a_full_cache_makes_no_form_until_one_was_not_used_for_a_time() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(scratch.path()).expect("readable");
        let folder = folder.expect("a folder");
        for name in ["a.txt", "b.txt", "c.txt"] {
            std::fs::write(scratch.path().join(name), TEXT.repeat(100)).expect("written");
        }
        let made = MadeForms::new(500);
        assert_eq!(forms(&made, &folder, "a.txt", 0), 2);
        assert_eq!(forms(&made, &folder, "b.txt", 0), 2);
        assert_eq!(forms(&made, &folder, "c.txt", 1_000), 0);
        assert_eq!(forms(&made, &folder, "a.txt", 30_000), 2);
        assert_eq!(forms(&made, &folder, "c.txt", KEPT_MILLIS_MIN), 2);
        assert_eq!(forms(&made, &folder, "b.txt", KEPT_MILLIS_MIN), 0);
        assert_eq!(forms(&made, &folder, "a.txt", KEPT_MILLIS_MIN), 2);
    }
}
