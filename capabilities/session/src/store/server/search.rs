//! Sessions on a server that have a value under a key.

use super::{LOCK, ServerSessions, at_once, count, id, time};
use crate::entries::{as_kept, json_of};
use crate::store::{
    INDEX, ListedSession, SEARCH_KEYS_MAX, SessionChoice, check_search_key, moved,
    too_many_search_keys,
};
use sampan_host::database::TableResult;
use sampan_host::{Cell, Error, Value};

const INDEXES: &str = "SELECT indexname::text FROM pg_indexes WHERE tablename = '_sampan_sessions'
    AND schemaname = ANY(current_schemas(false)) AND starts_with(indexname::text, ?)";

/// Removes the rows that lead to a session. Most of the others end later, so the index has few to look at.
const DELETE_WAYS: &str = "DELETE FROM _sampan_sessions
    WHERE ends BETWEEN ? AND ? AND data ->> '_sampan_moved_to' = ?";

/// The longest key by which sessions are searched: the name of its index has 63 bytes at most.
const SEARCH_KEY_BYTES_MAX: usize = 63 - INDEX.len();

impl ServerSessions {
    /// Makes the index by which sessions are found that have a value under `key`, unless it is there.
    async fn index(&self, key: &str) -> Result<(), Error> {
        let indexes = self
            .0
            .run(INDEXES, &Value::List(vec![INDEX.into()]))
            .await?;
        let name = format!("{INDEX}{key}");
        if let Some(TableResult { rows, .. }) = indexes {
            let is_it = |row| rows.cell(row, 0) == Cell::Text(&name);
            if (0..rows.len()).any(is_it) {
                return Ok(());
            }
            if rows.len() >= SEARCH_KEYS_MAX {
                return Err(too_many_search_keys());
            }
        }
        // Values may be longer than a row of a sorted index.
        let create = format!(
            "CREATE INDEX IF NOT EXISTS \"{name}\" ON _sampan_sessions USING hash ((data ->> '{key}'))"
        );
        let statements = [LOCK.to_owned(), create].map(|sql| (sql, Value::Null));
        self.0.run_all(statements.into()).await.map(drop)
    }

    /// Makes it possible to search sessions by a key. False without the table: then there is no session.
    async fn prepare_search(&self, key: &str) -> Result<bool, Error> {
        check_search_key(key, SEARCH_KEY_BYTES_MAX)?;
        let probe = "SELECT 1 FROM _sampan_sessions LIMIT 1";
        if self.0.run(probe, &Value::Null).await?.is_none() {
            return Ok(false);
        }
        self.index(key).await?;
        Ok(true)
    }

    /// Removes the chosen ones of the sessions that have this value under a key. Where one of them stays, no id that it
    /// had before leads to it any more. Returns how many there were.
    ///
    /// # Errors
    /// They cannot be searched by this key, or not be written.
    pub(crate) async fn remove_with(
        &self,
        key: &str,
        value: &Value,
        chosen: SessionChoice,
        now: u64,
    ) -> Result<usize, Error> {
        if !self.prepare_search(key).await? {
            return Ok(0);
        }
        let mut condition = having(key);
        let mut params = wanted(value)?;
        if let Some((more, key)) = chosen.condition() {
            condition.push_str(more);
            params.push(id(key));
        }
        let mut statements = Vec::new();
        if let Some(kept) = chosen.kept() {
            // First: a session that begins by such a row meanwhile is one of those that are removed.
            let ways = moved::ways_to(kept, now);
            statements.push((DELETE_WAYS.to_owned(), Value::List(ways.into())));
        }
        // Then no session can begin with one of them any more, and the next statement sees those that have.
        let lock = format!(
            "SELECT count(*) FROM (SELECT 1 FROM _sampan_sessions WHERE {condition} FOR UPDATE) AS locked"
        );
        statements.push((lock, Value::List(params.clone())));
        let delete = format!("DELETE FROM _sampan_sessions WHERE {condition}");
        statements.push((delete, Value::List(params)));
        let ran = self.0.run_all(statements).await?;
        Ok(count(ran.and_then(|mut ran| ran.pop())))
    }

    /// Removes sessions as [`ServerSessions::remove_with`] does. The thread waits.
    ///
    /// # Errors
    /// As [`ServerSessions::remove_with`].
    pub(crate) fn remove_with_in_place(
        &self,
        key: &str,
        value: &Value,
        chosen: SessionChoice,
        now: u64,
    ) -> Result<usize, Error> {
        at_once(self.in_place().remove_with(key, value, chosen, now))
    }

    /// Returns the sessions that have this value under a key and end after `now`: the newest `count_max`.
    ///
    /// # Errors
    /// They cannot be searched by this key, or not be read.
    pub(crate) async fn list_with(
        &self,
        key: &str,
        value: &Value,
        now: u64,
        count_max: usize,
    ) -> Result<Vec<ListedSession>, Error> {
        if !self.prepare_search(key).await? {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT id, began, ends FROM _sampan_sessions WHERE {} AND ends > ?
             ORDER BY began DESC, id LIMIT ?",
            having(key)
        );
        let mut params = wanted(value)?;
        params.extend([time(now), Value::Int(count_max as i64)]);
        let found = self.0.run(&sql, &Value::List(params)).await?;
        let found = found.map(|found| ListedSession::of_rows(&found.rows));
        Ok(found.unwrap_or_default())
    }

    /// Returns sessions as [`ServerSessions::list_with`] does. The thread waits.
    ///
    /// # Errors
    /// As [`ServerSessions::list_with`].
    pub(crate) fn list_with_in_place(
        &self,
        key: &str,
        value: &Value,
        now: u64,
        count_max: usize,
    ) -> Result<Vec<ListedSession>, Error> {
        at_once(self.in_place().list_with(key, value, now, count_max))
    }
}

/// Returns the condition for sessions that have a value under a key that was checked; see [`wanted`].
fn having(key: &str) -> String {
    format!("data ->> '{key}' = ? AND json_typeof(data -> '{key}') = ?")
}

/// Returns the parameters of [`having`] for a value.
fn wanted(value: &Value) -> Result<Vec<Value>, Error> {
    let (kind, text) = match as_kept(value)? {
        Value::Text(text) => ("string", text),
        Value::Bool(is_true) => ("boolean", is_true.to_string()),
        number => ("number", json_of(&number)?),
    };
    Ok(vec![Value::Text(text), kind.into()])
}
