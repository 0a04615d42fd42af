//! The slow lane over reloads, restarts and shutdowns, in both languages.

mod crowds;
mod exported_fetch;
mod learned;
mod parked;
mod reads;
mod reloads;
mod starts;
mod turns;

use sampan_client::Client;
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Running, Server};
use std::path::Path;

/// The settings: a worker, an isolate for slow routes, and runs that no machine is too busy for.
pub(crate) const SETTINGS: &str = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[workers]\nslow = 1\n\
    [limits]\nscript_millis_max = 60000\n[db]\npath = \"data.db\"\n";

/// A server, and what it writes to its log.
pub(crate) struct Served {
    pub(crate) running: Running,
    pub(crate) logger: Logger,
}

pub(crate) fn config(folder: &Path, logger: &Logger) -> AppConfig {
    config_of(folder, logger, SETTINGS)
}

fn config_of(folder: &Path, logger: &Logger, settings: &str) -> AppConfig {
    let mut config = AppConfig::from_text(folder, settings).expect("valid");
    config.program.logger = logger.clone();
    config
}

/// Serves a project of one file.
pub(crate) fn serve(folder: &Path, file: &str, text: &str) -> Served {
    serve_with(folder, file, text, SETTINGS)
}

/// Serves a project of one file with other settings.
pub(crate) fn serve_with(folder: &Path, file: &str, text: &str, settings: &str) -> Served {
    std::fs::write(folder.join(file), text).expect("written");
    let logger = Logger::captured(Level::Info);
    let running = Server::start(config_of(folder, &logger, settings)).expect("it starts");
    Served { running, logger }
}

impl Served {
    /// A client with a connection of its own.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.running.address()).expect("connected")
    }

    /// Asks over a connection of its own.
    pub(crate) fn ask(&self, path: &str) -> String {
        let answer = self.client().ask("GET", path, &[], "");
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text()
    }
}
