//! A prepared statement: SQLite's own, and what is worth knowing about it for as long as it is kept.
//!
//! rusqlite's statements borrow their connection, so that no cache can own both, and ask SQLite two or three times for
//! each cell. This one is a handle that is finalized on drop. [`crate::sqlite::prepared`] keeps it beside its
//! connection.
#![allow(unsafe_code)]

use crate::sql_policy::{authorizer, search};
use crate::sqlite::error::ErrorCode;
use crate::sqlite::run::Trouble;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, ffi};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A statement at rest: nothing is bound, and it is not running.
pub(crate) struct Statement {
    handle: Handle,
    /// True if it writes nothing.
    pub(crate) readonly: bool,
    /// True if it inserts, updates or deletes, so that SQLite counts what it changed.
    pub(crate) counts: bool,
    /// True if it writes and returns rows (RETURNING).
    pub(crate) returns: bool,
    /// The parameters that are queries of a full-text search, see [`crate::sql_policy::search`].
    pub(crate) searches: Box<[usize]>,
    /// Cells and bytes of its last result, as far as the next one begins with room for as many.
    pub(crate) room: (usize, usize),
    /// The names of its columns; the same `Arc` for as long as they are the same.
    columns: Arc<[String]>,
    /// The number of times SQLite had prepared the statement again when `columns` was looked up; none has the count -1.
    reprepares: c_int,
}

/// SQLite's statement. While there is a handle, the statement is not finalized and its connection is open.
struct Handle(NonNull<ffi::sqlite3_stmt>);

// SAFETY: SQLite binds a statement to no thread. The caller of `Statement::prepare` promises that the statement moves
// only together with its connection, so that one thread at a time uses both.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: this is the only handle of the statement. What finalizing returns was said by the last step.
        unsafe { ffi::sqlite3_finalize(self.0.as_ptr()) };
    }
}

impl Statement {
    /// Prepares the only statement of `text`.
    ///
    /// # Safety
    /// The statement must be dropped before `sqlite` is closed, and move between threads only together with it.
    pub(crate) unsafe fn prepare(sqlite: &Connection, text: &str) -> Result<Self, Trouble> {
        let refused = |why: &str| Trouble::Refused(ErrorCode::Syntax, why.to_owned(), None);
        // SAFETY: the connection is open, and the caller promises to drop the statement before it is closed.
        let (handle, behind) = unsafe { compile(sqlite, text) }.map_err(Trouble::Preparing)?;
        let handle = handle.ok_or_else(|| refused("there is no statement in it"))?;
        // SAFETY: the connection is open, and what is compiled here is dropped here. What stands behind may be a
        // comment; a second statement may have an error of its own.
        if !matches!(unsafe { compile(sqlite, behind) }, Ok((None, _))) {
            return Err(refused("one statement at a time: use db.batch"));
        }
        let raw = handle.0.as_ptr();
        // SAFETY: `handle` keeps the statement alive, and these only look at it; the names end with NUL.
        let (is_explain, is_readonly, columns, index_of) = unsafe {
            (
                ffi::sqlite3_stmt_isexplain(raw) != 0,
                ffi::sqlite3_stmt_readonly(raw) != 0,
                ffi::sqlite3_column_count(raw),
                |name: &CStr| ffi::sqlite3_bind_parameter_index(raw, name.as_ptr()),
            )
        };
        // What is only explained is not done.
        let readonly = is_explain || is_readonly;
        let counts = !readonly && authorizer::is_plain(authorizer::first_word(text));
        Ok(Self {
            handle,
            readonly,
            counts,
            returns: counts && columns > 0,
            searches: search::parameters(text, |name| {
                let index = index_of(&CString::new(name).ok()?);
                usize::try_from(index).ok().filter(|&index| index > 0)
            }),
            room: (0, 0),
            columns: Arc::new([]),
            reprepares: -1,
        })
    }

