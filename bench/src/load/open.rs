//! Loads by which servers are measured beside other loads: at a rate, or as fast as they are answered; some in the
//! background.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::{LOAD, LoadResult, load_command, output_of};
use crate::peers::children::Child;
use crate::peers::placement::Placement;

/// A load of `sampan bench`.
#[derive(Clone, Debug)]
pub(crate) struct OpenLoad {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) connections: u32,
    /// Requests per second that are due; none sends as many as are answered.
    pub(crate) rate: Option<f64>,
    /// The addresses that connections come from, in turn; any if there is none.
    pub(crate) from: Vec<String>,
    /// The longest time that an answer may take.
    pub(crate) timeout: &'static str,
    pub(crate) times: Times,
}

/// The times whose percentiles are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    /// Of all requests: those without an answer count as long as they have waited.
    All,
    /// Of those that were not refused.
    Accepted,
}

/// The place of a load: the server, and where the load runs.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) root: &'a Path,
    pub(crate) placement: &'a Placement,
    pub(crate) server: SocketAddr,
}

impl OpenLoad {
    /// Requests for a path.
    pub(crate) fn get(path: impl Into<String>, connections: u32) -> Self {
        Self {
            method: "GET",
            path: path.into(),
            connections,
            rate: None,
            from: Vec::new(),
            timeout: "10s",
            times: Times::All,
        }
    }

    /// Sets the rate.
    pub(crate) fn at(self, rate: f64) -> Self {
        Self {
            // The load takes no lower one.
            rate: Some(rate.max(1.0)),
            ..self
        }
    }

    fn command(&self, site: Site<'_>, seconds: f64) -> Command {
        let Site {
            root,
            placement,
            server,
        } = site;
        let (connections, timeout, rate) = (self.connections, self.timeout, self.rate);
        let mut command = load_command(root, placement, connections, timeout, seconds, rate);
        command.args(["--method", self.method]);
        if !self.from.is_empty() {
            command.args(["--from", &self.from.join(",")]);
        }
        command.arg(format!("http://{server}{}", self.path));
        command
    }

    /// Puts a server under the load, to its end.
    ///
    /// # Errors
    ///
    /// When the load cannot be made, or reports nothing.
    pub(crate) fn run(&self, site: Site<'_>, seconds: u32) -> Result<LoadResult, String> {
        let mut command = self.command(site, f64::from(seconds));
        self.result(&output_of(&mut command, seconds, LOAD)?)
    }

    /// Begins the load, which goes on for so long.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub(crate) fn begin(&self, site: Site<'_>, seconds: f64) -> Result<Background, String> {
        let mut command = self.command(site, seconds);
        let child = Child::start(&mut command).map_err(|error| format!("{LOAD}: {error}"))?;
        Ok(Background {
            load: self.clone(),
            child,
        })
    }

    fn result(&self, texts: &[String; 2]) -> Result<LoadResult, String> {
        let group = match self.times {
            Times::All => "wait_ms",
            Times::Accepted => "accepted_ms",
        };
        LoadResult::reported(texts, group, &format!("{LOAD} of {}", self.path))
    }
}

/// A load that goes on while something else is measured; ended when dropped.
pub(crate) struct Background {
    load: OpenLoad,
    child: Child,
}

impl Background {
    /// Waits for its end.
    ///
    /// # Errors
    ///
    /// When it reports nothing, or requests only failed.
    pub(crate) fn end(mut self) -> Result<LoadResult, String> {
        let pipes = self.child.pipes();
        let read = |pipe: Option<std::io::Result<String>>| pipe.and_then(Result::ok);
        // Its errors are a line at most, so they wait in the pipe.
        let output = read(pipes.stdout.take().map(std::io::read_to_string));
        let errors = read(pipes.stderr.take().map(std::io::read_to_string));
        let texts = [output, errors].map(Option::unwrap_or_default);
        let seen = self.load.result(&texts)?;
        // Refusals are answers, and a request that still waits is a load too.
        match (seen.requests, &seen.errors[..]) {
            (0, [(kind, count), ..]) => Err(format!(
                "{} was not answered: {count} {kind}",
                self.load.path
            )),
            _ => Ok(seen),
        }
    }
}
