//! A connection to SQLite: how it is opened, its prepared statements, their parameters, rows and errors.

pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod file;
pub(crate) mod limits;
mod log_files;
pub(crate) mod memory;
pub(crate) mod open;
pub(crate) mod params;
pub(crate) mod prepared;
pub(crate) mod ring;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod statement;
pub(crate) mod status;
