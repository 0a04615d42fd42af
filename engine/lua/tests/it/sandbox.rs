//! The sandbox: what is refused says so, and nothing that is there leads out of the sandbox.

use crate::support::{cpu_time, get, load, load_files};
use sampan_host::{ErrorKind, Isolate, ScriptLimits};
use std::time::Duration;

/// Runs `body` as the body of a handler and gives what it answers.
fn run(body: &str) -> Result<String, String> {
    let source = format!("local app = require 'sampan'\napp.get('/', function(req) {body}\nend)");
    load(&source)
        .wrapped(get("/path"))
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
fn what_is_refused_says_so_and_what_to_use() {
    for (call, instead) in [
        (
            "os.getenv('HOME')",
            "os.getenv is not in the sandbox; use app.env.get",
        ),
        (
            "os.execute('ls')",
            "os.execute is not in the sandbox; a script starts no programs",
        ),
        ("os.exit(1)", "raise an error with error()"),
        ("os.remove('x')", "os.remove is not in the sandbox"),
        (
            "io.open('x')",
            "io.open is not in the sandbox; use app.files, or keep data in the database",
        ),
        ("io.write('x')", "io.write is not in the sandbox; use print"),
        (
            "io.stderr:write('x')",
            "io.stderr:write is not in the sandbox; use app.log.warn",
        ),
        ("io.popen('ls')", "io.popen is not in the sandbox"),
        (
            "loadfile('x.lua')",
            "loadfile is not in the sandbox; use require",
        ),
        (
            "dofile('x.lua')",
            "dofile is not in the sandbox; use require",
        ),
        ("module('x')", "return a table"),
        ("debug.sethook()", "debug.sethook is not in the sandbox"),
        (
            "debug.getupvalue(print, 1)",
            "debug.getupvalue is not in the sandbox",
        ),
        (
            "debug.setmetatable('', {})",
            "debug.setmetatable: only tables can be given a metatable here, not a string",
        ),
        (
            "package.loadlib('x', 'y')",
            "package.loadlib is not in the sandbox",
        ),
        ("string.dump(print)", "string.dump is not in the sandbox"),
        ("collectgarbage('collect')", "only \"count\" is there"),
    ] {
        check_error(call, instead);
        // The line is the caller's.
        check_error(&format!("\n{call}"), "app.lua:3: ");
    }
}

#[test]
fn arguments_of_wrong_types_are_told_with_the_names_that_scripts_know() {
    for (call, told) in [
        (
            "xpcall(print)",
            "bad argument #2 to 'xpcall' (function expected, got no value)",
        ),
        (
            "xpcall(print, 'x')",
            "bad argument #2 to 'xpcall' (function expected, got string)",
        ),
        (
            "coroutine.wrap()",
            "bad argument #1 to 'wrap' (function expected, got no value)",
        ),
        (
            "coroutine.wrap({})",
            "bad argument #1 to 'wrap' (function expected, got table)",
        ),
        (
            "coroutine.resume(1)",
            "bad argument #1 to 'resume' (coroutine expected)",
        ),
    ] {
        check_error(&format!("\n{call}"), &format!("app.lua:3: {told}"));
    }
}

#[test]
fn functions_of_lua_5_1_that_luajit_has_are_there() {
    check(
        "local seen = {}
         table.foreach({ a = 1 }, function(key, value) seen[1] = key .. value end)
         local found = table.foreachi({ 5, 6, 7 }, function(at, value) if at == 2 then return value end end)
         return { table.getn({ 1, 2 }), found, seen[1], gcinfo() > 0, math.floor(gcinfo()) == gcinfo() }",
        r#"[2,6,"a1",true,true]"#,
    );
    check_error("table.foreach({}, 1)", "function expected, got number");
    check_error("table.insert({}, 0, 'x')", "position out of bounds");
}

#[test]
fn looking_for_what_is_refused_raises_nothing() {
    for name in ["ffi", "jit", "newproxy", "package.seeall", "debug.nothing"] {
        check(&format!("return type({name})"), "nil");
    }
    check(
        "local open, getenv, stdout = io.open, os.getenv, io.stdout
         if jit or rawget(_G, 'newproxy') then return 'other' end
         stdout:setvbuf('no') stdout:flush()
         return { type(open), type(getenv), io.type(stdout) == nil, rawget(_G, 'unpack') == table.unpack }",
        r#"["function","function",true,true]"#,
    );
    check(
        "return { type(collectgarbage('count')), load('return 1 + 1')(), type(os.time()), os.date('%Y', 0) }",
        r#"["number",2,"number","1970"]"#,
    );
}

#[test]
fn code_is_text_in_the_scripts_globals() {
    check(
        "return select(2, load('\\27LJ'))",
        "attempt to load chunk with wrong mode",
    );
    check(
        "return select(2, load('x', 'n', 'b'))",
        "load: only text can be loaded",
    );
    check(
        "return select(2, load(function() return {} end))",
        "load: the reader function must return a string",
    );
    check(
        "local parts = { 'return ', '...', nil } local at = 0
         return load(function() at = at + 1 return parts[at] end)('read')",
        "read",
    );
    check(
        "return { load('return _G')() == _G, load('return x', 'n', 't', { x = 5 })(), load('return _G', 'n', 't', \
         false)() == _G }",
        "[true,5,true]",
    );
    check(
        "return select(2, load('x ='))",
        "[string \"x =\"]:1: unexpected symbol near '<eof>'",
    );
    check("return tostring(getmetatable(''))", "false");
}

#[test]
fn environments_of_the_scripts_own_functions_can_be_replaced() {
    check(
        "local f = load('return x') setfenv(f, { x = 5 }) return { f(), getfenv(f).x }",
        "[5,5]",
    );
    check(
        "local function f() setfenv(1, { x = 7 }) return x end return { f(), getfenv(f).x, getfenv(1) == _G }",
        "[7,7,true]",
    );
    check(
        "local f = load('return function() return y end', 'n', 't', { y = 1 })() setfenv(f, { y = 2 }) return { f() }",
        "[2]",
    );
    for call in [
        "print",
        "require",
        "app.get",
        "app.json.encode",
        "string.format",
        "coroutine.wrap",
        "table.move",
        "setfenv",
    ] {
        check_error(
            &format!("setfenv({call}, {{}})"),
            "not one of the script's own",
        );
        check(&format!("return {{ getfenv({call}) == _G }}"), "[true]");
    }
    check_error("setfenv(0, {})", "cannot be replaced");
    check_error("setfenv(print)", "table expected, got nil");
    check_error("setfenv(-1, {})", "level must be non-negative");
    check_error("setfenv(1e9, {})", "invalid level");
    check_error("getfenv({})", "number expected, got table");
    // At no level of the stack, and for nothing that scripts can reach, is there another table than theirs.
    check(
        "local seen, found = {}, {}
         local function visit(value, name)
           if seen[value] then return end
           if type(value) == 'function' then
             seen[value] = true
             if getfenv(value) ~= _G then table.insert(found, name) end
             if debug.getinfo(value).source == '=[C]' and pcall(setfenv, value, {}) then table.insert(found, 'set ' \
              .. name) end
           elseif type(value) == 'table' then
             seen[value] = true
             for key, inner in pairs(value) do visit(inner, name .. '.' .. tostring(key)) end
           end
         end
         visit(_G, '_G') visit(app, 'app')
         local globals, insert, set = _G, table.insert, setfenv
         for level = 0, 30 do
           local ok, scope = pcall(getfenv, level)
           if ok and scope ~= globals then insert(found, level) end
           -- Level 2 is this function.
           if level > 2 and pcall(set, level, {}) then insert(found, 'set ' .. level) end
         end
         return #found == 0 and 'nothing' or found",
        "nothing",
    );
}

#[test]
fn debug_tells_where_the_script_is_and_nothing_else() {
    check(
        "\nlocal function named() return (debug.getinfo(1)) end
         local info = named() local keys = {}
         for key in pairs(info) do table.insert(keys, key) end table.sort(keys)
         return { table.concat(keys, ' '), info.source, info.short_src, info.currentline, info.linedefined, \
          info.what, info.name, info.namewhat }",
        r#"["currentline isvararg lastlinedefined linedefined name namewhat nparams short_src source what","@app.lua","app.lua",3,3,"Lua","named","local"]"#,
    );
    check(
        "local co = coroutine.create(function() coroutine.yield() end) coroutine.resume(co)
         return { debug.getinfo(print, 'S').what, debug.getinfo(co, 1, 'l').currentline, debug.getinfo(99) == nil, \
          debug.getinfo(-1) == nil, debug.getinfo(0/0) == nil }",
        r#"["Lua",2,true,true,true]"#,
    );
    check_error(
        "debug.getinfo(1, 'f')",
        "'L', and 'f' of a level, are not in the sandbox",
    );
    check_error("debug.getinfo(1, '>S')", "invalid option");
    check_error("debug.getinfo('x')", "function or level expected");
    check(
        "for level = 0, 40 do
           local info = debug.getinfo(level) or {}
           for _, key in ipairs { 'func', 'nups', 'activelines', 'istailcall' } do if info[key] ~= nil then return \
            key end end
         end return 'none'",
        "none",
    );
}

#[test]
fn a_traceback_shows_the_scripts_lines() {
    let trace = run(
        "\nlocal function inner() local text = debug.traceback('message', 1) return text end
         local function outer() local text = inner() return text end
         local text = outer() return text",
    )
    .expect("a traceback");
    let lines: Vec<_> = trace.lines().collect();
    assert_eq!(lines[..2], ["message", "stack traceback:"], "{trace}");
    assert!(
        lines[2].starts_with("\tapp.lua:3: in function 'inner'"),
        "{trace}"
    );
    assert!(
        lines[3].starts_with("\tapp.lua:4: in function 'outer'"),
        "{trace}"
    );
    let trace =
        run("local _, text = xpcall(function() error('broken') end, debug.traceback) return text")
            .expect("a traceback");
    assert!(
        trace.starts_with("app.lua:2: broken\nstack traceback:\n"),
        "{trace}"
    );
    assert!(
        trace.contains("\tapp.lua:2:") && !trace.contains("[sandbox]"),
        "{trace}"
    );
    check(
        "return { debug.traceback({ 'as it is' })[1], debug.traceback(print) == print, debug.traceback(nil) == nil,
           debug.traceback(nil, 1) == nil, debug.traceback(coroutine.create(print), nil) == nil,
           debug.traceback():match('^stack traceback:\\n') ~= nil, select(2, xpcall(error, debug.traceback)) == nil }",
        r#"["as it is",true,true,true,true,true,true]"#,
    );
    check(
        "local co = coroutine.create(function()\n coroutine.yield() end) coroutine.resume(co)
         return (debug.traceback(co, 'in it'):match('in it\\nstack traceback:.-app.lua:(%d+)'))",
        "3",
    );
    check(
        "return debug.traceback('x', 1e300):match('^x\\nstack')",
        "x\nstack",
    );
}

