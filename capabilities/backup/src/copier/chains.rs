//! The beginning of a copy: where an earlier process ended, or with the whole database.

use super::telling::RoundFault;
use super::{Copier, now, restore};
use crate::catalog::{Generation, generations};
use crate::closing::{self, FileMarks};
use crate::names;
use crate::object::{self, Header, LogPlace};
use crate::whole;
use sampan_host::log::Level;
use sampan_host::page_log::LogPosition;
use std::path::PathBuf;
use std::sync::Arc;

impl Copier {
    /// Goes on with the copy of an earlier process, or begins a new generation.
    pub(super) fn begin(&mut self, why: Option<String>) -> Result<(), RoundFault> {
        let names = generations(&mut *self.target)?;
        // Before they are taken.
        let marks = self.host.marks.clone();
        let is_first = !std::mem::replace(&mut self.has_looked, true);
        if is_first && let Some(name) = names.last() {
            match self.resume(name) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(fault) => {
                    self.has_looked = false;
                    return Err(fault);
                }
            }
        }
        if let Some(why) = why {
            let text = format!("backup: the whole database is copied again: {why}");
            (self.host.log)(Level::Warn, text);
        } else if is_first {
            let told = self.tell_earlier(&names, marks.as_ref());
            self.has_looked = told.is_ok();
            told?;
        }
        let last = names.last().and_then(|name| names::term(name));
        let mut random = [0; 4];
        let filled = aws_lc_rs::rand::fill(&mut random);
        filled.map_err(|_| RoundFault::Failed("the system has no random numbers".to_owned()))?;
        let term = last.unwrap_or(0) + 1;
        let generation = names::generation(term, u32::from_le_bytes(random));
        self.pending.begin(generation);
        self.last_sent = None;
        let begun = self.begin_whole();
        if let Err(RoundFault::Failed(fault)) = &begun {
            self.pending.break_off(fault);
        }
        begun
    }

    /// Goes on with a generation whose last object ends at a place that is still in the log. False if there is none.
    fn resume(&mut self, name: &str) -> Result<bool, RoundFault> {
        let generation = Generation::read(&mut *self.target, name)?;
        let (Some(whole), Some((_, last))) = (generation.wholes.last(), generation.last()) else {
            return Ok(false);
        };
        let Some(object) = self.target.get(&last)? else {
            return Ok(false);
        };
        let Ok((header, mut hash)) = object::header(&object) else {
            return Ok(false);
        };
        if header.kind == object::Kind::End {
            hash = header.log.clone();
        }
        let marks = self.host.marks.take();
        let is_closed = closing::is_as_left(
            &mut *self.target,
            name,
            header.sequence,
            &hash,
            marks.as_ref(),
        )?;
        let place = match is_closed {
            true => LogPosition::default(),
            // A place in no log cannot be found again.
            false if header.place == LogPlace::default() => return Ok(false),
            false => header.place.into(),
        };
        self.pending.resume(&header, hash);
        let resumed = self.log.resume(place);
        let is_resumed = resumed.map_err(|error| RoundFault::Failed(error.message().to_owned()));
        if !matches!(is_resumed, Ok(true)) {
            self.pending.break_off("");
            let _ = self.pending.broken();
            return is_resumed;
        }
        self.last_whole = whole.time;
        self.last_sent = Some(last);
        self.read()?;
        let (place, time) = (self.settings.place.shown(), names::time(header.time));
        let text = format!("backup: goes on in {place}, which has the commits until {time}");
        (self.host.log)(Level::Info, text);
        Ok(true)
    }

    /// Warns if the target has the copy of another database file: from now on it is restored only where its time is
    /// named.
    fn tell_earlier(
        &mut self,
        names: &[String],
        marks: Option<&FileMarks>,
    ) -> Result<(), RoundFault> {
        for name in names.iter().rev() {
            let generation = Generation::read(&mut *self.target, name)?;
            let (Some(whole), Some((last, object))) = (generation.wholes.last(), generation.last())
            else {
                continue;
            };
            let end = names::whole(name, whole.sequence, whole.time, None);
            let own = closing::file_mark(&self.host.database);
            // Without both marks it is not known.
            let is_same = |end: Header| own.is_empty() || end.file.is_empty() || end.file == own;
            // A database that was restored from there has the time of its state, until it is written to.
            let changed = marks.and_then(FileMarks::changed_millis);
            let is_restored = |last: Header| Some(last.until) == changed;
            if self.header(&end)?.is_some_and(is_same)
                || self.header(&object)?.is_some_and(is_restored)
            {
                return Ok(());
            }
            let (place, time) = (self.settings.place.shown(), names::time(last.time));
            let text = format!(
                "backup: {place} has the copy of another database file, until {time}: this database is copied behind \
                 it, and sampan db restore takes the newer one. The other is restored with --at {time}, as long as \
                 [backup] keep says; sampan db restore --list shows both"
            );
            (self.host.log)(Level::Warn, text);
            return Ok(());
        }
        Ok(())
    }

    /// Reads the header of an object; nothing if it is missing or damaged.
    fn header(&mut self, name: &str) -> Result<Option<Header>, RoundFault> {
        let object = self.target.get(name)?;
        let header = object.and_then(|object| object::header(&object).ok());
        Ok(header.map(|(header, _)| header))
    }

    pub(super) fn begin_whole(&mut self) -> Result<(), RoundFault> {
        let pending = self.pending.clone();
        let file_mark = closing::file_mark(&self.host.database);
        let begun = whole::begin(&*self.log, &self.scratch("-copying"), file_mark, || {
            pending.take_mark()
        });
        self.whole = Some(begun.map_err(RoundFault::Failed)?);
        Ok(())
    }

    /// A file beside the database that is not needed after this process.
    fn scratch(&self, ending: &str) -> PathBuf {
        let mut path = self.host.database.clone().into_os_string();
        path.push(ending);
        path.into()
    }

    pub(super) fn whole_is_complete(&mut self) {
        let Some(whole) = self.whole.take() else {
            return;
        };
        let mark = &whole.mark;
        if self.last_sent.is_none() {
            let end = names::whole(&mark.generation, mark.sequence, mark.time, None);
            self.last_sent = Some(end);
        }
        // Copies that take longer than the time between them would follow each other without end.
        self.last_whole = now();
        self.next_tidy = None;
        let (place, time) = (self.settings.place.shown(), names::time(whole.mark.time));
        (self.host.log)(
            Level::Info,
            format!("backup: {place} has the whole database of {time}"),
        );
        if self.settings.verifies && !self.is_ending() {
            self.verify(whole.mark.time);
        }
    }

    /// Restores the copy that has just been completed, to a file that is removed.
    fn verify(&mut self, time: u64) {
        let to = self.scratch("-verifying");
        let cipher = Arc::clone(&self.settings.cipher);
        let cipher = cipher.as_ref().as_ref();
        let restored =
            restore::restore(&mut *self.target, cipher, time, &to, true, &self.host.check);
        let _ = std::fs::remove_file(&to);
        let (level, text) = match restored {
            Ok(restored) if restored.faults.is_empty() => {
                let time = restored.shown_time();
                (
                    Level::Info,
                    format!("backup: the state of {time} was restored on trial, and is whole"),
                )
            }
            Ok(restored) => (
                Level::Error,
                format!(
                    "backup: the copy is damaged: {}",
                    restored.faults.join("; ")
                ),
            ),
            Err(restore::RestoreFault::Nothing(fault) | restore::RestoreFault::Failed(fault)) => (
                Level::Error,
                format!("backup: the copy could not be restored on trial: {fault}"),
            ),
        };
        (self.host.log)(level, text);
    }
}
