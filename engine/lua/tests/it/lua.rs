//! Lua scripts under the contract of `sampan-host`: abilities and limits.

use crate::support::{End, TestAnswer, TestRequest, block_on, cpu_time, get, load, load_files};
use sampan_host::{Chunk, ErrorKind, Isolate, ScriptLimits};
use std::task::{Context, Waker};
use std::time::Duration;

/// Runs `body` as the body of a handler and gives what it answers.
fn run(body: &str) -> Result<String, String> {
    let rig = load(&format!(
        "local app = require 'sampan'\napp.get('/', function(req) {body} end)"
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

#[test]
fn results_become_responses() {
    check("return { a = 1 }", r#"{"a":1}"#);
    check("return 'text'", "text");
    check("return 1.5", "1.5");
    check("return true", "true");
    check("return app.null", "null");
    check("return", "");
    check("return {}", "{}");
    check("return app.json.array{}", "[]");
    check(
        "return { 1, 2, { x = app.json.array{} } }",
        r#"[1,2,{"x":[]}]"#,
    );
    check(
        "return { big = app.json.decode('9007199254740993') }",
        r#"{"big":9007199254740993}"#,
    );
    check("return app.json({ 1 }, 201)", "[1]");
    check("return app.html('<p>')", "<p>");
}

#[test]
fn a_second_value_behind_an_answer_is_an_error() {
    let wrapped = "app.use(function(req, next) return next(req) end)\n";
    for (returned, found) in [
        ("nil, 'it is broken'", "a string behind it"),
        ("'a', 'b'", "a string behind it"),
        ("true, {}", "a table behind it"),
        ("pcall(function() return 'x' end)", "a string behind it"),
        ("{ a = 1 }, 404", "404 behind it"),
    ] {
        for around in [wrapped, ""] {
            let source = format!(
                "local app = require 'sampan'\n{around}app.get('/', function() return {returned} end)"
            );
            let error = load(&source).wrapped(get("/")).expect_err(returned);
            assert!(error.to_string().contains(found), "{returned}: {error}");
        }
    }
    // Middleware returns one value too.
    let error = load(
        "local app = require 'sampan'
        app.use(function(req, next)
          return nil, 'it is broken'
        end)
        app.get('/', function() return 'x' end)",
    )
    .wrapped(get("/"))
    .expect_err("an error");
    assert!(
        error.message().contains("this one returned a string"),
        "{error}"
    );
    assert_eq!(error.place().map(|place| place.line), Some(2), "{error:?}");
    for returned in ["'a', nil", "('a'):gsub('b', 'c')", "'a', 1e9"] {
        check(&format!("return {returned}"), "a");
    }
}

#[test]
fn header_fields_are_checked_where_they_are_given() {
    for (headers, told) in [
        ("['a b'] = '1'", r#"invalid header name "a b""#),
        ("[''] = '1'", "invalid header name"),
        (
            "['x-a'] = '1\\r\\nb: 2'",
            r#"invalid value for header "x-a""#,
        ),
        (
            "['x-a'] = { '1', 'a\\0' }",
            r#"invalid value for header "x-a""#,
        ),
    ] {
        for builder in ["text", "html", "json"] {
            check_error(
                &format!("app.{builder}('x', {{ headers = {{ {headers} }} }})"),
                &format!("app.lua:2: app.{builder}: {told}"),
            );
        }
    }
    check(
        "return app.text('x', { headers = { ['x-a'] = 'tab\\tand é', ['x-b'] = { 'a', 1 }, ['x-c'] = 2 } })",
        "x",
    );
}

#[test]
fn results_that_cannot_be_sent_are_errors() {
    check_error("return function() end", "returned a function");
    check_error("local t = {} t.t = t return t", "contains itself");
    check_error("return { x = 0/0 }", "has no place in JSON");
    check_error("return { 1, nil, 3 }", "holes");
    check_error("return { 1, x = 2 }", "named keys");
    check_error(
        "return { x = print }",
        "'x': a function has no place in JSON",
    );
    check_error(
        "return app.json({}, { header = 1 })",
        "unknown option 'header'",
    );
    check_error(
        "return app.text('x', { headers = { a = 'b\\r\\nc' } })",
        "control characters",
    );
}

#[test]
fn the_request_is_lazy_and_whole() {
    let rig = load(
        "local app = require 'sampan'
         app.get('/', function(req)
           req.state.user = 'u'
           return { req.method, req.path, req.url, req.params.name, req.query, req.headers['X-A'], req.cookies, req.ip,
                    req.body, req.state.user, req:json(), req:text() }
         end)",
    );
    let ask = TestRequest {
        params: vec![("name".into(), "Zoë".into())],
        headers: vec![
            ("X-a".into(), b"1".into()),
            ("x-A".into(), b"2".into()),
            ("Cookie".into(), b"k=v; l=w".into()),
        ],
        body: br#"{"n":null,"e":[],"o":{}}"#.to_vec(),
        ..get("/path?a=1&b=2&a=3&c=%20x")
    };
    let answer: serde_json::Value =
        serde_json::from_slice(&rig.wrapped(ask).expect("an answer").body).expect("JSON");
    assert_eq!(answer[3], "Zoë");
    assert_eq!(
        answer[4],
        serde_json::json!({ "a": ["1", "3"], "b": "2", "c": " x" })
    );
    assert_eq!(answer[5], "1, 2");
    assert_eq!(answer[6], serde_json::json!({ "k": "v", "l": "w" }));
    assert_eq!(answer[9], "u");
    assert_eq!(
        answer[10],
        serde_json::json!({ "n": null, "e": [], "o": {} })
    );
}

#[test]
fn bad_json_is_the_clients_fault() {
    let rig =
        load("local app = require 'sampan' app.post('/', function(req) return req:json() end)");
    let error = rig
        .wrapped(TestRequest {
            body: b"{".to_vec(),
            ..get("/path")
        })
        .expect_err("an error");
    assert_eq!(error.kind().status(), 400);
    assert!(error.message().starts_with("invalid JSON"), "{error}");
}

#[test]
fn errors_have_place_and_stack() {
    let source = "local app = require 'sampan'\nlocal function deep() error('broken') end\napp.get('/', function() \
     deep() end)";
    let error = load(source).wrapped(get("/path")).expect_err("an error");
    assert_eq!(error.to_string(), "app.lua:2: broken");
    assert!(
        error.stack().expect("a stack").contains("app.lua:3"),
        "{error:?}"
    );
    let error = load("local app = require 'sampan'\napp.get('/', function()\n error({ status = 404, message = 'no' }) \
     end)").wrapped(get("/path"));
    let error = error.expect_err("an error");
    assert_eq!(
        (error.kind(), error.message(), error.place().map(|p| p.line)),
        (ErrorKind::Status(404), "no", Some(3))
    );
    check_error("error({})", "uncaught {}");
    check_error("error(print)", "function value");
    check_error("error()", "nil value");
    check_error(
        "app.time:sleep(1)",
        "time.sleep: write time.sleep(...) with a dot, not with a colon",
    );
    check_error("app.probe.panics()", "panic: on purpose");
    check_error(
        "app.time.sleep('x')",
        "argument 1 (seconds) must be a number",
    );
}

#[test]
fn load_errors_name_the_line() {
    let limits = ScriptLimits::default();
    let error = load_files("local x =\n\nend", &[], limits.clone()).expect_err("a syntax error");
    assert_eq!(
        (error.kind(), error.place().map(|p| p.line)),
        (ErrorKind::Load, Some(3)),
        "{error}"
    );
    let error = load_files("require 'lib.none'", &[], limits.clone()).expect_err("no such module");
    assert!(error.message().contains("lib/none.lua"), "{error}");
    let error = load_files("require 'a'", &[("a.lua", "\nlocal =")], limits.clone())
        .expect_err("a syntax error");
    assert_eq!(
        error.place().map(|p| (p.file.as_str(), p.line)),
        Some(("a.lua", 2))
    );
    let error =
        load_files("require('sampan').time.sleep(0)", &[], limits).expect_err("no waiting here");
    assert!(error.message().contains("cannot wait here"), "{error}");
}

#[test]
fn waiting_works_wherever_it_can() {
    check("app.time.sleep(0.001) return 'slept'", "slept");
    check(
        "return { pcall(function() app.time.sleep(0.001) error('x', 0) end) }",
        r#"[false,"x"]"#,
    );
    check(
        "local co = coroutine.wrap(function() for i = 1, 2 do app.time.sleep(0.001) coroutine.yield(i) end end)
         return { co(), co() }",
        "[1,2]",
    );
    check(
        "local inner = coroutine.create(function(a) app.time.sleep(0.001) local b = coroutine.yield(a + 1) return b * \
         2 end)
         local _, x = coroutine.resume(inner, 1) local _, y = coroutine.resume(inner, 5)
         return { x, y, coroutine.status(inner) }",
        r#"[2,10,"dead"]"#,
    );
    check(
        "local t = setmetatable({}, { __index = function() app.time.sleep(0.001) return 'meta' end }) return t.x",
        "meta",
    );
    check(
        "local n = 0 for i in function(_, i) app.time.sleep(0.001) if (i or 0) < 3 then return (i or 0) + 1 end end \
         do n = n + i end return { n }",
        "[6]",
    );
    check_error(
        "table.sort({ 2, 1 }, function() app.time.sleep(0) end)",
        "cannot wait here",
    );
    check_error(
        "('x'):gsub('x', function() app.time.sleep(0) end)",
        "cannot wait here",
    );
    check_error("coroutine.yield(1)", "not inside a coroutine of your own");
}

#[test]
fn middleware_wraps() {
    let source = "local app = require 'sampan'
        app.use(function(req, next) local res = next(req) res.headers['x-outer'] = req.state.inner res.status = 201 \
         return res end)
        app.use('*', function(req, next) app.time.sleep(0.001) req.state.inner = 'seen' local ok, res = pcall(next, \
         req) return res end)
        app.get('/', function(req) app.time.sleep(0.001) return { ok = true } end)";
    let rig = load(source);
    let mut answer = rig.wrapped(get("/path")).expect("an answer");
    assert_eq!(
        (answer.code(), answer.text().as_str()),
        (201, r#"{"ok":true}"#)
    );
    answer.headers.sort();
    let expected = [("content-type", "application/json"), ("x-outer", "seen")];
    assert_eq!(
        answer.headers,
        expected.map(|(n, v)| (n.to_owned(), v.to_owned()))
    );
    assert_eq!(rig.nth(9, get("/path")).expect("a fallback").code(), 201);
}

#[test]
fn the_program_is_declared() {
    let rig = load(
        "local app = require 'sampan'
         app.group('/api', function(api)
           api.get('/users/:id', function() end)
           api.group('/v2/', function(v2) v2.post('/', { body_bytes_max = 10 }, { fixed = true }) v2.use(function() \
            end) end)
         end)
         app.all('/x', function() end)",
    );
    let routes: Vec<_> = rig
        .isolate
        .program()
        .routes
        .iter()
        .map(|r| {
            (
                r.method.as_deref(),
                r.pattern.as_str(),
                r.fixed,
                r.body.bytes_max.as_deref(),
            )
        })
        .collect();
    let expected = [
        (Some("GET"), "/api/users/:id", false, None),
        (Some("POST"), "/api/v2", true, Some("10")),
        (None, "/x", false, None),
    ];
    assert_eq!(routes, expected);
    assert_eq!(rig.isolate.program().middleware[0].pattern, "/api/v2/*");
    assert_eq!(
        rig.isolate.program().routes[0]
            .place
            .as_ref()
            .map(|p| p.line),
        Some(3)
    );
}

#[test]
fn capabilities_are_bound_from_their_rows() {
    check(
        "return app.probe.echo({ a = { 1, 2 }, b = app.null, c = 1.5, d = 'x' }).a",
        "[1,2]",
    );
    check(
        "return { app.probe.within('x', function(x) return x, 'two' end) }",
        r#"["x","two"]"#,
    );
    check(
        "pcall(app.probe.within, 'x', function() error('x') end) return app.data.log()",
        r#"enter x, leave Text("x") false"#,
    );
    check_error(
        "app.probe.within('x', 1)",
        "argument 2 must be a function, not a number",
    );
    check("return app.probe.rows()[2].id", "9223372036854775807");
    check_error("app.probe.echo(print)", "a function cannot be passed here");
    for (call, name) in [
        ("app:json({ a = 1 })", "app.json"),
        ("app:html('x')", "app.html"),
        ("app:redirect('/')", "app.redirect"),
        ("app:stream(print)", "app.stream"),
        ("app:first('x')", "app.first"),
        ("app:get('/', print)", "app.get"),
        ("app:use(print)", "app.use"),
        ("app:on_error(print)", "app.on_error"),
        ("app.json:array({})", "app.json.array"),
        ("app.probe:echo('x')", "probe.echo"),
        ("app.probe:within('x', print)", "probe.within"),
    ] {
        check_error(
            &format!("return {call}"),
            &format!("{name}: write {name}(...) with a dot, not with a colon"),
        );
    }
}

/// Returns the error of a project whose second line is `declaration`.
fn refused(declaration: &str) -> String {
    let source = format!("local app = require 'sampan' local function f() end\n{declaration}\n");
    let loaded = load_files(&source, &[], ScriptLimits::default());
    loaded.map(drop).expect_err(declaration).to_string()
}

#[test]
fn a_declaration_refuses_arguments_that_it_does_not_take() {
    const ONE_HANDLER: &str = "it takes one handler: declare what runs before it with app.use";
    const ONE_FUNCTION: &str = "it takes one function: call it again for each further one";
    for (declaration, name, text) in [
        ("app.use('/x', f, f)", "app.use", ONE_FUNCTION),
        ("app.use(f, f)", "app.use", ONE_FUNCTION),
        ("app.use('/x', f, nil, 3)", "app.use", ONE_FUNCTION),
        ("app.get('/x', f, f)", "app.get", ONE_HANDLER),
        ("app.post('/x', {}, f, f)", "app.post", ONE_HANDLER),
        ("app.all('/x', nil, f, 3)", "app.all", ONE_HANDLER),
        (
            "app.group('/x', f, f)",
            "app.group",
            "it takes one function",
        ),
        (
            "app.group('/x', function(g) g.use('/y', f, f) end)",
            "app.use",
            ONE_FUNCTION,
        ),
        (
            "app.not_found(f, f)",
            "app.not_found",
            "it takes one function",
        ),
        (
            "app.on_error(f, {})",
            "app.on_error",
            "it takes one function",
        ),
        (
            "app.calls.keep(f, f)",
            "calls.keep",
            "too many arguments: it takes only fn",
        ),
    ] {
        let error = refused(declaration);
        let text = format!("app.lua:2: {name}: {text}");
        assert!(error.starts_with(&text), "{declaration}: {error}");
    }
    let rig = load(
        "local app = require 'sampan' local function f() end
        app.use('/x', f, nil)
        app.get('/x', {}, f, nil)
        app.get('/y', f, nil)
        app.group('/g', function(g) end, nil)
        app.not_found(f, nil)
        app.calls.keep(f, nil)",
    );
    assert_eq!(rig.isolate.program().routes.len(), 2);
}

#[test]
fn what_answers_errors_and_missing_paths_is_declared_once() {
    assert_eq!(
        refused("app.not_found(f)\n\napp.not_found(f)"),
        "app.lua:4: app.not_found: it is already declared at app.lua:2"
    );
    assert_eq!(
        refused("app.on_error(f) app.on_error(f)"),
        "app.lua:2: app.on_error: it is already declared at app.lua:2"
    );
}

#[test]
fn streams_are_produced_on_demand() {
    let rig = load(
        "local app = require 'sampan'
         app.get('/', function() return app.stream(function(write)
           write('a') app.time.sleep(0.001) write('b') error('late')
         end, { headers = { ['content-type'] = 'text/x' } }) end)",
    );
    let mut stream = rig
        .wrapped(get("/path"))
        .expect("an answer")
        .stream
        .expect("a stream");
    let mut next = || block_on(|cx| stream.poll_chunk(cx));
    for letter in [b"a", b"b"] {
        let chunk = next().expect("a chunk").expect("no error");
        assert_eq!(chunk.into_bytes(), letter);
    }
    assert!(next().expect("an error").is_err());
    assert!(next().is_none());
}

#[test]
fn long_chunks_stay_until_they_are_dropped() {
    let rig = load(
        "local app = require 'sampan'
         app.get('/', function() return app.stream(function(write)
           for i = 1, 3000 do write(tostring(i % 10):rep(50000)) end
         end) end)",
    );
    let mut stream = rig
        .only(get("/"))
        .expect("an answer")
        .stream
        .expect("a stream");
    let mut next = || block_on(|cx| stream.poll_chunk(cx)).map(|chunk| chunk.expect("no error"));
    let first = next().expect("a chunk");
    for _ in 2..3000 {
        assert!(matches!(next(), Some(Chunk::Lent(_))));
    }
    rig.isolate.collect_garbage();
    let used = rig.isolate.memory_bytes();
    assert!(used < 2 << 20, "{used} bytes are kept of 150 MB");
    let last = next().expect("a chunk");
    assert!(next().is_none());
    drop(stream);
    drop(rig);
    assert_eq!(last.into_bytes(), b"0".repeat(50_000));
    assert_eq!(first.into_bytes(), b"1".repeat(50_000));
}

#[test]
fn runaways_are_stopped_in_time() {
    let millis = 100;
    for body in [
        "while true do end",
        "for i = 1, 1e15 do end",
        "local x = 0 while true do x = x + 1 end",
        "while true do pcall(function() while true do end end) end",
        "while true do pcall(error) end",
        "local function f() return f() end f()",
        "coroutine.wrap(function() while true do end end)()",
        "repeat local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end \
         until false",
        "xpcall(function() while true do end end, function() while true do end end)",
        "app.time.sleep(0.001) while true do end",
        "return (('a'):rep(40000)):find('.-.-.-.-b')",
        "return (('a'):rep(40000)):gsub('.-.-.-.-b', '')",
        "for _ in (('a'):rep(40000)):gmatch('.-.-.-.-b') do end",
        "return ('a'):rep(28):find(('a?'):rep(28) .. ('a'):rep(28))",
        "return (('a'):rep(1e5)):find('.-.-.-b')",
        "return (('a'):rep(1e6)):find('[' .. ('b'):rep(1e6) .. ']')",
        "return (('a'):rep(1e6)):match('^[' .. ('b'):rep(1e6) .. 'a]*$')",
        "return (('('):rep(1e6)):find('%b()')",
        "return (('a'):rep(1e6)):gsub('()a*b', '')",
        "while true do pcall(string.find, ('a'):rep(1e5), '.-.-.-b') end",
        "local t = { ('x'):rep(100) } for i = 1, 60 do t = { t, t } end return t",
        "local t = { ('x'):rep(100) } for i = 1, 60 do t = { t, t } end return app.json.encode(t)",
        "local t = {} for i = 1, 1e6 do t[i] = 1 end while true do table.sort(t) end",
        "local s, t = ('a'):rep(1e7), {} local a, b = s .. 'a', s .. 'b' for i = 1, 1000 do t[i] = i % 2 == 0 and a or b \
         end table.sort(t)",
        "return (('a'):rep(2e7)):find(('a'):rep(1e7) .. 'b', 1, true)",
        "table.sort({ 1, 2, 3 }, function() while true do end end)",
        "setmetatable({}, { __index = function(t, k) while true do end end }).x = 1 return setmetatable({}, { __index \
         = function() while true do end end }).y",
    ] {
        let source = format!(
            "local app = require 'sampan' app.get('/', function(req) {body} end) app.get('/ok', function() return \
             'ok' end)"
        );
        let limits = ScriptLimits {
            script_millis_max: millis,
            ..ScriptLimits::default()
        };
        let rig = load_files(&source, &[], limits).expect("loads");
        let begun = cpu_time();
        let error = rig.wrapped(get("/path")).expect_err(body);
        // The processor's time: other work on the machine does not count.
        let took = cpu_time() - begun;
        assert_eq!(error.kind(), ErrorKind::Stopped, "{body}: {error}");
        // Stopped while the answer is written, or in a call that the handler ended with, no line of the script runs any
        // more.
        assert!(
            error.place().is_some() || body.contains("{ t, t }") || body.starts_with("return ("),
            "{body}: {error:?}"
        );
        assert!(
            took < Duration::from_millis(millis + 150),
            "{body}: {took:?}"
        );
        for _ in 0..100 {
            // Its limit is short: on a busy machine even this may take longer once.
            let answer = (0..5).find_map(|_| rig.nth(1, get("/path")).ok());
            assert_eq!(answer.expect("the isolate goes on").text(), "ok");
        }
    }
}

#[test]
fn what_is_too_large_fails_alone() {
    // The stack of a worker's thread.
    let deep = std::thread::Builder::new().stack_size(4 * 1024 * 1024);
    let done = deep.spawn(too_large).expect("a thread").join();
    done.expect("each failed alone");
}

fn too_large() {
    for body in [
        "local function f() coroutine.wrap(f)() end f()",
        "local function f() return coroutine.resume(coroutine.create(f)) end f() error('deep')",
        "local function f() return (('x'):gsub('x', f)) end return f()",
        "local function f() pcall(string.gsub, 'x', 'x', f) end f() error('deep')",
        "table.insert({}, 2^53, 1)",
        "table.insert({}, -1e9, 1)",
        "table.insert({}, '-1e9', 1)",
        "return string.rep('x', 2147483647)",
        "return string.rep('x', '2e9')",
        "return string.rep('', 2e9, ('y'):rep(30))",
        "return (('x'):rep(1e6):gsub('x', ('y'):rep(2e7)))",
        "local s = ('x'):rep(1e6) local t = {} for i = 1, 1500 do t[i] = s end return t",
        "local s = ('x'):rep(1e6) local t = {} for i = 1, 1500 do t[i] = s end return app.json.encode(t)",
        "return #string.rep('', 2e9)",
        "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
        "local s = 'x' while true do s = s .. s end",
        "local function f() return 1 + f() end return f()",
        "return table.concat({ ('x'):rep(6e7), ('y'):rep(6e7) }, ('z'):rep(6e7))",
    ] {
        let source = format!(
            "local app = require 'sampan' app.get('/', function(req) {body} end) app.get('/ok', function() return \
             'ok' end)"
        );
        let rig = load(&source);
        let begun = cpu_time();
        let result = rig.wrapped(get("/path"));
        if let Err(error) = &result {
            assert!(
                [500, 503].contains(&error.kind().status()),
                "{body}: {error}"
            );
        }
        assert!(result.is_err() || body.contains("''"), "{body}");
        assert!(cpu_time() - begun < Duration::from_millis(2100), "{body}");
        assert_eq!(
            rig.nth(1, get("/path"))
                .expect("the isolate goes on")
                .text(),
            "ok"
        );
        assert!(!rig.isolate.is_worn_out(), "{body}");
    }
}

#[test]
fn requests_that_are_given_up_leave_nothing() {
    let rig =
        load("local app = require 'sampan' app.get('/', function(req) app.time.sleep(3600) end)");
    let handler = Some(rig.handler("/"));
    let give_up = |count| {
        for _ in 0..count {
            let End::Waits(mut rest, mut answer) = rig.start(rig.call(get("/path"), handler, &[]))
            else {
                panic!("it waits")
            };
            let mut cx = Context::from_waker(Waker::noop());
            assert!(rest.poll(&mut cx, &mut answer).is_pending());
        }
        rig.isolate.collect_garbage();
        rig.isolate.memory_bytes()
    };
    give_up(1000);
    let before = give_up(1000);
    let after = give_up(10_000);
    assert!(after < before + 64 * 1024, "{before} → {after}");
}

#[test]
fn a_request_that_is_over_answers_no_more() {
    let rig = load(
        "local app = require 'sampan' local kept
         app.get('/', function(req) kept = req return 'x' end)
         app.get('/late', function() return kept.path end)",
    );
    rig.wrapped(get("/path")).expect("an answer");
    let error = rig.nth(1, get("/path")).expect_err("an error");
    assert!(error.message().contains("the request is over"), "{error}");
}

#[test]
fn an_error_handler_sees_the_error_at_hand_only() {
    let rig = load(
        "local app = require 'sampan'
         app.get('/', function() error({ message = 'first', secret = 1 }) end)
         app.get('/late', function() return { x = 0/0 } end)
         app.on_error(function(req, err) return app.json({ err.message, err.value and err.value.secret or 'none' }) \
          end)",
    );
    let handler = rig.isolate.program().on_error;
    let mut answers = Vec::new();
    for route in [0, 1] {
        let error = rig.nth(route, get("/path")).expect_err("an error");
        let call = sampan_host::Call {
            request: std::rc::Rc::new(get("/path")),
            handler,
            fallback: 500,
            file: None,
            middleware: &[],
            error: Some(&error),
            is_traced: false,
        };
        let mut answer = TestAnswer::default();
        assert!(matches!(
            rig.isolate.start(call, &mut answer),
            sampan_host::Step::Done
        ));
        // A builder without a status keeps the error's.
        assert_eq!(answer.code(), 500);
        answers.push(answer.text());
    }
    assert_eq!(answers[0], r#"["first",1]"#);
    assert!(answers[1].ends_with(r#","none"]"#), "{}", answers[1]);
}

#[test]
fn the_number_of_a_request_is_not_shown() {
    let rig = load(
        "local app = require 'sampan'
         app.get('/', function(req)
           local names = {}
           for name in pairs(req) do names[#names + 1] = name end
           for at in ipairs(req) do names[#names + 1] = at end
           local path = req.path
           req.user = 'me'
           for name in pairs(req) do names[#names + 1] = name end
           table.sort(names)
           return names
         end)
         app.get('/answer', function(req) return req end)
         app.get('/member', function(req) return { req = req } end)
         app.get('/log', function(req) app.log.info(req, { req }) end)",
    );
    assert_eq!(
        rig.nth(0, get("/x")).expect("answers").text(),
        "[\"path\",\"user\"]"
    );
    let error = |index| {
        rig.nth(index, get("/x"))
            .expect_err("no answer")
            .message()
            .to_owned()
    };
    let text = "a Request has no place in JSON; write the fields that are meant";
    assert_eq!(error(1), text);
    assert_eq!(error(2), format!("'req': {text}"));
    let _ = rig.nth(3, get("/x"));
    let notes = rig.notes.0.borrow().join("\n");
    assert!(notes.contains("[request GET /x]"), "{notes}");
}

#[test]
fn collections_of_garbage_are_counted() {
    let rig = load(
        "local app = require 'sampan' local kept
         app.get('/', function() for at = 1, 1000 do kept = { at } end return 'done' end)
         app.get('/full', function() kept = {} while true do kept[#kept + 1] = { ('x'):rep(#kept) } end end)",
    );
    let collected = |times: u64| {
        let _ = rig.isolate.take_collections();
        (0..times).for_each(|_| rig.isolate.collect_garbage());
        assert_eq!(rig.isolate.take_collections(), times);
        assert_eq!(rig.isolate.take_collections(), 0);
    };
    collected(3);
    let by_itself = (0..10_000).any(|_| {
        assert_eq!(rig.nth(0, get("/")).expect("an answer").text(), "done");
        rig.isolate.take_collections() > 0
    });
    assert!(by_itself, "ten million tables and no collection");
    // Where memory ran out it goes on.
    for _ in 0..3 {
        let error = rig.nth(1, get("/full")).expect_err("no memory");
        assert_eq!(error.kind(), ErrorKind::Memory);
        collected(2);
    }
}
