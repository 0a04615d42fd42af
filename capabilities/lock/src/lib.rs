//! Mutual exclusion between the handlers of a process, on all its workers; on a database server between those of all
//! processes.
//!
//! A lock is given back when its function has ended and everything is committed that the function wrote. So the
//! next handler reads what the one before has written.

mod capability;
mod limits;
mod locks;
mod rows;
mod server;

pub use capability::CAPABILITY;
