//! The database of a process on a PostgreSQL server.

use super::topics::PostgresCarrier;
use crate::config::DatabaseConfig;
use crate::database::ReportLine;
use crate::slow_statements::SlowStatements;
use sampan_host::database::RouteUse;
use sampan_host::{Error, ErrorKind, HandlerId};
use sampan_postgres::{Postgres, PostgresClient};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The database of a process: connections to a PostgreSQL server. None is opened before it is needed.
pub struct PostgresDatabase {
    pub(crate) config: DatabaseConfig,
    pub(super) server: Arc<Postgres>,
    /// Carries the messages of topics between processes, once a worker serves.
    pub(super) carrier: Arc<PostgresCarrier>,
    /// The statements that took long, where time is measured.
    pub(crate) slow_statements: Arc<SlowStatements>,
    /// The observed use by handlers, each for methods that only read and for others.
    uses: Mutex<HashMap<(HandlerId, bool), Arc<RouteUse>>>,
}

impl PostgresDatabase {
    /// The database that `config` describes, for what has no server beside it.
    ///
    /// # Errors
    /// Its URL is none of PostgreSQL.
    pub(crate) fn new(config: DatabaseConfig) -> Result<Self, Error> {
        Self::reporting(config, Arc::new(|_, _: &str| ()))
    }

    /// The database that `config` describes. `report` receives what an operator should know.
    ///
    /// # Errors
    /// Its URL is none of PostgreSQL.
    pub(crate) fn reporting(config: DatabaseConfig, report: ReportLine) -> Result<Self, Error> {
        let server = Arc::new(Postgres::new(config.postgres()?)?);
        let carrier = Arc::new(PostgresCarrier::new(Arc::clone(&server), report));
        let uses = Mutex::default();
        Ok(Self {
            config,
            server,
            carrier,
            slow_statements: Arc::default(),
            uses,
        })
    }

    /// Ends what goes on beside the workers.
    pub(crate) fn shutdown(&self) {
        self.carrier.close();
    }

    /// Asks the server something, so that it is known at start whether it answers.
    ///
    /// # Errors
    /// It cannot be reached, or refuses the user or the database.
    pub(crate) fn prepare(&self) -> Result<(), Error> {
        let asks = async |client: PostgresClient| client.script("SELECT 1").await;
        self.in_place(asks)
    }

    /// Waits for what `work` does with a client of its own, on a thread on which nothing else waits.
    ///
    /// # Errors
    /// The error of `work`.
    pub(crate) fn here<T>(
        &self,
        work: impl AsyncFnOnce(PostgresClient) -> Result<T, Error>,
    ) -> Result<T, Error> {
        wait_for(&self.server, work)
    }

    /// Returns the observed use by a handler, shared by all workers.
    pub(super) fn route(&self, handler: HandlerId, is_safe: bool) -> Arc<RouteUse> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(uses.entry((handler, is_safe)).or_default())
    }

    /// A project is about to be loaded in place of another: its handlers are others.
    pub(crate) fn renew(&self) {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        uses.clear();
        // Migrations may have run, here or elsewhere.
        self.server.schema_changed();
    }

    /// Waits on this thread for what `work` does with a client of its own: where nothing else could be done meanwhile.
    ///
    /// # Errors
    /// The error of `work`, or the system gives no thread to wait with.
    pub(crate) fn in_place<T, W>(&self, work: W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: AsyncFnOnce(PostgresClient) -> Result<T, Error> + Send + 'static,
    {
        let server = Arc::clone(&self.server);
        let waits = move || wait_for(&server, work);
        let thread = std::thread::Builder::new().name("sampan-db".into());
        let thread = thread.spawn(waits).map_err(|error| cannot_wait(&error))?;
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, "a thread has panicked")))
    }
}

/// Waits for `work` on this thread, on which nothing else waits.
fn wait_for<T>(
    server: &Postgres,
    work: impl AsyncFnOnce(PostgresClient) -> Result<T, Error>,
) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build();
    let runtime = runtime.map_err(|error| cannot_wait(&error))?;
    tokio::task::LocalSet::new().block_on(&runtime, work(server.client()))
}

fn cannot_wait(error: &std::io::Error) -> Error {
    let text = format!("cannot start a thread for the database: {error}");
    Error::new(ErrorKind::Internal, text)
}
