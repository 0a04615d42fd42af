//! `sampan db`: SQL over the database of a project, typed, given or piped; dumps, and what loads them.

mod copy;
mod files;
mod output;
mod prompt;
pub(crate) mod restore;

use crate::arguments::database::{DatabaseArgs, StorageArgs, with_meant_command};
use crate::migrate;
use crate::terminal::signals;
use clap::{Subcommand, ValueEnum};
use output::Printer;
use sampan_db::console::{Console, Interrupt, RunError, SqlFault};
use sampan_host::names::nearest_name;
use sampan_runtime::Storage;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The exit status of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// The arguments of `sampan db`.
#[derive(clap::Args)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    command: Option<DbCommand>,
    /// The project's folder, or a file in it [default: the folder you are in].
    #[arg(value_name = "DIR|FILE")]
    path: Option<String>,
    /// The SQL to run. Without it a prompt begins, or what is piped is run.
    sql: Option<String>,
    /// Let statements write.
    #[arg(long)]
    write: bool,
    /// The way rows are printed.
    #[arg(long, value_enum, default_value = "table")]
    mode: Mode,
    /// Print JSON, as --mode json does.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Subcommand)]
enum DbCommand {
    /// Write the SQL that makes the database.
    Dump(files::DumpArgs),
    /// Run a file of SQL, such as a dump: all of it, or nothing.
    Load(files::LoadArgs),
    /// Copy the file of SQLite to a PostgreSQL server.
    Copy(copy::CopyArgs),
    /// Make the database from its copy elsewhere, as it was at a moment.
    Restore(restore::RestoreArgs),
    /// Run seeds.sql of the project: all of it, or nothing.
    Seed(StorageArgs),
    /// Apply the migrations that are not applied, as sampan migrate does.
    Migrate(StorageArgs),
    /// Show which migrations have been applied.
    Status(StorageArgs),
    /// Make a file for a new migration.
    New(migrate::NewArgs),
}

/// The way rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Columns below each other.
    Table,
    /// Comma-separated values, with a line of names.
    Csv,
    /// A list of objects per statement. A second column of one name is `name:1`.
    Json,
    /// A line per value.
    Line,
}

pub(crate) fn run(args: DbArgs) -> Result<i32, String> {
    if args.command.is_some() && args.has_own() {
        return Err(migrate::ONLY_DATABASE_BEFORE.to_owned());
    }
    match args.command {
        Some(DbCommand::Dump(args)) => files::dump(args),
        Some(DbCommand::Load(args)) => files::load(args),
        Some(DbCommand::Seed(args)) => files::seed(args),
        Some(DbCommand::Copy(args)) => copy::run(args),
        Some(DbCommand::Restore(args)) => restore::run(args),
        Some(DbCommand::Migrate(args)) => migrate::apply(&args.resolve()?).map(|()| 0),
        Some(DbCommand::Status(args)) => migrate::status(&args.resolve()?).map(|()| 0),
        Some(DbCommand::New(args)) => migrate::create(args).map(|()| 0),
        None => ask(args),
    }
}

impl DbArgs {
    /// Reports whether there are arguments of SQL without a command.
    fn has_own(&self) -> bool {
        let has_text = self.path.is_some() || self.sql.is_some();
        has_text || self.write || self.json || self.mode != Mode::Table
    }
}

fn ask(args: DbArgs) -> Result<i32, String> {
    let (path, sql) = path_and_sql(args.path, args.sql)?;
    let storage = StorageArgs {
        path,
        database: args.database,
    };
    let console = Session::open(storage, args.write)?;
    let mode = if args.json { Mode::Json } else { args.mode };
    let mut printer = Printer::new(mode);
    let text = match sql {
        Some(sql) => sql,
        None if io::stdin().is_terminal() => return prompt::run(&console, printer),
        None => {
            let mut text = String::new();
            let read = io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| format!("cannot read standard input: {error}"))?;
            text
        }
    };
    prompt::run_text(&console, &mut printer, &text)
}

/// The words that a statement of SQL can begin with.
const STATEMENTS: [&str; 13] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES", "EXPLAIN", "PRAGMA",
    "CREATE", "DROP", "ALTER", "VACUUM",
];

