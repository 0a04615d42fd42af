//! Migrations on a PostgreSQL server.
//!
//! An advisory lock keeps two machines from applying the same file. The others ask for it again and again, with nothing
//! open meanwhile: CREATE INDEX CONCURRENTLY waits for the snapshots of all others, also for that of a statement that
//! waits for a lock.
//!
//! A file runs in a transaction, with its row in the table of migrations. One that begins with the comment
//! `-- no transaction` runs statement by statement outside of one, as CREATE INDEX CONCURRENTLY needs; what it did
//! before it failed stays.

use super::faults::{failed, failed_at};
use super::files::{File, fault};
use super::split::SplitError;
use super::{Applied, own_names};
use crate::config::DatabaseConfig;
use crate::postgres::database::PostgresDatabase;
use sampan_host::database::COMMIT_UNKNOWN;
use sampan_host::{Cell, Error, Value};
use sampan_postgres::{PostgresClient, PostgresTransaction, RowLimits, statements};
use std::time::{Duration, Instant};

pub(super) const CREATE: &str = "CREATE TABLE IF NOT EXISTS _sampan_migrations(
    id bigint PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at text NOT NULL)";

/// The key of the advisory lock: the beginning of the SHA-256 of `_sampan_migrations`.
pub(super) const LOCK: i64 = 0x1e0d_7a3c_52b9_46f1;

/// The comment in the first line of a file that runs outside of a transaction.
const NO_TRANSACTION: &str = "-- no transaction";

/// The longest wait for other processes that apply migrations, in milliseconds.
const WAIT_MILLIS_MAX: u64 = 60 * 60 * 1_000;

