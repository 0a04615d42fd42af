//! The `sampan` command: the words of the command line, turned into a call of `sampan-runtime` and an exit status.
//!
//! Exit status: 0 for an end in good order, 2 for a command line that makes no sense, 1 for anything else that keeps it
//! from running, 70 if the server gave up on itself.

mod allocator;
mod backup;
mod bench;
mod build;
mod check;
mod config;
mod control;
mod crash;
mod db;
mod dev;
mod exec;
mod jobs;
mod loaded_project;
mod migrate;
mod new;
mod profile;
mod repl;
mod servers;
mod shell_help;
mod supervise;
mod terminal;
mod test;
mod tls;

use clap::{Parser, Subcommand};
use sampan_host::log::Level;
use sampan_project::archive::Archive;
use sampan_project::config::{EnvFile, Flags};
use sampan_runtime::{AppConfig, Confinement, ControlRequest, Storage};
use servers::{health, top};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use terminal::{paint, prompt, signals};

/// A web application server in one executable, for Lua and JavaScript.
#[derive(Parser)]
#[command(name = "sampan", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a small project to begin with.
    New(new::NewArgs),
    /// Serve a project.
    Run(RunArgs),
    /// Serve a project while you write it: each save is served at once.
    Dev(dev::DevArgs),
    /// Have the servers of a project load it anew.
    Reload(control::ControlArgs),
    /// Start the executable of a project's servers again, which may be a new one, on the same sockets.
    Upgrade(control::ControlArgs),
    /// Apply the migrations of a project to its database.
    Migrate(migrate::MigrateArgs),
    /// Run the tests of a project.
    Test(test::TestArgs),
    /// Find what is wrong with a project, without serving it.
    Check(check::CheckArgs),
    /// Print the routes, jobs and schedules of a project.
    Routes(check::routes::RoutesArgs),
    /// Copy the database of a project, which may be running.
    Backup(backup::BackupArgs),
    /// Put a server or a route of a project under load, and measure it.
    Bench(bench::BenchArgs),
    /// Draw where the scripts of a project spend their time, under load.
    Profile(profile::ProfileArgs),
    /// Run lines of Lua or JavaScript in the environment of a project.
    Repl(repl::ReplArgs),
    /// Run a script in a project, such as to make the first user.
    Exec(exec::ExecArgs),
    /// Ask the database of a project by SQL, dump it, load it.
    Db(db::DbArgs),
    /// Ask a server how it is: exit status 0 if it can answer requests, else 1.
    Health(health::HealthArgs),
    /// Show what a server does, second by second.
    Top(top::TopArgs),
    /// Look at the jobs of a project, run them again, cancel and remove them.
    Jobs(jobs::JobsArgs),
    /// Make one executable of this program and a project.
    Build(build::BuildArgs),
    /// Look after the certificates that a server gets by itself.
    Tls(tls::TlsArgs),
    /// Print the configuration that is in force, and where each value comes from.
    Config(config::ConfigArgs),
    /// Print what a shell loads to complete commands.
    Completions(shell_help::CompletionsArgs),
    /// Print a page of the manual, for man -l -.
    Man(shell_help::ManArgs),
}

/// The arguments of `sampan run`.
#[derive(clap::Args)]
struct RunArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Print what the server keeps of its rights when it has started ([sandbox]), and what this kernel can do.
    #[arg(long)]
    explain_sandbox: bool,
    /// Run the server as a process of its own, and start it again each time that it crashes.
    #[arg(long)]
    supervise: bool,
}

/// The project to serve, and the options.
#[derive(clap::Args)]
struct ServerArgs {
    /// The project's folder (with app.lua or app.js in it), or the file to run.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    #[command(flatten)]
    options: ServerOptions,
}

