//! Makes a database of a copy: the newest whole copy before a moment, and the commits behind it.
//!
//! Every object is checked before it is used. Where one is damaged or missing, the state before it is restored, or an
//! older whole copy is taken, and the report says so. The database gets its name when it is whole, checked and on the
//! disk.

use crate::catalog::{Generation, generations};
use crate::cipher::Cipher;
use crate::names;
use crate::object::{self, Hash, Header, Kind, NO_HASH, Pages, Unreadable};
use crate::placing::{Part, beside, check_place};
use crate::settings::BackupSettings;
use crate::targets::Target;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

/// The parts of a whole copy that wait to be written while the next is read.
const PARTS_AHEAD: usize = 2;

/// The error where a target has no complete copy.
pub(crate) const NO_COPY: &str =
    "there is no complete copy: check the URL, and the log of the server that writes it";

/// The outcome of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The time of the state, in milliseconds since 1970: all commits that were copied until then are in it.
    pub time: u64,
    /// The size of the database in bytes.
    pub bytes: u64,
    /// The commits behind the whole copy that were applied.
    pub commits: u64,
    /// The faults of the copy: with any, commits may be missing that were copied.
    pub faults: Vec<String>,
}

impl Restored {
    /// Returns the time for people.
    pub fn shown_time(&self) -> String {
        names::time(self.time)
    }
}

/// A failure to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreFault {
    /// No copy, or none so old.
    Nothing(String),
    /// Another reason, with what to do.
    Failed(String),
}

/// The state of a database file while a copy is put into it.
struct Restoring<'a> {
    target: &'a mut dyn Target,
    cipher: Option<&'a Cipher>,
    file: File,
    faults: Vec<String>,
    commits: u64,
    database_pages: u32,
    page_bytes: u32,
}

/// The reason why an object is not used.
enum Unusable {
    /// A fault of the object: missing or damaged.
    Damaged(String),
    /// The target or the disk has failed.
    Failed(String),
}

/// Restores the state of a database at `until`, in milliseconds since 1970, from the copy that `settings` names, to the
/// file `to`. An existing database stays where it is unless `replaces`. `check` tells whether a file is a whole
/// database.
///
/// # Errors
/// There is nothing to restore, the file exists, or something has failed.
pub fn restore_from(
    settings: &BackupSettings,
    until: u64,
    to: &Path,
    replaces: bool,
    check: &dyn Fn(&Path) -> Result<(), String>,
) -> Result<Restored, RestoreFault> {
    let mut target = settings.open().map_err(RestoreFault::Failed)?;
    let cipher = settings.cipher.as_ref().as_ref();
    restore(&mut *target, cipher, until, to, replaces, check)
}

/// Restores the state at `until`, in milliseconds since 1970, to the file `to`. An existing database stays where it is
/// unless `replaces`. `check` tells whether a file is a whole database.
///
/// # Errors
/// There is nothing to restore, the file exists, or something has failed.
pub(crate) fn restore(
    target: &mut dyn Target,
    cipher: Option<&Cipher>,
    until: u64,
    to: &Path,
    replaces: bool,
    check: &dyn Fn(&Path) -> Result<(), String>,
) -> Result<Restored, RestoreFault> {
    let failed = |text: String| RestoreFault::Failed(text);
    check_place(to, replaces).map_err(failed)?;
    let part = beside(to, ".restoring");
    Part::create(part).and_then(|part| {
        let restored = fill(target, cipher, until, &part.file)?;
        // The check reads while the disk writes.
        let (synced, checked) = thread::scope(|scope| {
            let sync = scope.spawn(|| part.file.sync_all());
            let checked = check(&part.path);
            (sync.join(), checked)
        });
        synced
            .unwrap_or_else(|_| Err(io::Error::other("the thread has failed")))
            .map_err(|error| failed(format!("cannot write {}: {error}", part.path.display())))?;
        if let Err(fault) = checked {
            let text = format!("the restored database is damaged and was thrown away: {fault}");
            return Err(failed(text));
        }
        check_place(to, replaces).map_err(failed)?;
        // The server that copies this database next sees that it goes on from this state.
        let time = UNIX_EPOCH + Duration::from_millis(restored.time);
        let stamped = part.file.set_modified(time);
        stamped
            .map_err(|error| failed(format!("cannot write {}: {error}", part.path.display())))?;
        part.finish(to).map_err(failed)?;
        Ok(restored)
    })
}

