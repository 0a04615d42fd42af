//! `sampan backup`: a checked copy of a database that may be in use.

use crate::arguments::database::StorageArgs;
use crate::terminal::print::say;
use sampan_db::backup;
use sampan_db::backup::BackupProgress;
use sampan_runtime::Storage;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The arguments of `sampan backup`.
#[derive(clap::Args)]
pub(crate) struct BackupArgs {
    /// The file to copy the database to.
    #[arg(value_name = "FILE", value_parser = a_file)]
    to: PathBuf,
    #[command(flatten)]
    storage: StorageArgs,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

/// The name of a file: `-` is none, because the copy is checked before it counts, which a pipe does not allow.
pub(crate) fn a_file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err(
            "a backup is checked as a file and cannot be written to standard output: name a file (./- if it is called \
             so)"
                .into(),
        ),
        "" => Err("name a file".into()),
        _ => Ok(text.into()),
    }
}

pub(crate) fn run(args: BackupArgs) -> Result<(), String> {
    copy(&args.storage.resolve()?, &args.to, args.force)
}

/// Copies a database to the file `to`.
pub(crate) fn copy(storage: &Storage, to: &Path, force: bool) -> Result<(), String> {
    let is_watched = io::stderr().is_terminal();
    let mut shown = None;
    let mut show = |progress: BackupProgress| {
        let percent = u64::from(progress.done_pages) * 100 / u64::from(progress.total_pages.max(1));
        if is_watched && shown != Some(percent) {
            shown = Some(percent);
            // Output that cannot be shown is not needed.
            let _ = write!(io::stderr(), "\r{percent:3} %");
        }
    };
    let result = backup::backup(&storage.db, to, force, &mut show);
    if shown.is_some() {
        let _ = write!(io::stderr(), "\r     \r");
    }
    let report = result.map_err(|error| error.to_string())?;
    say(format_args!(
        "{}: {} bytes, {} rows in {} tables, checked",
        to.display(),
        report.bytes,
        report.rows,
        report.tables
    ))
}
