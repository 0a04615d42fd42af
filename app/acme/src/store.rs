//! Files that are replaced as a whole, and that their user alone can read.

use crate::settings::folder_of;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The rights of files.
const FILE_MODE: u32 = 0o600;
/// The rights of folders.
const FOLDER_MODE: u32 = 0o700;
/// The bytes that must be free before a certificate is ordered: one that cannot be kept counts against the limits of
/// its authority all the same.
const ROOM_BYTES: usize = 64 * 1024;
/// The ending of files that are being written.
const FRESH: &str = "fresh";

/// Makes a folder and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<(), String> {
    let made = DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder);
    made.map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

/// Puts a file that its user alone can read in place of the one before, and makes its folder. A reader sees the one or
/// the other, also after a crash.
///
/// # Errors
/// It cannot be written: a text for people, with its name.
pub fn put(file: &Path, contents: &[u8]) -> Result<(), String> {
    make_folder(folder_of(file))?;
    replace(file, contents)
}

/// Puts a file in place as [`put`], in a folder that is there.
pub(crate) fn replace(file: &Path, contents: &[u8]) -> Result<(), String> {
    let fresh = fresh_name(file);
    let written = write_new(&fresh, contents).and_then(|()| fs::rename(&fresh, file));
    if let Err(error) = written {
        let _ = fs::remove_file(&fresh);
        return Err(format!("cannot write {}: {error}", file.display()));
    }
    // The new name is on the disk with its folder. Some file systems cannot say so.
    if let Ok(folder) = File::open(folder_of(file)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

fn fresh_name(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.{FRESH}", std::process::id()));
    file.with_file_name(name)
}

fn write_new(file: &Path, contents: &[u8]) -> io::Result<()> {
    let _ = fs::remove_file(file);
    let mut options = OpenOptions::new();
    let mut opened = options
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(file)?;
    opened.write_all(contents)?;
    opened.sync_all()
}

/// Reads a file; `None` if there is none.
///
/// # Errors
/// It may be there, and cannot be read: a text for people, with its name.
pub(crate) fn read(file: &Path) -> Result<Option<Vec<u8>>, String> {
    match fs::read(file) {
        Ok(contents) => Ok(Some(contents)),
        // There is no file below something that is not a folder either.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(format!("cannot read {}: {error}", file.display())),
    }
}

/// Checks that a certificate could be written in place of `file`.
pub(crate) fn check_room(file: &Path) -> Result<(), String> {
    make_folder(folder_of(file))?;
    let probe = fresh_name(file);
    let written = write_new(&probe, &vec![b'\n'; ROOM_BYTES]);
    let _ = fs::remove_file(&probe);
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Removes a file that need not be there.
pub(crate) fn remove(file: &Path) {
    let _ = fs::remove_file(file);
}

/// Empties a folder of files.
pub(crate) fn clear(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.for_each(|entry| remove(&entry.path()));
}

/// Removes what a process that was killed has left half written.
pub(crate) fn clear_fresh(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let fresh = paths.filter(|path| path.extension().is_some_and(|end| end == FRESH));
    fresh.for_each(|path| remove(&path));
}

/// Takes the lock of a folder, which ends with the file or the process; `None` if another has it.
pub(crate) fn try_lock(file: &Path) -> Result<Option<File>, String> {
    make_folder(folder_of(file))?;
    let fault = |error: io::Error| lock_fault(file, &error);
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    let opened = options.mode(FILE_MODE).open(file).map_err(fault)?;
    match opened.try_lock() {
        Ok(()) => Ok(Some(opened)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(fault(error)),
    }
}

/// Reports whether a process has the lock of a folder. Makes nothing: the asker may be another user than the server.
pub(crate) fn is_locked(file: &Path) -> Result<bool, String> {
    let opened = match File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        opened => opened.map_err(|error| lock_fault(file, &error))?,
    };
    match opened.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(lock_fault(file, &error)),
    }
}

fn lock_fault(file: &Path, error: &io::Error) -> String {
    format!("cannot lock {}: {error}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_are_replaced_and_their_user_alone_reads_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a/b.pem");
        put(&file, b"one").expect("written");
        put(&file, b"two").expect("written");
        assert_eq!(fs::read(&file).expect("read"), b"two");
        let rights = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(rights(&file), 0o600);
        assert_eq!(rights(&folder.path().join("a")), 0o700);
        assert_eq!(
            fs::read_dir(folder.path().join("a")).expect("read").count(),
            1
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_a_missing_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.pem");
        assert_eq!(read(&file), Ok(None));
        put(&file, b"one").expect("written");
        assert_eq!(read(&file), Ok(Some(b"one".to_vec())));
        assert_eq!(read(&file.join("b.pem")), Ok(None));
        let fault = read(folder.path()).expect_err("a folder");
        let start = format!("cannot read {}: ", folder.path().display());
        assert!(fault.starts_with(&start), "{fault}");
    }

    #[test]
    fn one_has_the_lock() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("own/lock");
        assert!(!is_locked(&file).expect("asked"));
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 0);
        let first = try_lock(&file).expect("locked");
        assert!(first.is_some());
        assert!(is_locked(&file).expect("asked"));
        assert!(try_lock(&file).expect("asked").is_none());
        drop(first);
        assert!(!is_locked(&file).expect("asked"));
        assert!(try_lock(&file).expect("locked").is_some());
    }
}
