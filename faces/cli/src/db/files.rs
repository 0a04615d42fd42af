//! Files of SQL: dumps, what loads them, and the seeds of a project.

use super::{Session, told};
use crate::arguments::database::StorageArgs;
use crate::terminal::print::{counted, say};
use sampan_db::backup::{self, PartialCopy};
use sampan_db::console::{DumpError, Keys, LoadReport};
use sampan_db::migrate;
use sampan_db::migrate::MigrationState;
use sampan_runtime::Storage;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// The file with the rows that a new database of the project begins with.
const SEEDS: &str = "seeds.sql";

/// The arguments of `sampan db dump`.
#[derive(clap::Args)]
pub(super) struct DumpArgs {
    /// The file to write [default: standard output].
    #[arg(value_name = "FILE")]
    to: Option<PathBuf>,
    #[command(flatten)]
    storage: StorageArgs,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

/// The arguments of `sampan db load`.
#[derive(clap::Args)]
pub(super) struct LoadArgs {
    /// The file to run; - is standard input.
    #[arg(value_name = "FILE")]
    from: PathBuf,
    #[command(flatten)]
    storage: StorageArgs,
}

pub(super) fn dump(args: DumpArgs) -> Result<i32, String> {
    let session = Session::open(args.storage, false)?;
    let Some(to) = args.to.filter(|to| to.as_os_str() != "-") else {
        let mut out = BufWriter::new(io::stdout());
        let written = session.during(|console| console.dump(&mut out));
        return match written.and_then(|()| Ok(out.flush()?)) {
            Ok(()) => Ok(0),
            Err(DumpError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            Err(error) => Err(not_dumped(&error, "standard output")),
        };
    };
    let shown = to.display();
    let told = |error: sampan_host::Error| error.to_string();
    let target = backup::target_of(&to).map_err(told)?;
    backup::check_is_other(&session.path, &target).map_err(told)?;
    if to.exists() && !args.force {
        return Err(format!(
            "{shown} exists: name another file, or replace it with --force"
        ));
    }
    // It gets its name when it is whole.
    let part = PartialCopy::create(&target, &session.path).map_err(told)?;
    let written = write_dump(&session, part.file());
    written.map_err(|error| not_dumped(&error, &shown.to_string()))?;
    let bytes = part.finish(&target).map_err(told)?;
    say(format_args!("{shown}: {bytes} bytes of SQL"))?;
    Ok(0)
}

fn write_dump(session: &Session, part: &File) -> Result<(), DumpError> {
    let mut out = BufWriter::new(part);
    session.during(|console| console.dump(&mut out))?;
    out.flush()?;
    Ok(part.sync_all()?)
}

fn not_dumped(error: &DumpError, to: &str) -> String {
    match error {
        DumpError::Database(error) => error.to_string(),
        DumpError::Output(error) => format!("cannot write {to}: {error}"),
    }
}

pub(super) fn load(args: LoadArgs) -> Result<i32, String> {
    let (text, name) = match args.from.as_os_str() == "-" {
        true => {
            let mut text = String::new();
            let read = io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| format!("cannot read standard input: {error}"))?;
            (text, "standard input".to_owned())
        }
        false => (read(&args.from)?, args.from.display().to_string()),
    };
    let session = Session::open(args.storage, true)?;
    run_file(&session, &text, &name, Keys::CheckedAtEnd)
}

pub(super) fn seed(args: StorageArgs) -> Result<i32, String> {
    let storage = args.resolve()?;
    let root = storage
        .migrations
        .folder()
        .parent()
        .unwrap_or(Path::new(""));
    let file = root.join(SEEDS);
    if !file.is_file() {
        return Err(format!(
            "the project has no {}: write into it the INSERT statements that a new database begins with",
            file.display()
        ));
    }
    let text = read(&file)?;
    check_migrations(&storage)?;
    let session = Session::of(storage, true)?;
    run_file(&session, &text, &file.display().to_string(), Keys::Checked)
}

/// Seeds are written for the newest schema.
fn check_migrations(storage: &Storage) -> Result<(), String> {
    let entries = migrate::status(&storage.db, &storage.migrations);
    let entries = entries.map_err(|error| error.to_string())?;
    let is_pending = |state: &MigrationState| *state == MigrationState::Pending;
    match entries.iter().find(|entry| is_pending(&entry.state)) {
        Some(entry) => Err(format!(
            "the migration {} is not applied: run sampan migrate first",
            entry.name
        )),
        None => Ok(()),
    }
}

fn read(file: &Path) -> Result<String, String> {
    let shown = file.display();
    let bytes = fs::read(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    String::from_utf8(bytes).map_err(|_| {
        format!("{shown} is not UTF-8: is it SQL? A copy of a database is put in place as it is")
    })
}

/// Runs a file, with its progress on a terminal.
fn run_file(session: &Session, text: &str, name: &str, keys: Keys) -> Result<i32, String> {
    let is_watched = io::stderr().is_terminal();
    let mut shown = None;
    let mut progress = |done: usize| {
        let percent = done * 100 / text.len().max(1);
        if is_watched && shown != Some(percent) {
            shown = Some(percent);
            let _ = write!(io::stderr(), "\r{percent:3} %");
        }
    };
    let ran = session.during(|console| console.load(text, keys, &mut progress));
    if shown.is_some() {
        let _ = write!(io::stderr(), "\r     \r");
    }
    match ran {
        Ok(LoadReport {
            statements,
            changes,
        }) => {
            say(format_args!(
                "{name}: {}, {} changed",
                counted(statements, "statement"),
                counted(changes, "row")
            ))?;
            Ok(0)
        }
        Err(error) => {
            told(error, name).map_err(|message| format!("{message}\nnothing of it was kept"))
        }
    }
}
