//! `sampan dev`: serves a project while it is written.

use super::run::{self, DevFlags};
use crate::arguments::server::ServerArgs;
use crate::terminal::paint;
use std::io::IsTerminal;

/// The arguments of `sampan dev`.
#[derive(clap::Args)]
pub(crate) struct DevArgs {
    #[command(flatten)]
    run: ServerArgs,
    /// Show the first page in the browser.
    #[arg(long)]
    open: bool,
    /// Speak HTTPS, by a certificate of an authority of your own, which is made once.
    #[arg(long, conflicts_with_all = ["tls", "tls_cert", "tls_key"])]
    https: bool,
    /// Look for changes again and again, where the file system tells nothing of them (network, containers).
    #[arg(long)]
    poll: bool,
    /// Move the database away and begin with an empty one, if migrations were edited after they were applied.
    #[arg(long)]
    reset_db: bool,
}

pub(crate) fn run(args: DevArgs) -> Result<i32, String> {
    let flags = DevFlags {
        run: args.run.flags(),
        open: args.open,
        https: args.https,
        poll: args.poll,
        reset_db: args.reset_db,
        is_coloured: paint::is_coloured(std::io::stderr().is_terminal()),
    };
    Ok(run::run(flags)?.exit_status().into())
}
