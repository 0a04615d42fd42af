//! The life of `sampan run`: start, wait for a signal, end in good order.

use super::events::{ServerEvent, ServerEvents, Stopper};
use super::running::Running;
use super::start::Server;
use crate::app_config::AppConfig;
use crate::reload::control::server as control;
use crate::reload::requests::{ReloadInbox, ReloadRequests};
use crate::sandbox;
use crate::systemd;
use crate::upgrade::old_process::{UpgradeInbox, UpgradeRequests, refuse_where_the_end_matters};
use crate::upgrade::starter::Starter;
use crate::upgrade::{StartedProgram, new_process};
use sampan_host::log::Level;
use sampan_log::Logger;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest time that the end of the process waits for standard error to take the last lines.
pub const FLUSH_TIME_MAX: Duration = Duration::from_secs(1);

/// The longest time that the end of the process waits for the answers to those who asked for a reload or an upgrade.
const ANSWER_TIME_MAX: Duration = Duration::from_millis(500);

/// The variable that tells a server that a supervisor starts it again and passes signals on to it.
pub const SUPERVISED: &str = "SAMPAN_SUPERVISED";

/// The time in which a signal that the server gets may come a second time, from its supervisor.
const PASSED_ON_TIME_MAX: Duration = Duration::from_secs(1);

/// The longest time that an upgrade waits until this process has left its sockets.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(5);

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerEnd {
    /// In good order.
    Ended,
    /// The server gave up: too many of its workers could not be stopped.
    GaveUp,
}

impl ServerEnd {
    /// The exit status of a process whose run ended like this: 0, or 70 (`EX_SOFTWARE` of sysexits.h) if the server
    /// gave up.
    pub fn exit_status(self) -> u8 {
        match self {
            Self::Ended => 0,
            Self::GaveUp => 70,
        }
    }
}

/// Runs a server until SIGTERM, SIGINT or the server itself ends it. SIGHUP loads the project anew, or ends a server
/// that was started in a terminal. SIGUSR2 starts the executable again, gives it the listening sockets, and ends this
/// process behind it. A second signal ends the process at once, with
/// 128 + the signal's number as its status. `resolve` gives the configuration for each reload.
///
/// # Errors
/// The server does not start: one line that says what to do.
pub fn run(
    config: AppConfig,
    resolve: impl Fn() -> Result<AppConfig, String> + Send + 'static,
) -> Result<ServerEnd, String> {
    run_with(config, resolve, |_| ())
}

/// Runs a server as [`run`] does. `prepare` is called once, as the user that the server runs as, before the process
/// confines itself and before it has threads.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    config: AppConfig,
    resolve: impl Fn() -> Result<AppConfig, String> + Send + 'static,
    prepare: impl FnOnce(&AppConfig),
) -> Result<ServerEnd, String> {
    let logger = config.program.logger.clone();
    let outcome = serve(config, resolve, prepare);
    if let Err(fault) = &outcome {
        new_process::failed(fault);
    }
    logger.flush(FLUSH_TIME_MAX);
    outcome
}

