//! The rig with a Lua project in it.
#![allow(dead_code, unused_imports)] // Each test file uses its own part.

pub(crate) use sampan_rig::{
    End, TestAnswer, TestRequest, added_fields, block_on, cpu_time, end, get, post,
};

use sampan_host::{Error, Module, ScriptLimits};
use sampan_lua::Lua;
use sampan_rig::{CALLS, DATA, LOG, OBJECTS, PROBE, READING, TIME, VISITOR};

pub(crate) type Rig = sampan_rig::App<Lua>;

static MODULES: &[&Module] = &[
    &TIME,
    &LOG,
    &PROBE,
    &DATA,
    &CALLS,
    &OBJECTS,
    &READING,
    &VISITOR,
    &sampan_json::MODULE,
    &sampan_env::MODULE,
];

/// Loads `source` as `app.lua`, with the other files beside it.
pub(crate) fn load_files(
    source: &str,
    files: &[(&str, &str)],
    limits: ScriptLimits,
) -> Result<Rig, Error> {
    let files = [&[("app.lua", source)], files].concat();
    sampan_rig::load("app.lua", &files, MODULES, limits, Lua::load)
}

pub(crate) fn load(source: &str) -> Rig {
    load_files(source, &[], ScriptLimits::default()).expect("the script loads")
}
