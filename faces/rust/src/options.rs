//! The options common to servers and scripts.

use crate::error::{Error, ErrorKind};
use sampan_host::log::Level;
use sampan_host::{Context, Module};
use sampan_project::config::{Flags, OptionNames};
use sampan_runtime::{AppConfig, ContextSetup, Embedding, modules, modules_with};
use sampan_serve::native::NativeRoute;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Takes lines of the log.
type TakeLine = Arc<dyn Fn(Level, &str) + Send + Sync>;

/// Settings, capabilities and the log.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) flags: Flags,
    pub(crate) modules: Vec<&'static Module>,
    contexts: Vec<ContextSetup>,
    log: Option<TakeLine>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            flags: Flags {
                names: OptionNames {
                    listen: "listen",
                    workers: "workers",
                    set: "set",
                },
                ..Flags::default()
            },
            modules: Vec::new(),
            contexts: Vec::new(),
            log: None,
        }
    }
}

impl Options {
    /// Looks for capabilities that scripts could not tell from others.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (at, module) in self.modules.iter().enumerate() {
            let name = module.name;
            let is_same =
                |other: &&'static Module| other.name == name && !std::ptr::eq(*other, *module);
            let text = if modules().iter().any(is_same) {
                format!("module: {name:?} is a capability of Sampan: give yours another name")
            } else if self.modules[..at].iter().any(is_same) {
                format!("module: two capabilities are called {name:?}")
            } else {
                continue;
            };
            return Err(Error::new(ErrorKind::Config, text));
        }
        Ok(())
    }

    /// Reports whether a fault is one of an option, whose name it begins with.
    pub(crate) fn is_named_in(&self, fault: &str) -> bool {
        let names = self.flags.names;
        let begins = |name: &str| {
            fault
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(": "))
        };
        [names.listen, names.workers, names.set]
            .into_iter()
            .any(begins)
    }

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
    pub(crate) fn adapt(&self, config: &mut AppConfig, routes: &[NativeRoute]) {
        config.program.modules = modules_with(&self.modules);
        config.program.embedding = Arc::new(Embedding {
            routes: routes.to_vec(),
            contexts: self.contexts.clone(),
        });
        if let Some(take) = self.log.clone() {
            let logger = config.program.logger.clone();
            config.program.logger = logger.given_to(move |level, line| take(level, line));
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
