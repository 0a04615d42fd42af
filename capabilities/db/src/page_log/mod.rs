//! The pages of each commit, read from the write-ahead log for a copy of the database elsewhere.
//!
//! The log is read by its documented format ([`wal`]), up to the last commit that SQLite knows. What has not been read
//! is never overwritten by a checkpoint of this process: the thread of checkpoints reads the log first
//! ([`follower::LogFollower::during`]). If another process makes the log start over too early, that is noticed, and the
//! copy begins anew.

pub(crate) mod follower;
mod reading;
mod wal;
mod whole;

pub use whole::{HeldOpen, check_file};

#[cfg(test)]
mod tests;
