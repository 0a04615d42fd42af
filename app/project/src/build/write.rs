//! Writes the executable: beside its place under another name first, so that half of it is never seen.

use super::base::Base;
use super::files::Files;
use super::files::canonical;
use crate::archive::format::{Appended, Checksum, Index, IndexedFile, Trailer};
use crate::archive::format::{appended, checksum, hex};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The target of a build.
pub(super) struct Output {
    path: PathBuf,
    /// The path as the user named it.
    shown: String,
}

/// The files that were written.
pub(super) struct Written {
    pub(super) bytes: u64,
}

/// The file under its name for the time of writing; removed unless it is complete.
struct Unfinished {
    path: PathBuf,
    is_complete: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.is_complete {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Output {
    /// The place that a path names.
    ///
    /// # Errors
    /// No file can be there, or one is there that `sampan build` has not made, and `force` does not allow to replace
    /// it.
    pub(super) fn at(path: &Path, force: bool) -> Result<Self, String> {
        let shown = path.display().to_string();
        if path.is_dir() {
            return Err(format!("-o {shown} is a folder: name the file to write"));
        }
        if path.exists() && !path.is_file() {
            return Err(format!("-o {shown} is no file that can be replaced"));
        }
        if !force && !may_be_replaced(path) {
            return Err(format!(
                "-o {shown} exists, and is no executable that sampan build has made: name another file, or replace it \
                 with --force"
            ));
        }
        match canonical(path) {
            Some(path) => Ok(Self { path, shown }),
            None => Err(format!("-o {shown}: there is no such folder")),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses to write over a file of the project: one of its folder that `sampan build` has not made, or one that is
    /// `packed`.
    ///
    /// # Errors
    /// Which file that is.
    pub(super) fn check_outside<'a>(
        &self,
        root: &Path,
        mut packed: impl Iterator<Item = &'a String>,
    ) -> Result<(), String> {
        let is_own = self.path.starts_with(root) && !may_be_replaced(&self.path)
            || packed.any(|path| canonical(&root.join(path)).as_ref() == Some(&self.path));
        match is_own {
            true => Err(format!(
                "-o {} is a file of the project: name another file",
                self.shown
            )),
            false => Ok(()),
        }
    }

    /// Writes the executable and the archive, has them on the disk, and gives them their name.
    ///
    /// # Errors
    /// Why that cannot be. There is what was there before, then.
    pub(super) fn write(
        &self,
        base: &Base,
        entry: &str,
        files: &Files,
        links: BTreeMap<String, String>,
    ) -> Result<Written, String> {
        let fault = |error: io::Error| {
            let why = match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "the disk is full".to_owned()
                }
                io::ErrorKind::FileTooLarge => "the system allows no larger file".to_owned(),
                _ => error.to_string(),
            };
            format!("cannot write {}: {why}", self.shown)
        };
        // A file that may not become larger is an error of the write, and Ctrl-C removes what is begun.
        let is_stopped = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&is_stopped)).map_err(fault)?;
        }
        signal_hook::flag::register(SIGXFSZ, Arc::default()).map_err(fault)?;
        let (mut unfinished, file) = self.begin().map_err(fault)?;
        let written = write_all(&file, base, entry, files, links).map_err(fault)?;
        file.sync_all().map_err(fault)?;
        if is_stopped.load(Ordering::Relaxed) {
            return Err(format!("{}: stopped; nothing was written", self.shown));
        }
        fs::rename(&unfinished.path, &self.path).map_err(fault)?;
        unfinished.is_complete = true;
        if let Some(folder) = self.path.parent() {
            let folder = File::open(folder).and_then(|folder| folder.sync_all());
            folder.map_err(fault)?;
        }
        Ok(written)
    }

    fn begin(&self) -> io::Result<(Unfinished, File)> {
        let mut name = OsString::from(".");
        name.push(self.path.file_name().unwrap_or_default());
        name.push(format!(".{}", std::process::id()));
        let path = self.path.with_file_name(name);
        let mut options = OpenOptions::new();
        // Less what the umask takes away.
        options.write(true).create_new(true).mode(0o777);
        let file = options.open(&path)?;
        let unfinished = Unfinished {
            path,
            is_complete: false,
        };
        Ok((unfinished, file))
    }
}

/// Reports whether nothing is lost with the file: there is none, it is empty, or `sampan build` has made it.
fn may_be_replaced(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return !path.exists();
    };
    let is_empty = file.metadata().is_ok_and(|file| file.len() == 0);
    is_empty || matches!(appended(&file), Ok(Some(Appended::Archive(_))))
}

fn write_all(
    file: &File,
    base: &Base,
    entry: &str,
    files: &Files,
    links: BTreeMap<String, String>,
) -> io::Result<Written> {
    let mut out = BufWriter::with_capacity(1024 * 1024, file);
    out.write_all(base.bytes())?;
    let mut at = 0;
    let mut starts: HashMap<Checksum, u64> = HashMap::new();
    let mut indexed = Vec::with_capacity(files.len());
    for (path, bytes) in files {
        let (checksum, len) = (checksum(bytes), bytes.len() as u64);
        let start = match starts.get(&checksum) {
            Some(start) => *start,
            None => {
                out.write_all(bytes)?;
                starts.insert(checksum, at);
                at += len;
                at - len
            }
        };
        indexed.push(IndexedFile {
            path: path.clone(),
            start,
            len,
            sha256: hex(&checksum),
        });
    }
    let index = Index {
        made_by: crate::VERSION.to_owned(),
        version: base.version.clone(),
        executable: hex(&base.checksum),
        entry: entry.to_owned(),
        files: indexed,
        links,
    };
    let index = serde_json::to_vec(&index)?;
    out.write_all(&index)?;
    let trailer = Trailer {
        archive_start: base.len(),
        index_start: base.len() + at,
        index_checksum: checksum(&index),
    };
    let trailer = trailer.to_bytes();
    out.write_all(&trailer)?;
    out.flush()?;
    let bytes = base.len() + at + (index.len() + trailer.len()) as u64;
    Ok(Written { bytes })
}
