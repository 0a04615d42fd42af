//! `sampan repl`: the environment of a project's scripts, line by line.

mod link;
mod module;
mod project;
pub(crate) mod shown;

use crate::terminal::print::say;
use crate::terminal::prompt::{Input, Prompt, Typed};
use crate::terminal::{paint, signals};
use clap::{Args, ValueEnum};
use project::{Repl, ReplError};
use sampan_project::Language;
use sampan_project::config::Flags;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The exit status of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// The arguments of `sampan repl`.
#[derive(Args)]
pub(crate) struct ReplArgs {
    /// The project's folder, or the file to run.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    /// The language, where there is no project to tell it.
    #[arg(long, value_enum)]
    lang: Option<Lang>,
    /// The database: a file, or postgres://user@host/database
    /// [default: what sampan.toml says, or data.db in the project's folder].
    #[arg(long, value_name = "FILE|URL")]
    db: Option<PathBuf>,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Lang {
    Lua,
    Js,
}

pub(crate) fn run(args: ReplArgs) -> Result<i32, String> {
    let language = args.lang.map(|lang| match lang {
        Lang::Lua => Language::Lua,
        Lang::Js => Language::Js,
    });
    let flags = Flags {
        path: args.path,
        db: args.db,
        config: args.config,
        env_file: sampan_project::config::EnvFile::OfProject,
        ..Flags::default()
    };
    let repl = Rc::new(Repl::start(flags, language)?);
    let is_running = Arc::new(AtomicBool::new(false));
    let (interrupt, for_signals) = (repl.interrupt(), Arc::clone(&is_running));
    // At a prompt a Ctrl-C that comes a moment late must not end it.
    let is_prompt = io::stdin().is_terminal();
    signals::on_interrupt(move || {
        let is_running = for_signals.load(Relaxed);
        if is_running {
            interrupt.stop();
        }
        is_running || is_prompt
    })?;
    let session = Session { repl, is_running };
    match is_prompt {
        true => session.talk(),
        false => session.read_pipe(),
    }
}

/// A line that is for the prompt itself.
#[derive(Clone, Copy)]
enum Command {
    Help,
    Exit,
}

const HELP_LUA: &str = "\
An expression shows its value; statements run. What does not end yet goes on in the next line; an empty line ends it.
  db.query('SELECT 1')      the modules of the app have their names: db, files, log, ...
  app                       the app with all that it has; Tab shows the names behind a dot
  x = 1                     a global stays; a local, also a local function, ends with its line
  help, .help               this text
  exit, .exit, Ctrl-D       ends; Ctrl-C stops what runs";

const HELP_JS: &str = "\
An expression shows its value; statements run. What does not end yet goes on in the next line; an empty line ends it.
  db.query('SELECT 1')      what the module sampan exports has its name: app, db, files, log, ...
  await db.queryAsync(...)  await works; Tab shows the names behind a dot
  const x = 1               names stay
  help, .help               this text
  exit, .exit, Ctrl-D       ends; Ctrl-C stops what runs";

struct Session {
    repl: Rc<Repl>,
    /// True if something runs that Ctrl-C is meant for.
    is_running: Arc<AtomicBool>,
}

impl Session {
    /// Runs a text, which begins in the line `first`.
    fn run(&self, text: &str, first: usize) -> Result<(), ReplError> {
        self.is_running.store(true, Relaxed);
        // Who reads may have gone; the end of the pipe ends the command anyway.
        let ran = self.repl.run(text, first, &mut |line| drop(say(line)));
        self.is_running.store(false, Relaxed);
        ran
    }

