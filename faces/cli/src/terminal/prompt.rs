//! Reads what people type: lines with editing, history and completion.

use rustyline::completion::Completer;
use rustyline::config::{BellStyle, CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Editor, Helper};
use std::path::PathBuf;

/// Entries of the history that are kept.
const HISTORY_MAX: usize = 1_000;

/// The typed text: when it is complete, and what a word in it may become.
pub(crate) trait Typed {
    /// Reports whether Enter ends the input, instead of beginning another line.
    fn is_complete(&self, text: &str) -> bool;
    /// Returns the start of the word before the cursor begins, and what it may become.
    fn completions(&self, before: &str) -> (usize, Vec<String>);
}

/// An input from the terminal.
pub(crate) enum Input {
    /// A text that is complete.
    Text(String),
    /// Ctrl-C: what was typed so far does not count.
    Cancelled,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The prompt of one command.
pub(crate) struct Prompt<T: Typed> {
    editor: Editor<Words<T>, FileHistory>,
    history: Option<PathBuf>,
}

impl<T: Typed> Prompt<T> {
    /// A prompt whose history lies in the file `name` of the user's state.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub(crate) fn new(name: &str, typed: T) -> Result<Self, String> {
        let config = Config::builder()
            .max_history_size(HISTORY_MAX)
            .and_then(|config| config.history_ignore_dups(true))
            .map_err(|error| error.to_string())?
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .bell_style(BellStyle::None)
            .build();
        let opened = Editor::with_config(config);
        let mut editor = opened.map_err(|error| format!("cannot use the terminal: {error}"))?;
        editor.set_helper(Some(Words(typed)));
        let history = state_folder().map(|folder| folder.join(name));
        if let Some(history) = &history {
            // The first time there is none.
            let _ = editor.load_history(history);
        }
        Ok(Self { editor, history })
    }

    /// Reads the next input.
    ///
    /// # Errors
    /// The terminal fails.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<Input, String> {
        match self.editor.readline(prompt) {
            Ok(text) => {
                if !text.trim().is_empty() {
                    // A history that cannot be kept is not a reason to stop.
                    let _ = self.editor.add_history_entry(&text);
                }
                Ok(Input::Text(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Input::Cancelled),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(error) => Err(format!("cannot read from the terminal: {error}")),
        }
    }

    /// Returns the typed text.
    pub(crate) fn typed(&mut self) -> Option<&mut T> {
        self.editor.helper_mut().map(|words| &mut words.0)
    }
}

impl<T: Typed> Drop for Prompt<T> {
    fn drop(&mut self) {
        if let Some(history) = &self.history {
            let made = history.parent().map(std::fs::create_dir_all);
            if matches!(made, Some(Ok(()))) {
                let _ = self.editor.append_history(history);
            }
        }
    }
}

/// Returns the folder for state that programs can do without (XDG Base Directory Specification).
fn state_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".local/state")));
    state.map(|state| state.join("sampan"))
}

struct Words<T>(T);

impl<T: Typed> Helper for Words<T> {}
impl<T: Typed> Highlighter for Words<T> {}
impl<T: Typed> Hinter for Words<T> {
    type Hint = String;
}

impl<T: Typed> Validator for Words<T> {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        match self.0.is_complete(context.input()) {
            true => Ok(ValidationResult::Valid(None)),
            false => Ok(ValidationResult::Incomplete),
        }
    }
}

impl<T: Typed> Completer for Words<T> {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.0.completions(&line[..position]))
    }
}