/// One argument may be either: what is there is a project, and what has a blank, begins with `.` or is a word of SQL is
/// SQL.
fn path_and_sql(
    path: Option<String>,
    sql: Option<String>,
) -> Result<(PathBuf, Option<String>), String> {
    match (path, sql) {
        (Some(text), None) if !Path::new(&text).exists() => {
            let word = text.to_ascii_uppercase();
            let is_sql = text.contains([' ', '\n', ';', '('])
                || text.starts_with('.')
                || STATEMENTS.contains(&word.as_str());
            if is_sql {
                return Ok((".".into(), Some(text)));
            }
            let known = STATEMENTS.map(str::to_owned).to_vec();
            let meant = nearest_name(&word, known).map(|meant| format!("; did you mean {meant}?"));
            let fault =
                format!("{text} does not exist: name the project's folder, or write SQL in quotes");
            Err(match meant {
                Some(meant) => fault + &meant,
                None => with_meant_command::<DbCommand>(Path::new(&text), fault),
            })
        }
        (path, sql) => Ok((path.unwrap_or_else(|| ".".to_owned()).into(), sql)),
    }
}

/// The open database, and whether a statement runs that Ctrl-C is meant for.
struct Session {
    console: Console,
    is_running: Arc<AtomicBool>,
    /// True at a prompt, which a Ctrl-C that comes a moment late must not end.
    is_prompt: Arc<AtomicBool>,
    path: PathBuf,
    is_writer: bool,
}

impl Session {
    fn open(storage: StorageArgs, is_writer: bool) -> Result<Self, String> {
        Self::of(storage.resolve()?, is_writer)
    }

    fn of(storage: Storage, is_writer: bool) -> Result<Self, String> {
        let opened = Console::open(&storage.db, is_writer);
        let console = opened.map_err(|error| error.to_string())?;
        let is_running = Arc::new(AtomicBool::new(false));
        let is_prompt = Arc::new(AtomicBool::new(false));
        stop_on_interrupt(
            console.interrupt(),
            Arc::clone(&is_running),
            Arc::clone(&is_prompt),
        )?;
        Ok(Self {
            console,
            is_running,
            is_prompt,
            path: storage.db.path,
            is_writer,
        })
    }

    /// Does `work`, which Ctrl-C stops.
    fn during<T>(&self, work: impl FnOnce(&Console) -> T) -> T {
        self.is_running.store(true, Relaxed);
        let done = work(&self.console);
        self.is_running.store(false, Relaxed);
        done
    }
}

fn stop_on_interrupt(
    interrupt: Interrupt,
    is_running: Arc<AtomicBool>,
    is_prompt: Arc<AtomicBool>,
) -> Result<(), String> {
    signals::on_interrupt(move || {
        let is_running = is_running.load(Relaxed);
        if is_running {
            interrupt.stop();
        }
        is_running || is_prompt.load(Relaxed)
    })
}

/// Returns the reason why SQL did not run to its end: for people, with the place; the exit status where that is not an
/// error of the SQL.
fn told(error: RunError, name: &str) -> Result<i32, String> {
    match error {
        RunError::Sql(fault) => Err(shown(&fault, name)),
        RunError::Interrupted => {
            say_to_errors("stopped");
            Ok(INTERRUPTED)
        }
        RunError::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        RunError::Output(error) => Err(format!("cannot write to standard output: {error}")),
    }
}

fn say_to_errors(line: &str) {
    use std::io::Write;
    // Standard error may be gone.
    let _ = writeln!(io::stderr(), "{line}");
}

/// A fault with the line that it is in, and a mark below its place.
fn shown(fault: &SqlFault, name: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 120;
    if fault.line == 0 {
        return fault.message.clone();
    }
    let place = match name {
        "" => format!("line {}, column {}", fault.line, fault.column),
        _ => format!("{name}:{}:{}", fault.line, fault.column),
    };
    // A line that is long is shown around its fault.
    let skipped = (fault.column - 1).saturating_sub(SHOWN_CHARS_MAX * 3 / 4);
    let line: String = fault
        .text
        .chars()
        .skip(skipped)
        .take(SHOWN_CHARS_MAX)
        .map(|one| if one.is_control() { ' ' } else { one })
        .collect();
    let mark = " ".repeat(fault.column - 1 - skipped);
    format!(
        "{place}: {}\n{:>5} | {}\n      | {mark}^",
        fault.message,
        fault.line,
        line.trim_end()
    )
}
