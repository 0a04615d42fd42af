//! `app.health`: functions that tell whether the app is ready.
//!
//! Each isolate declares them. One worker runs them when the server is asked for its health.

use super::answer::{CheckResult, STOPPING};
use super::app_checks::AppChecks;
use crate::hooks::Hooks;
use sampan_host::capability::{IsolateSetup, ProcessSetup, Shared};
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::{
    Args, Background, Callback, Context, Error, ErrorKind, FunctionKind, Module, Rerun, Stopper,
    Type, Value, param, refusals, row,
};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::spawn_local;

/// The most checks of an app.
const CHECKS_MAX: usize = 32;
/// The longest name of a check, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// The longest reason that is told, in bytes.
const REASON_BYTES_MAX: usize = 1_000;
/// The longest time that a function may take.
const TIME_MAX: Duration = Duration::from_secs(2);
/// The names of the server's own checks.
const OWN_NAMES: [&str; 4] = ["database", "migrations", "disk", STOPPING];

/// The function that declares checks.
pub(crate) static MODULE: Module = Module {
    name: "app",
    doc: "Checks of the app.",
    functions: &[row!("health"(
            param!("name": Type::Text,
                "The name of the check, as the answer shows it: ASCII letters, digits, `_`, `-` and `.`."),
            param!("fn": Type::Function,
                "A function without parameters. It throws an error, or returns `false`, if the app is not ready."),
        ) -> Type::Nothing, FunctionKind::Sync(health),
        "Declares a check of the app, beside those of the server. When the server is asked whether it is ready, one \
         worker calls the function, at most once a second. It may wait, and has 2 seconds. If it throws an error or \
         returns `false`, the answer has the status 503. Only while the project loads.")],
    ..Module::EMPTY
};

/// The checks that an isolate declares.
#[derive(Default)]
pub(crate) struct DeclaredChecks {
    checks: RefCell<Vec<(String, Callback)>>,
    /// True if the project is loaded.
    is_closed: Cell<bool>,
}

/// The isolate whose checks a worker runs.
#[derive(Default)]
struct WorkerChecks(RefCell<Weak<Context>>);

/// Makes the question that all workers share.
pub(crate) fn process(setup: &mut ProcessSetup<'_>) -> Result<(), String> {
    let before = setup.before.and_then(Shared::get::<AppChecks>);
    setup.shared.put(before.unwrap_or_default());
    Ok(())
}

/// Makes the list of the checks of an isolate.
pub(crate) fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    setup.context.put(DeclaredChecks::default());
    Ok(())
}

/// Closes the list: the project is loaded.
pub(crate) fn loaded(context: &Context) -> Result<(), Error> {
    if let Some(declared) = context.get::<DeclaredChecks>() {
        declared.is_closed.set(true);
    }
    Ok(())
}

/// Has the worker run the checks of this isolate, in place of the one before.
pub(crate) fn serve(setup: &IsolateSetup<'_>) {
    let declared = setup.context.get::<DeclaredChecks>();
    let (Some(declared), Some(checks)) = (declared, setup.shared.get::<AppChecks>()) else {
        return;
    };
    let names: Vec<String> = declared
        .checks
        .borrow()
        .iter()
        .map(|one| one.0.clone())
        .collect();
    let has_checks = !names.is_empty();
    checks.set_names(names);
    let before = setup.worker.get::<WorkerChecks>();
    if before.is_none() && has_checks {
        setup.worker.put(WorkerChecks::default());
    }
    let Some(worker) = setup.worker.get::<WorkerChecks>() else {
        return;
    };
    worker.0.replace(Rc::downgrade(setup.context));
    if before.is_none() {
        drop(spawn_local(answer(worker, checks)));
    }
}

fn health(context: &Context, mut args: Args) -> Result<Value, Error> {
    if Rerun::is_on(context) {
        return Ok(Value::Null);
    }
    let declared = context.get::<DeclaredChecks>();
    let declared = declared.filter(|declared| !declared.is_closed.get());
    let declared = declared.ok_or_else(|| refusals::too_late("health checks"))?;
    let name = args.text(0);
    check_name(&name)?;
    let function = args.function(1);
    let function = function.ok_or_else(|| Error::new(ErrorKind::Internal, "no function"))?;
    let mut checks = declared.checks.borrow_mut();
    if checks.iter().any(|(known, _)| *known == name) {
        return Err(Error::script(format!(
            "health: there is a check {name:?} already"
        )));
    }
    if checks.len() >= CHECKS_MAX {
        return Err(Error::script(format!(
            "health: an app has at most {CHECKS_MAX} checks"
        )));
    }
    checks.push((name, function));
    Ok(Value::Null)
}

