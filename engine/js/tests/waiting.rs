//! Handlers that wait, work that outlives its answer, and streams.

mod common;

use common::{App, End, TestAnswer, get, load, load_files};
use sampan_host::{ErrorKind, Isolate};
use sampan_rig::wait;
use std::task::{Context, Poll, Waker};

fn app(handler: &str) -> App {
    load(&format!(
        "import {{ app, time, probe, stream, text }} from 'sampan'; app.get('/', {handler});"
    ))
}

#[test]
fn a_handler_may_wait() {
    for (handler, expected) in [
        (
            "async () => { await time.sleep(0.002); return 'slept'; }",
            "slept",
        ),
        ("() => time.sleep(0.001).then(() => 'then')", "then"),
        (
            "async () => { await Promise.all([1, 2, 3].map((n) => time.sleep(n / 1000))); return 'all'; }",
            "all",
        ),
        (
            "async () => { for (let i = 0; i < 5; i++) await time.sleep(0); return 'many'; }",
            "many",
        ),
        (
            "() => new Promise((resolve) => setTimeout(resolve, 2, 'timer'))",
            "timer",
        ),
        (
            "() => new Promise((resolve) => queueMicrotask(() => resolve('microtask')))",
            "microtask",
        ),
        (
            "async () => { try { await probe.fails(); } catch (e) { return `${e.status} ${e.message}`; } }",
            "418 short and stout",
        ),
        (
            "async () => await Promise.race([time.sleep(60), time.sleep(0.001).then(() => 'race')])",
            "race",
        ),
    ] {
        let app = app(handler);
        assert_eq!(app.text(get("/")), expected, "{handler}");
        assert!(
            app.reports.borrow().is_empty(),
            "{handler}: {:?}",
            app.reports.borrow()
        );
    }
}

#[test]
fn an_object_with_a_function_then_is_awaited() {
    for (handler, expected) in [
        (
            "() => ({ then(resolve) { resolve({ rows: [1] }); } })",
            r#"{"rows":[1]}"#,
        ),
        (
            "() => new class Query { then(resolve) { time.sleep(0.001).then(() => resolve('late')); } }()",
            "late",
        ),
        // It is asked for once, and the first call of its arguments counts.
        (
            "() => { let asked = 0; return { get then() { asked++; return (resolve) => resolve(String(asked)); } }; }",
            "1",
        ),
        (
            "() => ({ then(resolve) { resolve('first'); resolve('second'); throw new Error('late'); } })",
            "first",
        ),
        (
            "() => ({ then: (resolve) => resolve({ then: (inner) => inner('nested') }) })",
            "nested",
        ),
        (
            "() => Object.assign(() => {}, { then: (resolve) => resolve('a function') })",
            "a function",
        ),
        (
            "() => new Proxy({}, { get: (_, key) => key === 'then' ? (resolve) => resolve('a proxy') : undefined })",
            "a proxy",
        ),
        (
            "() => ({ then: (_, reject) => reject(text('an answer')) })",
            "an answer",
        ),
        ("() => ({ then: 1 })", r#"{"then":1}"#),
        (
            "() => [{ then: (resolve) => resolve(1), a: 1 }]",
            r#"[{"a":1}]"#,
        ),
    ] {
        for around in [
            "",
            "app.use((req, next) => next());",
            "app.use(async (req, next) => await next());",
        ] {
            let app = load(&format!(
                "import {{ app, time, text }} from 'sampan'; {around} app.get('/', {handler});"
            ));
            let answer = app.wrapped(get("/")).expect(handler);
            assert_eq!(answer.text(), expected, "{around} {handler}");
        }
    }
    let by_middleware = load(
        "import { app } from 'sampan'; app.use(() => ({ then: (resolve) => resolve('by middleware') })); \
         app.get('/', () => 'never');",
    );
    let answer = by_middleware.wrapped(get("/")).expect("an answer");
    assert_eq!(answer.text(), "by middleware");
}

#[test]
fn an_object_whose_then_fails_is_an_error() {
    for handler in [
        "() => ({ get then() { throw new Error('on purpose'); } })",
        "() => ({ then() { throw new Error('on purpose'); } })",
        "() => ({ then: (_, reject) => reject(new Error('on purpose')) })",
    ] {
        for around in ["", "app.use((req, next) => next());"] {
            let source =
                format!("import {{ app }} from 'sampan'; {around} app.get('/', {handler});");
            let app = load(&source);
            let error = app.wrapped(get("/")).expect_err(handler);
            assert_eq!(error.message(), "on purpose", "{around} {handler}");
            assert!(app.reports.borrow().is_empty(), "{around} {handler}");
        }
    }
}

#[test]
fn an_error_of_an_async_function_is_the_requests() {
    let error = app("async () => { await probe.fails(); }")
        .only(get("/"))
        .expect_err("an error");
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Status(418), "short and stout")
    );
    let error = app("async () => { await time.sleep(0.001); throw new TypeError('late'); }")
        .only(get("/"))
        .expect_err("an error");
    assert_eq!(error.to_string(), "app.js:1: TypeError: late");
}

