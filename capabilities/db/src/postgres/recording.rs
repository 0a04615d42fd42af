//! The statements of a batch, which are sent together when its function has returned.

use super::limits::BATCH_STATEMENTS_MAX;
use sampan_host::{Error, Value};

/// A statement with its parameters.
pub(super) type RecordedStatement = (String, Value);

/// The statements of the batches that are open.
#[derive(Default)]
pub(super) struct Recording {
    statements: Vec<RecordedStatement>,
    /// The number of statements before each of the open batches.
    begins: Vec<usize>,
}

impl Recording {
    /// Reports whether a batch is open.
    pub(super) fn is_open(&self) -> bool {
        !self.begins.is_empty()
    }

    /// Begins a batch.
    pub(super) fn enter(&mut self) {
        self.begins.push(self.statements.len());
    }

    /// Adds a statement.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn add(&mut self, sql: String, params: Value) -> Result<(), Error> {
        if self.statements.len() >= BATCH_STATEMENTS_MAX {
            return Err(Error::script(format!(
                "a batch has at most {BATCH_STATEMENTS_MAX} statements: use several, or statements that change more \
                 rows"
            )));
        }
        self.statements.push((sql, params));
        Ok(())
    }

    /// Ends the innermost batch: its statements go if it has failed. Returns all statements where it was the outermost
    /// and has succeeded.
    pub(super) fn leave(&mut self, succeeded: bool) -> Option<Vec<RecordedStatement>> {
        let begin = self.begins.pop().unwrap_or_default();
        if !succeeded {
            self.statements.truncate(begin);
        }
        if self.is_open() {
            return None;
        }
        let statements = std::mem::take(&mut self.statements);
        succeeded.then_some(statements)
    }

    /// Forgets what a script that was stopped has left open.
    pub(super) fn clear(&mut self) {
        self.statements.clear();
        self.begins.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(recording: &mut Recording, sql: &str) {
        recording.add(sql.to_owned(), Value::Null).unwrap();
    }

    #[test]
    fn a_batch_that_fails_takes_only_its_own_statements_along() {
        let mut recording = Recording::default();
        recording.enter();
        added(&mut recording, "a");
        recording.enter();
        added(&mut recording, "b");
        assert_eq!(recording.leave(false), None);
        recording.enter();
        added(&mut recording, "c");
        assert_eq!(recording.leave(true), None);
        assert!(recording.is_open());
        let statements = recording.leave(true).unwrap();
        let sql: Vec<&str> = statements.iter().map(|(sql, _)| sql.as_str()).collect();
        assert_eq!(sql, ["a", "c"]);
        recording.enter();
        added(&mut recording, "d");
        assert_eq!(recording.leave(false), None);
        recording.enter();
        assert_eq!(recording.leave(true), Some(Vec::new()));
        assert!(!recording.is_open());
    }
}
