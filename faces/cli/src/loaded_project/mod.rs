//! A project whose scripts run for a person: the whole server but for its requests. `sampan repl` and `sampan exec` use
//! it.
//!
//! The project is loaded by a file of ours that runs its own first. Functions that this file gives to `app.on_start`
//! run as handlers do: they may wait, write and begin transactions. The last of them goes on until the project is
//! dropped. So the server is starting all that time, and does not answer requests.

mod stop;

use sampan_host::{Error, Module, Outbox, Verdict};
use sampan_project::Language;
use sampan_project::config::Flags;
use sampan_runtime::{AppConfig, ContextSetup, Embedding, Server, Stopper, modules_with};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use stop::STOP_PAUSE;
pub(crate) use stop::Stop;

/// A run may take as long as its person waits.
const LIMITS: [&str; 2] = [
    "limits.script_millis_max=86400000",
    "limits.handler_millis_max=86400000",
];
/// All runs share their globals, and the files do not change meanwhile.
const SHARED: [&str; 2] = ["scripts.isolation=worker", "scripts.mode=cached"];

/// The time that scripts have to end by themselves when their project ends.
const LEFT_TIME_MAX: Duration = Duration::from_millis(200);

/// A project that is loaded, until this is dropped.
pub(crate) struct LoadedProject {
    stopper: Stopper,
    server: Option<JoinHandle<()>>,
}

impl LoadedProject {
    /// Has the flags ask for the settings that such a project runs with. Their `set` may choose other limits.
    pub(crate) fn prepare(flags: &mut Flags) {
        flags.listen = Some("127.0.0.1:0".to_owned());
        flags.workers = Some(1);
        let given = std::mem::take(&mut flags.set);
        let limits = LIMITS.map(str::to_owned).into_iter();
        let shared = SHARED.map(str::to_owned);
        flags.set = limits.chain(given).chain(shared).collect();
    }

    /// Begins to load a project by a file of ours, its name and its text, which has the functions of `module`. `put`
    /// gives them what they keep. `ended` is called, on another thread, when the project has ended: with the reason if
    /// it does not load.
    ///
    /// # Errors
    /// The system has no thread left.
    pub(crate) fn start(
        mut config: AppConfig,
        entry: &(String, String),
        module: &'static Module,
        put: ContextSetup,
        ended: impl FnOnce(Result<(), String>) + Send + 'static,
    ) -> Result<Self, String> {
        config.make_secondary();
        config.base.project = config.base.project.with_entry(entry);
        config.program.modules = modules_with(&[module]);
        config.program.embedding = Arc::new(Embedding {
            contexts: vec![put],
            ..Embedding::default()
        });
        let (stopper, inbox) = Stopper::new();
        let for_server = stopper.clone();
        let body = move || {
            // It starts for as long as the file of ours runs, and ends as a start that was stopped.
            let started = Server::start_until(config, &for_server, inbox);
            ended(started.map(drop));
        };
        let thread = std::thread::Builder::new()
            .name("sampan-loaded".into())
            .spawn(body);
        let server = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self {
            stopper,
            server: Some(server),
        })
    }

    /// Reports whether the project has ended, or could not be loaded.
    pub(crate) fn has_ended(&self) -> bool {
        self.server.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the project, and stops what its scripts have left behind: a timer whose function does not end would keep
    /// the worker for as long as `script_millis_max`.
    pub(crate) fn end(self, stop: &Stop) {
        let (ended, has_ended) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut patience = LEFT_TIME_MAX;
                while has_ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                    stop.close();
                    patience = STOP_PAUSE;
                }
            });
            drop(self);
            drop(ended);
        });
    }
}

impl Drop for LoadedProject {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(server) = self.server.take() {
            // A panic there was told where it happened.
            let _ = server.join();
        }
    }
}

/// Waits until what was written is committed.
///
/// # Errors
/// It could not be.
pub(crate) async fn settled(outbox: Option<&Outbox>) -> Result<(), Error> {
    let Some(outbox) = outbox else {
        return Ok(());
    };
    match outbox.settled().await {
        Verdict::Committed => Ok(()),
        Verdict::Failed => Err(Error::script("what was written could not be committed")),
    }
}

/// The texts of a file of ours, in both languages.
pub(crate) struct OwnTexts {
    pub(crate) lua: &'static str,
    pub(crate) js: &'static str,
}

impl OwnTexts {
    /// Returns the name and the text of a file that runs `entry`, the project's own, and then this text. `stem` is the
    /// name without its ending.
    pub(crate) fn after(
        &self,
        stem: &str,
        language: Language,
        entry: Option<&str>,
    ) -> (String, String) {
        match language {
            Language::Lua => {
                let run = entry.map_or(String::new(), required);
                (format!("{stem}.lua"), format!("{run}{}", self.lua))
            }
            Language::Js => {
                let run = entry.map_or(String::new(), |entry| {
                    format!("import {:?}; ", format!("./{entry}"))
                });
                (format!("{stem}.js"), format!("{run}{}", self.js))
            }
        }
    }
}

/// Returns Lua that runs a file of the project as a module, on one line.
fn required(file: &str) -> String {
    let name = file.strip_suffix(".lua").unwrap_or(file);
    let module = name.replace('/', ".");
    let require = format!("require {module:?} ");
    if !name.contains('.') {
        return require;
    }
    // A dot in a name stands for a slash, so the file is loaded by a path without a place for the name.
    format!(
        "do local path = package.path package.path = {file:?} package.preload[{module:?}] = \
         package.loaders[2]({module:?}) package.path = path end {require}"
    )
}
