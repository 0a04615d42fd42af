//! A connection to PostgreSQL: the login, the messages, and the task that moves them.
//!
//! Statements go out one behind the other without waiting for answers, all that were asked for in one turn of the
//! worker with one write. An [`Exchange`](exchange::Exchange) is what goes up to one `Sync`: outside of a transaction
//! it is a transaction of its own.

mod answers;
pub(crate) mod driver;
pub(crate) mod exchange;
pub(crate) mod login;
mod messages;
pub(crate) mod patience;
pub(crate) mod state;
pub(crate) mod statement;
pub(crate) mod tls;
pub(crate) mod wire;
