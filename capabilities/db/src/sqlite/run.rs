//! One execution of a statement: its limits, and what it changed. Its rows are read in [`crate::sqlite::rows`].
//!
//! SQLite calls the progress handler every [`PROGRESS_OPS`] instructions of its virtual machine; what ends before the
//! first call costs no look at the clock. A single instruction is never interrupted: the length of patterns and values
//! is limited in [`crate::sqlite::open`], and functions that would take long are replaced in
//! [`crate::sql_policy::functions`].

use crate::sqlite::error::{ErrorCode, StatementError};
use crate::sqlite::memory;
use crate::sqlite::status::WatchSlot;
use rusqlite::Connection;
use sampan_host::{Hint, Watch};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Instructions of SQLite's virtual machine between two looks at the limits: some microseconds, or longer where
/// each row has long values to work through.
const PROGRESS_OPS: i32 = 250;

/// The way a statement is run.
pub(crate) struct RunLimits<'a> {
    /// The longest time that it may run; without, as long as it takes.
    pub(crate) limit: Option<Duration>,
    /// The script that waits for it, and may be told to stop.
    pub(crate) must_stop: Option<&'a Watch>,
    /// True if only the first row is wanted. A statement that writes is run to its end nevertheless.
    pub(crate) first_only: bool,
    /// The most that the rows may take in memory.
    pub(crate) result_bytes_max: usize,
    /// The name of `limit` in the configuration.
    pub(crate) limit_name: &'static str,
}

/// The effect of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Rows that it inserted, changed or deleted itself, without those of triggers and foreign key actions.
    pub(crate) changes: i64,
    /// The id of the row that it inserted last; 0 if it inserted none.
    pub(crate) last_id: i64,
}

/// An error, before the statement's text is known.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// SQLite said so.
    Sqlite(rusqlite::Error),
    /// SQLite said so when it prepared the statement.
    Preparing(rusqlite::Error),
    /// The script's fault, found here: the message, and what the caller's language may have to do with it.
    Refused(ErrorCode, String, Option<Hint>),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// The memory that SQLite takes for a statement of a connection.
#[derive(Clone, Copy)]
pub(crate) struct MemoryLimit {
    /// The most beside the page cache.
    pub(crate) statement_bytes_max: u64,
    /// The page cache, which the statement may fill, and as much again for what is sorted before it goes to a file.
    pub(crate) cache_bytes: u64,
}

impl MemoryLimit {
    /// No limit.
    pub(crate) const NONE: Self = Self {
        statement_bytes_max: u64::MAX,
        cache_bytes: 0,
    };

    fn bytes(self) -> u64 {
        let cache = self.cache_bytes.saturating_mul(2);
        self.statement_bytes_max.saturating_add(cache)
    }

    /// Returns the error of a statement that got no more.
    pub(crate) fn used_up(self, sql: &str) -> StatementError {
        let message = format!(
            "the statement takes more memory than statement_bytes_max ({} bytes): let it aggregate fewer rows at a \
             time, give it shorter values, or raise the limit",
            self.statement_bytes_max
        );
        StatementError::refused(ErrorCode::TooLarge, &message, sql)
    }
}

/// The reason why the progress handler ended a statement: here none, as it did not.
const BY_NOTHING: u8 = 0;
const BY_LIMIT: u8 = 1;
const BY_STOP: u8 = 2;

/// The limits of the statement that runs now, where the progress handler finds them. Only the connection's thread reads
/// and writes these; they are atomic because the handler has to be `Send`.
#[derive(Default)]
pub(crate) struct RunGuard {
    /// Counts the executions, so that the handler notices the beginning of one.
    run: AtomicU64,
    /// 0 is none.
    limit_nanos: AtomicU64,
    watch: WatchSlot,
    ended_by: AtomicU8,
}

