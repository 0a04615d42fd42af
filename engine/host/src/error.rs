//! Errors with a kind, a place and a cause.
//!
//! The kind decides the status of the answer, the place says where in the script it happened, and the cause is
//! for the log only.

use std::borrow::Cow;
use std::fmt;

/// The kind of an error, as far as the answer to the client depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The script raised it, or used a function wrongly: 500.
    Script,
    /// The script does not load (syntax, missing module): the server does not start.
    Load,
    /// The client sent something that the script asked to have parsed, and it does not parse: 400.
    BadRequest,
    /// The script chose a status between 400 and 599 for its error.
    Status(u16),
    /// The script ran longer than `script_millis_max`: 503.
    Stopped,
    /// The isolate has no memory left: 503.
    Memory,
    /// A synchronous operation that would take too long to wait for it in place: 500. Engines whose scripts can wait in
    /// the middle of a call run the row's `later` instead, see [`FunctionKind::Prompt`](crate::FunctionKind::Prompt).
    TooLong,
    /// Something that the request needs is not available at the moment; trying again later may help: 503.
    Unavailable,
    /// Waiting for something that will not happen, or that took too long: 504.
    Timeout,
    /// A fault of the server itself: 500.
    Internal,
}

impl ErrorKind {
    /// The status of the answer when nothing handles the error.
    pub fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Status(status) => status,
            Self::Stopped | Self::Memory | Self::Unavailable => 503,
            Self::Timeout => 504,
            Self::Script | Self::Load | Self::TooLong | Self::Internal => 500,
        }
    }

    /// Reports whether the message is meant for the client: true for errors that describe the client's own fault.
    pub fn is_public(self) -> bool {
        (400..500).contains(&self.status())
    }
}

/// The kinds that the status of an error object does not tell. Engines mark such an object with the kind's number, so
/// that the kind survives when a script catches the error and raises it again.
pub const MARKED_KINDS: [ErrorKind; 7] = [
    ErrorKind::BadRequest,
    ErrorKind::Stopped,
    ErrorKind::Memory,
    ErrorKind::TooLong,
    ErrorKind::Unavailable,
    ErrorKind::Timeout,
    ErrorKind::Internal,
];

impl ErrorKind {
    /// The number that marks an error object of this kind, from 1; `None` for kinds that need no mark.
    pub fn mark(self) -> Option<usize> {
        let at = MARKED_KINDS.iter().position(|kind| *kind == self)?;
        Some(at + 1)
    }

    /// The kind that this number marks.
    pub fn marked(mark: usize) -> Option<Self> {
        MARKED_KINDS.get(mark.checked_sub(1)?).copied()
    }
}

/// A line of a project file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the project folder.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The details by which a script tells errors apart, beyond the kind. Engines show each part that is there as a field
/// of the error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// A word that stays the same in later versions: `unique`, `timeout`.
    pub code: Cow<'static, str>,
    /// The table that it is about.
    pub table: Option<String>,
    /// The columns of that table.
    pub columns: Vec<String>,
    /// The name of the constraint that was violated.
    pub constraint: Option<String>,
}

/// The likely cause of a missing value. It depends on the caller's language, so its engine says what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// A list is shorter than it should be.
    ShortList,
    /// A map lacks a member.
    MissingMember,
    /// A map has no members: what was to be one may be missing.
    NoMembers,
}

/// An error on its way from a script or a capability to the log and the client.
#[derive(Clone)]
pub struct Error(Box<ErrorParts>);

#[derive(Clone)]
struct ErrorParts {
    kind: ErrorKind,
    message: String,
    place: Option<Place>,
    column: Option<u32>,
    stack: Option<String>,
    details: Option<Box<Details>>,
    hint: Option<Hint>,
    names: Vec<String>,
    setting: Option<&'static str>,
    /// True if the name of the function that was called is still to be put before the message.
    wants_name: bool,
}

