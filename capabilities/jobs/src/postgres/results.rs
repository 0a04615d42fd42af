//! Rows that a turn gives.

use crate::table::rates::StartSlot;
use crate::table::{Taken, int, maybe_text, small, text};
use sampan_host::Rows;
use std::time::Instant;

pub(super) fn each(rows: &Rows) -> impl Iterator<Item = (&Rows, usize)> {
    (0..rows.len()).map(move |at| (rows, at))
}

pub(super) fn is_true(rows: &Rows, at: usize, column: usize) -> bool {
    int(rows.cell(at, column)) != 0
}

/// Reads jobs that were taken, in the order in which they start. Those of a queue with a rate have the time when
/// their starts were counted.
pub(super) fn taken(rows: &Rows, counted: Option<Instant>) -> Vec<Taken> {
    let mut taken: Vec<(i64, Taken)> = each(rows)
        .map(|(rows, at)| {
            let job = Taken {
                id: int(rows.cell(at, 0)),
                name: text(rows.cell(at, 1)),
                queue: text(rows.cell(at, 2)),
                args: maybe_text(rows.cell(at, 3)),
                attempt: small(rows.cell(at, 4)),
                token: int(rows.cell(at, 5)),
                trace: maybe_text(rows.cell(at, 7)),
                slot: counted.map(|taken| StartSlot {
                    at: int(rows.cell(at, 8)),
                    taken,
                }),
            };
            (int(rows.cell(at, 6)), job)
        })
        .collect();
    taken.sort_by_key(|(priority, job)| (-priority, job.id));
    taken.into_iter().map(|(_, job)| job).collect()
}
