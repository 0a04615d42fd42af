//! The executable that a project is appended to: this program, or another one of Sampan.

use crate::archive::THIS_PROGRAM;
use crate::archive::format::{Appended, Checksum, appended, checksum};
use std::fs::File;
use std::path::Path;

/// The mark in front of the version in each executable of Sampan. The digit is the version of the archives that it
/// reads.
const MARK_BEGIN: &[u8] = b"\x01sampan executable, archives 1, version ";
const MARK_END: u8 = b'\n';
/// The maximum length of the version in a mark.
const VERSION_BYTES_MAX: usize = 64;

/// The mark of this program.
#[used]
static MARK: &str = concat!(
    "\u{1}sampan executable, archives 1, version ",
    env!("CARGO_PKG_VERSION"),
    "\n"
);

/// An executable without an archive.
pub(super) struct Base {
    bytes: Vec<u8>,
    pub(super) version: String,
    pub(super) checksum: Checksum,
}

impl Base {
    /// Reads the executable at `path`, or this program. An archive behind it is left off.
    ///
    /// # Errors
    /// It is none of Sampan, or cannot be read.
    pub(super) fn open(path: Option<&Path>) -> Result<Self, String> {
        let shown = match path {
            Some(path) => format!("--target {}", path.display()),
            None => "this program".to_owned(),
        };
        let path = path.unwrap_or(Path::new(THIS_PROGRAM));
        let unreadable = |error| format!("{shown}: cannot be read: {error}");
        let file = File::open(path).map_err(unreadable)?;
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(format!("{shown} is no file: name an executable of Sampan"));
        }
        let behind = appended(&file).map_err(unreadable)?;
        let mut bytes = std::fs::read(path).map_err(unreadable)?;
        match behind {
            None => {
                return Err(format!(
                    "{shown} is no executable for Linux with 64 bits: name one of Sampan"
                ));
            }
            Some(Appended::Nothing) => {}
            Some(Appended::Archive(trailer)) => bytes.truncate(trailer.archive_start as usize),
            Some(Appended::Other(len)) => {
                return Err(format!(
                    "{shown} is damaged: behind the executable are {len} bytes that are no complete archive"
                ));
            }
        }
        let version = version_in(&bytes).ok_or_else(|| {
            format!(
                "{shown} is no executable of Sampan that takes a project: name one of version {} or newer",
                crate::VERSION
            )
        })?;
        Ok(Self {
            checksum: checksum(&bytes),
            version,
            bytes,
        })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// The version that the mark in an executable tells.
fn version_in(executable: &[u8]) -> Option<String> {
    let marks = memchr::memmem::find_iter(executable, MARK_BEGIN);
    let versions = marks.filter_map(|at| {
        let rest = &executable[at + MARK_BEGIN.len()..];
        let end = rest
            .iter()
            .take(VERSION_BYTES_MAX)
            .position(|byte| *byte == MARK_END)?;
        let version = std::str::from_utf8(&rest[..end]).ok()?;
        let is_version = version.starts_with(|c: char| c.is_ascii_digit());
        is_version.then(|| version.to_owned())
    });
    // The beginning alone also stands where this code looks for it.
    let mut versions = versions;
    versions.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_its_mark() {
        let base = Base::open(None).expect("this program is one of Sampan's");
        assert_eq!(base.version, crate::VERSION);
        assert!(MARK.as_bytes().starts_with(MARK_BEGIN));
        assert_eq!(base.len(), base.bytes().len() as u64);
    }

    #[test]
    fn other_files_are_refused() {
        let fault = |path: &str| {
            let base = Base::open(Some(Path::new(path)));
            base.err().expect("none of Sampan's")
        };
        assert!(
            fault("/bin/sh").contains("is no executable of Sampan"),
            "{}",
            fault("/bin/sh")
        );
        assert!(fault("Cargo.toml").contains("no executable for Linux"));
        assert!(fault("/no/such/file").contains("cannot be read"));
        assert!(fault("/").contains("is no file"));
    }
}
