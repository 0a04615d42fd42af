//! The tables of capabilities on a server, where every statement waits.

use sampan_host::database::{AppTables, WaitingTables};
use sampan_host::{Error, ErrorKind, LocalFuture, Rows, Value};
use std::rc::Rc;

/// Tables whose statements wait; those that would run at once are refused.
pub(crate) struct ServerTables(pub(crate) Rc<dyn WaitingTables>);

const WHY: &str = "this is kept in a database of SQLite only";

#[cold]
fn refused<T>() -> Result<T, Error> {
    Err(Error::new(ErrorKind::Script, WHY))
}

impl AppTables for ServerTables {
    fn refusal(&self) -> Option<&'static str> {
        Some(WHY)
    }

    fn waiting(&self) -> Option<Rc<dyn WaitingTables>> {
        Some(Rc::clone(&self.0))
    }

    fn read(&self, _: &str, _: &Value) -> Result<Option<Rows>, Error> {
        refused()
    }

    fn begin(&self) -> Result<(), Error> {
        refused()
    }

    fn begin_in_place(&self) -> Result<(), Error> {
        refused()
    }

    fn write(&self, _: &str, _: &Value) -> Result<Option<i64>, Error> {
        refused()
    }

    fn writable(&self) -> LocalFuture<Result<(), Error>> {
        Box::pin(std::future::ready(refused()))
    }
}
