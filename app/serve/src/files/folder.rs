//! A folder of files, and no way out of it: neither by `..`, nor by a link, nor by one that is put there meanwhile.
//!
//! `cap-std` opens paths below a folder as the system's `openat2` does with `RESOLVE_BENEATH`. Links within the folder
//! are followed. A folder in an archive has no links.

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use sampan_http::FilePart;
use sampan_project::archive::Archive;
use sampan_project::archive::format::Checksum;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// An open folder.
pub(super) enum Folder {
    Disk(Dir),
    /// One in an archive, by its path there, which is empty for all of it.
    Packed(Arc<Archive>, String),
}

/// The metadata that changes when a file changes, or when another takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    number: u64,
    pub(super) len: u64,
    /// Seconds since 1970, and nanoseconds. Archives keep no times.
    pub(super) modified: Option<(i64, i64)>,
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            number: metadata.ino(),
            len: metadata.len(),
            modified: Some((metadata.mtime(), metadata.mtime_nsec())),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The result of opening a path.
pub(super) enum Opened {
    File(OpenedFile),
    Folder,
}

/// A file that can be read.
pub(super) struct OpenedFile {
    pub(super) part: FilePart,
    pub(super) stamp: Stamp,
    /// The checksum of its content, where that is known without reading it.
    pub(super) checksum: Option<Checksum>,
}

impl Folder {
    /// Opens a folder. `None` if there is none.
    ///
    /// # Errors
    /// There is something else, or it may not be read.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(folder) => Ok(Some(Self::Disk(folder))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A folder in an archive. `None` if there is none.
    pub(super) fn packed(archive: &Arc<Archive>, path: &str) -> Option<Self> {
        archive.below(path).next()?;
        Some(Self::Packed(Arc::clone(archive), path.to_owned()))
    }

    /// Opens a folder below this one, out of which no link leads either. `None` if there is none.
    ///
    /// # Errors
    /// It is there but cannot be opened at the moment.
    pub(super) fn below(&self, path: &str) -> io::Result<Option<Self>> {
        let disk = match self {
            Self::Disk(disk) => disk,
            Self::Packed(archive, folder) => return Ok(Self::packed(archive, &join(folder, path))),
        };
        match disk.open_dir(path) {
            Ok(folder) => Ok(Some(Self::Disk(folder))),
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
        let disk = match self {
            Self::Disk(disk) => disk,
            Self::Packed(archive, folder) => return Ok(find_packed(archive, &join(folder, path))),
        };
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = match disk.open_with(path, &options) {
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
        let stamp = Stamp::of(&metadata);
        Ok(Some(Opened::File(OpenedFile {
            part: FilePart {
                file: Arc::new(file.into_std()),
                start: 0,
                len: stamp.len,
            },
            stamp,
            checksum: None,
        })))
    }

    /// Returns the current stamp of the file at a path.
    pub(super) fn stamp(&self, path: &str) -> Option<Stamp> {
        match self {
            Self::Disk(disk) => {
                let metadata = disk.metadata(path).ok()?;
                metadata.is_file().then(|| Stamp::of(&metadata))
            }
            Self::Packed(archive, folder) => match find_packed(archive, &join(folder, path))? {
                Opened::File(file) => Some(file.stamp),
                Opened::Folder => None,
            },
        }
    }
}

fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() || path.is_empty() {
        return format!("{folder}{path}");
    }
    format!("{folder}/{path}")
}

fn find_packed(archive: &Archive, path: &str) -> Option<Opened> {
    let Some(file) = archive.file(path) else {
        return archive.below(path).next().map(|_| Opened::Folder);
    };
    Some(Opened::File(OpenedFile {
        part: FilePart {
            file: Arc::clone(archive.executable()),
            start: file.start,
            len: file.len,
        },
        stamp: Stamp {
            device: 0,
            number: file.start,
            len: file.len,
            modified: None,
            changed: (0, 0),
        },
        checksum: Some(file.checksum),
    }))
}

/// Reports whether an error says nothing about the path.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EIO | libc::EINTR)
    )
}
