//! Functions that a script gives to a capability.

use crate::support::{Rig, block_on, get, load, load_files};
use sampan_host::{ErrorKind, Isolate, ScriptLimits, Value};

fn rig(body: &str) -> Rig {
    load(&format!(
        "local app = require 'sampan'\nlocal calls, objects, time = app.calls, app.objects, app.time\napp.get('/', \
         function(req) {body} end)"
    ))
}

#[track_caller]
fn check(body: &str, expected: &str) {
    let answer = rig(body).wrapped(get("/"));
    let said = answer.map_or_else(|error| error.to_string(), |answer| answer.text());
    assert_eq!(said, expected, "{body}");
}

#[track_caller]
fn check_error(body: &str, part: &str) {
    let error = rig(body).wrapped(get("/")).expect_err(body);
    assert!(error.to_string().contains(part), "{body}: {error}");
}

#[test]
fn a_function_is_called_with_values_and_gives_one() {
    check(
        "return calls.now(function(v) return v .. '!' end, 'hi')",
        "hi!",
    );
    check(
        "return calls.now(function(v) return { v.a, 2 } end, { a = 1 })",
        "[1,2]",
    );
    check("return tostring(calls.now(function() end))", "nil");
    check(
        "return calls.later(function(v) return v .. '!' end, 'hi')",
        "hi!",
    );
    let nested = "return calls.now(function(a) return calls.now(function(b) return b * 2 end, a + 1) end, 20)";
    check(nested, "42");
    // In a coroutine of the script, the function runs on top of that.
    check(
        "local co = coroutine.wrap(function() coroutine.yield(1) coroutine.yield(calls.now(function(v) return v end, \
         'in')) end)\nco() return co()",
        "in",
    );
}

#[test]
fn what_is_no_function_is_refused() {
    check_error(
        "calls.now(1)",
        "calls.now: argument 1 (fn) must be a function, not a number",
    );
    check_error(
        "calls.now()",
        "calls.now: argument 1 (fn) must be a function, not nil",
    );
    check_error("calls.now(true)", "must be a function, not a boolean");
}

#[test]
fn an_error_is_the_callers_and_keeps_its_line() {
    check_error(
        "\n\nreturn calls.now(function()\n error('boom') end)",
        "app.lua:6: boom",
    );
    check(
        "local ok, err = pcall(calls.now, function() error('boom', 0) end) return tostring(ok) .. ' ' .. err",
        "false app.lua:3: boom",
    );
    check(
        "pcall(calls.now, function() error({ status = 409, message = 'taken' }) end) return calls.now(function() \
         return 'still here' end)",
        "still here",
    );
    let error = rig("calls.now(function() error({ status = 409, message = 'taken' }) end)");
    let error = error.wrapped(get("/")).expect_err("an error");
    assert_eq!(error.kind(), ErrorKind::Status(409), "{error}");
    check_error(
        "calls.now(function() return function() end end)",
        "cannot be passed here",
    );
}

#[test]
fn a_function_that_is_called_back_cannot_wait() {
    check_error(
        "calls.now(function() time.sleep(0.001) end)",
        "cannot wait here: not inside a function that calls.now calls",
    );
    check_error("calls.now(function() coroutine.yield() end)", "yield");
    // Only inside of it.
    check_error(
        "calls.now(function() end) table.sort({ 2, 1 }, function() time.sleep(0) end)",
        "called back, as by table.sort",
    );
    check(
        "pcall(calls.now, function() time.sleep(0) end) time.sleep(0.001) return 'waited'",
        "waited",
    );
}

#[test]
fn a_function_that_does_not_end_is_stopped_with_its_run() {
    let source = "local app = require 'sampan'
app.get('/', function() pcall(app.calls.now, function()
  while true do end end)
  return 'went on' end)
app.get('/next', function() return app.calls.now(function() return 'next' end) end)";
    let limits = ScriptLimits {
        script_millis_max: 200,
        ..ScriptLimits::default()
    };
    let rig = load_files(source, &[], limits).expect("loads");
    let error = rig.route("/", get("/")).expect_err("stopped");
    assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
    assert_eq!(
        rig.route("/next", get("/")).expect("answers").text(),
        "next"
    );
}

