//! Signals for commands that talk to a terminal: Ctrl-C stops what runs, and every end leaves the terminal as it was.

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::{fs, io, thread};
use tempfile::TempDir;

/// The most attempts to remove a folder in which something is still written.
const REMOVALS_MAX: usize = 100;

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

/// Does what [`on_interrupt`] does, and calls `leave` before a signal ends the process.
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
    on_end(|| false, move || remove(&path))?;
    Ok(folder)
}

/// Removes a folder in which other threads may still write. Once it has another name, they create no more files in it.
fn remove(folder: &Path) {
    let mut name = folder.as_os_str().to_owned();
    name.push(".removed");
    let renamed = PathBuf::from(name);
    let folder = match fs::rename(folder, &renamed) {
        Ok(()) => renamed.as_path(),
        Err(_) => folder,
    };
    for _ in 0..REMOVALS_MAX {
        if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_folder_is_removed_while_a_thread_writes_in_it() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path().join("work");
        fs::create_dir(&folder).expect("a folder");
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for index in 0_u64.. {
                    let _ = fs::write(folder.join(index.to_string()), "x");
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            remove(&folder);
            is_over.store(true, Ordering::Relaxed);
        });
        let left = fs::read_dir(scratch.path()).expect("readable").count();
        assert_eq!(left, 0);
    }
}
