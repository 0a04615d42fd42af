//! The database as a worker uses it: statements, transactions and batches over a few connections.

mod batch;
pub(crate) mod connect;
mod deadline;
mod identity;
pub(crate) mod pool;
mod run;
pub(crate) mod seats;
pub(crate) mod session;
mod statements;
mod tables;
mod transaction;

pub use run::{Done, RowLimits};
pub use transaction::{CopyError, CopyIn, PostgresTransaction};

use crate::config::PostgresConfig;
use crate::connection::wire::{Dial, TokioDial};
use crate::error::refused;
use crate::sql::{Sql, Verb};
use identity::Identities;
use pool::{Pool, Use};
use sampan_host::{Error, ErrorKind, Rows, Value};
use seats::Process;
use statements::Statements;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// A database on a server, for all workers of the process: its settings and limits.
#[derive(Clone)]
pub struct Postgres(Arc<Process>);

impl Postgres {
    /// Makes what the workers share. Nothing is connected yet.
    ///
    /// # Errors
    /// The files of certificates cannot be read.
    pub fn new(config: PostgresConfig) -> Result<Self, Error> {
        let process = Process::new(config).map_err(|why| Error::new(ErrorKind::Load, why))?;
        Ok(Self(Arc::new(process)))
    }

    /// Returns the settings.
    pub fn config(&self) -> &PostgresConfig {
        &self.0.config
    }

    /// Makes the client of a worker, whose thread runs a tokio runtime with sockets, inside of a `LocalSet`.
    pub fn client(&self) -> PostgresClient {
        self.client_over(Rc::new(TokioDial))
    }

    /// Makes the client of a worker that has sockets of its own. Its thread needs time and a `LocalSet` of tokio.
    pub fn client_over(&self, dial: Rc<dyn Dial>) -> PostgresClient {
        PostgresClient(Rc::new(Client {
            pool: Pool::new(Arc::clone(&self.0), dial),
            process: Arc::clone(&self.0),
            schema_seen: Cell::new(self.0.schema_changes()),
            known: Statements::default(),
            identities: Identities::default(),
        }))
    }

    /// Takes note that the schema may have changed: the types of statements are asked for again.
    pub fn schema_changed(&self) {
        self.0.schema_changed();
    }
}

/// The client of a worker. Clones are the same, and stay on its thread.
#[derive(Clone)]
pub struct PostgresClient(pub(crate) Rc<Client>);

pub(crate) struct Client {
    pub(crate) pool: Rc<Pool>,
    pub(crate) process: Arc<Process>,
    /// The changes of the schema before which nothing is known any more.
    schema_seen: Cell<u64>,
    known: Statements,
    pub(crate) identities: Identities,
}

impl Client {
    /// Returns the statements that the worker knows; none behind a change of the schema, as their types may be others.
    pub(crate) fn statements(&self) -> &Statements {
        let changes = self.process.schema_changes();
        if self.schema_seen.replace(changes) != changes {
            self.known.clear();
            self.identities.clear();
        }
        &self.known
    }
}

impl PostgresClient {
    /// Returns the rows of a statement. It is a transaction of its own, which is committed when this returns.
    ///
    /// # Errors
    /// Those of the server, by the codes of the SQLite backend; `io` without a connection, `busy` without room for one,
    /// [`COMMIT_UNKNOWN`](sampan_host::database::COMMIT_UNKNOWN) if the connection was lost while the statement may
    /// have been committed.
    pub async fn query(&self, sql: &str, params: &Value, limits: RowLimits) -> Result<Rows, Error> {
        let statement = self.0.statements().get(sql)?;
        permit(statement.sql.verb, sql)?;
        let shared = self.0.shared(&statement, sql, params, limits.gather());
        Ok(shared.await?.rows.unwrap_or_else(no_rows))
    }

    /// Runs a statement, and tells what it changed. It is a transaction of its own, which is committed when this
    /// returns.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`].
    pub async fn exec(&self, sql: &str, params: &Value) -> Result<Done, Error> {
        let statement = self.0.statements().get(sql)?;
        permit(statement.sql.verb, sql)?;
        self.0.exec_shared(&statement, sql, params).await
    }

    /// Reports whether a statement changes nothing, also not by a function that it calls.
    pub fn only_reads(&self, sql: &str) -> bool {
        // A text that is no statement is refused when it is run.
        let statement = self.0.statements().get(sql);
        statement.is_ok_and(|statement| statement.sql.only_reads())
    }

    /// Begins a transaction, on a connection of its own. Dropping it rolls it back.
    ///
    /// # Errors
    /// `io` without a connection, `busy` if none is free in time.
    pub async fn begin(&self) -> Result<PostgresTransaction, Error> {
        PostgresTransaction::begin(self.clone()).await
    }

    /// Runs a text of several statements without parameters, which is one transaction unless it says otherwise. For
    /// migrations: the text is not checked.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`].
    pub async fn script(&self, sql: &str) -> Result<(), Error> {
        let lease = self.0.pool.lease().await?;
        self.0.script_on(&lease, sql).await
    }

    /// Runs texts one after the other on one connection, each as [`PostgresClient::script`] does. Settings that they
    /// change hold until the last one, and are reset behind it.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`]. Those behind the one that failed are not run.
    pub async fn scripts(&self, texts: &[String]) -> Result<(), Error> {
        let lease = self.0.pool.lease().await?;
        lease.note_traces();
        for text in texts {
            self.0.script_on(&lease, text).await?;
        }
        Ok(())
    }
}

fn no_rows() -> Rows {
    Rows::new(Arc::from([]))
}

/// Refuses what would change a connection that others share.
fn permit(verb: Verb, sql: &str) -> Result<(), Error> {
    let why = match verb {
        Verb::Read | Verb::Write | Verb::Other => return Ok(()),
        Verb::Transaction => {
            "not authorized: db.batch and db.transaction make transactions: one commits when its function ends, and is \
             rolled back when that throws an error"
        }
        Verb::Local => {
            "not authorized: SET LOCAL and SET TRANSACTION belong into a transaction: use db.transaction"
        }
        Verb::Copy => {
            "not authorized: COPY sends rows beside statements, which db does not do: insert them in a \
             db.batch, or use psql"
        }
        Verb::Session => {
            "not authorized: connections are shared: this statement would change one for others"
        }
        Verb::Temporary => {
            "not authorized: temporary tables, views and functions exist on one connection only, and connections are \
             shared: create an ordinary table, or use WITH in the statement"
        }
        Verb::Setting => {
            "not authorized: connections are shared, and this set_config would change one for others: write true as \
             its third argument, in db.transaction, so that the setting ends with the transaction"
        }
        Verb::Lock => {
            "not authorized: connections are shared, and this lock would stay on one behind the request: use \
             pg_advisory_xact_lock in db.transaction, or app.lock"
        }
    };
    Err(refused("denied", why, sql))
}

/// Returns the use that a statement makes of a connection.
fn use_of(sql: &Sql) -> Use {
    match sql.only_reads() {
        true => Use::Read,
        false => Use::Write,
    }
}
