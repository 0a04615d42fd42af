//! `sampan run`: serves a project in a process that does nothing else.

use crate::arguments::server::ServerArgs;
use crate::crash;
use crate::terminal::print::say;
use sampan_host::log::Level;
use sampan_project::config::{EnvFile, Flags};
use sampan_runtime::{AppConfig, Confinement};
use std::path::PathBuf;

/// The arguments of `sampan run`.
#[derive(clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Print what the server keeps of its rights when it has started ([sandbox]), and what this kernel can do.
    #[arg(long)]
    pub(crate) explain_sandbox: bool,
    /// Run the server as a process of its own, and start it again each time that it crashes.
    #[arg(long)]
    pub(crate) supervise: bool,
}

/// Serves a project until the server ends, and returns its exit status.
pub(crate) fn run(flags: Flags) -> Result<i32, String> {
    let config =
        confined(&flags).inspect_err(|fault| sampan_runtime::report_failed_start(fault))?;
    let outcome = sampan_runtime::run_with(config, move || confined(&flags), crash::watch)?;
    Ok(outcome.exit_status().into())
}

/// Logs what is probably not meant so in the configuration of a server that starts.
pub(crate) fn warn(config: &AppConfig) {
    for warning in &config.base.warnings {
        config.program.logger.text(Level::Warn, warning.as_str());
    }
}

/// Prints what the server would keep of its rights.
pub(crate) fn explain_sandbox(flags: &Flags) -> Result<(), String> {
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
