//! The tests of a project, as `sampan test` runs them: `tests/**/*.test.lua` and the like, against the real
//! application, without sockets.
//!
//! Each test file gets the project loaded anew, with a database of its own, and the script of the tests beside it.
//! Before each test the database is put back. Files run one after the other, each on a thread of its own: one that
//! cannot be stopped is left behind, and the next goes on.

mod api;
mod compare;
mod discover;
mod fetching;
mod file_run;
mod html;
mod json;
mod junit;
mod limits;
mod requests;
mod snapshots;
mod socket;
mod socket_client;
mod state;

pub use api::MODULE;
pub use discover::locate;
pub use json::{json_line, json_summary};
pub use junit::{escaped_xml, junit};

use file_run::{FileRun, Message};
use sampan_host::{Module, clock};
use sampan_log::Logger;
use sampan_project::config::Flags;
use sampan_runtime::{AppConfig, LocalRun};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// The modules for scripts of tests get: all that projects get, and `t`.
static MODULES: LazyLock<Vec<&'static Module>> = LazyLock::new(|| {
    let own = [&MODULE];
    sampan_runtime::modules()
        .iter()
        .copied()
        .chain(own)
        .collect()
});

/// The keys of a project that names none: its tests need no secret.
const TEST_KEY: &str = "the key of tests, which no server uses";

/// The options of a test run.
#[derive(Clone, Debug)]
pub struct TestOptions {
    /// The project's folder, or the file in it that is run.
    pub path: PathBuf,
    /// The only file of tests to run, relative to the project's folder.
    pub only: Option<String>,
    /// The configuration file, where it is not the project's own.
    pub config: Option<PathBuf>,
    /// The URL of a PostgreSQL server on which the tests run, in place of the project's database.
    pub db: Option<PathBuf>,
    /// The text by which tests are chosen: their file and name, with `: ` between, contain it.
    pub filter: Option<String>,
    /// Snapshots become what the tests give now.
    pub update: bool,
    /// The longest time that one test may take.
    pub test_time_max: Duration,
    /// A folder of the caller's for databases and for what scripts keep. What is left in it is the caller's to remove.
    pub scratch: PathBuf,
}

/// The outcome of one test, or of a file that did not load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestOutcome {
    /// The file, relative to the project's folder.
    pub file: String,
    /// The name of the test; empty for a file that did not load.
    pub name: String,
    /// The time that it took.
    pub elapsed: Duration,
    /// The reason why it failed, if it did.
    pub failure: Option<TestFailure>,
    /// The snapshots that it wrote.
    pub snapshots: Vec<String>,
}

/// The reason why a test failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestFailure {
    /// The description, in several lines.
    pub text: String,
    /// The lines that the project wrote to its log meanwhile.
    pub log: String,
}

/// The outcome of all tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestSummary {
    /// The number of tests that passed.
    pub passed: usize,
    /// The number of tests that failed, and files that did not load.
    pub failed: usize,
    /// The number of tests that the filter left out.
    pub filtered: usize,
    /// The number of snapshots that were written.
    pub snapshots: usize,
    /// Files that do not load, and in which the filter names nothing.
    pub not_loaded: Vec<String>,
    /// From the first to the last.
    pub elapsed: Duration,
}

/// Runs the tests of a project, and tells what became of each as soon as that is known.
///
/// # Errors
/// The project has no tests, or cannot be tested at all: one line that says why.
pub fn run(
    options: &TestOptions,
    tell: &mut dyn FnMut(&TestOutcome),
) -> Result<TestSummary, String> {
    let begun = Instant::now();
    let mut config = AppConfig::resolve(&Flags {
        path: options.path.clone(),
        config: options.config.clone(),
        db: options.db.clone(),
        env_file: sampan_project::config::EnvFile::OfProject,
        ..Flags::default()
    })?;
    let files = match &options.only {
        Some(file) => vec![file.clone()],
        None => discover::files(&config.base.project)?,
    };
    config.program.logger = Logger::captured(config.log_settings().level_min);
    if config
        .base
        .sections
        .named("secrets")?
        .list("keys")
        .is_empty()
    {
        config.set_list("secrets", "keys", &[TEST_KEY])?;
    }
    clock::make_settable();
    let scratch = tempfile::tempdir_in(&options.scratch);
    let scratch = scratch.map_err(|error| format!("cannot make a folder for tests: {error}"))?;
    let project = LocalRun::new(config, scratch.path())?;
    let mut summary = TestSummary::default();
    let options = Arc::new(options.clone());
    for (number, file) in files.iter().enumerate() {
        let (sender, inbox) = channel();
        let told = sender.clone();
        let when_deaf = Arc::new(move |what: &str| {
            let _ = told.send(Message::Deaf(what.to_owned()));
        });
        let file_run = FileRun {
            file: file.clone(),
            project: project.project().clone(),
            options: Arc::clone(&options),
            modules: &MODULES,
            sender,
        };
        let body = |app| file_run.run(app);
        let thread = project.start(&format!("file-{number}"), when_deaf, body);
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        let is_whole = follow(&inbox, file, &mut summary, tell);
        if is_whole && thread.join().is_err() {
            let text = "a fault of Sampan itself: the thread of the file panicked".to_owned();
            count(&mut summary, &failed_file(file, "", text), tell);
        }
    }
    summary.elapsed = begun.elapsed();
    Ok(summary)
}

/// Takes what a file tells until its end. False if it was left behind because it cannot be stopped.
fn follow(
    inbox: &Receiver<Message>,
    file: &str,
    summary: &mut TestSummary,
    tell: &mut dyn FnMut(&TestOutcome),
) -> bool {
    let mut running = String::new();
    for message in inbox {
        match message {
            Message::Began(name) => running = name,
            Message::Filtered => summary.filtered += 1,
            Message::NotLoaded => summary.not_loaded.push(file.to_owned()),
            Message::Ended(outcome) => count(summary, &outcome, tell),
            Message::Over => return true,
            Message::Deaf(what) => {
                let text = format!(
                    "{what} cannot be stopped: the rest of the file is left out\n\
                     (a loop inside of one call of a built-in function, most likely)"
                );
                count(summary, &failed_file(file, &running, text), tell);
                return false;
            }
        }
    }
    true
}

fn count(summary: &mut TestSummary, outcome: &TestOutcome, tell: &mut dyn FnMut(&TestOutcome)) {
    match outcome.failure {
        Some(_) => summary.failed += 1,
        None => summary.passed += 1,
    }
    summary.snapshots += outcome.snapshots.len();
    tell(outcome);
}

/// The outcome of a file that cannot be run any further.
fn failed_file(file: &str, name: &str, text: String) -> TestOutcome {
    TestOutcome {
        file: file.to_owned(),
        name: name.to_owned(),
        elapsed: Duration::ZERO,
        failure: Some(TestFailure {
            text,
            log: String::new(),
        }),
        snapshots: Vec::new(),
    }
}
