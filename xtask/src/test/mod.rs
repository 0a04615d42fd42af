//! `cargo xtask test`: everything that must hold, in one command that is also CI.
//!
//! The steps go on after a failure, so that one run reports all there is to repair, and the run ends with the
//! tests that were skipped and one line `N passed, N failed`. Everything is built once, in the dev profile: `build`
//! compiles all targets but benchmarks with the features that the tests use. Test programs and fuzz targets run from
//! that build, side by side: many of them wait more than they compute.

mod retry;
mod step;

use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use cargo_metadata::Message;
use clap::Args;

use crate::error::Error;
use crate::tally::Tally;
use crate::{project, tidy};
use step::{CountFormat, TestStep};

/// The time that the seeded generator runs after the corpus of each target, unless told otherwise.
const FUZZ_SECONDS: u32 = 2;

/// The programs whose tests wait most of the time: for clocks, processes and servers.
const WAITING_PROGRAMS: &[&str] = &["c", "docs", "it", "specs"];

/// The options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct TestOptions {
    /// Leave out rustdoc and the fuzz targets
    #[arg(long)]
    quick: bool,
    /// The time for which the fuzz program feeds its targets mutated input, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = FUZZ_SECONDS)]
    fuzz_seconds: u32,
    /// Run tests that failed once more, alone, and count those that pass then as passed, named FLAKY at the end
    #[arg(long)]
    retry: bool,
}

/// Runs every step and prints the closing line. `false` if anything failed.
///
/// # Errors
///
/// When the workspace cannot be read at all.
pub(crate) fn run(options: &TestOptions) -> Result<bool, Error> {
    let root = project::root();
    let started = Instant::now();
    let mut total = Tally::default();
    let check = |name: &str, arguments: &str| cargo(&root, name, CountFormat::ExitCode, arguments);
    // The names alone: `cargo fmt` mends them, so the differences are not printed.
    total.add(step::run(check(
        "fmt",
        "fmt --all --check -- --files-with-diff",
    )));
    total.add(report_tidy(&root)?);
    let all = "--workspace --all-targets --keep-going";
    total.add(step::run(check(
        "clippy",
        &format!("clippy {all} -- -D warnings"),
    )));
    if !options.quick {
        let mut doc = check("doc", "doc --workspace --no-deps --keep-going");
        doc.command.env("RUSTDOCFLAGS", "-D warnings");
        total.add(step::run(doc));
    }
    // Clippy has checked that benchmarks compile.
    let targets = "--lib --bins --tests --examples";
    total.add(step::run(check(
        "build",
        &format!("build --workspace --keep-going {targets}"),
    )));
    let mut programs = tests(&root)?;
    let doctests = "test --workspace --doc --no-fail-fast";
    programs.insert(0, cargo(&root, "doctests", CountFormat::Libtest, doctests));
    // Each of these keeps one processor busy for long: at the end the other would have nothing to do.
    programs.insert(1, go(&root)?);
    if !options.quick {
        // There are few other implementations to compare with, so each has more time.
        let seconds = options.fuzz_seconds;
        programs.insert(1, fuzz(&root, &[], seconds)?);
        programs.insert(1, fuzz(&root, &["differential"], 5 * seconds)?);
    }
    let tests = step::run_all("tests", programs);
    total.add(tests.tally);
    let flaky = match options.retry {
        true => retry::run(&mut total, tests.failed),
        false => Vec::new(),
    };
    println!();
    for what in &tests.skipped {
        println!("SKIPPED: {what}");
    }
    for test in &flaky {
        println!("FLAKY: {test}: it failed beside others and passed alone");
    }
    println!("all steps: {:.1} s", started.elapsed().as_secs_f64());
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

/// One call of cargo.
fn cargo(root: &Path, name: &str, reading: CountFormat, arguments: &str) -> TestStep {
    let mut command = project::cargo(root);
    command.args(arguments.split(' '));
    TestStep::new(name, command, reading)
}

/// Every test program of the build step, the largest first: those have the most of us in them and take the longest.
///
/// # Errors
///
/// When cargo cannot be run.
fn tests(root: &Path) -> Result<Vec<TestStep>, Error> {
    let arguments = "test --workspace --no-run --quiet --message-format=json-render-diagnostics";
    let mut list = cargo(root, "list", CountFormat::ExitCode, arguments).command;
    let listed = list.stderr(Stdio::null()).output()?;
    let mut programs = Vec::new();
    for message in Message::parse_stream(&listed.stdout[..]) {
        if let Message::CompilerArtifact(artifact) = message?
            && let Some(program) = artifact.executable.filter(|_| artifact.profile.test)
        {
            let folder = artifact.manifest_path.with_file_name("");
            let name = folder
                .strip_prefix(root)
                .unwrap_or(&folder)
                .join(&artifact.target.name);
            let mut command = std::process::Command::new(&program);
            command
                .arg(format!("--test-threads={}", threads(&artifact.target.name)))
                .current_dir(&folder)
                .env("CARGO_MANIFEST_DIR", &folder);
            let step = TestStep::new(name, command, CountFormat::Libtest);
            programs.push((std::fs::metadata(program)?.len(), step));
        }
    }
    programs.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    Ok(programs.into_iter().map(|(_, step)| step).collect())
}

/// Returns how many tests of a program run at once: more than there are processors where they wait.
fn threads(program: &str) -> usize {
    let factor = 1 + usize::from(WAITING_PROGRAMS.contains(&program));
    factor * std::thread::available_parallelism().map_or(1, usize::from)
}

/// `cargo xtask go`, on the library of the build step. Without Go it says so.
fn go(root: &Path) -> Result<TestStep, Error> {
    // The build step may have made this program anew in its place.
    let program = std::env::current_exe()?.with_file_name("xtask");
    let mut command = std::process::Command::new(program);
    command.current_dir(root).args(["go", "--built"]);
    Ok(TestStep::new("faces/go", command, CountFormat::Closing))
}

/// The fuzz program of the build step, started as it is: `cargo run -p` would choose other features and
/// compile half of the workspace again.
fn fuzz(root: &Path, words: &[&str], seconds: u32) -> Result<TestStep, Error> {
    // The build step has put it beside this program.
    let program = std::env::current_exe()?.with_file_name("sampan-fuzz");
    let mut command = std::process::Command::new(program);
    command
        .current_dir(root)
        .args(words)
        .args(["--seconds", &seconds.to_string()]);
    let name = *words.first().unwrap_or(&"fuzz");
    Ok(TestStep::new(name, command, CountFormat::Closing))
}
