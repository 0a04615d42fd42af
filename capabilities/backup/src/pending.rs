//! The objects that wait to be written to the target.
//!
//! Pages come from the thread of the copy and from that of checkpoints. They become objects at once, so that the log of
//! the database need not be kept for a target that is slow or absent. Their number is bounded: above
//! `behind_bytes_max` they are dropped, and the copy begins anew with the whole database when the target is back.

use crate::cipher::Cipher;
use crate::names;
use crate::object::{self, Hash, Header, Kind, LogPlace, NO_HASH, Pages};
use sampan_host::page_log::{LogPosition, PageBatch, PageSink};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

/// An object of the log that waits.
pub(crate) struct PendingObject {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// The time of its commits.
    pub(crate) time: u64,
}

/// The place of a whole copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WholeMark {
    pub(crate) generation: String,
    pub(crate) sequence: u64,
    pub(crate) time: u64,
    pub(crate) place: LogPlace,
    /// The hash of the last object of the log that the copy contains.
    pub(crate) log: Hash,
}

/// The treatment of pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No chain: they are not wanted.
    #[default]
    Broken,
    /// They are in the whole copy that begins.
    Beginning,
    /// They become objects.
    Following,
}

#[derive(Default)]
struct Chain {
    stage: Stage,
    generation: String,
    /// The number of the next object.
    next: u64,
    previous: Hash,
    queue: VecDeque<PendingObject>,
    queued_bytes: u64,
    /// The place of the whole copy that began last.
    mark: Option<WholeMark>,
    why_broken: Option<String>,
    last_time: u64,
    /// The time until which no commit is missing in the chain.
    last_until: u64,
}

/// The objects that wait, shared by the thread of the copy and the sink of the pages.
#[derive(Clone)]
pub(crate) struct Pending {
    chain: Arc<Mutex<Chain>>,
    cipher: Arc<Option<Cipher>>,
    bytes_max: u64,
}