    fn talk(&self) -> Result<i32, String> {
        let (name, history) = match self.repl.language() {
            Language::Lua => ("lua", "lua_history"),
            Language::Js => ("js", "js_history"),
        };
        let of = self
            .repl
            .entry()
            .map_or("no project".to_owned(), |entry| format!("of {entry}"));
        say(paint::dim(
            &format!(
                "{name}, {of}; db and the other names of the app are there; help; Ctrl-D ends"
            ),
            true,
        ))?;
        let mut prompt = Prompt::new(history, Line(Rc::clone(&self.repl)))?;
        loop {
            let text = match prompt.read(&format!("{name}> "))? {
                Input::Text(text) if text.trim().is_empty() => continue,
                Input::Text(text) => match self.command(text.trim()) {
                    Some(Command::Help) => {
                        say(self.help())?;
                        continue;
                    }
                    Some(Command::Exit) => return Ok(0),
                    None => text,
                },
                Input::Cancelled => continue,
                Input::End => return Ok(0),
            };
            let message = match self.run(&text, 1) {
                Ok(()) => continue,
                Err(ReplError::Stopped) => "stopped".to_owned(),
                Err(ReplError::Script(message)) => message,
                Err(ReplError::Gone) => return Err("the project has ended".to_owned()),
            };
            // Standard error may be gone.
            let _ = writeln!(io::stderr(), "{}", paint::red(&message, true));
        }
    }

    /// Returns the command that a line means. A name that the script has itself is the script's.
    fn command(&self, line: &str) -> Option<Command> {
        let (is_dotted, name) = match line.strip_prefix('.') {
            Some(name) => (true, name),
            None => (false, line.trim_end_matches("()")),
        };
        let command = match name {
            "help" => Command::Help,
            "exit" | "quit" => Command::Exit,
            _ => return None,
        };
        let is_own = || self.repl.names("").iter().any(|own| own == name);
        (is_dotted || !is_own()).then_some(command)
    }

    fn help(&self) -> &'static str {
        match self.repl.language() {
            Language::Lua => HELP_LUA,
            Language::Js => HELP_JS,
        }
    }

    /// Runs what is piped, up to the first error.
    fn read_pipe(&self) -> Result<i32, String> {
        let mut text = String::new();
        let read = io::stdin().lock().read_to_string(&mut text);
        read.map_err(|error| format!("cannot read standard input: {error}"))?;
        let (mut input, mut begins) = (String::new(), 1);
        let count = text.lines().count();
        for (at, line) in text.lines().enumerate() {
            input.push_str(line);
            input.push('\n');
            let is_last = at + 1 == count;
            let command = self.command(input.trim());
            match command {
                Some(Command::Help) => say(self.help())?,
                Some(Command::Exit) => return Ok(0),
                None => {}
            }
            if command.is_some() || input.trim().is_empty() {
                input.clear();
                begins = at + 2;
                continue;
            }
            if !is_last && self.repl.is_open(&input) {
                continue;
            }
            match self.run(&input, begins) {
                Ok(()) => {}
                Err(ReplError::Stopped) => return Ok(INTERRUPTED),
                Err(ReplError::Script(message)) => {
                    return Err(format!("the input that begins in line {begins}: {message}"));
                }
                Err(ReplError::Gone) => return Err("the project has ended".to_owned()),
            }
            input.clear();
            begins = at + 2;
        }
        Ok(0)
    }
}

/// A line as it is typed.
struct Line(Rc<Repl>);

impl Typed for Line {
    fn is_complete(&self, text: &str) -> bool {
        // An empty line ends what cannot end otherwise.
        text.ends_with("\n\n") || !self.0.is_open(text)
    }

    fn completions(&self, before: &str) -> (usize, Vec<String>) {
        let is_part = |one: char| one.is_alphanumeric() || matches!(one, '_' | '$' | '.' | ':');
        let start = before
            .char_indices()
            .rev()
            .take_while(|(_, one)| is_part(*one))
            .last()
            .map_or(before.len(), |(at, _)| at);
        let word = &before[start..];
        let (path, typed) = word.rsplit_once(['.', ':']).unwrap_or(("", word));
        if path.is_empty() && typed.is_empty() {
            return (before.len(), Vec::new());
        }
        let mut names = self.0.names(&path.replace(':', "."));
        names.retain(|name| name.starts_with(typed));
        (before.len() - typed.len(), names)
    }
}
