//! Migrations on a PostgreSQL server.
//!
//! An advisory lock keeps two machines from applying the same file. A file runs in a transaction, with its row in the
//! table of migrations. One that begins with the comment `-- no transaction` runs statement by statement outside of
//! one, as CREATE INDEX CONCURRENTLY needs; what it did before it failed stays.

use super::files::{File, fault};
use super::{Applied, failed};
use crate::config::DatabaseConfig;
use crate::postgres::database::PostgresDatabase;
use sampan_host::{Cell, Error, Value};
use sampan_postgres::{PostgresClient, PostgresTransaction, RowLimits, statements};

pub(super) const CREATE: &str = "CREATE TABLE IF NOT EXISTS _sampan_migrations(
    id bigint PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at text NOT NULL)";

/// The key of the advisory lock: the beginning of the SHA-256 of `_sampan_migrations`.
pub(super) const LOCK: i64 = 0x1e0d_7a3c_52b9_46f1;

/// The comment in the first line of a file that runs outside of a transaction.
const NO_TRANSACTION: &str = "-- no transaction";

/// The migrations of a database on a server.
pub(super) struct PostgresMigrations(PostgresDatabase);

impl PostgresMigrations {
    pub(super) fn new(config: &DatabaseConfig) -> Result<Self, Error> {
        // A migration may take as long as it needs.
        let unlimited = DatabaseConfig {
            statement_millis_max: 0,
            ..config.clone()
        };
        PostgresDatabase::new(unlimited).map(Self)
    }

    /// Returns the migrations that the database has applied.
    pub(super) fn applied(&self) -> Result<Vec<Applied>, Error> {
        let rows = self.0.in_place(async |client: PostgresClient| {
            let table = "SELECT to_regclass('_sampan_migrations')::text AS name";
            let limits = RowLimits::default();
            let table = client.query(table, &Value::Null, limits).await?;
            if table.cell(0, 0) == Cell::Null {
                return Ok(None);
            }
            let sql = "SELECT id, name, checksum, applied_at FROM _sampan_migrations ORDER BY id";
            client.query(sql, &Value::Null, limits).await.map(Some)
        })?;
        let Some(rows) = rows else {
            return Ok(Vec::new());
        };
        let text = |row, column| match rows.cell(row, column) {
            Cell::Text(text) => text.to_owned(),
            _ => String::new(),
        };
        let applied = (0..rows.len()).map(|row| Applied {
            id: match rows.cell(row, 0) {
                Cell::Int(id) => id,
                _ => 0,
            },
            name: text(row, 1),
            checksum: text(row, 2),
            at: text(row, 3),
        });
        Ok(applied.collect())
    }

    /// Applies one file. `false` if another process has done so meanwhile.
    pub(super) fn apply(&self, file: &File) -> Result<bool, Error> {
        check_text(file)?;
        let is_apart = is_apart(file);
        let migration = PendingMigration {
            id: file.id,
            name: file.name.clone(),
            checksum: file.checksum.clone(),
            text: file.text.clone(),
            lock_millis_max: self.0.config.busy_millis_max,
        };
        let applied = self.0.in_place(async move |client| match is_apart {
            true => migration.apply_apart(&client).await,
            false => migration.apply(&client).await,
        });
        applied.map_err(|error| {
            let message = with_dialect(file, error.message());
            match is_apart {
                true => fault(format!(
                    "{}: {message}; what it did before stays, because it runs without a transaction",
                    file.path.display()
                )),
                false => failed(file, &message),
            }
        })
    }
}

/// Adds to the message of an error that a word which PostgreSQL does not know is one of SQLite's.
fn with_dialect(file: &File, message: &str) -> String {
    const WORDS: [&str; 3] = ["STRICT", "ROWID", "AUTOINCREMENT"];
    let near = message.split_once("at or near \"");
    let word = near.and_then(|(_, rest)| rest.split('"').next());
    let is_known = |word: &&str| WORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
    match word.filter(is_known) {
        None => message.to_owned(),
        Some(word) => format!(
            "{message}; {word} is a word of SQLite: leave it out, or have the migration as {0}.sqlite.sql and \
             {0}.postgres.sql",
            file.name
        ),
    }
}

/// Reports whether a file runs outside of a transaction.
pub(super) fn is_apart(file: &File) -> bool {
    file.text.lines().next().map(str::trim) == Some(NO_TRANSACTION)
}

