//! The tables that the server itself has in a database on a server, made before an app needs them: its role need not
//! have the right to make tables then.

use super::database::PostgresDatabase;
use super::topics;
use crate::config::DatabaseConfig;
use sampan_host::database::OwnTable;
use sampan_host::{Cell, Error, Value};
use sampan_postgres::{PostgresClient, RowLimits};

/// The key of the advisory lock: the beginning of the SHA-256 of `_sampan_own_tables`, without its sign.
const LOCK: i64 = 0x66ff_9388_07c2_6619;

/// Finds a table, and whether it has a column.
const FIND: &str = "SELECT to_regclass(?)::text, ?::text IS NULL OR EXISTS (
  SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(?) AND attname = ?::text AND NOT attisdropped)";

/// Makes the tables of capabilities, and those of topics, that are missing or lack a column. Returns the names of
/// those that were. A database of SQLite needs none: it makes them where they are used.
///
/// # Errors
/// The server cannot be reached, or the user may not make tables. Nothing was made then.
pub fn make_own_tables(
    config: &DatabaseConfig,
    tables: &[OwnTable],
) -> Result<Vec<&'static str>, Error> {
    if !config.is_postgres() {
        return Ok(Vec::new());
    }
    let tables: Vec<OwnTable> = tables
        .iter()
        .chain([&topics::SERVER_TABLES])
        .copied()
        .collect();
    let lock = format!(
        "SET LOCAL lock_timeout = {}; SELECT pg_advisory_xact_lock({LOCK})",
        config.busy_millis_max
    );
    let database = PostgresDatabase::new(config.clone())?;
    database.in_place(async move |client: PostgresClient| {
        let transaction = client.begin().await?;
        transaction.script(&lock).await?;
        let mut made = Vec::new();
        for table in tables {
            let (name, column) = (Value::from(table.name), table.column);
            let column = column.map_or(Value::Null, Value::from);
            let probe = Value::List(vec![name.clone(), column.clone(), name, column]);
            let found = transaction
                .query(FIND, &probe, RowLimits::default())
                .await?;
            let is_there = found.cell(0, 0) != Cell::Null;
            if is_there && found.cell(0, 1) == Cell::Int(1) {
                continue;
            }
            for statement in table.statements {
                if let Err(error) = transaction.script(statement).await {
                    transaction.rollback().await;
                    return Err(explained(&client, &table, is_there, error).await);
                }
            }
            made.push(table.name);
        }
        // Where something else has failed, dropping the transaction has rolled it back.
        transaction.commit().await?;
        Ok(made)
    })
}

/// Returns the error about a table that cannot be made: where the role lacks the right, with that and what gives it.
async fn explained(
    client: &PostgresClient,
    table: &OwnTable,
    is_there: bool,
    error: Error,
) -> Error {
    if error.code() != Some("denied") {
        return error;
    }
    let sql = "SELECT quote_ident(current_user), quote_ident(current_schema())";
    let names = client.query(sql, &Value::Null, RowLimits::default()).await;
    let Ok(names) = names else {
        return error;
    };
    let (Cell::Text(role), Cell::Text(schema)) = (names.cell(0, 0), names.cell(0, 1)) else {
        return error;
    };
    let name = table.name;
    if let (true, Some(column)) = (is_there, table.column) {
        let text = format!(
            "{name} is of an earlier release and lacks the column {column}, and only its owner may add that, not the \
             role {role}: run sampan db migrate as its owner"
        );
        return error.with_message(text);
    }
    let text = format!(
        "{name} is missing, and the role {role} has no right CREATE on the schema {schema}: run sampan db migrate as \
         the owner of the schema, or let the owner run GRANT CREATE ON SCHEMA {schema} TO {role}"
    );
    error.with_message(text)
}
