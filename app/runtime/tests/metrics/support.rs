//! Servers that are measured.

use sampan_client::{Answer, Client, wait};
use sampan_runtime::{AppConfig, Running, Server};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The path of the measurements.
pub(crate) const PATH: &str = "/_sampan/metrics";

/// A server that runs, and its project.
pub(crate) struct Measured {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) server: Running,
}

/// The languages: the file of each, and its program of these two.
pub(crate) fn both(lua: &'static str, js: &'static str) -> [(&'static str, &'static str); 2] {
    [("app.lua", lua), ("app.js", js)]
}

pub(crate) fn start((name, text): (&str, &str), toml: &str) -> Measured {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start_in(folder.path(), (name, text), toml);
    Measured { folder, server }
}

pub(crate) fn start_in(folder: &Path, (name, text): (&str, &str), toml: &str) -> Running {
    fs::write(folder.join(name), text).expect("written");
    let toml = format!("[server]\nlisten = \"127.0.0.1:0\"\nworkers = 2\n{toml}\n");
    let config = AppConfig::from_text(folder, &toml).expect("valid");
    Server::start(config).expect("it starts")
}

impl Measured {
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.server.address()).expect("it listens")
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Answer {
        let answer = self.client().ask(method, path, &[], "");
        answer.expect("an answer")
    }

    /// Reads all values once so many requests are counted: a client may have its answer before that.
    pub(crate) fn values_after(&self, requests: f64) -> Values {
        wait::found("the requests are counted", || {
            Some(self.values()).filter(|values| values.requests() >= requests)
        })
    }

    /// Reads all values, by their names and labels.
    pub(crate) fn values(&self) -> Values {
        let answer = self.ask("GET", PATH);
        assert_eq!(answer.status, 200, "{}", answer.text());
        Values::of(&answer.text())
    }
}

/// The values of a scrape.
#[derive(Debug)]
pub(crate) struct Values(pub(crate) BTreeMap<String, f64>);

impl Values {
    pub(crate) fn of(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let values = lines.map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            (name.to_owned(), value.parse().expect("a number"))
        });
        Self(values.collect())
    }

    /// Returns the number of requests that are over, scrapes and health checks left out.
    pub(crate) fn requests(&self) -> f64 {
        let is_scrape =
            |key: &str| key.contains("route=\"(none)\"") && key.contains("status=\"200\"");
        let keys = self
            .0
            .iter()
            .filter(|(key, _)| key.starts_with("sampan_http_requests_total{"));
        keys.filter(|(key, _)| !is_scrape(key))
            .map(|(_, value)| value)
            .sum()
    }

    /// Returns a value; `None` if it is not there.
    pub(crate) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    #[track_caller]
    pub(crate) fn is(&self, name: &str, value: f64) {
        let metric = name.split("{").next().unwrap_or(name);
        let near: Vec<_> = self
            .0
            .iter()
            .filter(|(key, _)| key.starts_with(metric))
            .collect();
        assert_eq!(self.get(name), Some(value), "{name}, of {near:?}");
    }
}
