//! The tables that the server has already, and what is done with them around a copy.

use super::names::quoted;
use super::profile::TargetType;
use super::rows::{Plan, PlannedColumn};
use super::source::{Table, fault};
use sampan_host::{Cell, Error, Rows, Value};
use sampan_postgres::{PostgresTransaction, RowLimits};

/// A column of a table on the server.
#[derive(Debug)]
struct ServerColumn {
    name: String,
    kind: TargetType,
    scale: Option<usize>,
    /// The server computes it.
    is_generated: bool,
}

/// A foreign key that was taken away until the rows are there.
#[derive(Debug)]
pub(super) struct HeldKey {
    table: String,
    name: String,
    definition: String,
}

pub(super) async fn ask(
    transaction: &PostgresTransaction,
    sql: &str,
    params: Vec<Value>,
) -> Result<Rows, Error> {
    transaction
        .query(sql, &Value::List(params), RowLimits::default())
        .await
}

pub(super) fn text(rows: &Rows, row: usize, column: usize) -> String {
    match rows.cell(row, column) {
        Cell::Text(text) => text.to_owned(),
        _ => String::new(),
    }
}

/// Returns the plan for a table that the server has; `None` if it has none of that name.
///
/// # Errors
/// It has one without a column that is needed, or something else of that name.
pub(super) async fn existing<'t>(
    transaction: &PostgresTransaction,
    table: &'t Table,
) -> Result<Option<Plan<'t>>, Error> {
    let target = &table.target;
    match found(transaction, table).await? {
        Found::Nothing => Ok(None),
        Found::Table(plan, missing) if missing.is_empty() => Ok(Some(plan)),
        Found::Table(_, missing) => Err(fault(format!(
            "the table {target} is on the server already, without the columns {} of SQLite: bring both to the same \
             schema, or drop it there",
            missing.join(", ")
        ))),
        Found::Other => {
            let text = format!("{target} on the server is no table: drop it or rename it");
            Err(fault(text))
        }
    }
}

/// Returns the plan for the table of a capability, if the server has it with all columns.
pub(super) async fn fitting<'t>(
    transaction: &PostgresTransaction,
    table: &'t Table,
) -> Result<Option<Plan<'t>>, Error> {
    Ok(match found(transaction, table).await? {
        Found::Table(plan, missing) if missing.is_empty() => Some(plan),
        _ => None,
    })
}

/// The thing that the server has under the name of a table.
enum Found<'t> {
    Nothing,
    /// A table, and the columns that it lacks.
    Table(Plan<'t>, Vec<&'t str>),
    Other,
}

async fn found<'t>(
    transaction: &PostgresTransaction,
    table: &'t Table,
) -> Result<Found<'t>, Error> {
    let sql = "SELECT c.relkind::text, a.attname::text, a.atttypid::int8, a.attgenerated::text,
           a.atttypmod::int8
         FROM pg_class AS c LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         WHERE c.oid = to_regclass(?) ORDER BY a.attnum";
    let rows = ask(transaction, sql, vec![quoted(&table.target).into()]).await?;
    if rows.is_empty() {
        return Ok(Found::Nothing);
    }
    if !matches!(&*text(&rows, 0, 0), "r" | "p") {
        return Ok(Found::Other);
    }
    let number = |row, column| match rows.cell(row, column) {
        Cell::Int(number) => number,
        _ => -1,
    };
    let columns: Vec<ServerColumn> = (0..rows.len())
        .map(|row| {
            let (kind, scale) = kind_of(number(row, 2), number(row, 4));
            ServerColumn {
                name: text(&rows, row, 1),
                kind,
                scale,
                is_generated: !text(&rows, row, 3).is_empty(),
            }
        })
        .collect();
    let mut planned = Vec::new();
    let mut missing = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let same = |other: &&ServerColumn| other.name == column.target;
        let alike = |other: &&ServerColumn| other.name.eq_ignore_ascii_case(&column.target);
        let mut found = columns.iter().find(same);
        found = found.or_else(|| columns.iter().find(alike));
        match found {
            // The server computes it itself.
            Some(found) if found.is_generated => {}
            Some(found) => planned.push(PlannedColumn {
                at,
                target: found.name.clone(),
                kind: found.kind,
                scale: found.scale,
            }),
            None if column.is_generated => {}
            None => missing.push(&*column.name),
        }
    }
    let plan = Plan {
        table,
        columns: planned,
        is_made: false,
    };
    Ok(Found::Table(plan, missing))
}