/// Puts the state at `until` into an empty file.
fn fill(
    target: &mut dyn Target,
    cipher: Option<&Cipher>,
    until: u64,
    file: &File,
) -> Result<Restored, RestoreFault> {
    let failed = |text: String| RestoreFault::Failed(text);
    let unreachable = |fault: crate::targets::TargetFault| failed(fault.text());
    let names = generations(target).map_err(unreachable)?;
    let mut restoring = Restoring {
        target,
        cipher,
        file: file
            .try_clone()
            .map_err(|error| failed(error.to_string()))?,
        faults: Vec::new(),
        commits: 0,
        database_pages: 0,
        page_bytes: 0,
    };
    let mut oldest = None;
    for name in names.iter().rev() {
        let generation = Generation::read(restoring.target, name).map_err(unreachable)?;
        oldest = generation.wholes.first().map(|whole| whole.time).or(oldest);
        let wholes = generation.wholes.iter().rev();
        for whole in wholes.filter(|whole| whole.time <= until) {
            let is_empty = restoring.file.set_len(0);
            is_empty.map_err(|error| failed(error.to_string()))?;
            let end = match restoring.whole(name, whole.sequence, whole.time) {
                Ok(end) => end,
                Err(Unusable::Damaged(fault)) => {
                    restoring.faults.push(fault);
                    continue;
                }
                Err(Unusable::Failed(fault)) => return Err(failed(fault)),
            };
            let time = restoring.log(&generation, &end, until).map_err(failed)?;
            return Ok(Restored {
                time,
                bytes: u64::from(restoring.database_pages) * u64::from(restoring.page_bytes),
                commits: restoring.commits,
                faults: restoring.faults,
            });
        }
    }
    if !restoring.faults.is_empty() {
        return Err(failed(format!(
            "no copy can be used: {}",
            restoring.faults.join("; ")
        )));
    }
    Err(RestoreFault::Nothing(match oldest {
        Some(time) => format!(
            "the oldest copy is of {}: name a later time",
            names::time(time)
        ),
        None => NO_COPY.to_owned(),
    }))
}

