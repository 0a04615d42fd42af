//! Runs the fuzz targets: `sampan-fuzz --seconds 10`, or the comparison with other HTTP implementations:
//! `sampan-fuzz differential --seconds 10`. The last line says how many passed.

use std::process::ExitCode;
use std::time::Duration;

use sampan_fuzz::{TARGETS, differential, replay_and_mutate};

const USAGE: &str = "usage: sampan-fuzz [differential] [--seconds N (for each target; default 10)] [--seed N (default 1)] [--target NAME, or the peer to compare with]";

struct Options {
    differential: bool,
    seconds: u64,
    seed: u64,
    target: Option<String>,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let outcome = if options.differential {
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

fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        differential: false,
        seconds: 10,
        seed: 1,
        target: None,
    };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number = |text: String| text.parse().map_err(|_| format!("{text} is not a number"));
        match word.as_str() {
            "differential" => options.differential = true,
            "--seconds" => options.seconds = number(value()?)?,
            "--seed" => options.seed = number(value()?)?,
            "--target" => options.target = Some(value()?),
            _ => return Err(format!("unknown argument {word}")),
        }
    }
    let names: Vec<&str> = if options.differential {
        differential::PEERS.to_vec()
    } else {
        TARGETS.iter().map(|target| target.name).collect()
    };
    if let Some(name) = &options.target
        && !names.contains(&name.as_str())
    {
        return Err(format!("no target {name}; there are {}", names.join(", ")));
    }
    Ok(options)
}

/// How many targets passed and failed.
fn run_targets(options: &Options) -> std::io::Result<(usize, usize)> {
    let (mut passed, mut failed) = (0, 0);
    for target in TARGETS.iter().filter(|target| {
        options
            .target
            .as_ref()
            .is_none_or(|name| name == target.name)
    }) {
        let report = replay_and_mutate(target, options.seed, Duration::from_secs(options.seconds))?;
        let counts = format!(
            "{}: {} from the corpus, {} mutated",
            target.name, report.replayed, report.mutated
        );
        match report.failure {
            None => {
                passed += 1;
                println!("{counts}");
            }
            Some((path, said)) => {
                failed += 1;
                println!("{counts}; FAILED on {}: {said}", path.display());
            }
        }
    }
    Ok((passed, failed))
}

/// How many peers agreed and did not.
fn run_differential(options: &Options) -> std::io::Result<(usize, usize)> {
    let (mut passed, mut failed) = (0, 0);
    let budget = Duration::from_secs(options.seconds);
    for outcome in differential::run(options.seed, budget, options.target.as_deref())? {
        println!("{outcome}");
        match outcome {
            differential::Outcome::Skipped { .. } => {}
            differential::Outcome::Agreed { .. } => passed += 1,
            differential::Outcome::Disagreed { .. } => failed += 1,
        }
    }
    Ok((passed, failed))
}
