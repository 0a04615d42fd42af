//! `cargo xtask conformance`: what others have written to test servers of HTTP/2, WebSockets and TLS, against
//! `sampan run`; and the tests of the database on each version of PostgreSQL.
//!
//! The programs are installed where that is possible (`tests/conformance/install.sh`). One that is missing is skipped,
//! with the reason. The counts go to the terminal, and to docs/how-it-works.md once all programs have passed.

mod counts;
mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

use self::server::Server;
use crate::error::Error;
use crate::project;

/// The programs, in the order of reports.
const SUITES: [Suite; 6] = [
    Suite {
        name: "h2spec",
        title: "[h2spec](https://github.com/summerwind/h2spec) 2.2.1: HTTP/2",
        run: h2spec,
    },
    Suite {
        name: "kosoku",
        title: "[Autobahn's cases](https://github.com/crossbario/autobahn-testsuite), run by kosoku 0.1.0: WebSockets",
        run: kosoku,
    },
    Suite {
        name: "sslyze",
        title: "[sslyze](https://github.com/nabla-c0d3/sslyze) 6.3.1: TLS as in Mozilla's \"intermediate\"",
        run: sslyze,
    },
    Suite {
        name: "testssl",
        title: "[testssl.sh](https://testssl.sh/): no finding above \"low\"",
        run: testssl,
    },
    Suite {
        name: "pebble",
        title: "[pebble](https://github.com/letsencrypt/pebble) 2.8.0: certificates by ACME",
        run: pebble,
    },
    Suite {
        name: "postgres",
        title: "The tests of the database on [PostgreSQL](https://www.postgresql.org/) 14, 15, 16, 17 and 18",
        run: postgres,
    },
];

/// The versions of PostgreSQL that `install.sh postgres` installs.
const POSTGRES_VERSIONS: [u32; 5] = [14, 15, 16, 17, 18];

/// The tests that need a server of PostgreSQL, as arguments of `cargo test`.
const POSTGRES_TESTS: [&[&str]; 3] = [
    &["-p", "sampan-testkit", "--test", "specs", "--", " postgres"],
    &["-p", "sampan-postgres"],
    &["-p", "sampan-db", "postgres"],
];

/// The options of `cargo xtask conformance`.
#[derive(clap::Args)]
pub(crate) struct ConformanceOptions {
    /// Run only this: h2spec, kosoku, sslyze, testssl, pebble or postgres
    #[arg(long, value_name = "NAME", value_parser = SUITES.map(|suite| suite.name))]
    only: Option<String>,
    /// Test the executable of the profile `release`
    #[arg(long)]
    release: bool,
}

/// A program that tests servers.
struct Suite {
    name: &'static str,
    /// The words in the docs, in Markdown.
    title: &'static str,
    run: fn(&Path, &Server) -> Result<Counts, Error>,
}

/// The cases of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    passed: usize,
    all: usize,
}

/// Runs the programs. False if a case failed.
pub(crate) fn run(options: &ConformanceOptions) -> Result<bool, Error> {
    let root = project::root();
    let profile = if options.release { "release" } else { "dev" };
    let mut cargo = project::cargo(&root);
    let executable = project::build_cli(&mut cargo, &root.join("target"), profile, None)?;
    let server = Server::start(&root, &executable)?;
    let (mut rows, mut is_right) = (Vec::new(), true);
    for suite in &SUITES {
        if options
            .only
            .as_deref()
            .is_some_and(|only| only != suite.name)
        {
            continue;
        }
        let program = match installed(&root, suite.name)? {
            Ok(program) => program,
            Err(why) => {
                println!("{}: SKIPPED: {why}", suite.name);
                continue;
            }
        };
        println!("{}: running", suite.name);
        let counts = (suite.run)(&program, &server)?;
        println!("{}: {} of {} passed", suite.name, counts.passed, counts.all);
        is_right &= counts.passed == counts.all && counts.all > 0;
        rows.push((suite.title, counts));
    }
    match is_right && rows.len() == SUITES.len() {
        true => counts::write(&root, &rows)?,
        false => println!("docs/how-it-works.md stays: it needs a run in which all programs pass"),
    }
    Ok(is_right)
}

/// The path of a program, or why it is missing.
fn installed(root: &Path, name: &str) -> Result<Result<PathBuf, String>, Error> {
    const MISSING: i32 = 3;
    let script = root.join("tests/conformance/install.sh");
    let output = Command::new(script).arg(name).output()?;
    let (path, told) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let last = told.lines().last().unwrap_or_default().to_owned();
    match output.status.code() {
        Some(0) => Ok(Ok(PathBuf::from(path.trim()))),
        Some(MISSING) => Ok(Err(last)),
        _ => Err(format!("install.sh {name} failed: {last}").into()),
    }
}

