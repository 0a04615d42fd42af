//! Native objects: their methods, whose they are, when they go; and brackets that wait.

use crate::support::{End, Rig, get, load, load_files};
use sampan_host::{ErrorKind, Isolate, ScriptLimits};

fn app(handlers: &str) -> Rig {
    load(&format!(
        "local app = require 'sampan' local objects, time = app.objects, app.time\n{handlers}"
    ))
}

/// Returns the answer of one handler, or its error.
fn outcome(body: &str) -> String {
    let rig = app(&format!("app.get('/', function(req) {body} end)"));
    match rig.only(get("/")) {
        Ok(answer) => answer.text(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_object_with_keys_is_read_and_written_like_a_table() {
    let cases = [
        (
            "local b = objects.box() b.user_id = 7 b['a b'] = { x = { 1 } } return { b.user_id, b['a b'].x, b.none == \
             nil }",
            "[7,[1],true]",
        ),
        (
            "local b = objects.box() b.a = 1 b.b = 'x' local all = {} for k, v in pairs(b) do all[#all + 1] = { k, v \
             } end return all",
            r#"[["a",1],["b","x"]]"#,
        ),
        (
            "local b = objects.box() b.a = 1 b.b = 2 b.a = nil return b:keys()",
            r#"["b"]"#,
        ),
        (
            "local b = objects.box() b:set('a', 1) b.a = b.a + 2 return { b:get('a'), tostring(b) }",
            r#"[3,"Box"]"#,
        ),
        (
            "local b = objects.box() b.a = 1 b:clear() return { #b:keys() }",
            "[0]",
        ),
        (
            "objects.box().clear = 1",
            "app.lua:2: \"clear\" is a method of a Box: choose another key for what is kept in the box",
        ),
        (
            "objects.box()[1] = 1",
            "app.lua:2: box:set: argument 1 (key) must be a string, not a number",
        ),
        (
            "objects.box().f = print",
            "app.lua:2: box:set: argument 2 (value): a function cannot be passed here",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(outcome(body), expected, "{body}");
    }
}

#[test]
fn methods_are_called_with_a_colon_and_checked_like_functions() {
    let cases = [
        (
            "local c = objects.counter() c:add(2) return { c:add(3) }",
            "[5]",
        ),
        (
            "local c = objects.counter() return { c:wait_and_add(2), c:add(1) }",
            "[2,3]",
        ),
        (
            "local c = objects.counter() c:add(4) return { objects.read(c) }",
            "[4]",
        ),
        (
            "local c = objects.counter() objects.echo(c):add(4) return { c:add(0) }",
            "[4]",
        ),
        (
            "local c = objects.counter() return { c:within(function(same) return same:add(7) end) }",
            "[7]",
        ),
        (
            "local c = objects.counter() return { tostring(c), type(c), tostring(getmetatable(c)) }",
            r#"["Counter","userdata","false"]"#,
        ),
        (
            "objects.counter():add('x')",
            "app.lua:2: counter:add: argument 1 (by) must be a whole number, not a string",
        ),
        (
            "objects.counter().add(1)",
            "app.lua:2: counter:add: write counter:add(...) with a colon, on a Counter",
        ),
        (
            "objects.counter().add(objects.ticket(), 1)",
            "app.lua:2: counter:add: write counter:add(...) with a colon, on a Counter",
        ),
        (
            "objects.read({})",
            "app.lua:2: objects.read: argument 1 (counter) must be a Counter, not a table",
        ),
        (
            "objects.read(objects.ticket())",
            "app.lua:2: objects.read: argument 1 (counter) must be a Counter, not a Ticket",
        ),
        (
            "local c = objects.counter() c:close() c:add(1)",
            "app.lua:2: this Counter is over",
        ),
        (
            "local c = objects.counter() c:close() c:wait_and_add(1)",
            "this Counter is over",
        ),
        (
            "local c = objects.counter() c:close() objects.read(c)",
            "app.lua:2: this Counter is over",
        ),
        (
            "objects.counter():within()",
            "app.lua:2: counter:within: argument 1 must be a function, not nil",
        ),
        (
            "objects.counter():within(function() time.sleep(1) end)",
            "app.lua:2: time.sleep: cannot wait inside counter:within",
        ),
        (
            "return { objects.counter() }",
            "a native object has no place in JSON; write the values that are meant",
        ),
        ("return objects.counter()", "a handler returned a userdata"),
        ("objects.counter().x = 1", "attempt to index"),
        (
            "setmetatable(objects.counter(), {})",
            "table expected, got userdata",
        ),
    ];
    for (body, expected) in cases {
        let outcome = outcome(body);
        assert!(outcome.contains(expected), "{body}: {outcome}");
    }
}

#[test]
fn an_object_goes_with_its_request() {
    let rig = app("
        local kept
        app.get('/keep', function() kept = objects.ticket() kept:add(1) return 'kept' end)
        app.get('/hold', function() kept = objects.ticket() time.sleep(60) end)
        app.get('/fail', function() kept = objects.ticket() error('no') end)
        app.get('/loop', function() kept = objects.ticket() while true do end end)
        app.get('/use', function() return { kept:add(1) } end)
        app.get('/pass', function() return objects.echo(kept) and 'passed' end)
        app.get('/stream', function()
          return app.stream(function(write) kept = objects.ticket() write('a') write(tostring(kept:add(1))) end)
        end)");
    let use_it = || {
        rig.route("/use", get("/"))
            .unwrap_err()
            .message()
            .to_owned()
    };
    for path in ["/keep", "/fail", "/loop"] {
        let _ = rig.route(path, get("/"));
        assert_eq!(
            (rig.live.0.get(), &*use_it()),
            (0, "this Ticket is over"),
            "{path}"
        );
    }
    let holding = rig.start(rig.call(get("/"), Some(rig.handler("/hold")), &[]));
    assert!(matches!(holding, End::Waits(..)));
    assert_eq!(use_it(), "this Ticket belongs to another request");
    let error = rig.route("/pass", get("/")).unwrap_err();
    assert!(
        error.message().contains("belongs to another request"),
        "{error}"
    );
    drop(holding);
    assert_eq!((rig.live.0.get(), &*use_it()), (0, "this Ticket is over"));
    let mut streaming = rig.route("/stream", get("/")).unwrap();
    assert_eq!(rig.read(&mut streaming).unwrap(), b"a1");
    assert_eq!((rig.live.0.get(), &*use_it()), (0, "this Ticket is over"));
}

#[test]
fn ten_thousand_objects_that_nobody_closes_leave_memory_flat() {
    let rig = app(
        "app.get('/', function() for i = 1, 10000 do objects.counter():add(1) end return 'done' end)",
    );
    let mut most = 0;
    for round in 0..20 {
        assert_eq!(rig.text(get("/")), "done");
        most = most.max(rig.isolate.memory_bytes());
        if round == 0 {
            assert!(rig.live.0.get() <= 10_000);
        }
    }
    assert!(rig.live.0.get() < 40_000, "{}", rig.live.0.get());
    assert!(most < 16 * 1024 * 1024, "{most}");
    rig.isolate.collect_garbage();
    rig.text(get("/"));
    rig.isolate.collect_garbage();
    assert_eq!(rig.text(get("/")), "done");
    // What the last run made may be there still.
    assert!(rig.live.0.get() <= 10_000, "{}", rig.live.0.get());
    let live = rig.live.clone();
    drop(rig);
    assert_eq!(live.0.get(), 0);
}

#[test]
fn an_object_that_the_script_holds_stays() {
    let rig = app("
        local kept = objects.counter()
        local twice = objects.echo(kept)
        app.get('/forget', function() twice = nil return 'forgotten' end)
        app.get('/use', function() return { kept:add(1) } end)
        app.get('/forget-all', function() kept, twice = nil, nil return 'forgotten' end)");
    let call = |path: &str| rig.route(path, get("/")).unwrap().text();
    call("/forget");
    rig.isolate.collect_garbage();
    rig.isolate.collect_garbage();
    assert_eq!((call("/use"), rig.live.0.get()), ("[1]".to_owned(), 1));
    call("/forget-all");
    rig.isolate.collect_garbage();
    call("/forget");
    assert_eq!(rig.live.0.get(), 0);
}

#[test]
fn a_bracket_that_waits_is_left_in_order() {
    let cases = [
        (
            "return objects.around(function(t) time.sleep(0.001) return tostring(t:add(1)) end)",
            "1",
            true,
        ),
        (
            "return objects.around(function(t) return objects.around(function(u) return t:add(1) + u:add(1) .. '' \
             end) end)",
            "2",
            true,
        ),
        ("objects.around(function() error('oh') end)", "oh", false),
        (
            "objects.around(function() error({ status = 409, message = 'taken' }) end)",
            "taken",
            false,
        ),
        (
            "return select(2, pcall(objects.around, function() error('caught', 0) end))",
            "caught",
            false,
        ),
    ];
    for (body, expected, succeeds) in cases {
        let rig = app(&format!("app.get('/', function() {body} end)"));
        let outcome = match rig.only(get("/")) {
            Ok(answer) => answer.text(),
            Err(error) => error.message().to_owned(),
        };
        assert_eq!(outcome, expected, "{body}");
        let notes = rig.notes.0.borrow().clone();
        assert!(
            notes
                .iter()
                .all(|note| note == "enter" || *note == format!("leave {succeeds}"))
        );
        assert!(notes.len() >= 2 && rig.live.0.get() == 0, "{notes:?}");
    }
}

/// The stack has to grow to be left in frames of some sizes, and there is no memory for that.
#[test]
fn a_bracket_is_left_where_memory_ran_out() {
    let limits = ScriptLimits {
        memory_bytes_max: 16 << 20,
        ..ScriptLimits::default()
    };
    for (bracket, left) in [
        ("app.objects.around", "leave false"),
        ("app.data.batch", "leave Int(1) false"),
    ] {
        for size in [1, 7, 13, 19, 25, 31] {
            let names: Vec<_> = (0..size).map(|at| format!("a{at}")).collect();
            let names = names.join(", ");
            let source = format!(
                "local app = require 'sampan'
                 app.get('/', function()
                   local {names} = 1
                   {bracket}(function()
                     local full = {{}}
                     while true do full = {{ full, ('x'):rep(100) .. tostring(full) }} end
                   end)
                 end)
                 app.get('/log', function() return app.data.log() end)"
            );
            let rig = load_files(&source, &[], limits.clone()).expect("the script loads");
            let error = rig.nth(0, get("/")).expect_err("no memory");
            assert_eq!(error.kind(), ErrorKind::Memory, "{bracket} {size}: {error}");
            rig.isolate.collect_garbage();
            let mut notes = rig.notes.0.borrow().join(", ");
            notes += &rig.nth(1, get("/log")).expect("the log").text();
            assert!(notes.contains(left), "{bracket} {size}: {notes}");
        }
    }
}

/// Others run and fail while the bracket is left, and the error keeps the place and the stack of where it was raised.
#[test]
fn an_error_keeps_its_place_while_its_bracket_waits() {
    let rig = app("
        local function deep() error('deep down') end
        app.get('/fails', function()
          objects.around(function()
            deep()
          end)
        end)
        app.get('/other', function() app.probe.within('x', function() error('other') end) end)");
    let call = rig.call(get("/"), Some(rig.handler("/fails")), &[]);
    let End::Waits(mut rest, mut answer) = rig.start(call) else {
        panic!("it waits");
    };
    let error = crate::support::block_on(|cx| {
        let polled = rest.poll(cx, &mut answer);
        assert!(rig.route("/other", get("/")).is_err());
        polled
    });
    let error = error.unwrap_err();
    assert_eq!(
        (error.message(), error.kind()),
        ("deep down", ErrorKind::Script)
    );
    assert_eq!(
        error.place().map(ToString::to_string).as_deref(),
        Some("app.lua:3")
    );
    let stack = error.stack().unwrap_or_default();
    assert!(
        stack.contains("app.lua:3") && stack.contains("app.lua:6"),
        "{stack}"
    );
}

#[test]
fn a_bracket_that_waits_goes_with_its_request() {
    let rig = app("
        app.get('/', function() objects.around(function() time.sleep(60) end) end)
        app.get('/batch', function() app.probe.within('x', function() objects.around(function() end) end) end)
        app.get('/yield', function()
          local co = coroutine.wrap(function() objects.around(function() coroutine.yield('out') end) end)
          return co()
        end)");
    let call = rig.call(get("/"), Some(rig.handler("/")), &[]);
    let End::Waits(mut rest, mut answer) = rig.start(call) else {
        panic!("it waits");
    };
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..20 {
        assert!(rest.poll(&mut cx, &mut answer).is_pending());
        sampan_rig::wait::dawdle(std::time::Duration::from_millis(1));
    }
    assert_eq!(rig.live.0.get(), 1);
    drop(rest);
    assert_eq!(
        (rig.live.0.get(), &**rig.notes.0.borrow()),
        (0, &["enter".to_owned()][..])
    );
    let error = rig.route("/batch", get("/")).unwrap_err();
    assert!(
        error
            .message()
            .contains("objects.around: cannot wait inside probe.within"),
        "{error}"
    );
    assert_eq!(rig.route("/yield", get("/")).unwrap().text(), "out");
    assert_eq!(rig.live.0.get(), 0);
}
