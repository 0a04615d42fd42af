//! The starts of jobs in queues with a rate. All processes that share the database count them together.
//!
//! A start counts from when its job is taken, in the same transaction. The period of a rate is divided into parts, and
//! the starts of one part share a row, at the end of the part. So they count for the whole period, and a queue has few
//! rows.

use super::{JobTable, Taken, int, maybe_int};
use crate::config::QueueRate;
use crate::limits::RATE_PARTS;
use sampan_host::{Error, Value};
use std::collections::BTreeMap;
use std::time::Instant;

/// `until` is the time until which the rate counts the row under which it was written: processes may have different
/// rates during a deploy.
const CREATE: &str = "CREATE TABLE IF NOT EXISTS _sampan_job_starts(
       queue TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL, jobs INTEGER NOT NULL,
       PRIMARY KEY(queue, at)
     ) STRICT, WITHOUT ROWID";
pub(super) const FORGET: &str = "DELETE FROM _sampan_job_starts WHERE queue = ? AND until <= ?";
/// Starts after the present time: the clock was set back since. A row is at most one part ahead of it.
pub(super) const AHEAD: &str =
    "SELECT sum(jobs) FROM _sampan_job_starts WHERE queue = ? AND at > ? + (until - at) / 1000 + 1";
pub(super) const FORGET_AHEAD: &str =
    "DELETE FROM _sampan_job_starts WHERE queue = ? AND at > ? + (until - at) / 1000 + 1";
pub(super) const COUNTED: &str =
    "SELECT sum(jobs), min(at) FROM _sampan_job_starts WHERE queue = ? AND at > ? AND jobs > 0";
pub(super) const NOTE: &str =
    "INSERT INTO _sampan_job_starts(queue, at, until, jobs) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET jobs = jobs + excluded.jobs, until = max(until, excluded.until)";
pub(super) const GIVE_BACK: &str =
    "UPDATE _sampan_job_starts SET jobs = max(0, jobs - ?) WHERE queue = ? AND at = ?";

/// The place where the start of a job is counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartSlot {
    /// The time of its row, in milliseconds since 1970.
    pub(crate) at: i64,
    /// The time when it was counted, about.
    pub(crate) taken: Instant,
}

/// The jobs of a queue with a rate that were taken.
pub(crate) struct RatedJobs {
    pub(crate) taken: Vec<Taken>,
    /// The time until the rate lets another start, in milliseconds, where it lets none start now.
    pub(crate) opens_in_millis: Option<i64>,
}

/// Returns the starts of jobs that have not begun, by the queue and the time of their row.
pub(crate) fn unused<'a>(
    jobs: impl IntoIterator<Item = &'a Taken>,
) -> BTreeMap<(&'a str, i64), i64> {
    let mut unused = BTreeMap::new();
    for job in jobs {
        if let Some(slot) = job.slot {
            *unused.entry((job.queue.as_str(), slot.at)).or_insert(0) += 1;
        }
    }
    unused
}

impl JobTable<'_> {
    /// Takes jobs of a queue that can start, until `lease`, and counts their starts. They are at most as many as the
    /// rate allows beside those that all processes have started.
    pub(crate) fn take_rated(
        self,
        (queue, count_max): (&str, usize),
        rate: QueueRate,
        now: i64,
        lease: i64,
    ) -> Result<RatedJobs, Error> {
        let taken = Instant::now();
        let period = rate.period_millis();
        let part = (period / RATE_PARTS).max(1);
        let at = (now / part).saturating_add(1).saturating_mul(part);
        let until = at.saturating_add(period);
        self.forget_starts(queue, now, (at, until))?;
        let since = Value::Int(now.saturating_sub(period));
        let rows = self.read(COUNTED, vec![queue.into(), since])?;
        let (counted, first) = rows.map_or((0, None), |rows| {
            (int(rows.cell(0, 0)), maybe_int(rows.cell(0, 1)))
        });
        let free = i64::from(rate.count).saturating_sub(counted).max(0);
        let count = count_max.min(usize::try_from(free).unwrap_or(usize::MAX));
        let mut ready = match count {
            0 => Vec::new(),
            _ => self.ready(queue, count)?,
        };
        if !ready.is_empty() {
            // Before they are taken: where one of both fails, less start than may.
            self.note_starts(queue, (at, until), ready.len() as i64)?;
            self.claim(&ready, now, lease)?;
            let slot = StartSlot { at, taken };
            ready.iter_mut().for_each(|job| job.slot = Some(slot));
        }
        let is_used_up = ready.len() as i64 >= free;
        let opens = first.unwrap_or(at).saturating_add(period);
        Ok(RatedJobs {
            taken: ready,
            opens_in_millis: is_used_up.then(|| opens.saturating_sub(now)),
        })
    }

    /// Forgets the starts that count no longer. Those that a clock counted which was ahead count from now on.
    fn forget_starts(self, queue: &str, now: i64, place: (i64, i64)) -> Result<(), Error> {
        let params = || Value::List(vec![queue.into(), Value::Int(now)]);
        if self.0.write(FORGET, &params())?.is_none() {
            self.0.write(CREATE, &Value::Null)?;
        }
        let ahead = self.0.read(AHEAD, &params())?;
        let ahead = ahead.map_or(0, |rows| int(rows.cell(0, 0)));
        if ahead > 0 {
            self.0.write(FORGET_AHEAD, &params())?;
            self.note_starts(queue, place, ahead)?;
        }
        Ok(())
    }

    fn note_starts(self, queue: &str, (at, until): (i64, i64), jobs: i64) -> Result<(), Error> {
        let numbers = [at, until, jobs].map(Value::Int);
        let params = [Value::from(queue)].into_iter().chain(numbers);
        self.write(NOTE, params.collect()).map(drop)
    }

    /// Takes back the starts of jobs that have not begun.
    pub(crate) fn give_back_starts<'b>(
        self,
        jobs: impl IntoIterator<Item = &'b Taken>,
    ) -> Result<(), Error> {
        for ((queue, at), jobs) in unused(jobs) {
            let params = vec![Value::Int(jobs), queue.into(), Value::Int(at)];
            self.write(GIVE_BACK, params)?;
        }
        Ok(())
    }
}
