//! The app's database for scripts: queries, transactions, migrations. SQLite with group commit and backup, or a
//! PostgreSQL server.

mod api;
mod backend;
pub mod backup;
pub mod config;
pub mod console;
pub mod copy;
mod database;
mod full_text;
mod group_commit;
mod health;
pub mod migrate;
mod page_log;
mod plan;
mod postgres;
mod read_pool;
mod restore;
mod running;
mod slow_statements;
mod sql_policy;
mod sqlite;
#[cfg(test)]
mod test_folder;

pub use api::MODULE;
pub use backend::{AppDatabase, WorkerBackend};
pub use config::{DatabaseConfig, Durability, SECTION};
pub use database::{Database, ReportLine};
pub use group_commit::worker::Db;
pub use health::health_checks;
pub use page_log::{HeldOpen, check_file};
pub use plan::{PlanStep, explain};
pub use postgres::database::PostgresDatabase;
pub use postgres::own_tables::make_own_tables;
pub use postgres::test_databases::TestDatabases;
pub use postgres::worker::PostgresDb;
pub use restore::RestorePoint;

/// Returns the version of the SQLite that is built in, such as `3.50.2`.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// The database of an app. The server opens it itself, so it has no hooks.
pub static CAPABILITY: sampan_host::Capability = sampan_host::Capability {
    name: "db",
    modules: &[&MODULE],
    sections: &[&SECTION],
    ..sampan_host::Capability::EMPTY
};
