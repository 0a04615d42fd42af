//! Runs the fuzz targets: `sampan-fuzz --seconds 10`, or the comparison with other HTTP implementations:
//! `sampan-fuzz differential --seconds 10`. The last line says how many passed.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use sampan_fuzz::differential::{self, Agreement};
use sampan_fuzz::{FuzzTarget, TARGETS, replay_and_mutate};

/// Runs the fuzz targets, or the comparison with other HTTP implementations
#[derive(Parser)]
struct FuzzOptions {
    /// Compare with other implementations
    #[arg(value_parser = ["differential"])]
    differential: Option<String>,
    /// The time for each target
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The seed; the same seed gives the same inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The only target to run, or the peer to compare with
    #[arg(long, value_parser = names())]
    target: Option<String>,
}

fn names() -> PossibleValuesParser {
    let targets = TARGETS.iter().map(|target| target.name);
    targets
        .chain(differential::PEERS)
        .collect::<Vec<_>>()
        .into()
}

fn main() -> ExitCode {
    let options = FuzzOptions::parse();
    let outcome = if options.differential.is_some() {
        run_differential(&options)
    } else {
        run_targets(&options)
    };
    match outcome {
        Ok((passed, failed)) => {
            println!("{passed} passed, {failed} failed");
            if failed == 0 {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the number of targets that passed and failed.
fn run_targets(options: &FuzzOptions) -> std::io::Result<(usize, usize)> {
    let (mut passed, mut failed) = (0, 0);
    let is_chosen = |target: &&FuzzTarget| {
        options
            .target
            .as_deref()
            .is_none_or(|name| name == target.name)
    };
    for target in TARGETS.iter().filter(is_chosen) {
        let found = replay_and_mutate(target, options.seed, Duration::from_secs(options.seconds))?;
        print!(
            "{}: {} from the corpus, {} mutated",
            target.name, found.replayed, found.mutated
        );
        match found.failure {
            None => passed += 1,
            Some((path, said)) => {
                failed += 1;
                print!("; FAILED on {}: {said}", path.display());
            }
        }
        println!();
    }
    Ok((passed, failed))
}

/// Returns the number of peers that agreed and did not.
fn run_differential(options: &FuzzOptions) -> std::io::Result<(usize, usize)> {
    let (mut passed, mut failed) = (0, 0);
    let budget = Duration::from_secs(options.seconds);
    for (peer, comparison) in differential::run(options.seed, budget, options.target.as_deref())? {
        println!("differential {peer}: {comparison}");
        match comparison {
            Agreement::Skipped(_) => {}
            Agreement::Agreed(_) => passed += 1,
            Agreement::Disagreed(..) => failed += 1,
        }
    }
    Ok((passed, failed))
}
