//! Objects that native code makes for JavaScript can be changed, frozen, extended and given other prototypes: those
//! that are made later are as they always were.
//!
//! Bytes choose what is made and what is done to it. When they are used up, numbers drawn from their hash choose the
//! rest. QuickJS's assertions are on in all builds; `cargo xtask asan` runs the target under AddressSanitizer.

use crate::mutate::hash;
use sampan_host::{Isolate, Module};
use sampan_js::Js;
use sampan_rig::{App, DATA, OBJECTS, PROBE, VISITOR, post};
use std::cell::RefCell;

/// Makes objects, changes them and looks at new ones.
const CHANGE: &str = include_str!("js_objects.js");

static MODULES: &[&Module] = &[&DATA, &OBJECTS, &PROBE, &VISITOR];

/// The inputs after which an isolate is replaced, so that what it keeps stays small.
const INPUTS_MAX: u32 = 2_000;

thread_local! {
    static ISOLATE: RefCell<Option<(App<Js>, u32)>> = const { RefCell::new(None) };
}

pub(crate) fn run(bytes: &[u8]) {
    let (app, count) = ISOLATE
        .take()
        .filter(|(_, count)| *count < INPUTS_MAX)
        .unwrap_or_else(|| (load(), 0));
    let seed = hash(bytes) as u32 | 1;
    // A list whose objects have the same names.
    let alike = |at: u32| serde_json::json!({ "a": at, "b": { "c": [at] }, "d": "text" });
    let alike: Vec<_> = (0..9).map(alike).collect();
    let choices = serde_json::json!({ "seed": seed, "bytes": bytes, "alike": alike }).to_string();
    let answer = app.only(post("/a/b?c=d", "application/json", &choices));
    if bytes.len().is_multiple_of(8) {
        app.isolate.collect_garbage();
    }
    let told = answer
        .map(|answer| answer.text())
        .map_err(|error| error.to_string());
    assert_eq!(told.as_deref(), Ok("as always"));
    ISOLATE.set(Some((app, count + 1)));
}

fn load() -> App<Js> {
    let limits = sampan_rig::patient_limits();
    sampan_rig::load("app.js", &[("app.js", CHANGE)], MODULES, limits, Js::load)
        .expect("the script loads")
}
