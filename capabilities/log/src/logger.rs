//! The way in: what is written, in which format, and where it goes.

use crate::access::{self, AccessFormat};
use crate::entry::ShownError;
use crate::repeats::{RepeatVerdict, Repeats};
use crate::text::Ink;
use crate::writer::{self, LogStream};
use crate::{json, text, time};
use sampan_host::Value;
use sampan_host::log::{Access, Cause, Entry, Level, Log};
use sampan_host::trace::TraceIds;
use std::borrow::Cow;
use std::fmt;
use std::fmt::Write;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The most bytes that a buffer keeps; older lines make room.
const CAPTURED_BYTES_MAX: usize = 1024 * 1024;

/// The format of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Lines for people: see `text`.
    #[default]
    Text,
    /// One object of JSON per line.
    Json,
}

impl FromStr for Format {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(()),
        }
    }
}

/// The settings of `[log]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// The lowest level that is written.
    pub level_min: Level,
    /// The format of lines.
    pub format: Format,
    /// The way lines of the access log look, and whether there are any.
    pub access: AccessFormat,
    /// The longest line, in bytes; what is longer is cut.
    pub line_bytes_max: usize,
}

/// Writes the log. Clones write to the same place.
#[derive(Clone, Debug)]
pub struct Logger {
    settings: LogSettings,
    place: LogDestination,
    is_coloured: bool,
    repeats: Arc<Repeats>,
}

/// The destination of lines.
#[derive(Clone, Debug)]
enum LogDestination {
    /// Standard error, and standard output for the access log.
    Streams,
    /// A buffer that a test reads.
    Buffer(Arc<Mutex<String>>),
    /// A function of the program that Sampan is a part of.
    Program(LineTaker),
}

/// Takes lines of the log, without their ends. Called on the thread that has something to say, on several at the same
/// time.
#[derive(Clone)]
struct LineTaker(Arc<TakeLine>);

type TakeLine = dyn Fn(Level, &str) + Send + Sync;

impl fmt::Debug for LineTaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineTaker")
    }
}

impl Logger {
    /// A logger to the process's own streams.
    pub fn new(settings: LogSettings) -> Self {
        Self {
            settings,
            place: LogDestination::Streams,
            is_coloured: false,
            repeats: Arc::default(),
        }
    }

    /// A logger into a buffer of its own, for tests.
    pub fn captured(level_min: Level) -> Self {
        let settings = LogSettings {
            level_min,
            ..LogSettings::default()
        };
        Self {
            place: LogDestination::Buffer(Arc::default()),
            ..Self::new(settings)
        }
    }

    /// Returns a logger whose lines this function takes; those of the access log as [`Level::Info`]. It is called on
    /// the thread that has
    /// something to say, on several at the same time, and must not wait for long.
    #[must_use]
    pub fn given_to(mut self, take: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        self.place = LogDestination::Program(LineTaker(Arc::new(take)));
        self
    }

    /// Returns a logger whose lines of text have colours if `is_coloured`: for a terminal.
    #[must_use]
    pub fn coloured(mut self, is_coloured: bool) -> Self {
        self.is_coloured = is_coloured;
        self
    }

