//! `cargo xtask soak`: the program of the crate `soak`, on an executable that is built first unless one is given.
//! `cargo xtask test` runs it for some seconds (`soak/tests/`).

use crate::error::Error;
use crate::project;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct SoakOptions {
    /// The time that it runs, in minutes
    #[arg(long, default_value_t = 20.0)]
    minutes: f64,
    /// The seed of all that is drawn; by the clock unless given
    #[arg(long)]
    seed: Option<u64>,
    /// The executable of Sampan; without one that of the profile `release` is built
    #[arg(long, value_name = "EXE")]
    program: Option<PathBuf>,
}

/// Runs it. `false` if something did not hold.
///
/// # Errors
///
/// When cargo cannot be run, or the executable does not build.
pub(crate) fn run(options: &SoakOptions) -> Result<bool, Error> {
    let program = match &options.program {
        Some(program) => std::path::absolute(program)?,
        None => {
            let root = project::root();
            let mut cargo = project::cargo(&root);
            project::build_cli(cargo.arg("--quiet"), &root.join("target"), "release", None)?
        }
    };
    let mut arguments = vec![
        "--minutes".to_owned(),
        options.minutes.to_string(),
        "--program".to_owned(),
        program.display().to_string(),
    ];
    if let Some(seed) = options.seed {
        arguments.extend(["--seed".to_owned(), seed.to_string()]);
    }
    // The clients wait more than they compute, and the tests have built them in this profile.
    let soak = ["run", "--quiet", "--package", "sampan-soak", "--"];
    project::start(&soak, &arguments)
}