/// The options of serving.
#[derive(clap::Args)]
struct ServerOptions {
    /// Listen on these addresses, separated by commas between [default: 127.0.0.1:8080].
    #[arg(long, value_name = "HOST:PORT|unix:PATH", value_parser = an_address, value_delimiter = ',')]
    listen: Vec<String>,
    /// An option that many other servers have in its place: only its refusal is of use.
    #[arg(long, hide = true, value_name = "PORT", value_parser = no_port)]
    port: Option<String>,
    /// Speak HTTPS with certificates that the server gets and renews by itself, for these domains (ACME; Let's Encrypt
    /// unless [tls.acme] directory says otherwise).
    #[arg(long, value_name = "DOMAIN", value_parser = a_domain, value_delimiter = ',')]
    tls: Vec<String>,
    /// Speak HTTPS with this certificate and its chain (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Become this user, once it listens, if root starts it.
    #[arg(long, value_name = "NAME[:GROUP]")]
    user: Option<String>,
    /// The number of threads that run scripts [default: one per core].
    #[arg(long, value_name = "N", value_parser = a_count)]
    workers: Option<usize>,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The database: a file, or the URL of PostgreSQL [default: data.db in the project's folder].
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Do not run the migrations of the project at start.
    #[arg(long)]
    no_migrate: bool,
    /// Restore the database from the copy of [backup] first, if there is none.
    #[arg(long)]
    restore: bool,
    /// A file of variables for the project, NAME=value a line. Those of the environment win. `sampan dev` reads .env by
    /// itself.
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// A value of the configuration, such as limits.body_bytes_max=10MB.
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
}

impl ServerArgs {
    fn flags(self) -> Flags {
        Flags {
            path: self.path,
            ..self.options.flags()
        }
    }
}

impl ServerOptions {
    fn flags(self) -> Flags {
        Flags {
            listen: Some(self.listen.join(",")).filter(|listen| !listen.is_empty()),
            tls: self.tls,
            tls_cert: self.tls_cert,
            tls_key: self.tls_key,
            user: self.user,
            workers: self.workers,
            config: self.config,
            db: self.db,
            no_migrate: self.no_migrate,
            restore: self.restore,
            set: self.set,
            env_file: self.env_file.map_or(EnvFile::None, EnvFile::At),
            ..Flags::default()
        }
    }
}

/// The place of a database, for the commands that only need that.
#[derive(clap::Args)]
struct StorageArgs {
    /// The project's folder, or a file in it.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// The database, if it is not where the project's folder says: before a command or behind it.
#[derive(clap::Args, Default)]
struct DatabaseArgs {
    /// The database: a file, or postgres://user@host/database
    /// [default: what sampan.toml says, or data.db in the project's folder].
    #[arg(long, value_name = "FILE|URL", global = true)]
    db: Option<PathBuf>,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// A file of variables, as that of sampan run [default: .env in the project's folder, if there is one].
    #[arg(long, value_name = "FILE", global = true)]
    env_file: Option<PathBuf>,
    /// The project that this program carries, in place of a folder.
    #[arg(skip)]
    archive: Option<Arc<Archive>>,
}

impl StorageArgs {
    fn resolve(self) -> Result<Storage, String> {
        let archive = self.database.archive;
        if archive.is_some() && self.path != Path::new(".") {
            let path = self.path.display();
            return Err(format!(
                "{path}: the project is in this file: leave the folder out, and name a database with --db"
            ));
        }
        Storage::resolve(&Flags {
            path: self.path,
            config: self.database.config,
            db: self.database.db,
            env_file: match (self.database.env_file, &archive) {
                (Some(file), _) => EnvFile::At(file),
                (None, Some(_)) => EnvFile::None,
                (None, None) => EnvFile::OfProject,
            },
            archive,
            ..Flags::default()
        })
    }
}

/// Adds the command that was probably meant to the error of a path that is not there: a word that is no command of `C`
/// is taken for a path.
fn with_meant_command<C: clap::Subcommand>(path: &Path, fault: String) -> String {
    if path.exists() {
        return fault;
    }
    let commands = C::augment_subcommands(clap::Command::new(""));
    let names = commands.get_subcommands().map(clap::Command::get_name);
    fault + &sampan_host::names::hint(&path.to_string_lossy(), names)
}

fn main() {
    if let Some(status) = sampan_runtime::serve_as_starter() {
        std::process::exit(status);
    }
    sampan_runtime::count_panics();
    sampan_serve::set_allocator(allocator::FUNCTIONS);
    let result = match Archive::of_this_program() {
        Ok(None) => command(),
        Ok(Some(archive)) => build::built::run(&archive),
        Err(fault) => Err(fault),
    };
    let status = result.unwrap_or_else(|message| {
        // Standard error may be full or gone, which is not a reason to panic.
        let _ = writeln!(io::stderr(), "sampan: {message}");
        1
    });
    // Not by returning: a thread that cannot be stopped must not keep the process.
    std::process::exit(status);
}

fn command() -> Result<i32, String> {
    match Cli::parse().command {
        Command::New(args) => new::run(&args).map(|()| 0),
        Command::Run(args) if args.explain_sandbox => {
            explain_sandbox(&args.server.flags()).map(|()| 0)
        }
        Command::Run(args) if args.supervise => supervise::run(),
        Command::Run(args) => run(args.server.flags()),
        Command::Dev(args) => dev::run(args),
        Command::Reload(args) => control::run(&args, ControlRequest::Reload).map(|()| 0),
        Command::Upgrade(args) => control::run(&args, ControlRequest::Upgrade).map(|()| 0),
        Command::Migrate(args) => migrate::run(args).map(|()| 0),
        Command::Test(args) => test::run(args),
        Command::Check(args) => check::run(args),
        Command::Routes(args) => check::routes::run(args).map(|()| 0),
        Command::Backup(args) => backup::run(args).map(|()| 0),
        Command::Bench(args) => bench::run(args),
        Command::Profile(args) => profile::run(args),
        Command::Repl(args) => repl::run(args),
        Command::Exec(args) => exec::run(args),
        Command::Db(args) => db::run(args),
        Command::Health(args) => health::run(args),
        Command::Top(args) => top::run(args),
        Command::Jobs(args) => jobs::run(args),
        Command::Build(args) => build::run(args).map(|()| 0),
        Command::Tls(args) => tls::run(args),
        Command::Config(args) => config::run(args).map(|()| 0),
        Command::Completions(args) => shell_help::completions(&args).map(|()| 0),
        Command::Man(args) => shell_help::man(&args).map(|()| 0),
    }
}

/// `--listen` as it is written, if it makes sense.
fn an_address(text: &str) -> Result<String, String> {
    sampan_project::config::address(text).map(|_| text.to_owned())
}

/// `--tls`, if a certificate can be had for it.
fn a_domain(text: &str) -> Result<String, String> {
    sampan_project::config::domain(text)
}

/// Says what to write in place of `--port`.
fn no_port(text: &str) -> Result<String, String> {
    let port: u16 = text.parse().unwrap_or(3000);
    Err(format!("write --listen 127.0.0.1:{port}"))
}

fn a_count(text: &str) -> Result<usize, String> {
    let most = sampan_project::config::WORKERS_MAX;
    match text.parse() {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ => Err(format!("it must be a number from 1 to {most}")),
    }
}

/// A number of things, in words.
fn counted(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

/// Prints a line. That the reader has gone is not a fault: what was to be done is done.
fn say(line: impl std::fmt::Display) -> Result<(), String> {
    match writeln!(io::stdout(), "{line}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}

fn run(flags: Flags) -> Result<i32, String> {
    let config =
        confined(&flags).inspect_err(|fault| sampan_runtime::report_failed_start(fault))?;
    let outcome = sampan_runtime::run_with(config, move || confined(&flags), crash::watch)?;
    Ok(outcome.exit_status().into())
}

/// Logs what is probably not meant so in the configuration of a server that starts.
fn warn(config: &AppConfig) {
    for warning in &config.base.warnings {
        config.program.logger.text(Level::Warn, warning.as_str());
    }
}

fn explain_sandbox(flags: &Flags) -> Result<(), String> {
    let explained = sampan_runtime::explain_sandbox(&confined(flags)?)?;
    say(explained.trim_end())
}

/// Resolves the configuration of a process that does nothing but serve, so that it can confine itself.
fn confined(flags: &Flags) -> Result<AppConfig, String> {
    let mut config = AppConfig::resolve(flags)?;
    let mut reads: Vec<PathBuf> = flags.config.iter().cloned().collect();
    if let EnvFile::At(file) = &flags.env_file {
        reads.push(file.clone());
    }
    config.program.confinement = Some(Confinement { reads });
    Ok(config)
}
