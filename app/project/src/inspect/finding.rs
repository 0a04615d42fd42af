//! The things that can be wrong with a project, as `sampan check` tells them.

use std::fmt;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The project does not start, or not as its author means it.
    Error,
    /// Worth a look.
    Warning,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The file, relative to the project's folder, where it is known.
    pub file: Option<String>,
    /// The line of it.
    pub line: Option<u32>,
    /// The column of the line, where it is known.
    pub column: Option<u32>,
    /// The message, in one or several lines.
    pub text: String,
}

impl Finding {
    /// An error, as others tell it: often with its place in front.
    pub fn error(told: &str) -> Self {
        let place = told.split_once(": ").and_then(|(place, text)| {
            let (file, last) = place.rsplit_once(':')?;
            let last: u32 = last.parse().ok()?;
            let before = file.rsplit_once(':').and_then(|(file, line)| {
                let line: u32 = line.parse().ok()?;
                Some((file, line))
            });
            let (file, line, column) = match before {
                Some((file, line)) => (file, line, Some(last)),
                None => (file, last, None),
            };
            let is_file = !file.is_empty() && !file.contains(['\n', ' ']);
            is_file.then_some((file, line, column, text))
        });
        let (file, line, column, text) = match place {
            Some((file, line, column, text)) => (Some(file.to_owned()), Some(line), column, text),
            None => (None, None, None, told),
        };
        Self {
            severity: Severity::Error,
            file,
            line,
            column,
            text: text.to_owned(),
        }
    }

    /// Something worth a look in a file.
    pub fn warning(file: &str, line: Option<u32>, text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            file: Some(file.to_owned()),
            line,
            column: None,
            text: text.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                write!(f, "{file}:{line}")?;
                if let Some(column) = self.column {
                    write!(f, ":{column}")?;
                }
                write!(f, ": {}", self.text)
            }
            (Some(file), None) => write!(f, "{file}: {}", self.text),
            (None, _) => f.write_str(&self.text),
        }
    }
}
