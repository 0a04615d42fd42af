//! A connection beside the pool, which its owner has for itself: it hears of notifications.

use super::batch::{Recorded, send};
use super::connect::connect;
use super::pool::Access;
use super::run::{UnderWay, run};
use super::statements::Statements;
use super::{Postgres, RowLimits, no_rows};
use crate::connection::exchange::{Ask, Gather, Stake};
use crate::connection::wire::{Dial, TokioDial};
use sampan_host::{Error, Rows, Value};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;

/// A connection beside the pool. It takes no room from the pool, and stays on its thread. Its statements are not
/// checked: they are the server's own.
pub struct PostgresSession {
    connection: Access,
    statements: Statements,
}

impl Postgres {
    /// Connects, within `connect_millis_max` for each server. `bell` rings when a notification has come that the
    /// session listens to, and when the connection has ended. The thread runs a tokio runtime with sockets, inside of a
    /// `LocalSet`.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`](super::PostgresClient::query).
    pub async fn session(&self, bell: Arc<Notify>) -> Result<PostgresSession, Error> {
        let dial: Rc<dyn Dial> = Rc::new(TokioDial);
        let connection = connect(&self.0, &dial).await.map_err(|fault| fault.error)?;
        connection.listen(bell);
        Ok(PostgresSession {
            connection: Access::own(connection),
            statements: Statements::default(),
        })
    }
}

impl PostgresSession {
    /// Runs a text of statements without parameters, such as LISTEN.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`](super::PostgresClient::query).
    pub async fn script(&self, sql: &str) -> Result<(), Error> {
        let ask = Ask::Script(sql.to_owned());
        let script = UnderWay::send(&self.connection, ask, Stake::Commit);
        let ran = script.over().await;
        ran.map_err(|failure| failure.error(sql, None))
    }

    /// Runs a statement as a transaction of its own, and returns its rows.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`](super::PostgresClient::query).
    pub async fn query(&self, sql: &str, params: &Value) -> Result<Rows, Error> {
        let statement = self.statements.get(sql)?;
        let gather = RowLimits::default().gather();
        let stake = Stake::of(&statement.sql);
        let ran = run(&self.connection, &statement, sql, params, gather, stake).await;
        let done = ran.map_err(|failure| failure.error(sql, Some(&statement.sql)))?;
        Ok(done.rows.unwrap_or_else(no_rows))
    }

    /// Runs statements as one transaction, in one round trip once the server has described them.
    ///
    /// # Errors
    /// As for [`PostgresClient::query`](super::PostgresClient::query).
    pub async fn batch(&self, statements: &[(String, Value)]) -> Result<(), Error> {
        let mut recorded = Vec::with_capacity(statements.len());
        for (sql, params) in statements {
            recorded.push(Recorded {
                sql,
                params,
                statement: self.statements.get(sql)?,
            });
        }
        if recorded.is_empty() {
            return Ok(());
        }
        let gather = Gather::Last(None);
        let sent = send(&self.connection, &recorded, Stake::Commit, gather).await;
        let failed = |(at, failure): (usize, crate::error::Failure)| {
            let one = &recorded[at];
            failure.error(one.sql, Some(&one.statement.sql))
        };
        sent.map(drop).map_err(failed)
    }

    /// Reports whether a notification has come since this was asked last.
    pub fn take_heard(&self) -> bool {
        self.connection.take_heard()
    }

    /// Reports whether the connection has ended.
    pub fn has_ended(&self) -> bool {
        self.connection.has_ended()
    }
}
