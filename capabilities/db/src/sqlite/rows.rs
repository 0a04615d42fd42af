//! The rows of a result, copied cell by cell from SQLite's memory.

use crate::sqlite::error::ErrorCode;
use crate::sqlite::run::{RunLimits, Trouble};
use crate::sqlite::statement::Execution;
use crate::sqlite::status;
use rusqlite::types::ValueRef;
use sampan_host::{Cell, Rows};
use std::sync::Arc;

/// The most room that a result begins with, for any size of its statement's last result: a large one grows as it comes.
const ROOM_CELLS_MAX: usize = 1_024;
const ROOM_BYTES_MAX: usize = 16 * 1024;

/// The rows of a statement whose parameters are bound.
pub(crate) fn rows(execution: &mut Execution<'_>, run: &RunLimits<'_>) -> Result<Rows, Trouble> {
    if !execution.step()? {
        return Ok(Rows::new(Arc::clone(execution.columns())));
    }
    let (cells, bytes) = execution.room;
    let mut rows = Rows::with_capacity(Arc::clone(execution.columns()), cells, bytes);
    push(&mut rows, execution, run)?;
    if !(run.first_only && execution.readonly) {
        while execution.step()? {
            if !run.first_only {
                push(&mut rows, execution, run)?;
            }
        }
    }
    let (cells, bytes) = rows.size();
    execution.0.room = (cells.min(ROOM_CELLS_MAX), bytes.min(ROOM_BYTES_MAX));
    Ok(rows)
}

/// Adds the current row.
fn push(rows: &mut Rows, execution: &Execution<'_>, run: &RunLimits<'_>) -> Result<(), Trouble> {
    for column in 0..rows.columns().len() {
        match execution.cell(column).ok_or_else(status::no_memory)? {
            ValueRef::Null => rows.push(Cell::Null),
            ValueRef::Integer(value) => rows.push(Cell::Int(value)),
            ValueRef::Real(value) => rows.push(Cell::Float(value)),
            ValueRef::Text(text) => {
                check_room(rows, text.len(), run)?;
                rows.push_text(text)
            }
            ValueRef::Blob(bytes) => {
                check_room(rows, bytes.len(), run)?;
                rows.push(Cell::Bytes(bytes))
            }
        }
        .map_err(|_| too_large(run))?;
    }
    check_room(rows, 0, run)
}

fn check_room(rows: &Rows, more: usize, run: &RunLimits<'_>) -> Result<(), Trouble> {
    if rows.memory_bytes().saturating_add(more) > run.result_bytes_max {
        return Err(too_large(run));
    }
    Ok(())
}

#[cold]
fn too_large(run: &RunLimits<'_>) -> Trouble {
    Trouble::Refused(
        ErrorCode::TooLarge,
        format!(
            "the result is larger than result_bytes_max ({} bytes): ask for fewer rows (LIMIT) or fewer columns",
            run.result_bytes_max
        ),
        None,
    )
}

#[cfg(test)]
mod tests {
    use crate::config::DatabaseConfig;
    use crate::sqlite::connection::SqliteConnection;
    use crate::sqlite::connection::testing::{all, scratch};
    use crate::sqlite::open::Role;
    use crate::test_folder::TestFolder;
    use sampan_host::{Cell, Value};

    #[test]
    fn each_kind_of_cell_comes_as_it_is() {
        let (_folder, _, db) = scratch();
        let rows = db.rows("SELECT NULL, -9223372036854775807 - 1, 0.5, 'naïve', '', x'00ff', x'', CAST(x'ff41' AS \
         TEXT)");
        let expected = [
            Cell::Null,
            Cell::Int(i64::MIN),
            Cell::Float(0.5),
            Cell::Text("naïve"),
            Cell::Text(""),
            Cell::Bytes(b"\x00\xff"),
            Cell::Bytes(b""),
            Cell::Bytes(b"\xffA"),
        ];
        for (column, cell) in expected.into_iter().enumerate() {
            assert_eq!(rows.cell(0, column), cell, "column {column}");
        }
    }

