//! Every case of `tests/specs` in both languages, one test each, and the test of the capabilities' tables: every row is
//! documented, and called by a case in both languages.

#[path = "specs/databases.rs"]
mod databases;
#[path = "specs/exceptions.rs"]
mod exceptions;
#[path = "specs/platforms.rs"]
mod platforms;
#[path = "specs/slow.rs"]
mod slow;
#[path = "specs/wires.rs"]
mod wires;

use libtest_mimic::{Arguments, Failed, Trial};
use sampan_host::names::camel_case;
use sampan_host::{Function, FunctionKind, RowOwner};
use sampan_testkit::{Case, CaseEngine};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Cases whose requests share what `isolation = "request"` keeps apart, and what that is.
const SHARING: [(&str, &str); 35] = [
    ("app/hooks", "a global of app.on_start"),
    ("csv/records", "a request kept for the next"),
    ("csv/writer", "a writer kept for the next request"),
    ("jobs/crons", "errors of the top of the file"),
    ("jobs/names", "errors of the top of the file"),
    ("jobs/retries", "a job kept for the next"),
    ("db/errors", "a table made at the top of the file"),
    (
        "db/transaction_ends",
        "a transaction kept for the next request",
    ),
    (
        "db/transaction_neighbours",
        "a table made at the top of the file",
    ),
    ("db/transaction_others", "a transaction of another request"),
    (
        "db/transaction_workers",
        "a table made at the top of the file",
    ),
    ("fetch/ends", "a count of calls"),
    ("fetch/held", "a count of calls"),
    ("fetch/streams", "a global that one request tells another"),
    ("files/streams", "a stream kept for the next request"),
    ("forms/leaves", "a global that tells what a request saw"),
    ("forms/upload", "a file kept for the next request"),
    ("lanes/measured", "a global that tells what ran before"),
    ("lanes/memory", "a count of calls"),
    ("lanes/streams", "a global that tells what a request saw"),
    ("limits/on_error", "a count of calls"),
    (
        "response/stream_leaves",
        "a global that tells what a request saw",
    ),
    ("session/late", "a request kept for the next"),
    ("session/waiting", "a table made at the top of the file"),
    ("socket/unread", "a global that one socket tells another"),
    ("sse/faults", "what app.sse refused at the top of the file"),
    ("sse/presence", "a stream kept for a function of a topic"),
    ("sse/topics", "a stream kept for a function of a topic"),
    ("static/middleware", "a count of calls"),
    ("stream/leaves", "a global that tells what a request saw"),
    ("stream/one_reader", "a request kept for the next"),
    (
        "template/script",
        "what template.filter refused at the top of the file",
    ),
    ("time/clients_leave", "a count of calls"),
    (
        "topics/history",
        "what app.topic refused at the top of the file",
    ),
    (
        "topics/names",
        "what app.subscribe refused at the top of the file",
    ),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/specs");
    let cases = Case::all(&root).expect("the folder of the specs can be read");
    assert!(
        !cases.is_empty(),
        "there are no specs in {}",
        root.display()
    );
    let mut trials = Vec::new();
    for case in &cases {
        for engine in case.engines().iter().copied() {
            let case = case.clone();
            let name = format!("{}::{engine}", case.name);
            trials.push(Trial::test(name, move || {
                case.run(engine).map_err(Failed::from)
            }));
        }
    }
    for (name, _) in SHARING {
        assert!(cases.iter().any(|case| case.name == name), "no case {name}");
    }
    for case in cases.iter().filter(|case| runs_isolated(case)) {
        let case = case.clone();
        let name = format!("{}::lua isolated", case.name);
        trials.push(Trial::test(name, move || {
            case.run_isolated().map_err(Failed::from)
        }));
    }
    trials.extend(databases::trials(&cases));
    trials.extend(slow::trials(&cases));
    trials.extend(wires::trials(&cases));
    trials.extend(platforms::trials(&cases));
    let scripts: Arc<Vec<(CaseEngine, String)>> =
        Arc::new(cases.iter().flat_map(scripts_of).collect());
    let modules = sampan_runtime::modules().iter();
    for module in modules.filter(|module| module.is_seen()) {
        let functions = module.functions.iter();
        let functions = functions.map(|row| (module.owner(), module.doc, row));
        let methods = module.classes.iter().flat_map(|class| {
            let methods = class.methods.iter();
            methods.map(|method| (class.owner(), class.doc, method))
        });
        let fields = module.request_fields.iter();
        let fields = fields.map(|field| (RowOwner::REQUEST, field.doc, field));
        let of_requests = module.request_methods.iter();
        let of_requests = of_requests.map(|method| (RowOwner::REQUEST, method.doc, method));
        for (owner, doc, function) in functions.chain(methods).chain(fields).chain(of_requests) {
            let is_field = module
                .request_fields
                .iter()
                .any(|field| std::ptr::eq(field, function));
            let name = format!("table::{}.{}", owner.name, function.name);
            let scripts = Arc::clone(&scripts);
            trials.push(Trial::test(name, move || {
                check_row(owner, doc, function, is_field, &scripts).map_err(Failed::from)
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Reports whether a case runs a third time, with globals and modules of its own for each request.
fn runs_isolated(case: &Case) -> bool {
    case.engines().contains(&CaseEngine::Lua) && SHARING.iter().all(|(name, _)| *name != case.name)
}

/// The texts of a case's two programs.
fn scripts_of(case: &Case) -> Vec<(CaseEngine, String)> {
    let read = |engine: CaseEngine| {
        let path: PathBuf = case.folder.join(engine.file());
        (engine, std::fs::read_to_string(path).unwrap_or_default())
    };
    CaseEngine::ALL.map(read).into()
}

/// Checks a row of a module, of a class or of requests, whose doc is `doc`.
fn check_row(
    owner: RowOwner<'_>,
    doc: &str,
    function: &Function,
    is_field: bool,
    scripts: &[(CaseEngine, String)],
) -> Result<(), String> {
    let mut faults = Vec::new();
    let mut documented = |what: &str, doc: &str| {
        if doc.trim().len() < 5 || !doc.ends_with('.') {
            faults.push(format!("{what} has no doc that is a sentence: {doc:?}"));
        }
    };
    documented("the module or class", doc);
    documented("the function", function.doc);
    for param in function.params {
        documented(param.name, param.doc);
    }
    let is_plain = function.params.is_empty() && matches!(function.kind, FunctionKind::Sync(_));
    if is_field && !is_plain {
        faults.push("a field is of kind Sync and has no parameters".to_owned());
    }
    for engine in CaseEngine::ALL {
        let spelled = match engine {
            CaseEngine::Lua => function.name.to_owned(),
            CaseEngine::Js => camel_case(function.name),
        };
        let opening = match (function.kind, engine) {
            (FunctionKind::Tag(_), CaseEngine::Lua) => continue,
            (FunctionKind::Tag(_), CaseEngine::Js) => '`',
            _ => '(',
        };
        let mark = match engine {
            CaseEngine::Lua if owner.is_class && !is_field => ':',
            _ => '.',
        };
        let mut call = format!("{}{mark}{spelled}", owner.name);
        // Lua leaves the parentheses out around a table.
        let with_table = format!("{call}{{");
        if !is_field {
            call.push(opening);
        }
        let calls = |text: &str| {
            text.contains(&call)
                || engine == CaseEngine::Lua && !is_field && text.contains(&with_table)
        };
        if !scripts
            .iter()
            .any(|(language, text)| *language == engine && calls(text))
        {
            faults.push(format!("no spec calls {call}…) in {}", engine.file()));
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n"))
    }
}
