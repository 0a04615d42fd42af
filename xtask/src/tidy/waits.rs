//! Tests wait for events: they neither sleep nor compare the time that passed.

use super::tree::Tree;
use crate::Error;

/// Calls that wait for a length of time.
const SLEEPS: &[&str] = &["thread::sleep", "time::sleep"];

/// Files in which time may pass, and the reasons.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "testkit/client/src/wait.rs",
        "the helper that all others use",
    ),
    (
        "engine/rig/src/lib.rs",
        "its watchdog stops scripts by time, as the server's does",
    ),
    ("xtask/src/tidy/waits.rs", "it names what it refuses"),
];

/// No test sleeps or compares the time that passed, but by `sampan_client::wait`.
///
/// # Errors
///
/// When a file cannot be read.
pub(super) fn events(tree: &Tree) -> Result<Vec<String>, Error> {
    let mut complaints = Vec::new();
    for path in tree.with_extension(&["rs"]) {
        // Benchmarks measure time.
        let is_excepted = EXCEPTIONS.iter().any(|(exception, _)| *exception == path);
        if is_excepted || path.starts_with("bench/") {
            continue;
        }
        let text = tree.text(path)?;
        let first = first_test_line(path, &text);
        for (index, line) in text.lines().enumerate().skip(first) {
            if line.trim_start().starts_with("//") {
                continue;
            }
            let number = index + 1;
            if SLEEPS.iter().any(|sleep| line.contains(sleep)) {
                complaints.push(format!(
                    "{path}:{number}: a test waits for an event (sampan_client::wait::until), not for a time"
                ));
            } else if compares_time(line) {
                complaints.push(format!(
                    "{path}:{number}: a test compares no times: assert an order of events"
                ));
            }
        }
    }
    Ok(complaints)
}

/// Returns the index of the first line of test code: that of the file for files of tests, else that of its module of
/// tests.
fn first_test_line(path: &str, text: &str) -> usize {
    let path = format!("/{path}");
    let is_test =
        path.contains("/tests/") || path.ends_with("/tests.rs") || path.starts_with("/engine/rig/");
    if is_test {
        return 0;
    }
    let marks = text.lines().position(|line| line.trim() == "#[cfg(test)]");
    marks.unwrap_or(usize::MAX)
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
    use super::*;

    #[test]
    fn refuses_sleeps_and_comparisons_of_time_in_tests_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let sleeps = "std::thread::sleep(PAUSE);\n";
        std::fs::create_dir(folder.path().join("tests")).expect("a folder");
        for (path, text) in [
            (
                "a.rs",
                format!(
                    "{sleeps}#[cfg(test)]\nmod tests {{\n    tokio::time::sleep(PAUSE).await;\n}}\n"
                ),
            ),
            ("b.rs", sleeps.to_owned()),
            ("tests.rs", sleeps.to_owned()),
            (
                "tests/c.rs",
                format!(
                    "let took = begun.elapsed();\n// {sleeps}assert!(begun.elapsed() < LIMIT);\n"
                ),
            ),
        ] {
            std::fs::write(folder.path().join(path), text).expect("written");
        }
        let tree = Tree::read(folder.path()).expect("a tree");
        let complaints = events(&tree).expect("read");
        let places: Vec<&str> = complaints
            .iter()
            .map(|complaint| complaint.split(": ").next().unwrap_or_default())
            .collect();
        assert_eq!(places, ["a.rs:4", "tests.rs:1", "tests/c.rs:3"]);
    }
}
