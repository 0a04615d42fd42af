//! The log as the rest of the server sees it: lines before they have a format, and the trait of what writes them.

use crate::error::Error;
use crate::offers::trace::{Trace, TraceIds};
use crate::request::RequestView;
use crate::value::Value;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Writes lines of the log, and of the access log.
pub trait Log {
    /// Reports whether lines of this level are written at all.
    fn writes(&self, level: Level) -> bool;

    /// Reports whether there is an access log.
    fn has_access_log(&self) -> bool;

    /// Writes a line.
    fn write(&self, level: Level, entry: &Entry<'_>);

    /// Writes a line about something that may repeat itself quickly: some of one cause in a second, and then how many
    /// more there were.
    fn write_limited(&self, level: Level, cause: Cause, entry: &Entry<'_>);

    /// Writes a line of the access log.
    fn access(&self, access: &Access<'_>);

    /// Writes a line of text of the server's own.
    fn text(&self, level: Level, message: String) {
        self.write(level, &Entry::text(message));
    }

    /// Writes which setting refused a request, if the error names one: the client does not see it.
    fn refusal(&self, request: &dyn RequestView, error: &Error) {
        let Some(setting) = error.setting() else {
            return;
        };
        let (method, path) = (request.method(), request.path());
        let text = format!("{method} {path}: {} ({setting})", error.message());
        let entry = Entry {
            id: Some(request.id()),
            request: Some((method, path)),
            trace: Trace::ids_of(request),
            ..Entry::text(text)
        };
        self.write_limited(Level::Info, Cause::place(setting), &entry);
    }
}

/// The severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Events for the author of the app.
    Debug,
    /// Expected events.
    Info,
    /// Events that need attention at some time.
    Warn,
    /// Events that need attention now.
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

impl Level {
    /// Returns the level as `sampan.toml` and lines of JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

impl FromStr for Level {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Self::Debug, Self::Info, Self::Warn, Self::Error];
        all.into_iter().find(|level| level.name() == text).ok_or(())
    }
}

/// The content of a line. Only the message is needed.
#[derive(Clone, Debug, Default)]
pub struct Entry<'a> {
    /// The message.
    pub message: Cow<'a, Value>,
    /// Named values.
    pub fields: &'a [(String, Value)],
    /// The call stack, one call per line, innermost first.
    pub stack: Option<&'a str>,
    /// The request that caused it: its id.
    pub id: Option<Cow<'a, str>>,
    /// The request that caused it: its method and path.
    pub request: Option<(&'a str, &'a str)>,
    /// The trace of that request.
    pub trace: Option<TraceIds>,
}

impl<'a> Entry<'a> {
    /// A line of text.
    pub fn text(message: impl Into<String>) -> Self {
        Self {
            message: Cow::Owned(Value::Text(message.into())),
            ..Self::default()
        }
    }

    /// A value of a script.
    pub fn value(message: &'a Value) -> Self {
        Self {
            message: Cow::Borrowed(message),
            ..Self::default()
        }
    }
}

/// The cause by which two lines count as the same: a place in a file, or else the text without what differs from one to
/// the next.
#[derive(Clone, Debug)]
pub struct Cause {
    /// Lines with the same key are counted together.
    pub key: String,
    /// The name of the cause in the line with the count says of them.
    pub shown: String,
}

impl Cause {
    /// The longest text that is kept, in bytes.
    const BYTES_MAX: usize = 120;

    /// A place: `app.lua:12`.
    pub fn place(place: impl Into<String>) -> Self {
        let key = place.into();
        let shown = key.clone();
        Self { key, shown }
    }

    /// Returns the cause of an error by the place where it was raised: its place, and of a bundle, which may be one
    /// line, the line of the stack that has the column.
    pub fn raised_at(place: &str, stack: Option<&str>) -> Self {
        let is_there = |line: &&str| line.contains(place);
        let line = stack.unwrap_or_default().lines().find(is_there);
        Self {
            key: line.unwrap_or(place).trim().to_owned(),
            shown: place.to_owned(),
        }
    }

    /// A message whose numbers and quoted parts do not count.
    pub fn message(message: &str) -> Self {
        let mut template = String::new();
        let mut quote = None;
        for c in message.chars() {
            if template.len() >= Self::BYTES_MAX {
                break;
            }
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => continue,
                None if matches!(c, '"' | '`') => quote = Some(c),
                None => {}
            }
            let c = if c.is_ascii_digit() { '#' } else { c };
            if !(c.is_control() || c == '#' && template.ends_with('#')) {
                template.push(c);
            }
        }
        Self {
            key: template,
            shown: message.to_owned(),
        }
    }
}

/// One request and its answer.
#[derive(Clone, Debug, Default)]
pub struct Access<'a> {
    /// The time at which the request had arrived, counted from 1970.
    pub since_1970: Duration,
    /// The client's address.
    pub client: &'a str,
    /// The host that the routes saw, in lower case and without a port; `None` where the request could not be read.
    pub host: Option<&'a str>,
    /// The first line of the request; `None` where it could not be read.
    pub request: Option<RequestLine<'a>>,
    /// The pattern of the route that answered.
    pub route: Option<&'a str>,
    /// The status of the answer; 499 if the client left before there was one.
    pub status: u16,
    /// The bytes that were sent behind the head.
    pub bytes: u64,
    /// The time from the end of the request to the end of the answer.
    pub elapsed: Duration,
    /// The part of it in which the script ran.
    pub script: Duration,
    /// The part of it that statements, commits and waiting for the write connection took.
    pub db: Duration,
    /// The request's id, where it has one.
    pub id: Option<&'a str>,
    /// The trace of the request.
    pub trace: Option<TraceIds>,
    /// The `Referer` of the request.
    pub referer: Option<&'a [u8]>,
    /// The `User-Agent` of the request.
    pub agent: Option<&'a [u8]>,
    /// True if the answer was not sent whole.
    pub is_aborted: bool,
}

/// The first line of a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'a> {
    /// The method.
    pub method: &'a str,
    /// The target as sent.
    pub target: &'a str,
    /// The path as sent.
    pub path: &'a str,
    /// The query as sent.
    pub query: Option<&'a str>,
    /// The version of HTTP, such as `HTTP/1.1`.
    pub protocol: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_quoted_text_do_not_tell_causes_apart() {
        let of = Cause::message;
        let key = |message: &str| of(message).key;
        assert_eq!(key("no answer after 1023 ms"), key("no answer after 7 ms"));
        assert_eq!(key("no file \"a\" here"), key("no file \"bc\" here"));
        assert_ne!(key("no file here"), key("no folder here"));
        assert_eq!(of("no answer after 7 ms").shown, "no answer after 7 ms");
        let long = of(&"x".repeat(1_000_000));
        assert!(long.key.len() <= Cause::BYTES_MAX);
    }

    #[test]
    fn columns_tell_the_causes_of_one_line_apart() {
        let at = |stack: &str| Cause::raised_at("app.js:1", Some(stack)).key;
        let (first, second) = (
            at("    at push (native)\n    at a (app.js:1:20)"),
            at("    at b (app.js:1:90)"),
        );
        assert_eq!(
            (first.as_str(), second.as_str()),
            ("at a (app.js:1:20)", "at b (app.js:1:90)")
        );
        assert_eq!(Cause::raised_at("app.lua:3", None).key, "app.lua:3");
    }
}
