//! Savepoints of a transaction.

use super::{PostgresTransaction, send_control};
use crate::client::pool::Lease;
use crate::client::run::UnderWay;
use crate::error::Failure;
use sampan_host::{Error, ErrorKind};

impl PostgresTransaction {
    /// Makes a savepoint. They nest.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`].
    pub async fn savepoint(&self) -> Result<(), Error> {
        let depth = self.savepoints.get() + 1;
        self.control(&format!("SAVEPOINT sampan_{depth}")).await?;
        self.savepoints.set(depth);
        Ok(())
    }

    /// Ends the last savepoint. `keep` is false to undo what was done since, after which an error that happened since
    /// does not count.
    ///
    /// # Errors
    /// As for [`PostgresTransaction::query`].
    pub async fn end_savepoint(&self, keep: bool) -> Result<(), Error> {
        let depth = self.savepoints.get();
        if depth == 0 {
            return Err(Error::new(ErrorKind::Internal, "there is no savepoint"));
        }
        let release = format!("RELEASE SAVEPOINT sampan_{depth}");
        if keep {
            self.control(&release).await?;
        } else {
            self.savepoints.set(depth - 1);
            if self.connection_is_there() {
                *self.aborted.borrow_mut() = None;
            }
            let undo = format!("ROLLBACK TO SAVEPOINT sampan_{depth}; {release}");
            return self.control(&undo).await;
        }
        self.savepoints.set(depth - 1);
        Ok(())
    }

    /// Sends what makes a savepoint, without waiting. Not for a transaction that is fresh.
    pub(in crate::client) fn send_savepoint<'a>(
        &self,
        lease: &'a Lease,
    ) -> Result<UnderWay<'a>, Error> {
        self.check("")?;
        let depth = self.savepoints.get() + 1;
        self.savepoints.set(depth);
        Ok(send_control(lease, format!("SAVEPOINT sampan_{depth}")))
    }

    /// Sends what ends the last savepoint and keeps what was done since, without waiting.
    pub(in crate::client) fn send_release<'a>(&self, lease: &'a Lease) -> UnderWay<'a> {
        send_control(
            lease,
            format!("RELEASE SAVEPOINT sampan_{}", self.savepoints.get()),
        )
    }

    /// Takes note of the end of the last savepoint.
    pub(in crate::client) fn released(
        &self,
        lease: &Lease,
        ended: Result<(), Failure>,
    ) -> Result<(), Error> {
        self.savepoints.set(self.savepoints.get() - 1);
        let ended = ended.map_err(|failure| failure.error("RELEASE SAVEPOINT", None));
        self.settled(lease, ended, "")
    }
}
