//! Threads for reads that would keep a worker too long.
//!
//! They start when there is something to read, each with a connection of its own, and take what is asked for in order.
//! The caller holds a future; dropping it takes the statement out of the queue, or stops it.

use crate::config::DatabaseConfig;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::error::{ErrorCode, StatementError};
use crate::sqlite::open::Role;
use crate::sqlite::run::RunLimits;
use sampan_host::{ErrorKind, Rows, Value, Watch};
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The most reads that wait for a thread.
const WAITING_MAX: usize = 64;

/// The nice value of the threads, which is that of the slow lane: quick requests do not wait for long reads. Without it
/// they would inherit the value of the thread that asked first.
const NICE: i32 = 10;

/// The threads of one database, shared by all workers. Dropping this ends them.
pub(crate) struct Readers(Arc<ReadersShared>);

struct ReadersShared {
    config: DatabaseConfig,
    state: Mutex<ReadQueue>,
    /// Tells the threads that there is a job, or that they must end.
    changed: Condvar,
}

#[derive(Default)]
struct ReadQueue {
    queue: VecDeque<Arc<ReadJob>>,
    running: Vec<Arc<ReadJob>>,
    threads: Vec<JoinHandle<()>>,
    /// Threads that wait for a job.
    idle: usize,
    is_closed: bool,
}

/// One read.
struct ReadJob {
    sql: String,
    params: Value,
    first_only: bool,
    /// Entered once for all, so that telling it to stop holds from then on.
    watch: Watch,
    outcome: Mutex<ReadOutcome>,
}

#[derive(Default)]
struct ReadOutcome {
    result: Option<Result<Rows, StatementError>>,
    waker: Option<Waker>,
}

