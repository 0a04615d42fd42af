//! Scripts without a server: calls by name, requests, limits, giving up, reloads.

use crate::faults::until;
use crate::support::{Log, project, write};
use sampan::host::{Function, FunctionKind, Module, Type};
use sampan::{ErrorKind, Scripts, ScriptsBuilder, Value};
use sampan_client::wait;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const LUA: &str = "local app = require 'sampan'
local M = {}
function add(a, b) return a + b end
function M.echo(...) return { ... } end
function M.waits() app.time.sleep(0.005) return 'waited' end
function M.fails()
  error('on purpose')
end
function M.forever() while true do end end
function M.tells() app.log.info('begun') M.forever() end
function M.swallows() while true do pcall(function() while true do end end) end end
function M.sleeps() app.time.sleep(60000) end
function M.returns_nothing() end
function M.returns_function() return print end
M.value = 1
app.get('/hi/:name', function(req) return 'Hi ' .. req.params.name .. (req.query.x or '') end)
app.post('/echo', function(req) return req:text() .. req.headers['x-a'] end)
app.get('/fails', function() error('on purpose') end)
app.get('/forever', M.forever)
app.get('/ip', function(req) return req.ip end)
app.get('/stream', function() return app.stream(function(write) write('ab') write('c') end) end)
app.get('/fails-later', function() app.time.sleep(0.001) error('on purpose') end)
app.get('/sleeps', M.sleeps)
app.get('/cut', function() return app.stream(function(write) write('ab') error('on purpose') end) end)
app.get('/teapot', function() error({ status = 418, message = 'short and stout' }) end)
return M
";

const JS: &str = "import { app, log, stream, time } from 'sampan';
export const add = (a, b) => a + b;
export const echo = (...all) => all;
export async function waits() { await time.sleep(0.005); return 'waited'; }
export function fails() {
  throw new Error('on purpose');
}
export function forever() { for (;;); }
export function tells() { log.info('begun'); forever(); }
export async function swallows() { for (;;) { try { for (;;); } catch {} } }
export const sleeps = () => time.sleep(60000);
export const returnsNothing = () => {};
export const returnsFunction = () => () => 1;
export const value = 1;
app.get('/hi/:name', (req) => 'Hi ' + req.params.name + (req.query.x ?? ''));
app.post('/echo', async (req) => (await req.text()) + req.headers.get('x-a'));
app.get('/fails', () => { throw new Error('on purpose'); });
app.get('/forever', forever);
app.get('/ip', (req) => req.ip);
app.get('/stream', () => stream(async (write) => { await write('ab'); await write('c'); }));
app.get('/sleeps', sleeps);
app.get('/fails-later', async () => { await time.sleep(0.001); throw new Error('on purpose'); });
app.get('/cut', () => stream(async (write) => { await write('ab'); throw new Error('on purpose'); }));
app.get('/teapot', () => { throw Object.assign(new Error('short and stout'), { status: 418 }); });
";

