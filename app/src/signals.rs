//! The life of `sampan run`: start, wait for a signal, end in good order.

use crate::config::Config;
use crate::server::{Server, ServerEvent, Stopper};
use sampan_log::Level;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::time::Duration;

/// How long the end of the process waits for standard error to take the last lines.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(1);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// In good order.
    Ended,
    /// The server gave up: too many of its workers could not be stopped.
    GaveUp,
}

impl ServerEnd {
    /// The exit status of a process whose run ended like this: 0, or 70 (`EX_SOFTWARE` of sysexits.h) if the server gave up.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Ended => 0,
            Self::GaveUp => 70,
        }
    }
}

/// Runs a server until SIGTERM, SIGINT or the server itself ends it. SIGHUP changes nothing. A second signal ends the process at once, with 128 + the
/// signal's number as its status.
///
/// # Errors
/// The server does not start: one line that says what to do.
pub fn run(config: Config) -> Result<ServerEnd, String> {
    let logger = config.logger.clone();
    let outcome = serve(config);
    logger.flush(FLUSH_TIME_MAX);
    outcome
}

fn serve(config: Config) -> Result<ServerEnd, String> {
    let logger = config.logger.clone();
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|error| format!("cannot wait for signals: {error}"))?;
    // A file that may not become larger is an error of the write, not the end of the process.
    signal_hook::flag::register(SIGXFSZ, Arc::default())
        .map_err(|error| format!("cannot wait for signals: {error}"))?;
    // Before the start, which may last: a project's `on_start` waits as long as it wants.
    let (stopper, inbox) = Stopper::new();
    let (notes, for_signals) = (logger.clone(), stopper.clone());
    let body = move || {
        for signal in signals.forever() {
            // Terminals send it when they close, and administrators to reload.
            if signal == SIGHUP {
                let note =
                    "SIGHUP: there is no reload yet; restart the server to load changed files";
                notes.text(Level::Info, note);
                continue;
            }
            if for_signals.is_stopped() {
                std::process::exit(128 + signal);
            }
            for_signals.stop();
        }
    };
    let thread = std::thread::Builder::new()
        .name("sampan-signals".into())
        .stack_size(256 * 1024)
        .spawn(body);
    thread.map_err(|error| format!("cannot start a thread: {error}"))?;
    let running = match Server::start_until(config, stopper.clone(), inbox) {
        Err(_) if stopper.is_stopped() => {
            logger.text(Level::Info, "shutting down before the start was complete");
            return Ok(ServerEnd::Ended);
        }
        started => started?,
    };
    match running.wait() {
        ServerEvent::GiveUp => {
            logger.text(
                Level::Error,
                "giving up: the process ends so that its supervisor can start a fresh one",
            );
            Ok(ServerEnd::GaveUp)
        }
        ServerEvent::Shutdown => {
            logger.text(Level::Info, "shutting down");
            if !running.shutdown() {
                logger.text(
                    Level::Warn,
                    "not all requests ended in time (shutdown_millis_max)",
                );
            }
            Ok(ServerEnd::Ended)
        }
    }
}
