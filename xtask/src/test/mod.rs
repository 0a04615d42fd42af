//! `cargo xtask test`: everything that must hold, in one command that is also CI.
//!
//! The steps go on after a failure, so that one run reports all there is to repair, and the run ends with one
//! line `N passed, N failed`. Everything is built once, in the dev profile: `build` compiles all targets with
//! the features that the tests use, and the fuzz targets run from that build.

mod step;

use std::path::Path;
use std::time::Instant;

use clap::Args;

use crate::tally::Tally;
use crate::{Error, project, tidy};
use step::{Reading, Step};

/// How long the seeded generator runs after the corpus, unless told otherwise.
const FUZZ_SECONDS: u32 = 10;

/// What `cargo xtask test` takes.
#[derive(Args)]
pub(crate) struct Options {
    /// Leave out rustdoc and the fuzz targets
    #[arg(long)]
    quick: bool,
    /// How long the fuzz program feeds its targets mutated input, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = FUZZ_SECONDS)]
    fuzz_seconds: u32,
}

/// Runs every step and prints the closing line. `false` if anything failed.
///
/// # Errors
///
/// When the workspace cannot be read at all.
pub(crate) fn run(options: &Options) -> Result<bool, Error> {
    let root = project::root();
    let started = Instant::now();
    let mut total = Tally::default();
    total.add(step::run(fmt(&root)));
    total.add(report_tidy(&root)?);
    total.add(step::run(clippy(&root)));
    if !options.quick {
        total.add(step::run(doc(&root)));
    }
    total.add(step::run(build(&root)));
    total.add(step::run(tests(&root)));
    if !options.quick {
        total.add(step::run(fuzz(&root, "fuzz", &[], options.fuzz_seconds)?));
        let compare = ["differential"];
        total.add(step::run(fuzz(
            &root,
            "differential",
            &compare,
            options.fuzz_seconds,
        )?));
    }
    println!("\nall steps: {:.1} s", started.elapsed().as_secs_f64());
    println!("{total}");
    Ok(total.failed == 0)
}

fn report_tidy(root: &Path) -> Result<Tally, Error> {
    println!("==> tidy");
    let started = Instant::now();
    let tally = tidy::check(root)?;
    step::close("tidy", tally, started);
    Ok(tally)
}

fn fmt(root: &Path) -> Step {
    let mut command = project::cargo(root);
    // The names alone: `cargo fmt` mends them, nobody needs to read how.
    command.args(["fmt", "--all", "--check", "--", "--files-with-diff"]);
    Step {
        name: "fmt",
        command,
        reading: Reading::ExitCode,
    }
}

fn clippy(root: &Path) -> Step {
    let mut command = project::cargo(root);
    command.args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--keep-going",
        "--",
        "-D",
        "warnings",
    ]);
    Step {
        name: "clippy",
        command,
        reading: Reading::ExitCode,
    }
}

fn doc(root: &Path) -> Step {
    let mut command = project::cargo(root);
    command
        .args(["doc", "--workspace", "--no-deps", "--keep-going"])
        .env("RUSTDOCFLAGS", "-D warnings");
    Step {
        name: "doc",
        command,
        reading: Reading::ExitCode,
    }
}

fn build(root: &Path) -> Step {
    let mut command = project::cargo(root);
    command.args(["build", "--workspace", "--all-targets", "--keep-going"]);
    Step {
        name: "build",
        command,
        reading: Reading::ExitCode,
    }
}

fn tests(root: &Path) -> Step {
    let mut command = project::cargo(root);
    command.args(["test", "--workspace", "--no-fail-fast"]);
    Step {
        name: "test",
        command,
        reading: Reading::Libtest,
    }
}

/// The fuzz program of the build step, started as it is: `cargo run -p` would choose other features and
/// compile half of the workspace again.
fn fuzz(root: &Path, name: &'static str, words: &[&str], seconds: u32) -> Result<Step, Error> {
    // The build step has put it beside this program.
    let program = std::env::current_exe()?.with_file_name("sampan-fuzz");
    let mut command = std::process::Command::new(program);
    command
        .current_dir(root)
        .args(words)
        .args(["--seconds", &seconds.to_string()]);
    Ok(Step {
        name,
        command,
        reading: Reading::Closing,
    })
}
