//! The statements of a batch, which are sent together when its function has returned.

use super::limits::{BATCH_STATEMENTS_MAX, STATEMENTS_BYTES_MAX};
use super::statement_room::statement_bytes;
use sampan_host::carrier::Publication;
use sampan_host::{Error, RunOwner, Value};

/// A statement with its parameters.
pub(super) type RecordedStatement = (String, Value);

/// The first word of a batch, where its statements are told as one.
pub(crate) const BATCH: &str = "BATCH";

/// The most bytes of the statements of a batch that are told.
const BATCH_TEXT_BYTES_MAX: usize = 4_096;

/// Returns the statements of a batch as one text. One that is repeated stands there once.
pub(super) fn batch_text(statements: &[RecordedStatement]) -> String {
    let mut text = BATCH.to_owned();
    let mut last = None;
    for (sql, _) in statements {
        if last == Some(sql) {
            continue;
        }
        // A comment may end at the end of a line.
        text.push_str(if last.is_some() { ";\n" } else { " " });
        let room = BATCH_TEXT_BYTES_MAX.saturating_sub(text.len());
        if sql.len() > room {
            text.push_str(&sql[..sql.floor_char_boundary(room)]);
            text.push('…');
            break;
        }
        text.push_str(sql);
        last = Some(sql);
    }
    text
}

/// Something with which messages are published: a transaction that is open.
pub(super) trait Encloses {
    /// Reports whether it is open, and a run's.
    fn is_open_for(&self, owner: &RunOwner) -> bool;

    /// Publishes a message with the commit.
    ///
    /// # Errors
    /// There are too many.
    fn enclose(&self, message: &Publication) -> Result<(), Error>;
}

/// The statements of the batches that are open.
#[derive(Default)]
pub(super) struct Recording {
    recorded: Recorded,
    /// The numbers of statements, their bytes and messages before each of the open batches.
    begins: Vec<(usize, usize, usize)>,
}

/// Called when a batch was sent and has succeeded.
pub(super) type OnSent = Box<dyn FnOnce()>;

/// The content of a batch.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) statements: Vec<RecordedStatement>,
    /// The bytes of the statements with their parameters.
    pub(super) bytes: usize,
    /// Those who are told when statements were sent, each with the number of statements then.
    sent: Vec<(usize, OnSent)>,
    /// The messages that are published with it.
    pub(super) messages: Vec<Publication>,
}

impl Recorded {
    /// To be called when its statements were sent and have succeeded.
    pub(super) fn tell_sent(self) {
        self.sent.into_iter().for_each(|(_, tell)| tell());
    }
}

impl Recording {
    /// Reports whether a batch is open.
    pub(super) fn is_open(&self) -> bool {
        !self.begins.is_empty()
    }

    /// Begins a batch.
    pub(super) fn enter(&mut self) {
        let Recorded {
            statements,
            bytes,
            messages,
            ..
        } = &self.recorded;
        self.begins.push((statements.len(), *bytes, messages.len()));
    }

