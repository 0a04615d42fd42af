//! `sampan completions` and `sampan man`: what shells and `man` know about the command, made from its own description.

use crate::Cli;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::io::{self, Write};

/// The arguments of `sampan completions`.
#[derive(clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that is to complete commands.
    #[arg(value_enum)]
    shell: Shell,
}

/// The arguments of `sampan man`.
#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// The command that the page is about [default: all of sampan].
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

/// Prints the script that a shell loads.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), String> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sampan", &mut text);
    print(&text)
}

/// Prints a page of the manual.
pub(crate) fn man(args: &ManArgs) -> Result<(), String> {
    let whole = Cli::command();
    let command = match &args.command {
        None => whole,
        Some(name) => page_of(whole, name)?,
    };
    let mut text = Vec::new();
    let made = clap_mangen::Man::new(command).render(&mut text);
    made.map_err(|error| format!("cannot make the page: {error}"))?;
    print(&text)
}

/// The command with this name, called as its users call it.
fn page_of(mut whole: Command, name: &str) -> Result<Command, String> {
    whole.build();
    let found = whole.find_subcommand(name).cloned();
    found.ok_or_else(|| format!("there is no command {name}: see sampan --help"))
}

fn print(text: &[u8]) -> Result<(), String> {
    match io::stdout().write_all(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}
