//! Statements and savepoints within a group, and what follows when one of them undoes the whole transaction.

use crate::group_commit::acquire::refusal;
use crate::group_commit::worker::{GroupState, WorkerDb};
use crate::group_commit::writer::Refused;
use crate::sql_policy::authorizer::is_schema_change;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, StatementError};
use crate::sqlite::open::Role;
use crate::sqlite::run::RunLimits;
use sampan_host::database::LOST_WRITES;
use sampan_host::{Error, ErrorKind, Rows, Value, Verdict};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

impl WorkerDb {
    pub(super) fn check_entry(&self) -> Result<(), Error> {
        if matches!(*self.group.borrow(), GroupState::Committing(_)) {
            // Only work that belongs to no request comes here while a commit is on its way.
            let _ = self.commit_in_place();
        }
        if self.is_lost.get() {
            return Err(ErrorCode::Aborted.error(
                ErrorKind::Script,
                "an earlier error undid everything that this request wrote: it can only be answered 500",
            ));
        }
        Ok(())
    }

    pub(super) fn reader(&self) -> Result<&SqliteConnection, Error> {
        if let Some(reader) = self.reader.get() {
            let ours = self.database.config.is_file_ours().then_some(reader);
            return ours.ok_or_else(|| refusal(&Refused::Gone));
        }
        let opened = self.database.open()?;
        if !opened.may_open() {
            return Err(refusal(&Refused::Gone));
        }
        let reader =
            SqliteConnection::open(&opened.config, Role::Reader).map_err(|fault| fault.error)?;
        Ok(self.reader.get_or_init(|| reader))
    }

    /// Runs `read` if the statement only reads, on the connection that sees what this worker has written; `write`
    /// otherwise. `may_wait`: where the read would take too long, the caller waits for it elsewhere.
    pub(crate) fn run<T>(
        &self,
        sql: &str,
        first_only: bool,
        may_wait: bool,
        work: impl Fn(&SqliteConnection, &RunLimits<'_>) -> Result<T, StatementError>,
    ) -> Result<T, Error> {
        self.check_entry()?;
        let config = &self.database.config;
        let run = |millis: u64, limit_name: &'static str| RunLimits {
            limit: Some(Duration::from_millis(millis)),
            must_stop: Some(&self.watch),
            first_only,
            result_bytes_max: config.result_bytes_max,
            limit_name,
        };
        let reads = run(config.query_inline_millis_max, "query_inline_millis_max");
        self.commit_before_lonely(sql)?;
        let within = match &*self.group.borrow() {
            GroupState::Open(group) => match group.writer.is_readonly(sql) {
                Ok(false) => None,
                Ok(true) => Some(work(&group.writer, &reads)),
                Err(fault) => Some(Err(fault)),
            },
            _ => {
                let reader = self.reader()?;
                if reader.is_readonly(sql).map_err(|fault| fault.error)? {
                    return self.read(reader, sql, may_wait, || work(reader, &reads));
                }
                None
            }
        };
        if let Some(result) = within {
            return result.map_err(|fault| self.examine(sql, fault, 0));
        }
        self.write(sql, may_wait, |writer| {
            work(writer, &run(config.write_millis_max, "write_millis_max"))
        })
    }

    /// A read on the read connection. One that took too long before does not try again where the caller can wait
    /// (`may_wait`).
    fn read<T>(
        &self,
        reader: &SqliteConnection,
        sql: &str,
        may_wait: bool,
        work: impl FnOnce() -> Result<T, StatementError>,
    ) -> Result<T, Error> {
        let slow = self.database.opened().map(|opened| &opened.slow);
        if may_wait && slow.is_some_and(|slow| slow.contains(sql)) {
            return Err(ErrorCode::Timeout.error(
                ErrorKind::TooLong,
                "the statement ran longer than query_inline_millis_max before",
            ));
        }
        self.reads.begin(reader, &self.database.commits);
        work().map_err(|fault| {
            if let Some(slow) = slow.filter(|_| fault.error.kind() == ErrorKind::TooLong) {
                slow.add(sql);
            }
            fault.error
        })
    }

