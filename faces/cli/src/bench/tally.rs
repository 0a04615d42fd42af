//! The counts of a load.

use super::connection::{FAILURES, Failure};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// Latencies from 1 µs to 1 h are told apart to three digits, in nanoseconds.
const LATENCIES: (u64, u64, u8) = (1_000, 3_600_000_000_000, 3);

/// The counts of a load.
pub(super) struct Tally {
    /// The latencies of all answers.
    pub(super) latencies: Histogram<u64>,
    /// Those of answers with a status below 400.
    pub(super) accepted: Histogram<u64>,
    /// Those of all requests that were due. One without an answer counts with the time that it has waited.
    pub(super) waits: Histogram<u64>,
    /// Answers by status.
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) received_bytes: u64,
    /// Failures, by their place in [`FAILURES`].
    pub(super) failures: [u64; FAILURES.len()],
    /// The reason why the first connection failed.
    pub(super) connect_fault: Option<String>,
    /// Requests that were due and not sent when the time was over.
    pub(super) unsent: u64,
}

impl Tally {
    pub(super) fn new() -> Result<Self, String> {
        let (lowest, highest, digits) = LATENCIES;
        let empty = Histogram::new_with_bounds(lowest, highest, digits);
        let empty = empty.map_err(|error| error.to_string())?;
        Ok(Self {
            latencies: empty.clone(),
            accepted: empty.clone(),
            waits: empty,
            statuses: BTreeMap::new(),
            received_bytes: 0,
            failures: [0; FAILURES.len()],
            connect_fault: None,
            unsent: 0,
        })
    }

    /// Adds the counts of another thread.
    pub(super) fn add(&mut self, other: &Self) -> Result<(), String> {
        for (own, more) in [
            (&mut self.latencies, &other.latencies),
            (&mut self.accepted, &other.accepted),
            (&mut self.waits, &other.waits),
        ] {
            own.add(more).map_err(|error| error.to_string())?;
        }
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.received_bytes += other.received_bytes;
        for (own, count) in self.failures.iter_mut().zip(other.failures) {
            *own += count;
        }
        if self.connect_fault.is_none() {
            self.connect_fault.clone_from(&other.connect_fault);
        }
        self.unsent += other.unsent;
        Ok(())
    }

    /// Counts a failure.
    pub(super) fn failed(&mut self, failure: &Failure) {
        if let Failure::Connect(error) = failure {
            self.connect_fault.get_or_insert_with(|| error.to_string());
        }
        self.failures[failure.index()] += 1;
    }

    /// Counts an answer.
    pub(super) fn answered(&mut self, status: u16, nanos: u64) {
        self.latencies.saturating_record(nanos);
        self.waits.saturating_record(nanos);
        if status < 400 {
            self.accepted.saturating_record(nanos);
        }
    }

    /// Counts a request that has no answer.
    pub(super) fn unanswered(&mut self, waited: u64) {
        self.waits.saturating_record(waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: u64 = 1_000_000;

    fn near(found: u64, wanted: u64) -> bool {
        // To three digits.
        found.abs_diff(wanted) * 500 < wanted
    }

    #[test]
    fn percentiles_are_those_of_all_threads_to_three_digits() {
        let (mut one, mut other) = (Tally::new().expect("made"), Tally::new().expect("made"));
        for millis in 1..=500 {
            one.answered(200, millis * MILLI);
            other.answered(200, (500 + millis) * MILLI);
        }
        one.add(&other).expect("the same bounds");
        for (percentile, millis) in [(50.0, 500), (90.0, 900), (99.0, 990), (100.0, 1000)] {
            let found = one.latencies.value_at_percentile(percentile);
            assert!(near(found, millis * MILLI), "{percentile}: {found}");
        }
    }

    #[test]
    fn refused_and_unanswered_requests_are_kept_apart() {
        let mut tally = Tally::new().expect("made");
        for _ in 0..98 {
            tally.answered(200, MILLI);
        }
        tally.answered(503, 10 * MILLI);
        tally.unanswered(2_000 * MILLI);
        assert_eq!(
            (
                tally.latencies.len(),
                tally.accepted.len(),
                tally.waits.len()
            ),
            (99, 98, 100)
        );
        assert!(near(tally.accepted.max(), MILLI));
        assert!(near(tally.latencies.max(), 10 * MILLI));
        assert!(near(tally.waits.max(), 2_000 * MILLI));
    }
}
