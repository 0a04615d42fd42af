//! The database of one run: made for it, and removed after it. The files of `bench static`, which stay.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The point at which a write counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Durability {
    /// The operating system has it (`synchronous=NORMAL`)
    Normal,
    /// On disk (`synchronous=FULL`)
    Full,
}

impl Durability {
    /// Returns the value in `sampan.toml` and in reports.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Full => "full",
        }
    }

    /// Returns the value of `PRAGMA synchronous`.
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::Full => "FULL",
        }
    }
}

/// The folder with the files of `bench static`, which all servers share.
pub(crate) fn files(root: &Path) -> PathBuf {
    root.join("examples/bench_static/public")
}

/// A folder for a database that does not exist yet; removed when dropped.
#[derive(Debug)]
pub(crate) struct BenchStorage {
    folder: PathBuf,
    root: PathBuf,
    pub(crate) durability: Durability,
}

impl BenchStorage {
    /// Makes the folder below `above`, which must be on a disk for `full` to mean anything.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made.
    pub(crate) fn new(root: &Path, above: &Path, durability: Durability) -> std::io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = above.join(format!("db-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        let storage = Self {
            folder,
            root: root.to_path_buf(),
            durability,
        };
        storage.configure("")?;
        Ok(storage)
    }

    /// Adds these lines to the settings.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(crate) fn configure(&self, lines: &str) -> std::io::Result<()> {
        let durability = self.durability.word();
        let settings = format!("[db]\ndurability = \"{durability}\"\n{lines}");
        fs::write(self.settings(), settings)
    }

    /// The database file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join("bench.db")
    }

    /// The folder of a copy of the database.
    pub(crate) fn copies(&self) -> PathBuf {
        self.folder.join("copies")
    }

    /// A `sampan.toml` with this durability.
    pub(crate) fn settings(&self) -> PathBuf {
        self.folder.join("sampan.toml")
    }

    /// The SQL that makes the tables of both examples, for servers without migrations: files with a colon between.
    pub(crate) fn schema(&self) -> String {
        let files = [
            "examples/bench_db/migrations/0001_events.sql",
            "examples/hello/migrations/0001_visits.sql",
        ];
        files
            .map(|file| self.root.join(file).display().to_string())
            .join(":")
    }

    /// The bytes of the database and of its write-ahead log.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        let length = |name| fs::metadata(self.folder.join(name)).map_or(0, |file| file.len());
        (length("bench.db"), length("bench.db-wal"))
    }
}

impl Drop for BenchStorage {
    fn drop(&mut self) {
        // Below a folder that git ignores; the next run of this process removes what is left.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_there() {
        let root = crate::checkout::root();
        let folder = tempfile::tempdir().expect("a folder");
        let storage =
            BenchStorage::new(&root, folder.path(), Durability::Full).expect("it is made");
        for file in storage.schema().split(':') {
            assert!(Path::new(file).exists(), "{file}");
        }
        let settings = fs::read_to_string(storage.settings()).expect("it is there");
        assert!(settings.contains("durability = \"full\""), "{settings}");
        assert_eq!(storage.bytes(), (0, 0));
    }
}
