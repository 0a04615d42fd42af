//! Reads the frames between two places of the log, and makes batches of them.

use super::wal::{Frames, WalFile};
use sampan_host::page_log::{LogPosition, PageBatch};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The most bytes of pages in one batch. A page that was written before in the same batch takes no more room.
const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The outcome of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadOutcome {
    /// All frames were read.
    Done,
    /// The sink wants no more.
    Refused,
    /// The log was not what it should be: it may have started over just now.
    Changed,
}

/// Returns the path of the log of a database.
pub(super) fn log_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

/// Reads the frames behind `place` up to the frame with the number `to`, which ends the last commit before `until`, and
/// passes them to `take` in batches. `place` moves behind each batch that was taken.
pub(super) fn read(
    wal: WalFile,
    place: &mut LogPosition,
    to: u32,
    until: SystemTime,
    take: &mut dyn FnMut(PageBatch) -> bool,
) -> io::Result<ReadOutcome> {
    let salts = wal.salts;
    let mut batch = BatchMaker::new(wal.page_bytes);
    let mut frame = place.frame;
    let mut frames = wal.behind(frame, place.checksum)?;
    while frame < to {
        let Some(header) = frames.next()? else {
            return Ok(ReadOutcome::Changed);
        };
        frame += 1;
        batch.add(header.number, header.database_pages, &frames);
        if batch.is_full() || frame == to {
            let position = LogPosition {
                salts,
                frame,
                checksum: frames.checksum,
            };
            let until = (frame == to).then_some(until);
            if !take(batch.finish(position, until)) {
                return Ok(ReadOutcome::Refused);
            }
            *place = position;
        }
    }
    Ok(ReadOutcome::Done)
}

/// A batch while frames are added to it.
struct BatchMaker {
    batch: PageBatch,
    /// The place of each page in the batch.
    places: HashMap<u32, usize>,
}

impl BatchMaker {
    fn new(page_bytes: u32) -> Self {
        Self {
            batch: PageBatch {
                page_bytes,
                ..PageBatch::default()
            },
            places: HashMap::new(),
        }
    }

    fn add(&mut self, number: u32, database_pages: Option<u32>, frames: &Frames) {
        let batch = &mut self.batch;
        let page = &frames.page;
        match self.places.get(&number) {
            Some(place) => {
                let start = place * page.len();
                batch.pages[start..start + page.len()].copy_from_slice(page);
            }
            None => {
                self.places.insert(number, batch.numbers.len());
                batch.numbers.push(number);
                batch.pages.extend_from_slice(page);
            }
        }
        batch.commits += u32::from(database_pages.is_some());
        batch.database_pages = database_pages;
    }

    fn is_full(&self) -> bool {
        self.batch.pages.len() >= BATCH_BYTES_MAX
    }

    /// Returns the batch, and begins another.
    fn finish(&mut self, position: LogPosition, until: Option<SystemTime>) -> PageBatch {
        let next = Self::new(self.batch.page_bytes);
        let done = std::mem::replace(self, next);
        PageBatch {
            position,
            until,
            ..done.batch
        }
    }
}
