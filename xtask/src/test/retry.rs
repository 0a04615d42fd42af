//! Tests that failed beside others, run once more alone: one that passes then is called flaky, not failed.

use std::process::Command;
use std::time::Instant;

use super::step::{self, CountFormat, TestStep};
use crate::tally::Tally;

/// So many failures are no accident of a busy machine: nothing is run again.
const RETRIED_MAX: usize = 10;

/// A test of a test program that failed.
#[derive(Debug)]
pub(super) struct FailedTest {
    /// The name of the step that it belongs to.
    pub(super) step: String,
    /// The test, as the program calls it.
    pub(super) name: String,
    /// The program with this test alone.
    pub(super) command: Command,
}

impl FailedTest {
    /// Names a test of `program`, which runs all tests of `step`.
    pub(super) fn new(step: &str, test: &str, program: &Command) -> Self {
        let mut command = copy(program);
        command.args([test, "--exact"]);
        Self {
            step: step.to_owned(),
            name: test.to_owned(),
            command,
        }
    }
}

/// Returns the name of the test that a line of a test program calls failed.
pub(super) fn name_of_failed(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix("... FAILED")?;
    Some(name.trim_end())
}

/// Copies a command: its program, its words, its folder and what it sets of the environment.
pub(super) fn copy(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        copy.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(name, value),
            None => copy.env_remove(name),
        };
    }
    copy
}

/// Runs the failed tests once more, one after the other, and corrects the counts by those that pass. Returns a line for
/// each of these.
pub(super) fn run(total: &mut Tally, failed: Vec<FailedTest>) -> Vec<String> {
    if failed.is_empty() || failed.len() > RETRIED_MAX {
        return Vec::new();
    }
    println!("==> failed tests, alone");
    let (started, mut sum, mut flaky) = (Instant::now(), Tally::default(), Vec::new());
    for test in failed {
        let name = format!("{} {}", test.step, test.name);
        let tally = step::run(TestStep::new(&name, test.command, CountFormat::Libtest));
        sum.add(tally);
        // None passed either if the program knows no test of this name.
        if (tally.passed, tally.failed) == (1, 0) {
            total.failed -= 1;
            total.passed += 1;
            flaky.push(name);
        }
    }
    step::close("failed tests, alone", sum, started);
    flaky
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test program whose test fails beside others and whose `always` fails alone too.
    fn program() -> Command {
        let mut command = Command::new("sh");
        let script = "case \"$*\" in \
            'beside --exact') echo 'test result: ok. 1 passed; 0 failed';; \
            'always --exact') echo 'test result: FAILED. 0 passed; 1 failed'; exit 101;; \
            *) echo 'test result: ok. 0 passed; 0 failed';; esac";
        command.args(["-c", script, "program"]);
        command
    }

    fn tried(names: &[&str]) -> (Tally, Vec<String>) {
        let mut total = Tally {
            passed: 5,
            failed: names.len() as u64,
        };
        let failed = names
            .iter()
            .map(|name| FailedTest::new("it", name, &program()));
        let flaky = run(&mut total, failed.collect());
        (total, flaky)
    }

    #[test]
    fn a_test_that_passes_alone_is_flaky_and_any_other_stays_failed() {
        let (total, flaky) = tried(&["beside", "always", "unknown"]);
        assert_eq!((total.passed, total.failed), (6, 2));
        assert_eq!(flaky, ["it beside"]);
    }

    #[test]
    fn many_failures_are_not_tried_again() {
        let (total, flaky) = tried(&["beside"; RETRIED_MAX + 1]);
        assert_eq!((total.passed, total.failed), (5, 11));
        assert_eq!(flaky, [""; 0]);
    }

    #[test]
    fn names_are_read_from_the_lines_of_both_harnesses() {
        for (line, name) in [
            ("test a::b ... FAILED", Some("a::b")),
            (
                "test jobs/x::lua isolated      ... FAILED",
                Some("jobs/x::lua isolated"),
            ),
            ("test a::b ... ok", None),
            ("    a::b", None),
        ] {
            assert_eq!(name_of_failed(line), name, "{line}");
        }
    }
}
