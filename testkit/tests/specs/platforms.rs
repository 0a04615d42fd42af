//! Every case in Node.js and in Bun too, where the npm package has been built and these programs are there; and those
//! of `tests/platforms`, about what only happens there.

use crate::exceptions::{Exception, part, whole};
use libtest_mimic::{Failed, Trial};
use sampan_testkit::{Case, CaseEngine, Platform, built_addon, npm};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the folder of the package; if it is not set, that is put together with the addon which was built beside this
/// test.
const PACKAGE: &str = "SAMPAN_NPM_PACKAGE";

/// The runtimes, and the variables that name their programs where the search path does not have them.
const RUNTIMES: [(&str, &str); 2] = [("node", "SAMPAN_NODE"), ("bun", "SAMPAN_BUN")];

const PLATFORMS_FETCH: &str =
    "fetch is the platform's, which holds nothing for a commit and has other limits";

const UNNAMED: &str = "the error about a value that JSON does not have names no argument there";

/// The cases that a foreign runtime cannot pass, each by the beginning of their names.
const EXCEPTIONS: &[Exception] = &[
    whole("fetch/", BOTH, PLATFORMS_FETCH),
    part(
        "cache/once",
        BOTH,
        &["a result that JSON does not have"],
        UNNAMED,
    ),
    part("cache/values", BOTH, &["GET /function"], UNNAMED),
    part("jobs/names", BOTH, &["POST /wrong"], UNNAMED),
    whole("lanes/", BOTH, "slow routes run among the others there"),
    part("csv/each", BOTH, &["a function that does not end"], RUNAWAY),
    whole("jobs/limits", BOTH, RUNAWAY),
    whole(
        "jobs/thrown",
        BOTH,
        "what is told of a value that is no error is the platform's matter",
    ),
    part(
        "csv/records",
        BOTH,
        &["a function that does not end"],
        RUNAWAY,
    ),
    whole(
        "errors/did_you_mean",
        BOTH,
        "what is said of a missing function is the platform's matter",
    ),
    whole(
        "errors/load_misspelt",
        BOTH,
        "what is said of a missing function is the platform's matter",
    ),
    part(
        "db/batch",
        BOTH,
        &["a script that is stopped leaves nothing behind"],
        RUNAWAY,
    ),
    part(
        "db/transaction_ends",
        BOTH,
        &[
            "a script that is stopped leaves nothing behind",
            "GET /endless-batch",
            "a statement ends with its script, or with the transaction",
        ],
        RUNAWAY,
    ),
    part(
        "db/transaction_neighbours",
        BOTH,
        &["a route that is known to write goes on after a wait of its own"],
        "what runs after a wait is outside of any run, so the route is not known to write",
    ),
    whole(
        "db/transaction_behind",
        BOTH,
        "what runs after a wait is outside of any run, and does not wait for transactions",
    ),
    part(
        "db/transaction_beside",
        BOTH,
        &[
            "a stream that writes after a wait",
            "a stream of events that writes after a wait",
        ],
        "what runs after a wait is outside of any run, and does not wait for transactions",
    ),
    part(
        "db/transaction_ends",
        BOTH,
        &["GET /shown"],
        "structuredClone is the platform's, which knows no native objects",
    ),
    part(
        "db/transaction_ends",
        BOTH,
        &[
            "a stream's chunk does not leave inside, so that no client learns what may be rolled back",
        ],
        "microtasks run before the chunk is looked at: it does not leave either, but its transaction may have been \
         committed",
    ),
    whole("limits/library", BOTH, RUNAWAY),
    whole("limits/loading", BOTH, RUNAWAY),
    whole("limits/loops", BOTH, RUNAWAY),
    whole("limits/on_error", BOTH, RUNAWAY),
    whole("limits/others_go_on", BOTH, RUNAWAY),
    part("socket/faults", BOTH, &["a handler that loops"], RUNAWAY),
    part(
        "template/limits",
        BOTH,
        &["a loop that asks the script nothing"],
        RUNAWAY,
    ),
    part("validate/checks", BOTH, &["POST /loops"], RUNAWAY),
    whole(
        "limits/memory",
        BOTH,
        "the memory of an isolate cannot be limited there",
    ),
    whole(
        "limits/recursion",
        &["bun"],
        "its stack is larger, so recursion takes longer to fail than the case waits",
    ),
    whole(
        "errors/elsewhere",
        BOTH,
        "what the case finds missing is there: process, require, Buffer, fetch",
    ),
    whole(
        "stream/one_reader",
        &["node"],
        "not every Node.js has ArrayBuffer.transfer",
    ),
    part(
        "stream/one_reader",
        &["bun"],
        &["a chunk that comes after its reader was released is the next reader's"],
        "the streams are the platform's, and say it in their own words",
    ),
    part(
        "db/errors",
        &["bun"],
        &["GET /rethrown"],
        "it leaves calls at the end of a function out of its stacks",
    ),
    part(
        "errors/exceptions",
        &["bun"],
        &["GET /nil"],
        "it tells another line for a member of undefined",
    ),
    part(
        "response/bytes",
        &["bun"],
        &["GET /blob", "GET /wrapped/blob"],
        "its Blob adds a charset to its type",
    ),
    whole(
        "typescript/",
        &["node"],
        "TypeScript is the platform's matter: not every Node.js has it",
    ),
    whole(
        "waiting/thenables",
        &["node"],
        "TypeScript is the platform's matter: not every Node.js has it",
    ),
    whole(
        "socket/web",
        &["node"],
        "TypeScript is the platform's matter: not every Node.js has it",
    ),
    whole(
        "typescript/jsx",
        &["bun"],
        "what JSX becomes is the platform's matter",
    ),
    whole(
        "typescript/node_module",
        &["bun"],
        "packages may use the platform's modules",
    ),
    whole(
        "typescript/not_installed",
        &["bun"],
        "what is said of a missing package is the platform's matter",
    ),
    whole(
        "typescript/packages",
        &["bun"],
        "what imports mean is the platform's matter",
    ),
    whole(
        "typescript/stacks",
        &["bun"],
        "stacks that a script reads have whole paths",
    ),
];

