//! Sessions in the app's database: the table is made when the first session begins, so that an app without sessions has
//! none.

use super::{
    Change, INDEX, Merge, SEARCH_KEYS_MAX, SessionKey, SessionStore, StoredSession,
    check_search_key, too_many_search_keys,
};
use sampan_host::database::AppTables;
use sampan_host::{Cell, Error, ErrorKind, LocalFuture, Rows, Value};
use std::rc::Rc;

/// Small rows that are found by a random key: without a rowid one search is enough.
const CREATE: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS _sampan_sessions(
       id BLOB PRIMARY KEY, data TEXT NOT NULL, began INTEGER NOT NULL, ends INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS _sampan_sessions_ends ON _sampan_sessions(ends)",
];
const SELECT: &str = "SELECT data, began, ends FROM _sampan_sessions WHERE id = ?";
const INSERT: &str = "INSERT INTO _sampan_sessions(data, began, ends, id) VALUES (?, ?, ?, ?)";
const UPDATE: &str =
    "UPDATE _sampan_sessions SET data = ?, began = ?, ends = ?, id = ? WHERE id = ?";
const DELETE: &str = "DELETE FROM _sampan_sessions WHERE id = ?";
const DELETE_ENDED: &str = "DELETE FROM _sampan_sessions WHERE id IN
    (SELECT id FROM _sampan_sessions WHERE ends < ? ORDER BY ends LIMIT ?)";

/// The longest key by which sessions are searched.
const SEARCH_KEY_BYTES_MAX: usize = 64;

/// The table of sessions, as one worker sees it.
pub struct DbSessions(pub Rc<dyn AppTables>);

fn id(key: &SessionKey) -> Value {
    Value::Bytes(key.0.to_vec())
}

fn time(millis: u64) -> Value {
    Value::Int(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn stored(rows: &Rows) -> Option<StoredSession> {
    if rows.is_empty() {
        return None;
    }
    let millis = |cell: Cell<'_>| match cell {
        Cell::Int(millis) => u64::try_from(millis).ok(),
        _ => None,
    };
    let Cell::Text(data) = rows.cell(0, 0) else {
        return None;
    };
    Some(StoredSession {
        data: data.to_owned(),
        began: millis(rows.cell(0, 1))?,
        ends: millis(rows.cell(0, 2))?,
    })
}

impl DbSessions {
    fn write(&self, sql: &str, params: Vec<Value>) -> Result<usize, Error> {
        let params = Value::List(params);
        let count = |changed: i64| usize::try_from(changed).unwrap_or(0);
        if let Some(changed) = self.0.write(sql, &params)? {
            return Ok(count(changed));
        }
        for sql in CREATE {
            self.0.write(sql, &Value::Null)?;
        }
        let changed = self.0.write(sql, &params)?;
        changed.map(count).ok_or_else(|| {
            let text = "the table of sessions could not be made";
            Error::new(ErrorKind::Internal, text)
        })
    }
}

impl DbSessions {
    /// Makes the index by which sessions are found that have a value under `key`, unless it is there.
    fn index(&self, key: &str) -> Result<(), Error> {
        let names =
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND substr(name, 1, 20) = ?";
        let indexes = self.0.read(names, &Value::List(vec![INDEX.into()]))?;
        let indexes = indexes.as_ref().map_or(0, Rows::len);
        let known = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?";
        let name = format!("{INDEX}{key}");
        let known = self
            .0
            .read(known, &Value::List(vec![name.as_str().into()]))?;
        if known.is_some_and(|rows| !rows.is_empty()) {
            return Ok(());
        }
        if indexes >= SEARCH_KEYS_MAX {
            return Err(too_many_search_keys());
        }
        let sql = format!(
            "CREATE INDEX IF NOT EXISTS \"{name}\" ON _sampan_sessions(json_extract(data, '$.{key}'))"
        );
        self.0.write(&sql, &Value::Null)?;
        Ok(())
    }
}

impl SessionStore for DbSessions {
    fn load(&self, key: &SessionKey) -> Result<Option<StoredSession>, Error> {
        let rows = self.0.read(SELECT, &Value::List(vec![id(key)]))?;
        Ok(rows.as_ref().and_then(stored))
    }

    fn change(&self, key: &SessionKey, merge: &mut Merge<'_>) -> Result<(), Error> {
        self.0.begin()?;
        let known = self.load(key)?;
        let is_known = known.is_some();
        match merge(known)? {
            Change::Keep => {}
            Change::Remove => {
                self.write(DELETE, vec![id(key)])?;
            }
            Change::Put(now_key, session) | Change::Replace(now_key, session) => {
                let data = Value::Text(session.data);
                let mut params = vec![data, time(session.began), time(session.ends), id(&now_key)];
                if is_known {
                    params.push(id(key));
                    self.write(UPDATE, params)?;
                } else {
                    self.write(INSERT, params)?;
                }
            }
        }
        Ok(())
    }

    fn change_in_place(&self, key: &SessionKey, merge: &mut Merge<'_>) -> Result<(), Error> {
        self.0.begin_in_place()?;
        self.change(key, merge)
    }

    fn note_write(&self) {
        self.0.note_write();
    }

    fn remove_with(&self, key: &str, value: &Value) -> Result<usize, Error> {
        check_search_key(key, SEARCH_KEY_BYTES_MAX)?;
        self.0.note_write();
        self.0.begin_in_place()?;
        // Without the table there is no session.
        let probe = "SELECT 1 FROM _sampan_sessions LIMIT 1";
        if self.0.read(probe, &Value::Null)?.is_none() {
            return Ok(0);
        }
        self.index(key)?;
        // To SQL `true` is 1.
        let kinds = match value {
            Value::Bool(true) => "= 'true'",
            Value::Bool(false) => "= 'false'",
            _ => "NOT IN ('true', 'false')",
        };
        let sql = format!(
            "DELETE FROM _sampan_sessions WHERE json_extract(data, '$.{key}') = ?
             AND json_type(data, '$.{key}') {kinds}"
        );
        let params = Value::List(vec![value.clone()]);
        let removed = self.0.write(&sql, &params)?.unwrap_or(0);
        Ok(usize::try_from(removed).unwrap_or(0))
    }

    fn remove_ended(&self, now: u64, count_max: usize) -> LocalFuture<Result<usize, Error>> {
        let tables = Rc::clone(&self.0);
        Box::pin(async move {
            let params = Value::List(vec![time(now), Value::Int(count_max as i64)]);
            loop {
                tables.writable().await?;
                match tables.write(DELETE_ENDED, &params) {
                    Err(error) if error.kind() == ErrorKind::TooLong => {}
                    removed => {
                        let removed = removed?.unwrap_or(0);
                        return Ok(usize::try_from(removed).unwrap_or(0));
                    }
                }
            }
        })
    }
}
