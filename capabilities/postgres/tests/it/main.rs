//! The client against a real server: statements, transactions, faults. Skipped where PostgreSQL is not installed.

mod rig;
mod statements;
