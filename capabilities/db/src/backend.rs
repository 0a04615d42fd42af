//! The seam between an app's database and what keeps it: a file of SQLite or a PostgreSQL server.
//!
//! The process has an [`AppDatabase`], each worker a [`WorkerBackend`] of it. Scripts see the same rows over both
//! ([`modules`](AppDatabase::module)); the rows of SQLite call their connection directly.

use crate::config::DatabaseConfig;
use crate::database::{Database, ReportLine};
use crate::group_commit::worker::Db;
use crate::postgres::database::PostgresDatabase;
use crate::postgres::worker::PostgresDb;
use sampan_host::database::{AppTables, WorkerDatabase};
use sampan_host::metrics::Registry;
use sampan_host::{Context, CurrentRun, Error, LocalFuture, Outbox, Watch};
use std::rc::Rc;
use std::sync::Arc;

/// The database of a process.
#[derive(Clone)]
pub enum AppDatabase {
    /// A file of SQLite, opened when it is first used.
    Sqlite(Arc<Database>),
    /// A database on a PostgreSQL server, connected to when it is first used.
    Postgres(Arc<PostgresDatabase>),
}

/// The database as one worker sees it.
#[derive(Clone)]
pub enum WorkerBackend {
    /// Connections to a file of SQLite.
    Sqlite(Db),
    /// Connections to a PostgreSQL server.
    Postgres(PostgresDb),
}

impl AppDatabase {
    /// The database that `config` describes. `report` receives what an operator should know.
    ///
    /// # Errors
    /// The URL is none of PostgreSQL.
    pub fn new(config: DatabaseConfig, report: ReportLine) -> Result<Self, Error> {
        Ok(match config.is_postgres() {
            true => Self::Postgres(Arc::new(PostgresDatabase::reporting(config, report)?)),
            false => Self::Sqlite(Arc::new(Database::new(config, report))),
        })
    }

    /// Returns the settings.
    pub(crate) fn config(&self) -> &DatabaseConfig {
        match self {
            Self::Sqlite(database) => &database.config,
            Self::Postgres(database) => &database.config,
        }
    }

    /// Opens it now, for those who want to know at start whether it can be.
    ///
    /// # Errors
    /// The file cannot be opened, created or read as a database; the server cannot be reached, or refuses the user.
    pub fn prepare(&self) -> Result<(), Error> {
        match self {
            Self::Sqlite(database) => database.prepare(),
            Self::Postgres(database) => database.prepare(),
        }
    }

    /// A project is about to be loaded in place of another: its handlers are others, and so may the schema be.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn renew(&self, is_schema_changed: bool) -> Result<(), Error> {
        match self {
            Self::Sqlite(database) => database.renew(is_schema_changed),
            Self::Postgres(database) => {
                database.renew();
                Ok(())
            }
        }
    }

    /// Returns the current lease of SQLite's write connection, see [`Database::lease`].
    pub fn lease(&self) -> Option<u64> {
        match self {
            Self::Sqlite(database) => database.lease(),
            Self::Postgres(_) => None,
        }
    }

    /// Looks at the file of SQLite and its log before another process opens them, see [`Database::look`].
    pub fn look(&self) {
        match self {
            Self::Sqlite(database) => database.look(),
            Self::Postgres(_) => {}
        }
    }

    /// Has a registry ask for the statements that took long.
    pub fn measure_statements(&self, registry: &Registry) {
        let statements = match self {
            Self::Sqlite(database) => Arc::clone(&database.slow_statements),
            Self::Postgres(database) => Arc::clone(&database.slow_statements),
        };
        registry.collect(move |readings| statements.read(readings));
    }

    /// Closes it in good order.
    pub fn shutdown(&self) {
        match self {
            Self::Sqlite(database) => database.shutdown(),
            Self::Postgres(database) => database.shutdown(),
        }
    }

    /// Returns a worker's view. What depends on writes that are not committed is held by `outbox`; `watch` tells when
    /// a script must stop.
    pub fn worker(&self, outbox: Outbox, watch: Arc<Watch>) -> WorkerBackend {
        match self {
            Self::Sqlite(database) => {
                WorkerBackend::Sqlite(Db::new(Arc::clone(database), outbox, watch))
            }
            Self::Postgres(database) => WorkerBackend::Postgres(PostgresDb::new(database)),
        }
    }
}

impl WorkerBackend {
    /// Tells `run` from now on how long statements take, if it measures.
    pub fn measure(&self, run: CurrentRun) {
        match self {
            Self::Sqlite(db) => db.measure(run),
            Self::Postgres(db) => db.measure(run),
        }
    }

    /// Measures commits from now on.
    pub fn measure_commits(&self, registry: &Registry) {
        match self {
            Self::Sqlite(db) => db.measure_commits(registry),
            Self::Postgres(db) => db.measure_commits(registry),
        }
    }

    /// Returns what runs handlers asks.
    pub fn gate(&self) -> Rc<dyn WorkerDatabase> {
        match self {
            Self::Sqlite(db) => Rc::new(db.clone()),
            Self::Postgres(db) => Rc::new(db.clone()),
        }
    }

    /// Returns the tables of capabilities.
    pub fn tables(&self) -> Rc<dyn AppTables> {
        match self {
            Self::Sqlite(db) => Rc::new(db.clone()),
            Self::Postgres(db) => db.tables(),
        }
    }

    /// Puts into the context of an isolate what the rows need.
    pub fn put_into(&self, context: &Context) {
        match self {
            Self::Sqlite(db) => context.put(db.clone()),
            Self::Postgres(db) => {
                context.put(db.clone());
                if let Some(carrier) = db.carrier() {
                    context.put(carrier);
                }
            }
        }
        context.put(self.gate());
    }

    /// Returns what runs on the worker's thread for as long as it serves.
    pub fn tasks(&self) -> Vec<LocalFuture<()>> {
        match self {
            // What commits groups, and what ends turns.
            Self::Sqlite(db) => vec![
                Box::pin(db.clone().serve()),
                Box::pin(db.clone().end_turns()),
            ],
            Self::Postgres(_) => Vec::new(),
        }
    }
}