#[test]
fn waiting_at_the_top_level_is_an_error_that_says_so() {
    for source in [
        "import { time } from 'sampan';\nawait time.sleep(1);",
        "await 0;\nawait new Promise(() => {});",
        "import { time } from 'sampan';\nexport const x = time.sleep(1);",
    ] {
        let error = load_files(&[("app.js", source)]).expect_err("an error");
        assert_eq!(error.kind(), ErrorKind::Load);
        assert!(error.message().contains("cannot wait here"), "{error}");
    }
    assert!(load_files(&[("app.js", "await 0; await Promise.resolve(1);")]).is_ok());
}

#[test]
fn timers_of_the_top_level_go_on_beside_the_requests() {
    let app = load(
        "import { app } from 'sampan'; let n = 0; const timer = setInterval(() => { if (++n == 3) \
         clearInterval(timer); }, 1);
        app.get('/', () => n);",
    );
    wait::until("three rings", || {
        app.poll_background();
        app.text(get("/")) == "3"
    });
    assert_eq!(app.sleeps.0.get(), 0);
}

#[test]
fn work_goes_on_after_the_answer() {
    let app = app(
        "(req) => { if (req.query.n) return globalThis.n ?? 0; setTimeout(() => { globalThis.n = 1; }, 1); return \
         'sent'; }",
    );
    assert_eq!(app.text(get("/")), "sent");
    assert_eq!(app.text(get("/?n=1")), "0");
    while !app.background.borrow().is_empty() {
        app.poll_background();
    }
    assert_eq!(app.text(get("/?n=1")), "1");
}

#[test]
fn dropping_a_request_drops_what_it_waits_for() {
    let app = app(
        "async (req) => { if (req.query.n) return globalThis.n ?? 0; await time.sleep(0.3);
         if (req.query.later) return 'later'; globalThis.n = 1; }",
    );
    let End::Waits(mut rest, mut answer) = app.start(app.call(get("/"), Some(0), &[])) else {
        panic!("it waits")
    };
    assert!(
        rest.poll(&mut Context::from_waker(Waker::noop()), &mut answer)
            .is_pending()
    );
    assert_eq!(app.sleeps.0.get(), 1);
    drop(rest);
    assert_eq!(app.sleeps.0.get(), 0);
    // One that came later and waits as long has ended.
    assert_eq!(app.text(get("/?later=1")), "later");
    app.poll_background();
    assert_eq!(app.text(get("/?n=1")), "0");
}

#[test]
fn dropping_requests_leaks_nothing() {
    let app = app(
        "async (req) => { const big = new Array(100).fill(req); setTimeout(() => big, 1e6); const s = new \
         AbortController();
          await Promise.race([time.sleep(60), new Promise((r) => s.signal.addEventListener('abort', r))]); return \
           big.length; }",
    );
    let drop_some = |count: usize| {
        for _ in 0..count {
            let End::Waits(mut rest, mut answer) = app.start(app.call(get("/"), Some(0), &[]))
            else {
                panic!("it waits")
            };
            assert!(
                rest.poll(&mut Context::from_waker(Waker::noop()), &mut answer)
                    .is_pending()
            );
        }
        app.isolate.collect_garbage();
        app.isolate.memory_bytes()
    };
    let before = drop_some(100);
    let after = drop_some(10_000);
    // One object left behind by each would be half a megabyte.
    assert!(after < before + 200_000, "{before} then {after}");
    assert_eq!(app.sleeps.0.get(), 0);
}

