//! The thread that performs reloads one after the other, so that signals are heard meanwhile.

use super::swap::Reloader;
use crate::app_config::AppConfig;
use crate::systemd;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The result of a reload: a line about it, or why there was none.
pub type ReloadOutcome = Result<String, String>;

/// Asks for reloads, also before the server has started: then the first one is done after that.
#[derive(Clone)]
pub struct ReloadRequests(Sender<Option<Sender<ReloadOutcome>>>);

/// The receiver of reload requests.
pub struct ReloadInbox(Receiver<Option<Sender<ReloadOutcome>>>);

impl ReloadRequests {
    pub(crate) fn new() -> (Self, ReloadInbox) {
        let (sender, inbox) = channel();
        (Self(sender), ReloadInbox(inbox))
    }

    /// Asks for a reload, and waits for none.
    pub fn ask(&self) {
        let _ = self.0.send(None);
    }

    /// Asks for a reload, and waits for what comes of it.
    pub fn ask_and_wait(&self) -> ReloadOutcome {
        let gone = || "the server ends".to_owned();
        let (reply, outcome) = channel();
        self.0.send(Some(reply)).map_err(|_| gone())?;
        outcome.recv().map_err(|_| gone())?
    }
}

impl ReloadInbox {
    /// Starts the thread. `resolve` reads the configuration anew; `after` hears what came of each reload.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn serve(
        self,
        reloader: Reloader,
        resolve: impl Fn() -> Result<AppConfig, String> + Send + 'static,
        after: impl Fn(&ReloadOutcome) + Send + 'static,
    ) -> Result<(), String> {
        let body = move || {
            while let Ok(first) = self.0.recv() {
                // Those who asked before it begins get the same one.
                let asked: Vec<_> = std::iter::once(first).chain(self.0.try_iter()).collect();
                systemd::reloading();
                let outcome = reload(&reloader, &resolve);
                systemd::reloaded();
                after(&outcome);
                for reply in asked.into_iter().flatten() {
                    let _ = reply.send(outcome.clone());
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("sampan-reload".into())
            .spawn(body);
        thread
            .map(drop)
            .map_err(|error| format!("cannot start a thread: {error}"))
    }
}

fn reload(reloader: &Reloader, resolve: &impl Fn() -> Result<AppConfig, String>) -> ReloadOutcome {
    let config = resolve().inspect_err(|fault| reloader.not_reloaded(fault))?;
    let reloaded = reloader.reload(config)?;
    let mut told = format!("reloaded in {} ms", reloaded.elapsed.as_millis());
    if !reloaded.not_loaded.is_empty() {
        return Err(format!("{told}, but {}", reloaded.not_loaded.join("; ")));
    }
    if !reloaded.need_restart.is_empty() {
        told += &format!(
            "; these need a restart: {}",
            reloaded.need_restart.join(", ")
        );
    }
    Ok(told)
}