/// Refuses a file without statements, and one that would end its transaction.
pub(super) fn check_text(file: &File) -> Result<(), Error> {
    let all = statements(&file.text);
    if all.is_empty() {
        // It is likely to be filled later, and would then count as changed.
        let text = "there is no statement in it: write it, or delete the file";
        return Err(failed(file, text));
    }
    if !is_apart(file)
        && let Some(word) = transaction_word(&all)
    {
        return Err(failed(
            file,
            &format!(
                "{word} would end the transaction that a migration runs in: leave it out, or begin the file with the \
                 line {NO_TRANSACTION}"
            ),
        ));
    }
    Ok(())
}

/// Returns the first word of a statement that begins or ends a transaction, if there is one.
fn transaction_word<'a>(statements: &[&'a str]) -> Option<&'a str> {
    const WORDS: [&str; 6] = ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT"];
    let mut words = statements
        .iter()
        .filter_map(|one| one.split(|c: char| !c.is_ascii_alphabetic()).next());
    words.find(|word| WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Returns the statement that remembers a migration, as applied now or at a time.
pub(super) fn record(
    id: i64,
    name: &str,
    checksum: &str,
    at: Option<&str>,
) -> (&'static str, Value) {
    let sql = "INSERT INTO _sampan_migrations(id, name, checksum, applied_at) VALUES (?, ?, ?,
        coalesce(CAST(? AS text), to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')))";
    let at = at.map_or(Value::Null, Value::from);
    (
        sql,
        Value::List(vec![Value::Int(id), name.into(), checksum.into(), at]),
    )
}

/// A migration that is to be applied.
struct PendingMigration {
    id: i64,
    name: String,
    checksum: String,
    text: String,
    lock_millis_max: u64,
}

impl PendingMigration {
    /// Applies it in a transaction.
    async fn apply(&self, client: &PostgresClient) -> Result<bool, Error> {
        let transaction = client.begin().await?;
        let applied = async {
            if !self.lock(&transaction).await? {
                return Ok(false);
            }
            transaction.script(&self.text).await?;
            let (sql, params) = self.record();
            transaction.exec(sql, &params).await?;
            Ok(true)
        };
        match applied.await {
            Ok(is_new) => transaction.commit().await.map(|()| is_new),
            Err(error) => {
                // If this fails too, closing the connection takes everything back.
                transaction.rollback().await;
                Err(error)
            }
        }
    }

    /// Applies it statement by statement. The transaction only keeps the lock meanwhile.
    async fn apply_apart(&self, client: &PostgresClient) -> Result<bool, Error> {
        let lock = client.begin().await?;
        let applied = async {
            if !self.lock(&lock).await? {
                return Ok(false);
            }
            // Until the next statement the snapshot of the last one stays, which CREATE INDEX CONCURRENTLY waits for.
            lock.script("SELECT 1").await?;
            for statement in statements(&self.text) {
                client.script(statement).await?;
            }
            let (sql, params) = self.record();
            lock.exec(sql, &params).await?;
            Ok(true)
        };
        match applied.await {
            Ok(is_new) => lock.commit().await.map(|()| is_new),
            Err(error) => {
                lock.rollback().await;
                Err(error)
            }
        }
    }

    /// Waits for the lock of migrations. Reports whether this one is still to be applied.
    async fn lock(&self, transaction: &PostgresTransaction) -> Result<bool, Error> {
        let begin = format!(
            "SET LOCAL lock_timeout = {}; SELECT pg_advisory_xact_lock({LOCK}); {CREATE}",
            self.lock_millis_max
        );
        transaction.script(&begin).await?;
        let known = "SELECT checksum FROM _sampan_migrations WHERE id = ?";
        let id = Value::List(vec![Value::Int(self.id)]);
        let known = transaction.query(known, &id, RowLimits::default()).await?;
        if known.is_empty() {
            return Ok(true);
        }
        match known.cell(0, 0) {
            Cell::Text(checksum) if checksum == self.checksum => Ok(false),
            _ => Err(fault("another process has just applied another text of it")),
        }
    }

    /// Returns the statement that remembers it.
    fn record(&self) -> (&'static str, Value) {
        record(self.id, &self.name, &self.checksum, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_of_a_function_ends_no_transaction() {
        let function = "CREATE FUNCTION f(n int) RETURNS int BEGIN ATOMIC\n\
                        SELECT CASE WHEN n > 1 THEN 2 END; SELECT 1;\nEND";
        for (rest, word) in [
            ("", None),
            ("; SELECT f(1)", None),
            (";\ncommit;", Some("commit")),
            ("; END", Some("END")),
        ] {
            let text = format!("{function}{rest}");
            let all = statements(&text);
            assert_eq!(all.first(), Some(&function), "{rest}");
            assert_eq!(transaction_word(&all), word, "{rest}");
        }
    }
}
