//! SQL and commands with a dot, as they are typed or piped.

use super::output::Printer;
use super::{Mode, Session, shown};
use crate::terminal::paint;
use crate::terminal::print::say;
use crate::terminal::prompt::{Input, Prompt, Typed};
use clap::ValueEnum;
use sampan_db::console::RunError;
use sampan_db::console::statements::is_complete;
use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;

const HELP: &str = "\
.tables         the tables and views
.schema [NAME]  the statements that made them, or what belongs to one
.indexes        the indexes and their columns
.mode MODE      how rows are printed: table, csv, json or line
.help           this text
.quit           the end, as exit and Ctrl-D
A statement ends with ;. EXPLAIN before it shows how SQLite would carry it out. Ctrl-C stops what runs.";

const COMMANDS: [&str; 6] = [".tables", ".schema", ".indexes", ".mode", ".help", ".quit"];
const KEYWORDS: [&str; 40] = [
    "ALTER",
    "AND",
    "AS",
    "ASC",
    "BEGIN",
    "BETWEEN",
    "BY",
    "CASE",
    "COMMIT",
    "CREATE",
    "DELETE",
    "DESC",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXISTS",
    "EXPLAIN",
    "FROM",
    "GROUP",
    "HAVING",
    "INDEX",
    "INSERT",
    "INTO",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "ORDER",
    "RETURNING",
    "ROLLBACK",
    "SELECT",
    "TABLE",
    "UNION",
    "UPDATE",
    "VALUES",
    "WHERE",
    "WITH",
];

struct Sql {
    words: Vec<String>,
}

impl Typed for Sql {
    fn is_complete(&self, text: &str) -> bool {
        let word = text.trim();
        matches!(word, "quit" | "exit" | "help" | "q") || word.starts_with('.') || is_complete(text)
    }

    fn completions(&self, before: &str) -> (usize, Vec<String>) {
        let is_part = |one: char| one.is_alphanumeric() || one == '_' || one == '.';
        let start = before
            .char_indices()
            .rev()
            .take_while(|(_, one)| is_part(*one))
            .last()
            .map_or(before.len(), |(at, _)| at);
        if before.trim_start().starts_with('.') && start == before.len() - before.trim_start().len()
        {
            let known = COMMANDS
                .iter()
                .filter(|it| it.starts_with(&before[start..]));
            return (start, known.map(|it| (*it).to_owned()).collect());
        }
        // After `table.` the column is completed.
        let start = before[start..]
            .rfind('.')
            .map_or(start, |dot| start + dot + 1);
        let typed = before[start..].to_lowercase();
        if typed.is_empty() {
            return (start, Vec::new());
        }
        let begins = |word: &&str| word.to_lowercase().starts_with(&typed);
        let names = self.words.iter().map(String::as_str);
        let is_lower = before[start..].starts_with(char::is_lowercase);
        let keywords = KEYWORDS
            .into_iter()
            .filter(begins)
            .map(|word| match is_lower {
                true => word.to_lowercase(),
                false => word.to_owned(),
            });
        let found = names.filter(begins).map(str::to_owned).chain(keywords);
        (start, found.collect())
    }
}

/// The prompt, until its user ends it.
pub(super) fn run(session: &Session, mut printer: Printer) -> Result<i32, String> {
    session.is_prompt.store(true, Relaxed);
    let access = match session.is_writer {
        true => "writing",
        false => "reading only; --write lets statements write",
    };
    let about = format!(
        "{}, {access}; .help shows what can be typed",
        session.path.display()
    );
    say(paint::dim(&about, true))?;
    let words = session.console.words();
    let mut prompt = Prompt::new("db_history", Sql { words })?;
    loop {
        let marked = match session.console.in_transaction() {
            true => "sql (transaction)> ",
            false => "sql> ",
        };
        let text = match prompt.read(marked)? {
            Input::Text(text) => text,
            Input::Cancelled => continue,
            Input::End => break,
        };
        if is_end(&text) {
            break;
        }
        let text = match text.trim().trim_end_matches(';') {
            "help" => ".help".to_owned(),
            _ => text,
        };
        match input(session, &mut printer, &text) {
            Ok(()) => {}
            Err(Failed::Run(RunError::Output(error)))
                if error.kind() == io::ErrorKind::BrokenPipe =>
            {
                break;
            }
            Err(failed) => {
                let _ = printer.reset();
                let message = failed.told();
                let _ = writeln!(io::stderr(), "{}", paint::red(&message, true));
            }
        }
        // What was made can be completed next.
        if let Some(typed) = prompt.typed() {
            typed.words = session.console.words();
        }
    }
    Ok(0)
}

