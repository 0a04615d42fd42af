//! The cases about what handlers do once more with all routes in the slow lane.

use libtest_mimic::{Failed, Trial};
use sampan_testkit::Case;

/// The folders whose cases run.
const FOLDERS: [&str; 19] = [
    "app",
    "cache",
    "compression",
    "db",
    "errors",
    "files",
    "forms",
    "jobs",
    "log",
    "middleware",
    "request",
    "response",
    "routing",
    "session",
    "sse",
    "stream",
    "template",
    "topics",
    "waiting",
];

/// A case that does not run in the slow lane as it is, and why.
type SlowException = (&'static str, &'static str);

const TWO_ISOLATES: &str = "each of the two isolates does what the case counts";
const STAYS: &str =
    "a body that is read as it comes stays with its worker, which has variables of its own";

const EXCEPTIONS: &[SlowException] = &[
    ("app/hooks", TWO_ISOLATES),
    ("app/worker", "the number of an isolate of the slow lane"),
    ("db/transaction_starts", TWO_ISOLATES),
    ("forms/leaves", STAYS),
    ("sse/topics", "a table made at the top of the file"),
    ("stream/leaves", STAYS),
    ("stream/one_reader", STAYS),
    ("topics/publish", TWO_ISOLATES),
    ("topics/rolled_back", TWO_ISOLATES),
    ("topics/workers", TWO_ISOLATES),
];

/// A test for each case and language.
pub(super) fn trials(cases: &[Case]) -> Vec<Trial> {
    for (case, why) in EXCEPTIONS {
        assert!(cases.iter().any(|one| one.name == *case), "no case {case}");
        println!("left out: {case} in the slow lane: {why}");
    }
    let is_chosen = |case: &&Case| {
        let folder = case.name.split('/').next().unwrap_or_default();
        FOLDERS.contains(&folder)
    };
    let mut trials = Vec::new();
    for case in cases.iter().filter(is_chosen) {
        if EXCEPTIONS.iter().any(|(name, _)| *name == case.name) {
            continue;
        }
        for engine in case.engines().iter().copied() {
            let (name, case) = (format!("{}::{engine} slow", case.name), case.clone());
            trials.push(Trial::test(name, move || {
                case.run_slow(engine).map_err(Failed::from)
            }));
        }
    }
    trials
}
