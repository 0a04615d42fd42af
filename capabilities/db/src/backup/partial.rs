//! A copy or a dump while it is written.

use super::{fault, folder_of, with_ending};
use sampan_host::Error;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The number of times that another process may remove the file between two steps of creating it.
const ATTEMPTS_MAX: usize = 16;

/// A copy while it has not got its name; removed if it never gets one. It is locked for as long as it is written, so
/// that one which an interrupted process has left is told from one that another process writes.
pub struct PartialCopy {
    path: PathBuf,
    file: File,
    is_finished: bool,
}

impl PartialCopy {
    /// Creates an empty file beside the target, so that it can be renamed. As many users can read it as can read the
    /// database `source`.
    ///
    /// # Errors
    /// Another process makes the same copy, or the file cannot be created.
    pub fn create(to: &Path, source: &Path) -> Result<Self, Error> {
        let path = with_ending(to, ".part");
        let file = Self::created(&path)?;
        let part = Self {
            path,
            file,
            is_finished: false,
        };
        let mode = fs::metadata(source).map_or(0o600, |data| data.mode() & 0o777);
        let set = part.file.set_permissions(Permissions::from_mode(mode));
        set.map_err(|error| fault(format!("cannot create {}: {error}", part.path.display())))?;
        Ok(part)
    }

    /// Creates the file and locks it. A file of another process that has ended is removed first, and not reused: it may
    /// be open elsewhere.
    fn created(path: &Path) -> Result<File, Error> {
        let shown = path.display();
        let failed = |error: io::Error| fault(format!("cannot create {shown}: {error}"));
        for _ in 0..ATTEMPTS_MAX {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true).mode(0o600);
            match options.open(path) {
                Ok(file) if is_locked(&file, path)? => return Ok(file),
                // Another process took it for one that was left.
                Ok(_) => continue,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
            match fs::symlink_metadata(path) {
                Ok(data) if data.is_file() => {}
                Ok(_) => {
                    let text = format!("{shown} exists and is not a file: name another file");
                    return Err(fault(text));
                }
                Err(_) => continue,
            }
            let left = match File::open(path) {
                Ok(left) => left,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            if is_locked(&left, path)? {
                fs::remove_file(path).map_err(failed)?;
            }
        }
        Err(fault(format!(
            "{shown}: other processes make the same copy"
        )))
    }

    /// The file, to be written.
    pub fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn sync(&self) -> Result<(), Error> {
        let synced = self.file.sync_data();
        synced.map_err(|error| fault(format!("cannot write {}: {error}", self.path.display())))
    }

    /// Gives it its name, and makes that last. Returns its size.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub fn finish(mut self, to: &Path) -> Result<u64, Error> {
        let failed = |error| fault(format!("cannot write {}: {error}", to.display()));
        let bytes = self.file.metadata().map_err(failed)?.len();
        fs::rename(&self.path, to).map_err(failed)?;
        self.is_finished = true;
        File::open(folder_of(to))
            .and_then(|folder| folder.sync_all())
            .map_err(failed)?;
        Ok(bytes)
    }
}

impl Drop for PartialCopy {
    fn drop(&mut self) {
        if !self.is_finished {
            // The error that led here is the one to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Locks a file, and reports whether it still has its name then.
fn is_locked(file: &File, path: &Path) -> Result<bool, Error> {
    let shown = path.display();
    let failed = |error| fault(format!("cannot lock {shown}: {error}"));
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(fault(format!(
                "{shown} is being written: another backup to this file is being made"
            )));
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let own = file.metadata().map_err(failed)?;
    let named = fs::symlink_metadata(path);
    Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (own.dev(), own.ino())))
}
