//! The id of a row that was inserted: INSERT gets a RETURNING of the column that numbers the rows of its table.

use super::Client;
use super::pool::Access;
use super::run::{Done, run};
use crate::connection::exchange::{Gather, Stake, StepDone};
use crate::connection::statement::Statement;
use crate::error::Failure;
use crate::limits::KNOWN_STATEMENTS_MAX;
use crate::sql::{Sql, Verb};
use crate::types::read::CellForms;
use hashlink::LruCache;
use sampan_host::{Cell, Error, Rows, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// Finds the column that numbers the rows of a table: an identity column, one that a sequence gives its default, or the
/// primary key where that is one whole number. It must be one that the user may read, as RETURNING does.
const COLUMN: &str = "
SELECT to_regclass($1) IS NOT NULL, (
    SELECT a.attname::text
    FROM pg_catalog.pg_attribute a
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN pg_catalog.pg_index i ON i.indrelid = a.attrelid AND i.indisprimary AND i.indnkeyatts = 1
        AND i.indkey[0] = a.attnum
    WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid IN (20, 21, 23)
        AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
        AND (NOT pg_catalog.row_security_active(a.attrelid) OR EXISTS (
            SELECT 1 FROM pg_catalog.pg_policy p WHERE p.polrelid = a.attrelid AND p.polcmd IN ('*', 'r')))
        AND (a.attidentity <> '' OR i.indrelid IS NOT NULL
            OR pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%')
    ORDER BY a.attidentity = '', pg_catalog.pg_get_expr(d.adbin, d.adrelid) IS NULL, i.indrelid IS NULL, a.attnum
    LIMIT 1)";

/// The columns that number the rows of tables, by the names as statements write them.
pub(crate) struct Identities(RefCell<LruCache<Box<str>, Option<Rc<str>>>>);

impl Default for Identities {
    fn default() -> Self {
        Self(RefCell::new(LruCache::new(KNOWN_STATEMENTS_MAX)))
    }
}

impl Identities {
    /// Forgets everything, after the schema was changed.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

/// A statement of `exec` as it is sent.
pub(crate) struct Execution {
    pub(crate) statement: Rc<Statement>,
    /// The text by which it is known to the worker.
    pub(crate) key: Rc<str>,
    pub(crate) gather: Gather,
}

impl Client {
    /// Returns the statement that also gives the id of a row that it inserts.
    ///
    /// # Errors
    /// The catalogue cannot be read.
    pub(crate) async fn execution(
        &self,
        connection: &Access,
        statement: &Rc<Statement>,
        sql: &str,
    ) -> Result<Execution, Failure> {
        let plain = |gather| Execution {
            statement: Rc::clone(statement),
            key: sql.into(),
            gather,
        };
        let Some(insert) = &statement.sql.insert else {
            return Ok(plain(Gather::Last(None)));
        };
        let Some(column) = self.identity(connection, &insert.table).await? else {
            return Ok(plain(Gather::Last(None)));
        };
        // No script's statement has such a text.
        let key: Rc<str> = format!("\0{column}\0{sql}").into();
        let make = || statement.sql.returning(insert, &column);
        Ok(Execution {
            statement: self.statements().get_or_add(&key, make),
            key,
            gather: Gather::Last(Some(0)),
        })
    }

    async fn identity(&self, connection: &Access, table: &str) -> Result<Option<Rc<str>>, Failure> {
        if let Some(known) = self.identities.0.borrow_mut().get(table) {
            return Ok(known.clone());
        }
        let make = || Sql::parse(COLUMN).unwrap_or_else(|_| unreachable!("a fixed text"));
        let statement = self.statements().get_or_add(COLUMN, make);
        let params = Value::List(vec![Value::from(table)]);
        let gather = Gather::Rows {
            first_only: true,
            bytes_max: usize::MAX,
            forms: CellForms::default(),
        };
        let found = run(
            connection,
            &statement,
            COLUMN,
            &params,
            gather,
            Stake::Nothing,
        )
        .await?;
        let is_whole = |rows: &Rows| (rows.len(), rows.columns().len()) == (1, 2);
        let Some(rows) = found.rows.filter(is_whole) else {
            return Ok(None);
        };
        let column = match rows.cell(0, 1) {
            Cell::Text(name) => Some(Rc::from(name)),
            _ => None,
        };
        // A table that is not there may be made later.
        if rows.cell(0, 0) == Cell::Int(1) {
            self.identities
                .0
                .borrow_mut()
                .insert(table.into(), column.clone());
        }
        Ok(column)
    }

    /// Takes note of a statement that has run: after a change of the schema other columns may number rows, and columns
    /// may have other types.
    pub(crate) fn ran(&self, sql: &Sql) {
        if sql.verb == Verb::Other {
            self.identities.clear();
        }
        if sql.changes_types {
            self.process.schema_changed();
        }
    }

    /// Runs a statement of `exec` on a shared connection.
    pub(crate) async fn exec_shared(
        &self,
        statement: &Rc<Statement>,
        sql: &str,
        params: &Value,
    ) -> Result<Done, Error> {
        let done = self
            .attempts(sql, statement, async |connection| {
                let current = self.statements().current(sql, statement);
                let first = self.attempt(&connection, &current, sql, params).await;
                match &first {
                    // The column that was added has another name now.
                    Err(Failure::Server { error, .. })
                        if error.sqlstate == "42703" && current.sql.insert.is_some() =>
                    {
                        self.attempt(&connection, &current, sql, params).await
                    }
                    _ => first,
                }
            })
            .await?;
        self.ran(&statement.sql);
        Ok(done.into())
    }

    async fn attempt(
        &self,
        connection: &Access,
        statement: &Rc<Statement>,
        sql: &str,
        params: &Value,
    ) -> Result<StepDone, Failure> {
        let Execution {
            statement,
            key,
            gather,
        } = self.execution(connection, statement, sql).await?;
        let stake = Stake::of(&statement.sql);
        let ran = run(connection, &statement, sql, params, gather, stake).await;
        self.note(&key, &statement, ran)
    }

    /// Takes note of an error that tells that a statement or its identity column does not fit the schema any more.
    pub(crate) fn note(
        &self,
        key: &str,
        statement: &Rc<Statement>,
        ran: Result<StepDone, Failure>,
    ) -> Result<StepDone, Failure> {
        if matches!(ran, Err(Failure::Changed)) {
            self.statements().renew(key, statement);
        }
        if let Err(Failure::Server { error, .. }) = &ran {
            if error.is_stale() {
                self.statements().renew(key, statement);
            }
            // An undefined column or table: that may be the one that was added.
            if matches!(&*error.sqlstate, "42703" | "42P01") {
                self.identities.clear();
            }
        }
        ran
    }
}

impl From<StepDone> for Done {
    fn from(done: StepDone) -> Self {
        Self {
            changes: done.changes,
            last_id: done.last.unwrap_or(0),
        }
    }
}
