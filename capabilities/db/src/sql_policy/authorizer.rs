//! What a script's SQL may not do, because something else does it or because it would reach past the database: SQLite asks
//! here while it prepares a statement.
//!
//! Transactions belong to group commit, other files to the operator, and settings to the configuration. Our own statements
//! go past the authorizer, see [`Authorizer::bypassed`].

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// PRAGMAs that only read, asked without an argument.
const PRAGMAS_READ: &[&str] = &[
    "application_id",
    "cache_size",
    "collation_list",
    "compile_options",
    "data_version",
    "database_list",
    "encoding",
    "foreign_key_check",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "integrity_check",
    "journal_mode",
    "module_list",
    "page_count",
    "page_size",
    "pragma_list",
    "quick_check",
    "schema_version",
    "synchronous",
    "table_list",
    "user_version",
];

/// PRAGMAs that only read and take what to look at as their argument.
const PRAGMAS_ASKED: &[&str] = &[
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// The authorizer of one connection.
#[derive(Default)]
pub(crate) struct Authorizer {
    /// Our own statement is being prepared. Only the connection's thread reads and writes this.
    is_bypassed: AtomicBool,
    /// Why the last statement was refused.
    refusal: Mutex<Option<String>>,
}

impl Authorizer {
    /// Puts the authorizer before the SQL of a connection.
    pub(crate) fn install(self: &Arc<Self>, sqlite: &mut Connection) -> rusqlite::Result<()> {
        let authorizer = Arc::clone(self);
        sqlite.authorizer(Some(move |asked: AuthContext<'_>| {
            authorizer.answer(&asked)
        }))
    }

    /// Does `work` past the authorizer.
    pub(crate) fn bypassed<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Raises the authorizer again, after a panic too.
        struct Raised<'a>(&'a Authorizer);
        impl Drop for Raised<'_> {
            fn drop(&mut self) {
                self.0.is_bypassed.store(false, Ordering::Relaxed);
            }
        }
        self.is_bypassed.store(true, Ordering::Relaxed);
        let _raised = Raised(self);
        work()
    }

    /// Why the last statement was refused, once.
    pub(crate) fn take_refusal(&self) -> Option<String> {
        self.refusal().take()
    }

    fn refusal(&self) -> MutexGuard<'_, Option<String>> {
        self.refusal
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn answer(&self, asked: &AuthContext<'_>) -> Authorization {
        if self.is_bypassed.load(Ordering::Relaxed) {
            return Authorization::Allow;
        }
        match judge(asked) {
            None => Authorization::Allow,
            Some(refusal) => {
                *self.refusal() = Some(refusal);
                Authorization::Deny
            }
        }
    }
}

/// Why a statement is refused for the word that it begins with. SQLite does not ask about VACUUM by its name.
pub(crate) fn refused_by_word(word: &str) -> Option<&'static str> {
    word.eq_ignore_ascii_case("VACUUM")
        .then_some("not authorized: VACUUM would stop all writes; for a copy use sampan backup")
}

/// Whether statements that begin with this word read or change rows, and neither the schema nor a setting.
pub(crate) fn is_plain(word: &str) -> bool {
    const PLAIN: [&str; 7] = [
        "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "REPLACE", "VALUES",
    ];
    PLAIN.iter().any(|plain| word.eq_ignore_ascii_case(plain))
}

/// What the names of the server's own tables begin with.
const OWN_TABLES: &str = "_sampan_";