#[test]
fn recursion_through_a_row_ends_before_the_stack_does() {
    check(
        "local function f() return calls.now(f) end local ok, err = pcall(f) return tostring(ok) .. ' ' .. \
         tostring(err):match('stack overflow')",
        "false stack overflow",
    );
    check(
        "local function index(t) return app.reading.hold(setmetatable({}, { __index = index }), print) end
        local ok, err = pcall(index) return tostring(ok) .. ' ' .. tostring(err):match('stack overflow')",
        "false stack overflow",
    );
}

#[test]
fn a_function_may_be_kept_and_called_in_another_request() {
    let rig = load(
        "local app = require 'sampan'
app.get('/keep', function() local n = 0 app.calls.keep(function(v) n = n + v return n end) return 'kept' end)
app.get('/call', function() return app.calls.kept(2) end)
app.get('/run', function() app.calls.run(function(v) app.time.sleep(0.001) app.calls.kept(v) end, 10) return \
 app.calls.kept(0) end)
app.get('/fails', function() app.calls.run(function() app.time.sleep(0.001) error('later') end) end)",
    );
    rig.route("/keep", get("/")).expect("kept");
    for expected in ["2", "4"] {
        assert_eq!(
            rig.route("/call", get("/")).expect("answers").text(),
            expected
        );
    }
    assert_eq!(rig.route("/run", get("/")).expect("answers").text(), "14");
    let error = rig.route("/fails", get("/")).expect_err("fails");
    assert!(error.to_string().contains("app.lua:5: later"), "{error}");
    // By the capability itself, while no script runs.
    let function = rig.kept.0.borrow().clone().expect("kept");
    assert_eq!(function.call(&[Value::Int(1)]).ok(), Some(Value::Int(15)));
    let mut run = function.clone().start(vec![Value::Int(5)]);
    assert!(block_on(|cx| run.as_mut().poll(cx)).is_ok());
    drop(run);
    assert_eq!(rig.route("/call", get("/")).expect("answers").text(), "22");
    rig.kept.0.take();
    let kept = rig.kept.clone();
    *kept.0.borrow_mut() = Some(function);
    drop(rig);
    let function = kept.0.take().expect("kept");
    let error = function.call(&[]).expect_err("the isolate is gone");
    assert!(error.message().contains("has ended"), "{error}");
    let mut run = function.start(Vec::new());
    assert!(block_on(|cx| run.as_mut().poll(cx)).is_err());
}

#[test]
fn functions_that_nobody_keeps_leave_nothing_behind() {
    let rig = rig(
        "for i = 1, 10000 do calls.now(function(v) return v end, i) calls.keep(function() return i end) end return \
         'ok'",
    );
    rig.wrapped(get("/")).expect("answers");
    rig.isolate.collect_garbage();
    let before = rig.isolate.memory_bytes();
    for _ in 0..5 {
        rig.wrapped(get("/")).expect("answers");
    }
    rig.isolate.collect_garbage();
    let after = rig.isolate.memory_bytes();
    assert!(after < before + 20_000, "{before} to {after} bytes");
}

#[test]
fn a_function_that_is_called_while_its_request_waits_has_the_objects_of_that() {
    // Those that it uses, and those that it makes.
    check(
        "local mine, made = objects.ticket() mine:add(1) calls.later(function() mine:add(2) made = objects.ticket() \
         end) \
         return { mine:add(0), made:add(5) }",
        "[3,5]",
    );
    let streams = rig(
        "return app.stream(function(write) local mine = objects.ticket() \
         calls.later(function() mine:add(2) end) write(tostring(mine:add(0))) end)",
    );
    let mut answer = streams.wrapped(get("/")).expect("answers");
    assert_eq!(streams.read(&mut answer).expect("a stream"), b"2");
    let rig = rig("calls.later(function() kept = objects.ticket() end) return 'kept'");
    rig.wrapped(get("/")).expect("answers");
    assert_eq!(rig.live.0.get(), 0);
}
