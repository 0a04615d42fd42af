//! Counts lines that repeat themselves: one fault under load must not fill the disk, nor hide all others.
//!
//! Of each cause [`PER_SECOND_MAX`] lines are written in the second that begins with the first; the others are counted.
//! The memory is bounded: while [`CAUSES_MAX`] causes are known, all others count as one cause.

use sampan_host::log::{Cause, Level};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The longest cause that a line with a count repeats, in bytes.
const SHOWN_BYTES_MAX: usize = 120;

/// The number of lines of one cause that are written in a second.
const PER_SECOND_MAX: u64 = 10;
/// The number of causes that are told apart at a time.
const CAUSES_MAX: usize = 256;
/// The name of the causes beyond that.
const OTHERS: &str = "other causes";
/// The time that lines are counted before the count is written.
const WINDOW: Duration = Duration::from_secs(1);

/// The decision about a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepeatVerdict {
    /// Write it.
    Write,
    /// Count it only.
    Count,
    /// Count it only; the count must be asked for at that time.
    CountAndTellBy(Instant),
}

/// The counts of each cause of the last second.
#[derive(Debug, Default)]
pub(crate) struct Repeats(Mutex<CauseCounts>);

#[derive(Debug, Default)]
struct CauseCounts {
    causes: HashMap<(Level, String), CauseCount>,
    /// True if a caller will ask for the counts.
    is_scheduled: bool,
}

#[derive(Debug)]
struct CauseCount {
    shown: String,
    since: Instant,
    lines: u64,
}

impl CauseCount {
    fn left_out(&self) -> u64 {
        self.lines.saturating_sub(PER_SECOND_MAX)
    }

    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= WINDOW
    }
}

impl Repeats {
    /// Decides about a line.
    pub(crate) fn admit(&self, level: Level, cause: Cause, now: Instant) -> RepeatVerdict {
        let mut inner = self.lock();
        let Cause { key, shown } = cause;
        let mut shown = crate::text::cut(&shown, SHOWN_BYTES_MAX);
        let mut key = (level, key);
        if inner.causes.len() >= CAUSES_MAX && !inner.causes.contains_key(&key) {
            inner
                .causes
                .retain(|_, counted| !counted.is_over(now) || counted.left_out() > 0);
            if inner.causes.len() >= CAUSES_MAX {
                key = (level, OTHERS.to_owned());
                OTHERS.clone_into(&mut shown);
            }
        }
        let counted = inner.causes.entry(key).or_insert(CauseCount {
            shown,
            since: now,
            lines: 0,
        });
        if counted.is_over(now) && counted.left_out() == 0 {
            (counted.since, counted.lines) = (now, 0);
        }
        counted.lines += 1;
        if counted.left_out() == 0 {
            return RepeatVerdict::Write;
        }
        let due = counted.since + WINDOW;
        if std::mem::replace(&mut inner.is_scheduled, true) {
            return RepeatVerdict::Count;
        }
        RepeatVerdict::CountAndTellBy(due.max(now))
    }

    /// Forgets that a caller would ask for the counts.
    pub(crate) fn not_scheduled(&self) {
        self.lock().is_scheduled = false;
    }

    /// The counts of those whose second is over at `now`, or of all, and when to ask again if others are left.
    pub(crate) fn take(
        &self,
        now: Option<Instant>,
    ) -> (Vec<(Level, u64, String)>, Option<Instant>) {
        let mut inner = self.lock();
        let mut told = Vec::new();
        let mut next: Option<Instant> = None;
        inner.causes.retain(|(level, _), counted| {
            if !now.is_none_or(|now| counted.is_over(now)) {
                if counted.left_out() > 0 {
                    let due = counted.since + WINDOW;
                    next = Some(next.map_or(due, |next| next.min(due)));
                }
                return true;
            }
            if counted.left_out() > 0 {
                told.push((*level, counted.left_out(), counted.shown.clone()));
            }
            false
        });
        if now.is_some() {
            inner.is_scheduled = next.is_some();
        }
        told.sort();
        (told, next)
    }

    fn lock(&self) -> MutexGuard<'_, CauseCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_begins_again() {
        let repeats = Repeats::default();
        let begin = Instant::now();
        let cause = || Cause::place("app.lua:1");
        let mut written = 0;
        for second in 0..3 {
            let now = begin + Duration::from_millis(second * 1_100);
            for _ in 0..100 {
                written +=
                    u64::from(repeats.admit(Level::Error, cause(), now) == RepeatVerdict::Write);
            }
            let (told, next) = repeats.take(Some(now + Duration::from_millis(1_050)));
            assert_eq!(told, [(Level::Error, 90, "app.lua:1".to_owned())]);
            assert_eq!(next, None);
        }
        assert_eq!(written, 30);
    }

    #[test]
    fn the_count_is_asked_for_once_and_at_the_end_of_the_second() {
        let repeats = Repeats::default();
        let begin = Instant::now();
        let mut asked = Vec::new();
        for _ in 0..20 {
            if let RepeatVerdict::CountAndTellBy(due) =
                repeats.admit(Level::Warn, Cause::place("a"), begin)
            {
                asked.push(due);
            }
        }
        assert_eq!(asked, [begin + WINDOW]);
        let (told, next) = repeats.take(Some(begin));
        assert_eq!((told.len(), next), (0, Some(begin + WINDOW)), "too early");
    }

    #[test]
    fn causes_without_end_need_no_memory_without_end() {
        let repeats = Repeats::default();
        let now = Instant::now();
        let mut written = 0;
        for number in 0..100_000 {
            let cause = Cause::place(format!("app.lua:{number}"));
            written += usize::from(repeats.admit(Level::Error, cause, now) == RepeatVerdict::Write);
        }
        assert!(repeats.lock().causes.len() <= CAUSES_MAX + 4);
        assert!(written <= CAUSES_MAX + 40, "{written}");
        let (told, _) = repeats.take(None);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].2, OTHERS);
        // Later there is room again for causes by their names.
        let later = now + Duration::from_secs(2);
        assert_eq!(
            repeats.admit(Level::Error, Cause::place("b"), later),
            RepeatVerdict::Write
        );
    }
}
