//! What servers and scripts are told alike.

use sampan_app::host::{Context, Module};
use sampan_app::{Config, ContextSetup, Embedding, Flags, Level, NativeRoute, modules_with};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Takes lines of the log.
type TakeLine = Arc<dyn Fn(Level, &str) + Send + Sync>;

/// Settings, capabilities and the log.
#[derive(Clone, Default)]
pub(crate) struct Options {
    pub(crate) flags: Flags,
    pub(crate) modules: Vec<&'static Module>,
    contexts: Vec<ContextSetup>,
    log: Option<TakeLine>,
}

impl Options {
    pub(crate) fn config(&mut self, path: &Path) {
        self.flags.config = Some(path.to_owned());
    }

    pub(crate) fn set(&mut self, setting: &str) {
        self.flags.set.push(setting.to_owned());
    }

    pub(crate) fn context(&mut self, put: impl Fn(&Context) + Send + Sync + 'static) {
        self.contexts.push(Arc::new(put));
    }

    pub(crate) fn log(&mut self, take: impl Fn(Level, &str) + Send + Sync + 'static) {
        self.log = Some(Arc::new(take));
    }

    /// Puts into a configuration what no file says.
    pub(crate) fn adapt(&self, config: &mut Config, routes: &[NativeRoute]) {
        config.modules = modules_with(&self.modules);
        config.embedding = Arc::new(Embedding {
            routes: routes.to_vec(),
            contexts: self.contexts.clone(),
        });
        if let Some(take) = self.log.clone() {
            let logger = config.logger.clone();
            config.logger = logger.given_to(move |level, line| take(level, line));
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules: Vec<&str> = self.modules.iter().map(|module| module.name).collect();
        f.debug_struct("Options")
            .field("flags", &self.flags)
            .field("modules", &modules)
            .finish_non_exhaustive()
    }
}