#[test]
fn the_globals_hold_nothing_that_leads_out() {
    // Every table, and every function's name, that scripts reach through globals, modules and metatables.
    check(
        "local raw, seen, found = { 'ffi', 'jit', 'loadlib', 'newproxy', 'getregistry_', 'reserve', 'putcdata', \
         '__gc' }, {}, {}
         local function visit(value, name)
           if type(value) ~= 'table' or seen[value] then return end
           seen[value] = true
           for key, inner in next, value do
             for _, word in ipairs(raw) do if key == word and inner ~= package.loadlib then table.insert(found, name \
              .. '.' .. key) end end
             visit(inner, name .. '.' .. tostring(key))
           end
           visit(getmetatable(value), name .. '<meta>')
         end
         visit(_G, '_G') visit(package.loaded, 'loaded')
         return #found == 0 and 'nothing' or found",
        "nothing",
    );
}

#[test]
fn library_calls_are_stopped_and_bounded_like_any_other() {
    for (body, kinds) in [
        ("table.move({}, 1, 2^53, 2)", &[ErrorKind::Stopped][..]),
        (
            "table.new(2^27, 0)",
            &[ErrorKind::Memory, ErrorKind::Script],
        ),
        (
            "table.new(0, 2^27)",
            &[ErrorKind::Memory, ErrorKind::Script],
        ),
        (
            "local s = ('ä'):rep(1e6) while true do utf8.len(s) end",
            &[ErrorKind::Stopped],
        ),
        (
            "local s = ('ä'):rep(1e6) for _ in utf8.codes(s) do while true do end end",
            &[ErrorKind::Stopped],
        ),
        (
            "package.path = ('?;'):rep(1e6) require 'x'",
            &[ErrorKind::Stopped, ErrorKind::Memory],
        ),
        (
            "package.path = ('?'):rep(1e6) require(('x'):rep(1e6))",
            &[ErrorKind::Stopped, ErrorKind::Memory],
        ),
        (
            "while true do pcall(require, 'none') end",
            &[ErrorKind::Stopped],
        ),
        (
            "while true do debug.traceback() debug.getinfo(1) end",
            &[ErrorKind::Stopped],
        ),
        (
            "package.preload.x = function() while true do end end require 'x'",
            &[ErrorKind::Stopped],
        ),
        // Thousands of calls without a line of a project file.
        (
            "return load('local function f() return 1 + f() end return f()')()",
            &[ErrorKind::Script],
        ),
        (
            "return xpcall(load('local function f() return 1 + f() end return f()'), debug.traceback) and 1 or error()",
            &[ErrorKind::Script],
        ),
        (
            "load('local function f(n) if n == 0 then while true do end end return 1 + f(n - 1) end f(15000)')()",
            &[ErrorKind::Stopped],
        ),
    ] {
        let source = format!(
            "local app = require 'sampan' app.get('/', function(req) {body} end) app.get('/ok', function() return \
             'ok' end)"
        );
        let limits = ScriptLimits {
            script_millis_max: 200,
            ..ScriptLimits::default()
        };
        let rig = load_files(&source, &[], limits).expect("loads");
        let begun = cpu_time();
        let error = rig.wrapped(get("/path")).expect_err(body);
        assert!(kinds.contains(&error.kind()), "{body}: {error}");
        assert!(
            (cpu_time() - begun) < Duration::from_millis(2000) * sampan_rig::slowness(),
            "{body}: {:?}",
            (cpu_time() - begun)
        );
        let after = rig.nth(1, get("/path")).expect("the isolate goes on");
        assert_eq!(after.text(), "ok", "{body}");
    }
}

