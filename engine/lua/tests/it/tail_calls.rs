//! Errors below a tail call: LuaJIT drops the frame of a function that ends with `return f(...)`, and what is told of
//! the place says so.

use crate::support::{get, load, load_files};
use sampan_host::{Error, ScriptLimits};

fn fails(source: &str) -> Error {
    let rig = load(&format!(
        "local app = require 'sampan'\n{source} app.get('/after', function() return 'after' end)"
    ));
    let error = rig.wrapped(get("/path")).expect_err(source);
    let after = rig.nth(1, get("/path")).map(|answer| answer.text());
    assert!(
        after.is_ok_and(|text| text == "after") || source.contains("app.use"),
        "{source}"
    );
    error
}

#[track_caller]
fn check(source: &str, line: u32, stack: &[&str]) {
    let error = fails(source);
    assert_eq!(
        error.place().map(|at| at.line),
        Some(line),
        "{source}: {error}"
    );
    let lines: Vec<_> = error.stack().unwrap_or_default().lines().collect();
    assert_eq!(lines, stack, "{source}");
}

const TAIL: &str =
    ", which begins here and ended with a tail call (`return f(...)` leaves no line)";

#[test]
fn a_handler_that_ended_with_a_call_is_named() {
    for middleware in [
        "",
        "app.use(function(req, next) local res = next(req) return res end)",
    ] {
        for call in ["app.time.sleep('x')", "error('no')"] {
            let error = fails(&format!(
                "{middleware}\napp.get('/', function(req)\n return {call}\nend)"
            ));
            assert_eq!(
                error.place().map(|at| at.line),
                Some(3),
                "{middleware} {call}: {error}"
            );
            let stack = error.stack().unwrap_or_default();
            assert!(
                stack.starts_with("  app.lua:3") && stack.contains(TAIL),
                "{middleware} {call}: {stack}"
            );
        }
    }
    // A handler that waited first, and one that did not end with a call.
    let error =
        fails("\napp.get('/', function(req) app.time.sleep(0.001)\n return error('no')\nend)");
    assert_eq!(error.place().map(|at| at.line), Some(3), "{error}");
    check(
        "\n\napp.get('/', function(req) local slept = app.time.sleep('x') return slept end)",
        4,
        &["  app.lua:4"],
    );
}

#[test]
fn a_function_that_ended_with_a_call_is_named_by_its_caller() {
    let helper = format!("  app.lua:2 in helper{TAIL}");
    for declared in [
        "local function helper() return error('no') end",
        "function helper() return error('no') end",
    ] {
        check(
            &format!("{declared}\napp.get('/', function()\n local x = helper()\n return x\nend)"),
            4,
            &[&helper, "  app.lua:4"],
        );
    }
    // What was called in its place has a line of its own, but no name.
    let save = format!("  app.lua:3 in save{TAIL}");
    check(
        "local function insert() error('no') end\nlocal function save() return insert() end\napp.get('/', \
         function()\n local x = save()\n return x\nend)",
        2,
        &["  app.lua:2", &save, "  app.lua:5"],
    );
}

#[test]
fn calls_that_are_no_tail_calls_are_told_as_they_are() {
    for source in [
        "local function helper() error('no') end\napp.get('/', function() helper() end)",
        "local function helper() error('no') end\napp.get('/', function() pcall(pcall) helper() end)",
        "local t = {} function t.helper() error('no') end\napp.get('/', function() t.helper() end)",
        "local t = {} function t:helper() error('no') end\napp.get('/', function() t:helper() end)",
        "local t = setmetatable({}, { __index = function() error('no') end })\napp.get('/', function() local x = t.x \
         end)",
        "local helper = function() error('no') end\napp.get('/', function() local helper = helper helper() end)",
        "local function each() error('no') end\napp.get('/', function() for _ in each do end end)",
        "app.use(function() error('no') end)\napp.get('/', function() end)",
        "app.use(function(req, next) local res = next(req) error('no') end)\napp.get('/', function() return 'x' end)",
        "app.get('/', function() return function() end end)",
        "app.use(function(req, next) return next(req) end) app.get('/', function() return function() end end)",
        "app.get('/', function() local s = app.stream(function() error('no') end) return { x = s } end)",
        "app.get('/', function() coroutine.wrap(function() error('no') end)() end)",
        "app.get('/', function() table.sort({ 1, 2, 3 }, function() error('no') end) end)",
        "app.get('/', function() app.probe.guarded(function() error('no') end) end)",
    ] {
        let error = fails(source);
        let stack = error.stack().unwrap_or_default();
        assert!(!stack.contains("tail call"), "{source}: {stack}");
    }
    let error = load_files(
        "local function f() error('no') end\nf()",
        &[],
        ScriptLimits::default(),
    )
    .expect_err("fails");
    assert!(
        !error.stack().unwrap_or_default().contains("tail call"),
        "{error:?}"
    );
}
