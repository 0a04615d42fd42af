//! The write-ahead log and its index beside a database, while another file, or none, stands at the database's path.
//!
//! SQLite finds the log by the path: at its next start it would write the log of one file over the pages of another. So
//! the log of a file that has left is renamed. It has the last writes of that file, so it is kept, and gets its name
//! back if the file returns.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The ends of the names of the log and of its index, which is shared memory.
const ENDS: [&str; 2] = [LOG_END, "-shm"];
/// The end of the name of the log.
const LOG_END: &str = "-wal";
/// The most logs of one database that are kept under other names.
const ASIDE_MAX: u32 = 1_000;

/// The log and its index, as they were when the database was opened.
#[derive(Debug, Default)]
pub(super) struct LogFiles {
    /// The database.
    path: PathBuf,
    logs: Vec<LogFile>,
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    end: &'static str,
    /// The device and the inode.
    identity: (u64, u64),
    /// The path to which it was renamed.
    aside: Option<PathBuf>,
}

impl LogFiles {
    /// Finds them beside the database at `path`.
    pub(super) fn beside(path: &Path) -> Self {
        // SQLite names them after the file to which a symbolic link leads.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let found = ENDS.into_iter().filter_map(|end| {
            let path = with_end(&path, end);
            let identity = identity(&path)?;
            Some(LogFile {
                path,
                end,
                identity,
                aside: None,
            })
        });
        let logs = found.collect();
        Self { path, logs }
    }

    /// Reports whether one of them still stands there.
    pub(super) fn are_there(&self) -> bool {
        self.logs.iter().any(LogFile::is_there)
    }

    /// Reports whether one of them has lost its name to nothing or to another file, and was not renamed here.
    pub(super) fn have_left(&self) -> bool {
        let mut logs = self.logs.iter();
        logs.any(|log| log.aside.is_none() && !log.is_there())
    }

    /// Reports whether the log itself has lost its name, and was not renamed here.
    pub(super) fn has_lost_log(&self) -> bool {
        self.log()
            .is_some_and(|log| log.aside.is_none() && !log.is_there())
    }

    /// Reports whether another process has written a log of its own in the place of the log.
    pub(super) fn has_other_log(&self) -> bool {
        self.log().is_some_and(LogFile::is_written_anew)
    }

    /// Reports whether no other process has written a log or made an index since they were opened: the open connections
    /// can copy the log, which may have lost its name.
    pub(super) fn are_ours(&self) -> bool {
        let is_ours = |log: &LogFile| match log.end {
            LOG_END => !log.is_written_anew(),
            _ => log.is_there() || identity(&log.path).is_none(),
        };
        self.log().is_some() && self.logs.iter().all(is_ours)
    }

    fn log(&self) -> Option<&LogFile> {
        self.logs.iter().find(|log| log.end == LOG_END)
    }

    /// Returns the path of the index, if it was found and was not renamed.
    pub(super) fn index(&self) -> Option<&Path> {
        let mut logs = self.logs.iter();
        let index = logs.find(|log| log.end != LOG_END && log.aside.is_none())?;
        Some(&index.path)
    }

    /// Returns the paths of those that were found.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.logs.iter().map(|log| log.path.as_path())
    }

    /// Renames those that still stand there, and no others. Returns the new paths of all.
    ///
    /// # Errors
    /// One cannot be renamed.
    pub(super) fn move_aside(&mut self) -> io::Result<Vec<PathBuf>> {
        let mut free = None;
        for log in &mut self.logs {
            if log.aside.is_some() || !log.is_there() {
                continue;
            }
            let base = match free.take() {
                Some(base) => base,
                None => free_base(&self.path)?,
            };
            let aside = with_end(&base, log.end);
            free = Some(base);
            fs::rename(&log.path, &aside)?;
            log.aside = Some(aside);
        }
        let all = self.logs.iter().filter_map(|log| log.aside.clone());
        Ok(all.collect())
    }

    /// Gives those that were renamed their names back, unless other files have these names now.
    pub(super) fn move_back(&mut self) {
        for log in &mut self.logs {
            let Some(aside) = log.aside.take() else {
                continue;
            };
            if identity(&log.path).is_some() || fs::rename(&aside, &log.path).is_err() {
                log.aside = Some(aside);
            }
        }
    }
}

impl LogFile {
    fn is_there(&self) -> bool {
        identity(&self.path) == Some(self.identity)
    }

    /// Reports whether another file stands there that is not empty.
    fn is_written_anew(&self) -> bool {
        !self.is_there() && fs::metadata(&self.path).is_ok_and(|file| file.len() > 0)
    }
}

/// Returns the device and the inode of the file at `path`.
pub(super) fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(end);
    path.into()
}

/// Returns a path beside the database at which neither a file nor a log stands. The old file fits its log under that
/// name.
fn free_base(path: &Path) -> io::Result<PathBuf> {
    let is_free = |base: &PathBuf| {
        let mut ends = ["", "-wal", "-shm"].into_iter();
        ends.all(|end| fs::symlink_metadata(with_end(base, end)).is_err())
    };
    let mut bases = (1..=ASIDE_MAX).map(|number| with_end(path, &format!(".left-{number}")));
    let free = bases.find(is_free);
    free.ok_or_else(|| io::Error::other("too many files have .left- in their names: delete some"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_that_were_opened_are_renamed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("data.db");
        let [log, index, left] = ["-wal", "-shm", ".left-1-wal"].map(|end| with_end(&path, end));
        for file in [&path, &log, &index, &left] {
            fs::write(file, "old").expect("written");
        }
        let mut logs = LogFiles::beside(&path);
        fs::write(with_end(&path, ".new"), "new").expect("written");
        fs::rename(with_end(&path, ".new"), &index).expect("replaced");
        let aside = with_end(&path, ".left-2-wal");
        assert_eq!(
            logs.move_aside().expect("renamed"),
            std::slice::from_ref(&aside)
        );
        assert!(!log.exists() && aside.exists());
        assert_eq!(fs::read_to_string(&index).expect("left alone"), "new");
        // Another log has the name now.
        fs::write(&log, "new").expect("written");
        logs.move_back();
        assert_eq!(
            logs.move_aside().expect("done before"),
            std::slice::from_ref(&aside)
        );
        fs::remove_file(&log).expect("removed");
        logs.move_back();
        assert!(log.exists() && !aside.exists());
    }
}
