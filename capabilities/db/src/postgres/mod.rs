//! PostgreSQL behind the rows of `db`: every statement waits for the server, so nothing is held in a group here. The
//! server commits a statement before it answers, and groups the commits of all its clients itself.

pub(crate) mod api;
pub(crate) mod database;
mod in_use;
mod limits;
pub(crate) mod own_tables;
pub(crate) mod recording;
mod statement_room;
pub(crate) mod tables;
pub(crate) mod test_databases;
pub(crate) mod topics;
mod transaction;
mod transaction_rows;
pub(crate) mod worker;
