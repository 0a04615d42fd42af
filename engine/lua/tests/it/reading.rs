//! Rows that read values of the script where they lie.

use crate::support::{Rig, get, load, load_files};
use sampan_host::{ErrorKind, Isolate, ScriptLimits};

fn source(body: &str) -> String {
    format!(
        "local app = require 'sampan'\nlocal reading, calls, data, time = app.reading, app.calls, app.data, \
         app.time\napp.get('/', function(req) {body} end)"
    )
}

#[track_caller]
fn check(body: &str, expected: &str) {
    let answer = load(&source(body)).wrapped(get("/"));
    let said = answer.map_or_else(|error| error.to_string(), |answer| answer.text());
    assert_eq!(said, expected, "{body}");
}

#[track_caller]
fn check_error(body: &str, part: &str) {
    let answer = load(&source(body)).wrapped(get("/"));
    let error = answer.map_or_else(|error| error, |answer| panic!("{}", answer.text()));
    assert!(error.to_string().contains(part), "{body}: {error}");
}

fn limited(body: &str) -> Rig {
    let limits = ScriptLimits {
        script_millis_max: 100,
        ..ScriptLimits::default()
    };
    load_files(&source(body), &[], limits).expect("loads")
}

#[test]
fn every_kind_of_value_is_seen() {
    for (value, seen) in [
        ("nil", "nothing"),
        ("app.null", "null"),
        ("true", "true"),
        ("42", "42"),
        ("-0.5", "-0.5"),
        ("2^53", "9007199254740992.0"),
        ("0/0", "NaN"),
        ("'text'", "\"text\""),
        ("''", "\"\""),
        ("print", "function"),
        ("coroutine.create(print)", "[thread]"),
        ("{}", "{}"),
        ("app.json.array{}", "[]"),
        ("{1, 'two', {3}}", "[1,\"two\",[3]]"),
        (
            "{b = 1, a = {c = 2}, [10] = 3, [true] = 4}",
            "{10:3,a:{c:2},b:1}",
        ),
        ("{n = 1, 5}", "[5]"),
        (
            "(function() local t = {} t[2] = 'b' t[1] = 'a' t[3] = 'c' return t end)()",
            "[\"a\",\"b\",\"c\"]",
        ),
        (
            "app.json.decode('[9007199254740993, null]')",
            "[9007199254740993,null]",
        ),
        ("app.objects.counter(1)", "[Counter]"),
        ("{{{{{{{{{1}}}}}}}}}", "[[[[[[[[...]]]]]]]]"),
    ] {
        check(&format!("return reading.outline({value})"), seen);
    }
    check("return reading.outline()", "nothing");
}

#[test]
fn a_row_of_a_query_has_its_columns_in_their_order() {
    check(
        "local people = data.people() people[1].extra = 1 people[2].id = nil return reading.outline(people)",
        "[{id:1,name:\"Ada\",note:null,extra:1},{id:null,name:\"Bób €\",note:\"x\"}]",
    );
}

#[test]
fn keys_come_in_the_same_order_every_time() {
    let body = "local t = {} for i = 1, 200 do t['k' .. (i * 7919 % 1009)] = i end
        for i = 1, 200, 3 do t['k' .. (i * 7919 % 1009)] = nil end
        return reading.outline(t)";
    let answer = load(&source(body)).wrapped(get("/")).expect("answers");
    let text = answer.text();
    let keys: Vec<&str> = text[1..text.len() - 1]
        .split(',')
        .filter_map(|member| member.split(':').next())
        .collect();
    assert_eq!(keys.len(), 133);
    assert!(keys.is_sorted(), "{keys:?}");
}

#[test]
fn what_is_inherited_or_computed_is_found() {
    check(
        "local class = { text = 'inherited' } class.__index = class
        return tostring(reading.hold(setmetatable({}, class), function() end))",
        "true",
    );
    check(
        "local log = {} local t = setmetatable({}, { __index = function(_, k) log[#log + 1] = k return k .. '!' end })
        return tostring(reading.hold(t, function() end)) .. #log .. log[1]",
        "true101text",
    );
    check("return reading.outline(req)", "{}");
}

