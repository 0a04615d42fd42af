//! A database whose file, log or index was removed or replaced while it was open: nothing is written to it any more.

use super::{Opened, lock};
use crate::group_commit::repair;
use crate::group_commit::writer::Refused;
use crate::sqlite::connection::SqliteConnection;
use sampan_host::log::Level;

impl Opened {
    /// Reports whether the file and its log are still those that were opened. Looked at twice a second at most. If not,
    /// nothing is written any more: what is written to a file that was deleted is lost. `writer` is the connection, if
    /// the caller has it.
    pub(crate) fn file_is_there(&self, writer: Option<&SqliteConnection>) -> bool {
        if !self.lookout.is_due() || self.config.file.is_whole_at(&self.config.path) {
            return true;
        }
        self.refuse_for_good(writer);
        false
    }

    /// Reports whether a connection that reads may be opened: where no file stands it would make an empty database, and
    /// beside another log it would read wrong pages. If the log was removed, it is copied into the database first.
    pub(crate) fn may_open(&self) -> bool {
        let (file, path) = (&self.config.file, &self.config.path);
        if file.may_open(path) {
            return true;
        }
        if file.is_at(path) {
            self.refuse_without_log(None, false);
        } else {
            self.file_is_there(None);
        }
        file.may_open(path)
    }

    /// Looks at the file and its log now. If the log was lost, waits for a worker that writes.
    pub(super) fn look(&self) {
        let (file, path) = (&self.config.file, &self.config.path);
        if file.is_whole_at(path) {
            return;
        }
        let millis = self.config.transaction_millis_max;
        let writer = match file.is_at(path) {
            true => self.writers.take_in_place(millis, true, || false).ok(),
            false => None,
        };
        self.refuse_for_good(writer.as_deref());
        if let Some(writer) = writer {
            self.writers.give(writer);
        }
    }

    /// Looks for the last time: the log may not stay beside another file, may not be missing if the file has returned,
    /// and is copied into the database if it was removed.
    pub(super) fn look_at_the_end(&self) {
        let file = &self.config.file;
        if !file.is_at(&self.config.path) {
            if file.has_logs() {
                self.refuse_for_good(None);
            }
            return;
        }
        file.move_logs_back();
        if file.has_lost_log() {
            self.refuse_without_log(None, true);
        }
    }

    /// Writes nothing any more, because another file, or none, stands where the database was. Its log is renamed:
    /// otherwise the next start would write it over the file that stands there then.
    pub(super) fn refuse_for_good(&self, writer: Option<&SqliteConnection>) {
        let file = &self.config.file;
        if file.is_at(&self.config.path) {
            self.refuse_without_log(writer, false);
            return;
        }
        let _one_at_a_time = lock(&self.is_log_reported);
        if !file.has_logs() && self.writers.refused() == Some(Refused::Gone) {
            // It has been reported.
            return;
        }
        let log = match file.move_logs_aside() {
            Ok(paths) if paths.is_empty() => String::new(),
            Ok(paths) => {
                let paths = paths.iter().map(|path| path.display().to_string());
                let paths = paths.collect::<Vec<_>>().join(" and ");
                format!("; its write-ahead log, which has its last writes, was renamed to {paths}")
            }
            Err(error) => format!(
                "; its write-ahead log cannot be renamed ({error}): before you restart, move the files that end with \
                 -wal and -shm away"
            ),
        };
        let text = format!(
            "{} was removed or replaced while it was open: nothing is written any more; put the right file there and \
             restart the server{log}",
            self.config.path.display()
        );
        (self.report)(Level::Error, &text);
        self.writers.refuse(Refused::Gone);
    }

    /// Writes nothing any more, because the log of the database or its index was removed or replaced. What was
    /// committed is copied into the database first. If a worker has the connection, that worker comes here when it
    /// commits; only the end of the server (`is_last`) does not wait for it.
    #[cold]
    fn refuse_without_log(&self, writer: Option<&SqliteConnection>, is_last: bool) {
        let mut is_reported = lock(&self.is_log_reported);
        if *is_reported {
            self.copy_again();
            return;
        }
        let free = match writer {
            Some(_) => None,
            None => self.writers.try_take(),
        };
        let writer = writer.or(free.as_deref());
        if writer.is_none() && !is_last && self.writers.refused().is_none() {
            return;
        }
        *is_reported = true;
        let (file, path) = (&self.config.file, self.config.path.display());
        let has_lost_log = file.has_lost_log();
        let is_ours = file.is_log_ours(&self.config.path);
        let is_copied = is_ours && writer.is_some_and(repair::copy_log);
        if has_lost_log {
            file.note_lost_log(&self.config.path, is_copied);
        }
        let lost = match has_lost_log {
            true => format!("{path}-wal, the write-ahead log,"),
            false => format!("{path}-shm, the index of the write-ahead log,"),
        };
        let log = match (has_lost_log, is_copied) {
            // The next start reads the log.
            (false, _) => "",
            (true, true) => "; its writes were copied into the database",
            (true, false) if is_ours && !is_last => {
                "; its last writes are not copied into the database yet: end what else reads it before that"
            }
            (true, false) => "; its last writes are missing after a restart",
        };
        let text = format!(
            "{lost} was removed or replaced while it was open: nothing is written any more; restart the server{log}"
        );
        (self.report)(Level::Error, &text);
        self.writers.refuse(Refused::Gone);
        if let Some(free) = free {
            self.writers.give(free);
        }
    }

    /// Copies a log that was lost, if others that read kept that from being done before.
    fn copy_again(&self) {
        let (file, path) = (&self.config.file, &self.config.path);
        let is_wanted = file.has_lost_log() && !file.is_log_copied();
        if !is_wanted || !file.is_log_ours(path) || !file.is_ours(path) {
            return;
        }
        let Some(left) = self.writers.take_left() else {
            return;
        };
        let is_copied = repair::copy_log(&left);
        file.note_lost_log(path, is_copied);
        if is_copied {
            let text = format!(
                "the last writes in {}-wal were copied into the database",
                path.display()
            );
            (self.report)(Level::Warn, &text);
        }
        self.writers.give(left);
    }
}