/// Returns the type by its number in `pg_type.dat`, and the digits behind the point of a `numeric`, by its modifier
/// (`numeric_typmod_scale` in `numeric.c`).
fn kind_of(oid: i64, modifier: i64) -> (TargetType, Option<usize>) {
    let kind = match oid {
        20 | 21 | 23 | 26 => TargetType::Bigint,
        701 => TargetType::Double,
        1700 => TargetType::Numeric,
        25 | 1043 => TargetType::Text,
        17 => TargetType::Bytea,
        16 => TargetType::Boolean,
        1082 => TargetType::Date,
        // Fewer than six digits of a fraction are rounded.
        1114 if matches!(modifier, -1 | 6) => TargetType::Timestamp,
        1184 if matches!(modifier, -1 | 6) => TargetType::Timestamptz,
        114 => TargetType::Json,
        3802 => TargetType::Jsonb,
        _ => TargetType::Other,
    };
    if kind != TargetType::Numeric || modifier < 0 {
        return (kind, None);
    }
    let scale = (((modifier - 4) & 0x7ff) ^ 1024) - 1024;
    match usize::try_from(scale) {
        Ok(scale) => (kind, Some(scale)),
        // It is rounded before the point.
        Err(_) => (TargetType::Other, None),
    }
}

/// Returns those of the tables that have rows on the server.
pub(super) async fn with_rows<'t>(
    transaction: &PostgresTransaction,
    tables: impl Iterator<Item = &'t Table>,
) -> Result<Vec<&'t str>, Error> {
    let mut found = Vec::new();
    for table in tables {
        let target = quoted(&table.target);
        let sql = "SELECT relkind::text FROM pg_class WHERE oid = to_regclass(?) AND relkind IN ('r', 'p')";
        let known = ask(transaction, sql, vec![target.as_str().into()]).await?;
        if known.is_empty() {
            continue;
        }
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {target})");
        if ask(transaction, &sql, Vec::new()).await?.cell(0, 0) != Cell::Int(0) {
            found.push(&*table.target);
        }
    }
    Ok(found)
}

/// Takes the foreign keys of tables away, so that rows can come in any order.
pub(super) async fn hold_keys(
    transaction: &PostgresTransaction,
    plans: &[Plan<'_>],
) -> Result<Vec<HeldKey>, Error> {
    let mut held = Vec::new();
    for plan in plans {
        let sql = "SELECT conname::text, pg_get_constraintdef(oid) FROM pg_constraint
             WHERE contype = 'f' AND conparentid = 0 AND conrelid = to_regclass(?) ORDER BY conname";
        let table = quoted(&plan.table.target);
        let rows = ask(transaction, sql, vec![table.as_str().into()]).await?;
        for row in 0..rows.len() {
            let key = HeldKey {
                table: table.clone(),
                name: quoted(&text(&rows, row, 0)),
                definition: text(&rows, row, 1),
            };
            let sql = format!("ALTER TABLE {} DROP CONSTRAINT {}", key.table, key.name);
            transaction.script(&sql).await?;
            held.push(key);
        }
    }
    Ok(held)
}

/// Puts foreign keys back, which checks all rows.
pub(super) async fn put_back(
    transaction: &PostgresTransaction,
    keys: &[HeldKey],
) -> Result<(), Error> {
    for key in keys {
        let HeldKey {
            table,
            name,
            definition,
        } = key;
        let sql = format!("ALTER TABLE {table} ADD CONSTRAINT {name} {definition}");
        transaction.script(&sql).await?;
    }
    Ok(())
}

/// Deletes all rows of the tables that were there before.
pub(super) async fn clear(
    transaction: &PostgresTransaction,
    plans: &[Plan<'_>],
) -> Result<(), Error> {
    let tables: Vec<String> = plans
        .iter()
        .filter(|plan| !plan.is_made)
        .map(|plan| quoted(&plan.table.target))
        .collect();
    match &*tables {
        [] => Ok(()),
        tables => {
            transaction
                .script(&format!("TRUNCATE {}", tables.join(", ")))
                .await
        }
    }
}

/// Sets the sequence behind each column of a table behind its largest id. `largest` is that of a planned column.
pub(super) async fn set_sequences(
    transaction: &PostgresTransaction,
    plan: &Plan<'_>,
    largest: impl Fn(usize) -> Option<i64>,
) -> Result<(), Error> {
    let table = quoted(&plan.table.target);
    for (at, column) in plan.columns.iter().enumerate() {
        if column.kind != TargetType::Bigint {
            continue;
        }
        let sql = "SELECT pg_get_serial_sequence(?, ?)";
        let params = vec![table.as_str().into(), column.target.as_str().into()];
        let rows = ask(transaction, sql, params).await?;
        let sequence = text(&rows, 0, 0);
        let is_identity = plan.table.identity.as_ref() == Some(&plan.table.columns[column.at].name);
        let given = plan.table.last_id.filter(|_| is_identity);
        let (false, Some(last)) = (sequence.is_empty(), largest(at).max(given)) else {
            continue;
        };
        // Ids may be negative; sequences begin with 1. One that is further already stays there.
        let sql = format!(
            "SELECT setval(CAST(CAST(? AS text) AS regclass), ?, ?) FROM {sequence} WHERE last_value <= ?"
        );
        let behind = Value::Int(last.max(1));
        let params = vec![
            sequence.into(),
            behind.clone(),
            Value::Bool(last >= 1),
            behind,
        ];
        ask(transaction, &sql, params).await?;
    }
    Ok(())
}
