//! Lets only statements pass that read: by an authorizer, and by `PRAGMA query_only`, which the authorizer guards.

use crate::sql_policy::authorizer::PRAGMAS_ASKED;
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// PRAGMAs that do something although they have none.
const PRAGMAS_ACTING: [&str; 4] = [
    "incremental_vacuum",
    "optimize",
    "shrink_memory",
    "wal_checkpoint",
];

/// The authorizer of one connection.
#[derive(Default)]
pub(super) struct ReadOnly {
    /// True while statements are prepared only to be explained.
    is_lifted: AtomicBool,
    has_refused: AtomicBool,
}

impl ReadOnly {
    pub(super) fn install(self: &Arc<Self>, sqlite: &mut Connection) -> rusqlite::Result<()> {
        // SQLite calls no authorizer for VACUUM, and modules of virtual tables prepare statements that write before
        // they read.
        sqlite.execute_batch("PRAGMA query_only=ON")?;
        let read_only = Arc::clone(self);
        sqlite.authorizer(Some(move |asked: AuthContext<'_>| {
            if read_only.is_lifted.load(Relaxed) || reads(&asked.action) {
                return Authorization::Allow;
            }
            read_only.has_refused.store(true, Relaxed);
            Authorization::Deny
        }))
    }

    /// Does `work`, which runs nothing that it prepares, without asking.
    pub(super) fn lifted<T>(&self, work: impl FnOnce() -> T) -> T {
        self.is_lifted.store(true, Relaxed);
        let done = work();
        self.is_lifted.store(false, Relaxed);
        done
    }

    /// Takes the reason why the last statement was refused, if it was. `error` is what SQLite said of it.
    pub(super) fn take_refusal(&self, error: &rusqlite::Error) -> Option<String> {
        let has_refused = self.has_refused.swap(false, Relaxed);
        let is_read_only = error.sqlite_error_code() == Some(rusqlite::ErrorCode::ReadOnly);
        (has_refused || is_read_only).then(|| {
            "this would write, and the database is open for reading only: start with --write"
                .to_owned()
        })
    }
}

/// Reports whether an action may be prepared: it changes nothing, neither in the database nor on the connection, or
/// `query_only` stops it.
fn reads(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Read { .. }
        | AuthAction::Select
        | AuthAction::Function { .. }
        | AuthAction::Recursive
        | AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Delete { .. }
        | AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. } => true,
        AuthAction::Pragma {
            pragma_name,
            pragma_value,
        } => {
            let is_in = |list: &[&str]| list.iter().any(|it| it.eq_ignore_ascii_case(pragma_name));
            is_in(PRAGMAS_ASKED) || (pragma_value.is_none() && !is_in(&PRAGMAS_ACTING))
        }
        _ => false,
    }
}