    /// Begins an execution.
    #[inline]
    pub(crate) fn start(&mut self) -> Execution<'_> {
        Execution(self)
    }

    /// Returns the number of parameters; those that were left out (`?3` alone) count.
    #[inline]
    pub(crate) fn parameter_count(&self) -> usize {
        // SAFETY: the handle of this value keeps the statement alive, and the call only looks at it.
        let count = unsafe { ffi::sqlite3_bind_parameter_count(self.raw()) };
        usize::try_from(count).unwrap_or(0)
    }

    /// The name of a parameter with its prefix, if it has one. Parameters count from 1.
    pub(crate) fn parameter_name(&self, index: usize) -> Option<&str> {
        // SAFETY: the name lives as long as the statement.
        let name = unsafe { c_text(ffi::sqlite3_bind_parameter_name(self.raw(), index as c_int)) };
        name?.to_str().ok()
    }

    fn raw(&self) -> *mut ffi::sqlite3_stmt {
        self.handle.0.as_ptr()
    }

    #[cold]
    fn error(&self, code: c_int) -> Error {
        // SAFETY: the statement is alive, and so is its connection: the caller of `Statement::prepare` promises to
        // close it after the statement is dropped.
        unsafe { failure(ffi::sqlite3_db_handle(self.raw()), code) }
    }
}

/// A statement that runs. It is reset at the end, after a panic too, and what was bound, which may be large, is
/// dropped.
pub(crate) struct Execution<'s>(pub(super) &'s mut Statement);

impl Execution<'_> {
    /// Gives a parameter, counted from 1, its value, which is copied.
    #[inline]
    pub(crate) fn bind(&mut self, index: usize, value: ValueRef<'_>) -> Result<(), Error> {
        let (raw, index) = (self.raw(), index as c_int);
        // SAFETY: there is a handle. SQLite copies text and bytes before the call returns. It takes a null
        // pointer for NULL; a slice has none.
        let code = unsafe {
            match value {
                ValueRef::Null => ffi::sqlite3_bind_null(raw, index),
                ValueRef::Integer(value) => ffi::sqlite3_bind_int64(raw, index, value),
                ValueRef::Real(value) => ffi::sqlite3_bind_double(raw, index, value),
                ValueRef::Text(text) => ffi::sqlite3_bind_text64(
                    raw,
                    index,
                    text.as_ptr().cast(),
                    text.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                    ffi::SQLITE_UTF8 as u8,
                ),
                ValueRef::Blob(bytes) => ffi::sqlite3_bind_blob64(
                    raw,
                    index,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                ),
            }
        };
        match code {
            ffi::SQLITE_OK => Ok(()),
            code => Err(self.error(code)),
        }
    }

    /// Goes on to the next row. False at the end.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<bool, Error> {
        // SAFETY: there is a handle, and `&mut` ends what borrows from the row before.
        match unsafe { ffi::sqlite3_step(self.raw()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            code => Err(self.error(code)),
        }
    }

    /// Goes on to the end.
    pub(crate) fn finish(&mut self) -> Result<(), Trouble> {
        while self.step()? {}
        Ok(())
    }

    /// A cell of the current row; NULL where there is none. Text may be no UTF-8. `None` where there is no memory for a
    /// text that is converted, or for a blob of zeros.
    #[inline]
    pub(crate) fn cell(&self, column: usize) -> Option<ValueRef<'_>> {
        // SAFETY: what a value points to stays until the next step or the reset, which both need `&mut self`. SQLite
        // has a NULL for a column or a row that is not there. The type is asked before anything is converted, and the
        // length after the text, which may be converted to UTF-8 in place; asked again, it has been converted already.
        unsafe {
            let value = ffi::sqlite3_column_value(self.raw(), column as c_int);
            let bytes = |start: *const u8| -> &[u8] {
                let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or(0);
                if start.is_null() || length == 0 {
                    return &[];
                }
                std::slice::from_raw_parts(start, length)
            };
            Some(match ffi::sqlite3_value_type(value) {
                ffi::SQLITE_INTEGER => ValueRef::Integer(ffi::sqlite3_value_int64(value)),
                ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_value_double(value)),
                ffi::SQLITE_TEXT => {
                    let text = ffi::sqlite3_value_text(value);
                    // The answer must not be an empty text.
                    if text.is_null() {
                        return None;
                    }
                    ValueRef::Text(bytes(text))
                }
                ffi::SQLITE_BLOB => {
                    let blob = bytes(ffi::sqlite3_value_blob(value).cast());
                    // A zeroblob is made now; without memory for it, it becomes NULL.
                    if ffi::sqlite3_value_type(value) != ffi::SQLITE_BLOB {
                        return None;
                    }
                    ValueRef::Blob(blob)
                }
                _ => ValueRef::Null,
            })
        }
    }

    /// The names of the columns. To be called after the first step, in which SQLite may prepare the statement again.
    pub(crate) fn columns(&mut self) -> &Arc<[String]> {
        let raw = self.raw();
        // SAFETY: the execution borrows the statement, which is alive as long as its handle.
        let status = |counter| unsafe { ffi::sqlite3_stmt_status(raw, counter, 0) };
        let reprepares = status(ffi::SQLITE_STMTSTATUS_REPREPARE);
        // A statement in its first run is a new one, whose count says nothing.
        if reprepares != self.reprepares || status(ffi::SQLITE_STMTSTATUS_RUN) <= 1 {
            self.0.reprepares = reprepares;
            // SAFETY: there is a handle. A name lives until the next step; it is copied before.
            let names = (0..unsafe { ffi::sqlite3_column_count(raw) }).map(|index| {
                // SAFETY: the name is null or terminated, and lives until the next step.
                let name = unsafe { c_text(ffi::sqlite3_column_name(raw, index)) };
                name.and_then(|name| name.to_str().ok()).unwrap_or_default()
            });
            if !names.clone().eq(self.columns.iter()) {
                self.0.columns = names.map(str::to_owned).collect();
            }
        }
        &self.0.columns
    }
}

