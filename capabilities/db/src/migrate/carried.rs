//! The record of migrations of a file, on the server that its rows are copied to.

use super::faults;
use super::files::{self, File, SqlDialect, fault};
use super::postgres::{CREATE, LOCK, check_text, is_apart, record};
use super::{Applied, Migrations};
use sampan_host::{Cell, Error, Value};
use sampan_postgres::{PostgresTransaction, RowLimits};

/// The migrations that a file has applied, and the same in the words of PostgreSQL.
pub(crate) struct CarriedMigrations {
    applied: Vec<Applied>,
    /// The texts, if one of them is written for PostgreSQL: then they make the schema there.
    own: Vec<File>,
}

impl CarriedMigrations {
    /// Compares what the file has applied with the project's files.
    ///
    /// # Errors
    /// The folder cannot be read, or a migration is not written for both databases.
    pub(crate) fn of(mut applied: Vec<Applied>, migrations: &Migrations) -> Result<Self, Error> {
        let for_sqlite = files::read(migrations, SqlDialect::Sqlite)?;
        let mut own = match for_sqlite.is_empty() {
            true => Vec::new(),
            false => files::read(migrations, SqlDialect::Postgres)?,
        };
        own.retain(|file| applied.iter().any(|row| row.id == file.id));
        let mut has_own = false;
        for row in &mut applied {
            let sqlite = for_sqlite.iter().find(|file| file.id == row.id);
            let postgres = own.iter().find(|file| file.id == row.id);
            let (Some(sqlite), Some(postgres)) = (sqlite, postgres) else {
                continue;
            };
            has_own |= sqlite.path != postgres.path;
            // A file that was changed since is reported as such on the server too.
            if sqlite.checksum == row.checksum {
                row.checksum.clone_from(&postgres.checksum);
            }
        }
        if !has_own {
            own.clear();
        }
        Ok(Self { applied, own })
    }

    /// Waits for the lock of migrations, which other copies take too. `waits` is called once if another process has it.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn lock(
        transaction: &PostgresTransaction,
        waits: &mut dyn FnMut(),
    ) -> Result<(), Error> {
        let sql = format!("SELECT CAST(pg_try_advisory_xact_lock({LOCK}) AS integer)");
        let taken = transaction.query(&sql, &Value::Null, RowLimits::default());
        if taken.await?.cell(0, 0) == Cell::Int(1) {
            return Ok(());
        }
        waits();
        let sql = format!("SELECT pg_advisory_xact_lock({LOCK})");
        transaction.script(&sql).await
    }

    /// Runs those that are written for PostgreSQL where the server has none. Returns the number of those. To be called
    /// under the lock.
    ///
    /// # Errors
    /// The server has applied others than the file, or a migration fails.
    pub(crate) async fn begin(&self, transaction: &PostgresTransaction) -> Result<usize, Error> {
        if let Some(known) = known(transaction).await? {
            return self.check(&known).map(|()| 0);
        }
        for file in &self.own {
            if is_apart(file) {
                return Err(fault(format!(
                    "{}: it runs without a transaction: apply it with sampan migrate --db URL first, and copy with \
                     --replace",
                    file.path.display()
                )));
            }
            check_text(file)?;
            let applied = transaction.script(&file.text).await;
            applied.map_err(|error| faults::failed(file, error.message()))?;
        }
        Ok(self.own.len())
    }

    /// Compares what the server has applied.
    fn check(&self, known: &[i64]) -> Result<(), Error> {
        let is_same = self
            .applied
            .iter()
            .map(|row| row.id)
            .eq(known.iter().copied());
        if is_same {
            return Ok(());
        }
        let last =
            |ids: Option<i64>| ids.map_or_else(|| "none".to_owned(), |id| format!("{id:04}"));
        Err(fault(format!(
            "the file has applied other migrations than the server: the last one is {} in SQLite and {} on the server; \
             run sampan migrate for the one that is behind",
            last(self.applied.last().map(|row| row.id)),
            last(known.last().copied())
        )))
    }

    /// Writes the record where the server has none.
    pub(crate) async fn end(&self, transaction: &PostgresTransaction) -> Result<(), Error> {
        if self.applied.is_empty() || known(transaction).await?.is_some() {
            return Ok(());
        }
        transaction.script(CREATE).await?;
        for row in &self.applied {
            let (sql, params) = record(row.id, &row.name, &row.checksum, Some(&row.at));
            transaction.exec(sql, &params).await?;
        }
        Ok(())
    }
}

/// Returns the numbers of the migrations that the server has applied; `None` without a record.
async fn known(transaction: &PostgresTransaction) -> Result<Option<Vec<i64>>, Error> {
    let limits = RowLimits::default();
    let sql = "SELECT to_regclass('_sampan_migrations')::text";
    let table = transaction.query(sql, &Value::Null, limits).await?;
    if table.cell(0, 0) == Cell::Null {
        return Ok(None);
    }
    let sql = "SELECT id FROM _sampan_migrations ORDER BY id";
    let rows = transaction.query(sql, &Value::Null, limits).await?;
    let ids = (0..rows.len()).filter_map(|row| match rows.cell(row, 0) {
        Cell::Int(id) => Some(id),
        _ => None,
    });
    Ok(Some(ids.collect()))
}