impl Readers {
    /// Reads of the file of `config`. No thread is started and no file opened yet.
    pub(crate) fn start(config: &DatabaseConfig) -> Self {
        Self(Arc::new(ReadersShared {
            config: config.clone(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }))
    }

    /// Runs a statement that only reads on a thread, for `statement_millis_max` at most. It waits in the queue from the
    /// call on, polled or not.
    ///
    /// # Errors
    /// Too many wait already, the database is being closed, the statement writes, or it fails.
    pub(crate) fn query(
        &self,
        sql: String,
        params: Value,
        first_only: bool,
    ) -> impl Future<Output = Result<Rows, StatementError>> + Send + use<> {
        let watch = Watch::default();
        watch.enter(0);
        let job = Arc::new(ReadJob {
            sql,
            params,
            first_only,
            watch,
            outcome: Mutex::default(),
        });
        if let Err(fault) = self.0.submit(&job) {
            job.settle(Err(fault));
        }
        PendingRead {
            shared: Arc::clone(&self.0),
            job,
        }
    }

    /// Ends the threads and waits for them: what runs is stopped, what waits fails.
    pub(crate) fn shutdown(&self) {
        let (queue, threads) = {
            let mut state = self.0.lock();
            state.is_closed = true;
            for job in &state.running {
                job.stop();
            }
            (
                std::mem::take(&mut state.queue),
                std::mem::take(&mut state.threads),
            )
        };
        self.0.changed.notify_all();
        for job in queue {
            job.settle(Err(closed()));
        }
        for thread in threads {
            // A thread that panicked has told so on its way out, and has nothing left to end.
            let _ = thread.join();
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl ReadersShared {
    fn lock(&self) -> MutexGuard<'_, ReadQueue> {
        // The state is whole between any two statements, so a panic elsewhere does not take it away.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn submit(self: &Arc<Self>, job: &Arc<ReadJob>) -> Result<(), StatementError> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(closed());
        }
        if state.queue.len() >= WAITING_MAX {
            return Err(unavailable(
                ErrorCode::Busy,
                &format!(
                    "{WAITING_MAX} long reads wait already: try again later, or raise reader_threads"
                ),
            ));
        }
        let threads_max = self.config.reader_threads.max(1);
        if state.queue.len() >= state.idle && state.threads.len() < threads_max {
            let shared = Arc::clone(self);
            let started = thread::Builder::new()
                .name("sampan-reader".to_owned())
                .spawn(move || shared.serve());
            match started {
                Ok(thread) => state.threads.push(thread),
                // The threads that there are do it, later.
                Err(_) if !state.threads.is_empty() => {}
                Err(error) => {
                    return Err(unavailable(
                        ErrorCode::Internal,
                        &format!("no thread to read with: {error}"),
                    ));
                }
            }
        }
        state.queue.push_back(Arc::clone(job));
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// The life of a thread.
    fn serve(&self) {
        // On Linux this is the priority of the calling thread alone. Where the system refuses, it has that of the
        // others.
        let _ = rustix::process::setpriority_process(None, NICE);
        let mut connection = None;
        while let Some(job) = self.next() {
            let result = catch_unwind(AssertUnwindSafe(|| self.read(&mut connection, &job)))
                .unwrap_or_else(|_| {
                    connection = None;
                    Err(StatementError::new(
                        ErrorKind::Internal,
                        ErrorCode::Internal,
                        "the reader thread panicked",
                    ))
                });
            let mut state = self.lock();
            state.running.retain(|running| !Arc::ptr_eq(running, &job));
            let result = match result {
                Err(fault) if state.is_closed && fault.code == ErrorCode::Interrupted => {
                    Err(closed())
                }
                result => result,
            };
            drop(state);
            job.settle(result);
        }
    }

    /// Waits for a job; nothing when the thread must end.
    fn next(&self) -> Option<Arc<ReadJob>> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.queue.pop_front() {
                state.running.push(Arc::clone(&job));
                return Some(job);
            }
            state.idle += 1;
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            state.idle -= 1;
        }
    }

    fn read(
        &self,
        kept: &mut Option<SqliteConnection>,
        job: &ReadJob,
    ) -> Result<Rows, StatementError> {
        let connection = match kept.take() {
            Some(connection) => connection,
            None => SqliteConnection::open(&self.config, Role::Reader)?,
        };
        let result = self.read_with(&connection, job);
        let is_sound = !matches!(
            &result,
            Err(fault) if matches!(fault.code, ErrorCode::Io { .. } | ErrorCode::Corrupt | ErrorCode::NotADatabase)
        );
        if is_sound {
            *kept = Some(connection);
        }
        result
    }

    fn read_with(
        &self,
        connection: &SqliteConnection,
        job: &ReadJob,
    ) -> Result<Rows, StatementError> {
        if !connection.is_readonly(&job.sql)? {
            return Err(StatementError::refused(
                ErrorCode::Denied,
                "the statement writes, which a reader thread cannot: use db.exec or db.query",
                &job.sql,
            ));
        }
        let run = RunLimits {
            limit: Some(Duration::from_millis(self.config.statement_millis_max)),
            must_stop: Some(&job.watch),
            first_only: job.first_only,
            result_bytes_max: self.config.result_bytes_max,
            limit_name: "statement_millis_max",
        };
        connection.query(&job.sql, &job.params, &run)
    }
}

impl ReadJob {
    fn outcome(&self) -> MutexGuard<'_, ReadOutcome> {
        self.outcome
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn settle(&self, result: Result<Rows, StatementError>) {
        let waker = {
            let mut outcome = self.outcome();
            outcome.result = Some(result);
            outcome.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn stop(&self) {
        self.watch.stop(self.watch.epoch());
    }
}

fn closed() -> StatementError {
    unavailable(ErrorCode::Interrupted, "the database is being closed")
}

fn unavailable(code: ErrorCode, message: &str) -> StatementError {
    StatementError::new(ErrorKind::Unavailable, code, message)
}

/// A read with a waiting caller.
struct PendingRead {
    shared: Arc<ReadersShared>,
    job: Arc<ReadJob>,
}

impl Future for PendingRead {
    type Output = Result<Rows, StatementError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut outcome = self.job.outcome();
        match outcome.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                outcome.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for PendingRead {
    fn drop(&mut self) {
        self.job.stop();
        self.shared
            .lock()
            .queue
            .retain(|job| !Arc::ptr_eq(job, &self.job));
    }
}

#[cfg(test)]
mod tests;