/// Why an action is refused, if it is.
fn judge(asked: &AuthContext<'_>) -> Option<String> {
    use AuthAction as A;
    let temporary = || {
        Some(
            "not authorized: temporary tables, views and triggers exist on one connection only, and each worker has others: \
             create an ordinary table"
                .to_owned(),
        )
    };
    match asked.action {
        A::Transaction { .. } => {
            Some("not authorized: transactions are made by db.batch: use db.batch".to_owned())
        }
        A::Savepoint { .. } => Some(
            "not authorized: savepoints are made by db.batch, which nests: use db.batch".to_owned(),
        ),
        A::Attach { .. }
        | A::Unknown {
            code: rusqlite::ffi::SQLITE_ATTACH,
            ..
        } => Some(
            "not authorized: ATTACH reaches for another file: an app has one database".to_owned(),
        ),
        A::Detach { .. } => Some("not authorized: DETACH: nothing is attached".to_owned()),
        A::Function { function_name } if function_name.eq_ignore_ascii_case("load_extension") => {
            Some("not authorized: extensions of SQLite cannot be loaded".to_owned())
        }
        A::Pragma {
            pragma_name,
            pragma_value,
        } => judge_pragma(pragma_name, pragma_value),
        A::CreateTempIndex { .. }
        | A::CreateTempTable { .. }
        | A::CreateTempTrigger { .. }
        | A::CreateTempView { .. } => temporary(),
        A::CreateTable { .. } | A::CreateView { .. } | A::CreateVtable { .. }
            if asked.database_name == Some("temp") =>
        {
            temporary()
        }
        A::Insert { table_name }
        | A::Delete { table_name }
        | A::Update { table_name, .. }
        | A::DropTable { table_name }
        | A::AlterTable { table_name, .. }
            if table_name
                .get(..OWN_TABLES.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(OWN_TABLES)) =>
        {
            Some(format!(
                "not authorized: {table_name} is written by the server alone"
            ))
        }
        // What a later SQLite may ask about, and names that are only known while the statement runs.
        A::Unknown { code, .. } => Some(format!("not authorized: an action of kind {code}")),
        _ => None,
    }
}

fn judge_pragma(name: &str, value: Option<&str>) -> Option<String> {
    let allowed = match value {
        None => PRAGMAS_READ,
        Some(_) => PRAGMAS_ASKED,
    };
    if allowed
        .iter()
        .any(|pragma| name.eq_ignore_ascii_case(pragma))
    {
        return None;
    }
    let advice = match name.to_ascii_lowercase().as_str() {
        "user_version" | "application_id" => {
            "scripts only read it: put a version into a table, or change the schema by migrations"
        }
        "foreign_keys" | "defer_foreign_keys" => {
            "foreign keys are on: declare one DEFERRABLE INITIALLY DEFERRED to have it checked when the batch ends"
        }
        "optimize" | "wal_checkpoint" | "incremental_vacuum" => "the server does this itself",
        "journal_mode" | "synchronous" | "cache_size" | "mmap_size" | "busy_timeout"
        | "temp_store" | "wal_autocheckpoint" | "journal_size_limit" => {
            "connections are shared: set what can be set in [db] of sampan.toml"
        }
        _ => "scripts may use only PRAGMAs that read, such as table_info(name) or index_list(name)",
    };
    Some(format!("not authorized: PRAGMA {name}: {advice}"))
}

