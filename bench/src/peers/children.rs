//! Programs started by a command, which must never outlive it.
//!
//! Each runs in a process group of its own, so that what it starts in turn is ended with it. A [`Child`] ends
//! its group when dropped; on SIGINT, SIGTERM or SIGHUP all groups are ended before this process exits.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The longest time that a group may take to end after being asked, before it is killed.
const TERM_MILLIS_MAX: u64 = 2_000;

/// The groups that live now, by the id of their first process.
static LIVE: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<u32>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running program; ended, with everything it started, when dropped.
pub(crate) struct Child {
    inner: std::process::Child,
    ended: bool,
}

impl Child {
    /// Starts `command` in a new process group, without standard input unless `command` was given one.
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        // The lock is held over the start, so that a signal never falls between start and entry in the list.
        let mut live = live();
        let inner = command.process_group(0).spawn()?;
        live.insert(inner.id());
        Ok(Self {
            inner,
            ended: false,
        })
    }

    /// The id of the first process.
    pub(crate) fn id(&self) -> u32 {
        self.inner.id()
    }

    /// The pipes of the process, where `Stdio::piped` was asked for.
    pub(crate) fn pipes(&mut self) -> &mut std::process::Child {
        &mut self.inner
    }

    /// The exit status, if the first process has ended by itself.
    ///
    /// # Errors
    ///
    /// When the system cannot tell.
    pub(crate) fn exited(&mut self) -> io::Result<Option<ExitStatus>> {
        self.inner.try_wait()
    }

    /// Asks the group to end, and kills it if it does not within [`TERM_MILLIS_MAX`].
    pub(crate) fn end(&mut self) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        signal_group(self.id(), "TERM");
        let deadline = Instant::now() + Duration::from_millis(TERM_MILLIS_MAX);
        while Instant::now() < deadline && matches!(self.inner.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Also where the first process is gone: its own children may have stayed.
        signal_group(self.id(), "KILL");
        let _ = self.inner.wait();
        live().remove(&self.id());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends a signal to all processes of a group. A group that is gone already is not an error.
fn signal_group(id: u32, signal: &str) {
    let _ = Command::new("sh")
        .arg("-c")
        .arg(format!("kill -s {signal} -- -{id}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

/// From now on a signal that ends this process ends its children first.
///
/// # Errors
///
/// When the signal handlers cannot be installed.
pub(crate) fn end_with_this_process() -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let groups = live();
            for &id in groups.iter() {
                signal_group(id, "TERM");
            }
            if !groups.is_empty() {
                std::thread::sleep(Duration::from_millis(500));
            }
            for &id in groups.iter() {
                signal_group(id, "KILL");
            }
            // The shell's convention for "ended by this signal".
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_child_takes_its_own_children_with_it() {
        let mut command = Command::new("sh");
        // The inner sleep ignores the polite signal, and the shell would leave it behind.
        command
            .args(["-c", "sh -c 'trap \"\" TERM; echo $$; sleep 100' & wait"])
            .stdout(Stdio::piped());
        let mut child = Child::start(&mut command).expect("sh starts");
        let mut line = String::new();
        let pipe = child.pipes().stdout.take().expect("a pipe was asked for");
        io::BufRead::read_line(&mut io::BufReader::new(pipe), &mut line)
            .expect("the pipe is readable");
        let inner = format!("/proc/{}/stat", line.trim());
        assert!(std::fs::exists(&inner).expect("readable"));
        drop(child);
        let deadline = Instant::now() + Duration::from_secs(5);
        while is_running(&inner) {
            assert!(Instant::now() < deadline, "the grandchild is still there");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A zombie that was not collected yet counts as ended.
    fn is_running(stat: &str) -> bool {
        std::fs::read_to_string(stat).is_ok_and(|text| !text.contains(") Z "))
    }
}
