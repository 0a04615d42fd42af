//! Opening connections: flags, PRAGMAs, limits, and what is said where that fails.

use crate::config::{DatabaseConfig, Durability};
use crate::sql_policy::functions;
use crate::sqlite::error::{ErrorCode, StatementError, classify, words};
use crate::sqlite::limits::{PATTERN_BYTES_MAX, SQL_BYTES_MAX, VALUE_BYTES_MAX};
use crate::sqlite::memory;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use sampan_host::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// The longest time that readers and maintenance wait for a lock: a moment while another process recovers the log.
const BUSY_WAIT: Duration = Duration::from_millis(300);
/// Size to which the write-ahead log shrinks after a checkpoint.
const WAL_KEPT_BYTES: u64 = 16 * 1024 * 1024;
/// The limits on a script's statement.
const LIMITS: [(Limit, i32); 7] = [
    (Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES_MAX as i32),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    (
        Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH,
        PATTERN_BYTES_MAX as i32,
    ),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 250),
];

/// The role of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Reads for scripts; cannot write.
    Reader,
    /// Reads and writes for scripts.
    Writer,
    /// Migrations, checkpoints and backups: no authorizer and no limits but those of a run
    /// ([`RunLimits`](crate::sqlite::run::RunLimits)).
    Maintenance,
}

/// Opens the file with everything set that does not depend on what is run.
pub(crate) fn open(config: &DatabaseConfig, role: Role) -> Result<Connection, StatementError> {
    let path = &config.path;
    if path.as_os_str().is_empty() || path.as_os_str() == ":memory:" {
        return Err(StatementError::new(
            ErrorKind::Load,
            ErrorCode::Io { fsync: false },
            "a database in memory cannot be shared by workers: name a file",
        ));
    }
    if !config.file.may_open(path) {
        return Err(gone(path));
    }
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, !config.file.is_known());
    let explained = |error| explain(&error, path);
    let sqlite = memory::connect(path, flags).map_err(explained)?;
    if sqlite.is_readonly("main").map_err(explained)? {
        let advice = match is_read_only(folder_of(path)) {
            true => READ_ONLY,
            false => "give this user permission to write it",
        };
        return Err(StatementError::new(
            ErrorKind::Load,
            ErrorCode::ReadOnly,
            format!("{}: the file cannot be written: {advice}", path.display()),
        ));
    }
    set_up(&sqlite, config, role).map_err(explained)?;
    Ok(sqlite)
}

/// Says that another file, or none, stands where the database or its log was opened.
pub(crate) fn gone(path: &Path) -> StatementError {
    let message = format!(
        "{}: the file or its log was removed or replaced",
        path.display()
    );
    StatementError::new(
        ErrorKind::Unavailable,
        ErrorCode::Io { fsync: false },
        message,
    )
}

fn set_up(sqlite: &Connection, config: &DatabaseConfig, role: Role) -> rusqlite::Result<()> {
    sqlite.busy_timeout(BUSY_WAIT)?;
    functions::install(sqlite)?;
    sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // A name in double quotes that is none would be a text, where SQLite was not built without that.
    sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    sqlite.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    // The first PRAGMA to read the file, and thus the first to fail.
    sqlite
        .query_row("PRAGMA journal_mode=WAL", [], |row| row.get::<_, String>(0))
        .and_then(|mode| match mode.as_str() {
            "wal" => Ok(()),
            _ => Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN),
                Some("no write-ahead log is possible here".to_owned()),
            )),
        })?;
    let synchronous = match config.durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
        Durability::Throwaway => "OFF",
    };
    let kept_bytes = WAL_KEPT_BYTES.min(config.wal_bytes_max);
    // What a statement sorts or makes distinct goes to a file when it is large: in memory, nothing but time would bound
    // it. A damaged page is found when it is read (cell_size_check), and not by what it does later.
    sqlite.execute_batch(&format!(
        "PRAGMA synchronous={synchronous}; PRAGMA foreign_keys=ON; PRAGMA temp_store=FILE;
         PRAGMA cache_size=-{}; PRAGMA mmap_size={}; PRAGMA wal_autocheckpoint=0; PRAGMA \
          journal_size_limit={kept_bytes};
         PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;",
        config.cache_kib, config.mmap_bytes,
    ))?;
    // Reads the schema, so that a log that cannot be opened and a damaged file are noticed now.
    sqlite.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    if role != Role::Maintenance {
        for (limit, value) in LIMITS {
            sqlite.set_limit(limit, value)?;
        }
    }
    match role {
        Role::Reader => sqlite.execute_batch("PRAGMA query_only=ON"),
        // The holder of the connection tries again, without a worker's thread asleep.
        Role::Writer => sqlite.busy_timeout(Duration::ZERO),
        Role::Maintenance => Ok(()),
    }
}

