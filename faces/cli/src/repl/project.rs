//! A project whose scripts a person talks to.
//!
//! The file of ours hands two functions of the script to `module`: one runs a text, one names what can be completed.
//! The writes of a text are committed before the next one.

use super::link::{Ask, Link, Reply};
use super::module;
use super::shown::shown;
use crate::loaded_project::{LoadedProject, OwnTexts, Stop};
use sampan_host::{Context, Error, Value};
use sampan_project::config::Flags;
use sampan_project::{Language, Project};
use sampan_runtime::{AppConfig, ContextSetup};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const OWN_TEXTS: OwnTexts = OwnTexts {
    lua: include_str!("repl.lua"),
    js: include_str!("repl.js"),
};

/// The reason why a text did not run to its end.
#[derive(Debug)]
pub(crate) enum ReplError {
    /// An error of the script, with the stack: lines for people.
    Script(String),
    /// [`Stop::stop`] was called.
    Stopped,
    /// The server behind it is gone.
    Gone,
}

/// A project that answers a person.
pub(crate) struct Repl {
    /// Dropped first: once `asks` is gone, the server goes on with its start.
    loaded: LoadedProject,
    asks: UnboundedSender<Ask>,
    replies: Receiver<Reply>,
    link: Link,
    language: Language,
    entry: Option<String>,
}

impl Repl {
    /// Loads the project that `flags` name. Without one in the folder, `language` says what to speak.
    ///
    /// # Errors
    /// It does not load: lines that say what to do.
    pub(crate) fn start(mut flags: Flags, language: Option<Language>) -> Result<Self, String> {
        LoadedProject::prepare(&mut flags);
        let found = Project::find(&flags.path);
        let project = match (found, language) {
            (Ok(project), None) => project,
            (Ok(project), Some(language)) if project.language() == Some(language) => project,
            (Ok(project), Some(_)) => {
                let (path, entry) = (flags.path.display(), project.entry());
                return Err(format!(
                    "{path} has {entry}: leave out --lang to speak its language, or name another folder"
                ));
            }
            (Err(_), Some(_)) if flags.path.is_dir() => Project::without_entry(&flags.path)?,
            (Err(fault), _) => return Err(fault),
        };
        let language = language.or(project.language());
        let language = language.ok_or("the project is in no language that is known")?;
        let entry = Some(project.entry().to_owned()).filter(|entry| !entry.is_empty());
        let config = AppConfig::of_project(project, &flags)?;
        let own = OWN_TEXTS.after(".repl", language, entry.as_deref());
        let (asks, asked) = unbounded_channel();
        let (sender, replies) = channel();
        let link = Link::new(asked, sender);
        let for_isolates = link.clone();
        let put_link: ContextSetup =
            Arc::new(move |context: &Context| context.put(for_isolates.clone()));
        let (failed, fault) = channel();
        let ended = move |ended: Result<(), String>| {
            if let Err(message) = ended {
                let _ = failed.send(message);
            }
        };
        let loaded = LoadedProject::start(config, &own, &module::MODULE, put_link, ended)?;
        // The link keeps a sender for as long as the process lives, so the fault is looked for as well.
        let patience = Duration::from_millis(5);
        loop {
            match replies.recv_timeout(patience) {
                Ok(_) => break,
                Err(_) if loaded.has_ended() => {
                    return Err(fault
                        .try_recv()
                        .unwrap_or_else(|_| "the project did not start".to_owned()));
                }
                Err(_) => {}
            }
        }
        Ok(Self {
            loaded,
            asks,
            replies,
            link,
            language,
            entry,
        })
    }

