//! `cargo xtask asan`: the tests of both engines, and the fuzz targets that run scripts and the C interface, under
//! AddressSanitizer and with QuickJS's own assertions. Needs clang and the nightly toolchain, which the tests of
//! every day do without.

use crate::error::Error;
use crate::project;
use std::process::Command;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The packages whose tests run, and the tests that are left out.
const PACKAGES: &[(&str, &[&str])] = &[
    // Tests of time and memory, of which the sanitizer takes several times as much.
    (
        "sampan-js",
        &[
            "a_loop_without_a_body_at_the_top_of_a_file_is_named_by_its_own_line",
            "no_builtin_takes_long",
            "near_the_limit_a_request_costs_no_collection",
            "runaways_are_stopped",
        ],
    ),
    ("sampan-lua", &["runaways_are_stopped_in_time"]),
];

/// The fuzz targets that reach unsafe code.
const FUZZ_TARGETS: &[&str] = &["js_objects", "random_scripts", "script_json", "c_interface"];

#[derive(clap::Args)]
pub(crate) struct AsanOptions {
    /// The time for which each fuzz target runs, in seconds
    #[arg(long, default_value_t = 60)]
    fuzz_seconds: u32,
    /// The only package to test, such as `sampan-lua`; the fuzz targets are left out then
    #[arg(long)]
    package: Option<String>,
    /// Arguments of `cargo test`, such as `--test objects`; the fuzz targets are left out then
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs the tests and the fuzz targets. The first memory error ends the program, with the stack of the access and that
/// of the allocation.
pub(crate) fn run(options: &AsanOptions) -> Result<bool, Error> {
    let is_wanted = |name: &str| options.package.as_deref().is_none_or(|only| only == name);
    for (package, left_out) in PACKAGES.iter().filter(|(name, _)| is_wanted(name)) {
        let mut tests = sanitized("test", package);
        tests.args(&options.arguments);
        if options.arguments.is_empty() {
            tests.arg("--");
            tests.args(left_out.iter().flat_map(|test| ["--skip", test]));
        }
        if !tests.status()?.success() {
            return Ok(false);
        }
    }
    if options.package.is_some() || !options.arguments.is_empty() {
        return Ok(true);
    }
    for target in FUZZ_TARGETS {
        let mut fuzz = sanitized("run", "sampan-fuzz");
        fuzz.args(["--bin", "sampan-fuzz", "--", "--target", target]);
        fuzz.args(["--seconds", &options.fuzz_seconds.to_string()]);
        if !fuzz.status()?.success() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A command of cargo for a package, all of whose code is checked. The crate `cc` passes `-fsanitize=address` for C
/// code where rustc has it for Rust code, and leaves it out for build scripts.
fn sanitized(subcommand: &str, package: &str) -> Command {
    // Clang 14 does not define the last name, by which QuickJS asks for each of its blocks by itself.
    let flags = "-fno-omit-frame-pointer -UNDEBUG -g -D__SANITIZE_ADDRESS__=1";
    let mut command = Command::new("cargo");
    command
        .args(["+nightly", subcommand, "--package", package])
        .args(["--target", TARGET, "--target-dir", "target/asan"])
        .current_dir(project::root())
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("CC", "clang")
        .env("CFLAGS", flags)
        // A test's script has 100 ms.
        .env("SAMPAN_TEST_SLOWNESS", "20")
        // LuaJIT's library alone: its command would have to be linked with clang's own runtime of the sanitizer.
        .env("TARGET_T", "libluajit.a")
        // QuickJS frees what it shares when its runtime ends, and a test may end before that.
        .env(
            "ASAN_OPTIONS",
            "detect_leaks=0:detect_stack_use_after_return=0",
        );
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fuzz_targets_are_there() {
        let list = project::root().join("fuzz/src/lib.rs");
        let list = std::fs::read_to_string(list).expect("the list of targets");
        for target in FUZZ_TARGETS {
            assert!(list.contains(&format!("\"{target}\",")), "{target}");
        }
    }
}
