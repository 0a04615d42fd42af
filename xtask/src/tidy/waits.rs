//! Tests wait for events: they neither sleep nor compare the time that passed.

use super::tree::Tree;
use crate::error::Error;

/// Calls that wait for a length of time.
const SLEEPS: &[&str] = &["thread::sleep", "time::sleep"];

/// Files in which time may pass, and the reasons.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "testkit/client/src/wait.rs",
        "the helper that all others use",
    ),
    (
        "engine/rig/src/watchdog.rs",
        "its watchdog stops scripts by time, as the server's does",
    ),
    ("xtask/src/tidy/waits.rs", "it names what it refuses"),
];

/// No test sleeps or compares the time that passed, but by `sampan_client::wait`.
pub(super) fn events(tree: &Tree) -> Result<Vec<String>, Error> {
    tree.faults_of_lines(tree.with_extension(&["rs"]), |path| {
        let is_excepted = EXCEPTIONS.iter().any(|(exception, _)| *exception == path);
        // Files of tests are so from their first line, others from their module of tests on.
        let rooted = format!("/{path}");
        let mut is_test = rooted.contains("/tests/")
            || rooted.ends_with("/tests.rs")
            || path.starts_with("engine/rig/");
        let fault_of = move |line: &str| {
            is_test |= line.trim() == "#[cfg(test)]";
            if !is_test || line.trim_start().starts_with("//") {
                None
            } else if SLEEPS.iter().any(|sleep| line.contains(sleep)) {
                Some(
                    "a test waits for an event (sampan_client::wait::until), not for a time".into(),
                )
            } else {
                compares_time(line)
                    .then(|| "a test compares no times: assert an order of events".into())
            }
        };
        // Benchmarks measure time.
        (!is_excepted && !path.starts_with("bench/")).then_some(fault_of)
    })
}

/// Reports whether a line compares the time that passed since an instant.
fn compares_time(line: &str) -> bool {
    line.contains(".elapsed()")
        && [" < ", " > ", " <= ", " >= "]
            .iter()
            .any(|sign| line.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree;
    use super::*;

    #[test]
    fn refuses_sleeps_and_comparisons_of_time_in_tests_alone() {
        let sleeps = "std::thread::sleep(PAUSE);\n";
        let own = format!(
            "{sleeps}#[cfg(test)]\nmod tests {{\n    tokio::time::sleep(PAUSE).await;\n}}\n"
        );
        let compared =
            format!("let took = begun.elapsed();\n// {sleeps}assert!(begun.elapsed() < LIMIT);\n");
        let (_scratch, tree) = tree(&[
            ("a.rs", &own),
            ("b.rs", sleeps),
            ("tests.rs", sleeps),
            ("tests/c.rs", &compared),
        ]);
        let complaints = events(&tree).expect("read");
        let places: Vec<&str> = complaints
            .iter()
            .map(|complaint| complaint.split(": ").next().unwrap_or_default())
            .collect();
        assert_eq!(places, ["a.rs:4", "tests.rs:1", "tests/c.rs:3"]);
    }
}
