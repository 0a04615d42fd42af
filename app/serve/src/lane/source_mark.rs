//! The marks of sources: by them a server knows that the code of a route is not that which was measured.

use sampan_host::{Place, Sources};
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The beginning of the SHA-256 of the file that declares a route, or of the marks of two files where its handler is in
/// another. As text it has 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceMark(pub(super) u64);

impl SourceMark {
    /// The mark of a source that cannot be read. It agrees with all others.
    pub const UNKNOWN: Self = Self(0);

    fn of(text: &[u8]) -> Self {
        let digest = Sha256::digest(text);
        let first = digest.iter().take(8);
        Self(first.fold(0, |mark, byte| (mark << 8) | u64::from(*byte)))
    }

    /// Returns the mark of a route with two files. One that cannot be read does not count.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (mark, Self::UNKNOWN) | (Self::UNKNOWN, mark) => mark,
            _ => Self::of(&[self.0.to_be_bytes(), other.0.to_be_bytes()].concat()),
        }
    }

    /// Reads the text of a mark.
    pub fn parse(text: &str) -> Option<Self> {
        let is_mark = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let mark = is_mark.then(|| u64::from_str_radix(text, 16))?;
        mark.ok().map(Self)
    }

    /// Reports whether both may be of the same source.
    pub fn agrees_with(self, other: Self) -> bool {
        self == other || self == Self::UNKNOWN || other == Self::UNKNOWN
    }
}

impl fmt::Display for SourceMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Finds the marks of a project's files, and reads each file once.
pub struct SourceMarks {
    sources: Arc<dyn Sources>,
    known: RefCell<HashMap<String, SourceMark>>,
}

impl SourceMarks {
    /// Creates the marks of a project that is about to be loaded.
    pub fn new(sources: Arc<dyn Sources>) -> Self {
        Self {
            sources,
            known: RefCell::default(),
        }
    }

    /// Returns the mark of a route by the place of its declaration and the file of its handler.
    pub fn of(&self, place: Option<&Place>, handler_file: Option<&str>) -> SourceMark {
        let declared = place.map(|place| place.file.as_str());
        let other = handler_file.filter(|file| Some(*file) != declared);
        let mark = |file: Option<&str>| file.map_or(SourceMark::UNKNOWN, |file| self.of_file(file));
        mark(declared).with(mark(other))
    }

    fn of_file(&self, file: &str) -> SourceMark {
        if let Some(mark) = self.known.borrow().get(file) {
            return *mark;
        }
        let text = self.sources.read(file);
        let mark = text.map_or(SourceMark::UNKNOWN, |text| SourceMark::of(&text));
        self.known.borrow_mut().insert(file.to_owned(), mark);
        mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[derive(Default)]
    struct OneFile(AtomicUsize);

    impl Sources for OneFile {
        fn read(&self, path: &str) -> Option<Vec<u8>> {
            self.0.fetch_add(1, Relaxed);
            (path == "app.lua").then(|| b"abc".to_vec())
        }
    }

    fn place(file: &str, line: u32) -> Place {
        Place {
            file: file.to_owned(),
            line,
        }
    }

    #[test]
    fn each_file_is_read_once_and_its_mark_begins_its_sha_256() {
        let sources = Arc::new(OneFile::default());
        let marks = SourceMarks::new(Arc::clone(&sources) as Arc<dyn Sources>);
        for line in 1..4 {
            let mark = marks.of(Some(&place("app.lua", line)), Some("app.lua"));
            assert_eq!(mark.to_string(), "ba7816bf8f01cfea");
            assert_eq!(SourceMark::parse(&mark.to_string()), Some(mark));
        }
        assert_eq!(sources.0.load(Relaxed), 1);
        assert_eq!(marks.of(None, None), SourceMark::UNKNOWN);
        assert_eq!(
            marks.of(Some(&place("none.lua", 1)), None),
            SourceMark::UNKNOWN
        );
    }

    #[test]
    fn a_handler_in_another_file_counts_where_that_can_be_read() {
        struct TwoFiles(&'static [u8]);
        impl Sources for TwoFiles {
            fn read(&self, path: &str) -> Option<Vec<u8>> {
                match path {
                    "app.lua" => Some(b"abc".to_vec()),
                    "pages.lua" => Some(self.0.to_vec()),
                    _ => None,
                }
            }
        }
        let app = place("app.lua", 1);
        let mark = |text, file| SourceMarks::new(Arc::new(TwoFiles(text))).of(Some(&app), file);
        let alone = mark(b"1", None);
        assert_eq!(alone.to_string(), "ba7816bf8f01cfea");
        assert_eq!(mark(b"1", Some("none.lua")), alone);
        let both = mark(b"1", Some("pages.lua"));
        assert!(both != alone && both == mark(b"1", Some("pages.lua")));
        assert_ne!(both, mark(b"2", Some("pages.lua")));
    }

    #[test]
    fn an_unknown_source_agrees_with_all_and_no_other_text_is_a_mark() {
        let (one, other) = (SourceMark(1), SourceMark(2));
        assert!(one.agrees_with(one) && !one.agrees_with(other));
        assert!(one.agrees_with(SourceMark::UNKNOWN) && SourceMark::UNKNOWN.agrees_with(other));
        for text in [
            "",
            "1",
            "+000000000000001",
            "00000000000000001",
            "000000000000000g",
        ] {
            assert_eq!(SourceMark::parse(text), None, "{text}");
        }
    }
}