    /// Returns a logger to the same place, with other settings.
    #[must_use]
    pub fn with(mut self, settings: LogSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Returns the settings of `[log]`.
    pub fn settings(&self) -> LogSettings {
        self.settings
    }

    /// Writes what is still to be said about repeated lines, and waits until the streams have taken everything, but no
    /// longer than `patience`: for the end of a process.
    pub fn flush(&self, patience: Duration) {
        self.tell_repeats(None);
        if matches!(self.place, LogDestination::Streams) {
            writer::flush(patience);
        }
    }

    /// The lines in the buffer; empty for the process's own streams.
    pub fn lines(&self) -> String {
        match &self.place {
            LogDestination::Streams | LogDestination::Program(_) => String::new(),
            LogDestination::Buffer(buffer) => buffer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
        }
    }

    /// Reports whether lines of this level are written at all.
    pub fn writes(&self, level: Level) -> bool {
        level >= self.settings.level_min
    }

    /// Reports whether there is an access log.
    pub fn has_access_log(&self) -> bool {
        self.settings.access != AccessFormat::Off
    }

    /// Writes a line of text of the server's own.
    pub fn text(&self, level: Level, message: impl Into<String>) {
        self.write(level, &Entry::text(message));
    }

    /// Writes a line.
    pub fn write(&self, level: Level, entry: &Entry<'_>) {
        if self.writes(level) {
            let line = self.format(level, entry);
            self.put(LogStream::Error, level, line);
        }
    }

    /// Writes a line of a script: `entry` with what the script passed as message and as fields. An error in the place
    /// of the fields is told with its stack.
    pub fn script(&self, level: Level, message: &Value, fields: &Value, entry: Entry<'_>) {
        let (one, stack);
        let mut entry = Entry {
            message: Cow::Borrowed(message),
            ..entry
        };
        match (fields, ShownError::of(fields)) {
            (_, Some(error)) => {
                one = [("error".to_owned(), error.text.into())];
                stack = error.stack();
                entry.fields = &one;
                entry.stack = Some(stack.as_str());
            }
            (Value::Map(members), None) => entry.fields = members,
            (Value::Null, None) => {}
            (value, None) => {
                one = [("value".to_owned(), value.clone())];
                entry.fields = &one;
            }
        }
        self.write(level, &entry);
    }

    /// Writes a line about something that may repeat itself quickly: ten of one cause in a second, and then how many
    /// more there were.
    pub fn write_limited(&self, level: Level, cause: Cause, entry: &Entry<'_>) {
        if !self.writes(level) {
            return;
        }
        match self.repeats.admit(level, cause, Instant::now()) {
            RepeatVerdict::Write => self.write(level, entry),
            RepeatVerdict::Count => {}
            RepeatVerdict::CountAndTellBy(due) => {
                let logger = self.clone();
                // Where the queue is full the next repetition asks again.
                let is_queued = writer::at(
                    due,
                    Box::new(move || logger.tell_repeats(Some(Instant::now()))),
                );
                if !is_queued {
                    self.repeats.not_scheduled();
                }
            }
        }
    }

    /// Writes a line of the access log.
    pub fn access(&self, access: &Access<'_>) {
        let mut out = String::with_capacity(256);
        match self.settings.access {
            AccessFormat::Off => return,
            AccessFormat::Common => access::common(&mut out, access),
            AccessFormat::Json => access::json(&mut out, access),
        }
        self.put(LogStream::Output, Level::Info, out);
    }

    /// Writes how often what was left out has happened. `now`: only where a second is over; `None`: everything.
    fn tell_repeats(&self, now: Option<Instant>) {
        let (told, next) = self.repeats.take(now);
        for (level, count, cause) in told {
            let text = format!(
                "... and {} more like this in the last second: {cause}",
                grouped(count)
            );
            self.text(level, text);
        }
        if let Some(due) = next {
            let logger = self.clone();
            let again = Box::new(move || logger.tell_repeats(Some(Instant::now())));
            if !writer::at(due, again) {
                self.repeats.not_scheduled();
            }
        }
    }

    fn format(&self, level: Level, entry: &Entry<'_>) -> String {
        let mut out = String::with_capacity(192);
        let bytes_max = self.settings.line_bytes_max;
        let now = since_1970();
        match self.settings.format {
            Format::Text => {
                let ink = if self.is_coloured {
                    Ink::of(level)
                } else {
                    Ink::NONE
                };
                text::write(&mut out, now, level, entry, bytes_max, ink);
            }
            Format::Json => write_json(&mut out, now, level, entry, bytes_max),
        }
        out
    }

    /// One write per message, so that lines of several threads do not mix.
    fn put(&self, stream: LogStream, level: Level, line: String) {
        match &self.place {
            LogDestination::Program(LineTaker(take)) => take(level, line.trim_end_matches('\n')),
            LogDestination::Streams => writer::put(stream, line, |lost| {
                let text = format!("{lost} lines of the log were lost: it is not read fast enough");
                self.format(Level::Warn, &Entry::text(text))
            }),
            LogDestination::Buffer(buffer) => {
                let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
                buffer.push_str(&line);
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

/// Now, counted from 1970.
fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// A number as people write large ones: `4,210`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// An entry as one object: `time`, `level`, `message`, then `id`, `method`, `path`, `fields` and `stack` where there
/// are any.
fn write_json(out: &mut String, now: Duration, level: Level, entry: &Entry<'_>, bytes_max: usize) {
    /// The space reserved for the names of the members, in bytes.
    const FRAME_BYTES: usize = 512;
    let error = ShownError::of(&entry.message);
    let own_stack = error.as_ref().map(ShownError::stack);
    let stack = own_stack.as_deref().or(entry.stack);
    let room = bytes_max.saturating_sub(FRAME_BYTES);
    let is_alone = stack.is_none() && entry.fields.is_empty();
    let message_max = if is_alone { room * 3 / 4 } else { room / 2 };
    out.push_str("{\"time\":\"");
    time::rfc3339(out, now);
    let _ = write!(out, "\",\"level\":\"{}\",\"message\":", level.name());
    match (&error, &*entry.message) {
        (Some(error), _) => drop(json::string(out, error.text, message_max)),
        (None, Value::Text(text)) => drop(json::string(out, text, message_max)),
        (None, value) => {
            // Readers expect a message to be text, for values of every type.
            let mut text = String::new();
            json::value(&mut text, value, message_max / 2);
            json::string(out, &text, message_max);
        }
    }
    if let Some(id) = &entry.id {
        out.push_str(",\"id\":");
        json::string(out, id, 256);
    }
    if let Some(TraceIds { trace, span }) = &entry.trace {
        let _ = write!(out, ",\"trace_id\":\"{trace}\",\"span_id\":\"{span}\"");
    }
    if let Some((method, path)) = entry.request {
        out.push_str(",\"method\":");
        json::string(out, method, 64);
        out.push_str(",\"path\":");
        json::string(out, path, room / 8);
    }
    if !entry.fields.is_empty() {
        out.push_str(",\"fields\":{");
        let fields_end = out.len() + room / 8;
        for (index, (key, value)) in entry.fields.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            if out.len() >= fields_end {
                out.push_str("\"…\":null");
                break;
            }
            json::string(out, key, 256);
            out.push(':');
            json::value(out, value, fields_end.saturating_sub(out.len()));
        }
        out.push('}');
    }
    if let Some(stack) = stack.map(str::trim_end).filter(|stack| !stack.is_empty()) {
        out.push_str(",\"stack\":");
        json::string(out, stack, room / 8);
    }
    out.push_str("}\n");
}

impl Log for Logger {
    fn writes(&self, level: Level) -> bool {
        Self::writes(self, level)
    }

    fn has_access_log(&self) -> bool {
        Self::has_access_log(self)
    }

    fn write(&self, level: Level, entry: &Entry<'_>) {
        Self::write(self, level, entry);
    }

    fn write_limited(&self, level: Level, cause: Cause, entry: &Entry<'_>) {
        Self::write_limited(self, level, cause, entry);
    }

    fn access(&self, access: &Access<'_>) {
        Self::access(self, access);
    }
}

#[cfg(test)]
mod tests;
