//! The settings of a database, each quantity with its unit in its name.

use crate::sqlite::file::KnownFile;
use std::path::PathBuf;

/// When a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// On disk: a commit survives power loss.
    #[default]
    Full,
    /// The operating system has it: it survives the death of the process, and may be lost with the power.
    Normal,
    /// The process has it. The file goes with the process, so nothing waits for the disk, and the log is not copied at
    /// the end.
    Throwaway,
}

/// The settings of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseConfig {
    /// The file.
    pub path: PathBuf,
    /// When a write counts as done.
    pub durability: Durability,
    /// Prepared statements that each connection keeps.
    pub statements_max: usize,
    /// The page cache of each connection.
    pub cache_kib: u32,
    /// The number of bytes of the file that are mapped into memory; 0 maps nothing. An I/O error under a mapping is a
    /// SIGBUS.
    pub mmap_bytes: u64,
    /// The longest that a read may run on its worker; longer ones run on a reader thread.
    pub query_inline_millis_max: u64,
    /// The longest that a write may run.
    pub write_millis_max: u64,
    /// The longest that a read may run on a reader thread.
    pub statement_millis_max: u64,
    /// The most that the rows of one result may take in memory.
    pub result_bytes_max: usize,
    /// The longest time that a write waits while another process holds the lock.
    pub busy_millis_max: u64,
    /// The longest that a transaction of a function that waits may last.
    pub transaction_millis_max: u64,
    /// Reader threads for long reads.
    pub reader_threads: usize,
    /// Pages in the write-ahead log from which it is copied into the database.
    pub checkpoint_pages: u32,
    /// Size of the write-ahead log from which writers wait until it has been copied.
    pub wal_bytes_max: u64,
    /// Which file that turned out to be; shared by clones.
    pub file: KnownFile,
}

impl DatabaseConfig {
    /// Reports whether the database was opened and another file, or none, stands at its path now.
    pub fn has_lost_file(&self) -> bool {
        !self.file.is_at(&self.path)
    }

    /// The defaults for a file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            durability: Durability::Full,
            statements_max: 64,
            cache_kib: 16 * 1024,
            mmap_bytes: 0,
            query_inline_millis_max: 100,
            write_millis_max: 1_000,
            statement_millis_max: 5_000,
            result_bytes_max: 64 * 1024 * 1024,
            busy_millis_max: 5_000,
            transaction_millis_max: 2_000,
            reader_threads: 2,
            checkpoint_pages: 1_000,
            wal_bytes_max: 1024 * 1024 * 1024,
            file: KnownFile::default(),
        }
    }
}