    #[test]
    fn text_of_a_database_in_utf_16_is_converted() {
        let folder = TestFolder::new();
        let path = folder.path("wide.db");
        crate::sqlite::memory::connect_for_test(&path)
            .and_then(|wide| {
                wide.execute_batch(
                    "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(a); INSERT INTO t VALUES ('naïve 🛶')",
                )
            })
            .unwrap();
        let db = SqliteConnection::open(&DatabaseConfig::new(path), Role::Reader).unwrap();
        let rows = db.rows("SELECT a, a || a FROM t");
        assert_eq!(rows.cell(0, 0), Cell::Text("naïve 🛶"));
        assert_eq!(rows.cell(0, 1), Cell::Text("naïve 🛶naïve 🛶"));
    }

    #[test]
    fn each_statement_has_its_own_cells_whatever_stands_around_it() {
        let (_folder, _, db) = scratch();
        db.done("CREATE TABLE t(a, b)");
        let texts = [
            "SELECT 1",
            "SELECT 2;",
            "SELECT 3; -- and no more",
            "/* first */ SELECT 4 /* last */",
            "SELECT 5 ;  ;",
            "WITH x(i) AS (SELECT 6) SELECT i FROM x",
            "INSERT INTO t VALUES (7, 'seven') RETURNING a",
        ];
        for _ in 0..3 {
            for (number, text) in (1..).zip(texts) {
                assert_eq!(db.rows(text).cell(0, 0), Cell::Int(number), "{text}");
            }
        }
    }

    #[test]
    fn a_virtual_table_that_prepares_its_own_is_told_apart() {
        let (_folder, config, db) = scratch();
        db.done("CREATE VIRTUAL TABLE notes USING fts5(body)");
        db.done("INSERT INTO notes VALUES ('two sampans')");
        // A connection that has not seen the table connects to it while it prepares, writes or reads.
        for sql in [
            "SELECT body, rowid FROM notes WHERE notes MATCH 'sampans'",
            "INSERT INTO notes VALUES ('one') RETURNING 'two sampans', 1",
            "SELECT body, count(*) FROM notes WHERE rowid = 1",
        ] {
            let fresh = SqliteConnection::open(&config, Role::Writer).unwrap();
            let rows = fresh.rows(sql);
            assert_eq!(
                (rows.cell(0, 0), rows.cell(0, 1)),
                (Cell::Text("two sampans"), Cell::Int(1)),
                "{sql}"
            );
        }
    }

    #[test]
    fn a_statement_that_begins_as_one_of_a_virtual_table_has_its_own_cells() {
        let (_folder, config, db) = scratch();
        db.done("CREATE VIRTUAL TABLE r USING rtree(id, a, b)");
        db.done("INSERT INTO r VALUES (1, 2, 3)");
        // R*Tree keeps statements prepared, and one of them is the beginning of this.
        let sql =
            "SELECT nodeno FROM 'main'.'r_rowid' WHERE rowid = ?1 OR EXISTS (SELECT 1 FROM r)";
        for _ in 0..2 {
            let fresh = SqliteConnection::open(&config, Role::Writer).unwrap();
            let one = Value::List(vec![Value::Int(1)]);
            let rows = fresh.query(sql, &one, &all()).unwrap();
            assert_eq!(rows.cell(0, 0), Cell::Int(1));
            // With another schema it is prepared again, and those of the table are gone.
            db.done("CREATE TABLE IF NOT EXISTS other(a)");
            db.done("DROP TABLE other");
            let rows = fresh.query(sql, &one, &all()).unwrap();
            assert_eq!(rows.cell(0, 0), Cell::Int(1));
        }
    }

    #[test]
    fn a_changed_schema_changes_the_cells() {
        let (_folder, _, db) = scratch();
        db.done("CREATE TABLE t(a)");
        db.done("INSERT INTO t VALUES (1)");
        let sql = "SELECT * FROM t";
        assert_eq!(db.rows(sql).columns().len(), 1);
        db.done("ALTER TABLE t ADD COLUMN b DEFAULT 'new'");
        let rows = db.query(sql, &Value::Null, &all()).unwrap();
        assert_eq!(
            (rows.cell(0, 0), rows.cell(0, 1)),
            (Cell::Int(1), Cell::Text("new"))
        );
    }
}
