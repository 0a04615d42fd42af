//! The rows of a result, read straight from SQLite's memory.
//!
//! rusqlite asks SQLite two or three times for each cell, and each time SQLite looks the column up and takes a lock. Here it is
//! asked once for the cell and then looks at that.
#![allow(unsafe_code)]

use crate::sqlite::error::ErrorCode;
use crate::sqlite::run::{Known, Run, Trouble};
use rusqlite::{Connection, Row, Statement, ffi};
use sampan_host::rows::TooLarge;
use sampan_host::{Cell, Rows};
use std::ffi::{CStr, c_int};
use std::ptr::NonNull;
use std::sync::Arc;

/// The most room that a result begins with, whatever the last one of its statement took: a large one grows as it comes.
const ROOM_CELLS_MAX: usize = 1_024;
const ROOM_BYTES_MAX: usize = 16 * 1024;

/// The statement itself, which rusqlite keeps to itself.
pub(crate) struct Cells(NonNull<ffi::sqlite3_stmt>);

// SAFETY: a pointer into the connection's memory, which is followed only while the connection's statement is in use.
unsafe impl Send for Cells {}

impl Cells {
    /// Those of the statement of this text that was prepared last on `sqlite`.
    ///
    /// # Panics
    /// There is none.
    pub(crate) fn of_newest(sqlite: &Connection, text: &str) -> Self {
        let mut next = std::ptr::null_mut();
        loop {
            // SAFETY: the handle is open while `sqlite` is borrowed, and nothing ends a statement meanwhile. SQLite keeps the
            // statements of a connection in a list that new ones are put in front of, and the text of each for as long as it lives.
            next = unsafe { ffi::sqlite3_next_stmt(sqlite.handle(), next) };
            let statement =
                NonNull::new(next).expect("SQLite has the statement that it has prepared");
            // SAFETY: as above.
            let known = unsafe { ffi::sqlite3_sql(next) };
            if known.is_null() {
                continue;
            }
            // SAFETY: as above.
            let known = unsafe { CStr::from_ptr(known) }.to_bytes();
            // In front of it there may be those of a virtual table, which prepares its own when it is first met; they may begin
            // as this one does. A statement's text is all of it, or ends with the semicolon.
            let is_whole = known.len() == text.len() || known.ends_with(b";");
            if is_whole && text.as_bytes().starts_with(known) {
                return Self(statement);
            }
        }
    }

    /// A cell of the current row. Out of range there is NULL.
    ///
    /// # Safety
    /// `_row` must be a row of the statement that these are the cells of.
    #[inline]
    unsafe fn get<'r>(&self, _row: &'r Row<'_>, column: usize) -> ColumnFound<'r> {
        // SAFETY: there is a current row for as long as the row is borrowed, and with it the statement and its connection, so
        // no other thread is within; what a value points to stays until the next step. The type is asked before anything is
        // converted, and the length after the text, which may be converted to UTF-8 in place.
        unsafe {
            let value = ffi::sqlite3_column_value(self.0.as_ptr(), column as c_int);
            let bytes = |start: *const u8| -> &'r [u8] {
                let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or(0);
                if start.is_null() || length == 0 {
                    return &[];
                }
                std::slice::from_raw_parts(start, length)
            };
            match ffi::sqlite3_value_type(value) {
                ffi::SQLITE_INTEGER => {
                    ColumnFound::Cell(Cell::Int(ffi::sqlite3_value_int64(value)))
                }
                ffi::SQLITE_FLOAT => {
                    ColumnFound::Cell(Cell::Float(ffi::sqlite3_value_double(value)))
                }
                ffi::SQLITE_TEXT => {
                    let text = ffi::sqlite3_value_text(value);
                    // Converting it took more memory than there is; the answer must not be an empty text.
                    assert!(!text.is_null(), "no memory for a text");
                    ColumnFound::Text(bytes(text))
                }
                ffi::SQLITE_BLOB => {
                    let blob = bytes(ffi::sqlite3_value_blob(value).cast());
                    // A zeroblob is made now; without memory for it, it becomes NULL.
                    let is_blob = ffi::sqlite3_value_type(value) == ffi::SQLITE_BLOB;
                    assert!(is_blob, "no memory for a blob");
                    ColumnFound::Cell(Cell::Bytes(blob))
                }
                _ => ColumnFound::Cell(Cell::Null),
            }
        }
    }
}

