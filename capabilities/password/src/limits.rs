//! Limits of this capability.

/// The longest password, in bytes.
pub(crate) const PASSWORD_BYTES_MAX: usize = 65_536;
/// The longest text that is read as a hash, in bytes.
pub(crate) const HASH_BYTES_MAX: usize = 1_024;
/// The most memory that a hash of elsewhere may ask for, in KiB.
pub(crate) const MEMORY_KIB_MAX: u32 = 256 * 1024;
/// The most passes that a hash of elsewhere may ask for, over all of its memory, in KiB: 4 passes of 256 MiB.
pub(crate) const WORK_KIB_MAX: u64 = 1024 * 1024;
/// The lowest cost of bcrypt, below which there are no hashes.
pub(crate) const BCRYPT_COST_MIN: u32 = 4;
/// The highest cost of bcrypt: 16 takes some seconds, and each further one twice as long.
pub(crate) const BCRYPT_COST_MAX: u32 = 16;
/// The most passwords that may wait for a thread.
pub(crate) const WAITING_MAX: usize = 1_024;
/// The most threads that hash, and so the most that use memory at one time.
pub(crate) const THREADS_MAX: usize = 4;