fn both() -> [(&'static str, ScriptsBuilder); 2] {
    [("app.lua", LUA), ("app.js", JS)]
        .map(|(name, text)| (name, Scripts::text(name, text).workers(2).log(|_, _| {})))
}

fn call(scripts: &Scripts, function: &str, arguments: &[Value]) -> Result<Value, sampan::Error> {
    scripts.call_blocking(function, arguments.to_vec(), None)
}

#[test]
fn functions_are_called_by_name_with_values() {
    for (name, builder) in both() {
        let scripts = builder.load().expect("it loads");
        let five = call(&scripts, "add", &[Value::Int(2), Value::Int(3)]).expect("5");
        assert!(
            matches!(five, Value::Int(5)) || five == Value::Float(5.0),
            "{name}: {five:?}"
        );
        let given = [
            Value::from("x"),
            Value::Bool(true),
            Value::List(vec![Value::Int(1)]),
        ];
        let list = call(&scripts, "echo", &given).expect("a list");
        assert_eq!(list, Value::List(given.to_vec()), "{name}");
        assert_eq!(
            call(&scripts, "waits", &[]).expect("it waits"),
            Value::from("waited"),
            "{name}"
        );
        let nothing = if name == "app.js" {
            "returnsNothing"
        } else {
            "returns_nothing"
        };
        assert_eq!(
            call(&scripts, nothing, &[]).expect("nothing"),
            Value::Null,
            "{name}"
        );

        let error = call(&scripts, "fails", &[]).expect_err("it fails");
        assert_eq!(
            (error.kind(), error.file()),
            (ErrorKind::Script, Some(name)),
            "{error:?}"
        );
        assert_eq!(
            error.line(),
            Some(if name == "app.js" { 6 } else { 7 }),
            "{error:?}"
        );
        assert!(error.message().contains("on purpose"), "{name}: {error}");
        assert!(
            !error.stack().unwrap_or_default().contains(".call."),
            "{error:?}"
        );

        for missing in ["nothing", "value", "__proto__", "constructor"] {
            let error = call(&scripts, missing, &[]).expect_err("no function");
            assert_eq!(
                error.kind(),
                ErrorKind::Missing,
                "{name} {missing}: {error}"
            );
        }
        let function = if name == "app.js" {
            "returnsFunction"
        } else {
            "returns_function"
        };
        assert!(call(&scripts, function, &[]).is_err(), "{name}: no value");
        scripts.stop();
    }
}

#[test]
fn requests_are_answered_as_by_a_server() {
    for (name, builder) in both() {
        let scripts = builder
            .set("limits.body_bytes_max=10")
            .load()
            .expect("it loads");
        let ask = |method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]| {
            scripts.handle_blocking(method, target, headers, body, None)
        };
        let answer = ask("GET", "/hi/Ada%20L?x=!", &[], b"").expect("an answer");
        assert_eq!(
            (answer.status, &*answer.body),
            (200, &b"Hi Ada L!"[..]),
            "{name}"
        );
        let answer = ask("POST", "/echo", &[("X-A", "b")], b"body").expect("an answer");
        assert_eq!(answer.body, b"bodyb", "{name}");
        assert_eq!(
            ask("GET", "/nowhere", &[], b"").expect("an answer").status,
            404
        );
        assert_eq!(
            ask("GET", "/fails", &[], b"").expect("an answer").status,
            500
        );
        assert_eq!(
            ask("POST", "/echo", &[], b"01234567890")
                .expect("an answer")
                .status,
            413
        );
        for (method, target, header) in [
            ("G T", "/", ("a", "b")),
            ("GET", "/ x", ("a", "b")),
            ("GET", "/", ("a", "b\r\nc: d")),
            ("GET", "/", ("a b", "c")),
        ] {
            let error = ask(method, target, &[header], b"").expect_err("no request");
            assert_eq!(
                error.kind(),
                ErrorKind::Config,
                "{method} {target} {header:?}"
            );
        }
        let streamed = ask("GET", "/stream", &[], b"").expect("an answer");
        assert_eq!(streamed.body, b"abc", "{name}");
        let names: Vec<String> = streamed
            .headers
            .iter()
            .map(|(name, _)| name.to_lowercase())
            .collect();
        assert!(
            !names.contains(&"transfer-encoding".to_owned()),
            "{name}: {names:?}"
        );
        scripts.stop();
    }
}

#[test]
fn a_call_that_is_given_up_is_stopped_and_the_next_one_runs() {
    for (name, builder) in both() {
        let log = Log::default();
        let scripts = builder
            .workers(1)
            .set("limits.script_millis_max=60000")
            .log(log.taker())
            .load()
            .expect("it loads");
        for function in ["forever", "swallows", "sleeps"] {
            let time_max = Some(Duration::from_millis(50));
            let error = scripts
                .call_blocking(function, [], time_max)
                .expect_err("its time is up");
            assert_eq!(
                error.kind(),
                ErrorKind::Cancelled,
                "{name} {function}: {error}"
            );
            let sum = call(&scripts, "add", &[Value::Int(1), Value::Int(1)]);
            assert!(sum.is_ok(), "{name} {function}: {sum:?}");
        }
        let time_max = Some(Duration::from_millis(50));
        let error = scripts.handle_blocking("GET", "/forever", &[], b"", time_max);
        assert_eq!(
            error.expect_err("its time is up").kind(),
            ErrorKind::Cancelled,
            "{name}"
        );
        assert_eq!(
            scripts
                .handle_blocking("GET", "/ip", &[], b"", None)
                .expect("an answer")
                .body,
            b"127.0.0.1"
        );
        let told = log.text();
        assert!(!told.contains("script_millis_max"), "{name}: {told}");
        for who in ["a call: ", "GET /forever: "] {
            let line = format!("{who}{name}:");
            let line = told.lines().find(|told| told.contains(&line));
            let line = line.unwrap_or_else(|| panic!("{name} {who}: {told}"));
            assert!(line.starts_with("Info "), "{line}");
            assert!(line.contains("given up by its caller"), "{line}");
        }
        scripts.stop();
    }
}

