//! Error objects in the log and in `on_error`, and where a file was that is stopped while it loads.

use crate::support::{cpu_time, get, load, load_files};
use sampan_host::{ErrorKind, ScriptLimits};
use std::time::Duration;

fn limits() -> ScriptLimits {
    ScriptLimits {
        script_millis_max: 200,
        ..ScriptLimits::default()
    }
}

#[track_caller]
fn check(body: &str, expected: &str) {
    let source = format!("local app = require 'sampan' app.get('/', function() {body} end)");
    let rig = load_files(&source, &[], limits()).expect("loads");
    let error = rig.only(get("/")).expect_err(body);
    assert_eq!(error.to_string(), expected, "{body}");
}

#[test]
fn error_objects_print_as_their_own_text() {
    let raise =
        |function: &str| format!("error(setmetatable({{ a = 1 }}, {{ __tostring = {function} }}))");
    check(
        &raise("function(err) return 'code ' .. err.a end"),
        "app.lua:1: code 1",
    );
    // A place in the text is the place of the error.
    check(
        &raise("function() return 'lib/x.lua:7: no' end"),
        "lib/x.lua:7: no",
    );
    // One that fails, gives no text, or waits, is passed over.
    let contents = "app.lua:1: uncaught {\"a\":1}";
    check(&raise("function() error('again') end"), contents);
    check(&raise("function() return 1 end"), contents);
    check(&raise("'text'"), contents);
    check(
        &raise("function() app.time.sleep(0.001) return 'late' end"),
        contents,
    );
    check(
        &raise("function() return ('x'):rep(1e15, 'y') .. ('x'):rep(1e9) end"),
        contents,
    );
    // The message goes first, because clients may be shown it.
    check(
        "error(setmetatable({ message = 'no' }, { __tostring = function() return 'other' end }))",
        "app.lua:1: no",
    );
}

#[test]
fn other_error_tables_show_what_they_hold() {
    check(
        "error({ a = 1, b = { 'x', print } })",
        "app.lua:1: uncaught {\"a\":1,\"b\":[\"x\",\"[function]\"]}",
    );
    check(
        "error({ a = 0 / 0 })",
        "app.lua:1: the script raised an error with a table that has no message",
    );
    check("error({})", "app.lua:1: uncaught {}");
    check("error({ status = 404, detail = 'secret' })", "app.lua:1: ");
    check(
        "local t = {} t.t = t error(t)",
        "app.lua:1: uncaught {\"t\":\"[table that contains itself]\"}",
    );
    let source = "local app = require 'sampan' app.get('/', function() error({ text = ('ä'):rep(1e6) }) end)";
    let error = load(source).only(get("/")).expect_err("raises");
    assert!(error.message().len() < 9000 && error.message().ends_with('…'));
}

#[test]
fn a_text_that_takes_for_ever_is_stopped() {
    let source = "local app = require 'sampan'
         app.get('/', function() error(setmetatable({}, { __tostring = function() while true do end end })) end)
         app.get('/stopped', function()
           local err = setmetatable({}, { __tostring = function() print('ran') return 'no' end })
           pcall(function() while true do end end) error(err)
         end)
         app.get('/ok', function() return 'ok' end)";
    let rig = load_files(source, &[], limits()).expect("loads");
    let begun = cpu_time();
    for index in 0..2 {
        let error = rig.nth(index, get("/")).expect_err("is stopped");
        assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
    }
    assert!(cpu_time() - begun < Duration::from_millis(2000) * sampan_rig::slowness());
    assert_eq!(rig.nth(2, get("/")).expect("goes on").text(), "ok");
}

#[test]
fn a_file_that_is_stopped_while_it_loads_tells_its_line() {
    let loaded = |source: &str, files: &[(&str, &str)]| {
        let error = load_files(source, files, limits()).expect_err("is stopped");
        assert!(error.message().contains("script_millis_max"), "{error}");
        error.place().map(ToString::to_string)
    };
    let endless = "local n = 0\n\nwhile true do n = n + 1 end";
    assert_eq!(loaded(endless, &[]).as_deref(), Some("app.lua:3"));
    assert_eq!(
        loaded(
            "local app = require 'sampan'\nrequire 'lib.b'",
            &[("lib/b.lua", endless)]
        )
        .as_deref(),
        Some("lib/b.lua:3")
    );
    let files = [("lib/b.lua", endless), ("lib/a.lua", "require 'lib.b'")];
    assert_eq!(
        loaded("require 'sampan'\nrequire 'lib.a'", &files).as_deref(),
        Some("lib/b.lua:3")
    );
}
