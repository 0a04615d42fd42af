//! Notifications to systemd by its protocol for services (`Type=notify`), and by the watchdog. Elsewhere they go
//! nowhere.

use sampan_host::log::Level;
use sampan_log::Logger;
use sd_notify::NotifyState;
use std::time::Duration;

/// The server answers; the line tells where.
pub(crate) fn ready(status: &str, logger: &Logger) {
    if let Err(error) = sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(status)]) {
        let text = format!("cannot tell systemd that the server is ready (NOTIFY_SOCKET): {error}");
        logger.text(Level::Warn, text);
    }
}

/// A reload begins. [`reloaded`] ends it, also where it failed.
pub(crate) fn reloading() {
    if let Ok(now) = NotifyState::monotonic_usec_now() {
        tell(&[NotifyState::Reloading, now]);
    }
}

/// A reload has ended.
pub(crate) fn reloaded() {
    tell(&[NotifyState::Ready]);
}

/// The server ends.
pub(crate) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Tells the watchdog that the server lives, twice in its time, for as long as `is_alive` holds: that a worker did
/// something within this time. On a thread of its own.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn keep_alive(
    is_alive: impl Fn(Duration) -> bool + Send + 'static,
) -> Result<(), String> {
    let Some(time_max) = sd_notify::watchdog_enabled() else {
        return Ok(());
    };
    let body = move || {
        loop {
            if is_alive(time_max) {
                tell(&[NotifyState::Watchdog]);
            }
            std::thread::sleep(time_max / 2);
        }
    };
    let thread = std::thread::Builder::new().name("sampan-systemd".into());
    let thread = thread.stack_size(256 * 1024).spawn(body);
    thread
        .map(drop)
        .map_err(|error| format!("cannot start a thread: {error}"))
}

/// Another process takes the place of this one.
pub(crate) fn is_replaced_by(pid: u32) {
    let status = format!("process {pid} serves");
    tell(&[NotifyState::MainPid(pid), NotifyState::Status(&status)]);
}

fn tell(states: &[NotifyState<'_>]) {
    // What went wrong was told when the server was ready.
    let _ = sd_notify::notify(states);
}
