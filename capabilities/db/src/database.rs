//! The database of a process: what all workers share.

use crate::config::DatabaseConfig;
use crate::group_commit::checkpoint::Checkpointer;
use crate::group_commit::commit_thread::CommitThread;
use crate::group_commit::repair;
use crate::group_commit::writer::{Refused, WriterHandover};
use crate::page_log::follower::LogFollower;
use crate::read_pool::large::LargeResults;
use crate::read_pool::readers::Readers;
use crate::slow_statements::SlowStatements;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, StatementError};
use crate::sqlite::file::Lookout;
use crate::sqlite::open::Role;
use sampan_host::Error;
use sampan_host::database::RouteUse;
use sampan_host::log::Level;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, Release},
};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

/// Receives what an operator should know, one line at a time.
pub type ReportLine = Arc<dyn Fn(Level, &str) + Send + Sync>;

/// The database of a process. It is opened when it is first used.
pub struct Database {
    pub(crate) config: DatabaseConfig,
    opened: OnceLock<Opened>,
    /// The reader of the write-ahead log, if the database is copied elsewhere.
    pub(crate) follower: Arc<LogFollower>,
    opening: Mutex<()>,
    /// Commits of this process so far, counted before their requests are notified.
    pub(crate) commits: AtomicU64,
    /// The statements that took long, where time is measured.
    pub(crate) slow_statements: Arc<SlowStatements>,
    report: ReportLine,
    repeated: Mutex<Repeated>,
    uses: Mutex<HashMap<(u32, bool), Arc<RouteUse>>>,
}

/// The line that was reported last, and how often it would have been again.
#[derive(Default)]
struct Repeated {
    line: String,
    told: Option<Instant>,
    more: u64,
}

/// The parts of an open database.
pub(crate) struct Opened {
    pub(crate) config: DatabaseConfig,
    pub(crate) writers: Arc<WriterHandover>,
    pub(crate) readers: Readers,
    pub(crate) checkpointer: Checkpointer,
    pub(crate) thread: CommitThread,
    pub(crate) lonely: Lonely,
    /// Reads that took too long in place; where the script can wait they go to a reader thread at once.
    pub(crate) slow: Lonely,
    /// Statements of which reader threads had large results.
    pub(crate) large: LargeResults,
    /// True if the schema has foreign keys that are checked at the end of the transaction.
    pub(crate) defers_keys: AtomicBool,
    /// True if the last write failed because the disk is full.
    pub(crate) is_disk_full: AtomicBool,
    lookout: Lookout,
    /// True once a log that was lost has been reported. Locked while that is examined, or the log is copied.
    is_log_reported: Mutex<bool>,
    report: ReportLine,
}

impl Database {
    /// The database that `config` describes. Nothing is opened yet.
    pub fn new(config: DatabaseConfig, report: ReportLine) -> Self {
        Self {
            follower: LogFollower::new(&config),
            config,
            opened: OnceLock::new(),
            opening: Mutex::default(),
            commits: AtomicU64::new(0),
            slow_statements: Arc::default(),
            report,
            repeated: Mutex::default(),
            uses: Mutex::default(),
        }
    }

    /// Opens it now, for those who want to know at start whether it can be.
    ///
    /// # Errors
    /// The file cannot be opened, created or read as a database.
    pub fn prepare(&self) -> Result<(), Error> {
        self.open().map(drop)
    }

    pub(crate) fn open(&self) -> Result<&Opened, Error> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let _guard = lock(&self.opening);
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let opened = Opened::open(&self.config, &self.follower, &self.report);
        let opened = opened.map_err(|fault| fault.error)?;
        Ok(self.opened.get_or_init(|| opened))
    }

    pub(crate) fn opened(&self) -> Option<&Opened> {
        self.opened.get()
    }

    /// Tells the operator, once a second if it is the same again and again: on a full disk every group fails.
    pub(crate) fn report(&self, line: &str) {
        const PAUSE: Duration = Duration::from_secs(1);
        let mut repeated = lock(&self.repeated);
        let is_same = repeated.line == line;
        if is_same && repeated.told.is_some_and(|told| told.elapsed() < PAUSE) {
            repeated.more += 1;
            return;
        }
        if repeated.more > 0 {
            let text = format!("{} more times: {}", repeated.more, repeated.line);
            (self.report)(Level::Error, &text);
        }
        (self.report)(Level::Error, line);
        *repeated = Repeated {
            line: line.to_owned(),
            told: Some(Instant::now()),
            more: 0,
        };
    }

    /// Returns the observed use by a handler, shared by all workers. `is_safe`: the method says that it only reads (RFC
    /// 9110 section 9.2.1); the others are expected to write before they have.
    pub fn route(&self, handler: u32, is_safe: bool) -> Arc<RouteUse> {
        let mut uses = lock(&self.uses);
        let known = uses
            .entry((handler, is_safe))
            .or_insert_with(|| Arc::new(RouteUse::new(!is_safe)));
        Arc::clone(known)
    }

    /// A project is about to be loaded in place of another: its handlers are others, and so may the schema be.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn renew(&self, is_schema_changed: bool) -> Result<(), Error> {
        lock(&self.uses).clear();
        if is_schema_changed && let Some(opened) = self.opened.get() {
            let connection = SqliteConnection::open(&self.config, Role::Reader);
            opened.look_at_schema(&connection.map_err(|fault| fault.error)?);
        }
        Ok(())
    }

    /// Returns the current lease of the write connection: a number that changes whenever it changes hands. A worker
    /// that is stuck in a script may keep it, and no other process can take it away.
    pub fn lease(&self) -> Option<u64> {
        let writers = &self.opened.get()?.writers;
        writers.lease().filter(|_| writers.refused().is_none())
    }

    /// A commit is on disk: readers and the checkpointer are notified first, and the connection goes on to the next.
    pub(crate) fn committed(&self, opened: &Opened, writer: Box<SqliteConnection>) {
        self.commits.fetch_add(1, Release);
        opened.is_disk_full.store(false, Relaxed);
        opened.checkpointer.committed(writer.wal_pages());
        opened.writers.give(writer);
    }

    /// Looks at the file and its log before another process opens them: what is in a log that was removed is copied
    /// into the file.
    pub fn look(&self) {
        if let Some(opened) = self.opened.get() {
            opened.look();
        }
    }

    /// Closes it in good order: no more writes, statistics for the query planner, the log copied into the database.
    pub fn shutdown(&self) {
        if let Some(opened) = self.opened.get() {
            opened.look_at_the_end();
            opened.config.file.expect_end();
            opened.writers.refuse(Refused::Closed);
            opened.readers.shutdown();
            opened.checkpointer.shutdown();
        }
    }
}

