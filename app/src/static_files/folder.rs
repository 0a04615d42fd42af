//! A folder of files, and no way out of it: neither by `..`, nor by a link, nor by one that is put there meanwhile.
//!
//! `cap-std` opens paths below a folder as the system's `openat2` does with `RESOLVE_BENEATH`. Links within the folder are followed.

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use std::fs::File;
use std::io;
use std::path::Path;

/// An open folder.
pub(super) struct Folder(Dir);

/// What changes when a file changes, or when another takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    number: u64,
    pub(super) len: u64,
    /// Seconds since 1970, and nanoseconds.
    pub(super) modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            number: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// What is at a path.
pub(super) enum Opened {
    File(File, Stamp),
    Folder,
}

impl Folder {
    /// Opens a folder. `None` if there is none.
    ///
    /// # Errors
    /// There is something else, or it may not be read.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(folder) => Ok(Some(Self(folder))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a folder below this one, out of which no link leads either. `None` if there is none.
    ///
    /// # Errors
    /// It is there but cannot be opened at the moment.
    pub(super) fn below(&self, path: &str) -> io::Result<Option<Self>> {
        match self.0.open_dir(path) {
            Ok(folder) => Ok(Some(Self(folder))),
            Err(error) if is_passing(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Opens what is at a path below the folder. `None` if there is nothing that can be served: a pipe or a device is
    /// opened without waiting for its other end, and refused.
    ///
    /// # Errors
    /// It is there but cannot be opened at the moment: the process has no file left, or the disk fails.
    pub(super) fn find(&self, path: &str) -> io::Result<Option<Opened>> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = match self.0.open_with(path, &options) {
            Ok(file) => file,
            Err(error) if is_passing(&error) => return Err(error),
            Err(_) => return Ok(None),
        };
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Ok(Some(Opened::Folder));
        }
        if !metadata.is_file() {
            return Ok(None);
        }
        Ok(Some(Opened::File(file.into_std(), Stamp::of(&metadata))))
    }

    /// What the file at a path looks like now.
    pub(super) fn stamp(&self, path: &str) -> Option<Stamp> {
        let metadata = self.0.metadata(path).ok()?;
        metadata.is_file().then(|| Stamp::of(&metadata))
    }
}

/// Whether an error says nothing about the path.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EIO | libc::EINTR)
    )
}
