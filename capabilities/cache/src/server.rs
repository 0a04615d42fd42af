//! The values that all processes on one database server share: a table there.
//!
//! Each change gives its key a new token, a removal too: its row stays for a while, without a value. Who begins to make
//! a value takes the token of the row, and keeps the value only if the row still has it. So a value that was made from
//! what was true before a change is not kept, whichever process has made the change: while its transaction is open, the
//! row is locked, and who wants its token waits.

use crate::limits::{
    CLAIM_SECONDS, ENTRY_BYTES, MEASURE_PARTS, PRUNE_BYTES, PRUNE_COUNT, RERUNS_MAX,
};
use crate::statements::{ADD, CLAIM, EVICT, FINISH, MAKE, PRUNE, PUT, READ, SERVER_TABLES};
use sampan_host::database::{TableResult, WaitingTables, WorkerDatabase};
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::topics::Payload;
use sampan_host::{Cell as RowCell, Context, Error, ErrorKind, LocalFuture, Value};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The kinds of values. `0` has none: the key was removed, or its value is being made until `ends`.
const NOTHING: i64 = 0;
const TEXT: i64 = 1;
const BYTES: i64 = 2;
/// A whole number is in `number`; `null` has neither that nor a `value`.
const JSON: i64 = 3;

/// The table as one isolate has it.
pub(crate) struct ServerCache {
    tables: Rc<dyn WaitingTables>,
    bytes_max: usize,
    /// The bytes of changes here since rows were removed whose time is over.
    unpruned: Cell<usize>,
    /// The bytes of changes here since all rows were measured.
    unmeasured: Cell<usize>,
    log: Option<Rc<dyn Log>>,
}

/// True once a worker of this process has seen the table.
#[derive(Default)]
pub(crate) struct SeenTable(AtomicBool);

/// The table as one call sees it.
#[derive(Clone)]
pub(crate) struct CallTable {
    tables: Rc<dyn WaitingTables>,
    /// The table outside of transactions.
    outside: Rc<dyn WaitingTables>,
    /// True in a transaction of the run: changes are committed with it.
    pub(crate) is_in_transaction: bool,
}

/// The row of a key.
pub(crate) enum Found {
    /// The value.
    Value(Payload),
    /// The value is being made: the token of the row.
    Claimed(i64),
}

impl ServerCache {
    pub(crate) fn new(
        tables: Rc<dyn WaitingTables>,
        bytes_max: usize,
        log: Option<Rc<dyn Log>>,
    ) -> Self {
        Self {
            tables,
            bytes_max,
            unpruned: Cell::new(0),
            unmeasured: Cell::new(0),
            log,
        }
    }

    /// Makes the table unless it is there: statements of a batch cannot wait for that. Blocks the thread. Where it
    /// fails, statements outside of batches say why.
    pub(crate) fn make(&self, seen: &SeenTable) {
        let run = |sql| self.tables.run_in_place(sql, &Value::Null);
        if seen.0.load(Ordering::Relaxed) {
            return;
        }
        let made = match run("SELECT 1 FROM _sampan_cache LIMIT 0") {
            Ok(None) => run(MAKE).map(drop),
            found => found.map(drop),
        };
        seen.0.store(made.is_ok(), Ordering::Relaxed);
    }

    /// Returns the table as the run sees it that goes on now.
    pub(crate) fn table(&self, context: &Context) -> CallTable {
        let database = context.get::<Rc<dyn WorkerDatabase>>();
        let own = database.and_then(|database| database.own_transaction());
        let own = own.and_then(|tables| tables.waiting());
        CallTable {
            is_in_transaction: own.is_some(),
            tables: own.unwrap_or_else(|| Rc::clone(&self.tables)),
            outside: Rc::clone(&self.tables),
        }
    }

    /// Takes note of a change of so many bytes.
    pub(crate) fn note(&self, bytes: usize) {
        for noted in [&self.unpruned, &self.unmeasured] {
            noted.set(noted.get().saturating_add(bytes));
        }
    }

    /// Once in a while removes rows whose time is over, and then those that were changed the longest ago, where all
    /// have more than `bytes_max`.
    pub(crate) async fn clean(&self, table: &CallTable) {
        let measure_at = (self.bytes_max / MEASURE_PARTS).max(1);
        // A transaction does not wait for what has nothing to do with it.
        let is_due = self.unpruned.get() >= PRUNE_BYTES.min(measure_at) && !table.is_in_transaction;
        if !is_due {
            return;
        }
        self.unpruned.set(0);
        self.remove(PRUNE, vec![Value::Int(PRUNE_COUNT)]).await;
        if self.unmeasured.get() < measure_at {
            return;
        }
        let count = evicted_max(self.unmeasured.take());
        self.remove(EVICT, vec![length(self.bytes_max), Value::Int(count)])
            .await;
    }

