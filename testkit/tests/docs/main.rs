//! Tries the blocks of code of all chapters, and checks their links. Each block is a test of its own.
//!
//! - Blocks that stand directly below each other are one example. Those of Lua and of JavaScript are served, each in
//!   its language, with the files that the other blocks give: templates, migrations, locales, configuration.
//! - A block that begins with a comment such as `-- migrations/0001_notes.sql` is that file. Other blocks of Lua and
//!   JavaScript stand behind the lines that all examples begin with. Where such a file is a test of the project, it is
//!   run.
//! - What nginx, Caddy, systemd, the shell and others read is checked by them, where they are installed.
//!
//! A comment `<!-- test ... -->` before an example has TOML. Its `[[request]]` are those of an `expect.toml`.
//!
//! | key | meaning |
//! |---|---|
//! | `before`, `after` | `lua` and `js`: code around the block |
//! | `in_handler` | the block is a part of a handler, which answers `/try` |
//! | `files` | further files of the project, by their paths |
//! | `continues` | the files of the example before are there too |
//! | `theirs` | code of another framework, whose syntax alone is checked |
//! | `skip` | why the example is not tried |

mod examples;
mod limits;
mod links;
mod settings;
mod tools;
mod types;

use libtest_mimic::{Arguments, Trial};
use sampan_testkit::docs::Chapter;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Pages that programs make. The blocks of the reference show forms of calls.
const GENERATED: [&str; 2] = ["reference/", "bench/"];

/// Variables of the environment that examples read.
const VARIABLES: [(&str, &str); 2] = [
    ("CI_TOKEN", "a-token-of-the-tests"),
    ("JWT_SECRET", "a secret of the tests, 32 bytes or more"),
];

/// Starts this program anew with the variables of the examples; nothing where it has them.
fn with_variables() -> Option<ExitCode> {
    if VARIABLES
        .iter()
        .all(|(name, _)| std::env::var_os(name).is_some())
    {
        return None;
    }
    let program = std::env::current_exe().expect("the test's path");
    let status = Command::new(program)
        .args(std::env::args_os().skip(1))
        .envs(VARIABLES)
        .status()
        .expect("it starts again");
    let is_success = status.success();
    Some(if is_success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Reports whether a program made the page.
fn is_generated(chapter: &Chapter) -> bool {
    GENERATED
        .iter()
        .any(|folder| chapter.path.starts_with(folder))
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    if let Some(status) = with_variables() {
        return status;
    }
    let chapters = Chapter::all(&root().join("docs")).expect("the chapters can be read");
    assert!(!chapters.is_empty(), "there are no chapters in docs/");
    let mut trials: Vec<Trial> = Vec::new();
    for chapter in &chapters {
        if !is_generated(chapter) {
            trials.extend(examples::trials(chapter, &chapters));
        }
    }
    trials.push(types::trial(&chapters));
    trials.extend(links::trials(chapters));
    trials.push(limits::trial());
    trials.push(settings::trial());
    libtest_mimic::run(&arguments, trials).exit_code()
}
