//! The developer's commands, run as `cargo xtask COMMAND`.
//!
//! `test` is the one command that decides whether a change is good: the checks, every test and every
//! fuzz target. `tidy` runs the house rules alone. `bench` measures Sampan beside its peers.

mod bench;
mod children;
mod project;
#[cfg(test)]
mod scratch;
mod tally;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What goes wrong in a command: a sentence for the developer.
type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The developer's commands of Sampan"
)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything that must hold: fmt, tidy, clippy, rustdoc, all tests, all fuzz targets
    Test(test::Options),
    /// Run the house rules alone: crate arrows, twin specs, module docs, unsafe code, pins, ...
    Tidy,
    /// Write docs/reference.md and types/ from the tables of functions
    Codegen,
    /// Measure Sampan beside its peers
    Bench {
        #[command(subcommand)]
        what: Bench,
    },
    /// Hold idle keep-alive connections open until standard input ends (`bench` starts this itself)
    #[command(hide = true)]
    IdleClient(bench::IdleClient),
}

#[derive(Subcommand)]
enum Bench {
    /// The routes of examples/hello: JSON, a parameter, an echo, a precomputed answer
    Hello(bench::HelloOptions),
    /// The database: writes, reads and both, beside Bun, Node.js and Go with SQLite
    Db(bench::DbOptions),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(error) = children::end_with_this_process() {
        eprintln!("error: cannot watch for signals: {error}");
        return ExitCode::FAILURE;
    }
    let outcome = match &cli.command {
        Command::Test(options) => test::run(options),
        Command::Tidy => tidy::run(),
        Command::Codegen => codegen(),
        Command::Bench { what } => match what {
            Bench::Hello(options) => bench::hello(options),
            Bench::Db(options) => bench::db(options),
        },
        Command::IdleClient(options) => bench::idle_client(options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the generator, which lies where the tables can be reached.
fn codegen() -> Result<bool, Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = [
        "run",
        "--quiet",
        "--package",
        "sampan-testkit",
        "--bin",
        "codegen",
    ];
    let status = std::process::Command::new(cargo).args(arguments).status()?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn an_unknown_command_is_named_in_the_error() {
        let error = Cli::try_parse_from(["xtask", "tets"])
            .err()
            .map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("'tets'")));
    }
}
