//! Brackets: a plain function of a script runs to its end between `enter` and `leave`, and no microtask runs in
//! between.

mod common;

use common::{App, End, get, load};
use sampan_host::{ErrorKind, Isolate};
use std::task::{Context, Poll, Waker};

fn app(handler: &str) -> App {
    load(&format!(
        "import {{ app, time, probe }} from 'sampan'; app.get('/', {handler});"
    ))
}

/// Returns the answer of the only route of the app answers, or its error; and what the bracket noted.
fn outcome(app: &App) -> (String, Vec<String>) {
    let result = app.only(get("/")).map(|answer| answer.text());
    let result = result.map_err(|error| error.message().to_owned());
    (format!("{result:?}"), app.notes.0.borrow().clone())
}

#[test]
fn brackets_are_left_whatever_happens() {
    let cases = [
        (
            "() => probe.within('a', (name) => 'in ' + name)",
            "Ok(\"in a\")",
            vec!["enter a", "leave Text(\"a\") true"],
        ),
        (
            "() => probe.within('a', () => { throw new Error('oh'); })",
            "Err(\"oh\")",
            vec!["enter a", "leave Text(\"a\") false"],
        ),
        (
            "() => { try { probe.within('a', () => { throw Promise.resolve(1); }); } catch (error) { return \
             String(error instanceof Promise); } }",
            "Ok(\"true\")",
            vec!["enter a", "leave Text(\"a\") false"],
        ),
        (
            "() => probe.within('a', () => probe.within('b', () => 'in') + 'side')",
            "Ok(\"inside\")",
            vec![
                "enter a",
                "enter b",
                "leave Text(\"b\") true",
                "leave Text(\"a\") true",
            ],
        ),
        (
            "() => probe.within('a', () => { try { probe.within('b', () => { throw new Error('x'); }); } catch (e) { \
             return e.message; } })",
            "Ok(\"x\")",
            vec![
                "enter a",
                "enter b",
                "leave Text(\"b\") false",
                "leave Text(\"a\") true",
            ],
        ),
        (
            "() => probe.within('a', () => { try { probe.within('b', async () => {}); } catch { return 'refused'; } })",
            "Ok(\"refused\")",
            vec!["enter a", "leave Text(\"a\") true"],
        ),
        (
            "() => probe.within('a', () => { try { probe.within('b', () => Promise.resolve()); } catch { return \
             'undone'; } })",
            "Ok(\"undone\")",
            vec![
                "enter a",
                "enter b",
                "leave Text(\"b\") false",
                "leave Text(\"a\") true",
            ],
        ),
        (
            "async () => { await 0; return Promise.resolve().then(() => probe.within('a', () => 'in a job')); }",
            "Ok(\"in a job\")",
            vec!["enter a", "leave Text(\"a\") true"],
        ),
        (
            "async () => { await time.sleep(0.001); return probe.within('a', () => 'after a wait'); }",
            "Ok(\"after a wait\")",
            vec!["enter a", "leave Text(\"a\") true"],
        ),
    ];
    for (handler, expected, notes) in cases {
        let app = app(handler);
        assert_eq!(
            outcome(&app),
            (
                expected.to_owned(),
                notes.into_iter().map(str::to_owned).collect()
            ),
            "{handler}"
        );
    }
}

