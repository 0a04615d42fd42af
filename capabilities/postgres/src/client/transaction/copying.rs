//! Rows that are added by a COPY.

use super::PostgresTransaction;
use crate::client::pool::Lease;
use crate::client::run::UnderWay;
use crate::connection::exchange::{Ask, Stake};
use crate::error::Failure;
use bytes::Bytes;
use sampan_host::Error;
use std::cell::Cell;

/// A `COPY ... FROM STDIN`.
#[derive(Clone, Copy, Debug)]
pub struct CopyIn<'a> {
    /// The statement.
    pub sql: &'a str,
    /// The name of its table, without quotes.
    pub table: &'a str,
}

/// Rows that could not be added.
#[derive(Debug)]
pub struct CopyError {
    /// The reason.
    pub error: Error,
    /// The line that it is about, from 1, where the server tells it.
    pub line: Option<usize>,
}

impl PostgresTransaction {
    /// Adds rows to a table by a `COPY ... FROM STDIN`: `lines` are in its text format.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`], and the line that the error is about where the server tells it.
    pub async fn copy_in(&self, copy: CopyIn<'_>, lines: Vec<u8>) -> Result<(), CopyError> {
        let (sql, lines) = (copy.sql, Bytes::from(lines));
        let line = Cell::new(None);
        let attempt = async |lease: &Lease| {
            let ask = Ask::Copy {
                sql: sql.to_owned(),
                lines: lines.clone(),
            };
            let copying = UnderWay::send(lease.connection(), ask, Stake::Nothing);
            let over = copying.over().await;
            if let Err(Failure::Server { error, .. }) = &over {
                line.set(error.copied_line(copy.table));
            }
            over
        };
        let copied = self.attempts(sql, None, attempt).await;
        copied.map_err(|error| CopyError {
            error,
            line: line.get(),
        })
    }
}
