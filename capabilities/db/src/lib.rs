//! SQLite for scripts: queries, transactions, group commit, migrations, backup.

pub mod config;

pub use config::{Config, Durability};