    /// Runs a read on a reader thread, when everything that this worker has written so far is committed.
    pub(crate) async fn read_elsewhere(
        &self,
        sql: String,
        params: Value,
        first_only: bool,
    ) -> Result<Rows, Error> {
        while self.has_group() {
            self.wake.notify_one();
            if self.outbox.settled().await == Verdict::Failed {
                return Err(ErrorCode::Aborted.error(ErrorKind::Internal, LOST_WRITES));
            }
        }
        let opened = self.database.open()?;
        let rows = opened.readers.query(sql, params, first_only).await;
        rows.map_err(|fault| fault.error)
    }

    /// Reports whether the statement writes, as far as that can be told.
    pub(crate) fn writes(&self, sql: &str) -> bool {
        matches!(
            self.reader().map(|reader| reader.is_readonly(sql)),
            Ok(Ok(false))
        )
    }

    fn write<T>(
        &self,
        sql: &str,
        may_wait: bool,
        work: impl Fn(&SqliteConnection) -> Result<T, StatementError>,
    ) -> Result<T, Error> {
        let is_lonely = self.is_lonely(sql);
        if is_lonely && self.may_commit_before() {
            self.commit_now()?;
        }
        self.open_in_place(may_wait)?;
        let result = self.write_one(sql, work)?;
        if is_lonely && !self.is_recorded_with_writes() {
            self.commit_now()?;
        }
        Ok(result)
    }

    /// Commits in the middle of a run, whose writes are lost if that fails.
    pub(super) fn commit_now(&self) -> Result<(), Error> {
        let committed = self.commit_in_place();
        if committed.is_err() {
            self.note_lost();
        }
        committed
    }

    /// One write within the open group. Where the schema has foreign keys that are checked at the end of the
    /// transaction, the statement is a transaction of its own as far as they are concerned.
    pub(super) fn write_one<T>(
        &self,
        sql: &str,
        work: impl Fn(&SqliteConnection) -> Result<T, StatementError>,
    ) -> Result<T, Error> {
        let defers = self.depth.get() == 0
            && self
                .database
                .opened()
                .is_some_and(|opened| opened.defers_keys.load(Relaxed));
        if defers {
            self.control("SAVEPOINT single");
        }
        let (result, violates) = match &*self.group.borrow() {
            GroupState::Open(group) => {
                group.writes.set(group.writes.get() + 1);
                let result = work(&group.writer);
                let violates = self.depth.get() == 0 && group.writer.deferred_violations();
                (result, violates)
            }
            _ => return Err(Error::new(ErrorKind::Internal, "no transaction is open")),
        };
        if is_schema_change(sql)
            && let Some(opened) = self.database.opened()
            && let GroupState::Open(group) = &*self.group.borrow()
        {
            opened.look_at_schema(&group.writer);
        }
        match result {
            Err(fault) => {
                let mut error = self.examine(sql, fault, 1);
                if error.kind() == ErrorKind::TooLong {
                    // A write cannot be done again elsewhere, as a read can.
                    error = error.with_kind(ErrorKind::Script);
                }
                if defers {
                    self.control("ROLLBACK TO single");
                    self.control("RELEASE single");
                }
                Err(error)
            }
            Ok(_) if violates => {
                if defers {
                    self.control("ROLLBACK TO single");
                    self.control("RELEASE single");
                } else {
                    // The schema was changed from outside: only the whole group can be taken back.
                    self.lose_group("FOREIGN KEY constraint failed");
                    if let Some(opened) = self.database.opened() {
                        opened.defers_keys.store(true, Relaxed);
                    }
                }
                let why = "FOREIGN KEY constraint failed at the end of the statement";
                Err(StatementError::refused(ErrorCode::ForeignKey, why, sql).error)
            }
            Ok(value) => {
                if defers {
                    self.control("RELEASE single");
                }
                Ok(value)
            }
        }
    }

    /// After an error of a statement: whether the transaction is still there, and what follows if it is not. A read may
    /// undo it too: `writes` is the number of the group's writes that the statement is, 1 or 0.
    pub(super) fn examine(&self, sql: &str, fault: StatementError, writes: u32) -> Error {
        let is_gone = match &*self.group.borrow() {
            GroupState::Open(group) => !group.writer.in_transaction(),
            _ => false,
        };
        if !is_gone {
            return fault.error;
        }
        let GroupState::Open(group) = self.group.replace(GroupState::Closed) else {
            return fault.error;
        };
        let was_alone = group.writes.get() <= writes && self.depth.get() == 0;
        if let Some(opened) = self.database.opened() {
            // A fault of the disk is not the fault of a request.
            if matches!(fault.code, ErrorCode::Full | ErrorCode::Io { .. }) {
                self.is_failing.set(true);
            } else {
                self.undid.set(true);
                opened.lonely.add(sql);
            }
            opened.take_back(group.writer, &fault);
        }
        if was_alone {
            // This statement was the only write, so its error covers all.
            self.outbox.settle(Verdict::Committed);
            return fault.error;
        }
        self.losses.set(self.losses.get() + 1);
        self.note_lost();
        self.database.report(&format!(
            "a statement undid its whole transaction: {}; all answers that depend on it are replaced by errors",
            fault.error
        ));
        self.outbox.settle(Verdict::Failed);
        fault.error
    }

