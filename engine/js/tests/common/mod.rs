//! The rig with a JavaScript project in it.
#![allow(dead_code, unused_imports, missing_docs, unreachable_pub)] // Each test file uses its own part.

pub use sampan_rig::{
    End, TestAnswer, TestRequest, added_fields, cpu_time, end, get, post, slowness,
};

use sampan_host::{Error, Isolate, Module, Program, ScriptLimits};
use sampan_js::{Js, PublicFunctionsOnly};
use sampan_rig::{CALLS, DATA, LOG, OBJECTS, PROBE, READING, TIME, VISITOR};

pub type App = sampan_rig::App<Js>;

pub static MODULES: &[&Module] = &[
    &TIME, &LOG, &PROBE, &DATA, &CALLS, &OBJECTS, &READING, &VISITOR,
];

/// Loads `app.js`.
pub fn load(source: &str) -> App {
    load_files(&[("app.js", source)]).expect("the project loads")
}

/// Loads files whose runs may take so long as a busy machine needs for ones that end.
pub fn load_files(files: &[(&str, &str)]) -> Result<App, Error> {
    let limits = ScriptLimits {
        script_millis_max: 500,
        ..ScriptLimits::default()
    };
    load_with(files, limits)
}

pub fn load_with(files: &[(&str, &str)], limits: ScriptLimits) -> Result<App, Error> {
    // `tests/public_functions/main.rs` runs tests of other files once more.
    let is_public_only = env!("CARGO_CRATE_NAME") == "public_functions";
    let app = sampan_rig::load("app.js", files, MODULES, limits, |setup| {
        if is_public_only {
            setup.context.put(PublicFunctionsOnly);
        }
        Js::load(setup)
    })?;
    assert_eq!(app.isolate.looks_into_memory(), !is_public_only);
    Ok(app)
}

/// Program of a project, to look at.
pub fn program(source: &str) -> Program {
    let app = load(source);
    let program = app.isolate.program();
    Program {
        routes: program.routes.clone(),
        middleware: program.middleware.clone(),
        guards: program.guards.clone(),
        not_found: program.not_found,
        on_error: program.on_error,
        fetch: program.fetch,
        fetch_body: program.fetch_body.clone(),
    }
}
