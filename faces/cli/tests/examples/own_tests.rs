//! The tests that the examples have themselves, as `sampan test` runs them: each language's with its app.

use crate::{LANGUAGES, root};
use std::process::Command;

/// Runs the tests of an example. Those in one language could test the app in the other, too; that would take twice as
/// long, because passwords are hashed on a thread of low priority.
fn run(example: &str) {
    for language in LANGUAGES {
        let app = root().join(format!("examples/{example}/app.{language}"));
        let output = Command::new(env!("CARGO_BIN_EXE_sampan"))
            .arg("test")
            .arg(&app)
            .args(["--timeout", "10min", "--filter"])
            .arg(format!(".test.{language}"))
            .output()
            .expect("it starts");
        let told = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{told}{errors}", app.display());
    }
}

#[test]
fn notes_pass_their_tests() {
    run("notes");
}

#[test]
fn the_assistant_passes_its_tests() {
    run("assistant");
}