/// The reason why an input failed.
enum Failed {
    Run(RunError),
    /// A command with a dot.
    Command(String),
}

impl Failed {
    fn told(self) -> String {
        match self {
            Self::Run(RunError::Sql(fault)) => shown(&fault, ""),
            Self::Run(RunError::Interrupted) => "stopped".to_owned(),
            Self::Run(RunError::Output(error)) => format!("cannot write: {error}"),
            Self::Command(message) => message,
        }
    }
}

/// A text that was given or piped, up to its first fault.
pub(super) fn run_text(
    session: &Session,
    printer: &mut Printer,
    text: &str,
) -> Result<i32, String> {
    // Commands with a dot have a line of their own, between statements.
    let mut sql = String::new();
    let mut is_sql_blank = true;
    let mut failed = None;
    for line in text.split_inclusive('\n') {
        let is_command = line.trim_start().starts_with('.') || is_end(line);
        let is_command = is_command && may_begin_behind(&sql);
        if !is_command {
            sql.push_str(line);
            is_sql_blank &= line.trim().is_empty();
            continue;
        }
        if !is_sql_blank {
            failed = session.during(|console| console.run(&sql, printer)).err();
        }
        if failed.is_some() {
            break;
        }
        // The lines before are kept as blank ones, so that a fault later tells its line in the whole text.
        let lines = sql.matches('\n').count() + 1;
        sql = "\n".repeat(lines);
        is_sql_blank = true;
        if is_end(line) {
            return Ok(0);
        }
        match command(session, printer, line.trim()) {
            Ok(()) => {}
            Err(Failed::Command(message)) => return Err(format!("line {lines}: {message}")),
            Err(Failed::Run(error)) => return super::told(error, ""),
        }
    }
    if failed.is_none() && !is_sql_blank {
        failed = session.during(|console| console.run(&sql, printer)).err();
    }
    match failed {
        None => Ok(0),
        Some(error) => {
            let _ = printer.reset();
            super::told(error, "")
        }
    }
}

/// Reports whether a statement may begin behind a text: those in it have ended, and no comment is open.
fn may_begin_behind(sql: &str) -> bool {
    is_complete(sql) && !is_complete(&format!("{sql}x"))
}

/// Reports whether a line ends the input, as people type it at other prompts: no statement of SQL begins like this.
fn is_end(line: &str) -> bool {
    let word = line.trim().trim_end_matches(';').trim_end();
    matches!(word, "quit" | "exit" | "q" | ".quit" | ".exit")
}

fn input(session: &Session, printer: &mut Printer, text: &str) -> Result<(), Failed> {
    if text.trim_start().starts_with('.') {
        return command(session, printer, text.trim());
    }
    session
        .during(|console| console.run(text, printer))
        .map_err(Failed::Run)
}

fn command(session: &Session, printer: &mut Printer, text: &str) -> Result<(), Failed> {
    let mut words = text.trim_end_matches(';').split_whitespace();
    let (word, argument) = (words.next().unwrap_or_default(), words.next());
    let console = &session.console;
    let lines = match word {
        ".tables" => console.tables(),
        ".schema" => console.schema(argument),
        ".indexes" | ".indices" => console.indexes(),
        ".help" => Ok(HELP.lines().map(str::to_owned).collect()),
        ".mode" => {
            let mode = argument.and_then(|word| Mode::from_str(word, true).ok());
            printer.mode = mode.ok_or_else(|| {
                Failed::Command(".mode takes table, csv, json or line".to_owned())
            })?;
            return Ok(());
        }
        _ => {
            return Err(Failed::Command(format!(
                "there is no command {word}: .help shows them"
            )));
        }
    };
    let lines = lines.map_err(|error| Failed::Command(error.to_string()))?;
    let written = printer.lines(&lines);
    written.map_err(|error| Failed::Run(RunError::Output(error)))
}
