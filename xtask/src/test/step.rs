//! One step of the test command: a program whose output is passed on without its chatter, and counted.

use std::io::{self, BufRead, BufReader, PipeReader};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::retry::{self, FailedTest};
use crate::tally::Tally;

/// A test program that takes longer hangs: it is ended and counts as failed.
const PROGRAM_SECONDS_MAX: u64 = 25 * 60;

/// A step that compiles and takes longer hangs: a build from nothing has taken 25 minutes on two busy cores.
const BUILD_SECONDS_MAX: u64 = 75 * 60;

/// The time for which output may still arrive after the program has ended, from a child of its own that holds the pipe.
const DRAIN_MILLIS_MAX: u64 = 500;

/// The format in which the program's output says about how many checks it made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CountFormat {
    /// No count: the program is one check, and its exit status says how it went.
    ExitCode,
    /// The line `test result:` of a test program. One without tests is right too.
    Libtest,
    /// One line `N passed, N failed`.
    Closing,
}

impl CountFormat {
    /// Returns how long a program with this output may run. Those that only have an exit status are steps of cargo.
    const fn seconds_max(self) -> u64 {
        match self {
            Self::ExitCode => BUILD_SECONDS_MAX,
            Self::Libtest | Self::Closing => PROGRAM_SECONDS_MAX,
        }
    }
}

/// The prefix of the line of a test writes that could not run, past the test harness, which hides what a passing test
/// prints.
const SKIPPED: &str = "SKIPPED: ";

/// A named program and how to read it.
pub(super) struct TestStep {
    pub(super) name: String,
    pub(super) command: Command,
    pub(super) reading: CountFormat,
}

impl TestStep {
    pub(super) fn new(name: impl Into<String>, command: Command, reading: CountFormat) -> Self {
        let name = name.into();
        Self {
            name,
            command,
            reading,
        }
    }
}

/// The end of steps that ran side by side.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) tally: Tally,
    /// The tests that could not run, and why.
    pub(super) skipped: Vec<String>,
    /// The tests that failed, as far as their programs name them.
    pub(super) failed: Vec<FailedTest>,
}

/// Runs a step, prints what matters of its output and one line with its counts and its time.
pub(super) fn run(step: TestStep) -> Tally {
    println!("==> {}", step.name);
    let started = Instant::now();
    let name = step.name.clone();
    let tally = follow(step, |line| println!("    {line}"));
    close(&name, tally, started);
    tally
}

