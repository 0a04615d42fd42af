//! `cargo xtask asan`: the tests of the JavaScript engine under AddressSanitizer, with QuickJS's own assertions. Needs
//! clang and the nightly toolchain, which the tests of every day do without.

use crate::{Error, project};
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

#[derive(clap::Args)]
pub(crate) struct AsanOptions {
    /// Arguments of `cargo test`, such as `--test objects`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs the tests. The first memory error ends the test program, with the stack of the access and that of the
/// allocation.
pub(crate) fn run(options: &AsanOptions) -> Result<bool, Error> {
    let root = project::root();
    let flags = "-fsanitize=address -fno-omit-frame-pointer -UNDEBUG -g";
    let status = Command::new("cargo")
        .args(["+nightly", "test", "--package", "sampan-js"])
        .args(["--target", TARGET, "--target-dir", "target/asan"])
        .args(&options.arguments)
        .current_dir(&root)
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("CC", "clang")
        .env("CFLAGS", flags)
        // Build scripts and derive macros run without the sanitizer, and so does the C code that they link.
        .env("HOST_CFLAGS", "")
        // QuickJS frees what it shares when its runtime ends, and a test may end before that.
        .env(
            "ASAN_OPTIONS",
            "detect_leaks=0:detect_stack_use_after_return=0",
        )
        .status()?;
    Ok(status.success())
}