#[test]
fn a_promise_that_nobody_settles_waits_for_ever_without_harm() {
    let app = app("(req) => req.query.ok ? 'ok' : new Promise(() => {})");
    let End::Waits(mut rest, mut answer) = app.start(app.call(get("/"), Some(0), &[])) else {
        panic!("it waits")
    };
    for _ in 0..3 {
        assert!(
            rest.poll(&mut Context::from_waker(Waker::noop()), &mut answer)
                .is_pending()
        );
    }
    assert_eq!(app.text(get("/?ok=1")), "ok");
    drop(rest);
}

#[test]
fn one_request_may_settle_what_another_waits_for() {
    let app = app(
        "(req) => req.query.go ? (globalThis.go('went'), 'sent') : new Promise((resolve) => { globalThis.go = \
         resolve; })",
    );
    let End::Waits(mut rest, mut answer) = app.start(app.call(get("/"), Some(0), &[])) else {
        panic!("it waits")
    };
    let woken = std::sync::Arc::new(Flag::default());
    let waker = Waker::from(woken.clone());
    assert!(
        rest.poll(&mut Context::from_waker(&waker), &mut answer)
            .is_pending()
    );
    assert!(!woken.0.load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!(app.text(get("/?go=1")), "sent");
    assert!(woken.0.load(std::sync::atomic::Ordering::Relaxed));
    assert!(matches!(
        rest.poll(&mut Context::from_waker(&waker), &mut answer),
        Poll::Ready(Ok(()))
    ));
    assert_eq!(answer.text(), "went");
}

#[derive(Default)]
struct Flag(std::sync::atomic::AtomicBool);

impl std::task::Wake for Flag {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn unhandled_rejections_are_reported_and_handled_ones_are_not() {
    let app = app(
        "async () => { Promise.reject(new Error('lost')); const p = Promise.reject(1); p.catch(() => {}); return \
         'fine'; }",
    );
    assert_eq!(app.text(get("/")), "fine");
    let reports: Vec<String> = app
        .reports
        .borrow()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(reports, ["app.js:1: unhandled rejection: lost"]);
}

fn read(handler: &str) -> (TestAnswer, String) {
    let app = app(handler);
    let mut answer = app.only(get("/")).expect("an answer");
    let body = app.read(&mut answer).expect("a body");
    (answer, String::from_utf8(body).expect("text"))
}

#[test]
fn bodies_are_streamed() {
    for (handler, expected) in [
        ("() => stream(async (write) => { for (const part of ['a', 'b', new Uint8Array([99])]) { await write(part); \
         await time.sleep(0.001); } })", "abc"),
        ("() => new Response(new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode('web')); c.close(); } \
         }))", "web"),
        ("() => { let n = 0; return new Response(new ReadableStream({ async pull(c) { await time.sleep(0.001); if \
         (n++ == 3) c.close(); else c.enqueue(new TextEncoder().encode(String(n))); } })); }", "123"),
        ("() => { const { readable, writable } = new TransformStream(); const w = writable.getWriter(); const e = new \
         TextEncoder();
            (async () => { await w.write(e.encode('x')); await time.sleep(0.001); await w.write(e.encode('y')); await \
             w.close(); })(); return new Response(readable); }", "xy"),
    ] {
        assert_eq!(read(handler).1, expected, "{handler}");
    }
    let (answer, body) = read(
        "() => stream((write) => { write('é'); }, { status: 206, headers: { 'content-type': 'text/plain' } })",
    );
    assert_eq!(
        (answer.code(), answer.header("content-type"), body.as_str()),
        (206, Some("text/plain"), "é")
    );
}

#[test]
fn a_stream_that_fails_ends_with_an_error() {
    let app =
        app("() => stream(async (write) => { await write('a'); throw new Error('broken'); })");
    let mut answer = app.only(get("/")).expect("an answer");
    let error = app.read(&mut answer).expect_err("an error");
    assert_eq!(error.message(), "broken");
}

#[test]
fn a_stream_waits_for_its_reader_and_learns_that_he_is_gone() {
    let app = app(
        "(req) => { if (req.query.n) return [globalThis.n, globalThis.ended ?? null];
          return stream(async (write) => { globalThis.n = 0; try { for (;;) { globalThis.n++; await write('x'); } } \
           catch (e) { globalThis.ended = e.message; } }); }",
    );
    let mut answer = app.only(get("/")).expect("an answer");
    let mut stream = answer.stream.take().expect("a stream");
    for _ in 0..10 {
        assert!(
            stream
                .poll_chunk(&mut Context::from_waker(Waker::noop()))
                .is_ready()
        );
    }
    let written: Vec<serde_free::Item> = serde_free::list(&app.text(get("/?n=1")));
    assert!(
        written[0].parse::<u32>().expect("a number") <= 13,
        "{written:?}"
    );
    drop(stream);
    assert!(
        app.text(get("/?n=1")).contains("the client has gone away"),
        "{}",
        app.text(get("/?n=1"))
    );
    assert!(app.background.borrow().is_empty());
}

#[test]
fn a_signal_is_aborted_when_the_reader_of_a_stream_goes() {
    let app = app(
        "(req) => { if (req.query.n) return globalThis.aborted ?? 'no'; req.signal.addEventListener('abort', () => { \
         globalThis.aborted = 'yes'; });
          return stream((write) => write('x')); }",
    );
    let answer = app.only(get("/")).expect("an answer");
    assert_eq!(app.text(get("/?n=1")), "no");
    drop(answer);
    assert_eq!(app.text(get("/?n=1")), "yes");
}

