//! Jobs: work that an app leaves for later, kept in a table of its database.
//!
//! A job is a row that is written in the transaction of the caller, so it exists if and only if the write beside it
//! does. A thread without scripts, the `keeper`, takes rows that are due, in batches, and leaves them at the `desk` of
//! the process. Threads with isolates of their own take them from there (`attempts`), and leave there how each ended,
//! which the keeper writes with its next batch.
//!
//! A row that was taken has a lease, which the keeper extends, and a token, which grows each time that the row is
//! taken. The end of an attempt is written only where both are still those of the attempt. So a job whose process died
//! runs again, and an attempt that was believed dead cannot end a job a second time.

mod arguments;
mod attempts;
mod capability;
mod config;
pub mod console;
mod crons;
mod declared;
mod desk;
mod failures;
mod handle;
mod ids;
mod keeper;
mod limits;
mod options;
mod postgres;
mod queue;
mod rows;
mod schedule;
mod table;

pub use capability::CAPABILITY;
pub use config::{JobsConfig, QueueRate, QueueRule, SECTION};
pub use postgres::POSTGRES_STATEMENTS;
pub use table::listed::SERVER_STATEMENTS;
pub use table::people::{CronView, JobFilter, JobView};