impl Pending {
    pub(crate) fn new(cipher: Arc<Option<Cipher>>, bytes_max: u64) -> Self {
        Self {
            chain: Arc::default(),
            cipher,
            bytes_max,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Chain> {
        // Each change is made as a whole.
        self.chain
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Reports whether there is no chain, and why it broke, once.
    pub(crate) fn broken(&self) -> Option<Option<String>> {
        let mut chain = self.lock();
        (chain.stage == Stage::Broken).then(|| chain.why_broken.take())
    }

    /// Reports whether there is no chain.
    pub(crate) fn is_broken(&self) -> bool {
        self.lock().stage == Stage::Broken
    }

    /// Begins a new generation: pages count from the next whole copy on.
    pub(crate) fn begin(&self, generation: String) {
        let mut chain = self.lock();
        *chain = Chain {
            stage: Stage::Beginning,
            generation,
            next: 1,
            last_time: chain.last_time,
            ..Chain::default()
        };
    }

    /// Goes on with a generation behind its object `last`.
    pub(crate) fn resume(&self, last: &Header, previous: Hash) {
        let mut chain = self.lock();
        *chain = Chain {
            stage: Stage::Following,
            generation: last.generation.clone(),
            next: last.sequence + 1,
            previous,
            last_time: chain.last_time.max(last.time),
            last_until: last.until,
            ..Chain::default()
        };
    }

    /// Gives up the chain.
    pub(crate) fn break_off(&self, why: &str) {
        self.lock().break_off(why);
    }

    /// Takes the place of the whole copy that has begun.
    pub(crate) fn take_mark(&self) -> Option<WholeMark> {
        self.lock().mark.take()
    }

    /// Works with the object that waits longest; it is taken away if `work` succeeds.
    pub(crate) fn with_first<E>(
        &self,
        work: impl FnOnce(&PendingObject) -> Result<(), E>,
    ) -> Result<bool, E> {
        // Not under the lock: a checkpoint would wait for the network.
        let Some(first) = self.lock().queue.pop_front() else {
            return Ok(false);
        };
        let generation_of = |name: &str| name.split('/').next().map(str::to_owned);
        let done = work(&first);
        let mut chain = self.lock();
        match done {
            Ok(()) => {
                chain.queued_bytes = chain.queued_bytes.saturating_sub(first.bytes.len() as u64);
                Ok(true)
            }
            Err(error) => {
                // Unless the chain broke meanwhile.
                if chain.stage != Stage::Broken
                    && generation_of(&first.name).as_deref() == Some(&chain.generation)
                {
                    chain.queue.push_front(first);
                }
                Err(error)
            }
        }
    }

    /// The name of the generation, if there is a chain.
    pub(crate) fn generation(&self) -> Option<String> {
        let chain = self.lock();
        (chain.stage != Stage::Broken).then(|| chain.generation.clone())
    }

    /// The number and the hash of the last object of the chain, if all have been written.
    pub(crate) fn last(&self) -> Option<(String, u64, Hash)> {
        let chain = self.lock();
        let is_whole = chain.stage == Stage::Following && chain.queue.is_empty();
        is_whole.then(|| {
            (
                chain.generation.clone(),
                chain.next - 1,
                chain.previous.clone(),
            )
        })
    }

    /// The time of the oldest commits that wait.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.lock().queue.front().map(|waiting| waiting.time)
    }
}

impl Chain {
    fn break_off(&mut self, why: &str) {
        *self = Self {
            why_broken: Some(why.to_owned()),
            last_time: self.last_time,
            ..Self::default()
        };
    }

    /// The time now, which never goes back in a chain.
    fn now(&mut self) -> u64 {
        self.last_time = self.last_time.max(millis(SystemTime::now()));
        self.last_time
    }

    fn add(&mut self, batch: PageBatch, cipher: Option<&Cipher>) -> Result<(), String> {
        let time = self.now();
        self.last_until = batch.until.map_or(self.last_until, millis);
        let header = Header {
            kind: Kind::Log,
            generation: self.generation.clone(),
            sequence: self.next,
            part: 0,
            time,
            until: self.last_until.min(time),
            page_bytes: batch.page_bytes,
            pages: u32::try_from(batch.numbers.len()).unwrap_or(u32::MAX),
            commits: batch.commits,
            database_pages: batch.database_pages,
            place: batch.position.into(),
            previous: self.previous.clone(),
            log: NO_HASH.to_owned(),
            file: String::new(),
            body: NO_HASH.to_owned(),
            encrypted: false,
        };
        let pages = Pages {
            numbers: batch.numbers,
            bytes: batch.pages,
        };
        let (bytes, hash) = object::encode(header, &pages, cipher)?;
        self.queued_bytes += bytes.len() as u64;
        self.queue.push_back(PendingObject {
            name: names::log(&self.generation, self.next, time),
            bytes,
            time,
        });
        self.next += 1;
        self.previous = hash;
        Ok(())
    }
}

/// A moment in milliseconds since 1970.
fn millis(moment: SystemTime) -> u64 {
    let since = moment.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}

impl PageSink for Pending {
    fn take(&mut self, batch: PageBatch) -> bool {
        let cipher = Arc::clone(&self.cipher);
        let mut chain = self.lock();
        match chain.stage {
            Stage::Broken => return false,
            Stage::Beginning => return true,
            Stage::Following => {}
        }
        let added = chain.add(batch, cipher.as_ref().as_ref());
        if let Err(fault) = added {
            chain.break_off(&fault);
            return false;
        }
        if chain.queued_bytes > self.bytes_max {
            chain.break_off(
                "the target did not take the commits for so long that behind_bytes_max was reached",
            );
            return false;
        }
        true
    }

    fn whole_copy_begins(&mut self, at: LogPosition) {
        let mut chain = self.lock();
        if chain.stage == Stage::Broken {
            return;
        }
        chain.stage = Stage::Following;
        chain.last_until = chain.now();
        chain.mark = Some(WholeMark {
            generation: chain.generation.clone(),
            sequence: chain.next - 1,
            time: chain.now(),
            place: at.into(),
            log: chain.previous.clone(),
        });
    }

    fn has_lost(&mut self, why: &str) {
        self.lock().break_off(why);
    }
}
