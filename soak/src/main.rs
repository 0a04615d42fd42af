//! A mixed load over minutes or hours while the server is killed, reloaded, stopped and runs out of disk:
//! `cargo xtask soak --minutes 20`.
//!
//! The app of `tests/soak` in both languages, which take turns on one database, and three of the examples are each a
//! server of their own. Clients check all that they are told (`clients/`); the director starts and torments the servers
//! and looks at their memory, descriptors and logs (`director.rs`). One thread for each client: they wait more than
//! they compute.

mod clients;
mod director;
mod disk;
mod faults;
mod flat;
mod project;
mod random;
mod run;
mod server;
mod visitor;

use clap::Parser;
use director::Director;
use run::Run;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Loads servers while they are killed, reloaded and stopped, and checks what must hold
#[derive(Parser)]
struct SoakOptions {
    /// The time that it runs, in minutes
    #[arg(long, default_value_t = 20.0)]
    minutes: f64,
    /// The seed of all that is drawn; by the clock unless given
    #[arg(long)]
    seed: Option<u64>,
    /// The executable of Sampan
    #[arg(long)]
    program: PathBuf,
    /// Another folder with the app, in place of tests/soak
    #[arg(long, value_name = "DIR")]
    app: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = SoakOptions::parse();
    disk::enter_namespace();
    let seed = options.seed.unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(1, |now| u64::from(now.subsec_nanos()) + 1)
    });
    let time = Duration::try_from_secs_f64(options.minutes * 60.0);
    let outcome = time
        .map_err(|error| error.to_string())
        .and_then(|time| soak(&options, seed, time));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs for `time` and prints the summary. `false` if anything did not hold; then the folder is kept.
fn soak(options: &SoakOptions, seed: u64, time: Duration) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let app = options.app.clone().unwrap_or(root.join("tests/soak"));
    let program = std::path::absolute(&options.program).map_err(|error| error.to_string())?;
    let folder = tempfile::Builder::new().prefix("sampan-soak-").tempdir();
    let mut folder = folder.map_err(|error| error.to_string())?;
    println!(
        "seed {seed}, {:.0} s, {}",
        time.as_secs_f64(),
        program.display()
    );

    let run = Run::new(seed, time);
    let projects = project::all(&root, &app, folder.path())?;
    let mut director = Director::start(&run, &program, projects)?;
    let clients = clients::start(&run, director.sites());
    director.direct();
    run.end();
    let ended = clients.into_iter().map(|client| client.join());
    if ended.filter(Result::is_err).count() > 0 {
        run.fail("a client panicked");
    }
    director.stop();

    println!("{}", director.summary());
    let failures = run.failures();
    println!("{}", run.counts());
    if failures.is_empty() {
        println!("all held");
        return Ok(true);
    }
    director.keep();
    folder.disable_cleanup(true);
    println!("seed {seed}: {} did not hold. The first:", run.failed());
    for failure in failures {
        println!("  {failure}");
    }
    println!("kept, with logs and databases: {}", folder.path().display());
    Ok(false)
}
