//! `require` and `package`: where modules are looked for, what becomes of those that fail, and that nothing leads out
//! of the project.

use crate::support::{Rig, get, load, load_files};
use sampan_host::{ErrorKind, ScriptLimits};

/// Runs `body` as the body of a handler of a project with these modules and gives what it answers.
fn run(files: &[(&str, &str)], body: &str) -> Result<String, String> {
    let source = format!("local app = require 'sampan'\napp.get('/', function(req) {body}\nend)");
    load_files(&source, files, ScriptLimits::default())
        .and_then(|rig| rig.wrapped(get("/path")))
        .map(|answer| answer.text())
        .map_err(|error| error.to_string())
}

#[track_caller]
fn check(files: &[(&str, &str)], body: &str, expected: &str) {
    assert_eq!(run(files, body).as_deref(), Ok(expected), "{body}");
}

#[track_caller]
fn check_error(files: &[(&str, &str)], body: &str, part: &str) {
    let error = run(files, body).expect_err(body);
    assert!(error.contains(part), "{body}: {error}");
}

#[test]
fn modules_are_loaded_once() {
    let files = [
        (
            "lib/count.lua",
            "local n = 0 return { next = function() n = n + 1 return n end }",
        ),
        ("x/init.lua", "return 'x'"),
        ("args.lua", "return { ... }"),
        ("silent.lua", "silent = (silent or 0) + 1"),
        ("sets.lua", "package.loaded[...] = 'set'"),
    ];
    check(
        &files,
        "require('lib.count').next() return { require('lib.count').next(), require 'x' }",
        r#"[2,"x"]"#,
    );
    check(&files, "return require 'args'", r#"["args","args.lua"]"#);
    check(
        &files,
        "return { require 'silent', require 'silent', silent, require 'sets' }",
        r#"[true,true,1,"set"]"#,
    );
    check(
        &files,
        "require 'silent' package.loaded.silent = nil require 'silent' return { silent }",
        "[2]",
    );
}

#[test]
fn modules_are_found_in_the_project_lib_and_the_rocks_tree() {
    let files = [
        ("both.lua", "return 'project'"),
        ("lib/both.lua", "return 'lib'"),
        ("lib/plain.lua", "return 'lib'"),
        ("lib/folder/init.lua", "return 'lib folder'"),
        ("lua_modules/share/lua/5.1/plain.lua", "return 'rock'"),
        (
            "lua_modules/share/lua/5.1/rock/init.lua",
            "return require 'rock.part' .. '!'",
        ),
        ("lua_modules/share/lua/5.1/rock/part.lua", "return 'part'"),
    ];
    check(
        &files,
        "return { require 'both', require 'plain', require 'folder', require 'rock' }",
        r#"["project","lib","lib folder","part!"]"#,
    );
}

#[test]
fn the_path_can_be_changed_within_the_project() {
    let files = [
        ("vendor/deep/a.lua", "return 'vendor a'"),
        ("a.lua", "return 'a'"),
        ("odd-x.txt", "return 'odd'"),
    ];
    check(
        &files,
        "package.path = './vendor/?.lua;' .. package.path return { require 'deep.a', require 'a' }",
        r#"["vendor a","a"]"#,
    );
    check(
        &files,
        "package.path = 'odd-?.txt' return { require 'x', (pcall(require, 'a')) }",
        r#"["odd",false]"#,
    );
    check(
        &files,
        "return { package.searchpath('deep.a', 'x/?.lua;vendor/?.lua') }",
        r#"["vendor/deep/a.lua"]"#,
    );
    check(
        &files,
        "return select(2, package.searchpath('deep:a', 'x/?.lua;y/?', ':', '-'))",
        "\n\tno file 'x/deep-a.lua'\n\tno file 'y/deep-a'",
    );
    check(&files, "return package.config:sub(1, 3)", "/\n;");
    for wrong in ["path = nil", "path = 1", "loaders = nil", "preload = 1"] {
        check_error(&files, &format!("package.{wrong} require 'b'"), "must be a");
    }
}

#[test]
fn nothing_leads_out_of_the_project() {
    // Files in memory have any name, so that a read of one of these would succeed.
    let files = [
        ("../secret.lua", "return 'out'"),
        ("/secret.lua", "return 'out'"),
        ("a/../../secret.lua", "return 'out'"),
        ("//secret.lua", "return 'out'"),
        ("a\0.lua", "return 'out'"),
    ];
    for (path, name) in [
        ("../?.lua", "secret"),
        ("/?.lua", "secret"),
        ("?.lua", "..secret"),
        ("?.lua", "../secret"),
        ("a/../../?.lua", "secret"),
        ("a/?", "../../secret.lua"),
        ("?.lua", "a\\0"),
        ("?.lua", "/secret"),
    ] {
        check_error(
            &files,
            &format!("package.path = '{path}' return require '{name}'"),
            "not found",
        );
        check(
            &files,
            &format!("return {{ package.searchpath('{name}', '{path}', '') == nil }}"),
            "[true]",
        );
    }
    check_error(
        &files,
        "package.path = '../?.lua' require 'x'",
        "(outside of the project)",
    );
}

#[test]
fn a_module_that_is_not_there_names_what_was_tried() {
    let expected = "app.lua:2: module 'lib.none' not found:\
        \n\tno field package.preload['lib.none']\
        \n\tno file 'lib/none.lua'\
        \n\tno file 'lib/none/init.lua'\
        \n\tno file 'lib/lib/none.lua'\
        \n\tno file 'lib/lib/none/init.lua'\
        \n\tno file 'lua_modules/share/lua/5.1/lib/none.lua'\
        \n\tno file 'lua_modules/share/lua/5.1/lib/none/init.lua'\
        \n\tno C library 'lib.none': the sandbox loads Lua files only";
    assert_eq!(run(&[], "require 'lib.none'"), Err(expected.to_owned()));
    check_error(&[], "require 'ffi'", "'ffi' is not in the sandbox");
    check_error(&[], "require {}", "the name must be a string, not a table");
    check(
        &[],
        "return { (pcall(require, 'ffi')), (pcall(require, 'jit')), (pcall(require, 'lfs')) }",
        "[false,false,false]",
    );
}

#[test]
fn modules_can_come_from_functions() {
    check(
        &[],
        "package.preload.made = function(name) return { made = name } end return require 'made'",
        r#"{"made":"made"}"#,
    );
    check(
        &[],
        "table.insert(package.searchers, 1, function(name) if name == 'mine' then return function(...) return { ... } \
         end, 'extra' end end)
         return require 'mine'",
        r#"["mine","extra"]"#,
    );
    check(
        &[("x.lua", "return 1")],
        "table.insert(package.loaders, 2, function(name) return '\\n\\tno luck with ' .. name end)
         return select(2, pcall(require, 'y')):match('no luck with y')",
        "no luck with y",
    );
    // What is preloaded comes before the sandbox's refusal, and a file does too.
    check(
        &[("jit.lua", "return 'own'")],
        "return require 'jit'",
        "own",
    );
}

#[test]
fn a_module_that_fails_is_named_and_can_be_tried_again() {
    let files = [
        (
            "bad.lua",
            "tries = (tries or 0) + 1\nif tries < 2 then\n error('not yet') end return tries",
        ),
        ("syntax.lua", "\n\nlocal ="),
        ("outer.lua", "local x\nx = require 'bad'\nreturn x"),
        ("raises.lua", "error({ message = 'gone', status = 410 })"),
    ];
    check_error(&files, "require 'bad'", "bad.lua:3: not yet");
    check_error(&files, "require 'syntax'", "syntax.lua:3: ");
    check(
        &files,
        "pcall(require, 'bad') return { require 'bad' }",
        "[2]",
    );
    check(
        &files,
        "pcall(require, 'outer') return { require 'outer' }",
        "[2]",
    );
    check(
        &files,
        "local _, raised = pcall(require, 'raises') return { raised.status }",
        "[410]",
    );
    // The stack that is logged goes down to where the error was raised.
    let source =
        "local app = require 'sampan'\n\nlocal function start() require 'outer' end\nstart()";
    let error = load_files(source, &files, ScriptLimits::default()).expect_err("fails");
    assert_eq!(error.kind(), ErrorKind::Load);
    assert_eq!(error.to_string(), "bad.lua:3: not yet");
    let stack = error.stack().expect("a stack");
    for line in ["bad.lua:3", "outer.lua:2", "app.lua:3", "app.lua:4"] {
        assert!(stack.contains(line), "{line}: {stack}");
    }
}

#[test]
fn a_module_that_requires_itself_is_an_error() {
    let files = [
        ("a.lua", "return require 'b'"),
        ("b.lua", "local c = require 'c' return c"),
        ("c.lua", "local b = require 'b' return b"),
        (
            "open.lua",
            "local M = {} package.loaded[...] = M M.same = require 'open' == M return M",
        ),
    ];
    check_error(
        &files,
        "require 'a'",
        "c.lua:1: require: 'b' requires itself: b > c > b",
    );
    check(&files, "return require('open')", r#"{"same":true}"#);
    check(
        &files,
        "local first = pcall(require, 'a') return { first, (select(2, pcall(require, 'c')):match('c > b > c')) }",
        r#"[false,"c > b > c"]"#,
    );
}

#[test]
fn the_standard_libraries_are_modules() {
    check(
        &[],
        "local different = {}
         for _, name in ipairs { 'string', 'table', 'math', 'bit', 'coroutine', 'os', 'io', 'debug', 'utf8', \
          'package', '_G' } do
           if require(name) ~= _G[name] or package.loaded[name] ~= _G[name] then table.insert(different, name) end
         end
         return #different == 0 and 'all' or different",
        "all",
    );
    check(
        &[],
        "local new, clear = require 'table.new', require 'table.clear'
         local list = new(10, 0) list[1] = 'x' clear(list)
         return { next(list) == nil, new == table.new, clear == table.clear, type(require 'string.buffer'.new) }",
        r#"[true,true,true,"function"]"#,
    );
    check(
        &[],
        "local packed = table.pack(1, nil, 3)
         return { packed.n, select('#', table.unpack(packed, 1, packed.n)), table.move({ 1, 2, 3 }, 2, 3, 1)[1] }",
        "[3,3,2]",
    );
}

#[test]
fn a_module_that_is_loaded_in_a_handler_may_wait() {
    let files = [(
        "waits.lua",
        "require('sampan').time.sleep(0.001) return 'waited'",
    )];
    let source = "local app = require 'sampan'
        app.get('/', function() local value = require 'waits' return value end)";
    let rig: Rig = load_files(source, &files, ScriptLimits::default()).expect("loads");
    assert_eq!(
        rig.wrapped(get("/path")).expect("an answer").text(),
        "waited"
    );
    assert_eq!(
        load("require 'sampan'")
            .wrapped(get("/path"))
            .expect("nothing")
            .code(),
        404
    );
}
