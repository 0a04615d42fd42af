//! Where lines go: standard error, or a buffer that a test reads.

use crate::{line, writer};
use sampan_host::Value;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The most bytes that a buffer keeps; older lines make room.
const CAPTURED_BYTES_MAX: usize = 1024 * 1024;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For whoever writes the app.
    Debug,
    /// What one expects to see.
    Info,
    /// What someone should look at some day.
    Warn,
    /// What someone should look at now.
    Error,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        })
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "debug" => Ok(Self::Debug),
            "info" => Ok(Self::Info),
            "warn" => Ok(Self::Warn),
            "error" => Ok(Self::Error),
            _ => Err(()),
        }
    }
}

/// Writes the log. Clones write to the same place.
#[derive(Clone, Debug)]
pub struct Logger {
    level_min: Level,
    /// `None`: standard error.
    captured: Option<Arc<Mutex<String>>>,
}

impl Logger {
    /// A logger to standard error that leaves out what is below `level_min`.
    pub fn to_stderr(level_min: Level) -> Self {
        Self {
            level_min,
            captured: None,
        }
    }

    /// A logger into a buffer of its own, for tests.
    pub fn captured(level_min: Level) -> Self {
        Self {
            level_min,
            captured: Some(Arc::default()),
        }
    }

    /// The same place, with another filter.
    #[must_use]
    pub fn with_level(mut self, level_min: Level) -> Self {
        self.level_min = level_min;
        self
    }

    /// Waits until standard error has taken what was written so far, but no longer than `patience`: for the end of a
    /// process.
    pub fn flush(&self, patience: Duration) {
        if self.captured.is_none() {
            writer::flush(patience);
        }
    }

    /// The least level that is written.
    pub fn level_min(&self) -> Level {
        self.level_min
    }

    /// The lines in the buffer; empty for standard error.
    pub fn lines(&self) -> String {
        self.captured.as_ref().map_or_else(String::new, |buffer| {
            buffer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone()
        })
    }

    /// Whether lines of this level are written at all.
    pub fn writes(&self, level: Level) -> bool {
        level >= self.level_min
    }

    /// Writes a line with fields.
    pub fn write(&self, level: Level, message: &Value, fields: &[(String, Value)]) {
        self.emit(level, message, fields, None);
    }

    /// Writes a line of text.
    pub fn text(&self, level: Level, message: impl Into<String>) {
        self.emit(level, &Value::Text(message.into()), &[], None);
    }

    /// Writes a line of text with a call stack below it, indented, one call per line.
    pub fn with_stack(&self, level: Level, message: impl Into<String>, stack: Option<&str>) {
        self.emit(level, &Value::Text(message.into()), &[], stack);
    }

    fn emit(&self, level: Level, message: &Value, fields: &[(String, Value)], stack: Option<&str>) {
        if !self.writes(level) {
            return;
        }
        let mut out = String::with_capacity(128);
        line::time(
            &mut out,
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
        );
        out.push(' ');
        out.push_str(&level.to_string());
        out.push(' ');
        line::message(&mut out, message);
        for (key, value) in fields {
            line::field(&mut out, key, value);
        }
        out.push('\n');
        for call in stack
            .into_iter()
            .flat_map(str::lines)
            .map(str::trim)
            .filter(|call| !call.is_empty())
        {
            out.push_str("    ");
            line::message(&mut out, &Value::from(call));
            out.push('\n');
        }
        self.put(&out);
    }

    /// One write per message, so that lines of several threads do not mix.
    fn put(&self, text: &str) {
        match &self.captured {
            None => writer::put(text),
            Some(buffer) => {
                let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
                buffer.push_str(text);
                if buffer.len() > CAPTURED_BYTES_MAX {
                    let half = buffer.len() / 2;
                    let cut = buffer.as_bytes()[half..]
                        .iter()
                        .position(|&b| b == b'\n')
                        .map_or(buffer.len(), |at| half + at + 1);
                    buffer.drain(..cut);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_filters_and_the_stack_is_indented() {
        let logger = Logger::captured(Level::Info);
        logger.text(Level::Debug, "left out");
        logger.with_stack(
            Level::Error,
            "boom\nboom",
            Some("app.lua:1: in f\n  app.lua:2: in g\n"),
        );
        let lines = logger.lines();
        assert!(!lines.contains("left out"));
        let after_time: Vec<_> = lines
            .lines()
            .map(|l| l.split_once("Z ").map_or(l, |(_, rest)| rest))
            .collect();
        assert_eq!(
            after_time,
            [
                "ERROR boom\\nboom",
                "    app.lua:1: in f",
                "    app.lua:2: in g"
            ]
        );
    }

    #[test]
    fn a_full_buffer_forgets_its_oldest_lines() {
        let logger = Logger::captured(Level::Debug);
        for number in 0..20_000 {
            logger.text(Level::Info, format!("{number} {}", "x".repeat(80)));
        }
        let lines = logger.lines();
        assert!(lines.len() <= CAPTURED_BYTES_MAX);
        assert!(lines.contains(" 19999 ") && !lines.contains("INFO 0 "));
    }
}