#[test]
fn a_stack_overflow_has_a_traceback() {
    for handler in [
        "debug.traceback",
        "function(message) return debug.traceback(message, 2) end",
    ] {
        let trace = run(&format!(
            "local function deeper(n) return 1 + deeper(n + 1) end local _, text = xpcall(deeper, {handler}, 1) \
             return text"
        ));
        let trace = trace.expect("a traceback");
        assert!(
            trace.starts_with(
                "app.lua:2: stack overflow\nstack traceback:\n\tapp.lua:2: in function 'deeper'\n"
            ),
            "{trace}"
        );
        assert!(trace.contains("\n\t...\n"), "{trace}");
    }
}

#[test]
fn metatables_are_shown_and_set_as_without_debug() {
    check(
        "local meta = { x = 1 } local own = debug.setmetatable({}, meta) local function meta_of() end
         return { debug.getmetatable(own) == meta, debug.getmetatable('') == false, debug.getmetatable(req) == false,
           debug.getmetatable(app.json.array()) == false, debug.getmetatable(print) == nil, debug.getinfo(meta_of, \
            'f').func == meta_of,
           pcall(debug.setmetatable, req, {}), debug.setmetatable('', nil), ('x'):upper() }",
        r#"[true,true,true,true,true,true,false,"","X"]"#,
    );
}

