//! `sampan run --supervise`: starts the server as a process of its own, and again each time that it crashes.
//!
//! A server that ends in good order, or cannot start at all, is not started again. Between two starts there is a pause,
//! which doubles with each crash in a row. Signals go on to the server. A process that an upgrade puts in the server's
//! place becomes a child of this process when its parent has ended (`PR_SET_CHILD_SUBREAPER`), and is watched from then
//! on.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait};
use sampan_runtime::{SUPERVISED, StartedProgram, UpgradeProcess};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR2};
use signal_hook::iterator::Signals;
use signal_hook::low_level::signal_name;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// The flag, which the server itself is not given.
const FLAG: &str = "--supervise";

/// The pause before the first new start.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// A server that has run for so long has started well: the next pause is the shortest again.
const STEADY_TIME: Duration = Duration::from_secs(10);

/// The interval at which a starter is looked at that a server has left.
const STARTER_PAUSE: Duration = Duration::from_millis(10);

/// The signals that are passed on.
const PASSED_ON: [i32; 4] = [SIGTERM, SIGINT, SIGHUP, SIGUSR2];

/// The pause before the next start.
#[derive(Debug)]
struct Backoff(Duration);

impl Backoff {
    /// Returns the pause after a process that ran for this long.
    fn next(&mut self, ran: Duration) -> Duration {
        if ran >= STEADY_TIME {
            self.0 = PAUSE_MIN;
        }
        let pause = self.0;
        self.0 = (pause * 2).min(PAUSE_MAX);
        pause
    }
}

/// The number of a process that has ended, and its end.
type End = (Pid, WaitStatus);

/// The ends of processes that are not dealt with yet.
#[derive(Default)]
struct Ends {
    /// The end of the server.
    server: Option<End>,
    /// The bad end of a process that was not known as the server: the process of an upgrade may crash early.
    crash: Option<End>,
}

/// The processes that a server which has ended leaves to its supervisor.
enum Left {
    /// An upgrade has put this one in the server's place.
    Server(Pid),
    /// The process that starts the new one of an upgrade. It ends soon, and may leave one itself.
    Starter,
    /// No process, or other programs.
    Nothing,
}

/// The process that watches the server.
struct Supervisor {
    /// The path by which this process was started. It may lead to another version later.
    program: PathBuf,
    arguments: Vec<OsString>,
    signals: Receiver<i32>,
    /// True once the server has been told to end.
    is_stopping: bool,
    /// True once a server has crashed, or an upgrade has replaced it. The reason why the next cannot start may go away.
    has_served: bool,
}

/// Runs the command of this process without `--supervise`, again and again until it ends in good order. Returns its
/// exit status.
///
/// # Errors
/// The server cannot be started, or signals cannot be watched.
pub(crate) fn run() -> Result<i32, String> {
    let program = StartedProgram::of_process()?.path().to_owned();
    let arguments = env::args_os().skip(1).filter(|argument| argument != FLAG);
    let (sender, signals) = channel();
    let watched = PASSED_ON.into_iter().chain([SIGCHLD]);
    let mut watched = Signals::new(watched).map_err(|error| format!("{FLAG}: {error}"))?;
    thread::spawn(move || {
        for signal in watched.forever() {
            // Without a receiver the process ends.
            let _ = sender.send(signal);
        }
    });
    // Where the system has no such thing, the process of an upgrade is not watched, and goes on by itself.
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
    let supervisor = Supervisor {
        program,
        arguments: arguments.collect(),
        signals,
        is_stopping: false,
        has_served: false,
    };
    supervisor.supervise()
}

impl Supervisor {
    fn supervise(mut self) -> Result<i32, String> {
        let mut backoff = Backoff(PAUSE_MIN);
        loop {
            let started = Instant::now();
            let (server, end) = self.watch(self.start()?)?;
            let status = status_of(end);
            // One that cannot start says why, and a new start would say the same.
            let cannot_start = !self.has_served && matches!(status, 1 | 2);
            if status == 0 || cannot_start || self.is_stopping {
                return Ok(status);
            }
            self.has_served = true;
            let pause = backoff.next(started.elapsed());
            let millis = pause.as_millis();
            say(&format!(
                "the server (process {server}) {}: it starts again in {millis} ms",
                told(end)
            ));
            if self.is_stopped_within(pause) {
                return Ok(status);
            }
        }
    }

    fn start(&self) -> Result<Pid, String> {
        // A group of its own: Ctrl-C would reach it twice.
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .env(SUPERVISED, "1")
            .process_group(0)
            .spawn();
        let child = child.map_err(|error| format!("{}: {error}", self.program.display()))?;
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        number.ok_or_else(|| format!("{FLAG}: the system gave no number of a process"))
    }

