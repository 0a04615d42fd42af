//! The tables of capabilities, which PostgreSQL does not keep.

use sampan_host::database::AppTables;
use sampan_host::{Error, ErrorKind, LocalFuture, Rows, Value};

/// Refuses everything that capabilities keep in the app's database.
pub(crate) struct NoTables;

const WHY: &str = "this is kept in a database of SQLite only: with PostgreSQL there are no jobs, crons and mails, and \
                   sessions are kept in cookies ([session] store = \"cookie\")";

#[cold]
fn refused<T>() -> Result<T, Error> {
    Err(Error::new(ErrorKind::Script, WHY))
}

impl AppTables for NoTables {
    fn refusal(&self) -> Option<&'static str> {
        Some(WHY)
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
