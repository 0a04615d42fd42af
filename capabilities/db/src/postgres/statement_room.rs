//! The room for statements that are under way: a script that does not await them could begin any number.

use crate::sqlite::error::ErrorCode;
use sampan_host::{Error, ErrorKind, Value};
use std::cell::Cell;
use std::rc::Rc;

/// The bytes that a value counts beside its text.
const VALUE_BYTES: usize = 32;

/// The bytes of the statements that are under way, of one transaction or outside of transactions.
pub(super) struct StatementRoom {
    used: Rc<Cell<usize>>,
    bytes_max: usize,
    /// Those whose statements they are, for errors.
    owner: &'static str,
}

/// The room of a statement, which it gives back when it is dropped.
pub(super) struct TakenRoom {
    used: Rc<Cell<usize>>,
    bytes: usize,
}

impl StatementRoom {
    pub(super) fn new(bytes_max: usize, owner: &'static str) -> Self {
        Self {
            used: Rc::default(),
            bytes_max,
            owner,
        }
    }

    /// Takes the room of a statement with so many bytes. One that is alone has it always.
    ///
    /// # Errors
    /// `busy`: those that are under way leave too little.
    pub(super) fn take(&self, bytes: usize) -> Result<TakenRoom, Error> {
        // A large one leaves half of the room to others.
        let bytes = bytes.min(self.bytes_max / 2);
        let before = self.used.get();
        let used = before.saturating_add(bytes);
        if before > 0 && used > self.bytes_max {
            return Err(self.full());
        }
        self.used.set(used);
        Ok(TakenRoom {
            used: Rc::clone(&self.used),
            bytes,
        })
    }

    #[cold]
    fn full(&self) -> Error {
        let text = format!(
            "statements of {} that wait for PostgreSQL may have {} bytes, and those that are under way leave too \
             little: await statements before you begin more",
            self.owner, self.bytes_max
        );
        ErrorCode::Busy.error(ErrorKind::Unavailable, text)
    }
}

impl Drop for TakenRoom {
    fn drop(&mut self) {
        self.used.set(self.used.get().saturating_sub(self.bytes));
    }
}

/// Returns the bytes of a statement with its parameters.
pub(super) fn statement_bytes(sql: &str, params: &Value) -> usize {
    sql.len() + value_bytes(params)
}

/// Returns the bytes of a value, at least approximately.
fn value_bytes(value: &Value) -> usize {
    let inside = match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.iter().map(value_bytes).sum(),
        Value::Map(members) => {
            let members = members.iter();
            members
                .map(|(name, member)| name.len() + value_bytes(member))
                .sum()
        }
        _ => 0,
    };
    VALUE_BYTES + inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_beside_others_have_the_room_that_these_leave() {
        let room = StatementRoom::new(1_000, "a transaction");
        let large = room.take(5_000).expect("it is alone");
        let half = room.take(500).expect("as much as the large one leaves");
        let error = room.take(1).err().expect("no room");
        assert_eq!(
            (error.code(), error.kind()),
            (Some("busy"), ErrorKind::Unavailable)
        );
        assert!(error.message().contains("1000 bytes"), "{error}");
        drop((large, half));
        let small: Vec<_> = (0..10).map(|_| room.take(100).expect("room")).collect();
        assert!(room.take(1).is_err());
        drop(small);
        assert_eq!(room.used.get(), 0);
    }

    #[test]
    fn parameters_count_however_they_are_given() {
        let text = || Value::Text("x".repeat(1_000));
        for params in [
            Value::List(vec![text(), Value::Bytes(vec![0; 1_000])]),
            Value::Map(vec![("a".to_owned(), Value::List(vec![text(), text()]))]),
        ] {
            let bytes = statement_bytes("SELECT 1", &params);
            assert!((2_000..2_300).contains(&bytes), "{bytes}");
        }
        let many = Value::List(vec![Value::Null; 1_000]);
        assert!(statement_bytes("", &many) >= 1_000);
    }
}