/// Fills the memory, as functions that need none when they run.
const FILL: &str = "
    local slots, full = require 'table.new' (300000, 0), {}
    local function fill() while true do full = { full, ('x'):rep(5000) .. #full } end end
    local function fill_rest() for at = 1, 300000 do slots[at] = 'x' .. at end end
";

/// Has a handler run out of memory a few times, and another one answer behind it.
#[track_caller]
fn check_without_memory(body: &str) {
    let limits = ScriptLimits {
        memory_bytes_max: 16 << 20,
        ..ScriptLimits::default()
    };
    let source = format!(
        "local app = require 'sampan'
         app.get('/', function() {FILL} {body} full, slots = nil return 'done' end)
         app.get('/next', function() return 'fine' end)"
    );
    let rig = load_files(&source, &[], limits).expect("the script loads");
    for _ in 0..3 {
        let _ = rig.nth(0, get("/"));
        rig.isolate.collect_garbage();
        let answer = rig.nth(1, get("/next")).expect("an answer");
        assert_eq!(answer.text(), "fine");
    }
}

/// LuaJIT would look at a function where there is none any more, if it had to make its message then.
#[test]
fn a_coroutine_that_has_ended_is_resumed_without_memory() {
    check_without_memory(
        "local resume, ended = coroutine.resume, coroutine.create(function() end)
         resume(ended)
         pcall(fill) pcall(fill_rest)
         resume(ended)",
    );
}

/// LuaJIT would write its message over one of the frames, if their sizes are right.
#[test]
fn functions_in_assembler_fail_without_memory_in_frames_of_all_sizes() {
    check_without_memory(
        "local calls, pcall, type = {}, pcall, type
         local fns = { tostring, string.upper, string.lower, string.reverse, string.char, string.sub }
         local values = { 5.25, 'some text', 'Some Text', 'some text', 77, 'some text' }
         for size = 0, 30 do
           local names = {}
           for at = 1, size do names[at] = 'a' .. at end
           local line = size > 0 and 'local ' .. table.concat(names, ', ') .. ' = 1 ' or ''
           line = 'local call, value = ... ' .. line .. 'local made = call(value, 2, 3) return made, 1'
           calls[#calls + 1] = load(line)
           calls[#calls](type, 1)
         end
         pcall(fill) pcall(fill_rest)
         for at = 1, #calls do
           for fn = 1, #fns do pcall(calls[at], fns[fn], values[fn]) end
         end",
    );
}

#[test]
fn an_answer_that_has_no_memory_left_is_told_as_such() {
    let limits = ScriptLimits {
        memory_bytes_max: 16 << 20,
        ..ScriptLimits::default()
    };
    let source = format!(
        "local app = require 'sampan'
         app.get('/', function() {FILL} pcall(fill) pcall(fill_rest) return 'done' end)
         app.get('/next', function() return 'fine' end)"
    );
    let rig = load_files(&source, &[], limits).expect("the script loads");
    let error = rig.nth(0, get("/")).expect_err("no memory");
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    let answer = rig.nth(1, get("/next")).expect("an answer");
    assert_eq!(answer.text(), "fine");
}

/// Fills the memory so far that a message fits, and the stack that has to grow does not.
#[test]
fn a_row_that_finds_no_room_on_the_stack_for_lack_of_memory_says_so() {
    let limits = ScriptLimits {
        memory_bytes_max: 16 << 20,
        ..ScriptLimits::default()
    };
    let source = "local app = require 'sampan'
         local now, pcall, seen = app.calls.now, pcall, 'nothing'
         local function nothing() end
         local function fill()
           local full = {}
           while true do full = { full, ('x'):rep(1500) .. tostring(full) } end
         end
         app.get('/', function()
           pcall(fill)
           local is_ok, message = pcall(now, nothing)
           seen = is_ok and 'called' or message
         end)
         app.get('/seen', function() return seen end)";
    let rig = load_files(source, &[], limits).expect("the script loads");
    let _ = rig.nth(0, get("/"));
    rig.isolate.collect_garbage();
    let seen = rig.nth(1, get("/seen")).expect("an answer");
    assert_eq!(seen.text(), "not enough memory");
}
