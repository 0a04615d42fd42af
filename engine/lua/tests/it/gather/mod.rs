//! `app.gather`: functions of one handler that wait at the same time.

use crate::support::{End, Rig, block_on, get, load, load_files};
use sampan_host::{ErrorKind, Isolate, ScriptLimits};
use std::task::{Context, Waker};

fn app(body: &str) -> Rig {
    load(&format!(
        "local app = require 'sampan'\nlocal sleep, data = app.time.sleep, app.data\n\
         app.get('/', function(req) {body} end)"
    ))
}

/// Runs `body` as the body of a handler. Returns its answer, and checks that nothing is left behind.
fn run(body: &str) -> Result<String, String> {
    let rig = app(body);
    let answer = rig.only(get("/"));
    assert_eq!(rig.sleeps.0.get(), 0, "{body}");
    let told = |error: sampan_host::Error| error.to_string();
    answer.map(|answer| answer.text()).map_err(told)
}

#[track_caller]
fn check(body: &str, expected: &str) {
    assert_eq!(run(body).as_deref(), Ok(expected), "{body}");
}

#[track_caller]
fn check_error(body: &str, part: &str) {
    let error = run(body).expect_err(body);
    assert!(error.contains(part), "{body}: {error}");
}

#[test]
fn functions_wait_at_the_same_time() {
    check(
        "local a, b, c, d = app.gather(
           function() sleep(0.004) return 'a', 'dropped' end, function() sleep(0.001) return 'b' end,
           function() sleep(0.001) end, function() return 'd' end)
         return { a, b, tostring(c), d }",
        r#"["a","b","nil","d"]"#,
    );
    check("return { select('#', app.gather()) }", "[0]");
    check("return { app.gather(function() return 1 end) }", "[1]");
    // Each waits for the other.
    check(
        "local turn, order = 1, {}
         local function player(own, other)
           return function()
             for _ = 1, 3 do
               while turn ~= own do sleep(0) end
               order[#order + 1], turn = own, other
             end
           end
         end
         app.gather(player(1, 2), player(2, 1))
         return table.concat(order)",
        "121212",
    );
    // One that is always ready does not keep others waiting.
    check(
        "local is_over = false
         app.gather(function() while not is_over do sleep(0) end end, function() sleep(0.002) is_over = true end)
         return 'over'",
        "over",
    );
}

#[test]
fn gathers_nest_and_stand_in_coroutines() {
    check(
        "local function leaf(n) return function() sleep(n / 1000) return n end end
         local function pair(a, b) return function() return { app.gather(leaf(a), leaf(b)) } end end
         local left, right = app.gather(pair(3, 1), pair(2, 4))
         return { left, right }",
        "[[3,1],[2,4]]",
    );
    check(
        "local co = coroutine.wrap(function()
           coroutine.yield((app.gather(function() sleep(0.001) return 1 end)))
           coroutine.yield((app.gather(function() sleep(0.001) return 2 end)))
         end)
         return { co(), co() }",
        "[1,2]",
    );
    check(
        "local function counting()
           local co = coroutine.wrap(function() for i = 1, 2 do sleep(0.001) coroutine.yield(i) end end)
           return co() + co()
         end
         return { app.gather(counting, counting) }",
        "[3,3]",
    );
    check(
        "local function slow() return data.slow_query(1, true) end return #{ app.gather(slow, slow) }",
        "2",
    );
}

