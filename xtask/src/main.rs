//! The developer's commands, run as `cargo xtask COMMAND`.
//!
//! `test` is the one command that decides whether a change is good: the checks, every test and every
//! fuzz target. `tidy` runs the house rules alone. `bench` starts the program that measures.

mod asan;
mod c;
mod conformance;
mod dist;
mod error;
mod fuzz;
mod go;
mod npm;
mod project;
mod soak;
mod tally;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use error::Error;

#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "The developer's commands of Sampan"
)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct Xtask {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run everything that must hold: fmt, tidy, clippy, rustdoc, all tests, all fuzz targets
    Test(test::TestOptions),
    /// Run the house rules alone: crate arrows, twin specs, module docs, unsafe code, pins, ...
    Tidy,
    /// Run the tests of the JavaScript engine under AddressSanitizer; needs clang and the nightly toolchain
    Asan(asan::AsanOptions),
    /// Run fuzz targets under libFuzzer, guided by the code that they reach; needs a compiler for C++
    Fuzz(fuzz::FuzzOptions),
    /// Run h2spec, Autobahn's cases, sslyze and testssl.sh against `sampan run`; needs the network to install them
    Conformance(conformance::ConformanceOptions),
    /// Run cargo-deny on our dependencies: advisories, licences, sources; needs the network, so `test` does not
    Advisories,
    /// Write docs/reference/ and types/ from the tables of functions, and the C header from faces/c
    Codegen,
    /// Build the book of docs/ into target/book; needs mdbook
    Docs,
    /// Make what is published of a version, in target/dist: the executable, its bill of materials, checksums
    Dist(dist::DistOptions),
    /// Make what programs in C link, in target/c: libsampan.a, libsampan.so, sampan.h
    C(c::COptions),
    /// Build the library for the package in faces/go, and test that package
    Go(go::GoOptions),
    /// Build and pack the npm package, in target/npm/sampan.tgz
    Npm(npm::NpmOptions),
    /// Load servers for minutes or hours while they are killed, reloaded, stopped and out of disk
    Soak(soak::SoakOptions),
    /// Measure Sampan beside its peers, or beside an older one: `cargo xtask bench --help`
    #[command(disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let cli = Xtask::parse();
    let outcome = match &cli.command {
        Task::Test(options) => test::run(options),
        Task::Tidy => tidy::run(),
        Task::Asan(options) => asan::run(options),
        Task::Fuzz(options) => fuzz::run(options),
        Task::Conformance(options) => conformance::run(options),
        Task::Advisories => advisories(),
        Task::Codegen => codegen(),
        Task::Docs => docs(),
        Task::Dist(options) => dist::run(options),
        Task::C(options) => c::run(options),
        Task::Go(options) => go::run(options),
        Task::Npm(options) => npm::run(options),
        Task::Soak(options) => soak::run(options),
        Task::Bench { arguments } => {
            let run = [
                "run",
                "--quiet",
                "--release",
                "--package",
                "sampan-bench",
                "--",
            ];
            project::start(&run, arguments)
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes what is generated and checked in. The C header needs cbindgen.
fn codegen() -> Result<bool, Error> {
    let generator = [
        "run",
        "--quiet",
        "--package",
        "sampan-testkit",
        "--bin",
        "codegen",
    ];
    let is_written = project::start(&generator, &[])?;
    let cbindgen = std::process::Command::new("cbindgen")
        .args([
            "--quiet",
            "--config",
            "cbindgen.toml",
            ".",
            "--output",
            "include/sampan.h",
        ])
        .current_dir(project::root().join("faces/c"))
        .status();
    match cbindgen {
        Ok(status) => Ok(status.success() && is_written),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!(
                "faces/c/include/sampan.h stays: cbindgen is missing (cargo install --locked cbindgen@0.29.4)"
            );
            Ok(is_written)
        }
        Err(error) => Err(format!("cbindgen: {error}").into()),
    }
}

/// Builds the book, where mdBook is installed.
fn docs() -> Result<bool, Error> {
    let book = project::root().join("docs");
    let mdbook = std::process::Command::new("mdbook")
        .arg("build")
        .arg(book)
        .status();
    let how = "run `cargo install --locked mdbook@0.5.4`";
    Ok(project::needs("mdbook", how, mdbook)?.success())
}

/// Runs cargo-deny with deny.toml. It fetches the RustSec database.
fn advisories() -> Result<bool, Error> {
    let version = std::process::Command::new("cargo-deny")
        .arg("--version")
        .output();
    let how = "run `cargo install --locked cargo-deny`";
    project::needs("cargo-deny", how, version)?;
    let check = [
        "deny",
        "--workspace",
        "check",
        "advisories",
        "licenses",
        "sources",
    ];
    project::start(&check, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Xtask::command().debug_assert();
    }

    #[test]
    fn an_unknown_command_is_named_in_the_error() {
        let error = Xtask::try_parse_from(["xtask", "tets"])
            .err()
            .map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("'tets'")));
    }
}
