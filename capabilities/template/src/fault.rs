//! The errors of rendering, and their messages.

use crate::program::Source;
use sampan_host::{Error, ErrorKind, Place};
use std::cell::RefCell;
use std::fmt::Write;
use std::sync::Arc;

/// The folder of the templates.
pub(crate) const FOLDER: &str = "templates/";
/// The maximum number of places told around an error.
const TRAIL_MAX: usize = 8;
/// As far as a line is shown.
const SHOWN_CHARS_MAX: usize = 120;

pub(crate) type Outcome<T> = Result<T, Box<Fault>>;

/// An error, with its place in the templates as far as it is known.
#[derive(Debug)]
pub(crate) struct Fault {
    error: Error,
    place: Option<(Arc<Source>, u32)>,
    /// The places where the template was included or called, innermost first.
    trail: Vec<(&'static str, Arc<Source>, u32)>,
}

thread_local! {
    /// The error of the script's function that minijinja has called last. Its own errors cannot carry it.
    static SCRIPT_ERROR: RefCell<Option<Error>> = const { RefCell::new(None) };
}

impl Fault {
    #[cold]
    pub(crate) fn new(message: impl Into<String>) -> Box<Self> {
        Error::script(message).into()
    }

    /// Notes the error of a function of the script, to be found when minijinja has failed with what this returns.
    #[cold]
    pub(crate) fn note(error: Error) -> minijinja::Error {
        let text = error.message().to_owned();
        SCRIPT_ERROR.replace(Some(error));
        minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, text)
    }

    /// Sets the place, at a line of a template, if it has no place yet.
    #[cold]
    pub(crate) fn at(mut self: Box<Self>, source: &Arc<Source>, line: u32) -> Box<Self> {
        if self.place.is_none() {
            self.place = Some((Arc::clone(source), line));
        }
        self
    }

    /// Adds the place that included or called the failing one.
    #[cold]
    pub(crate) fn within(
        mut self: Box<Self>,
        what: &'static str,
        source: &Arc<Source>,
        line: u32,
    ) -> Box<Self> {
        if self.trail.len() < TRAIL_MAX {
            self.trail.push((what, Arc::clone(source), line));
        }
        self
    }

    /// The error that the script gets: the message, the lines around the place, and how it was reached.
    #[cold]
    pub(crate) fn told(self) -> Error {
        // What stops a run is not a matter of the template.
        let Some((source, line)) = self
            .place
            .filter(|_| self.error.kind() == ErrorKind::Script)
        else {
            return self.error;
        };
        let mut text = format!("{}: {}", place(&source, line), self.error);
        text.push_str(&excerpt(&source.text, line));
        for (what, source, line) in &self.trail {
            let _ = write!(text, "\n  {what} {}", place(source, *line));
        }
        // The script's own place is where it called.
        self.error.with_message(text).at(None)
    }
}

fn place(source: &Source, line: u32) -> Place {
    Place {
        file: source.file(),
        line,
    }
}

/// The line and its neighbours.
fn excerpt(text: &str, line: u32) -> String {
    let mut shown = String::new();
    for (number, text) in (1..).zip(text.lines()) {
        if number + 1 < line || number > line + 1 {
            continue;
        }
        let mark = if number == line { '>' } else { ' ' };
        let text = text.replace('\t', "    ");
        let text: String = text
            .chars()
            .filter(|one| !one.is_control())
            .take(SHOWN_CHARS_MAX)
            .collect();
        let _ = write!(shown, "\n{mark} {number:>4} | {}", text.trim_end());
    }
    shown
}

impl Source {
    /// The name of its file in the project.
    pub(crate) fn file(&self) -> String {
        match self.name.as_str() {
            TEXT_NAME => self.name.clone(),
            name => format!("{FOLDER}{name}"),
        }
    }
}

/// The name of a template that is not a file.
pub(crate) const TEXT_NAME: &str = "<string>";

impl From<Error> for Box<Fault> {
    #[cold]
    fn from(error: Error) -> Self {
        Self::new(Fault {
            error,
            place: None,
            trail: Vec::new(),
        })
    }
}

impl From<minijinja::Error> for Box<Fault> {
    #[cold]
    fn from(error: minijinja::Error) -> Self {
        SCRIPT_ERROR
            .take()
            .unwrap_or_else(|| Error::script(said(&error)))
            .into()
    }
}

/// Returns minijinja's message, without a place.
fn said(error: &minijinja::Error) -> String {
    let mut text = match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text
}

/// Why a template could not be compiled.
pub(crate) fn syntax_error(source: &Source, error: &minijinja::Error, line: Option<u32>) -> Error {
    let line = line.unwrap_or(error.line().unwrap_or(1) as u32);
    load_error(said(error), source, line)
}

/// A fault of a template that was not rendered yet.
pub(crate) fn fault_at(fault: Fault, source: &Source, line: u32) -> Error {
    load_error(fault.error.message().to_owned(), source, line)
}

fn load_error(message: String, source: &Source, line: u32) -> Error {
    let text = message + &excerpt(&source.text, line);
    Error::new(ErrorKind::Load, text).at(Some(place(source, line)))
}

/// minijinja does not say which filter or test it does not know.
#[cold]
pub(crate) fn unknown(error: minijinja::Error, what: &str, name: &str) -> Box<Fault> {
    use minijinja::ErrorKind;
    let is_unknown = matches!(
        error.kind(),
        ErrorKind::UnknownFilter | ErrorKind::UnknownTest
    );
    if is_unknown && error.detail().is_none() {
        return Fault::new(format!("unknown {what}: {what} {name} is unknown"));
    }
    let fault: Box<Fault> = error.into();
    fault
}
