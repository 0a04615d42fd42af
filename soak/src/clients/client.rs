//! A client at work, and what all kinds of clients do.

use crate::random::Random;
use crate::visitor::Visitor;
use sampan_testkit::wait;
use std::time::Duration;

/// A client at work: its visitor, its random numbers, and its number among those of its kind.
pub(super) struct Client {
    pub(super) visitor: Visitor,
    pub(super) random: Random,
    pub(super) number: u64,
}

impl Client {
    pub(super) fn has_ended(&self) -> bool {
        self.visitor.site.run.has_ended()
    }

    /// Lets some time pass, so that clients leave time for each other: up to so many milliseconds.
    pub(super) fn pause(&mut self, millis_max: u64) {
        wait::dawdle(Duration::from_millis(self.random.between(0, millis_max)));
    }
}

/// Parses `1:a,2:b`, as the app lists rows.
pub(super) fn listed(value: &serde_json::Value) -> Option<Vec<(u64, String)>> {
    let rows = value.get("rows")?.as_str()?.split(',');
    let row = |row: &str| {
        let (seq, value) = row.split_once(':')?;
        Some((seq.parse().ok()?, value.to_owned()))
    };
    rows.filter(|row| !row.is_empty()).map(row).collect()
}
