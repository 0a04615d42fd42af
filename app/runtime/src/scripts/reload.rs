//! Reading a script anew, and the reload of a pool that its program asks for.

use super::errors::stopped;
use super::generations::{Read, Trial};
use super::shared::PoolShared;
use crate::app_config::AppConfig;
use crate::generation::Generation;
use crate::locks::lock;
use sampan_host::log::Level;
use sampan_host::{Error, Sources};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// The interval at which a reload that waits for isolates looks whether the pool is still there.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

impl PoolShared {
    /// The script as it is on the disk now.
    pub(super) fn read_anew(&self) -> Result<Read, String> {
        let before = self.generations.current();
        let mut config = AppConfig::clone(&before.config);
        let seen = self.generations.files.as_ref().map(|files| {
            let (project, seen) = files.anew(&self.script);
            config.base.project = project.with_entry(&self.entry);
            seen
        });
        if let Some(seen) = &seen {
            // Noted even if it is broken, so that it is not tried again until it has changed.
            let _ = seen.read(self.script.entry());
        }
        let config = Arc::new(config);
        let state = self.script.check_entry();
        let state = state.and_then(|()| before.state.renewed(&config));
        match state {
            Ok(state) => Ok((Arc::new(Generation::new(config, state)), seen)),
            Err(fault) => {
                self.generations.reject(&(before, seen));
                Err(fault)
            }
        }
    }

    /// Says in the log that a script does not load.
    pub(super) fn tell(&self, fault: &str) {
        let text = format!("not reloaded, the old script goes on: {fault}");
        let logger = &self.generations.current().config.program.logger;
        logger.text(Level::Error, text);
    }

    /// Loads the script anew in all isolates, or in none.
    pub(super) fn reload(&self) -> Result<(), String> {
        let _turn = self.generations.turn.take();
        // The end of the pool waits for reloads that began before it; this one came later.
        if self.queue.waiting.is_closed() {
            return Err(self.script.load_fault(&stopped()));
        }
        let read = self.read_anew()?;
        self.generations.set_trial(Some(Trial {
            generation: Arc::clone(&read.0),
            loaded: 0,
            fault: None,
        }));
        self.queue.waiting.wake_all();
        let fault = self.fault_of_trial();
        match &fault {
            None => self.generations.accept(read),
            Some(error) => {
                self.generations.reject(&read);
                self.generations.set_trial(None);
                self.tell(&error.to_string());
            }
        }
        // Those that wait swap now, or drop what they loaded.
        self.queue.waiting.wake_all();
        let project = &self.script;
        fault.map_or(Ok(()), |error| Err(project.load_fault(&error)))
    }

    /// Waits until all isolates have loaded what is tried, or one could not.
    fn fault_of_trial(&self) -> Option<Error> {
        let mut state = lock(&self.generations.state);
        loop {
            let trial = state.trial.as_ref()?;
            if trial.fault.is_some() || trial.loaded >= self.count {
                return trial.fault.clone();
            }
            if self.queue.waiting.is_closed() {
                return Some(stopped());
            }
            let waited = self.generations.has_tried.wait_timeout(state, LOOKS_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