impl RunGuard {
    /// Has SQLite ask now and then whether to go on.
    pub(crate) fn install(self: &Arc<Self>, sqlite: &mut Connection) -> rusqlite::Result<()> {
        let guard = Arc::clone(self);
        let mut seen_run = 0;
        let mut started = Instant::now();
        sqlite.progress_handler(
            PROGRESS_OPS,
            Some(move || {
                let run = guard.run.load(Relaxed);
                if run != seen_run {
                    (seen_run, started) = (run, Instant::now());
                }
                guard.must_end(started)
            }),
        )
    }

    fn must_end(&self, started: Instant) -> bool {
        let ended_by = if self.watch.must_stop() {
            BY_STOP
        } else {
            match self.limit_nanos.load(Relaxed) {
                0 => return false,
                limit if started.elapsed() < Duration::from_nanos(limit) => return false,
                _ => BY_LIMIT,
            }
        };
        self.ended_by.store(ended_by, Relaxed);
        true
    }

    /// Does `work`, the execution of one statement, within its limits.
    pub(crate) fn during<T>(
        &self,
        run: &RunLimits<'_>,
        memory: MemoryLimit,
        work: impl FnOnce() -> T,
    ) -> T {
        /// Takes the limit away, after a panic too: a COMMIT that comes next must not be interrupted.
        struct Over<'a>(&'a RunGuard);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.limit_nanos.store(0, Relaxed);
            }
        }
        let nanos = run.limit.map_or(0, |limit| {
            u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX).max(1)
        });
        self.run.store(self.run.load(Relaxed) + 1, Relaxed);
        self.ended_by.store(BY_NOTHING, Relaxed);
        self.limit_nanos.store(nanos, Relaxed);
        let _over = Over(self);
        memory::within(memory.bytes(), || match run.must_stop {
            Some(watch) => self.watch.during(watch, work),
            None => work(),
        })
    }

    /// Does `work`, whose statements are interrupted once they have run for so long together.
    pub(crate) fn for_time<T>(&self, time: Duration, work: impl FnOnce() -> T) -> T {
        let run = RunLimits {
            limit: Some(time),
            must_stop: None,
            first_only: false,
            result_bytes_max: usize::MAX,
            limit_name: "",
        };
        self.during(&run, MemoryLimit::NONE, work)
    }

    /// Returns the reason why the statement was interrupted, if it was by this guard.
    pub(crate) fn reason(&self, run: &RunLimits<'_>, sql: &str) -> Option<StatementError> {
        match self.ended_by.load(Relaxed) {
            BY_LIMIT => run
                .limit
                .map(|limit| StatementError::too_long(run.limit_name, limit, sql)),
            BY_STOP => Some(StatementError::stopped(sql)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::testing::{all, scratch};
    use sampan_client::wait;
    use sampan_host::{Cell, ErrorKind, Value};
    use std::sync::atomic::AtomicBool;
    use std::thread;

    const FOREVER: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

    #[test]
    fn a_statement_ends_at_its_limit() {
        let (_folder, _, db) = scratch();
        let run = RunLimits {
            limit: Some(Duration::from_millis(20)),
            ..all()
        };
        let fault = db.query(FOREVER, &Value::Null, &run).unwrap_err();
        assert_eq!(fault.error.kind(), ErrorKind::TooLong);
        assert_eq!(fault.code, ErrorCode::Timeout);
        assert!(fault.error.message().starts_with(
            "the statement ran longer than query_inline_millis_max (20 ms): run it where it can wait"
        ));
        // The limit begins anew with each statement, also when that has run before.
        wait::dawdle(Duration::from_millis(30));
        let counted = FOREVER.replace("FROM n)", "FROM n WHERE i < 10000)");
        // One of many is quick enough, however busy the machine is.
        let count = || db.query(&counted, &Value::Null, &run);
        assert!((0..100).any(|_| count().is_ok_and(|rows| rows.len() == 1)));
        assert!(db.exec(FOREVER, &Value::Null, &run).is_err());
    }

    #[test]
    fn our_own_statements_have_no_limit_left_over() {
        let (_folder, _, db) = scratch();
        let run = RunLimits {
            limit: Some(Duration::from_nanos(1)),
            ..all()
        };
        assert!(db.query(FOREVER, &Value::Null, &run).is_err());
        let counted = FOREVER.replace("FROM n)", "FROM n WHERE i < 100000)");
        db.control(&counted).unwrap();
    }

    #[test]
    fn a_stopped_script_stops_its_statement() {
        let (_folder, _, db) = scratch();
        let watch = Arc::new(Watch::default());
        watch.enter(1);
        let stopper = {
            let watch = Arc::clone(&watch);
            thread::spawn(move || {
                wait::dawdle(Duration::from_millis(20));
                watch.stop(watch.epoch());
            })
        };
        let run = RunLimits {
            must_stop: Some(&watch),
            ..all()
        };
        let fault = db.query(FOREVER, &Value::Null, &run).unwrap_err();
        assert_eq!(fault.error.kind(), ErrorKind::Stopped);
        assert_eq!(fault.code, ErrorCode::Interrupted);
        stopper.join().unwrap();
        // A statement without a request is not stopped by an earlier stop.
        let counted = FOREVER.replace("FROM n)", "FROM n WHERE i < 100000)");
        assert_eq!(db.rows(&counted).len(), 1);
    }

    #[test]
    fn another_interrupt_is_told_apart() {
        let (_folder, _, db) = scratch();
        let handle = db.sqlite().get_interrupt_handle();
        // Again and again, as it may not have begun.
        let is_over = Arc::new(AtomicBool::new(false));
        let must_end = Arc::clone(&is_over);
        let interrupter = thread::spawn(move || {
            wait::until("its end", || {
                handle.interrupt();
                must_end.load(Relaxed)
            });
        });
        let fault = db.query(FOREVER, &Value::Null, &all()).unwrap_err();
        is_over.store(true, Relaxed);
        assert_eq!(fault.error.kind(), ErrorKind::Unavailable);
        assert_eq!(fault.code, ErrorCode::Interrupted);
        interrupter.join().unwrap();
    }

    #[test]
    fn a_large_result_is_refused() {
        let (_folder, _, db) = scratch();
        let run = RunLimits {
            result_bytes_max: 10_000,
            ..all()
        };
        let cases = [
            // One large cell, many small ones, and integers alone.
            "SELECT zeroblob(20000)",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT 'text' FROM n",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i FROM n",
        ];
        for sql in cases {
            let fault = db.query(sql, &Value::Null, &run).unwrap_err();
            let message = fault.error.message();
            assert!(
                message.starts_with("the result is larger than result_bytes_max (10000 bytes)"),
                "{message}"
            );
            // The same rows are no result of `exec`.
            assert_eq!(db.exec(sql, &Value::Null, &run).unwrap(), Done::default());
        }
        assert_eq!(
            db.query("SELECT zeroblob(9000)", &Value::Null, &run)
                .unwrap()
                .len(),
            1
        );
    }

    #[test]
    fn a_statement_that_takes_much_memory_is_refused() {
        let (_folder, config, db) = scratch();
        let rows = |count: usize| {
            format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {count}) SELECT \
                 length(json_group_array(hex(zeroblob(250000)))) FROM n"
            )
        };
        let fault = db.query(&rows(1_000), &Value::Null, &all()).unwrap_err();
        let message = fault.error.message();
        let limit = config.statement_bytes_max;
        let said =
            format!("the statement takes more memory than statement_bytes_max ({limit} bytes)");
        assert!(message.starts_with(&said), "{message}");
        assert_eq!(fault.code, ErrorCode::TooLarge);
        assert_eq!(db.rows(&rows(10)).len(), 1);
    }

    #[test]
    fn statements_without_columns_have_no_rows() {
        let (_folder, _, db) = scratch();
        let rows = db.rows("CREATE TABLE t(a)");
        assert_eq!((rows.columns().len(), rows.len()), (0, 0));
        let rows = db.rows("INSERT INTO t VALUES (1)");
        assert_eq!((rows.columns().len(), rows.len()), (0, 0));
        let rows = db.rows("PRAGMA table_info(t)");
        assert_eq!((rows.columns().len(), rows.len()), (6, 1));
        assert_eq!(rows.cell(0, 1), Cell::Text("a"));
    }
}