#[test]
fn records_are_added_up() {
    check(
        "local list = {} for i = 1, 50 do list[i] = { name = 'n' .. i, city = 'c', email = 'e', note = 'x' } end
        return tostring(reading.lengths(list))",
        "291",
    );
    check(
        "return tostring(reading.lengths({1, 'two', {name = 3}}))",
        "0",
    );
    check("return tostring(reading.lengths(nil))", "0");
}

#[test]
fn what_changes_meanwhile_is_looked_at_anew() {
    check(
        "local t = {'a' .. 1, 'b' .. 2, {'c' .. 3}}
        return reading.twice(t, function() for i = #t, 1, -1 do t[i] = nil end collectgarbage() end)",
        "\"a1\" \"b2\" [\"c3\"] / {}",
    );
    check(
        "local t = {x = 'a' .. 1, y = {'b' .. 2}}
        return reading.twice(t, function() t.x = nil t.y = nil for i = 1, 1000 do t['n' .. i] = {i} end for i = 1, \
         1000 do t['n' .. i] = nil end end)",
        "\"x\" \"a1\" \"y\" [\"b2\"] / {}",
    );
    check(
        "local t = {x = 'a' .. 1} return tostring(reading.hold({ text = ('long'):rep(1000) .. 'x' }, function() end))",
        "true",
    );
    // The garbage that comes meanwhile is collected, what was found is not.
    check(
        "local t = { text = ('long'):rep(1000) .. req.path }
        return tostring(reading.hold(t, function() t.text = 'other' for i = 1, 3000 do local g = ('x'):rep(1000) .. i \
         end collectgarbage() end))",
        "true",
    );
    check(
        "local weak = setmetatable({}, { __mode = 'kv' }) weak.text = nil weak[1] = {'only here'} weak[2] = {'here too'}
        return reading.twice(weak, function() for i = 1, 300 do local g = ('x'):rep(100000) .. i end end)",
        "[\"only here\"] [\"here too\"] / [[\"only here\"],[\"here too\"]]",
    );
}

#[test]
fn a_metamethod_may_throw_loop_and_not_wait() {
    check_error(
        "return reading.outline({ reading.hold(setmetatable({}, { __index = function() error('no ' .. 'text') end }), \
         print) })",
        "app.lua:3: no text",
    );
    check(
        "local ok, err = pcall(reading.hold, setmetatable({}, { __index = function() error('none', 0) end }), print) \
         return tostring(ok) .. ' ' .. err",
        "false app.lua:3: none",
    );
    check_error(
        "return reading.hold(setmetatable({}, { __index = function() time.sleep(0.001) end }), print)",
        "cannot wait here",
    );
    let rig = limited(
        "pcall(reading.hold, setmetatable({}, { __index = function() while true do end end }), print) return 'went on'",
    );
    let error = rig.wrapped(get("/")).expect_err("stopped");
    assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
}

#[test]
fn a_metamethod_may_read_too() {
    check(
        "local inner = { text = 'in' .. 'ner' }
        local t = setmetatable({}, { __index = function(_, k) reading.twice({k .. 1, inner}, function() inner = nil \
         collectgarbage() end) inner = { text = 'x' } return 'o' .. k end })
        return tostring(reading.hold(t, function() reading.outline({{},{}}) end))",
        "true",
    );
}

#[test]
fn a_value_without_an_end_is_stopped() {
    let rig = limited(
        "local t = {} t.t = t t.u = t for i = 1, 20 do t['k' .. i] = t end return reading.outline(t)",
    );
    let error = rig.wrapped(get("/")).expect_err("stopped");
    assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
}

#[test]
fn handles_of_a_round_go_with_it() {
    check(
        "local list = {} for i = 1, 10000 do list[i] = { i, { a = i } } end return tostring(reading.rounds(list) < 20)",
        "true",
    );
    check(
        "return reading.unknown({ text = 'x' })",
        "nothing nothing nothing nothing {text:\"x\"}",
    );
    check(
        "local t = {} for i = 1, 100000 do t['key' .. i] = i end return tostring(#reading.outline(t))",
        "1477791",
    );
}

#[test]
fn reading_leaves_nothing_behind() {
    let body = "for i = 1, 2000 do
          reading.lengths({{ name = 'n' .. i }})
          reading.twice({ 'v' .. i, { i } }, function() return i end)
          pcall(reading.hold, setmetatable({}, { __index = function() error('x' .. i) end }), print)
        end return 'ok'";
    let rig = load(&source(body));
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
