//! Sessions on a PostgreSQL server, where every statement waits.
//!
//! A session is written over the state that was read of it. Where another request has changed it meanwhile, which its
//! number tells, it is read and merged again. So one statement is enough unless requests meet.

use super::{Change, SessionKey, StoredSession, ended, moved};
use crate::limits::MOVES_MAX;
use sampan_host::database::{OwnTable, TableResult, WaitingTables};
use sampan_host::{Cell, Error, ErrorKind, LocalFuture, Rows, Value};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The table, and the statements that make it, one process after the other.
pub(crate) const SERVER_TABLES: OwnTable = OwnTable {
    name: "_sampan_sessions",
    column: None,
    statements: &[
        LOCK,
        "CREATE TABLE IF NOT EXISTS _sampan_sessions(
       id bytea PRIMARY KEY, data json NOT NULL, began bigint NOT NULL, ends bigint NOT NULL,
       version bigint NOT NULL DEFAULT 1
     )",
        "CREATE INDEX IF NOT EXISTS _sampan_sessions_ends ON _sampan_sessions(ends)",
    ],
};
/// The key is the beginning of the SHA-256 of `_sampan_sessions`.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7842193970550201879)";
const SELECT: &str = "SELECT data::text, began, ends, version FROM _sampan_sessions WHERE id = ?";
const INSERT: &str = "INSERT INTO _sampan_sessions(data, began, ends, id) VALUES (?, ?, ?, ?)";
const UPDATE: &str =
    "UPDATE _sampan_sessions SET data = ?, began = ?, ends = ?, id = ?, version = version + 1
    WHERE id = ? AND version = ?";
/// Does what `UPDATE` does, and leaves the way to the new key.
const MOVE: &str =
    "WITH moved AS (UPDATE _sampan_sessions SET data = ?, began = ?, ends = ?, id = ?, version = version + 1
       WHERE id = ? AND version = ? RETURNING 1)
    INSERT INTO _sampan_sessions(data, began, ends, id)
    SELECT ?::text::json, ?::bigint, ?::bigint, ?::bytea FROM moved
    ON CONFLICT (id) DO UPDATE SET data = excluded.data, began = excluded.began, ends = excluded.ends";
/// Adds a session that begins with another one, if a way leads to that still. Both rows stay until it is there: those
/// who remove one of them wait, and see it then.
const INSERT_BESIDE: &str = "INSERT INTO _sampan_sessions(data, began, ends, id)
    SELECT ?::text::json, ?::bigint, ?::bigint, ?::bytea
    FROM _sampan_sessions AS way, _sampan_sessions AS kept WHERE way.id = ? AND kept.id = ?
    FOR KEY SHARE";
const DELETE: &str = "DELETE FROM _sampan_sessions WHERE id = ?";
const DELETE_ENDED: &str = "DELETE FROM _sampan_sessions WHERE id IN
    (SELECT id FROM _sampan_sessions WHERE ends < ? ORDER BY ends LIMIT ? FOR UPDATE SKIP LOCKED)";

/// The number of times that a session is merged again because others have changed it meanwhile.
const MERGES_MAX: usize = 100;

/// A session as it was read.
#[derive(Clone, Debug)]
pub(crate) struct VersionedSession {
    pub(crate) stored: StoredSession,
    /// Grows with each change.
    pub(crate) version: i64,
}

/// A session that another request has given a new id.
pub(crate) struct MovedSession {
    pub(crate) key: SessionKey,
    pub(crate) found: VersionedSession,
    /// The key of the row that leads to it.
    way: SessionKey,
}

/// The table of sessions on a server, as one worker sees it.
pub(crate) struct ServerSessions(Rc<dyn WaitingTables>);

/// The tables, for whose statements the thread waits.
struct InPlace(Rc<dyn WaitingTables>);

impl WaitingTables for InPlace {
    fn run(&self, sql: &str, params: &Value) -> LocalFuture<Result<Option<TableResult>, Error>> {
        Box::pin(std::future::ready(self.0.run_in_place(sql, params)))
    }

    fn run_all(
        &self,
        statements: Vec<(String, Value)>,
    ) -> LocalFuture<Result<Option<Vec<TableResult>>, Error>> {
        let mut all = statements.iter();
        let ran = all.try_fold(Some(Vec::new()), |ran, (sql, params)| {
            let Some(mut ran) = ran else { return Ok(None) };
            let done = self.0.run_in_place(sql, params)?;
            Ok(done.map(|done| {
                ran.push(done);
                ran
            }))
        });
        Box::pin(std::future::ready(ran))
    }