#[test]
fn limits_are_those_of_the_server() {
    for (name, builder) in both() {
        let scripts = builder
            .workers(1)
            .set("limits.script_millis_max=300")
            .set("limits.handler_millis_max=1000")
            .load()
            .expect("it loads");
        for function in ["forever", "sleeps"] {
            let error = call(&scripts, function, &[]).expect_err("a limit");
            assert_eq!(error.kind(), ErrorKind::Limit, "{name} {function}: {error}");
        }
        for (path, status, line) in [("/forever", 503, [9, 8]), ("/sleeps", 504, [23, 21])] {
            let answer = scripts.handle_blocking("GET", path, &[], b"", None);
            let answer = answer.expect("an answer");
            assert_eq!(answer.status, status, "{name} {path}");
            let error = answer.error.expect("what happened");
            assert_eq!(error.kind(), ErrorKind::Limit, "{name} {path}: {error}");
            assert_eq!(error.file(), Some(name), "{path}: {error}");
            assert!(error.message().contains("_millis_max"), "{path}: {error}");
            let line = line[usize::from(name == "app.js")];
            assert_eq!(error.line(), Some(line), "{name} {path}: {error}");
        }
        scripts.stop();
    }
}

#[test]
fn files_of_ours_are_no_places_of_the_script() {
    for (name, text) in [
        ("r.lua", "function gives() return function() end end"),
        ("r.js", "export const gives = () => () => 1;"),
        ("l.lua", "syntax error"),
        ("l.js", "export const a = ;"),
    ] {
        let error = match Scripts::text(name, text).workers(1).load() {
            Ok(scripts) => scripts
                .call_blocking("gives", [], None)
                .expect_err("a function"),
            Err(error) => error,
        };
        let told = format!("{error}\n{}", error.stack().unwrap_or_default());
        assert!(
            !told.contains("call.") && !told.contains("calls."),
            "{name}: {told}"
        );
        match name.starts_with('l') {
            true => assert_eq!((error.file(), error.line()), (Some(name), Some(1))),
            false => assert!(told.starts_with("what gives returned: "), "{told}"),
        }
    }
}

#[test]
fn what_a_script_leaves_unhandled_is_told_beside_its_answer() {
    for (name, builder) in both() {
        let scripts = builder.load().expect("it loads");
        let ask = |path: &str| {
            let answer = scripts.handle_blocking("GET", path, &[], b"", None);
            answer.expect("an answer")
        };
        let is_js = usize::from(name == "app.js");
        for (path, line) in [("/fails", [18, 17]), ("/fails-later", [22, 22])] {
            let answer = ask(path);
            assert_eq!(answer.status, 500, "{name} {path}");
            let body = String::from_utf8_lossy(&answer.body);
            assert!(!body.contains("on purpose"), "{body}");
            let error = answer.error.expect("what the script raised");
            assert_eq!(error.kind(), ErrorKind::Script, "{name} {path}: {error}");
            assert_eq!(error.message(), "on purpose", "{name} {path}");
            assert_eq!(
                (error.file(), error.line()),
                (Some(name), Some(line[is_js])),
                "{path}: {error}"
            );
        }
        let answer = ask("/cut");
        assert!(answer.is_cut, "{name}");
        let error = answer.error.expect("what the script raised");
        assert_eq!(error.message(), "on purpose", "{name}");
        // A client's fault, and what is there, are not errors.
        for path in ["/nowhere", "/teapot", "/hi/a", "/ip"] {
            let answer = ask(path);
            assert!(answer.error.is_none(), "{name} {path}: {:?}", answer.error);
        }
        scripts.stop();
    }
    let text = "local app = require 'sampan'
        app.on_error(function(req, err) return app.text('handled: ' .. err.message, { status = 500 }) end)
        app.get('/', function() error('oh') end)";
    let scripts = Scripts::text("app.lua", text).workers(1).log(|_, _| {});
    let scripts = scripts.load().expect("it loads");
    let answer = scripts.handle_blocking("GET", "/", &[], b"", None);
    let answer = answer.expect("an answer");
    assert_eq!((answer.status, &*answer.body), (500, &b"handled: oh"[..]));
    assert!(answer.error.is_none(), "{:?}", answer.error);
}

