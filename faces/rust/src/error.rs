//! The one type of errors.

use sampan_host as host;
use std::fmt;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting, or a route that cannot be.
    Config,
    /// The script or another file of the project does not load.
    Load,
    /// The address cannot be listened on.
    Address,
    /// The script raised an error.
    Script,
    /// The script has no function of this name.
    Missing,
    /// A limit was passed: time, memory, or the length of a queue.
    Limit,
    /// The work was given up: by its caller, or because its time was over.
    Cancelled,
    /// The server or the scripts have been stopped.
    Stopped,
    /// The body of a request cannot be read to its end: it is too large or malformed, or the client has left.
    Body,
    /// A client's request cannot be fulfilled: see [`Error::with_status`].
    Request,
    /// A fault of Sampan itself, or of the program.
    Internal,
}

/// An error: its kind, where, and the words for people.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    file: Option<String>,
    line: Option<u32>,
    stack: Option<String>,
    code: Option<String>,
    status: Option<u16>,
}

impl Error {
    /// An error of this kind, without a place.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            file: None,
            line: None,
            stack: None,
            code: None,
            status: None,
        }
    }

    /// An error that a handler answers with by returning it. The client is shown the message of one below 500.
    pub fn with_status(status: u16, message: impl Into<String>) -> Self {
        let kind = match status {
            400..500 => ErrorKind::Request,
            _ => ErrorKind::Internal,
        };
        Self {
            status: Some(status),
            ..Self::new(kind, message)
        }
    }

    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the message. One of the file that does not load has further lines: the line of the source and the stack.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The file in which it happened, relative to the project's folder, if it is known.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The line of that file, from 1.
    pub fn line(&self) -> Option<u32> {
        self.line
    }

    /// The calls that led there, one on a line, innermost first.
    pub fn stack(&self) -> Option<&str> {
        self.stack.as_deref()
    }

    /// The word by which scripts can tell the error, such as `unique` of a database.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The status of the answer that a handler gives by returning this error: that of [`Error::with_status`], that of a
    /// body that cannot be read (413 where it is too large), else 500.
    pub fn status(&self) -> u16 {
        self.status.unwrap_or(500)
    }

    /// Returns the error of a body that cannot be read any further.
    pub(crate) fn of_body(error: &host::Error) -> Self {
        Self {
            status: Some(error.kind().status()),
            ..Self::new(ErrorKind::Body, error.message())
        }
    }

    /// Returns the error about a route of the program.
    pub(crate) fn of_route(error: host::Error) -> Self {
        Self {
            kind: ErrorKind::Config,
            ..Self::from(error)
        }
    }

    /// A fault as Sampan tells it to people. It begins with the place, if it has one.
    pub(crate) fn told(kind: ErrorKind, text: &str) -> Self {
        let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
        let place = head.match_indices(": ").find_map(|(at, _)| {
            let (file, line) = head[..at].rsplit_once(':')?;
            let is_name = !file.is_empty() && !file.contains(' ');
            Some((file, line.parse().ok().filter(|_| is_name)?, at + 2))
        });
        let Some((file, line, begins)) = place else {
            return Self::new(kind, text);
        };
        let message = match rest {
            "" => head[begins..].to_owned(),
            rest => format!("{}\n{rest}", &head[begins..]),
        };
        Self {
            file: Some(file.to_owned()),
            line: Some(line),
            ..Self::new(kind, message)
        }
    }

    /// Returns the error of a server or of scripts that did not start.
    pub(crate) fn of_start(text: &str) -> Self {
        let is_address = ["port ", "cannot listen", "not allowed to listen"]
            .iter()
            .any(|begin| text.starts_with(begin))
            || text.contains("is no address of this machine");
        Self::told(
            match is_address {
                true => ErrorKind::Address,
                false => ErrorKind::Load,
            },
            text,
        )
    }
}

impl From<host::Error> for Error {
    fn from(error: host::Error) -> Self {
        let kind = match (error.code(), error.kind()) {
            (Some("missing"), host::ErrorKind::Script) => ErrorKind::Missing,
            (Some("stopped"), _) => ErrorKind::Stopped,
            (Some("cancelled"), _) => ErrorKind::Cancelled,
            (_, host::ErrorKind::Stopped | host::ErrorKind::Memory) => ErrorKind::Limit,
            (_, host::ErrorKind::Timeout) => ErrorKind::Limit,
            (_, host::ErrorKind::Load) => ErrorKind::Load,
            (_, host::ErrorKind::Internal) => ErrorKind::Internal,
            _ => ErrorKind::Script,
        };
        Self {
            file: error.place().map(|place| place.file.clone()),
            line: error.place().map(|place| place.line),
            stack: error.stack().map(str::to_owned),
            code: error.code().map(str::to_owned),
            ..Self::new(kind, error.message())
        }
    }
}

/// One of a [`RequestBody`](crate::RequestBody) stays what it is, others are [`ErrorKind::Internal`].
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        let told = error.downcast::<Self>();
        told.unwrap_or_else(|error| Self::new(ErrorKind::Internal, error.to_string()))
    }
}

impl From<sampan_runtime::Refused> for Error {
    fn from(refused: sampan_runtime::Refused) -> Self {
        let kind = match refused {
            sampan_runtime::Refused::Full => ErrorKind::Limit,
            sampan_runtime::Refused::Stopped => ErrorKind::Stopped,
        };
        Self::new(kind, refused.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: {}", self.message),
            _ => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_read_from_what_people_are_told() {
        let error = Error::told(ErrorKind::Load, "lib/a.lua:3: no such\n    3 | x()");
        assert_eq!((error.file(), error.line()), (Some("lib/a.lua"), Some(3)));
        assert_eq!(error.message(), "no such\n    3 | x()");
        assert_eq!(error.to_string(), "lib/a.lua:3: no such\n    3 | x()");
        for text in [
            "port 80: in use: x",
            "[server] workers: 0",
            "a b:3: c",
            ":3: c",
        ] {
            let error = Error::told(ErrorKind::Config, text);
            assert_eq!((error.file(), error.message()), (None, text));
        }
    }
}