    /// Passes signals on until the server has ended and no process of an upgrade goes on in its place. Returns the end
    /// of the last one.
    fn watch(&mut self, mut server: Pid) -> Result<End, String> {
        let mut ends = Ends::default();
        loop {
            let has_children = ends.gather(server)?;
            match ends.server {
                None if !has_children => return Err(format!("{FLAG}: the server is lost")),
                // Another program: processes of an upgrade come here when the server has ended.
                None => ends.crash = None,
                Some(end) => match Left::find() {
                    Left::Server(next) => {
                        self.follow(end, next);
                        (server, ends) = (next, Ends::default());
                    }
                    Left::Starter => {}
                    Left::Nothing => {
                        // One that was there at first may have ended meanwhile.
                        ends.gather(server)?;
                        let crash = ends.crash.filter(|_| !self.is_stopping);
                        return Ok(crash.unwrap_or(end));
                    }
                },
            }
            let has_ended = ends.server.is_some();
            let signal = match has_ended {
                true => self.signals.recv_timeout(STARTER_PAUSE),
                false => {
                    let signal = self.signals.recv();
                    signal.map_err(|_| RecvTimeoutError::Disconnected)
                }
            };
            match signal {
                Ok(SIGCHLD) | Err(RecvTimeoutError::Timeout) => {}
                Ok(signal) => self.pass_on(signal, Some(server).filter(|_| !has_ended)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("{FLAG}: signals do not arrive any more"));
                }
            }
        }
    }

    /// Watches the process of an upgrade from now on, in the place of the old one.
    fn follow(&mut self, (old, status): End, next: Pid) {
        self.has_served = true;
        if status_of(status) != 0 && !self.is_stopping {
            let (told, next) = (told(status), next.as_raw_nonzero());
            say(&format!(
                "the old server (process {old}) {told}: process {next}, which an upgrade started, goes on"
            ));
        }
        if self.is_stopping {
            // The signal reached the old process only. The new one may have ended too.
            let _ = kill_process(next, Signal::TERM);
        }
    }

    fn pass_on(&mut self, signal: i32, server: Option<Pid>) {
        self.is_stopping |= matches!(signal, SIGTERM | SIGINT);
        if let (Some(signal), Some(server)) = (Signal::from_named_raw(signal), server) {
            // It may have ended: then its end is read next.
            let _ = kill_process(server, signal);
        }
    }

    /// Waits for the time to pass. Returns true if the supervisor is told to end meanwhile.
    fn is_stopped_within(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        loop {
            let rest = until.saturating_duration_since(Instant::now());
            match self.signals.recv_timeout(rest) {
                Ok(SIGTERM | SIGINT) | Err(RecvTimeoutError::Disconnected) => return true,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }
}

impl Ends {
    /// Reads the ends of all processes that have ended. Returns true if this process has others.
    fn gather(&mut self, server: Pid) -> Result<bool, String> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((ended, status))) if ended == server => self.server = Some((ended, status)),
                Ok(Some((ended, status))) if status_of(status) != 0 => {
                    self.crash = Some((ended, status));
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Ok(true),
                Err(Errno::CHILD) => return Ok(false),
                Err(error) => return Err(format!("{FLAG}: {error}")),
            }
        }
    }
}

impl Left {
    /// Looks among the children of this process. There may be others: process 1 of a container gets all orphans.
    fn find() -> Self {
        let own = getpid().as_raw_nonzero();
        let children = fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
        let children = children.unwrap_or_default();
        let newest_first = children.split_whitespace().rev();
        let mut found = Self::Nothing;
        for pid in newest_first.filter_map(|pid| pid.parse::<i32>().ok().and_then(Pid::from_raw)) {
            match UpgradeProcess::of(pid.as_raw_nonzero().get().unsigned_abs()) {
                Some(UpgradeProcess::Server) => return Self::Server(pid),
                Some(UpgradeProcess::Starter) => found = Self::Starter,
                None => {}
            }
        }
        found
    }
}

/// Returns the exit status of a process as shells tell it: 128 + the number of a signal that ended it.
fn status_of(end: WaitStatus) -> i32 {
    let signal = || end.terminating_signal().map(|signal| 128 + signal);
    end.exit_status().or_else(signal).unwrap_or(1)
}

fn told(end: WaitStatus) -> String {
    match end.terminating_signal() {
        Some(signal) => {
            let name = signal_name(signal).unwrap_or("a signal");
            format!("was ended by {name}")
        }
        None => format!("ended with status {}", status_of(end)),
    }
}

fn say(text: &str) {
    // Standard error may be full or gone.
    let _ = writeln!(io::stderr(), "sampan: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_begin_anew_after_a_good_start() {
        let mut backoff = Backoff(PAUSE_MIN);
        let pauses: Vec<u128> = (0..12)
            .map(|_| backoff.next(Duration::ZERO).as_millis())
            .collect();
        let expected = [
            100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 60_000, 60_000,
        ];
        assert_eq!(pauses, expected);
        assert_eq!(backoff.next(STEADY_TIME), PAUSE_MIN);
        assert_eq!(backoff.next(Duration::ZERO), 2 * PAUSE_MIN);
    }
}
