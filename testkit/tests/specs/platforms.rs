//! Every case in Node.js and in Bun too, where the npm package has been built and these programs are there.

use libtest_mimic::{Failed, Trial};
use sampan_testkit::{Case, CaseEngine, Platform};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the folder of the package; `target/npm/package`, where `cargo xtask npm` leaves it, if it is not set.
const PACKAGE: &str = "SAMPAN_NPM_PACKAGE";

/// The runtimes, and the variables that name their programs where the search path does not have them.
const RUNTIMES: [(&str, &str); 2] = [("node", "SAMPAN_NODE"), ("bun", "SAMPAN_BUN")];

/// Cases that a foreign runtime cannot pass: what begins so, for which runtime, and why.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[
    ("csv/each", BOTH, RUNAWAY),
    ("csv/records", BOTH, RUNAWAY),
    ("db/batch", BOTH, RUNAWAY),
    ("db/transaction_ends", BOTH, RUNAWAY),
    ("limits/library", BOTH, RUNAWAY),
    ("limits/loading", BOTH, RUNAWAY),
    ("limits/loops", BOTH, RUNAWAY),
    ("limits/on_error", BOTH, RUNAWAY),
    ("limits/others_go_on", BOTH, RUNAWAY),
    ("template/limits", BOTH, RUNAWAY),
    ("validate/checks", BOTH, RUNAWAY),
    (
        "limits/memory",
        BOTH,
        "nobody can limit the memory of an isolate there",
    ),
    (
        "limits/recursion",
        &["bun"],
        "its stack is larger, so recursion takes longer to fail than the case waits",
    ),
    (
        "db/transaction_starts",
        BOTH,
        "one thread runs scripts, and the case asks for six",
    ),
    (
        "errors/elsewhere",
        BOTH,
        "what the case finds missing is there: process, require, Buffer, fetch",
    ),
    (
        "stream/one_reader",
        BOTH,
        "the streams are the platform's, and say it in their own words",
    ),
    (
        "db/errors",
        &["bun"],
        "it leaves calls at the end of a function out of its stacks",
    ),
    (
        "errors/exceptions",
        &["bun"],
        "it tells another line for a member of undefined",
    ),
    (
        "response/bytes",
        &["bun"],
        "its Blob adds a charset to its type",
    ),
    (
        "typescript/",
        &["node"],
        "TypeScript is the platform's matter: not every Node.js has it",
    ),
    (
        "typescript/jsx",
        &["bun"],
        "what JSX becomes is the platform's matter",
    ),
    (
        "typescript/node_module",
        &["bun"],
        "packages may use the platform's modules",
    ),
    (
        "typescript/not_installed",
        &["bun"],
        "what is said of a missing package is the platform's matter",
    ),
    (
        "typescript/packages",
        &["bun"],
        "what imports mean is the platform's matter",
    ),
    (
        "typescript/stacks",
        &["bun"],
        "stacks that a script reads have whole paths",
    ),
];

const BOTH: &[&str] = &["node", "bun"];
const RUNAWAY: &str = "nobody can stop a script there that does not end";

/// The cases, one test for each runtime.
pub(super) fn trials(cases: &[Case]) -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let package = std::env::var_os(PACKAGE).map(PathBuf::from);
    let package = package.unwrap_or_else(|| root.join("target/npm/package"));
    let mut trials = Vec::new();
    if !package.join("sampan.linux-x64-gnu.node").is_file() {
        println!(
            "SKIPPED: the npm package is not built (cargo xtask npm --debug): no cases in Node.js and Bun"
        );
        return trials;
    }
    for (name, variable) in RUNTIMES {
        let program = std::env::var_os(variable).map_or_else(|| name.into(), PathBuf::from);
        let is_there = Command::new(&program).arg("--version").output();
        if !is_there.is_ok_and(|output| output.status.success()) {
            println!("SKIPPED: {name} is not available: no cases in it");
            continue;
        }
        let platform = Platform {
            program,
            package: package.clone(),
        };
        for case in cases {
            let is_exception = |(start, runtimes, _): &&(&str, &[&str], &str)| {
                case.name.starts_with(start) && runtimes.contains(&name)
            };
            let is_left_out = EXCEPTIONS.iter().any(|exception| is_exception(&exception));
            if case.program(CaseEngine::Js).is_none() {
                continue;
            }
            let (one, platform) = (case.clone(), platform.clone());
            let trial = Trial::test(format!("{}::{name}", case.name), move || {
                one.run_on(&platform).map_err(Failed::from)
            });
            trials.push(trial.with_ignored_flag(is_left_out));
        }
    }
    trials
}
