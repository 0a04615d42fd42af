//! Isolation per request: what a script leaves anywhere in one request, no other sees.

use crate::support::{End, Rig, block_on, get};
use sampan_host::{
    Call, Chunk, Context, Error, ErrorKind, Function, FunctionKind, HandlerId, Isolate, Isolation,
    Module, ScriptLimits, Setup, Type, Value,
};
use sampan_lua::Lua;
use sampan_rig::{CALLS, OBJECTS, TIME};
use std::cell::Cell;
use std::rc::Rc;

thread_local! {
    static TICKS: Cell<i64> = const { Cell::new(0) };
}

fn tick(_: &Context, _: sampan_host::Args) -> Result<Value, Error> {
    TICKS.set(TICKS.get() + 1);
    Ok(Value::Int(TICKS.get()))
}

/// Counts all runs, over all requests.
static PROBE: Module = Module {
    name: "probe",
    doc: "",
    functions: &[Function {
        name: "tick",
        params: &[],
        returns: Type::Int,
        doc: "",
        kind: FunctionKind::Sync(tick),
    }],
    ..Module::EMPTY
};

static MODULES: &[&Module] = &[&TIME, &CALLS, &OBJECTS, &PROBE, &sampan_json::MODULE];

fn try_load(files: &[(&str, &str)], limits: ScriptLimits) -> Result<Rig, Error> {
    sampan_rig::load("app.lua", files, MODULES, limits, |setup| {
        Lua::load(Setup {
            isolation: Isolation::Request,
            has_streams: false,
            ..setup
        })
    })
}

fn load_files(files: &[(&str, &str)]) -> Rig {
    try_load(files, ScriptLimits::default()).expect("the project loads")
}

fn load(body: &str) -> Rig {
    let source = format!("local app = require 'sampan' {body}");
    load_files(&[("app.lua", &source)])
}

/// Returns three answers of the only route.
fn thrice(rig: &Rig) -> [String; 3] {
    [(); 3].map(|()| rig.text(get("/")))
}

fn error(result: Result<sampan_rig::TestAnswer, Error>) -> Error {
    result.expect_err("an error")
}

#[test]
fn globals_and_variables_of_the_file_are_new_for_each_request() {
    let rig = load(
        "local here = 0
        count = (count or 0) + 1
        app.get('/', function()
          here, count, later = here + 1, count + 1, (later or 0) + 1
          _G.other = (_G.other or 0) + 1
          return { here, count, later, other }
        end)",
    );
    assert_eq!(thrice(&rig), ["[1,2,1,1]"; 3]);
}

#[test]
fn modules_run_for_each_request_that_requires_them() {
    let rig = load_files(&[
        (
            "app.lua",
            "local app, counter = require 'sampan', require 'counter'
            app.get('/', function()
              local late = require 'late'
              counter.field = (counter.field or 0) + 1
              late[1] = (late[1] or 0) + 1
              package.loaded.fake = (package.loaded.fake or 0) + 1
              return { counter.add(), counter.field, late[1], package.loaded.fake,
                       require 'counter' == counter, package.loaded.late == late, global_of_counter }
            end)",
        ),
        (
            "counter.lua",
            "local n = 0
            global_of_counter = (global_of_counter or 0) + 1
            return { add = function() n = n + 1 return n end }",
        ),
        ("lib/late.lua", "return {}"),
    ]);
    assert_eq!(thrice(&rig), ["[1,1,1,1,true,true,1]"; 3]);
}