fn h2spec(program: &Path, server: &Server) -> Result<Counts, Error> {
    let port = server.tls_port().to_string();
    let mut command = Command::new(program);
    command.args(["--strict", "--tls", "--insecure", "--host", "127.0.0.1"]);
    command.args(["--port", &port]);
    let text = said(&mut command)?;
    // It marks what failed with a cross, and tells how.
    print_from(&text, "Failures:");
    counts::of_h2spec(&text).ok_or_else(|| no_report("h2spec", &text))
}

fn kosoku(python: &Path, server: &Server) -> Result<Counts, Error> {
    let mut command = Command::new(python);
    command.arg(project::root().join("tests/conformance/run_kosoku.py"));
    command.args(["--parallelism", "2", "--outdir"]);
    command.arg(server.folder().join("reports"));
    command.arg(format!("127.0.0.1:{}/ws", server.plain_port()));
    let text = said(&mut command)?;
    print_from(&text, "cases failed:");
    counts::of_kosoku(&text).ok_or_else(|| no_report("kosoku", &text))
}

fn sslyze(program: &Path, server: &Server) -> Result<Counts, Error> {
    let mut command = Command::new(program);
    command.arg("--certinfo_ca_file").arg(server.authority());
    command.args(["--mozilla_config", "intermediate"]);
    command.arg(format!("localhost:{}", server.tls_port()));
    let text = said(&mut command)?;
    print_from(&text, "Not compliant.");
    counts::of_sslyze(&text).ok_or_else(|| no_report("sslyze", &text))
}

fn testssl(program: &Path, server: &Server) -> Result<Counts, Error> {
    let report = server.folder().join("testssl.json");
    let mut command = Command::new(program);
    command.args(["--quiet", "--color", "0", "--warnings", "batch"]);
    command.arg("--add-ca").arg(server.authority());
    command.arg("--jsonfile").arg(&report);
    command.arg(format!("https://localhost:{}", server.tls_port()));
    let text = said(&mut command)?;
    let report = std::fs::read(&report).map_err(|_| no_report("testssl.sh", &text))?;
    let findings = counts::Finding::all(&report)?;
    for one in findings.iter().filter(|one| one.is_fault()) {
        println!("  {}: {}: {}", one.severity, one.id, one.finding);
    }
    Ok(counts::of_testssl(&findings))
}

/// Runs the tests of certificates, which fail without pebble here.
fn pebble(program: &Path, _: &Server) -> Result<Counts, Error> {
    let mut cargo = project::cargo(&project::root());
    cargo.args(["test", "-p", "sampan-runtime", "--test", "acme"]);
    let text = said(cargo.env("SAMPAN_TEST_PEBBLE", program))?;
    print_from(&text, "failures:");
    counts::of_cargo(&text).ok_or_else(|| no_report("cargo test", &text))
}

/// Runs the specs on PostgreSQL and the tests of its client, once for each version in a folder.
fn postgres(versions: &Path, _: &Server) -> Result<Counts, Error> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let mut all = Counts { passed: 0, all: 0 };
    for version in POSTGRES_VERSIONS {
        let programs = versions.join(format!("postgres-{version}/bin"));
        // Where one is missing, the tests would take another version of the system.
        for name in ["postgres", "initdb", "psql", "pg_isready"] {
            if !programs.join(name).exists() {
                return Err(format!("{} lacks {name}", programs.display()).into());
            }
        }
        let folders = std::iter::once(programs).chain(std::env::split_paths(&search));
        let path = std::env::join_paths(folders)?;
        for tests in POSTGRES_TESTS {
            let mut cargo = project::cargo(&project::root());
            let text = said(
                cargo
                    .args(["test", "--no-fail-fast"])
                    .args(tests)
                    .env("PATH", &path),
            )?;
            print_from(&text, "failures:");
            let counts = counts::of_cargo(&text).ok_or_else(|| no_report("cargo test", &text))?;
            println!(
                "  {version}: {}: {} of {} passed",
                tests[1], counts.passed, counts.all
            );
            all.passed += counts.passed;
            all.all += counts.all;
        }
    }
    Ok(all)
}

/// Runs a program to its end. Most end with a number when a case failed.
fn said(command: &mut Command) -> Result<String, Error> {
    let output = command.output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &errors)
}

/// Prints the lines from the first on that has these words.
fn print_from(text: &str, words: &str) {
    for line in text.lines().skip_while(|line| !line.contains(words)) {
        println!("  {line}");
    }
}

fn no_report(name: &str, text: &str) -> Error {
    let last: Vec<&str> = text.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    format!("{name} reported nothing: {}", last.join(" | ")).into()
}
