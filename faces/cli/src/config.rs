//! `sampan config`: what is in force, and where each value was written.

use crate::arguments::server::ServerArgs;
use crate::terminal::print::say;
use clap::Args;
use sampan_project::config::Flags;

#[derive(Args)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Print an object of JSON for each key.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: ConfigArgs) -> Result<(), String> {
    print(&args.server.flags(), args.json)
}

/// Prints every key in the form of `sampan.toml`; what was not written is a comment.
pub(crate) fn print(flags: &Flags, as_json: bool) -> Result<(), String> {
    let settings = sampan_runtime::settings(flags)?;
    let mut section = "";
    for setting in &settings {
        let (of, key) = setting.key.split_once('.').unwrap_or_default();
        if as_json {
            say(serde_json::json!({
                "key": setting.key, "value": setting.value, "origin": setting.origin.as_deref().unwrap_or("default"),
                "doc": setting.doc,
            }))?;
            continue;
        }
        if of != section {
            let space = if section.is_empty() { "" } else { "\n" };
            say(format_args!("{space}[{of}]"))?;
            section = of;
        }
        match (&setting.value, &setting.origin) {
            (Some(value), Some(origin)) => say(format_args!("{key} = {value}  # {origin}"))?,
            (Some(value), None) => say(format_args!("# {key} = {value}"))?,
            (None, _) => say(format_args!("# {key} is not set"))?,
        }
    }
    Ok(())
}