/// What a cell has.
enum ColumnFound<'a> {
    Cell(Cell<'a>),
    /// Text that may not be UTF-8.
    Text(&'a [u8]),
}

/// The rows of a statement whose parameters are bound.
pub(crate) fn rows(
    statement: &mut Statement<'_>,
    known: &mut Known,
    run: &Run<'_>,
) -> Result<Rows, Trouble> {
    let mut cursor = statement.raw_query();
    let Some(first) = cursor.next()? else {
        drop(cursor);
        known.refresh(statement);
        return Ok(Rows::new(Arc::clone(&known.columns)));
    };
    known.refresh(first.as_ref());
    let (cells, bytes) = known.room;
    let mut rows = Rows::with_capacity(Arc::clone(&known.columns), cells, bytes);
    push(&mut rows, &known.cells, first, run)?;
    if !(run.first_only && known.readonly) {
        while let Some(row) = cursor.next()? {
            if !run.first_only {
                push(&mut rows, &known.cells, row, run)?;
            }
        }
    }
    let (cells, bytes) = rows.size();
    known.room = (cells.min(ROOM_CELLS_MAX), bytes.min(ROOM_BYTES_MAX));
    Ok(rows)
}

/// Adds a row.
fn push(rows: &mut Rows, cells: &Cells, row: &Row<'_>, run: &Run<'_>) -> Result<(), Trouble> {
    let too_large = |_: TooLarge| too_large(run);
    for column in 0..rows.columns().len() {
        // SAFETY: `rows` above has both from one entry of `crate::sqlite::prepared`, which keeps a statement and what is known of it
        // together.
        match unsafe { cells.get(row, column) } {
            ColumnFound::Text(text) => {
                check_room(rows, text.len(), run)?;
                rows.push_text(text)
            }
            ColumnFound::Cell(Cell::Bytes(bytes)) => {
                check_room(rows, bytes.len(), run)?;
                rows.push(Cell::Bytes(bytes))
            }
            ColumnFound::Cell(cell) => rows.push(cell),
        }
        .map_err(too_large)?;
    }
    check_room(rows, 0, run)
}

fn check_room(rows: &Rows, more: usize, run: &Run<'_>) -> Result<(), Trouble> {
    if rows.memory_bytes().saturating_add(more) > run.result_bytes_max {
        return Err(too_large(run));
    }
    Ok(())
}

#[cold]
fn too_large(run: &Run<'_>) -> Trouble {
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
    use crate::config::Config;
    use crate::sqlite::connection::testing::{all, scratch};
    use crate::sqlite::connection::{Connection, Role};
    use crate::test_folder::Folder;
    use sampan_host::{Cell, Value};

    #[test]
    fn each_kind_of_cell_comes_as_it_is() {
        let (_folder, _, db) = scratch();
        let rows = db.rows("SELECT NULL, -9223372036854775807 - 1, 0.5, 'naïve', '', x'00ff', x'', CAST(x'ff41' AS TEXT)");
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
        let folder = Folder::new();
        let path = folder.path("wide.db");
        rusqlite::Connection::open(&path)
            .and_then(|wide| {
                wide.execute_batch(
                    "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(a); INSERT INTO t VALUES ('naïve 🛶')",
                )
            })
            .unwrap();
        let db = Connection::open(&Config::new(path), Role::Reader).unwrap();
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
            let fresh = Connection::open(&config, Role::Writer).unwrap();
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
            let fresh = Connection::open(&config, Role::Writer).unwrap();
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
