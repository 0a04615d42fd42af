//! The offers of the database to the rest of the server, as traits of the contract.

use crate::group_commit::acquire::refusal;
use crate::group_commit::own::unless_missing;
use crate::group_commit::transaction::Transaction;
use crate::group_commit::worker::Db;
use crate::group_commit::writer::Refused;
use crate::sqlite::connection::SqliteConnection;
use crate::sqlite::ring;
use crate::sqlite::run::RunLimits;
use sampan_host::database::{AppTables, LOST_WRITES, RouteUse, WorkerDatabase};
use sampan_host::{
    Error, ErrorKind, HandlerId, LocalFuture, Outbox, RequestView, Rows, RunOwner, Value,
};
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The interval at which a load looks whether the transactions of its worker have ended.
const TRANSACTIONS_PAUSE: Duration = Duration::from_millis(5);

impl WorkerDatabase for Db {
    fn route_use(&self, handler: HandlerId, is_safe: bool) -> Arc<RouteUse> {
        self.0.database.route(handler, is_safe)
    }

    fn try_acquire(&self, route: &RouteUse) -> bool {
        Self::try_acquire(self, route)
    }

    fn acquire<'a>(
        &'a self,
        route: &'a RouteUse,
    ) -> Pin<Box<dyn Future<Output = Result<(), Error>> + 'a>> {
        Box::pin(Self::acquire(self, route))
    }

    fn must_queue(&self, route: &RouteUse) -> bool {
        Self::must_queue(self, route)
    }

    fn writable(&self) -> LocalFuture<Result<(), Error>> {
        Box::pin(Self::writable(self.clone()))
    }

    fn left(&self, route: Option<&RouteUse>, is_complete: &dyn Fn() -> bool) -> Duration {
        Self::left(self, route, is_complete)
    }

    fn losses(&self) -> u64 {
        Self::losses(self)
    }

    fn lost(&self) -> Error {
        let opened = self.0.database.opened();
        match opened.and_then(|opened| opened.writers.refused()) {
            Some(why @ Refused::Gone) => refusal(&why),
            _ => Error::new(ErrorKind::Internal, LOST_WRITES),
        }
    }

    fn has_transactions(&self) -> bool {
        Self::has_transactions(self)
    }

    fn transactions_behind(&self, owner: &RunOwner) -> Option<Vec<Outbox>> {
        self.0.transactions.behind(owner)
    }

    fn own_transaction(&self) -> Option<Rc<dyn AppTables>> {
        self.0.own_transaction()
    }

    fn has_lost(&self, owner: &RunOwner) -> bool {
        self.0.has_lost(owner)
    }

    fn may_be_rolled_back(&self, request: &Rc<dyn RequestView>) -> bool {
        self.0.transactions.may_be_rolled_back(request)
    }

    fn without_transactions(&self) -> LocalFuture<()> {
        let db = self.clone();
        Box::pin(async move {
            while !db.0.transactions.is_empty() {
                tokio::time::sleep(TRANSACTIONS_PAUSE).await;
            }
        })
    }

    fn set_loading(&self, is_loading: bool) {
        self.0.is_loading.set(is_loading);
    }

    fn finish_loading(&self) -> Result<(), Error> {
        Self::finish_loading(self)
    }
}

impl AppTables for Db {
    fn read(&self, sql: &str, params: &Value) -> Result<Option<Rows>, Error> {
        self.own_read(sql, params)
    }

    fn begin(&self) -> Result<(), Error> {
        self.own_begin()
    }

    fn begin_in_place(&self) -> Result<(), Error> {
        self.own_begin_in_place()
    }

    fn note_write(&self) {
        self.0.note_write();
    }

    fn write(&self, sql: &str, params: &Value) -> Result<Option<i64>, Error> {
        self.own_write(sql, params)
    }

    fn atomically(&self, work: Box<dyn FnOnce() -> Result<(), Error> + '_>) -> Result<(), Error> {
        self.own_atomically(work)
    }

    fn writable(&self) -> LocalFuture<Result<(), Error>> {
        Box::pin(Self::writable(self.clone()))
    }

    fn ring(&self) {
        if let Some(index) = index(self) {
            ring::ring(&index);
        }
    }

    fn hear(&self, heard: Box<dyn Fn()>) -> LocalFuture<()> {
        let index = index(self);
        Box::pin(async move {
            if let Some(index) = index {
                // Where it cannot be watched, the caller looks now and then.
                let _ = ring::hear(&index, heard).await;
            }
        })
    }
}

/// Returns the path of the index by which the processes tell each other; `None` if the database is not open.
fn index(db: &Db) -> Option<PathBuf> {
    db.0.database.opened()?.config.file.index()
}

/// The tables of capabilities in a transaction that is open.
impl AppTables for Transaction {
    fn read(&self, sql: &str, params: &Value) -> Result<Option<Rows>, Error> {
        let query = |connection: &SqliteConnection, run: &RunLimits<'_>| {
            connection.own_query(sql, params, run)
        };
        unless_missing(self.run(sql, false, query))
    }

    fn begin(&self) -> Result<(), Error> {
        Ok(())
    }

    fn begin_in_place(&self) -> Result<(), Error> {
        Ok(())
    }

    fn write(&self, sql: &str, params: &Value) -> Result<Option<i64>, Error> {
        let write = |connection: &SqliteConnection, run: &RunLimits<'_>| {
            connection.own_query(sql, params, run)?;
            Ok(i64::try_from(connection.sqlite().changes()).unwrap_or(i64::MAX))
        };
        unless_missing(self.run(sql, false, write))
    }

    fn atomically(&self, work: Box<dyn FnOnce() -> Result<(), Error> + '_>) -> Result<(), Error> {
        self.enter_batch()?;
        let done = work();
        let left = self.leave_batch(done.is_ok());
        done.and(left)
    }

    fn writable(&self) -> LocalFuture<Result<(), Error>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
