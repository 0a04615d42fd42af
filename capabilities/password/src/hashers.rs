//! The threads that hash passwords, one set for the process.
//!
//! A hash takes some ten milliseconds and some megabytes by intent. So logins wait for each other, and other requests
//! do not wait for logins.

use crate::limits::{THREADS_MAX, WAITING_MAX};
use argon2::Block;
use sampan_host::low_priority::{LongWork, LowPriorityThreads};
use std::sync::LazyLock;

/// The memory of one thread.
pub(crate) type Memory = Vec<Block>;

/// The threads of the process.
pub(crate) static HASHERS: LazyLock<LowPriorityThreads<Memory>> = LazyLock::new(|| {
    LowPriorityThreads::new(LongWork {
        name: "sampan-password",
        threads_max: THREADS_MAX,
        waiting_max: WAITING_MAX,
        waiting: "passwords wait to be hashed",
        lost: "a password was not hashed",
    })
});
