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

/// The methods that servers and scripts in the making have in common.
macro_rules! common_options {
    () => {
        /// Reads this configuration file, in place of the one beside the project or script.
        #[must_use]
        pub fn config(mut self, path: impl AsRef<Path>) -> Self {
            self.options.config(path.as_ref());
            self
        }

        /// Sets a value as `sampan run --set` does: `"limits.body_bytes_max=10MB"`.
        #[must_use]
        pub fn set(mut self, setting: &str) -> Self {
            self.options.set(setting);
            self
        }

        /// Sets the number of workers, threads with an isolate each: one for each core unless told otherwise.
        #[must_use]
        pub fn workers(mut self, workers: usize) -> Self {
            self.options.flags.workers = Some(workers);
            self
        }

        /// Sets the option names used in error messages, for other faces.
        #[doc(hidden)]
        #[must_use]
        pub fn option_names(mut self, names: OptionNames) -> Self {
            self.options.flags.names = names;
            self
        }

        /// Gives scripts a capability of your own: a table of functions, as `app.<name>` in Lua and `import { <name> }
        /// from "sampan"` in JavaScript.
        ///
        /// ```
        /// use sampan::host::{Args, Context, Error, Function, FunctionKind, Module, Param, Type, Value};
        ///
        /// static SHOUT: Module = Module {
        ///     name: "shout",
        ///     doc: "Loud words.",
        ///     functions: &[Function {
        ///         name: "upper_case",
        ///         params: &[Param { name: "text", ty: Type::Text, optional: false, doc: "The words." }],
        ///         returns: Type::Text,
        ///         doc: "The same words in capitals.",
        ///         kind: FunctionKind::Sync(upper_case),
        ///     }],
        ///     ..Module::EMPTY
        /// };
        ///
        /// fn upper_case(_: &Context, mut args: Args) -> Result<Value, Error> {
        ///     match args.take(0) {
        ///         Value::Text(text) => Ok(Value::Text(text.to_uppercase())),
        ///         _ => Ok(Value::Null),
        ///     }
        /// }
        ///
        /// let app = sampan::App::new().module(&SHOUT);
        /// # drop(app);
        /// ```
        #[must_use]
        pub fn module(mut self, module: &'static Module) -> Self {
            self.options.modules.push(module);
            self
        }

        /// Gives your capabilities what they need: called for each isolate before its script runs. Their functions find
        /// with `context.get` what `context.put` keeps, one value of each type.
        #[must_use]
        pub fn with_context(mut self, put: impl Fn(&Context) + Send + Sync + 'static) -> Self {
            self.options.context(put);
            self
        }

        /// Gives the lines of the log to a function in place of standard error. It is called on the thread that has
        /// something to say, on several at the same time, and must not wait for long.
        #[must_use]
        pub fn log(mut self, take: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
            self.options.log(take);
            self
        }
    };
}
pub(crate) use common_options;

/// Takes lines of the log.
type TakeLine = Arc<dyn Fn(Level, &str) + Send + Sync>;

/// Settings, capabilities and the log.
#[derive(Clone)]
pub(crate) struct AppOptions {
    pub(crate) flags: Flags,
    pub(crate) modules: Vec<&'static Module>,
    contexts: Vec<ContextSetup>,
    log: Option<TakeLine>,
}

impl Default for AppOptions {
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

impl AppOptions {
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

impl fmt::Debug for AppOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules: Vec<&str> = self.modules.iter().map(|module| module.name).collect();
        f.debug_struct("AppOptions")
            .field("flags", &self.flags)
            .field("modules", &modules)
            .finish_non_exhaustive()
    }
}
