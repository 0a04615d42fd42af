//! The thread that copies.
//!
//! Every `every` it reads what was committed, and writes it to the target in order. Faults of the target are reported
//! and tried again; meanwhile commits wait in memory ([`crate::pending`]). Workers know nothing of it.

use crate::catalog::generations;
use crate::closing::{self, FileMarks};
use crate::pending::Pending;
use crate::restore;
use crate::retention;
use crate::settings::BackupSettings;
use crate::targets::{Claim, Target, TargetFault};
use crate::whole::{WholeFault, WholeUpload};
use sampan_host::log::Level;
use sampan_host::metrics::Registry;
use sampan_host::page_log::PageLog;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

mod chains;
mod progress;
mod telling;

use progress::CopyProgress;
use telling::{RoundFault, Trouble};

/// The longest pause between two attempts to reach a target.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);
/// The time between two looks for objects that are not needed any more.
const TIDY_PAUSE: Duration = Duration::from_secs(3_600);
/// The longest time that the end of the process waits for the last commits to be copied.
const END_WAIT: Duration = Duration::from_secs(10);

/// The server around a copy.
pub struct BackupHost {
    /// Writes a line to the log.
    pub log: Box<dyn Fn(Level, String) + Send>,
    /// The file of the database. Whole copies on their way lie beside it.
    pub database: PathBuf,
    /// The marks of the database before it was opened.
    pub marks: Option<FileMarks>,
    /// Checks whether a file is a whole database.
    pub check: fn(&Path) -> Result<(), String>,
}

/// True once the process ends, which the condition tells.
type End = Arc<(Mutex<bool>, Condvar)>;

/// A copy that is being made. Dropping it without [`Backup::finish`] leaves the thread running.
pub struct Backup {
    end: End,
    pending: Pending,
    progress: Arc<CopyProgress>,
    thread: JoinHandle<()>,
}

impl Backup {
    /// Begins to copy, on a thread of its own.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(
        settings: BackupSettings,
        log: Arc<dyn PageLog>,
        host: BackupHost,
    ) -> io::Result<Self> {
        let end = End::default();
        let ended = Arc::clone(&end);
        let pending = Pending::new(Arc::clone(&settings.cipher), settings.behind_bytes_max);
        log.follow(Box::new(pending.clone()));
        let (waiting, progress) = (pending.clone(), CopyProgress::new());
        let of_thread = Arc::clone(&progress);
        let thread = std::thread::Builder::new().name("sampan-backup".into());
        let thread = thread.spawn(move || {
            let target = match settings.open() {
                Ok(target) => target,
                Err(fault) => return (host.log)(Level::Error, format!("backup: {fault}")),
            };
            let copier = Copier {
                target,
                settings,
                log,
                host,
                pending,
                whole: None,
                last_sent: None,
                progress: of_thread,
                has_looked: false,
                last_whole: 0,
                next_tidy: None,
                trouble: None,
                is_told_other: None,
                end: ended,
                end_wait: END_WAIT,
                leave_by: None,
            };
            copier.run();
        })?;
        Ok(Self {
            end,
            pending: waiting,
            progress,
            thread,
        })
    }

    /// Has a registry ask how far behind the copy is.
    pub fn measure(&self, registry: &Registry) {
        self.progress.measure(self.pending.clone(), registry);
    }

    /// Copies the last commits, and ends. The database is closed by then.
    pub fn finish(self) {
        let (ends, changed) = &*self.end;
        *ends.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = true;
        changed.notify_all();
        // A panic there has been told on standard error already.
        let _ = self.thread.join();
    }
}

/// The thread's own side.
struct Copier {
    settings: BackupSettings,
    target: Box<dyn Target>,
    log: Arc<dyn PageLog>,
    host: BackupHost,
    pending: Pending,
    whole: Option<WholeUpload>,
    /// The name of the object that was written last, of the log or the end of a whole copy.
    last_sent: Option<String>,
    progress: Arc<CopyProgress>,
    /// True if the target was asked for a copy of an earlier process to go on with.
    has_looked: bool,
    /// The time at which the last whole copy of this generation was completed, or that of the copy where an earlier
    /// process has made it.
    last_whole: u64,
    next_tidy: Option<Instant>,
    trouble: Option<Trouble>,
    /// The note of the other writer that was told last, and when.
    is_told_other: Option<(String, Instant)>,
    end: End,
    /// The time that a whole copy under way has when the process ends, and when that is over.
    end_wait: Duration,
    leave_by: Option<Instant>,
}

