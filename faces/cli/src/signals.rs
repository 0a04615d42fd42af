//! What signals do to commands that talk to a terminal: Ctrl-C stops what runs, and every end leaves the terminal as it was.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::thread;

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

/// Calls `stop` at each Ctrl-C, and ends the process where that says that nothing was running. The process ends at SIGTERM and SIGHUP too,
/// with the terminal as it was.
///
/// # Errors
/// The signals cannot be watched.
pub(crate) fn on_interrupt(stop: impl Fn() -> bool + Send + 'static) -> Result<(), String> {
    let terminal = Terminal::remember();
    let watched = Signals::new([SIGINT, SIGTERM, SIGHUP]);
    let mut signals = watched.map_err(|error| format!("cannot watch signals: {error}"))?;
    thread::spawn(move || {
        for signal in &mut signals {
            if signal == SIGINT && stop() {
                continue;
            }
            terminal.restore();
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}
