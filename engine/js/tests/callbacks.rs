//! Functions that a script gives to a capability.

mod common;

use common::{App, get, load, load_files};
use sampan_host::{ErrorKind, Isolate, Value};
use sampan_rig::block_on;

fn app(handler: &str) -> App {
    load(&format!(
        "import {{ app, calls, objects, time }} from 'sampan';\napp.get('/', {handler});"
    ))
}

#[track_caller]
fn check(handler: &str, expected: &str) {
    let answer = app(handler).only(get("/"));
    let said = answer.map_or_else(|error| error.to_string(), |answer| answer.text());
    assert_eq!(said, expected, "{handler}");
}

#[track_caller]
fn check_error(handler: &str, part: &str) {
    let error = app(handler).only(get("/")).expect_err(handler);
    assert!(error.to_string().contains(part), "{handler}: {error}");
}

#[test]
fn a_function_is_called_with_values_and_gives_one() {
    check("() => calls.now((v) => `${v}!`, 'hi')", "hi!");
    check("() => calls.now((v) => [v.a, 2], { a: 1 })", "[1,2]");
    check("() => String(calls.now(() => {}))", "null");
    check("() => calls.later((v) => `${v}!`, 'hi')", "hi!");
    check(
        "() => calls.now((a) => calls.now((b) => b * 2, a + 1), 20)",
        "42",
    );
}

#[test]
fn what_is_no_function_is_refused() {
    check_error(
        "() => calls.now(1)",
        "calls.now: argument 1 (fn) must be a function, not a number",
    );
    check_error(
        "() => calls.now()",
        "calls.now: argument 1 (fn) must be a function, not undefined",
    );
    check_error("() => calls.now(true)", "must be a function, not a boolean");
}

#[test]
fn an_error_is_the_callers_and_keeps_its_line() {
    check_error(
        "() =>\n\n calls.now(() => {\n throw new Error('boom'); })",
        "app.js:5: boom",
    );
    check(
        "() => { try { calls.now(() => { throw new Error('boom'); }); } catch (e) { return e.message; } }",
        "boom",
    );
    check(
        "() => { try { calls.now(() => { throw 1; }); } catch {} return calls.now(() => 'still here'); }",
        "still here",
    );
    let error =
        app("() => calls.now(() => { throw Object.assign(new Error('taken'), { status: 409 }); })");
    let error = error.only(get("/")).expect_err("an error");
    assert_eq!(error.kind(), ErrorKind::Status(409), "{error}");
    check_error("() => calls.now(() => () => 1)", "cannot be passed here");
}

#[test]
fn a_function_that_is_called_back_cannot_wait() {
    check_error(
        "() => calls.now(async () => 1)",
        "calls.now: cannot wait here: its function returned a promise",
    );
    check_error("() => calls.now(() => time.sleep(0))", "cannot wait here");
    check(
        "async () => { try { calls.now(async () => 1); } catch {} await time.sleep(0.001); return 'waited'; }",
        "waited",
    );
}

#[test]
fn a_function_that_does_not_end_is_stopped_with_its_run() {
    let app = load_files(&[(
        "app.js",
        "import { app, calls } from 'sampan';
app.get('/', () => { try { calls.now(() => { for (;;); }); } catch {} return 'went on'; });
app.get('/next', () => calls.now(() => 'next'));",
    )])
    .expect("loads");
    let error = app.route("/", get("/")).expect_err("stopped");
    assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
    assert_eq!(
        app.route("/next", get("/")).expect("answers").text(),
        "next"
    );
}

#[test]
fn a_function_may_be_kept_and_called_in_another_request() {
    let app = load(
        "import { app, calls, time } from 'sampan';
app.get('/keep', () => { let n = 0; calls.keep((v) => n += v ?? 0); return 'kept'; });
app.get('/call', () => calls.kept(2));
app.get('/run', async () => { await calls.run(async (v) => { await time.sleep(0.001); calls.kept(v); }, 10); return \
 calls.kept(0); });
app.get('/fails', () => calls.run(async () => { await time.sleep(0.001); throw new Error('later'); }));",
    );
    app.route("/keep", get("/")).expect("kept");
    for expected in ["2", "4"] {
        assert_eq!(
            app.route("/call", get("/")).expect("answers").text(),
            expected
        );
    }
    assert_eq!(app.route("/run", get("/")).expect("answers").text(), "14");
    let error = app.route("/fails", get("/")).expect_err("fails");
    assert!(error.to_string().contains("later"), "{error}");
    // By the capability itself, while no script runs.
    let function = app.kept.0.borrow().clone().expect("kept");
    assert_eq!(function.call(&[Value::Int(1)]).ok(), Some(Value::Int(15)));
    let mut run = function.clone().start(vec![Value::Int(5)]);
    assert!(block_on(|cx| run.as_mut().poll(cx)).is_ok());
    assert_eq!(app.route("/call", get("/")).expect("answers").text(), "22");
    let kept = app.kept.clone();
    drop(app);
    kept.0.take();
    let error = function.call(&[]).expect_err("the isolate is gone");
    assert!(error.message().contains("has ended"), "{error}");
    let mut run = function.start(Vec::new());
    assert!(block_on(|cx| run.as_mut().poll(cx)).is_err());
}

#[test]
fn a_result_with_a_function_then_is_awaited() {
    let query =
        "{ then(resolve) { time.sleep(0.001).then(() => { done = 'done'; resolve(); }); } }";
    check(
        &format!(
            "async () => {{ let done = 'begun'; await calls.run(() => ({query})); return done; }}"
        ),
        "done",
    );
    for failing in [
        "{ then: (_, reject) => reject(new Error('on purpose')) }",
        "{ get then() { throw new Error('on purpose'); } }",
    ] {
        check_error(&format!("() => calls.run(() => ({failing}))"), "on purpose");
    }
}

#[test]
fn functions_that_nobody_keeps_leave_nothing_behind() {
    let app = app(
        "() => { for (let i = 0; i < 1000; i++) { calls.now((v) => v, i); calls.keep(() => i); } return 'ok'; }",
    );
    app.only(get("/")).expect("answers");
    app.isolate.collect_garbage();
    let before = app.isolate.memory_bytes();
    for _ in 0..5 {
        app.only(get("/")).expect("answers");
    }
    app.isolate.collect_garbage();
    let after = app.isolate.memory_bytes();
    assert!(after < before + 20_000, "{before} to {after} bytes");
}

#[test]
fn a_function_that_is_called_while_its_request_waits_has_the_objects_of_that() {
    check(
        "async () => { const mine = objects.ticket(); let made; mine.add(1); \
         await calls.later(() => { mine.add(2); made = objects.ticket(); }); return [mine.add(0), made.add(5)]; }",
        "[3,5]",
    );
    let app = app("async () => { await calls.later(() => { objects.ticket(); }); return 'kept'; }");
    app.only(get("/")).expect("answers");
    assert_eq!(app.live.0.get(), 0);
}