    fn record(&self, _: &str, _: &Value, _: Box<dyn FnOnce()>) -> Result<bool, Error> {
        Ok(false)
    }

    fn run_in_place(&self, sql: &str, params: &Value) -> Result<Option<TableResult>, Error> {
        self.0.run_in_place(sql, params)
    }
}

/// Returns the result of a future that has nothing to wait for.
fn at_once<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => Err(Error::new(
            ErrorKind::Internal,
            "a wait in place has waited",
        )),
    }
}

fn id(key: &SessionKey) -> Value {
    Value::Bytes(key.0.to_vec())
}

fn time(millis: u64) -> Value {
    Value::Int(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn session(rows: &Rows) -> Result<Option<VersionedSession>, Error> {
    if rows.is_empty() {
        return Ok(None);
    }
    let cells = [0, 1, 2, 3].map(|column| rows.cell(0, column));
    if let [
        Cell::Text(data),
        Cell::Int(began),
        Cell::Int(ends),
        Cell::Int(version),
    ] = cells
        && let (Ok(began), Ok(ends)) = (u64::try_from(began), u64::try_from(ends))
    {
        let data = data.to_owned();
        let stored = StoredSession { data, began, ends };
        return Ok(Some(VersionedSession { stored, version }));
    }
    let text = "the table _sampan_sessions has other columns than those of sessions";
    Err(Error::new(ErrorKind::Internal, text))
}

impl ServerSessions {
    pub(crate) fn new(tables: Rc<dyn WaitingTables>) -> Self {
        Self(tables)
    }

    fn in_place(&self) -> Self {
        Self(Rc::new(InPlace(Rc::clone(&self.0))))
    }

    /// Returns the session under this key.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) async fn load(&self, key: &SessionKey) -> Result<Option<VersionedSession>, Error> {
        let found = self.0.run(SELECT, &Value::List(vec![id(key)])).await?;
        found.map_or(Ok(None), |found| session(&found.rows))
    }

    /// Returns the session under this key. The thread waits.
    ///
    /// # Errors
    /// As [`ServerSessions::load`].
    pub(crate) fn load_in_place(
        &self,
        key: &SessionKey,
    ) -> Result<Option<VersionedSession>, Error> {
        at_once(self.in_place().load(key))
    }

    /// Changes what is under this key. `merge` is asked with what was `read` of it, and again with what is there if
    /// another has changed that.
    ///
    /// # Errors
    /// It cannot be written, or `merge` failed.
    pub(crate) async fn change(
        &self,
        key: SessionKey,
        mut read: Option<VersionedSession>,
        mut merge: impl FnMut(Option<StoredSession>) -> Result<Change, Error>,
    ) -> Result<(), Error> {
        for _ in 0..MERGES_MAX {
            let version = read.as_ref().map(|read| read.version);
            let change = merge(read.map(|read| read.stored))?;
            let is_moved = matches!(&change, Change::Put(now_key, _) if *now_key != key);
            match change {
                Change::Keep => return Ok(()),
                Change::Remove => {
                    let removed = self.0.run(DELETE, &Value::List(vec![id(&key)])).await?;
                    if version.is_none() || count(removed) > 0 {
                        return Ok(());
                    }
                }
                Change::Put(now_key, session) | Change::Replace(now_key, session) => {
                    let data = Value::Text(session.data);
                    let mut params =
                        vec![data, time(session.began), time(session.ends), id(&now_key)];
                    let Some(version) = version else {
                        return self.insert(Value::List(params)).await;
                    };
                    params.extend([id(&key), Value::Int(version)]);
                    let mut sql = UPDATE;
                    if is_moved {
                        let way = moved::way_to(&now_key, session.began)?;
                        let data = Value::Text(way.data);
                        params.extend([data, time(way.began), time(way.ends), id(&key.way())]);
                        sql = MOVE;
                    }
                    let changed = self.0.run(sql, &Value::List(params)).await?;
                    if changed.is_some_and(|done| done.changes > 0) {
                        return Ok(());
                    }
                }
            }
            read = self.load(&key).await?;
        }
        Err(too_many_changes())
    }

    /// Ends a session, of which this was `read`, also where another request has given it a new id meanwhile.
    ///
    /// # Errors
    /// As [`ServerSessions::change`].
    pub(crate) async fn end(
        &self,
        mut key: SessionKey,
        mut read: Option<VersionedSession>,
        now: u64,
    ) -> Result<(), Error> {
        for _ in 0..MOVES_MAX {
            let mut is_missing = false;
            let merge = |stored: Option<StoredSession>| {
                is_missing = stored.is_none();
                Ok(ended(stored))
            };
            self.change(key, read, merge).await?;
            if !is_missing {
                break;
            }
            let Some(moved) = self.moved(key, now).await? else {
                break;
            };
            (key, read) = (moved.key, Some(moved.found));
        }
        Ok(())
    }

    /// Returns the session that had this key until a request gave it another id.
    async fn moved(&self, mut key: SessionKey, now: u64) -> Result<Option<MovedSession>, Error> {
        for _ in 0..MOVES_MAX {
            let way = key.way();
            let row = self.load(&way).await?;
            let Some(next) = row.and_then(|row| moved::leads_to(&row.stored, now)) else {
                break;
            };
            if let Some(found) = self.load(&next).await? {
                return Ok(Some(MovedSession {
                    key: next,
                    found,
                    way,
                }));
            }
            key = next;
        }
        Ok(None)
    }

    /// Adds a session beside the one that had the key `old` until a request gave it another id, and returns that one.
    /// `begin` is told whether it is there.
    ///
    /// # Errors
    /// It cannot be written, or `begin` failed.
    pub(crate) async fn begin_beside(
        &self,
        old: SessionKey,
        key: SessionKey,
        now: u64,
        begin: impl Fn(bool) -> Result<Change, Error>,
    ) -> Result<Option<MovedSession>, Error> {
        for _ in 0..MERGES_MAX {
            let Some(kept) = self.moved(old, now).await? else {
                self.change(key, None, |_| begin(false)).await?;
                return Ok(None);
            };
            let (Change::Put(key, session) | Change::Replace(key, session)) = begin(true)? else {
                return Ok(Some(kept));
            };
            let data = Value::Text(session.data);
            let mut params = vec![data, time(session.began), time(session.ends), id(&key)];
            params.extend([id(&kept.way), id(&kept.key)]);
            if count(self.0.run(INSERT_BESIDE, &Value::List(params)).await?) > 0 {
                return Ok(Some(kept));
            }
        }
        Err(too_many_changes())
    }

    /// Changes a session as [`ServerSessions::change`] does, with what is there now. The thread waits.
    ///
    /// # Errors
    /// As [`ServerSessions::change`].
    pub(crate) fn change_in_place(
        &self,
        key: SessionKey,
        merge: impl FnMut(Option<StoredSession>) -> Result<Change, Error>,
    ) -> Result<(), Error> {
        let sessions = self.in_place();
        at_once(async {
            let read = sessions.load(&key).await?;
            sessions.change(key, read, merge).await
        })
    }

    /// Adds a session; with its table, if that is missing.
    async fn insert(&self, params: Value) -> Result<(), Error> {
        if self.0.run(INSERT, &params).await?.is_some() {
            return Ok(());
        }
        let create = SERVER_TABLES.statements.iter();
        let create = create.map(|sql| ((*sql).to_owned(), Value::Null));
        self.0.run_all(create.collect()).await?;
        let added = self.0.run(INSERT, &params).await?;
        let missing = || {
            Error::new(
                ErrorKind::Internal,
                "the table of sessions could not be made",
            )
        };
        added.map(drop).ok_or_else(missing)
    }

    /// Removes up to `count_max` sessions that ended before `now`. Tells how many there were.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) async fn remove_ended(&self, now: u64, count_max: usize) -> Result<usize, Error> {
        let params = Value::List(vec![time(now), Value::Int(count_max as i64)]);
        Ok(count(self.0.run(DELETE_ENDED, &params).await?))
    }
}

fn too_many_changes() -> Error {
    let text = "too many requests change this session at the same time";
    Error::new(ErrorKind::Unavailable, text)
}

fn count(removed: Option<TableResult>) -> usize {
    let removed = removed.map_or(0, |done| done.changes);
    usize::try_from(removed).unwrap_or(0)
}

mod search;
