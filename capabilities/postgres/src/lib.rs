//! PostgreSQL for the capability `db`: a client for the workers of a process.
//!
//! [`Postgres`] is one per process: the settings and the room for connections. [`PostgresClient`] is one per worker and
//! stays on its thread. It connects when it is first used.
//!
//! ```no_run
//! # use sampan_host::{Error, Value};
//! use sampan_postgres::{Postgres, PostgresConfig, RowLimits};
//!
//! # async fn example() -> Result<(), Error> {
//! let config = PostgresConfig::from_url("postgres://app@localhost/app").map_err(Error::script)?;
//! let postgres = Postgres::new(config)?;
//! let client = postgres.client();
//! let id = Value::List(vec![Value::Int(1)]);
//! let rows = client.query("SELECT name FROM users WHERE id = ?", &id, RowLimits::default()).await?;
//! let tx = client.begin().await?;
//! tx.exec("UPDATE users SET seen = now() WHERE id = :id", &Value::Map(vec![("id".into(), Value::Int(1))])).await?;
//! tx.commit().await?;
//! # drop(rows);
//! # Ok(())
//! # }
//! ```
//!
//! - [`PostgresSession`] is one connection beside the pool, for LISTEN.
//! - Statements outside of transactions share connections and are sent without waiting for the answers of others. Each
//!   is a transaction of its own: a result is given when it is committed.
//! - Parameters are written as for SQLite: `?`, `:name`, `?1`. The operators of jsonb that have a question mark are
//!   `??`, `?|` and `?&`.
//! - Cells have the types that the SQLite backend gives; the table is in the module `types`.
//! - Errors have the codes of the SQLite backend, and [`COMMIT_UNKNOWN`](sampan_host::database::COMMIT_UNKNOWN) beside
//!   them.

mod client;
mod config;
mod connection;
mod error;
mod limits;
mod sql;
mod types;

pub use client::session::PostgresSession;
pub use client::{
    CopyError, CopyIn, Done, Postgres, PostgresClient, PostgresTransaction, RowLimits,
};
pub use config::{Binding, PostgresConfig, Target, TlsConfig, TlsMode};
pub use connection::wire::{Address, Dial, TokioDial, Wire};
pub use sql::{IntegerKey, ServerSql, integer_keys, server_sql, statements};
pub use types::read::CellForms;
