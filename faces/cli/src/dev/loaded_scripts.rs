//! The scripts that a project has loaded, whose lines the page about an error may show.

use sampan_host::Sources;
use sampan_project::Project;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of scripts that are remembered.
const SCRIPTS_MAX: usize = 100_000;

/// The names of the scripts, over all generations of the project.
#[derive(Clone, Default)]
pub(super) struct LoadedScripts(Arc<Mutex<HashSet<String>>>);

impl LoadedScripts {
    /// Returns the project with sources that note the scripts which it loads.
    pub(super) fn noting(&self, project: &Project) -> Project {
        project.with_sources(Arc::new(NotingSources {
            sources: project.sources(),
            scripts: self.clone(),
        }))
    }

    /// Reports whether a script was loaded.
    pub(super) fn contains(&self, file: &str) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(file)
    }

    /// Returns the scripts of the project's own that are still there, with their texts.
    pub(super) fn texts(&self, sources: &dyn Sources) -> Vec<(String, String)> {
        let mut names: Vec<String> = {
            let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            names.iter().cloned().collect()
        };
        names.retain(|name| !name.split('/').any(|part| part == "node_modules"));
        names.sort();
        let texts = names.into_iter().filter_map(|name| {
            let text = String::from_utf8_lossy(&sources.read(&name)?).into_owned();
            Some((name, text))
        });
        texts.collect()
    }

    fn note(&self, path: &str) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() < SCRIPTS_MAX {
            names.insert(path.strip_prefix("./").unwrap_or(path).to_owned());
        }
    }
}

/// The files of a project, of which the loaded scripts are noted.
struct NotingSources {
    sources: Arc<dyn Sources>,
    scripts: LoadedScripts,
}

impl Sources for NotingSources {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.sources.read(path)
    }

    fn read_script(&self, path: &str) -> Option<Vec<u8>> {
        let bytes = self.sources.read_script(path)?;
        self.scripts.note(path);
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