#[test]
fn a_script_that_runs_while_its_pool_ends_says_so() {
    for (name, builder) in both() {
        let log = Log::default();
        let builder = builder.set("limits.script_millis_max=60000");
        let scripts = builder.log(log.taker()).load().expect("it loads");
        let running = scripts.clone();
        let thread = std::thread::spawn(move || running.call_blocking("tells", [], None));
        wait::until("the run", || log.text().contains("begun"));
        scripts.stop();
        let error = thread.join().expect("a thread").expect_err("stopped");
        assert_eq!(error.kind(), ErrorKind::Stopped, "{name}: {error}");
        let told = log.text();
        assert!(!told.contains("script_millis_max"), "{name}: {told}");
    }
}

#[test]
fn calls_and_requests_see_nothing_of_one_another() {
    let text = "local app = require 'sampan'
        count = 0
        local own = 0
        local function add() count, own = count + 1, own + 1 return count + own end
        app.get('/', function() return tostring(add()) end)
        return { add = add, fails = function() error('oh') end }";
    let scripts = Scripts::text("app.lua", text).workers(1);
    let scripts = scripts.set("scripts.isolation=request").load();
    let scripts = scripts.expect("it loads");
    for _ in 0..3 {
        let added = call(&scripts, "add", &[]).expect("a value");
        assert!(matches!(added, Value::Int(2)) || added == Value::Float(2.0));
        let answer = scripts.handle_blocking("GET", "/", &[], b"", None);
        assert_eq!(answer.expect("an answer").body, b"2");
        let fault = call(&scripts, "fails", &[]).expect_err("it fails");
        assert_eq!(fault.message(), "oh");
    }
}

#[test]
fn a_full_queue_refuses_and_a_stopped_pool_says_so() {
    let scripts = Scripts::text("app.lua", LUA)
        .workers(1)
        .queue_max(2)
        .log(|_, _| {})
        .load()
        .expect("it loads");
    let sleepers: Vec<_> = (0..2)
        .map(|_| {
            let scripts = scripts.clone();
            std::thread::spawn(move || {
                loop {
                    // Refused while the call below has its place.
                    let slept = scripts.call_blocking("sleeps", [], None);
                    if !matches!(&slept, Err(error) if error.kind() == ErrorKind::Limit) {
                        return slept;
                    }
                }
            })
        })
        .collect();
    let full = |scripts: &Scripts| match call(scripts, "add", &[Value::Int(1), Value::Int(1)]) {
        Err(error) => error.kind() == ErrorKind::Limit,
        Ok(_) => false,
    };
    // More than once, as the call itself may have the place of a sleeper.
    until(|| (0..50).all(|_| full(&scripts)));
    scripts.stop();
    for sleeper in sleepers {
        let error = sleeper
            .join()
            .expect("a thread")
            .expect_err("it was stopped");
        assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
    }
    let error = call(&scripts, "add", &[]).expect_err("stopped");
    assert_eq!(error.kind(), ErrorKind::Stopped);
    scripts.stop();
}