impl Error {
    /// An error of `kind` with a message of one line.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorParts {
            kind,
            message: message.into(),
            place: None,
            column: None,
            stack: None,
            details: None,
            hint: None,
            names: Vec::new(),
            setting: None,
            wants_name: false,
        }))
    }

    /// An error that the script caused.
    pub fn script(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Script, message)
    }

    /// Sets the place where it was raised.
    #[must_use]
    pub fn at(mut self, place: Option<Place>) -> Self {
        self.0.place = place;
        self.0.column = None;
        self
    }

    /// Sets the column of its place, in characters from 1.
    #[must_use]
    pub fn at_column(mut self, column: Option<u32>) -> Self {
        self.0.column = column;
        self
    }

    /// Sets the call stack, one call per line, innermost first.
    #[must_use]
    pub fn with_stack(mut self, stack: impl Into<String>) -> Self {
        self.0.stack = Some(stack.into());
        self
    }

    /// Sets the details for scripts.
    #[must_use]
    pub fn with_details(mut self, details: Details) -> Self {
        self.0.details = Some(Box::new(details));
        self
    }

    /// Sets the code and removes other details.
    #[must_use]
    pub fn with_code(self, code: &'static str) -> Self {
        self.with_details(Details {
            code: code.into(),
            ..Details::default()
        })
    }

    /// Sets the hint that the engine may add to its message.
    #[must_use]
    pub fn with_hint(mut self, hint: Option<Hint>) -> Self {
        self.0.hint = hint;
        self
    }

    /// Names the words in its message that are ours, of options and functions, as the tables spell them. The engine
    /// spells
    /// them as its language does.
    #[must_use]
    pub fn naming<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        // Others are spelled alike everywhere.
        let names = names.into_iter().filter(|name| name.contains('_'));
        self.0.names.extend(names.map(str::to_owned));
        self
    }

    /// Has the engine put the name of the function that was called before the message, as the script spells it.
    #[must_use]
    pub fn with_callers_name(mut self) -> Self {
        self.0.wants_name = true;
        self
    }

    /// Reports whether the name of the function that was called is still to be put before the message.
    pub fn wants_name(&self) -> bool {
        self.0.wants_name
    }

    /// Puts the name of the function that was called before the message, if it is still to be put there.
    #[cold]
    pub fn put_name(&mut self, name: &str) {
        if std::mem::take(&mut self.0.wants_name) {
            self.0.message.insert_str(0, &format!("{name}: "));
        }
    }

    /// Names the setting that refuses a client, such as `[csrf] trusted_origins`. The log tells it; the client does not
    /// see it.
    #[must_use]
    pub fn with_setting(mut self, setting: &'static str) -> Self {
        self.0.setting = Some(setting);
        self
    }

    /// The message with the names in it that are ours as `spell` spells them.
    pub fn message_spelled(&self, spell: fn(&str) -> String) -> Cow<'_, str> {
        if self.0.names.is_empty() {
            return self.message().into();
        }
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let words = self.0.message.split_inclusive(|c| !is_part(c));
        let spelled = words.map(|word| {
            let name = word.trim_end_matches(|c| !is_part(c));
            match self.0.names.iter().any(|own| own == name) {
                true => spell(name) + &word[name.len()..],
                false => word.to_owned(),
            }
        });
        spelled.collect::<String>().into()
    }

    /// Replaces the message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Replaces the kind.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message, without place and stack.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the place of the error, if known.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// Returns the column of its place, in characters from 1, if known.
    pub fn column(&self) -> Option<u32> {
        self.0.column
    }

    /// The call stack, if known.
    pub fn stack(&self) -> Option<&str> {
        self.0.stack.as_deref()
    }

    /// Returns the details for scripts, if there is anything.
    pub fn details(&self) -> Option<&Details> {
        self.0.details.as_deref()
    }

    /// Returns the setting that refuses a client, if there is one.
    pub fn setting(&self) -> Option<&'static str> {
        self.0.setting
    }

    /// Returns the hint that the engine may add to the message.
    pub fn hint(&self) -> Option<Hint> {
        self.0.hint
    }

    /// The code, if it has one.
    pub fn code(&self) -> Option<&str> {
        self.details().map(|details| &*details.code)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0.place, self.0.column) {
            (Some(place), Some(column)) => write!(f, "{place}:{column}: {}", self.0.message),
            (Some(place), None) => write!(f, "{place}: {}", self.0.message),
            (None, _) => f.write_str(&self.0.message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        match &self.0.stack {
            Some(stack) => write!(f, "\n{stack}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::camel_case;

    #[test]
    fn names_in_a_message_are_spelled() {
        let error = Error::script("max_age, my_max_age: no max_age").naming(["max_age", "path"]);
        assert_eq!(error.message(), "max_age, my_max_age: no max_age");
        assert_eq!(
            error.message_spelled(camel_case),
            "maxAge, my_max_age: no maxAge"
        );
        let none = Error::script("user_id");
        assert_eq!(none.message_spelled(camel_case), "user_id");
    }

    #[test]
    fn the_column_belongs_to_the_place() {
        let place = |line| {
            Some(Place {
                file: "a.html".to_owned(),
                line,
            })
        };
        let error = Error::script("no").at(place(2)).at_column(Some(7));
        assert_eq!(error.to_string(), "a.html:2:7: no");
        assert_eq!(error.at(place(3)).to_string(), "a.html:3: no");
    }

    #[test]
    fn a_name_is_put_before_a_message_once() {
        let mut error = Error::script("no").with_callers_name();
        error.put_name("app.a");
        error.put_name("app.b");
        assert_eq!(error.message(), "app.a: no");
        let mut other = Error::script("no");
        other.put_name("app.a");
        assert_eq!(other.message(), "no");
    }
}
