//! Jobs on a PostgreSQL server: the same tables, where every statement waits and several processes write at once.
//!
//! No statement waits for the rows of another process: jobs are taken by `FOR UPDATE SKIP LOCKED`, and what another
//! process has locked is tried again. Only those that take jobs of one queue with a rate wait for each other. All times
//! are those of the server's clock, since the clocks of machines differ.
//!
//! A keeper makes one transaction of all that it has to do, in one round trip.

pub(crate) mod added;
mod columns;
mod crons;
mod denied;
mod holder;
pub(crate) mod keeper;
pub(crate) mod people;
mod rates;
mod results;
mod ring;
pub(crate) mod schema;
mod server_clock;
mod statements;
mod turn;

use crate::table::{Taken, maybe_text};
use sampan_host::database::WaitingTables;
use sampan_host::{Error, Value};

/// The statements on the table of jobs that are not about one job alone. None may look at all rows.
pub const POSTGRES_STATEMENTS: [&str; 18] = [
    statements::END,
    statements::END_BATCHES,
    statements::PROMOTE,
    statements::TAKE,
    statements::EXTEND,
    statements::RECLAIM,
    statements::SHORTEN,
    statements::GIVE_BACK,
    statements::GIVE_BACK_UNKNOWN,
    statements::PROGRESS,
    statements::MOVE_STRAYS,
    statements::PRUNE,
    statements::CANCEL,
    rates::TAKE_RATED,
    rates::OPENS,
    people::PRUNE,
    people::RETRY,
    people::KEY_TAKEN,
];

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