#[test]
fn functions_that_wait_are_refused_before_anything_has_run() {
    let cases = [
        ("async () => { ran(); }", "an async function"),
        ("async function () { ran(); }", "an async function"),
        ("({ async f() { ran(); } }).f", "an async function"),
        ("function* () { ran(); }", "a generator function"),
        ("({ *f() { ran(); } }).f", "a generator function"),
        (
            "async function* () { ran(); }",
            "an async generator function",
        ),
        // The kind is what the function is, not what it says of itself.
        (
            "Object.setPrototypeOf(async () => { ran(); }, Function.prototype)",
            "an async function",
        ),
        (
            "Object.defineProperty(async () => { ran(); }, Symbol.toStringTag, { value: 'Function' })",
            "an async function",
        ),
    ];
    for (function, kind) in cases {
        let app = app(&format!(
            "() => {{ const ran = () => console.log('ran'); probe.within('a', {function}); }}"
        ));
        let text = format!(
            "probe.within takes a plain function, not {kind}: await what you need before probe.within"
        );
        assert_eq!(outcome(&app), (format!("Err({text:?})"), vec![]));
    }
    // Nor is a plain function refused because of what it says.
    let app = app(
        "() => probe.within('a', Object.setPrototypeOf(() => 'plain', (async () => {}).constructor.prototype))",
    );
    assert_eq!(app.text(get("/")), "plain");
}

#[test]
fn a_bracket_fails_if_its_function_returns_before_its_work_is_done() {
    let cases = [
        ("() => Promise.resolve(1)", "a promise"),
        ("() => Promise.reject(new Error('x'))", "a promise"),
        ("() => new Promise(() => {})", "a promise"),
        ("() => time.sleep(0.001)", "a promise"),
        (
            "() => (async () => { throw new Error('x'); })()",
            "a promise",
        ),
        (
            "() => new (class extends Promise {})(() => {})",
            "a promise",
        ),
        (
            "(async () => { throw new Error('x'); }).bind(null)",
            "a promise",
        ),
        ("new Proxy(async () => { await 0; }, {})", "a promise"),
        ("() => ({ then() {} })", "a thenable"),
        ("() => ({ get then() { return () => {}; } })", "a thenable"),
        ("() => Object.assign(() => {}, { then() {} })", "a thenable"),
        ("() => new Proxy({}, { get: () => () => {} })", "a thenable"),
        (
            "(function* () {}).bind(null)",
            "a generator, which has not run",
        ),
        (
            "new Proxy(async function* () {}, {})",
            "a generator, which has not run",
        ),
    ];
    for (function, what) in cases {
        let app = app(&format!(
            "(req) => req.query.ok ? 'ok' : probe.within('a', {function})"
        ));
        let text = format!(
            "probe.within: the function returned {what}, so probe.within failed: await what you need before \
             probe.within, and return a plain value"
        );
        let notes = ["enter a", "leave Text(\"a\") false"].map(str::to_owned);
        assert_eq!(
            outcome(&app),
            (format!("Err({text:?})"), notes.to_vec()),
            "{function}"
        );
        assert_eq!(app.text(get("/?ok=1")), "ok");
        assert!(app.reports.borrow().is_empty(), "{function}");
    }
    let app = app("() => probe.within('a', () => ({ get then() { throw new Error('then'); } }))");
    let notes = ["enter a", "leave Text(\"a\") false"].map(str::to_owned);
    assert_eq!(outcome(&app), ("Err(\"then\")".to_owned(), notes.to_vec()));
    let app = self::app("() => probe.within('a', () => ({ then: 'now' }))");
    assert_eq!(app.text(get("/")), r#"{"then":"now"}"#);
}

#[test]
fn a_promise_that_is_rejected_after_its_bracket_is_reported_as_any_other() {
    let app = app(
        "async () => { try { probe.within('a', () => (async () => { await 0; throw new Error('later'); })()); } catch \
         {} return 'fine'; }",
    );
    assert_eq!(app.text(get("/")), "fine");
    let reports = app.reports.borrow();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].message(), "unhandled rejection: later");
}

#[test]
fn no_microtask_runs_in_a_bracket() {
    let app = app("async () => {
           const seen = [], see = (name) => () => { seen.push(name); };
           let settle; const gate = new Promise((done) => { settle = done; }).then(see('gate'));
           queueMicrotask(see('earlier'));
           probe.within('a', () => {
             settle();
             queueMicrotask(see('own'));
             (async () => { await null; see('async')(); })();
             probe.within('b', () => { Promise.resolve().then(see('inner')); see('b')(); });
             see('a')();
           });
           see('after')();
           await gate; await null; await null;
           return seen; }");
    assert_eq!(
        app.text(get("/")),
        r#"["b","a","after","earlier","gate","own","async","inner"]"#
    );
}