    /// Adds a statement.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn add(&mut self, sql: String, params: Value) -> Result<(), Error> {
        if self.recorded.statements.len() >= BATCH_STATEMENTS_MAX {
            return Err(Error::script(format!(
                "a batch has at most {BATCH_STATEMENTS_MAX} statements: use several, or statements that change more \
                 rows"
            )));
        }
        let bytes = self
            .recorded
            .bytes
            .saturating_add(statement_bytes(&sql, &params));
        if bytes > STATEMENTS_BYTES_MAX {
            return Err(Error::script(format!(
                "the statements of a batch have at most {STATEMENTS_BYTES_MAX} bytes, with their parameters: use \
                 several batches"
            )));
        }
        self.recorded.bytes = bytes;
        self.recorded.statements.push((sql, params));
        Ok(())
    }

    /// Adds a statement of a capability, which is told when it was sent. False where no batch is open.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn add_if_open(
        &mut self,
        sql: &str,
        params: &Value,
        sent: OnSent,
    ) -> Result<bool, Error> {
        if !self.is_open() {
            return Ok(false);
        }
        self.add(sql.to_owned(), params.clone())?;
        let place = self.recorded.statements.len();
        self.recorded.sent.push((place, sent));
        Ok(true)
    }

    /// Adds a message.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn publish(&mut self, message: &Publication) -> Result<(), Error> {
        if self.recorded.messages.len() >= BATCH_STATEMENTS_MAX {
            return Err(Error::script(format!(
                "a batch publishes at most {BATCH_STATEMENTS_MAX} messages"
            )));
        }
        self.recorded.messages.push(message.clone());
        Ok(())
    }

    /// Ends the innermost batch: its content goes if it has failed. Returns all where it was the outermost and has
    /// succeeded.
    pub(super) fn leave(&mut self, succeeded: bool) -> Option<Recorded> {
        let (statements, bytes, messages) = self.begins.pop().unwrap_or_default();
        if !succeeded {
            self.recorded.statements.truncate(statements);
            self.recorded.bytes = bytes;
            self.recorded.sent.retain(|(place, _)| *place <= statements);
            self.recorded.messages.truncate(messages);
        }
        if self.is_open() {
            return None;
        }
        let recorded = std::mem::take(&mut self.recorded);
        succeeded.then_some(recorded)
    }

    /// Forgets what a script that was stopped has left open.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::topics::Payload;
    use std::cell::RefCell;
    use std::rc::Rc;

    fn added(recording: &mut Recording, sql: &str) {
        recording.add(sql.to_owned(), Value::Null).unwrap();
    }

    fn message(topic: &str) -> Publication {
        Publication {
            topic: topic.into(),
            payload: Payload::Text(topic.to_owned()),
        }
    }

    #[test]
    fn a_batch_that_fails_takes_only_its_own_statements_along() {
        let mut recording = Recording::default();
        recording.enter();
        added(&mut recording, "a");
        recording.enter();
        added(&mut recording, "b");
        recording.publish(&message("b")).unwrap();
        assert!(recording.leave(false).is_none());
        recording.enter();
        added(&mut recording, "c");
        recording.publish(&message("c")).unwrap();
        assert!(recording.leave(true).is_none());
        assert!(recording.is_open());
        let recorded = recording.leave(true).unwrap();
        let sql = recorded.statements.iter().map(|(sql, _)| sql.as_str());
        assert_eq!(sql.collect::<Vec<&str>>(), ["a", "c"]);
        let topics = recorded.messages.iter().map(|message| &*message.topic);
        assert_eq!(topics.collect::<Vec<&str>>(), ["c"]);
        recording.enter();
        added(&mut recording, "d");
        assert!(recording.leave(false).is_none());
        recording.enter();
        assert!(recording.leave(true).unwrap().statements.is_empty());
        assert!(!recording.is_open());
    }

    #[test]
    fn a_batch_has_a_limit_of_bytes() {
        let mut recording = Recording::default();
        recording.enter();
        recording.enter();
        added(&mut recording, "a");
        // As if it had a large parameter.
        recording.recorded.bytes = STATEMENTS_BYTES_MAX;
        let error = recording.add("b".to_owned(), Value::Null);
        let error = error.expect_err("no room");
        assert!(error.message().contains("use several batches"), "{error}");
        // Those of a batch that has failed do not count.
        assert!(recording.leave(false).is_none());
        added(&mut recording, "c");
        let recorded = recording.leave(true).expect("all");
        assert_eq!(recorded.statements.len(), 1);
        assert_eq!(recorded.bytes, statement_bytes("c", &Value::Null));
    }

    #[test]
    fn a_batch_is_told_as_one_text_of_limited_length() {
        let text = |list: &[&str]| {
            let list = list.iter().map(|sql| ((*sql).to_owned(), Value::Null));
            batch_text(&list.collect::<Vec<_>>())
        };
        assert_eq!(
            text(&["a -- b", "a -- b", "c", "a -- b"]),
            "BATCH a -- b;\nc;\na -- b"
        );
        let long = "ä".repeat(BATCH_TEXT_BYTES_MAX);
        for list in [&[&*long, "b"][..], &["b", &*long], &["b", &*long, &*long]] {
            let text = text(list);
            assert!(text.len() <= BATCH_TEXT_BYTES_MAX + '…'.len_utf8());
            assert!(text.ends_with("ä…"), "{text}");
        }
    }

    #[test]
    fn only_statements_that_were_sent_are_told() {
        let told: Rc<RefCell<Vec<&str>>> = Rc::default();
        let mut recording = Recording::default();
        let add = |recording: &mut Recording, name: &'static str| {
            let told = Rc::clone(&told);
            let sent = Box::new(move || told.borrow_mut().push(name));
            assert!(recording.add_if_open(name, &Value::Null, sent).unwrap());
        };
        recording.enter();
        add(&mut recording, "kept");
        recording.enter();
        add(&mut recording, "taken back");
        assert!(recording.leave(false).is_none());
        let recorded = recording.leave(true).unwrap();
        assert!(told.borrow().is_empty());
        recorded.tell_sent();
        assert_eq!(*told.borrow(), ["kept"]);
    }
}
