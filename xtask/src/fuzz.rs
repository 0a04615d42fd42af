//! `cargo xtask fuzz`: fuzz targets under libFuzzer, guided by the code that an input reaches. `cargo xtask test` runs
//! the same targets for a moment each, with mutations that know nothing of the code.

use crate::error::Error;
use crate::project;
use crate::tally::Tally;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Build scripts and macros, which run on the host, go without instrumentation only where a target is named.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The folder of what is built with instrumentation, and of the inputs that reached new code.
const FOLDER: &str = "target/fuzz";
/// Counters at each edge, and the operands of comparisons (LLVM, `SanitizerCoverage`). What they cost is paid by those
/// who fuzz only.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";
/// The corpus of the comparison with other implementations, which is no target.
const COMPARISON: &str = "differential";
/// The longest input, in bytes.
const INPUT_BYTES_MAX: u32 = 4096;

#[derive(clap::Args)]
pub(crate) struct FuzzOptions {
    /// The only target to run; all, one after the other, unless given
    #[arg(long)]
    target: Option<String>,
    /// The time for each target, in seconds
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// Runs the targets. An input that fails is left in `target/fuzz/NAME`, whose path libFuzzer prints.
pub(crate) fn run(options: &FuzzOptions) -> Result<bool, Error> {
    let corpora = project::root().join("fuzz/corpus");
    let mut names = Vec::new();
    for entry in fs::read_dir(&corpora)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    names.retain(|name| name != COMPARISON);
    names.retain(|name| options.target.as_deref().is_none_or(|only| only == name));
    if names.is_empty() {
        let wanted = options.target.as_deref().unwrap_or_default();
        return Err(format!("there is no fuzz target {wanted:?}").into());
    }
    let mut tally = Tally::default();
    for name in names {
        let passed = fuzz(&name, &corpora.join(&name), options.seconds)?;
        tally.add(Tally::one(passed));
    }
    println!("{tally}");
    Ok(tally.failed == 0)
}

/// Runs one target on its corpus and from there on. False if an input failed.
fn fuzz(name: &str, corpus: &Path, seconds: u32) -> Result<bool, Error> {
    let found = project::root().join(FOLDER).join(name);
    fs::create_dir_all(&found)?;
    let mut command = Command::new("cargo");
    command
        .args(["run", "--package", "sampan-fuzz", "--features", "libfuzzer"])
        .args(["--bin", "sampan-libfuzzer", "--target", TARGET])
        .args(["--target-dir", FOLDER, "--"])
        .arg(&found)
        .arg(corpus)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .args(["-print_final_stats=1", "-timeout=30", "-rss_limit_mb=4096"])
        .current_dir(project::root())
        .env("SAMPAN_FUZZ_TARGET", name)
        .env("RUSTFLAGS", INSTRUMENTATION);
    println!("{name}:");
    Ok(command.status()?.success())
}
