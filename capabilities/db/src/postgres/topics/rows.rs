//! The rows that the statements give.

use super::sql;
use sampan_host::carrier::{Arrival, OwnMember, ProcessMember};
use sampan_host::{Cell, Error, ErrorKind, Rows};
use std::sync::Arc;

/// The state of the order of messages.
pub(super) struct OrderState {
    pub(super) epoch: Arc<str>,
    /// The number of the last message that was removed.
    pub(super) forgotten: u64,
    /// The number of the last message.
    pub(super) last: u64,
    /// The number of the last message that a process that starts does not read.
    pub(super) first: u64,
    pub(super) members: Vec<ProcessMember>,
}

/// The result of a read.
pub(super) struct Part {
    pub(super) epoch: Arc<str>,
    pub(super) forgotten: u64,
    pub(super) messages: Vec<PartMessage>,
    /// True if there may be more.
    pub(super) is_full: bool,
}

/// A message that was read; one of a kind that this version does not know has only its number.
pub(super) struct PartMessage {
    pub(super) number: u64,
    pub(super) arrival: Option<Arrival>,
}

pub(super) fn text(rows: &Rows, row: usize, column: usize) -> &str {
    match rows.cell(row, column) {
        Cell::Text(text) => text,
        _ => "",
    }
}

pub(super) fn number(rows: &Rows, row: usize, column: usize) -> u64 {
    match rows.cell(row, column) {
        Cell::Int(number) => u64::try_from(number).unwrap_or(0),
        _ => 0,
    }
}

/// Reports whether the first cell is true.
pub(super) fn is_true(rows: &Rows) -> bool {
    !rows.is_empty() && matches!(rows.cell(0, 0), Cell::Int(1))
}

#[cold]
fn no_state() -> Error {
    let text = "the table _sampan_topics is empty: delete the tables _sampan_topics, _sampan_messages and \
                _sampan_members, and start the servers again";
    Error::new(ErrorKind::Internal, text)
}

impl OrderState {
    pub(super) fn read(rows: &Rows) -> Result<Self, Error> {
        if rows.is_empty() {
            return Err(no_state());
        }
        let members = (0..rows.len()).filter(|row| !text(rows, *row, 4).is_empty());
        let members = members.map(|row| ProcessMember {
            process: text(rows, row, 4).into(),
            member: OwnMember {
                number: number(rows, row, 5),
                topic: text(rows, row, 6).into(),
                json: text(rows, row, 7).to_owned(),
            },
            joined: number(rows, row, 8),
        });
        let forgotten = number(rows, 0, 1);
        Ok(Self {
            epoch: text(rows, 0, 0).into(),
            forgotten,
            last: number(rows, 0, 2),
            first: number(rows, 0, 3).max(forgotten),
            members: members.collect(),
        })
    }
}

impl Part {
    pub(super) fn read(rows: &Rows) -> Result<Self, Error> {
        if rows.is_empty() {
            return Err(no_state());
        }
        let (mut messages, mut bytes) = (Vec::with_capacity(rows.len()), 0);
        for row in (0..rows.len()).filter(|row| rows.cell(*row, 2) != Cell::Null) {
            let body = match rows.cell(row, 6) {
                Cell::Bytes(body) => body,
                _ => &[],
            };
            bytes += body.len();
            let number = number(rows, row, 2);
            let arrival = sql::kind(text(rows, row, 4)).map(|kind| Arrival {
                number,
                topic: text(rows, row, 3).into(),
                kind,
                payload: sql::payload(text(rows, row, 5), body),
            });
            messages.push(PartMessage { number, arrival });
        }
        Ok(Self {
            epoch: text(rows, 0, 0).into(),
            forgotten: number(rows, 0, 1),
            is_full: messages.len() >= sql::READ_ROWS || bytes >= sql::READ_BYTES,
            messages,
        })
    }
}
