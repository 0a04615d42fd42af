//! `sampan migrate`: applies migrations, shows them, makes a new one.

use crate::arguments::database::{DatabaseArgs, StorageArgs, with_meant_command};
use crate::terminal::print::say;
use clap::Subcommand;
use sampan_db::migrate;
use sampan_db::migrate::{MigrationProgress, MigrationState};
use sampan_runtime::Storage;
use std::io::{self, Write as _};
use std::path::PathBuf;

/// The error about arguments before a command that stand behind it.
pub(crate) const ONLY_DATABASE_BEFORE: &str =
    "before a command there are --db, --config and --env-file only: write the others behind it";

/// The arguments of `sampan migrate`.
#[derive(clap::Args)]
pub(crate) struct MigrateArgs {
    #[command(subcommand)]
    command: Option<MigrateCommand>,
    /// The project's folder, or a file in it [default: the folder you are in].
    #[arg(value_name = "DIR|FILE")]
    path: Option<PathBuf>,
    /// Apply none, and show which have been applied, as the command status does.
    #[arg(long)]
    status: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Subcommand)]
enum MigrateCommand {
    /// Show which migrations have been applied.
    Status(StorageArgs),
    /// Make a file for a new migration.
    New(NewArgs),
}

/// The arguments of `sampan migrate new`.
#[derive(clap::Args)]
pub(crate) struct NewArgs {
    /// The purpose of the migration, as in add_email.
    name: String,
    /// The project's folder, or a file in it.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(crate) fn run(args: MigrateArgs) -> Result<(), String> {
    if args.command.is_some() && (args.path.is_some() || args.status) {
        return Err(ONLY_DATABASE_BEFORE.to_owned());
    }
    match args.command {
        None => {
            let path = args.path.unwrap_or_else(|| ".".into());
            let storage = StorageArgs {
                path: path.clone(),
                database: args.database,
            };
            let meant = |fault| with_meant_command::<MigrateCommand>(&path, fault);
            let storage = storage.resolve().map_err(meant)?;
            match args.status {
                true => status(&storage),
                false => apply(&storage),
            }
        }
        Some(MigrateCommand::Status(storage)) => status(&storage.resolve()?),
        Some(MigrateCommand::New(args)) => create(args),
    }
}

pub(crate) fn create(args: NewArgs) -> Result<(), String> {
    let storage = StorageArgs {
        path: args.path,
        database: args.database,
    };
    let made = migrate::create(storage.resolve()?.migrations.folder(), &args.name);
    say(made.map_err(|error| error.to_string())?.display())
}

pub(crate) fn apply(storage: &Storage) -> Result<(), String> {
    // A database on a server gets the server's own tables also where there are no migrations.
    if !storage.db.is_postgres() {
        check_folder(storage)?;
    }
    let hints = migrate::hints(&storage.db, &storage.migrations);
    for hint in hints.map_err(|error| error.to_string())? {
        // Standard error may be gone.
        let _ = writeln!(io::stderr(), "warning: {hint}");
    }
    let mut said = Ok(());
    let mut tell = |progress: MigrationProgress<'_>| {
        let next = match progress {
            MigrationProgress::Begins(name) => say(format_args!("applying {name}")),
            MigrationProgress::Waits(name) => say(format_args!(
                "{name} waits: another process applies migrations"
            )),
            MigrationProgress::Applied(name) => say(format_args!("applied {name}")),
        };
        if said.is_ok() {
            said = next;
        }
    };
    let report = migrate::run(&storage.db, &storage.migrations, &mut tell)
        .map_err(|error| error.to_string())?;
    said?;
    if !sampan_runtime::make_server_tables(&storage.db)?.is_empty() {
        say("made the server's own tables, whose names begin with _sampan_")?;
    }
    say(format_args!(
        "{}: {} applied now, {} before",
        storage.db.shown(),
        report.applied.len(),
        report.known
    ))
}

pub(crate) fn status(storage: &Storage) -> Result<(), String> {
    check_folder(storage)?;
    let entries =
        migrate::status(&storage.db, &storage.migrations).map_err(|error| error.to_string())?;
    let width = entries
        .iter()
        .map(|entry| entry.name.len())
        .max()
        .unwrap_or(0);
    for entry in &entries {
        let state = match &entry.state {
            MigrationState::Applied(at) => format!("applied {at}"),
            MigrationState::Pending => "pending".to_owned(),
            MigrationState::Changed(at) => format!("CHANGED since it was applied {at}"),
            MigrationState::Missing(at) => format!("MISSING, was applied {at}"),
            MigrationState::Late => "LATE: later ones were applied already".to_owned(),
        };
        say(format_args!("{:width$}  {state}", entry.name))?;
    }
    let faults = entries.iter().filter(|entry| entry.is_fault()).count();
    if faults > 0 {
        return Err(format!(
            "{faults} of {} migrations do not fit the database {}",
            entries.len(),
            storage.db.shown()
        ));
    }
    if entries.is_empty() {
        say(format_args!(
            "{}: no migrations",
            storage.migrations.folder().display()
        ))?;
    }
    Ok(())
}

fn check_folder(storage: &Storage) -> Result<(), String> {
    if storage.migrations.exist() {
        return Ok(());
    }
    Err(format!(
        "the project has no migrations: there is no folder {}; make the first one with sampan migrate new NAME",
        storage.migrations.folder().display()
    ))
}
