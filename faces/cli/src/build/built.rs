//! The command line of an executable made by `sampan build`: it serves the project that it carries.

use crate::arguments::server::ServerOptions;
use crate::db::restore::{self, RestoreArgs};
use crate::servers::health;
use crate::terminal::print::say;
use crate::{backup, config, control, exec, jobs, migrate};
use clap::{Parser, Subcommand, ValueEnum};
use sampan_project::archive::{About, Archive};
use sampan_project::config::{EnvFile, Flags};
use sampan_runtime::{ControlRequest, Storage};
use std::path::PathBuf;
use std::sync::Arc;

/// Serves the project in this file.
#[derive(Parser)]
#[command(
    name = "sampan",
    version,
    about,
    args_conflicts_with_subcommands = true,
    after_help = "The database and the storage folder lie in the current folder, unless the configuration says \
     otherwise."
)]
struct BuiltCli {
    #[command(subcommand)]
    command: Option<BuiltCommand>,
    #[command(flatten)]
    options: ServerOptions,
    /// Run the server as a process of its own, and start it again each time that it crashes.
    #[arg(long)]
    supervise: bool,
    /// Print what is in this file, with versions and checksums.
    #[arg(long)]
    about: bool,
    /// Print that as JSON.
    #[arg(long, requires = "about")]
    json: bool,
}

#[derive(Subcommand)]
enum BuiltCommand {
    /// Apply the migrations of the project to its database.
    Migrate {
        /// Apply none, and show which have been applied, as --status does.
        #[arg(value_enum, value_name = "status")]
        word: Option<MigrateWord>,
        #[command(flatten)]
        database: DatabaseOptions,
        /// Apply none, and show which have been applied.
        #[arg(long)]
        status: bool,
    },
    /// Copy the database of the project, which may be running.
    Backup {
        /// The file to copy the database to.
        #[arg(value_name = "FILE", value_parser = backup::a_file)]
        to: PathBuf,
        #[command(flatten)]
        database: DatabaseOptions,
        /// Replace the file if it exists.
        #[arg(long)]
        force: bool,
    },
    /// Make the database of the project from its copy elsewhere.
    Db {
        #[command(subcommand)]
        command: BuiltDbCommand,
    },
    /// Run a script in the project, such as to make the first user: a file on the disk, or one in this file.
    Exec(exec::ExecOptions),
    /// Look at the jobs of the project, run them again, cancel and remove them.
    Jobs(jobs::JobsArgs),
    /// Have the servers of this file in the current folder load the project anew.
    Reload(control::ControlArgs),
    /// Start this file, which may be a new one, in the place of the servers in the current folder, on the same sockets.
    Upgrade(control::ControlArgs),
    /// Ask the server of the project how it is: exit status 0 if it can answer requests, else 1.
    Health {
        #[command(flatten)]
        options: ServerOptions,
        #[command(flatten)]
        asked: health::AskedArgs,
    },
    /// Print the configuration that is in force, and where each value comes from.
    Config {
        #[command(flatten)]
        options: ServerOptions,
        /// Print an object of JSON for each key.
        #[arg(long)]
        json: bool,
    },
}

/// The command of `migrate` beside applying.
#[derive(Clone, Copy, ValueEnum)]
enum MigrateWord {
    /// Shows which migrations have been applied.
    Status,
}

#[derive(Subcommand)]
enum BuiltDbCommand {
    /// Make the database from its copy elsewhere, as it was at a moment.
    Restore(RestoreArgs),
}

/// The options for the place of the database.
#[derive(clap::Args)]
struct DatabaseOptions {
    /// The database: a file, or postgres://user@host/database
    /// [default: what the configuration says, or data.db in the current folder].
    #[arg(long, value_name = "FILE|URL")]
    db: Option<PathBuf>,
    /// A configuration file, instead of the one in this file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A file of variables for the project, NAME=value a line.
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
}

impl DatabaseOptions {
    fn storage(self, archive: &Arc<Archive>) -> Result<Storage, String> {
        Storage::resolve(&Flags {
            db: self.db,
            config: self.config,
            env_file: self.env_file.map_or(EnvFile::None, EnvFile::At),
            archive: Some(Arc::clone(archive)),
            ..Flags::default()
        })
    }
}

pub(crate) fn run(archive: &Arc<Archive>) -> Result<i32, String> {
    let cli = BuiltCli::parse();
    let carried = |options: ServerOptions| Flags {
        archive: Some(Arc::clone(archive)),
        ..options.flags()
    };
    if cli.about {
        return tell(&archive.about()?, cli.json).map(|()| 0);
    }
    match cli.command {
        None if cli.supervise => crate::supervise::run(),
        None => crate::run::run(carried(cli.options)),
        Some(BuiltCommand::Migrate {
            word,
            database,
            status,
        }) => {
            let storage = database.storage(archive)?;
            let done = match status || word.is_some() {
                true => migrate::status(&storage),
                false => migrate::apply(&storage),
            };
            done.map(|()| 0)
        }
        Some(BuiltCommand::Backup {
            to,
            database,
            force,
        }) => backup::copy(&database.storage(archive)?, &to, force).map(|()| 0),
        Some(BuiltCommand::Db {
            command: BuiltDbCommand::Restore(mut args),
        }) => {
            args.storage.database.archive = Some(Arc::clone(archive));
            restore::run(args)
        }
        Some(BuiltCommand::Exec(options)) => exec::run_packed(options, archive),
        Some(BuiltCommand::Jobs(args)) => jobs::run(args.of_archive(archive)),
        Some(BuiltCommand::Reload(args)) => control::run(&args, ControlRequest::Reload).map(|()| 0),
        Some(BuiltCommand::Upgrade(args)) => {
            control::run(&args, ControlRequest::Upgrade).map(|()| 0)
        }
        Some(BuiltCommand::Health { options, asked }) => health::ask_own(&carried(options), &asked),
        Some(BuiltCommand::Config { options, json }) => {
            config::print(&carried(options), json).map(|()| 0)
        }
    }
}

/// Prints what is inside. The lines of the files are those of `sha256sum`, with lengths.
fn tell(about: &About, as_json: bool) -> Result<(), String> {
    let (executable_bytes, executable) = &about.executable;
    if as_json {
        let files = about.files.iter().map(|(path, bytes, sha256)| {
            serde_json::json!({ "path": path, "bytes": bytes, "sha256": sha256 })
        });
        return say(serde_json::json!({
            "sampan": about.version,
            "built_by": about.made_by,
            "entry": about.entry,
            "executable": { "bytes": executable_bytes, "sha256": executable },
            "archive": { "bytes": about.archive_bytes, "files": files.collect::<Vec<_>>() },
        }));
    }
    say(format_args!(
        "sampan {} serves {}, built by sampan {}",
        about.version, about.entry, about.made_by
    ))?;
    say(format_args!(
        "{executable}  {executable_bytes:>10}  (sampan itself)"
    ))?;
    for (path, bytes, sha256) in &about.files {
        say(format_args!("{sha256}  {bytes:>10}  {path}"))?;
    }
    say(format_args!(
        "{} files in an archive of {} bytes; all checksums are right",
        about.files.len(),
        about.archive_bytes
    ))
}