#[test]
fn what_is_done_to_the_libraries_is_not_seen_later() {
    for change in [
        "string.mine = 1 return { string.mine }",
        "function string.mine() return 1 end return { ('x'):mine() }",
        "table.insert = nil table.mine = 1 return { table.mine, table.insert }",
        "math.mine = 1 return { math.mine }",
        "os.time = function() return 1 end return { os.time() }",
        "io.stdout.mine = 1 return { io.stdout.mine }",
        "debug.traceback, coroutine.mine = 1, 1 return { coroutine.mine }",
        "package.path = '' package.preload.mine = function() return 1 end return { require 'mine' }",
        "table.insert(package.loaders, 1, function() return function() return 1 end end) return { require 'mine' }",
        "package.loaded.string = nil package.loaded.mine = 1 return { require 'mine' }",
        "setmetatable(_G, { __index = function() return 1 end }) return { mine }",
        "rawset(_G, 'mine', 1) return { mine }",
        "print, require, _G.string = nil, nil, nil mine = 1 return { mine }",
        "table.clear(app) app.mine = 1 return { app.mine }",
        "app.json, app.get = nil, nil app.mine = 1 return { app.mine }",
        "app.time.mine = 1 rawset(app.time, 'sleep', nil) return { app.time.mine }",
        "app.json.mine = 1 return { app.json.mine }",
        "app.worker.mine = 1 return { app.worker.mine }",
        "table.insert(app.probe, 1) return { app.probe[1] }",
        "local buffer = require 'string.buffer' buffer.mine = 1 return { buffer.mine }",
        "load('mine = 1')() return { mine }",
        "getfenv().mine = 1 return { mine }",
        "setfenv(1, { app = app, mine = 1 }) return { mine }",
        "coroutine.wrap(function() mine = 1 end)() return { mine }",
        "local r = app.text('x') r.headers.mine = 1 return { r.headers.mine }",
    ] {
        let rig = load(&format!(
            "app.get('/', function(req)
              local before = {{}}
              for name, t in pairs {{ _G = _G, string = string, table = table, math = math, io = io.stdout, loaded = \
               package.loaded,
                app = app, time = app.time, json = app.json, worker = app.worker, probe = app.probe, buffer = require \
                 'string.buffer' }} do
                if t.mine or rawget(t, 1) then before[#before + 1] = name end
              end
              if getmetatable(_G) then before[#before + 1] = 'metatable' end
              assert(#before == 0, table.concat(before, ' '))
              assert(#package.loaders == 3 and package.path ~= '' and os.time() > 1 and type(debug.traceback) == \
               'function')
              assert(table.insert and print and app.get and app.time.sleep and ('x').mine == nil and not \
               pcall(require, 'mine'))
              {change}
            end)"
        ));
        for _ in 0..3 {
            let answer = rig.only(get("/"));
            let answer = answer.unwrap_or_else(|error| panic!("{change}: {error}"));
            assert_eq!(answer.text(), "[1]", "{change}");
        }
    }
}

#[test]
fn no_metatable_leads_to_what_requests_share() {
    let rig = load(
        "app.get('/', function(req)
          local response = app.text('x')
          local ok, err = pcall(app.time.sleep, 'x')
          local seen = {}
          for at, value in ipairs { response, response.headers, req.headers, app, app.json, app.time, app.json.array \
           {}, 'text', err, req,
                                      require 'string.buffer'.new(), coroutine.create(print), print, 1, true } do
            if type(getmetatable(value)) == 'table' then seen[#seen + 1] = at end
            if type(debug.getmetatable(value)) == 'table' then seen[#seen + 1] = -at end
          end
          return { seen, response.__index == nil, pcall(setmetatable, app, {}), pcall(setmetatable, app.time, {}) }
        end)",
    );
    for text in thrice(&rig) {
        let refused = "cannot change a protected metatable";
        assert_eq!(text, format!(r#"[{{}},true,false,false,"{refused}"]"#));
    }
}

#[test]
fn a_metatable_that_a_request_changes_is_not_that_of_the_next() {
    let rig = load(
        "app.get('/', function(req)
          local before = req.headers.mine
          local meta = debug.getmetatable(req.headers)
          if meta then meta.__index = function() return 'changed' end end
          return { before == nil, meta == nil, debug.getmetatable(setmetatable({}, { x = 1 })).x }
        end)",
    );
    assert_eq!(thrice(&rig), ["[true,true,1]"; 3]);
}

const WALK: &str = include_str!("support/walk.lua");

#[test]
fn nothing_that_can_be_reached_is_shared() {
    let rig = load_files(&[
        ("walk.lua", WALK),
        (
            "app.lua",
            "local app, walk = require 'sampan', require 'walk'
            local group
            app.group('/g', function(g) group = g end)
            app.get('/', function(req)
              local _, refused = pcall(app.time.sleep, 'x')
              local _, err = pcall(app.calls.now, app.calls)
              local marked, count = walk.all { globals = _G, app = app, group = group, req = req, err = err, refused \
               = refused,
                text = app.text 'x', redirect = app.redirect '/', json = app.json {}, array = app.json.array {}, \
                 object = app.json.object {},
                buffer = require 'string.buffer'.new(), iterator = ('x'):gmatch '.', thread = coroutine.create(print),
                wrapped = coroutine.wrap(print), string = 'x', loaded = load 'return 1', null = app.null, headers = \
                 req.headers }
              return { marked, count > 25 }
            end)",
        ),
    ]);
    assert_eq!(thrice(&rig), ["[{},true]"; 3]);
}

#[test]
fn random_numbers_that_one_request_chose_are_not_those_of_another() {
    let rig = load(
        "app.get('/', function(req)
          local drawn = math.random(1, 1e9)
          math.randomseed(42)
          return { drawn, math.random(1, 1e9) }
        end)",
    );
    let drawn: Vec<_> = thrice(&rig)
        .iter()
        .map(|text| {
            text.trim_matches(['[', ']'])
                .split_once(',')
                .map(|(a, b)| (a.to_owned(), b.to_owned()))
                .expect("two")
        })
        .collect();
    assert!(
        drawn[0].0 != drawn[1].0 && drawn[1].0 != drawn[2].0,
        "{drawn:?}"
    );
    assert_eq!(drawn[0].1, drawn[1].1, "a seed is a seed");
}

#[test]
fn requests_that_wait_keep_the_numbers_that_they_chose() {
    let rig = load(
        "app.get('/', function(req)
          if req.query.seed then math.randomseed(tonumber(req.query.seed)) end
          local drawn = { math.random(1, 1e9) }
          app.time.sleep(0.01)
          drawn[2] = math.random(1, 1e9)
          app.time.sleep(0.01)
          drawn[3] = math.random(1, 1e9)
          return drawn
        end)",
    );
    let ask = |targets: &[&str]| {
        let targets: Vec<_> = targets.iter().map(|it| (*it).to_owned()).collect();
        together(&rig, &targets)
    };
    let (alone, other) = (ask(&["/?seed=42"]).remove(0), ask(&["/?seed=7"]).remove(0));
    assert_ne!(alone, other);
    let all = ask(&["/?seed=42", "/", "/?seed=7", "/?seed=42", "/"]);
    assert_eq!([&all[0], &all[2], &all[3]], [&alone, &other, &alone]);
    // Those that chose none draw on, and from no seed that another knows.
    let last = ask(&["/"]);
    let free = [&all[1], &all[4], &last[0]].map(String::as_str);
    let unlike =
        |at: usize| !free[..at].contains(&free[at]) && free[at] != alone && free[at] != other;
    assert!((0..3).all(unlike), "{free:?}");
}

#[test]
fn requests_that_wait_keep_their_own_world() {
    let rig = load_files(&[
        (
            "app.lua",
            "local app = require 'sampan'
            app.get('/', function(req)
              local name = req.query.name
              mine = name
              function string.name() return name end
              package.loaded.name = { name }
              local waiting = require 'waiting'
              app.time.sleep(0.01)
              return { mine, ('x'):name(), require('name')[1], load('return mine')(), getfenv(0).mine, waiting(), \
               require 'late', late }
            end)",
        ),
        (
            "waiting.lua",
            "local app = require 'sampan'
            app.time.sleep(0.01)
            local mine_then = mine
            return function() return mine_then .. mine end",
        ),
        ("late.lua", "late = mine return late"),
    ]);
    let names = ["c", "b", "a"];
    let answers = together(&rig, &names.map(|name| format!("/?name={name}")));
    for (n, answer) in names.iter().zip(answers) {
        let expected = format!(r#"["{n}","{n}","{n}","{n}","{n}","{n}{n}","{n}","{n}"]"#);
        assert_eq!(answer, expected);
    }
}

#[test]
fn functions_of_a_gather_stay_in_the_world_of_their_request() {
    let rig = load(
        "app.get('/', function(req)
           local sleep = app.time.sleep
           mine = req.query.name
           function string.name() return mine end
           local function seen() local before = mine sleep(0.002) return before .. mine .. ('x'):name() end
           local a, b = app.gather(seen, function()
             sleep(0.001)
             later = mine
             local c, d = app.gather(seen, seen)
             return c .. d .. later
           end)
           return { a, b, pcall(app.gather, function() sleep(0) error(mine, 0) end) }
         end)",
    );
    let names = ["c", "b", "a"];
    let answers = together(&rig, &names.map(|name| format!("/?name={name}")));
    for (n, answer) in names.iter().zip(answers) {
        let (three, seven) = (n.repeat(3), n.repeat(7));
        assert_eq!(answer, format!(r#"["{three}","{seven}",false,"{n}"]"#));
    }
}

/// Returns the answers to requests for the only route that all wait before any of them goes on.
fn together(rig: &Rig, targets: &[String]) -> Vec<String> {
    let start = |target: &String| {
        let call = rig.call(get(target), Some(rig.handler("/")), &[]);
        match rig.start(call) {
            End::Waits(rest, answer) => (Some(rest), answer),
            _ => panic!("it does not wait"),
        }
    };
    let mut all: Vec<_> = targets.iter().map(start).collect();
    block_on(|cx| {
        for (waits, answer) in &mut all {
            let ended = waits.as_mut().map(|rest| rest.poll(cx, answer));
            if let Some(std::task::Poll::Ready(ended)) = ended {
                ended.expect("an answer");
                *waits = None;
            }
        }
        match all.iter().all(|(waits, _)| waits.is_none()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    });
    all.iter().map(|(_, answer)| answer.text()).collect()
}

#[test]
fn middleware_groups_and_error_handlers_run_in_the_world_of_their_request() {
    let rig = load(
        "order = {}
        local function note(name) order[#order + 1] = name end
        app.use(function(req, next) note 'all' return next(req) end)
        app.group('/g', function(g)
          g.extra = (g.extra or 0) + 1
          g.use(function(req, next) note('g' .. g.extra) return next(req) end)
          g.get('/x', function() note 'x' return order end)
        end)
        app.host('h.example', function(h)
          h.use('/y', function(req, next) return next(req) end)
          h.get('/', function() note 'h' return order end)
        end)
        app.get('/value', { constant = true })
        app.get('/fails', function() note 'fails' error('oh') end)
        app.not_found(function() note 'nothing' return order end)
        app.on_error(function(req, err) note(err.message) return order end)",
    );
    let program = rig.isolate.program();
    let wraps: Vec<HandlerId> = program.middleware.iter().map(|def| def.handler).collect();
    for _ in 0..3 {
        let call = rig.call(get("/g/x"), Some(rig.handler("/g/x")), &wraps);
        assert_eq!(
            rig.run(call).expect("an answer").text(),
            r#"["all","g1","x"]"#
        );
        let call = rig.call(get("/"), program.not_found, &wraps);
        assert_eq!(
            rig.run(call).expect("an answer").text(),
            r#"["all","g1","nothing"]"#
        );
        let call = rig.call(get("/"), Some(rig.handler("h.example/")), &wraps);
        assert_eq!(
            rig.run(call).expect("an answer").text(),
            r#"["all","g1","h"]"#
        );
        let call = rig.call(get("/value"), Some(rig.handler("/value")), &wraps);
        assert_eq!(
            rig.run(call).expect("an answer").text(),
            r#"{"constant":true}"#
        );
        let call = rig.call(get("/fails"), Some(rig.handler("/fails")), &wraps[..1]);
        let request = Rc::clone(&call.request);
        let failed = error(rig.run(call));
        assert_eq!(failed.place().map(|place| place.line), Some(14));
        let answer = rig.run(Call {
            request,
            handler: program.on_error,
            fallback: 500,
            file: None,
            middleware: &[],
            error: Some(&failed),
            is_traced: false,
        });
        assert_eq!(answer.expect("an answer").text(), r#"["all","fails","oh"]"#);
    }
}

#[test]
fn an_error_of_the_file_is_that_request_s() {
    let rig = load_files(&[
        (
            "app.lua",
            "local app = require 'sampan'
            app.on_error(function(req, err) return { err.message, err.value } end)
            require 'other'
            app.get('/', function() return 'fine' end)",
        ),
        (
            "other.lua",
            "local tick = require 'sampan'.probe.tick()
            if tick == 3 then error('the third') end
            if tick == 4 then error({ message = 'the fourth', status = 418 }) end
            if tick == 5 then require 'sampan'.time.sleep(0.01) end
            if tick == 6 then coroutine.yield() end",
        ),
    ]);
    assert_eq!(rig.text(get("/")), "fine");
    let call = rig.call(get("/"), Some(rig.handler("/")), &[]);
    let request = Rc::clone(&call.request);
    let third = error(rig.run(call));
    assert_eq!(
        (third.message(), third.kind()),
        ("the third", ErrorKind::Script)
    );
    assert_eq!(
        third.place().map(ToString::to_string).as_deref(),
        Some("other.lua:2")
    );
    assert!(
        third
            .stack()
            .is_some_and(|stack| stack.contains("app.lua:3")),
        "{third:?}"
    );
    // What was declared by then answers, in the same run of the file.
    let answer = rig.run(Call {
        request,
        handler: rig.isolate.program().on_error,
        fallback: 500,
        file: None,
        middleware: &[],
        error: Some(&third),
        is_traced: false,
    });
    assert_eq!(
        answer.expect("an answer").text(),
        r#"["the third","other.lua:2: the third"]"#
    );
    assert_eq!(error(rig.only(get("/"))).kind(), ErrorKind::Status(418));
    let fifth = error(rig.only(get("/")));
    assert!(
        fifth
            .message()
            .starts_with("time.sleep: cannot wait here: not while a file loads"),
        "{fifth}"
    );
    let sixth = error(rig.only(get("/")));
    assert!(
        sixth
            .message()
            .contains("coroutine.yield: not inside a coroutine of your own"),
        "{sixth}"
    );
    assert_eq!(rig.text(get("/")), "fine");
}

#[test]
fn a_file_that_runs_too_long_is_stopped_and_the_next_request_is_answered() {
    let files = [(
        "app.lua",
        "local app = require 'sampan'
        if app.probe.tick() == 2 then pcall(function() while true do end end) while true do end end
        app.get('/', function() app.time.sleep(0.001) return 'fine' end)",
    )];
    let limits = ScriptLimits {
        script_millis_max: 100,
        ..ScriptLimits::default()
    };
    let rig = try_load(&files, limits).expect("the project loads");
    let stopped = error(rig.only(get("/")));
    assert_eq!(stopped.kind(), ErrorKind::Stopped);
    assert_eq!(
        stopped.place().map(ToString::to_string).as_deref(),
        Some("app.lua:2")
    );
    assert_eq!(rig.text(get("/")), "fine");
}

#[test]
fn the_file_must_declare_the_same_for_each_request() {
    for (body, expected) in [
        (
            "app.get('/', function() end) app.get('/' .. n, function() end)",
            "app.get /2: the file declared app.get /1 here when it was loaded",
        ),
        (
            "app.get('/', function() end) if n == 2 then app.get('/more', function() end) end",
            "app.get /more: the file declared nothing more here when it was loaded",
        ),
        (
            "if n == 1 then app.get('/', function() end) end",
            "ended without declaring what answers this request",
        ),
        (
            "app.get('/', function() end) app.group('/' .. n, function(g) end)",
            "app.group /2: the file declared app.group /1 here",
        ),
    ] {
        TICKS.set(0);
        let rig = load(&format!("local n = app.probe.tick() {body}"));
        let error = error(rig.only(get("/")));
        assert!(error.message().contains(expected), "{error}");
    }
}

#[test]
fn a_declaration_that_failed_when_the_file_was_loaded_counts_for_nothing() {
    let rig = load(
        "local ok = pcall(app.get, 'no slash', function() end)
        app.get('/', function() return tostring(ok) end)",
    );
    assert_eq!(thrice(&rig), ["false"; 3]);
}

#[test]
fn routes_are_declared_while_the_file_runs_only() {
    let rig = load("app.get('/', function() app.get('/x', function() end) end)");
    let late = error(rig.only(get("/")));
    assert!(late.message().contains("routes and middleware"), "{late}");
    let colon = load(
        "app.get('/', function()
          local _, a = pcall(app.text, app, 'x')
          local _, b = pcall(app.calls.now, app.calls, print)
          return { tostring(a), tostring(b) }
        end)",
    );
    assert_eq!(
        colon.text(get("/")),
        r#"["app.text: write app.text(...) with a dot, not with a colon","app.lua:3: calls.now: write calls.now(...) with a dot, not with a colon"]"#
    );
}

#[test]
fn functions_that_capabilities_keep_are_those_of_the_request() {
    let rig = load(
        "local n = 0
        app.calls.keep(function() n = n + 1 return n end)
        app.get('/', function()
          mine = 'mine'
          return { app.calls.kept(), app.calls.kept(), app.calls.later(function() return mine end),
                   app.calls.now(function() return mine end) }
        end)",
    );
    assert_eq!(thrice(&rig), [r#"[1,2,"mine","mine"]"#; 3]);
}

#[test]
fn a_function_that_is_started_apart_has_a_world_of_its_own() {
    let rig = load(
        "local n = 0
        app.calls.keep(function(name)
          n, count = n + 1, (count or 0) + 1
          mine = name
          app.time.sleep(0.001)
          error(('%s %d %d'):format(mine, n, count))
        end)
        app.get('/', function() mine = 'other' return 'fine' end)",
    );
    let kept = rig.kept.0.borrow().clone().expect("a function");
    let started = ["a", "b", "c"].map(|name| {
        let mut run = Rc::clone(&kept).start_apart(vec![Value::Text(name.into())]);
        let waits = std::task::Context::from_waker(std::task::Waker::noop());
        let mut waits = waits;
        assert!(run.as_mut().poll(&mut waits).is_pending());
        (name, run)
    });
    assert_eq!(rig.text(get("/")), "fine");
    for (name, mut run) in started {
        let ended = block_on(|cx| run.as_mut().poll(cx)).expect_err("an error");
        assert_eq!(ended.message(), format!("{name} 1 1"));
    }
}

#[test]
fn a_check_has_a_world_of_its_own_and_fails_with_false() {
    let rig = load(
        "app.calls.keep(function()
          count = (count or 0) + 1
          if count == 1 then return false end
        end)
        app.get('/', function() return 'fine' end)",
    );
    let kept = rig.kept.0.borrow().clone().expect("a function");
    for _ in 0..2 {
        let mut check = Rc::clone(&kept).start_check();
        let ended = block_on(|cx| check.as_mut().poll(cx)).expect_err("an error");
        assert_eq!(ended.message(), "it returned false");
    }
}

#[test]
fn a_stream_goes_on_in_the_world_of_its_request() {
    let rig = load(
        "app.get('/', function(req)
          mine = req.query.name
          return app.stream(function(write)
            write(mine)
            app.time.sleep(0.001)
            mine = mine .. '!'
            write(mine .. tostring(string.other))
          end)
        end)
        app.get('/other', function() mine, string.other = 'other', 1 return mine end)",
    );
    let call = rig.call(get("/?name=a"), Some(rig.handler("/")), &[]);
    let End::Answer(mut answer) = rig.start(call) else {
        panic!("no stream");
    };
    let mut stream = answer.stream.take().expect("a stream");
    let mut text = Vec::new();
    loop {
        let other = rig.route("/other", get("/other")).expect("an answer");
        assert_eq!(other.text(), "other");
        match block_on(|cx| stream.poll_chunk(cx)) {
            Some(Ok(Chunk::Bytes(bytes))) => text.extend(bytes),
            Some(_) => panic!("no chunk of bytes"),
            None => break,
        }
    }
    assert_eq!(String::from_utf8_lossy(&text), "aa!nil");
}

#[test]
fn ten_thousand_requests_leave_nothing_behind() {
    let rig = load_files(&[
        (
            "app.lua",
            "local app, kept = require 'sampan', require 'kept'
            app.calls.keep(function() return 1 end)
            app.use(function(req, next) return next(req) end)
            app.on_error(function() end)
            app.get('/', function(req)
              kept[#kept + 1] = ('x'):rep(1000)
              leaked = kept
              string.leaked = kept
              if req.query.fail then error('x') end
              return #kept
            end)",
        ),
        ("kept.lua", "return {}"),
    ]);
    let run = |count: usize| {
        for at in 0..count {
            let path = if at % 10 == 0 { "/?fail=1" } else { "/" };
            let _ = rig.wrapped(get(path));
        }
        rig.isolate.collect_garbage();
        rig.isolate.memory_bytes()
    };
    let before = run(1_000);
    let after = run(10_000);
    assert!(after < before + before / 5, "{before} bytes became {after}");
}

#[test]
fn a_file_that_lua_alone_would_accept_is_accepted() {
    for source in [
        "\u{feff}local app = require 'sampan' app.get('/', function() return 'yes' end)",
        "#!/usr/bin/lua\nlocal app = require 'sampan' app.get('/', function() return 'yes' end)",
        "require('sampan').get('/', function() return 'yes' end) -- the end",
        "require('sampan').get('/', function() return 'yes' end) return",
        "require('sampan').get('/', function() return 'yes' end) return 1, ...",
    ] {
        assert_eq!(
            load_files(&[("app.lua", source)]).text(get("/")),
            "yes",
            "{source}"
        );
    }
    for source in ["end local function f()", "x = = 1", "return function() "] {
        let fault = try_load(&[("app.lua", source)], ScriptLimits::default());
        let fault = fault.expect_err("a fault");
        assert_eq!(fault.kind(), ErrorKind::Load, "{source}");
        assert_eq!(fault.place().map(|place| place.line), Some(1), "{source}");
    }
}

#[test]
fn the_stack_of_an_error_has_the_handler_of_its_own_request() {
    let rig = load(
        "\nlocal function fails() error('oh') end
        app.get('/', function()
          local x = 1
          fails()
          return x
        end)",
    );
    let failed = error(rig.only(get("/")));
    let stack = failed.stack().unwrap_or_default();
    assert!(
        !stack.contains("tail call") && stack.contains("app.lua:5"),
        "{stack}"
    );
}
