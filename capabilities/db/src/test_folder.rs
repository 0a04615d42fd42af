//! A folder for one test, removed at its end; the processor time of a test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub(crate) struct TestFolder(PathBuf);

impl TestFolder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sampan-db-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    /// A file in it.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The processor time that this thread has had, which other processes on a busy machine do not lengthen.
pub(crate) fn thread_cpu_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos = told.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanos.expect("a number"))
}
