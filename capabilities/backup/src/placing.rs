//! The file of a restored database, before it has its name.

use crate::restore::RestoreFault;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Reports whether a database may be restored to this file.
pub(crate) fn check_place(to: &Path, replaces: bool) -> Result<(), String> {
    let shown = to.display();
    if to.is_dir() {
        return Err(format!("{shown} is a folder: name a file in it"));
    }
    if to.exists() && !to.is_file() {
        return Err(format!("{shown} is a device or a pipe: name a file"));
    }
    let folder = folder_of(to);
    if !folder.is_dir() {
        return Err(format!(
            "{shown}: there is no folder {}: create it",
            folder.display()
        ));
    }
    if to.exists() && !replaces {
        return Err(format!(
            "{shown} exists: name another file, or replace it with --force"
        ));
    }
    for ending in ["-wal", "-shm", "-journal"] {
        let other = beside(to, ending);
        if other.exists() {
            return Err(format!(
                "{} exists and would be taken for a part of the restored database: end what uses {shown}, and move \
                 both away",
                other.display()
            ));
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The database while it has not got its name; removed if it never gets one.
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    is_finished: bool,
}

impl Part {
    pub(crate) fn create(path: PathBuf) -> Result<Self, RestoreFault> {
        let mut options = OpenOptions::new();
        let made = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path);
        match made {
            Ok(file) => Ok(Self {
                path,
                file,
                is_finished: false,
            }),
            Err(error) => Err(RestoreFault::Failed(format!(
                "cannot create {}: {error}",
                path.display()
            ))),
        }
    }

    pub(crate) fn finish(mut self, to: &Path) -> Result<(), String> {
        let failed = |error| format!("cannot write {}: {error}", to.display());
        fs::rename(&self.path, to).map_err(failed)?;
        self.is_finished = true;
        let folder = File::open(folder_of(to)).and_then(|folder| folder.sync_all());
        folder.map_err(failed)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_finished {
            // The error that led here is the one to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}
