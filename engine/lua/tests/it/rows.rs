//! Rows of queries as Lua tables, values on their way out of Lua, and the kinds of functions that a database needs.

use crate::support::{block_on, get, load, load_files};
use sampan_host::{ErrorKind, Isolate, ScriptLimits, Value};

/// Runs `body` as the body of a handler and gives what it answers.
fn run(body: &str) -> Result<String, String> {
    let rig = load(&format!(
        "local app = require 'sampan' local data = app.data\napp.get('/', function(req) {body} end)"
    ));
    rig.wrapped(get("/path"))
        .map(|answer| answer.text())
        .map_err(|error| error.to_string())
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

const ADA: &str = r#"{"id":1,"name":"Ada","note":null}"#;
const BOB: &str = r#"{"id":2,"name":"Bób €","note":"x"}"#;

#[test]
fn rows_print_their_columns_in_order() {
    check("return data.people()", &format!("[{ADA},{BOB}]"));
    check("return data.person()", ADA);
    check("return data.people()[2]", BOB);
    check(
        "return { row = data.person() }",
        &format!(r#"{{"row":{ADA}}}"#),
    );
    check("return data.nobody()", "[]");
    check("return { data.person(false) == nil }", "[true]");
    check("return { data.person().note == nil }", "[true]");
    check("return data.odd_names()[1]['a\\n\"]\\\\']", "1");
    check_error("return data.odd_names()", "not UTF-8");
}

#[test]
fn rows_that_give_answers_have_any_number_of_parameters_before_the_options() {
    for (call, expected) in [
        ("app.probe.page()", "200 "),
        ("app.probe.page(201)", "201 "),
        ("app.probe.page_of('a', 'b', 'c', 'd')", "200 abcd"),
        (
            "app.probe.page_of('a', 'b', 'c', 'd', { status = 202 })",
            "202 abcd",
        ),
        ("req:visit_page(201)", "201 "),
        ("req:visit_page_of('a', 'b', 'c', 'd', 202)", "202 abcd"),
    ] {
        check(
            &format!("local res = {call} return (res.status or 200) .. ' ' .. res.body"),
            expected,
        );
    }
}

#[test]
fn what_a_script_does_to_a_row_is_printed() {
    check(
        "local r = data.person() r.zed = true r.name = nil return r",
        r#"{"id":1,"name":null,"note":null,"zed":true}"#,
    );
    check(
        "local r = data.person() r.note = { 1, 2 } r.id = nil r.name = nil return r",
        r#"{"id":null,"name":null,"note":[1,2]}"#,
    );
    check(
        "local r = data.person() for i = 1, 40 do r['k' .. i] = i end for i = 2, 40 do r['k' .. i] = nil end return r",
        r#"{"id":1,"name":"Ada","note":null,"k1":1}"#,
    );
    check("local r = data.person() rawset(r, 'x', 1) return r.x", "1");
    check_error(
        "local r = data.person() r[1] = 2 return r",
        "a key that is no string",
    );
    check_error(
        "local r = data.person() r.self = r return r",
        "contains itself",
    );
    check(
        "local rows = data.people() rows[1], rows[2] = nil, nil return rows",
        "[]",
    );
}

#[test]
fn rows_are_plain_tables() {
    check(
        "local rows = data.people() table.insert(rows, { id = 3 }) return { #rows, rows[3].id }",
        "[3,3]",
    );
    check(
        "local rows = data.people() table.sort(rows, function(a, b) return a.id > b.id end) return rows",
        &format!("[{BOB},{ADA}]"),
    );
    check(
        "local keys = {} for k, v in pairs(data.person()) do keys[#keys + 1] = k .. '=' .. v end table.sort(keys) \
         return keys",
        r#"["id=1","name=Ada"]"#,
    );
    check(
        "local copy = {} for k, v in pairs(data.person()) do copy[k] = v end copy.id = nil return copy",
        r#"{"name":"Ada"}"#,
    );
    check("return { getmetatable(data.person()) == nil }", "[true]");
    check("return { getmetatable(data.people()) }", "[false]");
    check(
        "local r = setmetatable(data.person(), { __index = { extra = 'm' } }) r.name = nil return { r.extra, r }",
        r#"["m",{"id":1}]"#,
    );
    check(
        "return { getmetatable(setmetatable({}, { __metatable = 5 })) }",
        "[5]",
    );
}

#[test]
fn dates_are_seconds_as_the_module_time_has_them() {
    check(
        "local row = data.dates() return { row.zero, row.before, row.at }",
        "[0,-0.001,1769862896.789]",
    );
}

#[test]
fn columns_may_be_many_or_have_the_same_name() {
    check("return data.wide(3)", r#"[{"c0":0,"c1":1,"c2":2}]"#);
    check("return data.wide(4)", r#"[{"c0":1,"c1":3}]"#);
    for count in [100, 101, 301] {
        let members: Vec<String> = (0..count).map(|at| format!("\"c{at}\":{at}")).collect();
        if count % 2 == 1 {
            check(
                &format!("return data.wide({count})"),
                &format!("[{{{}}}]", members.join(",")),
            );
        }
    }
    check(
        "local r = data.wide(100)[1] return { r.c0, r.c49 }",
        "[1,99]",
    );
}

#[test]
fn columns_that_are_forgotten_are_read_from_the_rows() {
    // Each call of `wide` has columns of its own, so that the first ones are replaced.
    check(
        "local kept = data.wide(3) for i = 1, 5000 do data.wide(3) end kept[1].c1 = nil kept[1].x = 0 return kept",
        r#"[{"c0":0,"c1":null,"c2":2,"x":0}]"#,
    );
    let rig = load(
        "local app = require 'sampan' app.get('/', function() for i = 1, 300 do app.data.wide(5) end end)",
    );
    for _ in 0..50 {
        rig.wrapped(get("/path")).expect("an answer");
    }
    rig.isolate.collect_garbage();
    let before = rig.isolate.memory_bytes();
    for _ in 0..50 {
        rig.wrapped(get("/path")).expect("an answer");
    }
    rig.isolate.collect_garbage();
    let after = rig.isolate.memory_bytes();
    assert!(after < before + 16 * 1024, "{before} then {after}");
}

#[test]
fn rows_keep_their_order_when_they_are_passed_on() {
    check(
        "return app.json.encode(data.people())",
        &format!("[{ADA},{BOB}]"),
    );
    check("return app.json.encode(data.nobody())", "[]");
    check(
        "local r = data.person() r.x = 1 return app.json.encode(r)",
        r#"{"id":1,"name":"Ada","note":null,"x":1}"#,
    );
}

#[test]
fn values_reach_capabilities_as_they_are() {
    for (value, expected) in [
        (
            "{ 1, 'a', nil, true }",
            r#"List([Int(1), Text("a"), Null, Bool(true)])"#,
        ),
        ("{ nil, nil, 3 }", "List([Null, Null, Int(3)])"),
        (
            "{ [8] = 1 }",
            "List([Null, Null, Null, Null, Null, Null, Null, Int(1)])",
        ),
        ("{ app.null, 1 }", "List([Null, Int(1)])"),
        ("{}", "Map([])"),
        ("app.json.array{}", "List([])"),
        ("{ a = 1 }", r#"Map([("a", Int(1))])"#),
        ("{ [1000] = 1 }", r#"Map([("1000", Int(1))])"#),
        ("'\\255'", "Bytes([255])"),
        ("'é'", r#"Text("é")"#),
        ("1e15", "Int(1000000000000000)"),
        ("0.5", "Float(0.5)"),
        ("0/0 ~= 0 and 1/-0", "Float(-inf)"),
        ("-0", "Float(-0.0)"),
        (
            "app.probe.shape and app.json.decode('9223372036854775807')",
            "Int(9223372036854775807)",
        ),
        (
            "app.json.decode('-9223372036854775808')",
            "Int(-9223372036854775808)",
        ),
    ] {
        check(&format!("return app.probe.shape({value})"), expected);
    }
    let nan = run("return app.probe.shape(0/0)").expect("a text");
    assert!(nan.to_lowercase().contains("nan"), "{nan}");
    check_error(
        "app.probe.shape({ 1, x = 2 })",
        "both a list and named keys",
    );
    check_error("app.probe.shape({ 1, [1000] = 2 })", "too many holes");
}

#[test]
fn a_prompt_function_waits_only_where_it_must() {
    check("return { data.slow_query('now') }", r#"["now"]"#);
    check("return { data.slow_query('later', true) }", r#"["later"]"#);
    check(
        "return { data.slow_query(false) == false, data.slow_query(nil) == nil }",
        "[true,true]",
    );
    check(
        "return { data.slow_query({ 1, { a = 2 } }, true)[2].a }",
        "[2]",
    );
    check(
        "return coroutine.wrap(function() return data.slow_query('inside', true) end)()",
        "inside",
    );
    check(
        "local ok, e = pcall(data.slow_query, 'fails', true) return { ok, e.status, e.message }",
        r#"[false,503,"no database"]"#,
    );
    check_error(
        "table.sort({ 2, 1 }, function() data.slow_query(1, true) end)",
        "app.lua:2: takes too long (data.slow_query: cannot wait here",
    );
    let error = load_files(
        "local app = require 'sampan'\napp.data.slow_query(1, true)",
        &[],
        ScriptLimits::default(),
    )
    .expect_err("no waiting here");
    assert!(
        error.to_string().starts_with("app.lua:2: takes too long"),
        "{error}"
    );
}

#[test]
fn kinds_survive_being_caught() {
    for (body, kind) in [
        ("data.busy()", ErrorKind::Unavailable),
        ("data.slow_query('fails', true)", ErrorKind::Unavailable),
        (
            "data.batch(function() data.slow_query(1, true) end)",
            ErrorKind::TooLong,
        ),
        ("req:json()", ErrorKind::BadRequest),
    ] {
        for wrap in [
            body.to_owned(),
            format!("local ok, e = pcall(function() {body} end) error(e)"),
            format!("coroutine.wrap(function() {body} end)()"),
            format!("data.batch(function() {body} end)"),
        ] {
            if wrap.contains("later") {
                continue;
            }
            let rig = load(&format!(
                "local app = require 'sampan' local data = app.data app.get('/', function(req) {wrap} end)"
            ));
            let error = rig.wrapped(get("/path")).expect_err("an error");
            let waits = wrap.starts_with("data.batch(function() data.slow");
            let expected = if waits { ErrorKind::TooLong } else { kind };
            assert_eq!(error.kind(), expected, "{wrap}: {error}");
            assert!(error.place().is_some(), "{wrap}");
        }
    }
    check(
        "local ok, e = pcall(data.busy) e.status = 418 local ok2, f = pcall(error, e) return { f.status, 'e: ' .. e, \
         tostring(e) }",
        r#"[418,"e: locked","locked"]"#,
    );
}

#[test]
fn nothing_waits_inside_a_bracket() {
    for (body, name) in [
        (
            "app.time.sleep(0)",
            "time.sleep: cannot wait inside data.batch",
        ),
        (
            "data.slow_query(1, true)",
            "data.slow_query: cannot wait inside data.batch",
        ),
        (
            "data.batch(function() pcall(data.batch, function() end) app.time.sleep(0) end)",
            "time.sleep: cannot wait inside data.batch",
        ),
        (
            "app.probe.within('x', function() app.time.sleep(0) end)",
            "time.sleep: cannot wait inside probe.within",
        ),
        (
            "app.probe.within('x', function() end) app.time.sleep(0)",
            "time.sleep: cannot wait inside data.batch",
        ),
        (
            "local ok, e = pcall(app.time.sleep, 0) error(e, 0)",
            "time.sleep: cannot wait inside data.batch",
        ),
        (
            "coroutine.wrap(function() app.time.sleep(0) end)()",
            "time.sleep: cannot wait inside data.batch",
        ),
        ("app.wait(0)", "time.sleep: cannot wait inside data.batch"),
    ] {
        let body = format!("app.wait = app.time.sleep data.batch(function() {body} end)");
        check_error(&body, name);
        check(
            &format!(
                "pcall(function() {body} end) app.time.sleep(0) data.batch(function() end) return 'goes on'"
            ),
            "goes on",
        );
    }
    check_error(
        "coroutine.wrap(function() data.batch(function() coroutine.yield(1) end) end)()",
        "coroutine.yield: cannot yield out of data.batch",
    );
    check(
        "return { data.batch(function() local f = coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) \
         end) return f(), f() end) }",
        "[1,2]",
    );
    check_error(
        "data.batch(function() coroutine.yield(1) end)",
        "not inside a coroutine of your own",
    );
}

#[test]
fn a_stream_does_not_wait_inside_a_bracket() {
    let rig = load(
        "local app = require 'sampan'
         app.get('/', function() return app.stream(function(write) app.data.batch(function() write('a') end) end) end)",
    );
    let mut stream = rig
        .wrapped(get("/path"))
        .expect("an answer")
        .stream
        .expect("a stream");
    let error = block_on(|cx| stream.poll_chunk(cx))
        .expect("an error")
        .expect_err("an error");
    assert!(
        error
            .message()
            .contains("write: cannot wait inside data.batch"),
        "{error}"
    );
}

#[test]
fn brackets_are_left_in_order() {
    check(
        "local a, b = data.batch(function(token) return token, data.batch(function(inner) return inner end) end) \
         return { a, b, data.log() }",
        r#"[1,2,"enter, enter, leave Int(2) true, leave Int(1) true"]"#,
    );
    check(
        "local ok, e = pcall(data.batch, function() data.batch(function() error('oh', 0) end) end) return { ok, e, \
         data.log() }",
        r#"[false,"oh","enter, enter, leave Int(2) false, leave Int(1) false"]"#,
    );
    check(
        "data.batch(function() pcall(data.batch, function() error('oh') end) end) return data.log()",
        "enter, enter, leave Int(2) false, leave Int(1) true",
    );
    check_error("data.batch(1)", "data.batch: argument 1 must be a function");
}

#[test]
fn an_error_in_a_bracket_keeps_its_place() {
    for (raise, message) in [
        ("error({ status = 404, message = 'no' })", "no"),
        ("error('no')", "no"),
        ("error('no', 0)", "no"),
        ("data.busy()", "locked"),
    ] {
        let rig = load(&format!(
            "local app = require 'sampan' local data = app.data
local function deep()
  {raise}
end
app.get('/', function()
  data.batch(function()
    data.batch(deep) return 1
  end)
end)"
        ));
        let error = rig.wrapped(get("/path")).expect_err("an error");
        assert_eq!(error.message(), message);
        assert_eq!(error.place().map(|place| place.line), Some(3), "{raise}");
        let stack = error.stack().expect("a stack");
        assert!(
            stack.contains("app.lua:3") && stack.contains("app.lua:7"),
            "{raise}: {stack}"
        );
    }
}

#[test]
fn a_stop_in_a_bracket_leaves_nothing_behind() {
    let limits = ScriptLimits {
        script_millis_max: 200,
        ..ScriptLimits::default()
    };
    for body in [
        "while true do end",
        "pcall(function() while true do end end)",
        "coroutine.wrap(function() data.batch(function() while true do end end) end)()",
        "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
    ] {
        let source = format!(
            "local app = require 'sampan' local data = app.data
             app.get('/', function() data.batch(function() {body} end) end)
             app.get('/ok', function() app.time.sleep(0.001) data.batch(function() end) return 'ok' end)"
        );
        let limits = ScriptLimits {
            memory_bytes_max: 16 * 1024 * 1024,
            ..limits.clone()
        };
        let rig = load_files(&source, &[], limits).expect("loads");
        let error = rig.wrapped(get("/path")).expect_err(body);
        assert_eq!(error.kind().status(), 503, "{body}: {error}");
        let answer = rig.nth(1, get("/path")).expect("it goes on");
        assert_eq!(answer.text(), "ok", "{body}");
    }
}

#[test]
fn a_tag_is_not_for_lua() {
    check("return { data.sql == nil }", "[true]");
}

#[test]
fn a_value_for_a_capability_is_no_larger_than_memory() {
    let shape = |value: &str| {
        let source = format!(
            "local app = require 'sampan'
             local function many(count, item) local t = {{}} for i = 1, count do t[i] = item end return t end
             app.get('/', function() return tostring(#app.probe.shape({value})) end)"
        );
        let limits = ScriptLimits {
            memory_bytes_max: 16 * 1024 * 1024,
            script_millis_max: 60_000,
            ..ScriptLimits::default()
        };
        let rig = load_files(&source, &[], limits).expect("loads");
        rig.wrapped(get("/path")).map(|answer| answer.text())
    };
    for value in [
        "many(200, many(1e4, 1))",
        "many(200, many(1e4, true))",
        "many(200, many(1e4, app.null))",
        "many(1000, { [('n'):rep(1e5)] = 1 })",
        "many(1000, (function() local row = app.data.person() row[('n'):rep(1e5)] = 1 return row end)())",
    ] {
        let error = shape(value).expect_err(value);
        assert_eq!(error.kind(), ErrorKind::Memory, "{value}: {error}");
        let text = error.to_string();
        assert!(
            text.contains("larger than memory_bytes_max"),
            "{value}: {text}"
        );
    }
    // Most of the list is read before the table in it shows that it is no plain one: that costs nothing.
    let count = 10 * 1024 * 1024 / size_of::<Value>();
    let value = format!("(function() local t = many({count}, 1) t[#t + 1] = {{}} return t end)()");
    shape(&value).expect("a text");
}

#[test]
fn the_arguments_of_waits_are_no_larger_than_memory() {
    let source = "local app = require 'sampan'
         local text = ('x'):rep(1000000)
         local function later() return app.probe.later(text) end
         app.get('/', function(req)
           local all = {}
           for at = 1, tonumber(req.query.count) do all[at] = later end
           return tostring(select('#', app.gather(unpack(all))))
         end)";
    let limits = ScriptLimits {
        memory_bytes_max: 16 * 1024 * 1024,
        ..ScriptLimits::default()
    };
    let rig = load_files(source, &[], limits).expect("loads");
    for _ in 0..3 {
        let error = rig.wrapped(get("/?count=64")).expect_err("no memory");
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        let text = error.to_string();
        assert!(
            text.contains("the arguments of what is waited for"),
            "{text}"
        );
        // They count until their waits have ended.
        let answer = rig.wrapped(get("/?count=10")).expect("an answer");
        assert_eq!(answer.text(), "10");
    }
}