/// The advice for a file that no user can write.
const READ_ONLY: &str =
    "the file system is mounted read-only: mount it for writing, or name a file elsewhere";

/// Reports whether the file system of a folder is mounted read-only.
fn is_read_only(folder: &Path) -> bool {
    use rustix::fs::{StatVfsMountFlags, statvfs};
    statvfs(folder).is_ok_and(|system| system.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Returns the folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Explains SQLite's error on the file, with advice.
pub(crate) fn explain(error: &rusqlite::Error, path: &Path) -> StatementError {
    let (kind, code) = classify(error);
    let file = path.display();
    let folder = folder_of(path);
    let advice = if code == ErrorCode::NotADatabase {
        "name another file, or move this one away".to_owned()
    } else if path.is_dir() {
        "it is a folder: name a file".to_owned()
    } else if !folder.is_dir() {
        format!("there is no folder {}: create it", folder.display())
    } else {
        match code {
            ErrorCode::Busy => {
                "another process keeps the database locked: end it or try again".to_owned()
            }
            ErrorCode::Corrupt => "the file is damaged: restore a backup".to_owned(),
            ErrorCode::Full => "the disk is full: make room".to_owned(),
            ErrorCode::Io { .. } | ErrorCode::ReadOnly if is_read_only(folder) => {
                READ_ONLY.to_owned()
            }
            ErrorCode::Io { .. } | ErrorCode::ReadOnly => format!(
                "this user must be allowed to write the file and to create files in the folder {}, which must be on a \
                 local disk",
                folder.display()
            ),
            _ => String::new(),
        }
    };
    // Where a file cannot be opened SQLite's words end with its name.
    let words = words(error);
    let words = words.strip_suffix(&format!(": {file}")).unwrap_or(&words);
    let message = if advice.is_empty() {
        format!("{file}: {words}")
    } else {
        format!("{file}: {words}: {advice}")
    };
    StatementError::new(kind, code, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;
    use std::fs;

    const ROLES: [Role; 3] = [Role::Writer, Role::Reader, Role::Maintenance];

    /// Returns the error for a file that cannot be opened, on one line.
    fn refusal(path: &Path, role: Role) -> StatementError {
        let fault = open(&DatabaseConfig::new(path), role).expect_err("it cannot be opened");
        assert!(!fault.error.message().contains('\n'), "{:?}", fault.error);
        fault
    }

    fn ask(sqlite: &Connection, pragma: &str) -> String {
        let read = |row: &rusqlite::Row<'_>| {
            let value: rusqlite::types::Value = row.get(0)?;
            Ok(match value {
                rusqlite::types::Value::Text(text) => text,
                rusqlite::types::Value::Integer(number) => number.to_string(),
                other => format!("{other:?}"),
            })
        };
        sqlite
            .query_row(&format!("PRAGMA {pragma}"), [], read)
            .expect(pragma)
    }

    #[test]
    fn everything_is_set() {
        let folder = TestFolder::new();
        let mut config = DatabaseConfig::new(folder.path("data.db"));
        config.mmap_bytes = 1024 * 1024;
        for (durability, synchronous) in [
            (Durability::Full, "2"),
            (Durability::Normal, "1"),
            (Durability::Throwaway, "0"),
        ] {
            config.durability = durability;
            for role in ROLES {
                let sqlite = open(&config, role).unwrap();
                let query_only = if role == Role::Reader { "1" } else { "0" };
                let busy = if role == Role::Writer { "0" } else { "300" };
                for (pragma, value) in [
                    ("journal_mode", "wal"),
                    ("synchronous", synchronous),
                    ("foreign_keys", "1"),
                    ("busy_timeout", busy),
                    ("cache_size", "-16384"),
                    ("temp_store", "1"),
                    ("mmap_size", "1048576"),
                    ("wal_autocheckpoint", "0"),
                    ("journal_size_limit", "16777216"),
                    ("trusted_schema", "0"),
                    ("cell_size_check", "1"),
                    ("query_only", query_only),
                ] {
                    assert_eq!(ask(&sqlite, pragma), value, "{pragma} of {role:?}");
                }
                assert!(
                    sqlite
                        .db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE)
                        .unwrap()
                );
            }
        }
    }

    #[test]
    fn a_file_that_is_no_database_is_refused_and_left_alone() {
        let folder = TestFolder::new();
        let path = folder.path("notes.txt");
        let text = "these are notes, and no database at all ".repeat(100);
        fs::write(&path, &text).unwrap();
        for role in ROLES {
            let fault = refusal(&path, role);
            assert_eq!(fault.code, ErrorCode::NotADatabase);
            assert!(
                fault
                    .error
                    .message()
                    .ends_with("file is not a database: name another file, or move this one away"),
                "{:?}",
                fault.error
            );
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn what_cannot_be_opened_says_what_to_do() {
        let folder = TestFolder::new();
        let missing = folder.path("none/data.db");
        let message = refusal(&missing, Role::Writer).error.message().to_owned();
        assert!(message.contains("there is no folder"), "{message}");
        let message = refusal(&folder.path("."), Role::Writer)
            .error
            .message()
            .to_owned();
        assert!(
            message.ends_with("it is a folder: name a file"),
            "{message}"
        );
        for memory in ["", ":memory:"] {
            let message = refusal(Path::new(memory), Role::Writer)
                .error
                .message()
                .to_owned();
            assert!(message.ends_with("name a file"), "{message}");
        }
    }

    #[test]
    fn a_folder_without_permission_says_so() {
        // No user creates files here, the administrator included.
        let path = Path::new("/proc/self/data.db");
        if path.parent().is_some_and(Path::is_dir) {
            let fault = refusal(path, Role::Writer);
            assert!(
                fault
                    .error
                    .message()
                    .contains("must be allowed to write the file"),
                "{:?}",
                fault.error
            );
        }
    }

    #[test]
    fn a_file_system_that_is_read_only_is_named() {
        // In a container one of these is mounted so.
        let folders = ["/sys", "/proc/sys"].map(Path::new);
        for folder in folders.into_iter().filter(|folder| is_read_only(folder)) {
            let fault = refusal(&folder.join("data.db"), Role::Writer);
            let message = fault.error.message();
            assert!(message.ends_with(READ_ONLY), "{message}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_without_permission_says_so() {
        use std::os::unix::fs::PermissionsExt;
        let folder = TestFolder::new();
        let path = folder.path("data.db");
        drop(open(&DatabaseConfig::new(&path), Role::Writer).unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        // The administrator may write it nevertheless.
        if fs::OpenOptions::new().write(true).open(&path).is_err() {
            let fault = refusal(&path, Role::Writer);
            assert_eq!(fault.code, ErrorCode::ReadOnly);
            assert!(fault.error.message().contains("permission to write it"));
        }
    }

    #[test]
    fn a_name_is_never_taken_for_a_uri() {
        let folder = TestFolder::new();
        let path = folder.path("file:data.db?mode=memory");
        drop(open(&DatabaseConfig::new(&path), Role::Writer).unwrap());
        assert!(path.is_file());
    }
}