/// Runs steps side by side, one more than there are processors, and prints for each what matters of its output when it
/// has ended.
pub(super) fn run_all(name: &str, steps: Vec<TestStep>) -> Outcome {
    println!("==> {name}");
    let started = Instant::now();
    let total = Mutex::new(Outcome::default());
    let rest = Mutex::new(steps.into_iter());
    let work = || {
        // A statement of its own: the lock must not be held while the step runs.
        while let Some(step) = { rest.lock().unwrap_or_else(PoisonError::into_inner).next() } {
            let (name, began, mut news) = (step.name.clone(), Instant::now(), Vec::new());
            let (mut skipped, mut failed) = (Vec::new(), Vec::new());
            let program = retry::copy(&step.command);
            let is_program = step.reading == CountFormat::Libtest;
            let tally = follow(step, |line| {
                news.push(format!("      {line}\n"));
                if let Some((_, what)) = line.split_once(SKIPPED) {
                    skipped.push(format!("{name}: {what}"));
                }
                if let Some(test) = retry::name_of_failed(line).filter(|_| is_program) {
                    failed.push(FailedTest::new(&name, test, &program));
                }
            });
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            close(&name, tally, began);
            print!("{}", news.concat());
            total.tally.add(tally);
            total.skipped.append(&mut skipped);
            total.failed.append(&mut failed);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..=std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    close(name, total.tally, started);
    total
}

/// Runs a step to its end and counts; what matters of its output goes to `news`.
fn follow(step: TestStep, mut news: impl FnMut(&str)) -> Tally {
    let mut seen: Option<Tally> = None;
    let reading = step.reading;
    let outcome = stream(step.command, reading.seconds_max(), |line| {
        match read(reading, line) {
            Line::Counts(tally) => seen.get_or_insert_default().add(tally),
            Line::Chatter => {}
            Line::News => news(line),
        }
    });
    let succeeded = match outcome {
        Ok(status) => status.success(),
        Err(error) => {
            news(&error.to_string());
            false
        }
    };
    judge(reading, seen, succeeded)
}

/// Prints the last line of a step.
pub(super) fn close(name: &str, tally: Tally, started: Instant) {
    let word = if tally.failed == 0 { "ok" } else { "FAILED" };
    let seconds = started.elapsed().as_secs_f64();
    let Tally { passed, failed } = tally;
    println!("    {name} {word} ({passed} good, {failed} bad, {seconds:.1} s)");
}

/// A program that failed without counting a failure (it did not compile, or crashed) is one failure; so is
/// one that was to count and did not.
fn judge(reading: CountFormat, seen: Option<Tally>, succeeded: bool) -> Tally {
    match (seen, succeeded) {
        (None, _) => Tally::one(succeeded && reading == CountFormat::ExitCode),
        (Some(seen), false) if seen.failed == 0 => Tally { failed: 1, ..seen },
        (Some(seen), _) => seen,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    Counts(Tally),
    Chatter,
    News,
}

fn read(reading: CountFormat, line: &str) -> Line {
    let counts = match reading {
        CountFormat::ExitCode => None,
        CountFormat::Libtest => Tally::from_libtest(line),
        CountFormat::Closing => Tally::from_closing(line),
    };
    match counts {
        Some(tally) => Line::Counts(tally),
        None if is_chatter(line) => Line::Chatter,
        None => Line::News,
    }
}

/// Lines that say only that all is well.
fn is_chatter(line: &str) -> bool {
    const PROGRESS: &[&str] = &[
        "Compiling ",
        "Checking ",
        "Finished ",
        "Running ",
        "Documenting ",
        "Downloading ",
        "Downloaded ",
        "Doc-tests ",
        "Generated ",
        "Updating ",
        "Locking ",
        "Fresh ",
        "Dirty ",
    ];
    let text = line.trim_start();
    text.is_empty()
        || (text.len() < line.len() && PROGRESS.iter().any(|word| text.starts_with(word)))
        || (line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")))
        || (line.starts_with("test ")
            && (line.ends_with(" ... ok") || line.contains(" ... ignored")))
}

/// Runs the program to its end and hands over each line of its output, both streams in the order written.
///
/// # Errors
///
/// When the program cannot be started, or had no end after `seconds_max`; it is killed then.
fn stream(
    mut command: Command,
    seconds_max: u64,
    mut line: impl FnMut(&str),
) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    command
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let program = command.get_program().display().to_string();
    let mut child = command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot start {program}: {error}"))
    })?;
    // The command holds our ends of the pipe; while they are open, the reader would never see its end.
    drop(command);
    let lines = lines_of(reader);
    let deadline = Instant::now() + Duration::from_secs(seconds_max);
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        match lines.recv_timeout(Duration::from_millis(50)) {
            Ok(text) => line(&text),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        match ended {
            Some((_, at)) if at.elapsed() > Duration::from_millis(DRAIN_MILLIS_MAX) => break,
            Some(_) => {}
            None => ended = child.try_wait()?.map(|status| (status, Instant::now())),
        }
        if Instant::now() > deadline {
            child.kill()?;
            let message = format!("ended after {seconds_max} s without an end of its own");
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
    }
    match ended {
        Some((status, _)) => Ok(status),
        None => child.wait(),
    }
}

fn lines_of(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        let mut bytes = Vec::new();
        while reader
            .read_until(b'\n', &mut bytes)
            .is_ok_and(|count| count > 0)
        {
            let text = String::from_utf8_lossy(&bytes);
            if sender.send(text.trim_end().to_owned()).is_err() {
                break;
            }
            bytes.clear();
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, failed: u64) -> Tally {
        Tally { passed, failed }
    }

    fn shell(script: &str, reading: CountFormat) -> TestStep {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        TestStep::new("shell", command, reading)
    }

    #[test]
    fn counts_of_all_test_programs_are_added_up() {
        let script = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored'; echo 'test result: FAILED. 1 passed; 2 \
         failed; 0 ignored'; exit 101";
        assert_eq!(run(shell(script, CountFormat::Libtest)), tally(4, 2));
    }

    #[test]
    fn steps_run_side_by_side_and_are_added_up() {
        let passing = || shell("sleep 0.1; echo '2 passed, 0 failed'", CountFormat::Closing);
        let failing = || shell("echo 'it broke'; exit 1", CountFormat::ExitCode);
        let skipping = || {
            shell(
                "echo 'test a ... SKIPPED: no browser' >&2; echo '0 passed, 0 failed'",
                CountFormat::Closing,
            )
        };
        let steps = vec![passing(), failing(), skipping(), passing(), passing()];
        let outcome = run_all("all", steps);
        assert_eq!(outcome.tally, tally(6, 1));
        assert_eq!(outcome.skipped, ["shell: no browser"]);
    }

    #[test]
    fn failed_tests_are_named_with_the_command_that_runs_them_alone() {
        let script =
            "echo 'test a::b ... FAILED'; echo 'test result: FAILED. 1 passed; 1 failed'; exit 101";
        let outcome = run_all("all", vec![shell(script, CountFormat::Libtest)]);
        assert_eq!(outcome.tally, tally(1, 1));
        let [failed] = &outcome.failed[..] else {
            panic!("{outcome:?}");
        };
        assert_eq!(failed.name, "a::b");
        let words: Vec<_> = failed.command.get_args().collect();
        assert_eq!(words, ["-c", script, "a::b", "--exact"]);
    }

    #[test]
    fn a_program_that_fails_without_counting_is_one_failure() {
        assert_eq!(
            run(shell(
                "echo 'error: it does not compile' >&2; exit 101",
                CountFormat::Libtest
            ))
            .failed,
            1
        );
        let script = "echo 'test result: ok. 3 passed; 0 failed; 0 ignored'; exit 101";
        assert_eq!(run(shell(script, CountFormat::Libtest)), tally(3, 1));
        assert_eq!(run(shell("exit 2", CountFormat::ExitCode)), tally(0, 1));
    }

    #[test]
    fn a_program_that_was_to_count_and_did_not_is_a_failure() {
        assert_eq!(run(shell("true", CountFormat::Closing)), tally(0, 1));
        assert_eq!(
            run(shell("echo '5 passed, 0 failed'", CountFormat::Closing)),
            tally(5, 0)
        );
    }

    #[test]
    fn a_program_that_cannot_be_started_is_a_failure() {
        let command = Command::new("/nowhere/at/all");
        assert_eq!(
            run(TestStep::new("none", command, CountFormat::ExitCode)),
            tally(0, 1)
        );
    }

    #[test]
    fn a_program_without_an_end_is_ended_and_fails() {
        let mut command = Command::new("sleep");
        command.arg("600");
        let error = stream(command, 1, |_| {}).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_child_left_behind_that_holds_the_pipe_does_not_hold_the_step() {
        assert_eq!(
            run(shell("sleep 600 & exit 0", CountFormat::ExitCode)).failed,
            0
        );
    }

    #[test]
    fn only_lines_without_news_are_dropped() {
        for chatter in [
            "",
            "   Compiling a v1.0.0",
            "running 3 tests",
            "test a::b ... ok",
            "test c ... ignored, slow",
        ] {
            assert_eq!(
                read(CountFormat::Libtest, chatter),
                Line::Chatter,
                "{chatter}"
            );
        }
        for news in [
            "warning: unused variable",
            "test a::b ... FAILED",
            "Running out of memory",
            "thread 'x' panicked",
        ] {
            assert_eq!(read(CountFormat::Libtest, news), Line::News, "{news}");
        }
    }
}