impl Deref for Execution<'_> {
    type Target = Statement;

    fn deref(&self) -> &Statement {
        self.0
    }
}

impl Drop for Execution<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: there is a handle. What a reset returns was said by the step before.
        unsafe {
            ffi::sqlite3_reset(self.raw());
            ffi::sqlite3_clear_bindings(self.raw());
        }
    }
}

/// Prepares the first statement of `text`, if it has one, and tells what stands behind it.
///
/// # Safety
/// As [`Statement::prepare`].
unsafe fn compile<'t>(
    sqlite: &Connection,
    text: &'t str,
) -> Result<(Option<Handle>, &'t str), Error> {
    let start = text.as_ptr().cast::<c_char>();
    let length = c_int::try_from(text.len()).unwrap_or(c_int::MAX);
    let (mut raw, mut tail) = (std::ptr::null_mut(), start);
    // SAFETY: the connection is open while `sqlite` is borrowed. SQLite reads no more than the length that it is given,
    // and sets
    // `tail` to a place in the text or to its end.
    let (failed, offset) = unsafe {
        let (sqlite, kept) = (sqlite.handle(), ffi::SQLITE_PREPARE_PERSISTENT);
        let code =
            ffi::sqlite3_prepare_v3(sqlite, start, length, kept, &raw mut raw, &raw mut tail);
        if code == ffi::SQLITE_OK {
            let behind = text.get(tail.offset_from(start) as usize..);
            return Ok((NonNull::new(raw).map(Handle), behind.unwrap_or("")));
        }
        (failure(sqlite, code), ffi::sqlite3_error_offset(sqlite))
    };
    match failed {
        Error::SqliteFailure(error, Some(msg))
            if error.code == ffi::ErrorCode::Unknown && offset >= 0 =>
        {
            let sql = text.to_owned();
            Err(Error::SqlInputError {
                error,
                msg,
                sql,
                offset,
            })
        }
        failed => Err(failed),
    }
}

/// Returns SQLite's error for the last call on a connection, which returned `code`.
///
/// # Safety
/// The connection must be open.
#[cold]
unsafe fn failure(sqlite: *mut ffi::sqlite3, code: c_int) -> Error {
    // SAFETY: the caller promises that the connection is open; the message lives until the next call, and is copied
    // before.
    let said = unsafe {
        if ffi::sqlite3_extended_errcode(sqlite) == code {
            c_text(ffi::sqlite3_errmsg(sqlite))
        } else {
            c_text(ffi::sqlite3_errstr(code))
        }
    };
    let said = said.map(|said| said.to_string_lossy().into_owned());
    Error::SqliteFailure(ffi::Error::new(code), said)
}

/// SQLite's text, if it is there.
///
/// # Safety
/// It must be null, or end with a NUL and live for `'t`.
unsafe fn c_text<'t>(start: *const c_char) -> Option<&'t CStr> {
    // SAFETY: it is not null, so the caller promises that it ends with a NUL and lives for `'t`.
    (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) })
}
