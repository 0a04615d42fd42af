//! A server for one test.

use crate::feed::Feed;
use sampan_client::Client;
use sampan_runtime::{AppConfig, Running, Server};
use std::path::Path;

pub(crate) const LANGUAGES: [&str; 2] = ["app.lua", "app.js"];

pub(crate) struct App {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) running: Running,
}

impl App {
    /// Starts the project in the language of `file`; `sections` are added to its configuration.
    pub(crate) fn start(file: &str, texts: [&str; 2], workers: usize, sections: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), file, texts);
        let config = config(folder.path(), workers, sections);
        let running = Server::start(config).expect("it starts");
        Self { folder, running }
    }

    /// Returns the error with which a project does not start.
    pub(crate) fn refusal(file: &str, texts: [&str; 2]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), file, texts);
        match Server::start(config(folder.path(), 1, "")) {
            Ok(_) => panic!("it starts"),
            Err(error) => error.to_string(),
        }
    }

    pub(crate) fn reload(&self, file: &str, texts: [&str; 2], sections: &str) {
        write(self.folder.path(), file, texts);
        let config = config(self.folder.path(), 1, sections);
        self.running.reloader().reload(config).expect("reloaded");
    }

    pub(crate) fn open(&self, path: &str, lines: &[&str]) -> Feed {
        Feed::open(self.running.address(), path, lines)
    }

    /// Asks over a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str) -> (u16, String) {
        let mut client = Client::connect(self.running.address()).expect("connected");
        let answer = client.ask(method, path, &[], "").expect("an answer");
        (answer.status, answer.text())
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.ask("GET", path).1
    }

    pub(crate) fn post(&self, path: &str) {
        let (status, text) = self.ask("POST", path);
        assert_eq!(status, 204, "{text}");
    }
}

fn write(folder: &Path, file: &str, [lua, js]: [&str; 2]) {
    let text = if file == "app.lua" { lua } else { js };
    std::fs::write(folder.join(file), text).expect("written");
}

fn config(folder: &Path, workers: usize, sections: &str) -> AppConfig {
    let text = format!("[server]\nlisten = \"127.0.0.1:0\"\nworkers = {workers}\n{sections}");
    AppConfig::from_text(folder, &text).expect("valid")
}
