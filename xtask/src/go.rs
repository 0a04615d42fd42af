//! `cargo xtask go`: the static library put where the package for Go looks for it, and the tests of that package.
//!
//! The package links `internal/native/lib/PLATFORM/libsampan.a` and includes `internal/native/sampan.h`. Both are
//! copies that git ignores. Go looks at headers but not at libraries when it decides what to build again, so the header
//! ends with what tells one library from another.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;

use crate::error::Error;
use crate::tally::Tally;
use crate::{c, project};

/// The package, from the root of the checkout.
const PACKAGE: &str = "faces/go";

/// The chapter of the book.
const CHAPTER: &str = "docs/programs/go.md";

/// The options of `cargo xtask go`.
#[derive(Args)]
pub(crate) struct GoOptions {
    /// Build the library as it is released, instead of as tests need it
    #[arg(long)]
    release: bool,
    /// Take the library that the tests have built
    #[arg(long, hide = true, conflicts_with = "release")]
    built: bool,
    /// Put the library into its place, and run no tests
    #[arg(long)]
    no_tests: bool,
}

/// Puts the library into its place and runs the tests. `false` if one failed.
///
/// # Errors
///
/// When the library cannot be built or copied.
pub(crate) fn run(options: &GoOptions) -> Result<bool, Error> {
    let root = project::root();
    if !is_installed("go") {
        println!("SKIPPED: the package for Go: Go is not installed");
        println!("0 passed, 0 failed");
        return Ok(true);
    }
    let kind = match (options.release, options.built) {
        (true, _) => c::Kind::Release,
        (false, true) => c::Kind::OfTests,
        (false, false) => c::Kind::Debug,
    };
    let library = c::static_library(&root, kind)?;
    place(&root, &library)?;
    if options.no_tests {
        return Ok(true);
    }
    let tally = test(&root.join(PACKAGE))?;
    println!("{tally}");
    Ok(tally.failed == 0)
}

fn is_installed(program: &str) -> bool {
    let asked = Command::new(program)
        .arg("version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// Copies library and header to where the package looks for them.
fn place(root: &Path, library: &Path) -> Result<(), Error> {
    let package = root.join(PACKAGE).join("internal/native");
    let folder = package.join("lib/linux_amd64");
    fs::create_dir_all(&folder)?;
    let bytes = fs::read(library).map_err(|error| format!("{}: {error}", library.display()))?;
    fs::write(folder.join("libsampan.a"), &bytes)?;
    let mut hash = DefaultHasher::new();
    bytes.hash(&mut hash);
    let header = fs::read_to_string(root.join(c::HEADER))?;
    let header = format!("{header}\n/* library {:016x} */\n", hash.finish());
    let place = package.join("sampan.h");
    // Its time would have everything built again.
    if fs::read_to_string(&place).ok().as_ref() != Some(&header) {
        fs::write(place, header)?;
    }
    Ok(())
}

/// Every check of the package, each counted.
fn test(package: &Path) -> Result<Tally, Error> {
    let mut tally = Tally::default();
    tally.add(Tally::one(formatted(package)?));
    tally.add(Tally::one(
        go(package, &["vet", "./..."]).status()?.success(),
    ));
    tally.add(tests(go(package, &["test", "-count=1", "-v", "./..."]))?);
    tally.add(Tally::one(chapter(package)?));
    // The long tests once, without the race detector, which takes them ten times as long.
    let race = ["test", "-count=1", "-race", "-short", "-v", "./..."];
    tally.add(tests(go(package, &race))?);
    Ok(tally)
}

/// Reports whether the programs of the chapter about the package compile. Each is a package of a module in `target`.
fn chapter(package: &Path) -> Result<bool, Error> {
    let root = project::root();
    let module = root.join("target/go-chapter");
    let _ = fs::remove_dir_all(&module);
    let text = fs::read_to_string(root.join(CHAPTER))?;
    for (number, block) in text.split("```go\n").skip(1).enumerate() {
        let folder = module.join(format!("block{number}"));
        fs::create_dir_all(&folder)?;
        let program = block.split("```").next().unwrap_or_default();
        fs::write(folder.join("block.go"), program)?;
    }
    let name = "github.com/sampan-server/sampan/faces/go";
    let place = package.display();
    let requires = format!(
        "module chapter\n\ngo 1.25\n\nrequire {name} v0.0.0\n\nreplace {name} => {place}\n"
    );
    fs::write(module.join("go.mod"), requires)?;
    Ok(go(&module, &["vet", "./..."]).status()?.success())
}

/// Reports whether all files are as gofmt has them. It names the others.
fn formatted(package: &Path) -> Result<bool, Error> {
    let output = Command::new("gofmt")
        .args(["-l", "."])
        .current_dir(package)
        .output()?;
    print!("{}", String::from_utf8_lossy(&output.stdout));
    Ok(output.status.success() && output.stdout.is_empty())
}

fn go(package: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("go");
    command
        .args(arguments)
        .current_dir(package)
        .env("GOTOOLCHAIN", "local")
        // Go's own check of what crosses to C. It is on by default; here it stays on.
        .env("GODEBUG", "cgocheck=1")
        .stdin(Stdio::null());
    command
}

/// Runs tests, counts them and shows what is not just a success.
fn tests(mut command: Command) -> Result<Tally, Error> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut tally = Tally::default();
    let output = child.stdout.take().map(BufReader::new);
    for line in output.into_iter().flat_map(BufRead::lines) {
        let line = line?;
        let text = line.trim_start();
        if text.starts_with("--- PASS") {
            tally.passed += 1;
        } else if text.starts_with("--- FAIL") {
            tally.failed += 1;
            println!("{line}");
        } else if let Some(skipped) = text.strip_prefix("--- SKIP: ") {
            println!("SKIPPED: {skipped}");
        } else if !is_chatter(text) {
            println!("{line}");
        }
    }
    let succeeded = child.wait()?.success();
    // It did not compile, or has crashed.
    if !succeeded && tally.failed == 0 {
        tally.failed = 1;
    }
    Ok(tally)
}

/// Lines that say only that all is well.
fn is_chatter(line: &str) -> bool {
    const WORDS: &[&str] = &["=== ", "PASS", "ok  ", "?   ", "FAIL\tgithub.com/"];
    line.is_empty() || WORDS.iter().any(|word| line.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Tally {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        super::tests(command).expect("sh runs")
    }

    #[test]
    fn tests_of_go_are_counted() {
        let text = "=== RUN a\n--- PASS: a\n    --- PASS: a/b\n--- FAIL: c\n--- SKIP: d\nok  \tx\n";
        let counted = shell(&format!("printf '{text}'; exit 1"));
        assert_eq!((counted.passed, counted.failed), (2, 1));
    }

    #[test]
    fn a_crash_is_a_failure() {
        let counted = shell("echo '--- PASS: a'; echo 'fatal error: x'; exit 2");
        assert_eq!((counted.passed, counted.failed), (1, 1));
    }
}
