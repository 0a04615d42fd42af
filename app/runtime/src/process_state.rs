//! The state of the capabilities that all workers share, and their state for one worker.

use crate::app_config::AppConfig;
use crate::capabilities;
use sampan_host::capability::{Beside, IsolateSetup, KeeperSetup, ProcessSetup, Shared};
use sampan_host::log::Level;
use sampan_host::sources::PackedFiles;
use sampan_host::{Context, Error, LocalFuture};
use std::rc::Rc;
use std::sync::Arc;

/// The state of the capabilities of a process, for one generation of the project. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ProcessState(Shared);

impl ProcessState {
    /// Makes it from the files of a project.
    ///
    /// # Errors
    /// A file that is wrong: its name, its line and the lines around it.
    pub(crate) fn of(config: &AppConfig) -> Result<Self, String> {
        Self::made(config, None)
    }

    /// Makes it anew, from the files as they are now. What outlives a reload stays.
    ///
    /// # Errors
    /// As [`ProcessState::of`].
    pub(crate) fn renewed(&self, config: &AppConfig) -> Result<Self, String> {
        Self::made(config, Some(&self.0))
    }

    fn made(config: &AppConfig, before: Option<&Shared>) -> Result<Self, String> {
        let mut shared = Shared::default();
        let packed = config.base.project.archive();
        for one in capabilities::ordered() {
            (one.process)(&mut ProcessSetup {
                settings: config.project_settings(),
                sources: config.base.project.sources(),
                packed: packed.map(|archive| Arc::clone(archive) as Arc<dyn PackedFiles>),
                before,
                shared: &mut shared,
            })?;
        }
        Ok(Self(shared))
    }

    /// Returns the value of type `T` that a capability shares between workers.
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.0.get()
    }

    /// Logs the settings with which a part of the project cannot work.
    pub(crate) fn warn(config: &AppConfig) {
        for warning in capabilities::warnings(&config.project_settings()) {
            config.program.logger.text(Level::Warn, warning);
        }
    }

    /// Takes note that the process begins to serve.
    pub(crate) fn start(&self) {
        capabilities::ordered().for_each(|one| (one.start)(&self.0));
    }

    /// Puts back what was there before the first request.
    pub(crate) fn restore(&self) {
        capabilities::ordered().for_each(|one| (one.restore)(&self.0));
    }

    /// Makes what the scripts of an isolate need.
    ///
    /// # Errors
    /// A setting that the isolate cannot have.
    pub(crate) fn put_into(
        &self,
        config: &AppConfig,
        worker: &Context,
        context: &Rc<Context>,
        is_project: bool,
    ) -> Result<(), Error> {
        let setup = self.setup(config, worker, context, is_project);
        capabilities::ordered().try_for_each(|one| (one.isolate)(&setup))
    }

    /// Takes note that a worker answers with this isolate from now on.
    pub(crate) fn serve(&self, config: &AppConfig, worker: &Context, context: &Rc<Context>) {
        let setup = self.setup(config, worker, context, true);
        capabilities::ordered().for_each(|one| (one.serve)(&setup));
    }

    /// Returns the work beside requests that the project needs. A secondary server has none: the work that waits in the
    /// database is that of the server that serves the project.
    pub(crate) fn beside(&self, config: &AppConfig) -> Option<Beside> {
        if config.program.is_secondary {
            return None;
        }
        let settings = config.project_settings();
        capabilities::ordered().find_map(|one| (one.beside)(&settings, &self.0))
    }

    /// The values that all workers share.
    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }

    /// Returns the work of a thread with an isolate beside requests.
    pub(crate) fn work_beside(
        &self,
        config: &AppConfig,
        worker: &Context,
        context: &Rc<Context>,
        beside: &Beside,
    ) -> LocalFuture<()> {
        (beside.work)(&self.setup(config, worker, context, true))
    }

    /// Returns the work of the thread without scripts.
    pub(crate) fn keep_beside(
        &self,
        config: &AppConfig,
        context: &Rc<Context>,
        beside: &Beside,
    ) -> LocalFuture<()> {
        (beside.keep)(&KeeperSetup {
            settings: config.project_settings(),
            shared: &self.0,
            context,
        })
    }

    fn setup<'a>(
        &'a self,
        config: &'a AppConfig,
        worker: &'a Context,
        context: &'a Rc<Context>,
        is_project: bool,
    ) -> IsolateSetup<'a> {
        IsolateSetup {
            settings: config.project_settings(),
            shared: &self.0,
            worker,
            context,
            is_project,
        }
    }
}
