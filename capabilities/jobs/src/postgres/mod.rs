//! Jobs on a PostgreSQL server: the same tables, where every statement waits and several processes write at once.
//!
//! No statement waits for the rows of another process: jobs are taken by `FOR UPDATE SKIP LOCKED`, and what another
//! process has locked is tried again. All times are those of the server's clock, since the clocks of machines differ.
//! A keeper makes one transaction of all that it has to do, in one round trip.

pub(crate) mod added;
mod columns;
mod crons;
pub(crate) mod keeper;
pub(crate) mod people;
mod ring;
pub(crate) mod schema;
mod server_clock;
mod statements;
mod turn;

use crate::table::{Taken, maybe_text};
use sampan_host::database::WaitingTables;
use sampan_host::{Error, Value};

/// Returns the arguments of a job; `None` if it was taken anew since, or is gone.
pub(crate) async fn args(tables: &dyn WaitingTables, job: &Taken) -> Result<Option<String>, Error> {
    let params = Value::List(vec![Value::Int(job.id), Value::Int(job.token)]);
    let found = tables.run(statements::ARGS, &params).await?;
    let rows = found.ok_or_else(columns::no_tables)?.rows;
    Ok(match rows.is_empty() {
        true => None,
        false => maybe_text(rows.cell(0, 0)),
    })
}
