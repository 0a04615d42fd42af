//! A folder that lives as long as a value: the small bad trees of tests.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A new, empty folder, removed with everything in it when dropped.
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the folder below the system's folder for temporary files.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub(crate) fn new() -> std::io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "sampan-xtask-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(Self { path })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, making the folders above it.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn write(&self, path: &str, text: &str) -> std::io::Result<()> {
        let path = self.path.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing depends on it being gone, and a test that panicked has its own message to show.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