    /// Removes rows. Where that fails, the next time does more.
    async fn remove(&self, sql: &str, params: Vec<Value>) {
        let removed = self.tables.run(sql, &Value::List(params)).await;
        if let (Err(error), Some(log)) = (removed, &self.log) {
            let text = format!("removing old values of the shared cache: {error}");
            let cause = Cause::message(error.message());
            log.write_limited(Level::Error, cause, &Entry::text(text));
        }
    }
}

/// Returns the number of rows that are removed at a time after changes of so many bytes: more than were added by them,
/// however small these are.
fn evicted_max(bytes: usize) -> i64 {
    let rows = i64::try_from(bytes / ENTRY_BYTES).unwrap_or(i64::MAX);
    rows.saturating_mul(2).max(PRUNE_COUNT)
}

/// A statement and its parameters.
pub(crate) type Statement = (&'static str, Value);

/// Returns the statement that keeps a value; without one it removes the key.
pub(crate) fn put(key: &str, value: Option<&Payload>, ttl: Option<Duration>) -> Statement {
    let ttl = match value {
        Some(_) => ttl,
        None => Some(Duration::ZERO),
    };
    (PUT, Value::List(row(key, value, ttl)))
}

/// Returns the statement that keeps a value that was made since the row had this token.
pub(crate) fn finish(key: &str, value: &Payload, ttl: Option<Duration>, token: i64) -> Statement {
    let mut params = row(key, Some(value), ttl);
    params.push(Value::Int(token));
    (FINISH, Value::List(params))
}

/// Returns the statement that adds to a number. `size` is what it counts.
pub(crate) fn add(key: &str, by: i64, size: usize, ttl: Option<Duration>) -> Statement {
    let params = vec![of_key(key), Value::Int(by), length(size), seconds(ttl)];
    (ADD, Value::List(params))
}

fn row(key: &str, value: Option<&Payload>, ttl: Option<Duration>) -> Vec<Value> {
    let bytes = |value: &[u8]| Value::Bytes(value.to_vec());
    let (kind, kept, number) = match value {
        None => (NOTHING, Value::Null, Value::Null),
        Some(Payload::Text(text)) => (TEXT, bytes(text.as_bytes()), Value::Null),
        Some(Payload::Bytes(value)) => (BYTES, bytes(value), Value::Null),
        Some(Payload::Json(json)) if json == "null" => (JSON, Value::Null, Value::Null),
        Some(Payload::Json(json)) => match json.parse() {
            Ok(number) => (JSON, Value::Null, Value::Int(number)),
            Err(_) => (JSON, bytes(json.as_bytes()), Value::Null),
        },
    };
    let value_bytes = value.map_or(0, |value| value.bytes().len());
    let size = length(key.len() + value_bytes + ENTRY_BYTES);
    vec![
        of_key(key),
        Value::Int(kind),
        kept,
        number,
        size,
        seconds(ttl),
    ]
}

fn of_key(key: &str) -> Value {
    // Text of the server has no NUL.
    Value::Bytes(key.as_bytes().to_vec())
}

fn length(bytes: usize) -> Value {
    Value::Int(i64::try_from(bytes).unwrap_or(i64::MAX))
}

fn seconds(ttl: Option<Duration>) -> Value {
    ttl.map_or(Value::Null, |ttl| Value::Float(ttl.as_secs_f64()))
}

impl CallTable {
    /// Runs a statement. Makes the table first where it is missing.
    pub(crate) fn run(&self, (sql, params): Statement) -> LocalFuture<Result<TableResult, Error>> {
        // At once: the answer of the run that goes on waits for it, also where the script does not.
        let first = self.tables.run(sql, &params);
        let table = self.clone();
        Box::pin(async move {
            if let Some(done) = first.await? {
                return Ok(done);
            }
            let create = SERVER_TABLES.statements.iter();
            let create = create.map(|sql| ((*sql).to_owned(), Value::Null));
            table.outside.run_all(create.collect()).await?;
            let done = table.tables.run(sql, &params).await?;
            done.ok_or_else(|| internal("the table of the cache could not be made"))
        })
    }

    /// Records a statement where the function of a batch runs: see [`WaitingTables::record`].
    ///
    /// # Errors
    /// As for [`WaitingTables::record`].
    pub(crate) fn record(
        &self,
        (sql, params): &Statement,
        sent: impl FnOnce() + 'static,
    ) -> Result<bool, Error> {
        self.tables.record(sql, params, Box::new(sent))
    }

    /// Reads the row of a key, if that is in use.
    pub(crate) async fn read(&self, key: &str) -> Result<Option<Found>, Error> {
        let found = self.run((READ, Value::List(vec![of_key(key)]))).await?;
        let rows = &found.rows;
        if rows.is_empty() {
            return Ok(None);
        }
        let cells = [0, 1, 2, 3].map(|column| rows.cell(0, column));
        let value = match cells {
            [RowCell::Int(NOTHING), _, _, RowCell::Int(token)] => {
                return Ok(Some(Found::Claimed(token)));
            }
            [RowCell::Int(TEXT), RowCell::Bytes(text), ..] => {
                Payload::Text(String::from_utf8_lossy(text).into_owned())
            }
            [RowCell::Int(BYTES), RowCell::Bytes(bytes), ..] => Payload::Bytes(bytes.to_vec()),
            [RowCell::Int(JSON), RowCell::Bytes(json), ..] => {
                Payload::Json(String::from_utf8_lossy(json).into_owned())
            }
            [RowCell::Int(JSON), RowCell::Null, RowCell::Int(number), _] => {
                Payload::Json(number.to_string())
            }
            [RowCell::Int(JSON), RowCell::Null, RowCell::Null, _] => {
                Payload::Json("null".to_owned())
            }
            _ => {
                return Err(internal(
                    "the table _sampan_cache has other columns than the cache",
                ));
            }
        };
        Ok(Some(Found::Value(value)))
    }

    /// Takes note that the value of a key is being made, unless it is there by now. Where another process makes it,
    /// both have the same token: the one that ends first keeps its value.
    ///
    /// # Errors
    /// Those of the server.
    pub(crate) async fn claim(&self, key: &str) -> Result<Found, Error> {
        for _ in 0..RERUNS_MAX {
            let size = length(key.len() + ENTRY_BYTES);
            let time = seconds(Some(Duration::from_secs(CLAIM_SECONDS)));
            let params = Value::List(vec![of_key(key), size, time]);
            if let Some(token) = whole(&self.run((CLAIM, params)).await?) {
                return Ok(Found::Claimed(token));
            }
            if let Some(found) = self.read(key).await? {
                return Ok(found);
            }
        }
        Err(busy(key))
    }
}

/// Returns the whole number that a statement gives, if it gives one.
pub(crate) fn whole(result: &TableResult) -> Option<i64> {
    if result.rows.is_empty() {
        return None;
    }
    match result.rows.cell(0, 0) {
        RowCell::Int(number) => Some(number),
        _ => None,
    }
}

/// The error of a key that others change all the time.
pub(crate) fn busy(key: &str) -> Error {
    let text = format!("the key {key:?} is changed by too many at the same time");
    Error::new(ErrorKind::Unavailable, text)
}

fn internal(text: &str) -> Error {
    Error::new(ErrorKind::Internal, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rows_are_removed_than_were_added() {
        assert_eq!(evicted_max(0), PRUNE_COUNT);
        assert!(evicted_max(4 * 1024 * 1024) > 4 * 1024 * 1024 / ENTRY_BYTES as i64);
    }

    #[test]
    fn each_kind_of_value_has_a_row_of_its_own() {
        let columns = |value: Option<Payload>| {
            let row = row("key", value.as_ref(), None);
            assert_eq!(row[0], Value::Bytes(b"key".to_vec()));
            (row[1].clone(), row[2].clone(), row[3].clone())
        };
        let json = |text: &str| Some(Payload::Json(text.to_owned()));
        let bytes = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let expected = [
            (None, (NOTHING, Value::Null, Value::Null)),
            (
                Some(Payload::Text("7\0".to_owned())),
                (TEXT, bytes("7\0"), Value::Null),
            ),
            (
                Some(Payload::Bytes(b"7".to_vec())),
                (BYTES, bytes("7"), Value::Null),
            ),
            (json("null"), (JSON, Value::Null, Value::Null)),
            (json("-7"), (JSON, Value::Null, Value::Int(-7))),
            (json("7.5"), (JSON, bytes("7.5"), Value::Null)),
            (
                json("9223372036854775808"),
                (JSON, bytes("9223372036854775808"), Value::Null),
            ),
        ];
        for (value, (kind, kept, number)) in expected {
            assert_eq!(columns(value), (Value::Int(kind), kept, number));
        }
    }
}
