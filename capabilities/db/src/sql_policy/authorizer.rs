//! The operations refused to scripts, because something else does it or because it would reach past the database:
//! SQLite asks
//! here while it prepares a statement.
//!
//! Transactions belong to group commit, other files to the operator, and settings to the configuration. Our own
//! statements go past the authorizer, see [`Authorizer::bypassed`].

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
pub(crate) const PRAGMAS_ASKED: &[&str] = &[
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
    /// The reason why the last statement was refused.
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
        struct Restored<'a>(&'a Authorizer);
        impl Drop for Restored<'_> {
            fn drop(&mut self) {
                self.0.is_bypassed.store(false, Ordering::Relaxed);
            }
        }
        self.is_bypassed.store(true, Ordering::Relaxed);
        let _raised = Restored(self);
        work()
    }

    /// Takes the reason why the last statement was refused, so that it is told once.
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

/// Returns the reason why a statement is refused for the word that it begins with. SQLite does not ask about VACUUM by
/// its name.
pub(crate) fn refused_by_word(word: &str) -> Option<&'static str> {
    word.eq_ignore_ascii_case("VACUUM")
        .then_some("not authorized: VACUUM would stop all writes; for a copy use sampan backup")
}

/// Reports whether statements that begin with this word read or change rows, and neither the schema nor a setting.
pub(crate) fn is_plain(word: &str) -> bool {
    const PLAIN: [&str; 7] = [
        "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "REPLACE", "VALUES",
    ];
    PLAIN.iter().any(|plain| word.eq_ignore_ascii_case(plain))
}

/// The prefix of the server's own tables.
const OWN_TABLES: &str = "_sampan_";

/// Returns the reason why an action is refused, if it is.
fn judge(asked: &AuthContext<'_>) -> Option<String> {
    use AuthAction as A;
    let temporary = || {
        Some(
            "not authorized: temporary tables, views and triggers exist on one connection only, and each worker has \
             others: \
             create an ordinary table"
                .to_owned(),
        )
    };
    match asked.action {
        A::Transaction { .. } => Some(
            "not authorized: db.batch and db.transaction make transactions: one commits when its function ends, and is \
             rolled back when that throws an error"
                .to_owned(),
        ),
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
        // It returns an address in memory, and takes one that SQLite calls.
        A::Function { function_name } if function_name.eq_ignore_ascii_case("fts3_tokenizer") => {
            Some("not authorized: fts3_tokenizer reaches into memory: FTS5 has tokenizers".to_owned())
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
                // What does not begin with a word is not a statement either; SQLite says what it stumbles over.
                .map_or(skipped.len(), |end| end.max(1));
            return skipped.get(..end).unwrap_or(skipped);
        };
    }
}

/// Reports whether a statement may change the schema, judged by its first word.
pub(crate) fn is_schema_change(sql: &str) -> bool {
    // Most statements show at once that they are not.
    if matches!(sql.as_bytes().first(), Some(b'I' | b'i' | b'U' | b'u')) {
        return false;
    }
    let word = first_word(sql);
    ["create", "alter", "drop"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests;
