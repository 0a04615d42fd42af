//! `sampan build`: one executable of this program and a project.

pub(crate) mod built;

use crate::terminal::print::say;
use crate::terminal::signals;
use sampan_project::build::BuildFlags;
use std::path::PathBuf;

/// The arguments of `sampan build`.
#[derive(clap::Args)]
pub(crate) struct BuildArgs {
    /// The project's folder, or the file to run.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
    /// The file to write.
    #[arg(short, long, value_name = "FILE", value_parser = a_file)]
    output: PathBuf,
    /// The executable of Sampan that the project is put into, for another machine [default: this program].
    #[arg(long, value_name = "EXECUTABLE")]
    target: Option<PathBuf>,
    /// Replace the file even if it is not an earlier build.
    #[arg(long)]
    force: bool,
    /// The database that the project will have: with a PostgreSQL server, migrations are not tried on SQLite.
    #[arg(long, value_name = "FILE|URL")]
    db: Option<PathBuf>,
    /// Pack the project without loading it: it needs files, or rows of a database, that only its machine has.
    #[arg(long)]
    no_load: bool,
    /// A file or folder of the project that stays out.
    #[arg(long, value_name = "PATH")]
    exclude: Vec<String>,
}

/// The name of a file: `-` is none, because only a complete file gets its name, which a pipe does not allow.
fn a_file(text: &str) -> Result<PathBuf, String> {
    match text {
        "-" => Err("an executable cannot be written to standard output: name a file (./- if it is called so)".into()),
        "" => Err("name a file".into()),
        _ => Ok(text.into()),
    }
}

pub(crate) fn run(args: BuildArgs) -> Result<(), String> {
    let shown = args.output.display().to_string();
    let flags = BuildFlags {
        path: args.path,
        output: args.output,
        force: args.force,
        target: args.target,
        exclude: args.exclude,
    };
    let scratch = match args.no_load {
        true => None,
        false => match signals::scratch("sampan-build-") {
            Ok(scratch) => Some(scratch),
            Err(fault) => {
                say(format_args!("warning: the project is not loaded: {fault}"))?;
                None
            }
        },
    };
    let folder = scratch.as_ref().map(|scratch| scratch.path());
    let built = sampan_runtime::build(&flags, args.db, folder)?;
    for warning in &built.warnings {
        say(format_args!("warning: {warning}"))?;
    }
    for left_out in &built.left_out {
        say(format_args!("left out: {left_out}"))?;
    }
    say(format_args!(
        "{shown}: {} bytes, with {} files of the project and {} that are compressed ({} bytes)",
        built.bytes, built.files, built.compressed, built.archive_bytes
    ))
}