    /// The language that is spoken.
    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// The project's file, if there is one.
    pub(crate) fn entry(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// Returns the handle that stops a run.
    pub(crate) fn interrupt(&self) -> Stop {
        self.link.stop().clone()
    }

    /// Runs a text, which begins in the line `first` of what is typed or piped. `print` takes what it shows and prints,
    /// as texts for people.
    ///
    /// # Errors
    /// It fails, or is stopped.
    pub(crate) fn run(
        &self,
        text: &str,
        first: usize,
        print: &mut dyn FnMut(&str),
    ) -> Result<(), ReplError> {
        let code = match self.language {
            Language::Lua => text.to_owned(),
            Language::Js => match sampan_js_modules::repl::script_of(text) {
                // So that places have the lines of the whole input.
                Ok(code) => "\n".repeat(first - 1) + &code,
                Err(fault) => return Err(ReplError::Script(fault.message)),
            },
        };
        self.ask(Ask::Run(code))?;
        loop {
            match self.reply()? {
                Reply::Shown(value) => print(&shown(&value, self.language)),
                Reply::Printed(Value::List(values)) => {
                    let texts = values.iter().map(|value| match value {
                        Value::Text(text) => text.clone(),
                        other => shown(other, self.language),
                    });
                    print(&texts.collect::<Vec<_>>().join(" "));
                }
                Reply::Printed(Value::Text(text)) => print(&text),
                Reply::Printed(value) => print(&shown(&value, self.language)),
                Reply::Ran(Ok(())) => return Ok(()),
                Reply::Ran(Err(error)) => return Err(told(&error)),
                Reply::Ready | Reply::Names(_) | Reply::IsOpen(_) => {}
            }
        }
    }

    /// The names that follow `path`, as in `db` or `app.json`; those of the environment where it is empty.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        self.asked(Ask::Names(path.to_owned()), |reply| match reply {
            Reply::Names(names) => Some(names),
            _ => None,
        })
    }

    /// Reports whether a text needs more lines.
    pub(crate) fn is_open(&self, text: &str) -> bool {
        match self.language {
            Language::Js => {
                sampan_js_modules::repl::script_of(text).is_err_and(|fault| fault.is_open)
            }
            Language::Lua => self.asked(Ask::IsOpen(text.to_owned()), |reply| match reply {
                Reply::IsOpen(is_open) => Some(is_open),
                _ => None,
            }),
        }
    }

    fn asked<T: Default>(&self, ask: Ask, wanted: impl Fn(Reply) -> Option<T>) -> T {
        if self.ask(ask).is_err() {
            return T::default();
        }
        while let Ok(reply) = self.reply() {
            if let Some(found) = wanted(reply) {
                return found;
            }
        }
        T::default()
    }

    fn ask(&self, ask: Ask) -> Result<(), ReplError> {
        self.asks.send(ask).map_err(|_| ReplError::Gone)
    }

    fn reply(&self) -> Result<Reply, ReplError> {
        const PATIENCE: Duration = Duration::from_millis(200);
        loop {
            match self.replies.recv_timeout(PATIENCE) {
                Ok(reply) => return Ok(reply),
                Err(_) if self.loaded.has_ended() => {
                    return Err(ReplError::Gone);
                }
                Err(_) => {}
            }
        }
    }
}

/// An error for people: the message, and the calls of their code.
fn told(error: &Error) -> ReplError {
    if error.kind() == sampan_host::ErrorKind::Stopped {
        return ReplError::Stopped;
    }
    let mut text = error.message().to_owned();
    let is_own = |line: &str| line.contains(".repl.lua") || line.contains(".repl.js");
    let place = error.place().map(ToString::to_string);
    if let Some(place) = place.filter(|place| !is_own(place)) {
        text = format!("{place}: {text}");
    }
    for line in error.stack().unwrap_or_default().lines() {
        let line = line.trim();
        if !is_own(line) && !line.is_empty() {
            text += &format!("\n  {line}");
        }
    }
    ReplError::Script(with_lines(&text))
}

/// Replaces the places in functions that the prompt has made of typed text by the lines of that text.
fn with_lines(text: &str) -> String {
    const PLACE: &str = "<input>:";
    // Before its body the engine writes the head of the function, on lines of their own.
    const HEAD_LINES: usize = 2;
    let digits = |text: &str| {
        let end = text.find(|one: char| !one.is_ascii_digit());
        end.unwrap_or(text.len())
    };
    let mut parts = text.split(PLACE);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (line, rest) = part.split_at(digits(part));
        match line.parse::<usize>() {
            Ok(line) => {
                // The column is one of the function, which has more on the line.
                let column = rest.strip_prefix(':').filter(|column| digits(column) > 0);
                let rest = column.map_or(rest, |column| &column[digits(column)..]);
                shown += &format!("line {}{rest}", line.saturating_sub(HEAD_LINES));
            }
            Err(_) => {
                shown += PLACE;
                shown += part;
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_typed_text_are_its_lines() {
        for (told, expected) in [
            ("<input>:3:48", "line 1"),
            (
                "<input>:5: no\n  at f (<input>:5:13)",
                "line 3: no\n  at f (line 3)",
            ),
            (
                "app.js:3:1 and <input> alone",
                "app.js:3:1 and <input> alone",
            ),
        ] {
            assert_eq!(with_lines(told), expected);
        }
    }
}
