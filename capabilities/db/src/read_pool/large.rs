//! Statements with large results. Making script values of these keeps a worker long, so it is foreseen as soon as such
//! a statement is asked for again.

use sampan_host::Rows;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// About the time that the script's value of a cell takes.
const CELL: Duration = Duration::from_nanos(50);

/// About the time that a byte of text in it takes.
const BYTE: Duration = Duration::from_nanos(1);

/// The shortest time that is remembered: no run is slow below it.
const REMEMBERED_MIN: Duration = Duration::from_millis(1);

/// The number of statements that are remembered; beyond that all are forgotten.
const REMEMBERED_MAX: usize = 1_000;

/// The statements of a database whose last result on a reader thread was large.
#[derive(Default)]
pub(crate) struct LargeResults {
    any: AtomicBool,
    times: Mutex<HashMap<String, Duration>>,
}

/// Returns about the time that it takes to make script values of rows.
fn time_of(rows: &Rows) -> Duration {
    let (cells, bytes) = rows.size();
    let times =
        |one: Duration, count: usize| one.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    times(CELL, cells) + times(BYTE, bytes)
}

impl LargeResults {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Duration>> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time for the result that a statement had last, if that was large.
    pub(crate) fn time(&self, sql: &str) -> Option<Duration> {
        match self.any.load(Relaxed) {
            true => self.lock().get(sql).copied(),
            false => None,
        }
    }

    /// Takes note of a result. Returns the time for it, if it is large.
    pub(crate) fn note(&self, sql: &str, rows: &Rows) -> Option<Duration> {
        let time = time_of(rows);
        if time < REMEMBERED_MIN {
            if self.any.load(Relaxed) {
                self.lock().remove(sql);
            }
            return None;
        }
        let mut times = self.lock();
        if times.len() >= REMEMBERED_MAX {
            times.clear();
        }
        times.insert(sql.to_owned(), time);
        self.any.store(true, Relaxed);
        Some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::Cell;

    fn rows(cells: usize) -> Rows {
        Rows::of(&["a"], &vec![Cell::Int(1); cells])
    }

    #[test]
    fn a_large_result_is_remembered_until_the_statement_has_a_small_one() {
        let large = LargeResults::default();
        assert_eq!(large.note("SELECT 1", &rows(1)), None);
        assert_eq!(large.time("SELECT a"), None);
        let time = large.note("SELECT a", &rows(100_000));
        assert_eq!(time, Some(Duration::from_millis(5)));
        assert_eq!(
            (large.time("SELECT a"), large.time("SELECT 1")),
            (time, None)
        );
        assert_eq!(large.note("SELECT a", &rows(10)), None);
        assert_eq!(large.time("SELECT a"), None);
        let text = Rows::of(&["a"], &[Cell::Text(&"x".repeat(2_000_000))]);
        assert!(large.note("SELECT a", &text) >= Some(Duration::from_millis(2)));
    }
}