/// The word that a statement begins with, after space, semicolons and comments; empty if there is no statement.
pub(crate) fn first_word(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        // SQLite takes a byte order mark for space.
        let skipped = rest.trim_start_matches(|char: char| {
            char.is_whitespace() || matches!(char, ';' | '\u{feff}')
        });
        rest = if let Some(comment) = skipped.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = skipped.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            let end = skipped
                .find(|char: char| !(char.is_alphanumeric() || char == '_'))
                // What does not begin with a word is no statement either; SQLite says what it stumbles over.
                .map_or(skipped.len(), |end| end.max(1));
            return skipped.get(..end).unwrap_or(skipped);
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::testing::scratch;
    use crate::sqlite::connection::{Connection, Role};
    use sampan_host::Cell;

    #[test]
    fn the_first_word_stands_behind_space_and_comments() {
        let cases = [
            ("SELECT 1", "SELECT"),
            (" \n-- one\n/* two\n */;; \u{feff}vacuum", "vacuum"),
            ("", ""),
            (" ;; ", ""),
            ("-- only a comment", ""),
            ("/* never closed", ""),
            ("(1)", "("),
            ("ä", "ä"),
            ("€", "€"),
        ];
        for (sql, word) in cases {
            assert_eq!(first_word(sql), word, "{sql:?}");
        }
    }

    #[test]
    fn pragmas_that_read_pass_and_others_do_not() {
        assert!(judge_pragma("table_info", Some("t")).is_none());
        assert!(judge_pragma("User_Version", None).is_none());
        assert!(judge_pragma("user_version", Some("5")).is_some());
        assert!(judge_pragma("table_info", None).is_some());
        assert!(judge_pragma("writable_schema", Some("1")).is_some());
        assert!(judge_pragma("optimize", None).is_some());
    }

    #[test]
    fn what_is_refused_says_what_to_use() {
        let (_folder, config, writer) = scratch();
        writer.done("CREATE TABLE t(a)");
        writer.done("CREATE TABLE _sampan_migrations(a)");
        let reader = Connection::open(&config, Role::Reader).unwrap();
        let batch = "db.batch";
        let cases = [
            ("BEGIN", batch),
            ("BEGIN IMMEDIATE", batch),
            ("COMMIT", batch),
            ("END TRANSACTION", batch),
            ("ROLLBACK", batch),
            ("SAVEPOINT a", batch),
            ("RELEASE a", batch),
            ("ROLLBACK TO a", batch),
            ("/* x */ ; begin", batch),
            ("ATTACH 'other.db' AS other", "one database"),
            ("ATTACH ? AS other", "one database"),
            ("DETACH main", "nothing is attached"),
            ("DETACH ?", "not authorized"),
            ("VACUUM", "sampan backup"),
            ("-- so\n vacuum INTO 'copy.db'", "sampan backup"),
            ("PRAGMA user_version = 3", "scripts only read it"),
            ("PRAGMA journal_mode = DELETE", "[db] of sampan.toml"),
            ("PRAGMA journal_mode(DELETE)", "[db] of sampan.toml"),
            ("PRAGMA foreign_keys = OFF", "foreign keys are on"),
            ("PRAGMA query_only = OFF", "PRAGMAs that read"),
            ("PRAGMA writable_schema = ON", "PRAGMAs that read"),
            ("PRAGMA schema_version = 1", "PRAGMAs that read"),
            ("PRAGMA trusted_schema = ON", "PRAGMAs that read"),
            ("PRAGMA wal_checkpoint", "the server does this"),
            ("PRAGMA optimize", "the server does this"),
            ("DELETE FROM _Sampan_migrations", "by the server alone"),
            ("UPDATE _sampan_migrations SET a = 2", "by the server alone"),
            (
                "INSERT INTO _sampan_migrations VALUES (1)",
                "by the server alone",
            ),
            ("DROP TABLE _sampan_migrations", "by the server alone"),
            (
                "ALTER TABLE _sampan_migrations ADD b",
                "by the server alone",
            ),
            ("CREATE TEMP TABLE x(a)", "each worker has others"),
            ("CREATE TEMP TABLE x AS SELECT 1", "each worker has others"),
            ("CREATE TABLE temp.x(a)", "each worker has others"),
            ("CREATE TEMP VIEW x AS SELECT 1", "each worker has others"),
            ("CREATE VIEW TEMP.x AS SELECT 1", "each worker has others"),
            (
                "CREATE TEMP TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END",
                "each worker has others",
            ),
            (
                "CREATE VIRTUAL TABLE temp.x USING fts5(a)",
                "each worker has others",
            ),
        ];
        for connection in [&writer, &reader] {
            for (sql, advice) in cases {
                let fault = connection.is_readonly(sql).expect_err(sql);
                let message = fault.error.message();
                assert!(
                    message.starts_with("not authorized") && message.contains(advice),
                    "{sql}: {message}"
                );
            }
        }
        // SQLite has been built without the function; the authorizer is there for when it is not.
        assert!(
            writer
                .refusal("SELECT load_extension('x')")
                .contains("load_extension")
        );
    }

    #[test]
    fn the_schema_cannot_be_written() {
        let (_folder, _, db) = scratch();
        db.done("CREATE TABLE t(a)");
        db.done("CREATE VIRTUAL TABLE f USING fts5(x)");
        let cases = [
            "UPDATE sqlite_schema SET sql = 'nonsense'",
            "DELETE FROM sqlite_master",
            "INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, 'CREATE TABLE x(a)')",
            "DROP TABLE sqlite_schema",
            // What a virtual table keeps for itself.
            "DELETE FROM f_data",
        ];
        for sql in cases {
            assert!(
                db.refusal(sql).contains("may not be"),
                "{sql}: {}",
                db.refusal(sql)
            );
        }
        assert_eq!(
            db.rows("SELECT name FROM sqlite_schema WHERE name = 't'")
                .len(),
            1
        );
    }

    #[test]
    fn the_schema_can_be_changed_as_intended() {
        let (_folder, _, db) = scratch();
        for sql in [
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT) STRICT",
            "CREATE INDEX i ON t(a)",
            "CREATE VIEW v AS SELECT a FROM t",
            "CREATE TABLE log(a)",
            "CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END",
            "INSERT INTO t(a) VALUES ('x')",
            "ALTER TABLE t ADD COLUMN b INTEGER",
            "ALTER TABLE t RENAME TO u",
            "ALTER TABLE u RENAME COLUMN b TO c",
            "ALTER TABLE u DROP COLUMN c",
            "ANALYZE",
            "REINDEX",
            "DROP TRIGGER tr",
            "DROP VIEW v",
            "DROP INDEX i",
            "DROP TABLE u",
        ] {
            db.done(sql);
        }
        assert_eq!(db.rows("SELECT * FROM log").len(), 1);
    }

    #[test]
    fn full_text_search_works_behind_the_authorizer() {
        let (_folder, config, db) = scratch();
        db.control("BEGIN IMMEDIATE").unwrap();
        for sql in [
            "CREATE TABLE notes(id INTEGER PRIMARY KEY, body TEXT)",
            "CREATE VIRTUAL TABLE found USING fts5(body, content='notes', content_rowid='id')",
            "CREATE TRIGGER added AFTER INSERT ON notes BEGIN
               INSERT INTO found(rowid, body) VALUES (new.id, new.body); END",
            "CREATE TRIGGER gone AFTER DELETE ON notes BEGIN
               INSERT INTO found(found, rowid, body) VALUES ('delete', old.id, old.body); END",
            "INSERT INTO notes(body) VALUES ('three planks'), ('one river')",
            "INSERT INTO found(found) VALUES ('optimize')",
            "INSERT INTO found(found) VALUES ('integrity-check')",
        ] {
            db.done(sql);
        }
        db.control("COMMIT").unwrap();
        let reader = Connection::open(&config, Role::Reader).unwrap();
        let sql = "SELECT rowid, snippet(found, 0, '[', ']', '', 5) FROM found WHERE found MATCH 'planks'";
        assert_eq!(reader.rows(sql).cell(0, 1), Cell::Text("three [planks]"));
        db.done("DELETE FROM notes WHERE id = 1");
        assert_eq!(reader.rows(sql).len(), 0);
        db.done("DROP TABLE found");
    }

    #[test]
    fn pragmas_that_read_work_in_both_forms() {
        let (_folder, config, db) = scratch();
        db.done("CREATE TABLE t(a REFERENCES t(a))");
        db.done("CREATE INDEX i ON t(a)");
        let reader = Connection::open(&config, Role::Reader).unwrap();
        for connection in [&db, &reader] {
            for sql in [
                "PRAGMA table_info(t)",
                "PRAGMA table_xinfo('t')",
                "PRAGMA main.index_list(t)",
                "PRAGMA index_info(i)",
                "PRAGMA foreign_key_list(t)",
                "PRAGMA user_version",
                "PRAGMA compile_options",
                "PRAGMA data_version",
                "PRAGMA integrity_check",
                "PRAGMA quick_check(1)",
                "SELECT name FROM pragma_table_info('t')",
                "SELECT * FROM pragma_user_version",
            ] {
                assert!(!connection.rows(sql).is_empty(), "{sql}");
            }
        }
    }
}
