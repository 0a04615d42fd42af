//! Sessions in the app's database: the table is made when the first session begins, so that an app without sessions has
//! none.

use super::{
    Change, INDEX, ListedSession, Merge, SEARCH_KEYS_MAX, SessionChoice, SessionKey, SessionStore,
    StoredSession, check_search_key, moved, too_many_search_keys,
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

/// Removes the rows that lead to a session. Most of the others end later, so the index has few to look at.
const DELETE_WAYS: &str = "DELETE FROM _sampan_sessions
    WHERE ends BETWEEN ? AND ? AND json_extract(data, '$._sampan_moved_to') = ?";

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
    /// Reports whether there is a table of sessions. Without it there is no session.
    fn is_there(&self) -> Result<bool, Error> {
        let probe = "SELECT 1 FROM _sampan_sessions LIMIT 1";
        Ok(self.0.read(probe, &Value::Null)?.is_some())
    }

    /// Reports whether there is an index by which sessions are found that have a value under `key`.
    fn is_indexed(&self, key: &str) -> Result<bool, Error> {
        let known = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?";
        let name = format!("{INDEX}{key}");
        let known = self.0.read(known, &Value::List(vec![name.into()]))?;
        Ok(known.is_some_and(|rows| !rows.is_empty()))
    }

    /// Makes the index by which sessions are found that have a value under `key`.
    fn index(&self, key: &str) -> Result<(), Error> {
        let names =
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND substr(name, 1, 20) = ?";
        let indexes = self.0.read(names, &Value::List(vec![INDEX.into()]))?;
        if indexes.as_ref().map_or(0, Rows::len) >= SEARCH_KEYS_MAX {
            return Err(too_many_search_keys());
        }
        let sql = format!(
            "CREATE INDEX IF NOT EXISTS \"{INDEX}{key}\" ON _sampan_sessions(json_extract(data, '$.{key}'))"
        );
        self.0.write(&sql, &Value::Null)?;
        Ok(())
    }
}

/// Returns the condition for sessions that have a value under a key that was checked; the value is its parameter.
fn having(key: &str, value: &Value) -> String {
    // To SQL `true` is 1.
    let kinds = match value {
        Value::Bool(true) => "= 'true'",
        Value::Bool(false) => "= 'false'",
        _ => "NOT IN ('true', 'false')",
    };
    format!("json_extract(data, '$.{key}') = ? AND json_type(data, '$.{key}') {kinds}")
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

    fn remove_with(
        &self,
        key: &str,
        value: &Value,
        chosen: SessionChoice,
        now: u64,
    ) -> Result<usize, Error> {
        check_search_key(key, SEARCH_KEY_BYTES_MAX)?;
        self.0.note_write();
        self.0.begin_in_place()?;
        if !self.is_there()? {
            return Ok(0);
        }
        if !self.is_indexed(key)? {
            self.index(key)?;
        }
        if let Some(kept) = chosen.kept() {
            let ways = moved::ways_to(kept, now);
            self.0.write(DELETE_WAYS, &Value::List(ways.into()))?;
        }
        let mut sql = format!("DELETE FROM _sampan_sessions WHERE {}", having(key, value));
        let mut params = vec![value.clone()];
        if let Some((condition, key)) = chosen.condition() {
            sql.push_str(condition);
            params.push(id(key));
        }
        let removed = self.0.write(&sql, &Value::List(params))?.unwrap_or(0);
        Ok(usize::try_from(removed).unwrap_or(0))
    }

    fn list_with(
        &self,
        key: &str,
        value: &Value,
        now: u64,
        count_max: usize,
    ) -> Result<Vec<ListedSession>, Error> {
        check_search_key(key, SEARCH_KEY_BYTES_MAX)?;
        if !self.is_there()? {
            return Ok(Vec::new());
        }
        if !self.is_indexed(key)? {
            self.0.note_write();
            self.0.begin_in_place()?;
            self.index(key)?;
        }
        let sql = format!(
            "SELECT id, began, ends FROM _sampan_sessions WHERE {} AND ends > ?
             ORDER BY began DESC, id LIMIT ?",
            having(key, value)
        );
        let params = vec![value.clone(), time(now), Value::Int(count_max as i64)];
        let found = self.0.read(&sql, &Value::List(params))?;
        Ok(found
            .as_ref()
            .map(ListedSession::of_rows)
            .unwrap_or_default())
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
