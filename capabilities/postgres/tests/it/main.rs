//! The client against a real server: statements, transactions, faults. Skipped where PostgreSQL is not installed.

mod crashes;
mod faults;
mod hostile;
mod logins;
mod pool;
mod poolers;
mod proxy;
mod rig;
mod session;
mod shared_connections;
mod statements;
mod tables;
mod types;
mod writing_functions;
