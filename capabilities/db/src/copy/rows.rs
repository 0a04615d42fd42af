//! Rows on their way: from a statement of SQLite into the lines of a COPY, a batch at a time.

use super::checks::Checks;
use super::names::{list, quoted};
use super::profile::{TargetType, shown_row, text_of};
use super::source::{Snapshot, Table, fault};
use rusqlite::types::ValueRef;
use sampan_host::Error;
use sampan_postgres::{CopyIn, PostgresTransaction};

/// The size from which a batch is sent.
const BATCH_BYTES: usize = 1024 * 1024;

/// The columns of a table that are copied.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    pub(super) table: &'a Table,
    pub(super) columns: Vec<PlannedColumn>,
    /// The copy has made the table.
    pub(super) is_made: bool,
}

/// A column that is copied.
#[derive(Debug)]
pub(super) struct PlannedColumn {
    /// The place in [`Table::columns`].
    pub(super) at: usize,
    /// The name on the server.
    pub(super) target: String,
    pub(super) kind: TargetType,
    /// The digits behind the point to which a `numeric` is rounded.
    pub(super) scale: Option<usize>,
}

impl Table {
    /// Returns the statement that reads the rowid and all columns.
    pub(super) fn select(&self) -> String {
        let rowid = self.rowid.unwrap_or("NULL");
        let columns = list(self.columns.iter().map(|column| &*column.name));
        format!("SELECT {rowid}, {columns} FROM {}", quoted(&self.name))
    }
}

/// Copies the rows of a table. `tell` is told after each batch how many are there.
///
/// # Errors
/// A value that the server does not take, with its table, column and row.
pub(super) async fn copy_rows(
    snapshot: &Snapshot,
    transaction: &PostgresTransaction,
    plan: &Plan<'_>,
    tell: &mut dyn FnMut(u64),
) -> Result<Checks, Error> {
    let failed = |error: rusqlite::Error| snapshot.explained(&error);
    let table = plan.table;
    let mut checks = Checks::new(plan);
    let mut statement = snapshot.sqlite.prepare(&table.select()).map_err(failed)?;
    let mut rows = statement.raw_query();
    let mut batch = Batch::new(plan);
    while let Some(row) = rows.next().map_err(failed)? {
        checks.rows += 1;
        let rowid = row.get_ref(0).map_err(failed)?;
        for (at, column) in plan.columns.iter().enumerate() {
            let value = row.get_ref(column.at + 1).map_err(failed)?;
            let written = batch.write(at, value, column.kind, &mut checks);
            written.map_err(|why| {
                let row = shown_row(Some(rowid), checks.rows);
                let name = &table.columns[column.at].name;
                fault(format!("{}.{name}, {row}: {why}", table.name))
            })?;
        }
        batch.end_row(rowid.as_i64().ok(), checks.rows);
        if batch.lines.len() >= BATCH_BYTES {
            batch.send(transaction).await?;
            tell(checks.rows);
        }
    }
    batch.send(transaction).await?;
    Ok(checks)
}

/// Lines that are sent together.
struct Batch<'a> {
    table: &'a Table,
    /// The name of the table on the server.
    target: &'a str,
    sql: String,
    lines: Vec<u8>,
    /// The row of each line: its rowid if it has one, and its number.
    rows: Vec<(Option<i64>, u64)>,
}

impl<'a> Batch<'a> {
    fn new(plan: &'a Plan<'_>) -> Self {
        let columns = list(plan.columns.iter().map(|column| &*column.target));
        let target = &*plan.table.target;
        Self {
            table: plan.table,
            target,
            sql: format!("COPY {} ({columns}) FROM STDIN", quoted(target)),
            lines: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds a value to the line.
    fn write(
        &mut self,
        at: usize,
        value: ValueRef<'_>,
        kind: TargetType,
        checks: &mut Checks,
    ) -> Result<(), String> {
        if at > 0 {
            self.lines.push(b'\t');
        }
        match (value, kind) {
            (ValueRef::Null, _) => {
                self.lines.extend_from_slice(b"\\N");
                return Ok(());
            }
            (ValueRef::Blob(bytes), TargetType::Bytea) => {
                checks.add_bytes(at, bytes);
                write_hex(&mut self.lines, bytes);
            }
            (ValueRef::Text(text), TargetType::Bytea) => {
                checks.add_bytes(at, text);
                write_hex(&mut self.lines, text);
            }
            (ValueRef::Blob(_), _) => {
                return Err("a BLOB, which the column does not take: it is no bytea".to_owned());
            }
            (ValueRef::Text(text), _) => {
                let text = text_of(text)?;
                checks.add_text(at, text);
                write_escaped(&mut self.lines, text);
            }
            (ValueRef::Integer(number), _) => {
                let text = number.to_string();
                checks.add_integer(at, number);
                self.lines.extend_from_slice(text.as_bytes());
            }
            (ValueRef::Real(number), kind) => {
                let text = real_text(number, kind);
                checks.add_real(at, number, &text);
                self.lines.extend_from_slice(text.as_bytes());
            }
        }
        Ok(())
    }

    fn end_row(&mut self, rowid: Option<i64>, number: u64) {
        self.lines.push(b'\n');
        self.rows.push((rowid, number));
    }

    async fn send(&mut self, transaction: &PostgresTransaction) -> Result<(), Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(BATCH_BYTES));
        let copy = CopyIn {
            sql: &self.sql,
            table: self.target,
        };
        let sent = transaction.copy_in(copy, lines).await;
        sent.map_err(|refused| {
            let line = refused.line.and_then(|line| line.checked_sub(1));
            let row = line.and_then(|line| self.rows.get(line));
            let row = row.map(|&(rowid, number)| {
                format!(", {}", shown_row(rowid.map(ValueRef::Integer), number))
            });
            let row = row.unwrap_or_default();
            fault(format!(
                "{}{row}: {}",
                self.table.name,
                refused.error.message()
            ))
        })?;
        self.rows.clear();
        Ok(())
    }
}

/// A number as PostgreSQL reads it.
fn real_text(number: f64, kind: TargetType) -> String {
    // 2^63 is the first that a bigint does not have.
    const BIGINT_END: f64 = 9_223_372_036_854_775_808.0;
    match kind {
        TargetType::Bigint if number.fract() == 0.0 && number.abs() < BIGINT_END => {
            (number as i64).to_string()
        }
        _ if number == f64::INFINITY => "Infinity".to_owned(),
        _ if number == f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => format!("{number:?}"),
    }
}

fn write_hex(lines: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // The backslash is one of the value, so it is written twice.
    lines.extend_from_slice(b"\\\\x");
    lines.reserve(2 * bytes.len());
    for byte in bytes {
        lines.push(DIGITS[usize::from(byte >> 4)]);
        lines.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn write_escaped(lines: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'\\' => lines.extend_from_slice(b"\\\\"),
            b'\n' => lines.extend_from_slice(b"\\n"),
            b'\r' => lines.extend_from_slice(b"\\r"),
            b'\t' => lines.extend_from_slice(b"\\t"),
            other => lines.push(other),
        }
    }
}