fn serve(
    config: AppConfig,
    resolve: impl Fn() -> Result<AppConfig, String> + Send + 'static,
    prepare: impl FnOnce(&AppConfig),
) -> Result<ServerEnd, String> {
    let logger = config.program.logger.clone();
    let root = config.base.project.root().to_owned();
    let program = StartedProgram::of_process()?;
    // All of this is before the first thread: what a confined process may not do, and what it gives up.
    let hangup = Hangup::of_process();
    let listeners = Server::listen(&config)?;
    prepare(&config);
    let memory = sandbox::memory::bound(&config);
    let starter = starter_of(&config, &program);
    sandbox::confine(&config, &listeners.ports())?;
    // The first line starts the thread of the log.
    if let Some((level, text)) = memory {
        logger.text(level, text);
    }
    for warning in &config.base.warnings {
        logger.text(Level::Warn, warning.as_str());
    }
    let life = Life::begin_with(hangup)?;
    // Before the line of the log that says that it listens: its reader may ask at once. Requests wait for the start.
    let control = control::Control {
        reloads: life.requests.clone(),
        upgrades: Some(life.upgrade_requests.clone()),
    };
    let answers = control::listen(&root, control, &logger);
    let events = Arc::clone(&life.events);
    let running = match Server::start_on(listeners, config, &life.stopper, events) {
        Err(_) if life.stopper.is_stopped() => {
            logger.text(Level::Info, "shutting down before the start was complete");
            return Ok(ServerEnd::Ended);
        }
        started => started?,
    };
    let reloads = life.take_reloads()?;
    reloads.serve(running.reloader(), resolve, |_| {})?;
    let (sockets, events) = (running.sockets(), running.events());
    let leave = {
        let sockets = sockets.clone();
        move || {
            // There is no receiver if the server ends anyway.
            let _ = events.send(ServerEvent::Replaced);
            sockets.wait_until_left(LEAVE_TIME_MAX);
        }
    };
    let upgrades = life.take_upgrades()?;
    let program = (program, starter);
    let around = (life.stopper.clone(), logger.clone());
    let database = running.database();
    let look = move || database.look();
    let upgrading = upgrades.serve(program, look, move || sockets.duplicate(), leave, around)?;
    let health = running.health();
    systemd::keep_alive(move |time| health.is_alive(time))?;
    systemd::ready(&format!("listening on {}", running.names()), &logger);
    new_process::serves();
    let end = life.wait(running, || upgrading.wait_until_over(), &logger);
    answers.wait_until_sent(ANSWER_TIME_MAX);
    Ok(end)
}

/// Returns what starts the new process of an upgrade. As the user that the server has become: it must have no more
/// rights.
fn starter_of(config: &AppConfig, program: &StartedProgram) -> Starter {
    if !sandbox::is_wanted(config) {
        return Starter::Here;
    }
    match refuse_where_the_end_matters() {
        Ok(()) => Starter::apart(program),
        Err(fault) => Starter::Missing(fault),
    }
}

/// The effect of SIGHUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hangup {
    /// The project is loaded anew, as daemons do.
    Reloads,
    /// The process ends in good order: the terminal that it was started in has gone.
    Ends,
}

impl Hangup {
    /// Decides by how the process was started. To be asked before a handler is in place.
    fn of_process() -> Self {
        let has_terminal = std::fs::File::open("/dev/tty").is_ok();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self::of(has_terminal, &status)
    }

    /// A process with a controlling terminal ends, unless it was told to survive that (`nohup`).
    fn of(has_terminal: bool, status: &str) -> Self {
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let is_ignored = ignored.unwrap_or(0) & (1 << (SIGHUP - 1)) != 0;
        match has_terminal && !is_ignored {
            true => Self::Ends,
            false => Self::Reloads,
        }
    }
}

/// Tells a signal that a person sends twice from one that reaches the server itself and its supervisor, which passes it
/// on: `KillMode=control-group` and `killall5` send to both.
struct SignalRepeat {
    is_supervised: bool,
    /// The signal that may come again, and when it came.
    first: Option<(i32, Instant)>,
}

impl SignalRepeat {
    fn new(is_supervised: bool) -> Self {
        Self {
            is_supervised,
            first: None,
        }
    }

    /// Reports whether a signal is the one before, passed on. It comes once.
    fn is_passed_on(&mut self, signal: i32, now: Instant) -> bool {
        // Others come from the supervisor alone: the server has a process group of its own.
        if !self.is_supervised || signal != SIGTERM {
            return false;
        }
        let is_repeat =
            |(first, at): (i32, Instant)| first == signal && now - at < PASSED_ON_TIME_MAX;
        let is_passed_on = self.first.take().is_some_and(is_repeat);
        if !is_passed_on {
            self.first = Some((signal, now));
        }
        is_passed_on
    }
}

/// A process that serves, and the signals that it gets.
pub struct Life {
    /// Ends the server.
    pub stopper: Stopper,
    /// The events that end the server.
    pub events: ServerEvents,
    /// Asks for reloads.
    pub requests: ReloadRequests,
    /// The inbox of those requests, until a thread carries them out.
    reloads: Cell<Option<ReloadInbox>>,
    /// Asks for upgrades.
    pub(crate) upgrade_requests: UpgradeRequests,
    upgrades: Cell<Option<UpgradeInbox>>,
}

