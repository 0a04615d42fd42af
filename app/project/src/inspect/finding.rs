//! The things that can be wrong with a project, as `sampan check` tells them.

use crate::Language;
use std::fmt;
use std::path::Path;

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
            is_file(file).then_some((file, line, column, text))
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

    /// Returns the errors of a text: each line that begins with a place in a template or in a configuration file begins
    /// another error.
    pub fn errors(told: &str) -> Vec<Self> {
        let begins = |line: &str| {
            let file = Self::error(line).file;
            file.is_some_and(|file| file.starts_with("templates/") || file.ends_with(".toml"))
        };
        let mut texts: Vec<String> = Vec::new();
        for line in told.split('\n') {
            match texts.last_mut().filter(|_| !begins(line)) {
                Some(text) => {
                    text.push('\n');
                    text.push_str(line);
                }
                None => texts.push(line.to_owned()),
            }
        }
        texts.iter().map(|text| Self::error(text)).collect()
    }

    /// Makes the path of a file in the project's folder relative to that.
    pub fn shorten_file(&mut self, root: &Path) {
        let file = self.file.as_deref().map(Path::new);
        let inside = file.and_then(|file| file.strip_prefix(root).ok()?.to_str());
        if let Some(inside) = inside {
            self.file = Some(inside.to_owned());
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

/// Reports whether the text before a line number is the name of a file. One with a blank may be a sentence, such as
/// `cannot connect to 127.0.0.1`, unless it ends as files of a project do.
fn is_file(text: &str) -> bool {
    let is_of_project = || {
        let mut others = [".html", ".toml", ".sql", ".json"].iter();
        Language::of(text).is_some() || others.any(|ending| text.ends_with(ending))
    };
    !text.is_empty() && !text.contains('\n') && (!text.contains(' ') || is_of_project())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_project_are_relative_to_its_folder() {
        for (told, root, shown) in [
            ("/a/sampan.toml:2: x", "/a", "sampan.toml:2: x"),
            ("./sampan.toml:2: x", ".", "sampan.toml:2: x"),
            ("/b/my.toml:2: x", "/a", "/b/my.toml:2: x"),
            ("app.lua:2: x", "/a", "app.lua:2: x"),
            ("x", "/a", "x"),
        ] {
            let mut found = Finding::error(told);
            found.shorten_file(Path::new(root));
            assert_eq!(found.to_string(), shown);
        }
    }

    #[test]
    fn each_line_about_a_configuration_is_an_error() {
        let found = Finding::errors("/a/sampan.toml:1: x\n/a/sampan.toml:2: y\n  more");
        let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["x", "y\n  more"]);
    }

    #[test]
    fn names_of_files_may_have_blanks() {
        for (told, place) in [
            ("my app.lua:3: oh", Some(("my app.lua", 3))),
            ("app.lua:3: oh", Some(("app.lua", 3))),
            ("cannot connect to 127.0.0.1:5432: refused", None),
        ] {
            let found = Finding::error(told);
            let found = found.file.as_deref().zip(found.line);
            assert_eq!(found, place, "{told}");
        }
    }
}