impl Opened {
    fn open(
        config: &DatabaseConfig,
        follower: &Arc<LogFollower>,
        report: &ReportLine,
    ) -> Result<Self, StatementError> {
        config.file.forget_logs();
        let writer = SqliteConnection::open(config, Role::Writer)?;
        config.file.learn(&config.path);
        let for_checkpoints = Arc::clone(report);
        let on_fault = Box::new(move |line: String| for_checkpoints(Level::Error, &line));
        let opened = Self {
            config: config.clone(),
            defers_keys: AtomicBool::new(false),
            is_disk_full: AtomicBool::new(false),
            readers: Readers::start(config),
            checkpointer: Checkpointer::start(config, follower, on_fault),
            thread: CommitThread::default(),
            lonely: Lonely::default(),
            slow: Lonely::default(),
            large: LargeResults::default(),
            lookout: Lookout::new(),
            is_log_reported: Mutex::default(),
            writers: Arc::default(),
            report: Arc::clone(report),
        };
        opened.look_at_schema(&writer);
        config.file.learn_logs(&config.path);
        opened.writers.give(Box::new(writer));
        Ok(opened)
    }

    /// Reports whether writers have to wait until the log has been copied.
    pub(crate) fn log_is_full(&self) -> bool {
        self.checkpointer.wal_bytes() > self.config.wal_bytes_max
    }

    /// Looks for foreign keys that are checked at the end of the transaction. The word is looked for in the text of the
    /// schema, so it may see more of them than there are, which costs a savepoint for each statement.
    pub(crate) fn look_at_schema(&self, connection: &SqliteConnection) {
        const SQL: &str = "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%DEFERR%'";
        let count = connection
            .sqlite()
            .query_row(SQL, (), |row| row.get::<_, i64>(0));
        // A schema that cannot be read is treated with care.
        self.defers_keys.store(count.unwrap_or(1) > 0, Relaxed);
    }

    /// Takes the connection back after a failure: at once if it is fit to be used, else when it has been repaired.
    pub(crate) fn take_back(&self, writer: Box<SqliteConnection>, fault: &StatementError) {
        if fault.code == ErrorCode::Full {
            self.is_disk_full.store(true, Relaxed);
        }
        if self.config.file.has_left(&self.config.path) {
            self.refuse_for_good(Some(&writer));
            self.writers.give(writer);
        } else if matches!(fault.code, ErrorCode::Io { .. } | ErrorCode::Corrupt) {
            self.break_off(writer, fault.error.message());
        } else {
            self.roll_back(writer);
        }
    }

    /// Undoes what the connection has open and passes it on.
    pub(crate) fn roll_back(&self, writer: Box<SqliteConnection>) {
        match undo(&writer) {
            Ok(()) => self.writers.give(writer),
            Err(fault) => self.break_off(writer, fault.error.message()),
        }
    }

    /// Refuses writes until a fresh connection has written and synced.
    fn break_off(&self, writer: Box<SqliteConnection>, cause: &str) {
        self.writers.refuse(Refused::Broken(cause.to_owned()));
        // One that cannot be undone keeps the lock that the fresh connection needs: closing it gives that back.
        let failed = undo(&writer).is_ok().then_some(writer);
        repair::start(
            self.config.clone(),
            Arc::clone(&self.writers),
            Arc::clone(&self.report),
            failed,
        );
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.config.file.expect_end();
    }
}

/// Undoes what the connection has open.
///
/// # Errors
/// It is still open.
fn undo(writer: &SqliteConnection) -> Result<(), StatementError> {
    if !writer.in_transaction() {
        return Ok(());
    }
    match writer.control("ROLLBACK") {
        Err(fault) if writer.in_transaction() => Err(fault),
        _ => Ok(()),
    }
}

/// Statements that have undone a transaction, and therefore run in one of their own.
#[derive(Default)]
pub(crate) struct Lonely {
    any: AtomicBool,
    statements: Mutex<HashSet<String>>,
}

impl Lonely {
    /// The number of statements that are remembered; beyond that all are forgotten.
    const REMEMBERED_MAX: usize = 1_000;

    pub(crate) fn contains(&self, sql: &str) -> bool {
        self.any.load(Relaxed) && lock(&self.statements).contains(sql)
    }

    pub(crate) fn add(&self, sql: &str) {
        let mut statements = lock(&self.statements);
        if statements.len() >= Self::REMEMBERED_MAX {
            statements.clear();
        }
        statements.insert(sql.to_owned());
        self.any.store(true, Relaxed);
    }
}

/// Locks a mutex. The protected state is consistent between any two statements, so poisoning does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

mod lost_files;
#[cfg(test)]
mod tests;