#[test]
fn a_stream_of_nothing_leaves_others_their_turn() {
    let app = app(
        "() => new Response(new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(0)); } }))",
    );
    let mut answer = app.only(get("/")).expect("an answer");
    let mut stream = answer.stream.take().expect("a stream");
    assert!(
        stream
            .poll_chunk(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
}

#[test]
fn an_isolate_may_be_given_up_before_what_runs_in_it() {
    let app = app(
        "(req) => req.query.stream ? stream(async (write) => { await time.sleep(60); }) : time.sleep(60)",
    );
    let End::Waits(rest, _) = app.start(app.call(get("/"), Some(0), &[])) else {
        panic!("it waits")
    };
    let answer = app.only(get("/?stream=1")).expect("an answer");
    let sleeps = app.sleeps.clone();
    drop(app);
    drop(rest);
    drop(answer);
    assert_eq!(sleeps.0.get(), 0);
    let app = load("setInterval(() => {}, 1); setTimeout(() => {}, 1e6);");
    let (background, sleeps) = (app.background.take(), app.sleeps.clone());
    assert_eq!(sleeps.0.get(), 2);
    drop(app);
    assert_eq!(sleeps.0.get(), 0);
    for mut future in background {
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_ready()
        );
    }
}

/// Just enough to look into a flat JSON array.
mod serde_free {
    pub(crate) type Item = String;
    pub(crate) fn list(text: &str) -> Vec<Item> {
        text.trim_matches(['[', ']'])
            .split(',')
            .map(str::to_owned)
            .collect()
    }
}

#[test]
fn an_error_that_comes_later_names_who_called() {
    let error = app("async () => {\n  await probe.fails();\n}")
        .only(get("/"))
        .expect_err("it fails");
    assert_eq!(error.place().map(|place| place.line), Some(2), "{error}");
}

#[test]
fn a_promise_inside_of_an_answer_is_a_forgotten_await() {
    for (answer, name) in [
        ("{ user: time.sleep(0) }", "user"),
        ("[1, Promise.resolve(2)]", "1"),
        ("{ deep: { list: [{ last: time.sleep(0) }] } }", "last"),
    ] {
        let error = app(&format!("() => ({answer})"))
            .only(get("/"))
            .expect_err(answer);
        let expected = format!("'{name}': a promise has no place in JSON; is an await missing?");
        assert_eq!(error.message(), expected);
    }
    assert_eq!(
        app("() => JSON.stringify({ p: Promise.resolve(1) })").text(get("/")),
        r#"{"p":{}}"#
    );
}
