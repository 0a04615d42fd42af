//! A database as the SQL that makes it.
//!
//! Everything is read in one transaction. Tables come first, with their rows, then virtual tables, indexes, triggers
//! and views, so that nothing runs while rows are put in.

use super::{Console, fault};
use crate::sqlite::open::explain;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sampan_host::Error;
use std::fmt::Write as _;
use std::io::{self, Write};

/// The reason why a dump did not end.
#[derive(Debug)]
pub enum DumpError {
    /// The database cannot be read, or has what SQL cannot make.
    Database(Error),
    /// The output failed.
    Output(io::Error),
}

impl From<io::Error> for DumpError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// One that is made by a statement of its own.
struct Made {
    kind: String,
    name: String,
    sql: String,
    /// The type in `pragma_table_list`; empty for what is not a table.
    table: String,
}

impl Console {
    /// Writes the SQL that makes the database.
    ///
    /// # Errors
    /// It cannot be read, it has what SQL cannot make, or `output` cannot be written.
    pub fn dump(&self, output: &mut dyn Write) -> Result<(), DumpError> {
        let begun = self.sqlite.execute_batch("BEGIN");
        begun.map_err(|error| self.unread(&error))?;
        let done = self.write_dump(output);
        let ended = self.sqlite.execute_batch("COMMIT");
        done?;
        ended.map_err(|error| self.unread(&error))
    }

    fn unread(&self, error: &rusqlite::Error) -> DumpError {
        DumpError::Database(explain(error, &self.path).error)
    }

    fn write_dump(&self, output: &mut dyn Write) -> Result<(), DumpError> {
        let unread = |error: rusqlite::Error| self.unread(&error);
        let made = made(&self.sqlite).map_err(unread)?;
        writeln!(output, "PRAGMA foreign_keys=OFF;\nBEGIN;")?;
        for pragma in ["application_id", "user_version"] {
            let asked = self
                .sqlite
                .pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
            match asked.map_err(unread)? {
                0 => {}
                value => writeln!(output, "PRAGMA {pragma}={value};")?,
            }
        }
        for one in made.iter().filter(|one| one.table == "table") {
            // Its rows are made by AUTOINCREMENT; they follow when all tables are there.
            if one.name != "sqlite_sequence" {
                writeln!(output, "{};", one.sql)?;
                self.rows(&one.name, false, output)?;
            }
        }
        if made.iter().any(|one| one.name == "sqlite_sequence") {
            writeln!(output, "DELETE FROM sqlite_sequence;")?;
            self.rows("sqlite_sequence", false, output)?;
        }
        for one in made.iter().filter(|one| one.table == "virtual") {
            writeln!(output, "{};", one.sql)?;
            self.virtual_rows(one, output)?;
        }
        for kind in ["index", "view", "trigger"] {
            for one in made.iter().filter(|one| one.kind == kind) {
                writeln!(output, "{};", one.sql)?;
            }
        }
        Ok(writeln!(output, "COMMIT;")?)
    }

    /// The rows of a virtual table, as far as they are its own.
    fn virtual_rows(&self, one: &Made, output: &mut dyn Write) -> Result<(), DumpError> {
        let sql: String = one.sql.chars().filter(|it| !it.is_whitespace()).collect();
        let sql = sql.to_ascii_lowercase();
        let is_fts5 = sql.contains("usingfts5(");
        if is_fts5 && (sql.contains("content=''") || sql.contains("content=\"\"")) {
            return Err(DumpError::Database(fault(format!(
                "the table {} keeps an index and not its texts (content=''), so SQL cannot make it: use sampan backup",
                one.name
            ))));
        }
        if is_fts5 && sql.contains("content=") {
            let name = quoted(&one.name);
            return Ok(writeln!(
                output,
                "INSERT INTO {name}({name}) VALUES('rebuild');"
            )?);
        }
        self.rows(&one.name, is_fts5, output)
    }

    /// The rows of a table as INSERT statements.
    fn rows(&self, table: &str, with_rowid: bool, output: &mut dyn Write) -> Result<(), DumpError> {
        let unread = |error: rusqlite::Error| self.unread(&error);
        let mut columns = columns(&self.sqlite, table).map_err(unread)?;
        if with_rowid {
            columns.insert(0, "rowid".to_owned());
        }
        let (name, columns) = (quoted(table), columns.join(","));
        let mut statement = self
            .sqlite
            .prepare(&format!("SELECT {columns} FROM {name}"))
            .map_err(unread)?;
        let count = statement.column_count();
        let mut rows = statement.raw_query();
        let mut line = String::new();
        while let Some(row) = rows.next().map_err(unread)? {
            line.clear();
            for at in 0..count {
                line.push(if at == 0 { '(' } else { ',' });
                push_literal(&mut line, row.get_ref(at).map_err(unread)?);
            }
            writeln!(output, "INSERT INTO {name}({columns}) VALUES{line});")?;
        }
        Ok(())
    }
}

/// Returns the objects of the database, in the order in which it was made. Tables that virtual ones keep for themselves
/// are left out.
fn made(sqlite: &Connection) -> rusqlite::Result<Vec<Made>> {
    let mut statement = sqlite.prepare(
        "SELECT s.type, s.name, s.sql, ifnull(l.type, '') FROM sqlite_schema AS s
         LEFT JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = s.name AND s.type IN ('table', 'view')
         WHERE s.sql IS NOT NULL AND (s.name = 'sqlite_sequence' OR s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\')
         ORDER BY s.rowid",
    )?;
    let rows = statement.query_map((), |row| {
        Ok(Made {
            kind: row.get(0)?,
            name: row.get(1)?,
            sql: row.get(2)?,
            table: row.get(3)?,
        })
    })?;
    rows.collect()
}

/// The columns that an INSERT names: not those that are computed.
fn columns(sqlite: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        sqlite.prepare("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0")?;
    let rows = statement.query_map([table], |row| row.get::<_, String>(0))?;
    rows.map(|name| name.map(|name| quoted(&name))).collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A value as SQL that gives exactly it.
fn push_literal(line: &mut String, value: ValueRef<'_>) {
    let hex = |line: &mut String, bytes: &[u8]| {
        line.push_str("X'");
        for byte in bytes {
            let _ = write!(line, "{byte:02x}");
        }
        line.push('\'');
    };
    // Writing to a string does not fail.
    match value {
        ValueRef::Null => line.push_str("NULL"),
        ValueRef::Integer(number) => {
            let _ = write!(line, "{number}");
        }
        ValueRef::Real(number) if number.is_infinite() => {
            line.push_str(if number > 0.0 { "9e999" } else { "-9e999" });
        }
        ValueRef::Real(number) => {
            let _ = write!(line, "{number:?}");
        }
        ValueRef::Blob(bytes) => hex(line, bytes),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                line.push('\'');
                line.push_str(&text.replace('\'', "''"));
                line.push('\'');
            }
            // SQL ends at a NUL, and is UTF-8.
            _ => {
                line.push_str("CAST(");
                hex(line, bytes);
                line.push_str(" AS TEXT)");
            }
        },
    }
}
