//! `sampan db restore`: a database from its copy elsewhere.

use crate::arguments::database::StorageArgs;
use crate::terminal::print::say;
use sampan_runtime::{RestoreOptions, Storage, restore};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The exit status of a restore that has reached a state, from a copy that is damaged.
const DAMAGED: i32 = 3;

/// The arguments of `sampan db restore`.
#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    /// The place of the copy, such as file:///folder [default: the url of [backup]].
    #[arg(value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    pub(crate) storage: StorageArgs,
    /// The moment, such as 2026-11-27T14:05:00Z [default: the newest state].
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// The file to write [default: the database of the project].
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
    /// Restore nothing, and list what can be restored: the first and the last moment of each generation.
    #[arg(long, conflicts_with_all = ["at", "to", "force"])]
    list: bool,
}

pub(crate) fn run(mut args: RestoreArgs) -> Result<i32, String> {
    // One argument may be either.
    if let Some(folder) = args.url.take_if(|text| !text.contains("://")) {
        if args.storage.path != Path::new(".") {
            return Err(format!(
                "{folder} is no URL: write file:///folder, and the project after it"
            ));
        }
        args.storage.path = folder.into();
    }
    let storage = args.storage.resolve()?;
    if args.list {
        return list(&storage, args.url.as_deref()).map(|()| 0);
    }
    let options = RestoreOptions {
        url: args.url,
        at: args.at,
        to: args.to,
        replaces: args.force,
    };
    let (file, restored) = restore(&storage, &options)?;
    say(format_args!(
        "{}: {} bytes, the state of {}, checked",
        file.display(),
        restored.bytes,
        restored.shown_time()
    ))?;
    if restored.faults.is_empty() {
        return Ok(0);
    }
    for fault in &restored.faults {
        let _ = writeln!(std::io::stderr(), "sampan: the copy is damaged: {fault}");
    }
    let advice = "commits that were copied after that state are missing";
    let _ = writeln!(std::io::stderr(), "sampan: {advice}");
    Ok(DAMAGED)
}

/// Prints a line for each generation, the oldest first.
fn list(storage: &Storage, url: Option<&str>) -> Result<(), String> {
    let spans = storage.restorable(url)?;
    say(format_args!(
        "{:24}  {:24}  {:>12}  generation",
        "from", "to", "bytes"
    ))?;
    for span in spans {
        let (first, last) = span.shown_times();
        let bytes = span
            .bytes
            .map_or_else(|| "?".to_owned(), |bytes| bytes.to_string());
        say(format_args!("{first}  {last}  {bytes:>12}  {}", span.name))?;
    }
    Ok(())
}