/// Checks the name of a check.
///
/// # Errors
/// It is not one, or the server's own.
fn check_name(name: &str) -> Result<(), Error> {
    if OWN_NAMES.contains(&name) {
        return Err(Error::script(format!(
            "health: the server has a check {name:?} of its own: give this one another name"
        )));
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.bytes().all(is_part) {
        return Ok(());
    }
    Err(Error::script(format!(
        "health: the name of a check has 1 to {NAME_BYTES_MAX} ASCII letters, digits, '_', '-' and '.', such as \
         \"payments\"; this one is {name:?}"
    )))
}

/// Answers the questions that this worker takes.
async fn answer(worker: Rc<WorkerChecks>, checks: Arc<AppChecks>) {
    let isolate = || worker.0.borrow().upgrade();
    // The first isolate serves only then; those after it have started before they serve.
    let hooks = isolate().and_then(|context| context.get::<Hooks>());
    if let Some(hooks) = hooks {
        hooks.wait_until_started().await;
    }
    loop {
        let question = checks.next(|| isolate().is_some()).await;
        if let Some(context) = isolate() {
            question.answer(run_all(&context).await);
        }
    }
}

/// Runs the checks of an isolate, all at the same time.
async fn run_all(context: &Rc<Context>) -> Vec<CheckResult> {
    let declared = context.get::<DeclaredChecks>().unwrap_or_default();
    let checks = declared.checks.borrow().clone();
    let running = checks.into_iter().map(|(name, function)| {
        let run = run(Rc::clone(context), name.clone(), function);
        (name, spawn_local(run))
    });
    let running: Vec<_> = running.collect();
    let mut results = Vec::with_capacity(running.len());
    for (name, run) in running {
        let fault = match run.await {
            Ok(fault) => fault,
            Err(_) => Some("the check could not be run".to_owned()),
        };
        results.push(CheckResult { name, fault });
    }
    results
}

/// Runs a check. Returns what is wrong.
async fn run(context: Rc<Context>, name: String, function: Callback) -> Option<String> {
    let Some(background) = context.get::<Rc<dyn Background>>() else {
        return Some("nothing runs it here".to_owned());
    };
    let called = function.start_check();
    let stopper = Arc::new(Stopper::default());
    let what = format!("app.health {name}");
    let ran = background.run_within(&what, TIME_MAX, stopper, called);
    let error = ran.await.err()?;
    let reason = error.to_string();
    if let Some(log) = context.get::<Rc<dyn Log>>() {
        let text = format!("{what}: {reason}");
        let entry = Entry {
            stack: error.stack(),
            ..Entry::text(&text)
        };
        log.write_limited(Level::Warn, Cause::message(&text), &entry);
    }
    Some(shortened(reason))
}

fn shortened(mut reason: String) -> String {
    reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
    reason
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::task::{LocalSet, yield_now};

    #[test]
    fn names_are_words_and_not_those_of_the_server() {
        for name in ["payments", "stock-2", "a.b_c", &"n".repeat(64)] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "a b", "ä", "a/b", &"n".repeat(65)] {
            let error = check_name(name).expect_err("it is refused");
            assert!(error.message().contains("the name of a check"), "{name}");
        }
        for name in OWN_NAMES {
            let error = check_name(name).expect_err("it is refused");
            assert!(error.message().contains("of its own"), "{name}");
        }
    }

    #[test]
    fn a_worker_answers_a_question_once_its_isolate_has_started() {
        let context = Rc::new(Context::default());
        context.put(Hooks::default());
        let worker = Rc::new(WorkerChecks(RefCell::new(Rc::downgrade(&context))));
        let checks = Arc::new(AppChecks::default());
        checks.set_names(vec!["stock".to_owned()]);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            drop(spawn_local(answer(worker, Arc::clone(&checks))));
            let asking = Arc::clone(&checks);
            let asked = std::thread::spawn(move || asking.ask_within(Duration::from_secs(60)));
            while !checks.is_asked() {
                yield_now().await;
            }
            for _ in 0..100 {
                yield_now().await;
            }
            assert!(checks.is_asked(), "the isolate has not started");
            context.get::<Hooks>().expect("the hooks").end_start();
            while !asked.is_finished() {
                yield_now().await;
            }
            // The isolate declares no checks.
            assert!(asked.join().expect("an answer").is_empty());
        });
    }

    #[test]
    fn a_long_reason_ends_with_a_whole_character() {
        let reason = shortened(format!("a{}", "ü".repeat(REASON_BYTES_MAX)));
        assert_eq!(reason.len(), REASON_BYTES_MAX - 1);
        assert_eq!(shortened("short".to_owned()), "short");
    }
}
