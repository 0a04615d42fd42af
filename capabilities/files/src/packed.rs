//! The status of a file, on the disk or in an archive.

use cap_std::fs::Metadata;
use sampan_host::sources::PackedFiles;
use std::time::UNIX_EPOCH;

/// The entry at a path.
pub(crate) struct FileStatus {
    /// `file`, `folder` or `other`.
    pub(crate) kind: &'static str,
    pub(crate) len: u64,
    /// Seconds since 1970; 0 in an archive, which keeps no times.
    pub(crate) modified: f64,
}

impl FileStatus {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().map_or(0.0, |time| {
            let since = time.into_std().duration_since(UNIX_EPOCH);
            since.unwrap_or_default().as_secs_f64()
        });
        Self {
            kind: match () {
                () if metadata.is_file() => "file",
                () if metadata.is_dir() => "folder",
                () => "other",
            },
            len: metadata.len(),
            modified,
        }
    }

    pub(crate) fn packed(files: &dyn PackedFiles, path: &str) -> Option<Self> {
        let file = files.open(path).map(|(_, len)| ("file", len));
        let folder = || files.names(path).map(|_| ("folder", 0));
        let (kind, len) = file.or_else(folder)?;
        Some(Self {
            kind,
            len,
            modified: 0.0,
        })
    }
}