impl Restoring<'_> {
    /// Reads an object.
    fn get(&mut self, name: &str) -> Result<(Header, Hash, Pages), Unusable> {
        let object = match self.target.get(name) {
            Ok(Some(object)) => object,
            Ok(None) => return Err(Unusable::Damaged(format!("{name} is missing"))),
            Err(fault) => return Err(Unusable::Failed(fault.text())),
        };
        let decoded = object::decode(&object, self.cipher);
        decoded.map_err(|fault| match fault {
            // Every other object is so too.
            Unreadable::Key(fault) => Unusable::Failed(format!("{name}: {fault}")),
            Unreadable::Damaged(fault) => Unusable::Damaged(format!("{name}: {fault}")),
        })
    }

    fn write(&mut self, header: &Header, pages: &Pages) -> io::Result<()> {
        write_pages(&self.file, header.page_bytes, pages)?;
        self.page_bytes = header.page_bytes;
        if let Some(count) = header.database_pages {
            self.database_pages = count;
        }
        Ok(())
    }

    /// Cuts the file at the end of the database.
    fn cut(&mut self) -> Result<(), String> {
        let length = u64::from(self.database_pages) * u64::from(self.page_bytes);
        let cut = self.file.set_len(length);
        cut.map_err(|error| format!("cannot write the database: {error}"))
    }

    /// Writes a whole copy to the file. Returns its end.
    fn whole(&mut self, generation: &str, sequence: u64, time: u64) -> Result<Header, Unusable> {
        let name = names::whole(generation, sequence, time, None);
        let other = |name: &str| Unusable::Damaged(format!("{name}: it is of another copy"));
        let (end, _, _) = self.get(&name)?;
        let belongs = end.kind == Kind::End
            && end.generation == generation
            && (end.sequence, end.time) == (sequence, time);
        if !belongs {
            return Err(other(&name));
        }
        let written = |error| Unusable::Failed(format!("cannot write the database: {error}"));
        let file = self.file.try_clone().map_err(written)?;
        let (sender, read) = sync_channel(PARTS_AHEAD);
        let page_bytes = end.page_bytes;
        let last = thread::scope(|scope| {
            let writer = scope.spawn(move || {
                let mut parts = read.into_iter();
                parts.try_for_each(|pages| write_pages(&file, page_bytes, &pages))
            });
            // Once the writer has failed, nothing takes what is read.
            let last = self.parts(&end, |pages| sender.send(pages).is_ok());
            drop(sender);
            let ended = writer.join();
            ended
                .unwrap_or_else(|_| Err(io::Error::other("the thread has failed")))
                .map_err(written)?;
            last
        })?;
        if end.previous != last {
            return Err(other(&name));
        }
        self.page_bytes = page_bytes;
        self.database_pages = end.database_pages.unwrap_or(0);
        self.cut().map_err(Unusable::Failed)?;
        Ok(end)
    }

    /// Reads the parts of a whole copy and passes their pages on, until that gives false. Returns the hash of the last.
    fn parts(
        &mut self,
        end: &Header,
        mut pass_on: impl FnMut(Pages) -> bool,
    ) -> Result<Hash, Unusable> {
        let mut previous = NO_HASH.to_owned();
        for part in 0..end.part {
            let name = names::whole(&end.generation, end.sequence, end.time, Some(part));
            let (header, hash, pages) = self.get(&name)?;
            let belongs = header.kind == Kind::Part
                && header.generation == end.generation
                && (header.sequence, header.part) == (end.sequence, part)
                && header.page_bytes == end.page_bytes
                && header.previous == previous;
            if !belongs {
                return Err(Unusable::Damaged(format!("{name}: it is of another copy")));
            }
            previous = hash;
            if !pass_on(pages) {
                break;
            }
        }
        Ok(previous)
    }

    /// Applies the commits behind a whole copy, up to a moment. Returns the time of the state.
    fn log(&mut self, generation: &Generation, end: &Header, until: u64) -> Result<u64, String> {
        let mut previous = end.log.clone();
        let mut next = end.sequence + 1;
        let mut reached = end.time;
        // Objects of a commit that has not ended yet.
        let mut open: Vec<String> = Vec::new();
        let behind = generation.log.iter();
        for stamp in behind.filter(|stamp| stamp.sequence > end.sequence) {
            if stamp.time > until {
                return Ok(reached);
            }
            if stamp.sequence != next {
                let missing = format!("the object {next} of {}/log is missing", generation.name);
                self.faults.push(missing);
                return Ok(reached);
            }
            let name = names::log(&generation.name, stamp.sequence, stamp.time);
            let (header, hash, pages) = match self.get(&name) {
                Ok(read) => read,
                Err(Unusable::Damaged(fault)) => {
                    self.faults.push(fault);
                    return Ok(reached);
                }
                Err(Unusable::Failed(fault)) => return Err(fault),
            };
            let belongs = header.kind == Kind::Log
                && header.generation == generation.name
                && header.sequence == next
                && header.previous == previous;
            if !belongs {
                self.faults
                    .push(format!("{name}: it does not follow the object before"));
                return Ok(reached);
            }
            (previous, next) = (hash, next + 1);
            if header.database_pages.is_none() {
                open.push(name);
                continue;
            }
            self.commit(&open, &header, &pages)?;
            open.clear();
            reached = header.until;
        }
        Ok(reached)
    }

    /// Writes the pages of commits that have ended: those of `open`, which have been found whole, are read again.
    fn commit(&mut self, open: &[String], last: &Header, pages: &Pages) -> Result<(), String> {
        let failed = |error: io::Error| format!("cannot write the database: {error}");
        for name in open {
            let (header, _, pages) = self.get(name).map_err(|fault| match fault {
                Unusable::Damaged(fault) | Unusable::Failed(fault) => fault,
            })?;
            self.write(&header, &pages).map_err(failed)?;
            self.commits += u64::from(header.commits);
        }
        self.write(last, pages).map_err(failed)?;
        self.commits += u64::from(last.commits);
        self.cut()
    }
}

/// Writes pages to their places in a database. Those that follow each other are written at once.
fn write_pages(file: &File, page_bytes: u32, pages: &Pages) -> io::Result<()> {
    let mut bytes = &pages.bytes[..];
    let runs = pages
        .numbers
        .chunk_by(|one, next| one.checked_add(1) == Some(*next));
    for run in runs {
        let (here, behind) = bytes.split_at(run.len() * page_bytes as usize);
        bytes = behind;
        file.write_all_at(here, u64::from(run[0] - 1) * u64::from(page_bytes))?;
    }
    Ok(())
}