/// The pause between two attempts to get the lock of migrations.
const PAUSE: Duration = Duration::from_millis(100);

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

    /// Applies one file. `false` if another process has done so meanwhile. `waits` is called once if the file has to
    /// wait for another process.
    pub(super) fn apply(&self, file: &File, waits: &mut dyn FnMut()) -> Result<bool, Error> {
        check_text(file)?;
        let mut outcome = self.attempt(file, Duration::ZERO)?;
        if matches!(outcome, Outcome::Locked) {
            waits();
            outcome = self.attempt(file, Duration::from_millis(WAIT_MILLIS_MAX))?;
        }
        match outcome {
            Outcome::Applied => Ok(true),
            Outcome::Known => Ok(false),
            Outcome::Locked => Err(failed(
                file,
                &format!(
                    "another process has held the lock of migrations for {} minutes: look for it in pg_stat_activity \
                     and in pg_locks (locktype = 'advisory'), and start again",
                    WAIT_MILLIS_MAX / 60_000
                ),
            )),
            Outcome::Halfway(error) => Err(fault(format!(
                "{}: {}; what it did before stays, because it runs without a transaction",
                file.path.display(),
                with_dialect(file, error.message())
            ))),
        }
    }

    /// Applies one file if the lock of migrations is free within `wait`.
    fn attempt(&self, file: &File, wait: Duration) -> Result<Outcome, Error> {
        let migration = PendingMigration {
            id: file.id,
            name: file.name.clone(),
            checksum: file.checksum.clone(),
            text: file.text.clone(),
            is_apart: is_apart(file),
            lock_millis_max: self.0.config.busy_millis_max,
            // A pooler would give the settings of a connection to others.
            has_own_connection: self.0.config.has_named_statements,
        };
        let attempted = self
            .0
            .in_place(async move |client| migration.apply(&client, wait).await);
        attempted.map_err(|error| {
            let message = with_dialect(file, error.message());
            match error.code() {
                Some(COMMIT_UNKNOWN) => fault(format!("{}: {message}", file.path.display())),
                _ => failed(file, &message),
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
    for statement in &all {
        if let Some(refusal) = own_names::refusal(statement) {
            let start = statement.as_ptr() as usize - file.text.as_ptr() as usize;
            return Err(failed_at(file, &SplitError::at(start, refusal)));
        }
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

/// The end of an attempt to apply a migration.
enum Outcome {
    Applied,
    /// Another process has applied it.
    Known,
    /// Other processes have kept the lock of migrations.
    Locked,
    /// The migration, which runs without a transaction, has failed after its first statement was sent.
    Halfway(Error),
}

/// A migration that is to be applied.
struct PendingMigration {
    id: i64,
    name: String,
    checksum: String,
    text: String,
    /// Its statements run outside of a transaction. That of the lock has its row alone.
    is_apart: bool,
    lock_millis_max: u64,
    has_own_connection: bool,
}

impl PendingMigration {
    /// Applies it under the lock of migrations, in the lock's transaction or beside it.
    async fn apply(&self, client: &PostgresClient, wait: Duration) -> Result<Outcome, Error> {
        let Some(transaction) = lock(client, wait).await? else {
            return Ok(Outcome::Locked);
        };
        let mut has_begun = false;
        let applied = async {
            if self.is_known(&transaction).await? {
                return Ok(Outcome::Known);
            }
            if self.is_apart {
                // Until the next statement the snapshot of the last one stays, which CREATE INDEX CONCURRENTLY waits
                // for.
                transaction.script("SELECT 1").await?;
                has_begun = true;
                client.scripts(&self.texts_apart()).await?;
            } else {
                transaction.script(&self.text).await?;
            }
            let (sql, params) = self.record();
            transaction.exec(sql, &params).await?;
            Ok(Outcome::Applied)
        };
        let ended = match applied.await {
            Ok(outcome) => transaction.commit().await.map(|()| outcome),
            Err(error) => {
                // If this fails too, closing the connection takes everything back.
                transaction.rollback().await;
                Err(error)
            }
        };
        match ended {
            Err(error) if has_begun => Ok(Outcome::Halfway(error)),
            ended => ended,
        }
    }

    /// Reports whether another process has applied it, and limits the waits for locks of tables.
    async fn is_known(&self, transaction: &PostgresTransaction) -> Result<bool, Error> {
        let begin = format!(
            "SET LOCAL lock_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = 0; {CREATE}",
            self.lock_millis_max
        );
        transaction.script(&begin).await?;
        let known = "SELECT checksum FROM _sampan_migrations WHERE id = ?";
        let id = Value::List(vec![Value::Int(self.id)]);
        let known = transaction.query(known, &id, RowLimits::default()).await?;
        if known.is_empty() {
            return Ok(false);
        }
        match known.cell(0, 0) {
            Cell::Text(checksum) if checksum == self.checksum => Ok(true),
            _ => Err(fault("another process has just applied another text of it")),
        }
    }

    /// Returns the statements that run outside of a transaction, with the limits of their waits for locks before them.
    fn texts_apart(&self) -> Vec<String> {
        let (mut texts, mut limit) = (Vec::new(), None);
        for statement in statements(&self.text) {
            let wanted = match is_concurrent(statement) {
                true => 0,
                false => self.lock_millis_max,
            };
            // Between them the file may set others.
            if self.has_own_connection && limit != Some(wanted) {
                texts.push(format!("SET lock_timeout = {wanted}"));
                limit = Some(wanted);
            }
            texts.push(statement.to_owned());
        }
        texts
    }

    /// Returns the statement that remembers it.
    fn record(&self) -> (&'static str, Value) {
        record(self.id, &self.name, &self.checksum, None)
    }
}

/// Takes the lock of migrations; `None` if other processes keep it for `wait`. The lock ends with the transaction.
async fn lock(
    client: &PostgresClient,
    wait: Duration,
) -> Result<Option<PostgresTransaction>, Error> {
    let sql = format!("SELECT CAST(pg_try_advisory_xact_lock({LOCK}) AS integer)");
    let begun = Instant::now();
    loop {
        let transaction = client.begin().await?;
        let taken = transaction.query(&sql, &Value::Null, RowLimits::default());
        if taken.await?.cell(0, 0) == Cell::Int(1) {
            return Ok(Some(transaction));
        }
        transaction.rollback().await;
        if begun.elapsed() >= wait {
            return Ok(None);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Reports whether a statement waits for the transactions of others without being in their way, as CREATE INDEX
/// CONCURRENTLY does. Ended early it would leave an index that is not valid.
fn is_concurrent(statement: &str) -> bool {
    let mut words = statement.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| word.eq_ignore_ascii_case("CONCURRENTLY"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_locks_are_limited_apart_from_those_that_are_in_no_way() {
        let mut migration = PendingMigration {
            id: 1,
            name: "0001_a".to_owned(),
            checksum: String::new(),
            text: "-- no transaction\nALTER TABLE a ADD b int; DROP TABLE c;\nCREATE INDEX\nconcurrently d ON a (b); \
                   VACUUM a"
                .to_owned(),
            is_apart: true,
            lock_millis_max: 5_000,
            has_own_connection: true,
        };
        let limits = |texts: &[String]| -> Vec<String> {
            let limits = texts
                .iter()
                .filter_map(|text| text.strip_prefix("SET lock_timeout = "));
            limits.map(str::to_owned).collect()
        };
        let texts = migration.texts_apart();
        assert_eq!(limits(&texts), ["5000", "0", "5000"]);
        assert_eq!(texts.len(), 7);
        assert_eq!(texts[0], "SET lock_timeout = 5000");
        migration.has_own_connection = false;
        assert_eq!(migration.texts_apart().len(), 4);
    }

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