#[test]
fn a_changed_file_is_loaded_anew_and_a_broken_one_is_not() {
    let lua = |value: &str| format!("function answer() return require('part') .. '{value}' end");
    let folder = project(&[("app.lua", &lua("1")), ("part.lua", "return 'a'")]);
    let log = Log::default();
    let scripts = Scripts::file(folder.path())
        .workers(2)
        .reload_every(Duration::ZERO)
        .log(log.taker())
        .load()
        .expect("it loads");
    let answer = |wanted: &str| {
        for _ in 0..4 {
            assert_eq!(
                call(&scripts, "answer", &[]).expect("an answer"),
                Value::from(wanted)
            );
        }
    };
    answer("a1");
    write(folder.path(), "app.lua", &lua("2 "));
    answer("a2 ");
    write(folder.path(), "part.lua", "return 'bb'");
    answer("bb2 ");
    write(folder.path(), "app.lua", "this is no Lua");
    answer("bb2 ");
    assert!(log.text().contains("app.lua:1"), "{}", log.text());
    let error = scripts.reload().expect_err("no Lua");
    assert_eq!(
        (error.kind(), error.file(), error.line()),
        (ErrorKind::Load, Some("app.lua"), Some(1))
    );
    answer("bb2 ");
    write(folder.path(), "app.lua", &lua("33"));
    scripts.reload().expect("it loads");
    answer("bb33");
    scripts.stop();
}

/// All isolates answer, as each is busy for a while.
fn answers_of_all(scripts: &Scripts) -> Vec<Value> {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let scripts = scripts.clone();
            std::thread::spawn(move || {
                let answer = |_| call(&scripts, "answer", &[]).expect("an answer");
                (0..25).map(answer).collect::<Vec<_>>()
            })
        })
        .collect();
    let threads = threads.into_iter();
    threads
        .flat_map(|thread| thread.join().expect("it ends"))
        .collect()
}

#[test]
fn isolates_agree_after_a_file_that_does_not_load() {
    let lua = |value: &str| {
        format!("function answer() for at = 1, 1e5 do tostring(at) end return '{value}' end")
    };
    let folder = project(&[("app.lua", &lua("1"))]);
    let log = Log::default();
    let scripts = Scripts::file(folder.path())
        .workers(3)
        .reload_every(Duration::ZERO)
        .log(log.taker())
        .load()
        .expect("it loads");
    let agree = |wanted: &str| {
        let others: Vec<_> = answers_of_all(&scripts)
            .into_iter()
            .filter(|it| *it != Value::from(wanted))
            .collect();
        assert!(others.is_empty(), "not {wanted}: {others:?}");
    };
    agree("1");
    for round in 2..5 {
        let good = round.to_string();
        write(folder.path(), "app.lua", &lua(&good));
        // One isolate loads it. The others find a broken file behind it.
        assert_eq!(
            call(&scripts, "answer", &[]).expect("an answer"),
            Value::from(good.as_str())
        );
        write(folder.path(), "app.lua", "this is no Lua");
        agree(&good);
        let told = log.text().matches("not reloaded").count();
        assert_eq!(told, round - 1, "told once each time: {}", log.text());
    }
    scripts.stop();
}

static STARTS: AtomicUsize = AtomicUsize::new(0);

static STARTER: Module = Module {
    name: "starter",
    doc: "Counts.",
    functions: &[Function {
        name: "count",
        params: &[],
        returns: Type::Int,
        doc: "How often it was called.",
        kind: FunctionKind::Sync(|_, _| {
            Ok(Value::Int(STARTS.fetch_add(1, Ordering::SeqCst) as i64))
        }),
    }],
    ..Module::EMPTY
};

#[test]
fn what_one_isolate_cannot_load_none_answers_with() {
    let lua = |value: &str, refused: &str| {
        format!(
            "if require('sampan').starter.count() == {refused} then error('not here') end
            function answer() for at = 1, 1e5 do tostring(at) end return '{value}' end"
        )
    };
    for (asks, refused) in [(true, "1"), (true, "0"), (false, "1"), (false, "0")] {
        let folder = project(&[("app.lua", &lua("1", "-1"))]);
        let builder = Scripts::file(folder.path()).workers(2).module(&STARTER);
        let builder = match asks {
            true => builder,
            false => builder.reload_every(Duration::ZERO),
        };
        let scripts = builder.log(|_, _| {}).load().expect("it loads");
        write(folder.path(), "app.lua", &lua("2", refused));
        STARTS.store(0, Ordering::SeqCst);
        if asks {
            let fault = scripts.reload().expect_err("one isolate fails");
            assert_eq!((fault.kind(), fault.line()), (ErrorKind::Load, Some(1)));
        } else {
            // Until the isolate has got work that cannot load it.
            until(|| {
                answers_of_all(&scripts);
                STARTS.load(Ordering::SeqCst) > usize::from(refused == "1")
            });
        }
        let all = answers_of_all(&scripts);
        assert!(all.iter().all(|it| *it == Value::from("1")), "{all:?}");
        write(folder.path(), "app.lua", &lua("3", "-1"));
        match asks {
            true => scripts.reload().expect("it loads"),
            // Who asks while an isolate loads it may still be answered by the other.
            false => assert_eq!(call(&scripts, "answer", &[]).expect("3"), Value::from("3")),
        }
        let all = answers_of_all(&scripts);
        assert!(all.iter().all(|it| *it == Value::from("3")), "{all:?}");
        scripts.stop();
    }
}

