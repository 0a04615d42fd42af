//! The surroundings of a keeper: its clock, and the server that it keeps certificates for.

use std::time::{Duration, SystemTime};

/// The time between two looks at what is due.
const LOOK_PAUSE: Duration = Duration::from_secs(5);

/// The clock that certificates are renewed by.
pub trait Clock: Send + Sync {
    /// Returns the time.
    fn now(&self) -> SystemTime;

    /// Returns the time between two looks at what is due.
    fn look_pause(&self) -> Duration {
        LOOK_PAUSE
    }
}

/// The clock of the system.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// The severity of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something has gone as it should.
    Info,
    /// Something has failed that will be tried again.
    Error,
}

/// The server around it.
pub trait Host: Send + Sync {
    /// Takes a message for the log.
    fn log(&self, severity: Severity, text: &str);

    /// Takes note that the file of a certificate has changed.
    fn has_changed(&self);
}
