//! The client against a real server: statements, transactions, faults. Skipped where PostgreSQL is not installed.

mod faults;
mod pool;
mod proxy;
mod rig;
mod statements;
mod types;