#[test]
fn the_first_failure_cancels_the_others() {
    check(
        "local seen = {}
         local function other()
           local ok, err = pcall(sleep, 60)
           seen[#seen + 1] = err.code
           sleep(0.001)
           seen[#seen + 1] = 'cleaned up'
           error('second', 0)
         end
         local ok, err = pcall(app.gather, other, function() sleep(0.002) error('first', 0) end,
           function() return app.gather(other, other) end)
         return { ok, err, table.concat(seen, ',') }",
        r#"[false,"first","cancelled,cancelled,cancelled,cleaned up,cleaned up,cleaned up"]"#,
    );
    // Functions behind one that fails at once do not begin.
    check(
        "local begun = {}
         local ok, err = pcall(app.gather, function() sleep(60) end, function() begun[1] = true error('no', 0) end,
           function() begun[2] = true end)
         return { err, #begun }",
        r#"["no",1]"#,
    );
    check_error(
        "app.gather(function() app.probe.fails() end)",
        "short and stout",
    );
    check_error(
        "app.gather(function() error({ status = 409, message = 'twice' }) end)",
        "twice",
    );
    let rig =
        app("app.gather(function() sleep(60) end, function()\n sleep(0.001)\n error('deep') end)");
    let error = rig.only(get("/")).expect_err("an error");
    assert_eq!(error.to_string(), "app.lua:5: deep");
    assert!(
        error.stack().unwrap_or_default().contains("app.lua:5"),
        "{error:?}"
    );
}

#[test]
fn wrong_uses_are_clear_errors() {
    for (body, part) in [
        (
            "app.gather(1)",
            "app.lua:3: app.gather: the argument 1 must be a function, not a number",
        ),
        (
            "app.gather(print, nil)",
            "the argument 2 must be a function, not nil",
        ),
        (
            "app.gather({ print, print })",
            "the argument 1 must be a function, not a table",
        ),
        (
            "app:gather(print)",
            "app.gather: write app.gather(...) with a dot",
        ),
        (
            "local all = {} for i = 1, 65 do all[i] = print end app.gather(unpack(all))",
            "app.gather: it takes at most 64 functions, not 65",
        ),
        (
            "data.batch(function() app.gather(print) end)",
            "app.gather: cannot wait inside data.batch",
        ),
        (
            "app.gather(function() data.batch(function() sleep(0) end) end)",
            "time.sleep: cannot wait inside data.batch",
        ),
        (
            "table.sort({ 2, 1 }, function() app.gather(print) end)",
            "app.gather: cannot wait here",
        ),
        (
            "app.gather(function() sleep(0.001) coroutine.yield(1) end)",
            "a function yielded outside of a coroutine of its own",
        ),
        (
            "local function again() return app.gather(again) end again()",
            "at most 64 of them open",
        ),
    ] {
        check_error(body, part);
    }
    let error = load_files(
        "require('sampan').gather(print)",
        &[],
        ScriptLimits::default(),
    );
    let error = error.expect_err("no waiting here");
    assert!(
        error.message().contains("app.gather: cannot wait here"),
        "{error}"
    );
}

#[test]
fn a_request_that_is_given_up_cancels_all_functions() {
    let rig = app("
        local function one(name)
          return function()
            local ok, err = pcall(sleep, 60)
            sleep(0.001)
            app.log.info(name .. ' ' .. err.code)
            error(err)
          end
        end
        app.gather(one 'a', function() return app.gather(one 'b', one 'c') end)");
    let call = rig.call(get("/"), Some(rig.handler("/")), &[]);
    let End::Waits(mut rest, mut answer) = rig.start(call) else {
        panic!("it waits");
    };
    let mut cx = Context::from_waker(Waker::noop());
    assert!(rest.poll(&mut cx, &mut answer).is_pending());
    assert_eq!(rig.sleeps.0.get(), 3);
    rest.cancel();
    let error = block_on(|cx| rest.poll(cx, &mut answer)).expect_err("given up");
    assert_eq!(error.code(), Some("cancelled"), "{error}");
    let mut notes = rig.notes.0.borrow().clone();
    notes.sort();
    assert_eq!(notes, ["a cancelled", "b cancelled", "c cancelled"]);
    assert_eq!(rig.sleeps.0.get(), 0);
}

#[test]
fn requests_that_are_dropped_leave_nothing() {
    let rig = app(
        "local function nap() sleep(3600) end app.gather(nap, function() app.gather(nap, nap) end)",
    );
    let handler = Some(rig.handler("/"));
    let give_up = |count| {
        for _ in 0..count {
            let End::Waits(mut rest, mut answer) = rig.start(rig.call(get("/"), handler, &[]))
            else {
                panic!("it waits")
            };
            let mut cx = Context::from_waker(Waker::noop());
            assert!(rest.poll(&mut cx, &mut answer).is_pending());
        }
        rig.isolate.collect_garbage();
        rig.isolate.memory_bytes()
    };
    give_up(300);
    let before = give_up(300);
    let after = give_up(3_000);
    assert!(after < before + 64 * 1024, "{before} → {after}");
    assert_eq!(rig.sleeps.0.get(), 0);
}

#[test]
fn a_function_that_does_not_end_is_stopped_with_its_handler() {
    for body in [
        "app.gather(function() sleep(60) end, function() while true do end end)",
        "app.gather(function() sleep(60) end, function() sleep(0.001) while true do end end)",
        "pcall(app.gather, function() sleep(0.001) while true do end end, function() sleep(60) end)",
    ] {
        let source = format!(
            "local app = require 'sampan' local sleep = app.time.sleep app.get('/', function() {body} end)
             app.get('/ok', function() return {{ app.gather(function() sleep(0.001) return 'ok' end) }} end)"
        );
        let limits = ScriptLimits {
            script_millis_max: 200,
            ..ScriptLimits::default()
        };
        let rig = load_files(&source, &[], limits).expect("loads");
        let error = rig.route("/", get("/")).expect_err(body);
        assert_eq!(error.kind(), ErrorKind::Stopped, "{body}: {error}");
        assert_eq!(rig.sleeps.0.get(), 0, "{body}");
        assert_eq!(
            rig.route("/ok", get("/ok")).expect(body).text(),
            r#"["ok"]"#
        );
    }
}

#[test]
fn streams_gather_but_do_not_write_meanwhile() {
    let rig = app("return app.stream(function(write)
        local a, b = app.gather(function() sleep(0.002) return 'a' end, function() return 'b' end)
        write(a .. b)
        for _, chunk in ipairs { 'c', ('c'):rep(50000) } do
          local ok, err = pcall(app.gather, function() write(chunk) end)
          write(tostring(err))
        end
      end)");
    let mut stream = rig
        .only(get("/"))
        .expect("an answer")
        .stream
        .expect("a stream");
    let mut next = || block_on(|cx| stream.poll_chunk(cx));
    let text =
        |chunk: sampan_host::Chunk| String::from_utf8_lossy(&chunk.into_bytes()).into_owned();
    assert_eq!(text(next().expect("a chunk").expect("no error")), "ab");
    for _ in 0..2 {
        let told = text(next().expect("a chunk").expect("no error"));
        assert!(
            told.contains("write: not inside a function of app.gather"),
            "{told}"
        );
    }
    assert!(next().is_none());
}