#[test]
fn a_request_that_waits_goes_on_after_the_bracket_that_settled_its_promise() {
    for (body, left) in [
        ("() => { open(); }", "leave Text(\"a\") true"),
        (
            "() => { open(); throw new Error('no'); }",
            "leave Text(\"a\") false",
        ),
        (
            "() => { probe.within('b', () => { throw new Error('no'); }); }",
            "leave Text(\"a\") false",
        ),
    ] {
        let app = load(&format!(
            "import {{ app, probe }} from 'sampan';
             let open; const gate = new Promise((done) => {{ open = done; }});
             app.get('/', async (req) => {{
               if (req.query.wait) {{ await gate; probe.within('other', () => 0); return 'waited'; }}
               try {{ probe.within('a', {body}); }} catch {{}}
               open();
               return 'done';
             }});"
        ));
        let End::Waits(mut rest, mut answer) = app.start(app.call(get("/?wait=1"), Some(0), &[]))
        else {
            panic!("it waits")
        };
        assert_eq!(app.text(get("/")), "done", "{body}");
        let polled = rest.poll(&mut Context::from_waker(Waker::noop()), &mut answer);
        assert!(matches!(polled, Poll::Ready(Ok(()))), "{body}");
        assert_eq!(answer.text(), "waited");
        let notes = app.notes.0.borrow();
        let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
        let end = [left, "enter other", "leave Text(\"other\") true"];
        assert_eq!(notes[notes.len() - 3..], end, "{body}");
    }
}

#[test]
fn a_stop_inside_a_bracket_leaves_it() {
    for body in [
        "() => { for (;;); }",
        "() => { try { for (;;); } finally { for (;;); } }",
        "() => ({ get then() { for (;;); } })",
        "() => probe.within('a', () => { for (;;); })",
    ] {
        let app = app(&format!(
            "(req) => {{ if (req.query.n) return 'ok'; return probe.within('a', {body}); }}"
        ));
        let error = app.only(get("/")).expect_err("stopped");
        assert_eq!(error.kind(), ErrorKind::Stopped, "{body}: {error}");
        let notes = app.notes.0.borrow().clone();
        let (entered, left): (Vec<_>, Vec<_>) =
            notes.iter().partition(|note| note.starts_with("enter"));
        assert_eq!(entered.len(), left.len(), "{body}: {notes:?}");
        assert!(left.iter().all(|note| note.ends_with("false")), "{notes:?}");
        assert_eq!(app.text(get("/?n=1")), "ok");
    }
}

#[test]
fn a_bracket_that_cannot_be_left_has_failed() {
    let app = app(
        "() => { try { probe.within('stuck', () => 'kept'); } catch (error) { return error.message; } }",
    );
    assert_eq!(app.text(get("/")), "probe.within: stuck");
}

#[test]
fn brackets_that_fail_leave_nothing_in_memory() {
    let app = app("() => {
           const large = new Uint8Array(100_000);
           try { probe.within('a', () => new Promise(() => large)); } catch {}
           try { probe.within('a', () => { large.fill(1); throw new Error('x'); }); } catch {}
           try { probe.within('a', () => ({ then() { return large; } })); } catch {}
           return 'ok'; }");
    for _ in 0..20 {
        assert_eq!(app.text(get("/")), "ok");
    }
    app.isolate.collect_garbage();
    let before = app.isolate.memory_bytes();
    for _ in 0..200 {
        assert_eq!(app.text(get("/")), "ok");
    }
    app.isolate.collect_garbage();
    let after = app.isolate.memory_bytes();
    assert!(after < before + 1_000_000, "{before} bytes, then {after}");
}
