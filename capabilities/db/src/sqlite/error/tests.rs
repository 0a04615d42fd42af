//! Messages and codes of errors.

use super::*;

#[test]
fn codes_tell_a_failed_sync_from_a_failed_write() {
    let fault = |code| {
        let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some("x".into()));
        StatementError::of(&error, "COMMIT")
    };
    let cases = [
        (ffi::SQLITE_BUSY, ErrorCode::Busy, 503),
        (ffi::SQLITE_BUSY_SNAPSHOT, ErrorCode::Busy, 503),
        (ffi::SQLITE_LOCKED, ErrorCode::Busy, 503),
        (ffi::SQLITE_FULL, ErrorCode::Full, 503),
        (ffi::SQLITE_IOERR_FSYNC, ErrorCode::Io { fsync: true }, 503),
        (ffi::SQLITE_IOERR_WRITE, ErrorCode::Io { fsync: false }, 503),
        (ffi::SQLITE_CONSTRAINT_UNIQUE, ErrorCode::Unique, 500),
        (ffi::SQLITE_CONSTRAINT_PRIMARYKEY, ErrorCode::Unique, 500),
        (ffi::SQLITE_CONSTRAINT_ROWID, ErrorCode::Unique, 500),
        (ffi::SQLITE_CONSTRAINT_VTAB, ErrorCode::Check, 500),
        (ffi::SQLITE_TOOBIG, ErrorCode::TooLarge, 500),
        (ffi::SQLITE_MISMATCH, ErrorCode::Type, 500),
        (ffi::SQLITE_RANGE, ErrorCode::Parameter, 500),
        (ffi::SQLITE_INTERRUPT, ErrorCode::Interrupted, 503),
        (ffi::SQLITE_CANTOPEN, ErrorCode::Io { fsync: false }, 503),
        (ffi::SQLITE_CORRUPT, ErrorCode::Corrupt, 500),
        (ffi::SQLITE_CORRUPT_VTAB, ErrorCode::Data, 500),
        (ffi::SQLITE_NOTADB, ErrorCode::NotADatabase, 500),
        (ffi::SQLITE_READONLY, ErrorCode::ReadOnly, 503),
        (ffi::SQLITE_NOMEM, ErrorCode::Internal, 503),
        (ffi::SQLITE_ERROR, ErrorCode::Data, 500),
    ];
    for (sqlite, code, status) in cases {
        let fault = fault(sqlite);
        assert_eq!(fault.code, code, "{sqlite}");
        assert_eq!(fault.error.kind().status(), status, "{sqlite}");
        assert_eq!(fault.error.message(), "x (in: COMMIT)");
        assert_eq!(fault.error.code(), code.name());
    }
}

#[test]
fn what_sqlite_names_is_told() {
    type Named<'a> = (Option<&'a str>, &'a [&'a str], Option<&'a str>);
    let cases: [(ErrorCode, &str, Named<'_>); 9] = [
        (
            ErrorCode::Unique,
            "UNIQUE constraint failed: users.email, users.first name",
            (Some("users"), &["email", "first name"], None),
        ),
        (
            ErrorCode::Unique,
            "UNIQUE constraint failed: index 'by_lower'",
            (None, &[], Some("by_lower")),
        ),
        (
            ErrorCode::Unique,
            "UNIQUE constraint failed: a.b.c",
            (None, &[], None),
        ),
        (
            ErrorCode::Unique,
            "UNIQUE constraint failed: a.b, c.d",
            (None, &[], None),
        ),
        (
            ErrorCode::NotNull,
            "NOT NULL constraint failed: t.a",
            (Some("t"), &["a"], None),
        ),
        (
            ErrorCode::Check,
            "CHECK constraint failed: length(name) > 2",
            (None, &[], Some("length(name) > 2")),
        ),
        (
            ErrorCode::Type,
            "cannot store TEXT value in INTEGER column t.a",
            (Some("t"), &["a"], None),
        ),
        (ErrorCode::Type, "datatype mismatch", (None, &[], None)),
        (
            ErrorCode::ForeignKey,
            "FOREIGN KEY constraint failed",
            (None, &[], None),
        ),
    ];
    for (code, said, (table, columns, constraint)) in cases {
        let details = violated(code, said);
        assert_eq!(details.table.as_deref(), table, "{said}");
        assert_eq!(details.columns, columns, "{said}");
        assert_eq!(details.constraint.as_deref(), constraint, "{said}");
    }
}