const BOTH: &[&str] = &["node", "bun"];
const RUNAWAY: &str = "a script that does not end cannot be stopped there";

/// The cases, one test for each runtime.
pub(super) fn trials(cases: &[Case]) -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let own = Case::all(&root.join("tests/platforms")).expect("the cases of platforms can be read");
    let mut trials = Vec::new();
    let package = std::env::var_os(PACKAGE).map(PathBuf::from);
    let Some(package) = package.or_else(|| put_together(&root)) else {
        println!(
            "SKIPPED: the addon is not built (cargo build -p sampan-node): no cases in Node.js and Bun"
        );
        return trials;
    };
    for (name, variable) in RUNTIMES {
        let program = std::env::var_os(variable).map(PathBuf::from);
        let program = program.or_else(|| installed(name));
        let program = program.unwrap_or_else(|| name.into());
        let is_there = Command::new(&program).arg("--version").output();
        if !is_there.is_ok_and(|output| output.status.success()) {
            println!("SKIPPED: {name} is not available: no cases in it");
            continue;
        }
        let platform = Platform {
            program,
            package: package.clone(),
        };
        for case in cases.iter().chain(&own) {
            let of_case = EXCEPTIONS.iter().filter(|exception| {
                case.name.starts_with(exception.case) && exception.on.contains(&name)
            });
            let of_case: Vec<&Exception> = of_case.collect();
            let left_out = of_case
                .iter()
                .find(|exception| exception.requests.is_empty());
            let skipped: Vec<&str> = of_case
                .iter()
                .flat_map(|one| one.requests)
                .copied()
                .collect();
            if case.program(CaseEngine::Js).is_none() {
                continue;
            }
            let (one, platform) = (case.clone(), platform.clone());
            let trial = Trial::test(format!("{}::{name}", case.name), move || {
                one.run_on(&platform, &skipped).map_err(Failed::from)
            });
            if let Some(exception) = left_out {
                println!("left out: {} on {name}: {}", case.name, exception.why);
            }
            trials.push(trial.with_ignored_flag(left_out.is_some()));
        }
    }
    trials
}

/// A runtime that tests may install.
fn installed(name: &str) -> Option<PathBuf> {
    (name == "bun").then(npm::bun).flatten()
}

/// The package with the addon that was built last; nothing where none was.
fn put_together(root: &Path) -> Option<PathBuf> {
    let addon = built_addon()?;
    let package = addon.with_file_name("npm-test");
    let files = root.join("faces/node/package");
    Platform::put_together(&files, &addon, &package).expect("the package can be put together");
    Some(package)
}
