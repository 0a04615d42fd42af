//! The files of a build, and the form of their paths on the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files by their paths, ready to be packed.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// The canonical form of a path whose last part need not exist.
pub(super) fn canonical(path: &Path) -> Option<PathBuf> {
    if let Ok(whole) = path.canonicalize() {
        return Some(whole);
    }
    let parent = path.parent()?;
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    Some(parent.canonicalize().ok()?.join(path.file_name()?))
}
