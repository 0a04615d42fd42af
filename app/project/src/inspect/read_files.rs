//! The files of a project that were read.

use crate::files::Project;
use sampan_host::Sources;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files of a project, and the paths of those that were read.
pub struct ReadFiles {
    sources: Arc<dyn Sources>,
    paths: Mutex<BTreeSet<String>>,
}

impl ReadFiles {
    /// A project that notes what is read of it from now on.
    pub fn of(project: &Project) -> (Project, Arc<Self>) {
        let files = Arc::new(Self {
            sources: project.sources(),
            paths: Mutex::default(),
        });
        let noting = project.with_sources(Arc::clone(&files) as Arc<dyn Sources>);
        (noting, files)
    }

    /// The files that were read.
    pub fn paths(&self) -> BTreeSet<String> {
        self.noted().clone()
    }

    fn noted(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sources for ReadFiles {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let bytes = self.sources.read(path)?;
        let path = path.strip_prefix("./").unwrap_or(path);
        self.noted().insert(path.to_owned());
        Some(bytes)
    }

    fn find(&self, path: &str) -> Option<String> {
        self.sources.find(path)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.sources.list(folder)
    }

    fn names_in(&self, folder: &str) -> Vec<String> {
        self.sources.names_in(folder)
    }
}
