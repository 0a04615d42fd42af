//! Arguments that several commands have.

pub(crate) mod database;
pub(crate) mod server;
