//! `cargo xtask asan`: the tests of the JavaScript engine, and the fuzz target that changes all objects which native
//! code makes, under AddressSanitizer and with QuickJS's own assertions. Needs clang and the nightly toolchain, which
//! the tests of every day do without.

use crate::{Error, project};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

#[derive(clap::Args)]
pub(crate) struct AsanOptions {
    /// The time for which the fuzz target runs, in seconds
    #[arg(long, default_value_t = 60)]
    fuzz_seconds: u32,
    /// Arguments of `cargo test`, such as `--test objects`; the fuzz target is left out then
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs the tests and the fuzz target. The first memory error ends the program, with the stack of the access and that
/// of the allocation.
pub(crate) fn run(options: &AsanOptions) -> Result<bool, Error> {
    let mut tests = sanitized("test", "sampan-js");
    tests.args(&options.arguments);
    if options.arguments.is_empty() {
        // A test of time, which the sanitizer takes several times of.
        tests.args(["--", "--skip", "no_builtin_takes_long"]);
    }
    if !tests.status()?.success() {
        return Ok(false);
    }
    if !options.arguments.is_empty() {
        return Ok(true);
    }
    let mut fuzz = sanitized("run", "sampan-fuzz");
    fuzz.args(["--", "--target", "js_objects", "--seconds"]);
    let status = fuzz.arg(options.fuzz_seconds.to_string()).status()?;
    Ok(status.success())
}

/// A command of cargo for a package, all of whose code is checked.
fn sanitized(subcommand: &str, package: &str) -> Command {
    let flags = "-fsanitize=address -fno-omit-frame-pointer -UNDEBUG -g";
    let mut command = Command::new("cargo");
    command
        .args(["+nightly", subcommand, "--package", package])
        .args(["--target", TARGET, "--target-dir", "target/asan"])
        .current_dir(project::root())
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("CC", "clang")
        .env("CFLAGS", flags)
        // Build scripts and derive macros run without the sanitizer, and so does the C code that they link.
        .env("HOST_CFLAGS", "")
        // The program by which LuaJIT builds itself is linked with its objects, which have the sanitizer in them.
        .env("LDFLAGS", "-fsanitize=address")
        // QuickJS frees what it shares when its runtime ends, and a test may end before that.
        .env(
            "ASAN_OPTIONS",
            "detect_leaks=0:detect_stack_use_after_return=0",
        );
    command
}
