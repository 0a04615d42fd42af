//! The errors of rendering, and their messages.

use crate::compile::names::{CompileFault, TextPlace};
use crate::program::Source;
use sampan_host::statement_text::position;
use sampan_host::{Error, ErrorKind, Place};
use std::cell::RefCell;
use std::fmt::Write;
use std::sync::Arc;

/// The folder of the templates.
pub(crate) const FOLDER: &str = "templates/";
/// The maximum number of places told around an error.
const TRAIL_MAX: usize = 8;
/// The maximum number of characters that are shown of a line.
const SHOWN_CHARS_MAX: usize = 120;

pub(crate) type Outcome<T> = Result<T, Box<TemplateFault>>;

/// An error, with its place in the templates as far as it is known.
#[derive(Debug)]
pub(crate) struct TemplateFault {
    error: Error,
    place: Option<(Arc<Source>, u32)>,
    /// The places where the template was included or called, innermost first.
    trail: Vec<(&'static str, Arc<Source>, u32)>,
}

thread_local! {
    /// The error of the script's function that minijinja has called last. Its own errors cannot carry it.
    static SCRIPT_ERROR: RefCell<Option<Error>> = const { RefCell::new(None) };
}

impl TemplateFault {
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
        text.push_str(&excerpt(&source.text, line, None));
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

/// The line and its neighbours, and a mark below the column. A line that is long is shown around the column.
fn excerpt(text: &str, line: u32, column: Option<u32>) -> String {
    let mut shown = String::new();
    for (number, text) in (1..).zip(text.lines()) {
        if number + 1 < line || number > line + 1 {
            continue;
        }
        let column = column.filter(|_| number == line);
        let before = column.map_or(0, |column| column as usize - 1);
        let left_out = match before < SHOWN_CHARS_MAX {
            true => 0,
            false => before - SHOWN_CHARS_MAX / 2,
        };
        let mark = if number == line { '>' } else { ' ' };
        let dots = if left_out == 0 { "" } else { "..." };
        let rest = text.chars().skip(left_out);
        let _ = write!(
            shown,
            "\n{mark} {number:>4} | {dots}{}",
            line_shown(rest.clone()).trim_end()
        );
        if column.is_some() {
            let before = line_shown(rest.take(before - left_out));
            let before = dots.len() + before.chars().map(cells).sum::<usize>();
            let _ = write!(shown, "\n       | {:before$}^", "");
        }
    }
    shown
}

/// A line of a template as far as it is shown.
fn line_shown(text: impl Iterator<Item = char>) -> String {
    let mut shown = String::new();
    for one in text.take(SHOWN_CHARS_MAX) {
        match one {
            '\t' => shown.push_str("    "),
            one if one.is_control() => {}
            one => shown.push(one),
        }
    }
    shown
}

/// Returns the number of cells of a terminal that a character takes, roughly: two for those of East Asian scripts and
/// for emoji, none for accents that join the character before.
fn cells(one: char) -> usize {
    match u32::from(one) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff => 2,
        0xfe30..=0xfe6f | 0xff00..=0xff60 | 0xffe0..=0xffe6 => 2,
        0x1f300..=0x1f64f | 0x1f680..=0x1f6ff | 0x1f900..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
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

impl From<Error> for Box<TemplateFault> {
    #[cold]
    fn from(error: Error) -> Self {
        Self::new(TemplateFault {
            error,
            place: None,
            trail: Vec::new(),
        })
    }
}

impl From<minijinja::Error> for Box<TemplateFault> {
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

/// Returns the reason why a template could not be compiled.
pub(crate) fn syntax_error(source: &Source, fault: CompileFault) -> Error {
    load_error(fault.message, source, fault.place)
}

/// A fault of a template that was not rendered yet, at a byte of its text.
pub(crate) fn fault_at(fault: TemplateFault, source: &Source, at: u32) -> Error {
    let message = fault.error.message().to_owned();
    load_error(message, source, TextPlace::Byte(at))
}

fn load_error(message: String, source: &Source, at: TextPlace) -> Error {
    let (line, column) = match at {
        TextPlace::Line(line) => (line, None),
        TextPlace::Byte(at) => {
            let (line, column) = position(&source.text, at as usize);
            (line as u32, Some(column as u32))
        }
    };
    let text = message + &excerpt(&source.text, line, column);
    let error = Error::new(ErrorKind::Load, text);
    error.at(Some(place(source, line))).at_column(column)
}