    /// Gives up the whole open group.
    fn lose_group(&self, why: &str) {
        let GroupState::Open(group) = self.group.replace(GroupState::Closed) else {
            return;
        };
        self.losses.set(self.losses.get() + 1);
        self.note_lost();
        self.database.report(&format!(
            "a group of writes was given up: {why}; all answers that depend on it are replaced by errors"
        ));
        if let Some(opened) = self.database.opened() {
            opened.roll_back(group.writer);
        }
        self.outbox.settle(Verdict::Failed);
    }

    /// Begins a `batch`. Returns how deep it is, from 1.
    pub(crate) fn enter_batch(&self, may_wait: bool) -> Result<u32, Error> {
        self.check_entry()?;
        self.open_in_place(may_wait)?;
        let depth = self.depth.get() + 1;
        if !self.savepoint("SAVEPOINT", depth) {
            return Err(Error::new(
                ErrorKind::Internal,
                "the transaction could not be begun",
            ));
        }
        self.depth.set(depth);
        self.held_before.borrow_mut().push(self.outbox.held());
        Ok(depth)
    }

    /// Ends the innermost `batch`: keeps what it did, or takes it back.
    pub(crate) fn leave_batch(&self, depth: u32, keep: bool) -> Result<(), Error> {
        if depth != self.depth.get() {
            // A stopped script was cleaned up after already.
            return Ok(());
        }
        self.depth.set(depth - 1);
        let held_before = self.held_before.borrow_mut().pop();
        if self.is_lost.get() {
            return if keep {
                Err(ErrorCode::Aborted.error(
                    ErrorKind::Script,
                    "db.batch: nothing of it was kept, because an error undid the transaction",
                ))
            } else {
                Ok(())
            };
        }
        let violates = keep
            && depth == 1
            && match &*self.group.borrow() {
                GroupState::Open(group) => group.writer.deferred_violations(),
                _ => false,
            };
        if !keep || violates {
            self.savepoint("ROLLBACK TO", depth);
            held_before
                .into_iter()
                .for_each(|count| self.outbox.take_back(count));
        }
        let is_released = self.savepoint("RELEASE", depth);
        if violates {
            return Err(ErrorCode::ForeignKey.error(
                ErrorKind::Script,
                "FOREIGN KEY constraint failed at the end of db.batch",
            ));
        }
        if keep && !is_released {
            return Err(Error::new(
                ErrorKind::Internal,
                "db.batch: the transaction could not be ended",
            ));
        }
        Ok(())
    }

    /// Does something with the savepoint of a batch. Most batches are not nested, and theirs is not spelled anew each
    /// time.
    fn savepoint(&self, word: &str, depth: u32) -> bool {
        match (word, depth) {
            ("SAVEPOINT", 1) => self.control("SAVEPOINT batch1"),
            ("RELEASE", 1) => self.control("RELEASE batch1"),
            _ => self.control(&format!("{word} batch{depth}")),
        }
    }

    /// Takes back what a script left open when it was stopped.
    pub(crate) fn close_savepoints(&self) {
        self.is_lost.set(false);
        let depth = self.depth.replace(0);
        if depth == 0 {
            return;
        }
        self.control("ROLLBACK TO batch1");
        self.control("RELEASE batch1");
        if let Some(count) = self.held_before.take().first() {
            self.outbox.take_back(*count);
        }
    }

    /// A statement of our own that does not fail unless the transaction is gone, which is looked at.
    fn control(&self, sql: &str) -> bool {
        let result = match &*self.group.borrow() {
            GroupState::Open(group) => group.writer.control(sql),
            _ => return false,
        };
        match result {
            Ok(()) => true,
            Err(fault) => {
                self.examine(sql, fault, 0);
                false
            }
        }
    }
}
