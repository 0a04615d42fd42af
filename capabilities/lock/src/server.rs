//! Locks that all processes share that use one database server.
//!
//! A lock is a row of `_sampan_locks`: the time until which it is held, by the clock of the server, and a token that
//! each holder has for itself and that grows. The holder's worker puts the time off. A process that dies does not, so
//! its locks are free after [`LEASE`]. A holder that was away for longer may have been followed by another: its call
//! fails, unless the server has said since that the row still has its token.

use crate::limits::{ASK_AGAIN, ASK_AGAIN_MAX, LEASE};
use sampan_host::database::{OwnTable, TableResult, WaitingTables};
use sampan_host::{Cell as RowCell, Error, ErrorKind, Value};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, oneshot};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

/// The table, and the statement that makes it.
pub(crate) const SERVER_TABLES: OwnTable = OwnTable {
    name: "_sampan_locks",
    column: None,
    statements: &[CREATE],
};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS _sampan_locks (
    name text PRIMARY KEY, token bigint GENERATED ALWAYS AS IDENTITY, held_until timestamptz NOT NULL)";

/// Takes a lock that is free, or whose holder was not heard of in time.
const TAKE: &str = "INSERT INTO _sampan_locks AS held (name, held_until)
    VALUES (:name, clock_timestamp() + make_interval(secs => :lease))
    ON CONFLICT (name) DO UPDATE SET token = DEFAULT, held_until = excluded.held_until
    WHERE held.held_until < clock_timestamp() RETURNING token";

const PUT_OFF: &str =
    "UPDATE _sampan_locks SET held_until = clock_timestamp() + make_interval(secs => :lease)
    WHERE name = :name AND token = :token";

const RELEASE: &str = "DELETE FROM _sampan_locks WHERE name = :name AND token = :token";

/// The locks on a server, as a worker has them.
#[derive(Clone)]
pub(crate) struct ServerLocks(pub(crate) Rc<dyn WaitingTables>);

/// The time for which no other process can have a lock.
#[derive(Clone, Copy)]
enum Sure {
    /// Until then, counted from before the server was asked.
    Until(Instant),
    /// Another has taken the lock.
    Lost,
}

/// A lock that this process has.
pub(crate) struct ServerLock {
    sure: Rc<Cell<Sure>>,
    /// Ends the task that puts the time off. It has the lock in this process until the one on the server is free.
    end: oneshot::Sender<OwnedMutexGuard<()>>,
}

fn named<const N: usize>(params: [(&str, Value); N]) -> Value {
    let params = params.map(|(name, value)| (name.to_owned(), value));
    Value::Map(params.into())
}

fn lease() -> (&'static str, Value) {
    ("lease", Value::Float(LEASE.as_secs_f64()))
}

impl ServerLocks {
    /// Waits for a lock, for so long. It asks at least once. `None` if it was not free in time.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) async fn take(
        &self,
        name: &str,
        time: Duration,
    ) -> Result<Option<ServerLock>, Error> {
        let deadline = Instant::now() + time;
        let mut again = ASK_AGAIN;
        loop {
            if let Some(taken) = self.attempt(name).await? {
                return Ok(Some(taken));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            sleep(again.min(left)).await;
            again = (2 * again).min(ASK_AGAIN_MAX);
        }
    }

    /// Asks once. If the caller goes meanwhile, the lock is given back.
    async fn attempt(&self, name: &str) -> Result<Option<ServerLock>, Error> {
        let (told, taken) = oneshot::channel();
        let (locks, name) = (self.clone(), name.to_owned());
        drop(spawn_local(async move {
            // If the request has gone, dropping the lock gives it back.
            drop(told.send(locks.ask(name).await));
        }));
        let ended = |_| Err(Error::new(ErrorKind::Unavailable, "the server ends"));
        taken.await.unwrap_or_else(ended)
    }

    async fn ask(self, name: String) -> Result<Option<ServerLock>, Error> {
        let params = named([("name", Value::Text(name.clone())), lease()]);
        let mut asked_at = Instant::now();
        let result = match self.0.run(TAKE, &params).await? {
            Some(result) => result,
            None => {
                // Where another process makes it at the same time, this fails, and the table is there.
                let created = self.0.run(CREATE, &Value::Null).await;
                asked_at = Instant::now();
                match self.0.run(TAKE, &params).await? {
                    Some(result) => result,
                    None => return created.map(|_| None),
                }
            }
        };
        Ok(token(&result).map(|token| ServerLock::new(self, name, token, asked_at)))
    }
}

fn token(result: &TableResult) -> Option<i64> {
    if result.rows.is_empty() {
        return None;
    }
    match result.rows.cell(0, 0) {
        RowCell::Int(token) => Some(token),
        _ => None,
    }
}

impl ServerLock {
    fn new(locks: ServerLocks, name: String, token: i64, asked_at: Instant) -> Self {
        let sure = Rc::new(Cell::new(Sure::Until(asked_at + LEASE)));
        let (end, ended) = oneshot::channel();
        let of_task = Rc::clone(&sure);
        drop(spawn_local(keep(locks, (name, token), of_task, ended)));
        Self { sure, end }
    }

    /// Reports whether another may have had the lock meanwhile.
    pub(crate) fn is_lost(&self) -> bool {
        match self.sure.get() {
            // A process that was stopped may get here before its task has asked the server.
            Sure::Until(time) => Instant::now() > time,
            Sure::Lost => true,
        }
    }

    /// Gives the lock back, and then the one in this process. Dropping it does the first alone. Where the server cannot
    /// be asked, the lock is free after its time.
    pub(crate) fn release(self, here: OwnedMutexGuard<()>) {
        // Without its task the worker ends.
        let _ = self.end.send(here);
    }
}

/// Puts the time of a lock off, until it is lost or given back.
async fn keep(
    locks: ServerLocks,
    (name, token): (String, i64),
    sure: Rc<Cell<Sure>>,
    mut ended: oneshot::Receiver<OwnedMutexGuard<()>>,
) {
    let own = || {
        [
            ("name", Value::Text(name.clone())),
            ("token", Value::Int(token)),
        ]
    };
    let [first, second] = own();
    let put_off = named([first, second, lease()]);
    let here = loop {
        if let Ok(here) = timeout(LEASE / 3, &mut ended).await {
            break here;
        }
        let asked_at = Instant::now();
        match locks.0.run(PUT_OFF, &put_off).await {
            Ok(Some(result)) if result.changes == 1 => sure.set(Sure::Until(asked_at + LEASE)),
            Ok(_) => sure.set(Sure::Lost),
            // The server may be there again in time.
            Err(_) => {}
        }
    };
    let _ = locks.0.run(RELEASE, &named(own())).await;
    drop(here);
}
