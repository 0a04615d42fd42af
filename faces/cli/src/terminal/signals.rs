//! Signals for commands that talk to a terminal: Ctrl-C stops what runs, and every end leaves the terminal as it was.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::{fs, io, thread};
use tempfile::TempDir;

/// The terminal as the command found it.
pub(crate) struct Terminal(Option<Termios>);

impl Terminal {
    /// Remembers how it is. Without a terminal there is nothing to remember.
    pub(crate) fn remember() -> Self {
        Self(tcgetattr(io::stdin()).ok())
    }

    /// Makes it as it was: an editor of lines may have changed it.
    pub(crate) fn restore(&self) {
        if let Some(termios) = &self.0 {
            // It may be gone by now.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, termios);
        }
    }
}

/// Calls `stop` at each Ctrl-C, and ends the process where that says that nothing was running. The process ends at
/// SIGTERM and SIGHUP too, with the terminal as it was.
///
/// # Errors
/// The signals cannot be watched.
pub(crate) fn on_interrupt(stop: impl Fn() -> bool + Send + 'static) -> Result<(), String> {
    on_end(stop, || ())
}

/// As [`on_interrupt`]; `leave` is called before a signal ends the process.
///
/// # Errors
/// The signals cannot be watched.
pub(crate) fn on_end(
    stop: impl Fn() -> bool + Send + 'static,
    leave: impl Fn() + Send + 'static,
) -> Result<(), String> {
    let terminal = Terminal::remember();
    let watched = Signals::new([SIGINT, SIGTERM, SIGHUP]);
    let mut signals = watched.map_err(|error| format!("cannot watch signals: {error}"))?;
    thread::spawn(move || {
        for signal in &mut signals {
            if signal == SIGINT && stop() {
                continue;
            }
            leave();
            terminal.restore();
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// A folder for what a command needs only while it runs. It goes at the end, and at a signal that ends the process.
///
/// # Errors
/// There is no place for it, or signals cannot be watched.
pub(crate) fn scratch(prefix: &str) -> Result<TempDir, String> {
    let folder = tempfile::Builder::new().prefix(prefix).tempdir();
    let folder = folder.map_err(|error| format!("cannot make a temporary folder: {error}"))?;
    let path = folder.path().to_owned();
    let leave = move || {
        // What a test writes meanwhile may be left; nothing of it is the project's.
        let _ = fs::remove_dir_all(&path);
    };
    on_end(|| false, leave)?;
    Ok(folder)
}
