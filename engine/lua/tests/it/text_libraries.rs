//! `utf8` as in Lua 5.3, and LuaJIT's `string.buffer` without what would give scripts pointers.

use crate::support::{cpu_time, get, load, load_files};
use sampan_host::{ErrorKind, ScriptLimits};
use std::time::Duration;

/// Runs `body` as the body of a handler and gives what it answers.
fn run(body: &str) -> Result<String, String> {
    let source = format!(
        "local app = require 'sampan' local buffer = require 'string.buffer'\napp.get('/', function(req) {body}\nend)"
    );
    load(&source)
        .nth(0, get("/path"))
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

#[test]
fn utf8_makes_and_reads_characters() {
    check(
        "return utf8.char(72, 228, 8364, 0x1F600, 0x10FFFF)",
        "Hä€😀\u{10ffff}",
    );
    check(
        "return utf8.char() .. utf8.char('65') .. utf8.char(0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000)",
        "A\u{7f}\u{80}\u{7ff}\u{800}\u{ffff}\u{10000}",
    );
    check(
        "return { utf8.codepoint('aä€😀', 1, -1) }",
        "[97,228,8364,128512]",
    );
    check(
        "return { utf8.codepoint('aä€', 2), utf8.codepoint('aä€', -3), (select('#', utf8.codepoint('abc', 3, 2))) }",
        "[228,8364,0]",
    );
    check("return { utf8.codepoint('\\xED\\xA0\\x80') }", "[55296]");
    check(
        "return { utf8.len('aä€😀'), utf8.len(''), utf8.len('aä', 3 + 1), utf8.len('aä€', 2, 3), utf8.len(123) }",
        "[4,0,0,1,3]",
    );
    check(
        "return { utf8.len('ab\\xFFc') == nil, (select(2, utf8.len('ab\\xFFc'))), (select(2, utf8.len('ä', 2))) }",
        "[true,3,2]",
    );
    for bad in [
        "\\x80",
        "\\xC0\\x80",
        "\\xC1\\xBF",
        "\\xE0\\x80\\x80",
        "\\xF4\\x90\\x80\\x80",
        "\\xF5\\x80\\x80\\x80",
        "\\xE2\\x82",
        "\\xFF",
    ] {
        check(&format!("return {{ select(2, utf8.len('{bad}')) }}"), "[1]");
        check_error(
            &format!("utf8.codepoint('{bad}')"),
            "app.lua:2: invalid UTF-8 code",
        );
        check_error(
            &format!("for _ in utf8.codes('{bad}') do end"),
            "invalid UTF-8 code",
        );
    }
    check(
        "local out = {} for at, code in utf8.codes('aä€') do out[#out + 1] = at .. ':' .. code end return out",
        r#"["1:97","2:228","4:8364"]"#,
    );
    check_error("for _ in utf8.codes('a\\x80') do end", "invalid UTF-8 code");
    check(
        "local out = {} for c in ('a\\0ä€'):gmatch(utf8.charpattern) do out[#out + 1] = #c end return out",
        "[1,1,2,3]",
    );
}

#[test]
fn utf8_finds_positions() {
    check(
        "return { utf8.offset('aä€', 1), utf8.offset('aä€', 3), utf8.offset('aä€', 4), utf8.offset('aä€', 5) == nil }",
        "[1,4,7,true]",
    );
    check(
        "return { utf8.offset('aä€', -1), utf8.offset('aä€', -3), utf8.offset('aä€', -4) == nil, utf8.offset('aä€', \
         0, 5), utf8.offset('aä€', 0, 3) }",
        "[4,1,true,4,2]",
    );
    check(
        "return { utf8.offset('aä€', 2, 2), utf8.offset('aä€', -1, 4), utf8.offset('', 1), utf8.offset('x', 0) }",
        "[4,2,1,1]",
    );
    check(
        "return { utf8.offset('abc', 1, -1), utf8.offset('', 0) }",
        "[3,1]",
    );
}

#[test]
fn utf8_refuses_as_lua_does() {
    for (call, text) in [
        (
            "utf8.char(-1)",
            "bad argument #1 to 'char' (value out of range)",
        ),
        (
            "utf8.char(65, 0x110000)",
            "bad argument #2 to 'char' (value out of range)",
        ),
        (
            "utf8.char(1.5)",
            "bad argument #1 to 'char' (number has no integer representation)",
        ),
        (
            "utf8.char({})",
            "bad argument #1 to 'char' (number expected, got table)",
        ),
        (
            "utf8.codepoint('abc', 4)",
            "bad argument #3 to 'codepoint' (out of range)",
        ),
        (
            "utf8.codepoint('abc', 0)",
            "bad argument #2 to 'codepoint' (out of range)",
        ),
        (
            "utf8.codepoint('abc', 1, 4)",
            "bad argument #3 to 'codepoint' (out of range)",
        ),
        (
            "utf8.codepoint(('x'):rep(1e6), 1, -1)",
            "string slice too long",
        ),
        (
            "utf8.len('abc', 5)",
            "bad argument #2 to 'len' (initial position out of string)",
        ),
        (
            "utf8.len('abc', 1, 4)",
            "bad argument #3 to 'len' (final position out of string)",
        ),
        (
            "utf8.len()",
            "bad argument #1 to 'len' (string expected, got no value)",
        ),
        (
            "utf8.len({})",
            "bad argument #1 to 'len' (string expected, got table)",
        ),
        (
            "utf8.offset('ä', 1, 2)",
            "initial position is a continuation byte",
        ),
        (
            "utf8.offset('abc', 1, 5)",
            "bad argument #3 to 'offset' (position out of range)",
        ),
        (
            "utf8.offset('abc')",
            "bad argument #2 to 'offset' (number expected, got no value)",
        ),
        (
            "utf8.codes(nil)",
            "bad argument #1 to 'codes' (string expected, got no value)",
        ),
    ] {
        check_error(call, &format!("app.lua:2: {text}"));
    }
}

#[test]
fn buffers_hold_text() {
    check(
        "local b = buffer.new() b:put('a', 1, ' ', 1.5):putf('%d-%s', 2, 'x') local size = #b
         return { tostring(b), size, b:get(1), b:skip(1):get(), #b, b:set('set'):tostring(), b:reset():put('r'):get() }",
        r#"["a1 1.52-x",9,"a"," 1.52-x",0,"set","r"]"#,
    );
    check(
        "local b = buffer.new(100) local named = setmetatable({}, { __tostring = function() return 'named' end })
         return b:put(named, buffer.new():put('other'), named):get()",
        "namedothernamed",
    );
    check(
        "local b = buffer.new({ dict = { 'name' }, metatable = {} }) b:encode({ name = 1, { 2 } }):encode('second')
         local first = b:decode() return { first.name, first[1][1], b:decode() }",
        r#"[1,2,"second"]"#,
    );
    check(
        "local value = buffer.decode(buffer.encode({ 1, 'x', app.null, true, { deep = 9007199254740993LL } }))
         return { value[1], value[2], value[3] == app.null, value[4], value[5].deep }",
        r#"[1,"x",true,true,9007199254740993]"#,
    );
    check_error(
        "buffer.new():put({})",
        "app.lua:2: buffer:put: argument 1 must be a string, a number, a buffer or have __tostring, not a table",
    );
    check_error("buffer.new().put('x')", "write a colon, not a dot");
    check_error("buffer.decode('\\255')", "unexpected end of buffer");
}

#[test]
fn buffers_give_no_pointers() {
    for name in [
        "ref",
        "reserve",
        "commit",
        "putcdata",
        "__index",
        "__gc",
        "__metatable",
    ] {
        check(&format!("return type(buffer.new().{name})"), "nil");
    }
    check("return tostring(getmetatable(buffer.new()))", "buffer");
    for value in ["1LL", "1i", "{}", "app.null", "1"] {
        check_error(
            &format!("buffer.new():set({value}, 8)"),
            "buffer:set: the argument must be a string",
        );
    }
    for text in [
        "\\4\\1\\2\\3\\4",
        "\\5\\1\\2\\3\\4\\5\\6\\0\\0",
        "\\10\\1\\4\\1\\2\\3\\4",
    ] {
        for call in [
            format!("buffer.decode('{text}')"),
            format!("buffer.new():put('{text}'):decode()"),
        ] {
            check_error(&call, "holds a pointer");
        }
    }
    // LuaJIT writes its indices into the list that it is given, and believes what it finds there.
    check(
        "local dict = { 'a', 'b' } buffer.new({ dict = dict }):encode({ a = 1 })
         local keys = 0 for _ in pairs(dict) do keys = keys + 1 end
         local forged = { 'a', x = print } local b = buffer.new({ dict = forged }) b:encode({ x = 1, a = 2 })
         return { keys, b:decode().a }",
        "[2,2]",
    );
    check_error(
        "buffer.new({ dict = { 1 } })",
        "dict must hold only strings",
    );
    check_error(
        "buffer.new({ metatable = { 'x' } })",
        "metatable must hold only tables",
    );
    check_error("buffer.new({ dict = 1 })", "dict must be a list");
    check_error("buffer.new(1, 2)", "the options must be a table");
    // A __tostring that uses the same buffer runs before LuaJIT's method does.
    check(
        "local b = buffer.new() b:put('1')
         local value = setmetatable({}, { __tostring = function()
           coroutine.wrap(function() b:put('2') end)() b:free() b:put('3') return '4'
         end })
         b:put(value) return tostring(b)",
        "34",
    );
    check_error(
        "buffer.new():put(setmetatable({}, { __tostring = function() return setmetatable({}, { __tostring = \
         function() return 'x' end }) end }))",
        "__tostring must return a string",
    );
}

#[test]
fn buffers_obey_the_limits() {
    for body in [
        "local b = buffer.new() b:put(('x'):rep(1000)) while true do b:put(tostring(b)) end",
        "buffer.new(2^30)",
        "buffer.new():putf('%99s' .. ('x'):rep(6e7), ('y'):rep(6e7))",
        "local t = {} for i = 1, 60 do t = { t, t } end buffer.encode(t)",
        "local t = {} t.t = t buffer.encode(t)",
        "local t = {} for i = 1, 200 do t = { t } end buffer.encode(t)",
        "local s = ('x'):rep(1e6) local t = {} for i = 1, 1000 do t[i] = s end buffer.encode(t)",
        "buffer.decode('\\9\\255\\255\\255\\255\\127')",
        "buffer.decode('\\10\\255\\255\\255\\255\\7')",
        "buffer.decode(('\\10\\1'):rep(1000))",
        "buffer.new():encode(print)",
        "local b = buffer.new() while true do b:put('x'):reset() end",
        "while true do buffer.decode(buffer.encode({ 1, { 2 } })) end",
    ] {
        let source = format!(
            "local app = require 'sampan' local buffer = require 'string.buffer'
             app.get('/', function(req) {body} end) app.get('/ok', function() return 'ok' end)"
        );
        let limits = ScriptLimits {
            script_millis_max: 1000,
            ..ScriptLimits::default()
        };
        let rig = load_files(&source, &[], limits).expect("loads");
        let begun = cpu_time();
        let error = rig.wrapped(get("/path")).expect_err(body);
        let known = [ErrorKind::Script, ErrorKind::Memory, ErrorKind::Stopped];
        assert!(known.contains(&error.kind()), "{body}: {error}");
        assert!(
            (cpu_time() - begun) < Duration::from_secs(3) * sampan_rig::slowness(),
            "{body}: {:?}",
            (cpu_time() - begun)
        );
        let after = rig.nth(1, get("/path")).expect("the isolate goes on");
        assert_eq!(after.text(), "ok", "{body}");
    }
}
