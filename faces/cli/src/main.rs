//! The `sampan` command: the words of the command line, turned into a call of `sampan-runtime` and an exit status.
//!
//! Exit status: 0 for an end in good order, 2 for a command line that makes no sense, 1 for anything else that keeps it
//! from running, 70 if the server gave up on itself.

mod allocator;
mod arguments;
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
mod run;
mod servers;
mod shell_help;
mod supervise;
mod terminal;
mod test;
mod tls;

use clap::{Parser, Subcommand};
use sampan_project::archive::Archive;
use sampan_runtime::ControlRequest;
use servers::{health, top};
use std::io::{self, Write};

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
    Run(run::RunArgs),
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
            run::explain_sandbox(&args.server.flags()).map(|()| 0)
        }
        Command::Run(args) if args.supervise => supervise::run(),
        Command::Run(args) => run::run(args.server.flags()),
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