#[test]
fn what_is_no_file_is_said_to_be_none() {
    let lua = "function answer() return 1 end";
    let folder = project(&[("a.lua", lua), ("z.lua", lua)]);
    let path = folder.path().join("a.lua");
    let load = || {
        let scripts = Scripts::file(&path).workers(1);
        let scripts = scripts.reload_every(Duration::ZERO).log(|_, _| {});
        scripts.load()
    };
    let make = |program: &str, arguments: &[&str]| {
        std::fs::remove_file(&path).expect("removed");
        let mut command = std::process::Command::new(program);
        let made = command.args(arguments).arg(&path).status();
        assert!(made.expect("it runs").success());
    };
    let scripts = load().expect("it loads");
    let fails = |what: &str| {
        assert_eq!(
            call(&scripts, "answer", &[]).expect("the old one"),
            Value::Int(1)
        );
        let fault = scripts.reload().expect_err("no file").to_string();
        assert!(
            fault.contains(&format!("a.lua is not a regular file: it is {what}")),
            "{fault}"
        );
    };
    make("mkfifo", &[]);
    fails("a FIFO");
    let fault = load().expect_err("a FIFO").to_string();
    assert!(
        fault.contains("is not a regular file: it is a FIFO"),
        "{fault}"
    );
    make("ln", &["-s", "/dev/zero"]);
    fails("a device");
    let fault = load().expect_err("a device").to_string();
    assert!(
        fault.contains("is not a regular file: it is a device"),
        "{fault}"
    );
    make("mkdir", &[]);
    fails("a folder");
    scripts.stop();
}

#[test]
fn many_threads_share_the_isolates() {
    for (name, builder) in both() {
        let scripts = builder.load().expect("it loads");
        let done = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let (scripts, done) = (scripts.clone(), Arc::clone(&done));
                std::thread::spawn(move || {
                    for at in 0..200 {
                        let number = Value::Int(thread * 1_000 + at);
                        let list = scripts.call_blocking("echo", [number.clone()], None);
                        assert_eq!(list.expect("a list"), Value::List(vec![number]));
                        if at % 50 == 0 {
                            call(&scripts, "waits", &[]).expect("it waits");
                        }
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        threads
            .into_iter()
            .for_each(|thread| thread.join().expect("it ends"));
        assert_eq!(done.load(Ordering::Relaxed), 1_600, "{name}");
        scripts.stop();
    }
}

#[test]
fn a_script_that_does_not_load_says_where() {
    for (name, text, line) in [
        ("a.lua", "local x = 1\nx = = 2", 2),
        ("a.js", "const x = 1;\nconst x = = 2;", 2),
    ] {
        let error = Scripts::text(name, text)
            .workers(1)
            .log(|_, _| {})
            .load()
            .expect_err("no script");
        assert_eq!(
            (error.kind(), error.file(), error.line()),
            (ErrorKind::Load, Some(name), Some(line)),
            "{error}"
        );
    }
    assert!(Scripts::text("a.txt", "x").load().is_err());
    assert!(Scripts::file("/nowhere/at/all").load().is_err());
}

#[test]
fn a_module_with_fetch_answers() {
    let text = "export default { fetch: (request) => new Response('fetched ' + new URL(request.url).pathname) };";
    let scripts = Scripts::text("hono.js", text)
        .workers(1)
        .log(|_, _| {})
        .load()
        .expect("it loads");
    let answer = scripts.handle_blocking("GET", "/x", &[("Host", "h")], b"", None);
    assert_eq!(answer.expect("an answer").body, b"fetched /x");
    scripts.stop();
}