impl Life {
    /// Hears signals from now on. Before the start, which may last: a project's `on_start` waits as long as it wants.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn begin() -> Result<Self, String> {
        Self::begin_with(Hangup::of_process())
    }

    fn begin_with(hangup: Hangup) -> Result<Self, String> {
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR2])
            .map_err(|error| format!("cannot wait for signals: {error}"))?;
        // A file that may not become larger is an error of the write, not the end of the process.
        signal_hook::flag::register(SIGXFSZ, Arc::default())
            .map_err(|error| format!("cannot wait for signals: {error}"))?;
        let (stopper, events) = Stopper::new();
        let (requests, reloads) = ReloadRequests::new();
        let (upgrade_requests, upgrades) = UpgradeRequests::new();
        let (for_signals, by_signal) = (stopper.clone(), requests.clone());
        let upgrade_by_signal = upgrade_requests.clone();
        let mut repeat = SignalRepeat::new(std::env::var_os(SUPERVISED).is_some());
        let body = move || {
            for signal in signals.forever() {
                if signal == SIGHUP && hangup == Hangup::Reloads {
                    by_signal.ask();
                    continue;
                }
                if signal == SIGUSR2 {
                    upgrade_by_signal.ask();
                    continue;
                }
                if repeat.is_passed_on(signal, Instant::now()) {
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
        Ok(Self {
            stopper,
            events,
            requests,
            reloads: Cell::new(Some(reloads)),
            upgrade_requests,
            upgrades: Cell::new(Some(upgrades)),
        })
    }

    /// Takes the inbox of reload requests. For one who carries them out.
    pub fn take_reloads(&self) -> Result<ReloadInbox, String> {
        let reloads = self.reloads.take();
        reloads.ok_or_else(|| "reloads are carried out already".to_owned())
    }

    /// Takes the inbox of upgrade requests, once.
    fn take_upgrades(&self) -> Result<UpgradeInbox, String> {
        let upgrades = self.upgrades.take();
        upgrades.ok_or_else(|| "upgrades are carried out already".to_owned())
    }

    /// Waits for what ends the server, and ends it. `before` runs before requests in flight are waited for.
    pub fn wait(self, running: Running, before: impl FnOnce(), logger: &Logger) -> ServerEnd {
        match running.wait() {
            ServerEvent::GiveUp => {
                logger.text(
                    Level::Error,
                    "giving up: the process ends so that its supervisor can start a fresh one",
                );
                ServerEnd::GaveUp
            }
            ServerEvent::Shutdown => {
                logger.text(Level::Info, "shutting down");
                systemd::stopping();
                running.delay_stop();
                before();
                note_end(running.shutdown(), logger);
                ServerEnd::Ended
            }
            ServerEvent::Replaced => {
                before();
                note_end(running.leave(), logger);
                ServerEnd::Ended
            }
        }
    }
}

/// Tells the log if requests had to be cut.
fn note_end(is_whole: bool, logger: &Logger) {
    if !is_whole {
        let text = "not all requests ended in time (shutdown_millis_max)";
        logger.text(Level::Warn, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_the_supervisor_passes_on_counts_once() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut repeat = SignalRepeat::new(true);
        let seen = [0, 500, 600, 1_700].map(|millis| repeat.is_passed_on(SIGTERM, at(millis)));
        assert_eq!(seen, [false, true, false, false]);
        let mut repeat = SignalRepeat::new(true);
        assert!(!repeat.is_passed_on(SIGTERM, at(0)) && !repeat.is_passed_on(SIGINT, at(1)));
        let mut alone = SignalRepeat::new(false);
        assert!(!alone.is_passed_on(SIGTERM, at(0)) && !alone.is_passed_on(SIGTERM, at(1)));
    }

    #[test]
    fn a_terminal_that_closes_ends_the_server() {
        let with =
            |mask: &str| format!("Name:\tsampan\nSigIgn:\t{mask}\nSigCgt:\t0000000000000001\n");
        let (plain, nohup) = (with("0000000000001000"), with("0000000000001001"));
        assert_eq!(Hangup::of(true, &plain), Hangup::Ends);
        assert_eq!(Hangup::of(false, &plain), Hangup::Reloads);
        assert_eq!(Hangup::of(true, &nohup), Hangup::Reloads);
        assert_eq!(Hangup::of(false, ""), Hangup::Reloads);
    }
}