impl Copier {
    fn run(mut self) {
        let mut is_end = false;
        loop {
            let deadline = Instant::now() + self.end_wait;
            loop {
                let round = self.round(is_end);
                let is_done = round.is_ok();
                if is_done {
                    self.progress.complete();
                }
                self.tell(round);
                // At the end a target that was there gets a few more moments.
                if !is_end || is_done || self.pending.oldest().is_none() {
                    break;
                }
                if Instant::now() > deadline {
                    let text = "backup: the last commits could not be copied before the end";
                    (self.host.log)(Level::Error, text.to_owned());
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            if is_end {
                self.log.leave();
                self.close();
                self.target.release();
                return;
            }
            is_end = self.wait();
        }
    }

    /// Leaves a note for the next process, if all commits have been copied and the database is closed.
    fn close(&mut self) {
        let marks = FileMarks::of(&self.host.database);
        if self.whole.is_none()
            && self.trouble.is_none()
            && matches!(self.target.claim(&self.note()), Ok(Claim::Own))
            && let Some(last) = self.pending.last()
            && let Some(marks) = marks
        {
            // Without it the next process copies the whole database.
            let _ = closing::leave(&mut *self.target, last, marks);
        }
    }

    fn note(&self) -> String {
        let database = self.host.database.display();
        format!(
            "process {} with the database {database}",
            std::process::id()
        )
    }

    /// Waits for the next round. True at the end.
    fn wait(&self) -> bool {
        let (ends, changed) = &*self.end;
        let attempts = self.trouble.as_ref().map_or(0, |trouble| trouble.attempts);
        let pause = self.settings.every * 2_u32.saturating_pow(attempts.min(10));
        let pause = pause.min(RETRY_PAUSE_MAX.max(self.settings.every));
        let ends = ends.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let waited = changed.wait_timeout_while(ends, pause, |ends| !*ends);
        *waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    /// Reports whether the process ends.
    fn is_ending(&self) -> bool {
        *self
            .end
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Reports whether the process ends, and a whole copy under way has had the time that is left for it. Without it
    /// the commits of a new generation could not be restored.
    fn must_leave(&mut self) -> bool {
        if !self.is_ending() {
            return false;
        }
        let now = Instant::now();
        now >= *self.leave_by.get_or_insert(now + self.end_wait)
    }

    /// Copies what there is to copy. `is_end` is true for rounds that begin when the process ends: they copy the last
    /// commits. A round that is copying the whole database then has a short time to complete it.
    fn round(&mut self, is_end: bool) -> Result<(), RoundFault> {
        if !self.log.is_open() {
            return Ok(());
        }
        // Before the target is asked: frames that were read cannot be lost to a checkpoint.
        self.read()?;
        self.claim()?;
        if let Some(why) = self.pending.broken() {
            self.whole = None;
            if is_end {
                return Ok(());
            }
            self.begin(why)?;
        }
        self.send()?;
        let whole_every = self.settings.whole_every.as_millis() as u64;
        let is_due = now().saturating_sub(self.last_whole) >= whole_every;
        if self.whole.is_none() && is_due && !is_end {
            self.begin_whole()?;
        }
        while self.whole.is_some() {
            if is_end {
                return Ok(());
            }
            if self.must_leave() {
                let text = "backup: the copy of the whole database that was under way at the end is left unfinished";
                (self.host.log)(Level::Warn, text.to_owned());
                return Ok(());
            }
            // Another process may have taken the target over meanwhile.
            self.claim()?;
            self.step()?;
            self.read()?;
            self.send()?;
            if self.pending.is_broken() {
                return Ok(());
            }
        }
        if !is_end && self.next_tidy.is_none_or(|next| next <= Instant::now()) {
            self.next_tidy = Some(Instant::now() + TIDY_PAUSE);
            let keep = self.settings.keep.as_millis() as u64;
            retention::tidy(&mut *self.target, now().saturating_sub(keep))?;
        }
        Ok(())
    }

    /// Makes sure that this process is the only writer.
    fn claim(&mut self) -> Result<(), RoundFault> {
        match self.target.claim(&self.note())? {
            Claim::Own => Ok(()),
            Claim::New => self.claimed(),
            Claim::Other(other) => Err(RoundFault::Other(other)),
        }
    }

    /// Writes the next part of the whole copy, unless its generation has just been given up.
    fn step(&mut self) -> Result<(), RoundFault> {
        let Some(whole) = self.whole.as_mut().filter(|_| !self.pending.is_broken()) else {
            return Ok(());
        };
        let cipher = Arc::clone(&self.settings.cipher);
        let is_complete = match whole.step(&mut *self.target, cipher.as_ref().as_ref()) {
            Ok(is_complete) => is_complete,
            Err(WholeFault::Target(fault)) => return Err(fault.into()),
            Err(WholeFault::Copy(fault)) => {
                self.pending.break_off(&fault);
                return Err(RoundFault::Failed(fault));
            }
        };
        self.progress.uploaded();
        if is_complete {
            self.whole_is_complete();
        }
        Ok(())
    }

    /// Takes note that this process has become the writer: for the first time, or again after the target was away.
    fn claimed(&mut self) -> Result<(), RoundFault> {
        let Some(generation) = self.pending.generation() else {
            return Ok(());
        };
        // Another process may have written meanwhile, or this may be another folder.
        let is_same = match &self.last_sent {
            Some(last) => {
                generations(&mut *self.target)?.last() == Some(&generation)
                    && self.target.get(last)?.is_some()
            }
            None => false,
        };
        if !is_same {
            self.has_looked = false;
            self.pending.break_off("the target is not as it was left");
        }
        Ok(())
    }

    fn read(&self) -> Result<(), RoundFault> {
        let read = self.log.read();
        read.map_err(|error| RoundFault::Failed(error.message().to_owned()))
    }

    /// Writes the objects that wait.
    fn send(&mut self) -> Result<(), TargetFault> {
        let (target, last) = (&mut self.target, &mut self.last_sent);
        let progress = &self.progress;
        while self.pending.with_first(|first| {
            target.put(&first.name, &first.bytes)?;
            progress.uploaded();
            *last = Some(first.name.clone());
            Ok::<(), TargetFault>(())
        })? {}
        Ok(())
    }
}

/// The time in milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

#[cfg(test)]
mod tests;
