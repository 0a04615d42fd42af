//! SQLite for scripts: queries, transactions, group commit, migrations, backup.

mod admit;
mod api;
pub mod backup;
mod cells;
mod chars;
mod checkpoint;
pub mod config;
mod connection;
mod database;
pub mod fault;
mod fence;
mod file;
mod functions;
mod group;
#[cfg(test)]
mod group_test;
mod log_file;
pub mod migrate;
mod open;
mod pace;
mod params;
mod prepared;
mod readers;
mod repair;
mod run;
mod search;
mod snapshot;
mod status;
#[cfg(test)]
mod test_folder;
mod thread;
mod write;
mod writer;

pub use api::MODULE;
pub use config::{Config, Durability, Script};
pub use database::{Database, Report, Use};
pub use group::Db;
