//! Brackets: functions of a script between `enter` and `leave`, of whom nothing of others runs inside, and nothing goes on that failed.

mod common;

use common::{App, End, get, load};
use sampan_host::{ErrorKind, Isolate};
use std::task::{Context, Poll, Waker};

fn app(handler: &str) -> App {
    load(&format!(
        "import {{ app, time, probe, stream }} from 'sampan'; app.get('/', {handler});"
    ))
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
            "() => probe.within('b', () => { throw new Error('oh'); })",
            "Err(\"oh\")",
            vec!["enter b", "leave Text(\"b\") false"],
        ),
        (
            "() => probe.within('c', async () => { await 0; await Promise.resolve(1); return 'soon'; })",
            "Ok(\"soon\")",
            vec!["enter c", "leave Text(\"c\") true"],
        ),
        (
            "async () => { await 0; return await probe.within('d', async () => { await 0; throw new Error('soon oh'); }); }",
            "Err(\"soon oh\")",
            vec!["enter d", "leave Text(\"d\") false"],
        ),
        (
            "() => probe.within('e', async () => { await time.sleep(0.001); console.log('never'); })",
            "Err(\"probe.within: the function waits for something that probe does not do at once (a timer, an Async function, another request)\")",
            vec!["enter e", "leave Text(\"e\") false"],
        ),
        (
            "async () => { try { await probe.within('f', () => new Promise(() => {})); } catch (e) { return e.message; } }",
            "Ok(\"probe.within: the function waits for something that probe does not do at once (a timer, an Async function, another request)\")",
            vec!["enter f", "leave Text(\"f\") false"],
        ),
        (
            "async () => { const a = await probe.within('g', async () => { await 0; const b = await probe.within('h', async () => { await 0; return 'in'; }); return b + 'side'; }); await time.sleep(0.001); return a; }",
            "Ok(\"inside\")",
            vec![
                "enter g",
                "enter h",
                "leave Text(\"h\") true",
                "leave Text(\"g\") true",
            ],
        ),
        (
            "async () => { try { await probe.within('i', async () => { await probe.within('j', async () => { await 0; throw new Error('x'); }); }); } catch (e) { return e.message; } }",
            "Ok(\"x\")",
            vec![
                "enter i",
                "enter j",
                "leave Text(\"j\") false",
                "leave Text(\"i\") false",
            ],
        ),
    ];
    for (handler, expected, notes) in cases {
        let app = app(handler);
        let result = app
            .only(get("/"))
            .map(|a| a.text())
            .map_err(|e| e.message().to_owned());
        assert_eq!(format!("{result:?}"), expected, "{handler}");
        assert_eq!(*app.notes.0.borrow(), notes, "{handler}");
    }
}

/// A handler that waits for another request to open or close the gate, beside one that calls a bracket with `body`.
fn beside_a_waiter(body: &str) -> (App, End) {
    let app = load(&format!(
        "import {{ app, probe }} from 'sampan';
         let open, close; const gate = new Promise((a, b) => {{ open = a; close = b; }});
         app.get('/', async (req) => {{
           if (req.query.wait) {{ try {{ await gate; }} catch {{}} console.info('other'); await 0; return 'waited'; }}
           await probe.within('a', {body});
           return 'done';
         }});"
    ));
    let waiting = app.start(app.call(get("/?wait=1"), Some(0), &[]));
    (app, waiting)
}

#[test]
fn nothing_of_another_request_runs_inside_of_a_bracket() {
    let failed = vec!["enter a", "leave Text(\"a\") false", "other"];
    let succeeded = vec!["enter a", "leave Text(\"a\") true", "other"];
    let done = "Ok(\"done\")";
    let cases = [
        ("async () => { open(); await 0; }", done, succeeded.clone()),
        (
            "async () => { await 0; open(); await 0; }",
            done,
            succeeded.clone(),
        ),
        (
            "async () => { await 0; close(); for (let i = 0; i < 9; i++) await 0; }",
            done,
            succeeded.clone(),
        ),
        (
            "async () => { await 0; open(Promise.resolve(1)); await 0; await 0; }",
            done,
            succeeded.clone(),
        ),
        (
            "async () => { await 0; open(); for (let i = 0; i < 9; i++) await 0; throw new Error('no'); }",
            "Err(\"no\")",
            failed.clone(),
        ),
        (
            "async () => { await probe.within('b', async () => { await 0; open(); }); await 0; }",
            done,
            vec![
                "enter a",
                "enter b",
                "leave Text(\"b\") true",
                "leave Text(\"a\") true",
                "other",
            ],
        ),
        ("async () => { await 0; open(); }", done, succeeded.clone()),
        ("() => { open(); return 1; }", done, succeeded),
        (
            "() => { open(); throw new Error('no'); }",
            "Err(\"no\")",
            failed,
        ),
        (
            "async () => { let done; const own = new Promise((r) => { done = r; }); (async () => { await 0; done(); })(); await own; }",
            "Ok(\"done\")",
            vec!["enter a", "leave Text(\"a\") true"],
        ),
        (
            "async () => { let done; await probe.within('b', async () => { done = new Promise(() => {}); await 0; }); await 0; }",
            "Ok(\"done\")",
            vec![
                "enter a",
                "enter b",
                "leave Text(\"b\") true",
                "leave Text(\"a\") true",
            ],
        ),
    ];
    for (body, expected, notes) in cases {
        let (app, waiting) = beside_a_waiter(body);
        let result = app.only(get("/")).map(|a| a.text());
        let result = result.map_err(|e| e.message().to_owned());
        assert_eq!(format!("{result:?}"), expected, "{body}");
        assert_eq!(*app.notes.0.borrow(), notes, "{body}");
        drop(waiting);
    }
}

#[test]
fn who_may_have_run_in_a_bracket_that_failed_is_not_answered() {
    let cases = [
        (
            "async () => { await 0; close(); for (let i = 0; i < 9; i++) await 0; throw new Error('no'); }",
            false,
        ),
        (
            "async () => { close(); await 0; throw new Error('no'); }",
            false,
        ),
        ("async () => { await 0; open(); await 0; }", true),
        ("() => { open(); throw new Error('no'); }", false),
        ("async () => { await 0; throw new Error('no'); }", true),
        ("async () => { await 0; open(); }", true),
        ("() => { open(); return 1; }", true),
    ];
    for (body, is_answered) in cases {
        let (app, waiting) = beside_a_waiter(body);
        let _ = app.only(get("/"));
        let End::Waits(mut rest, mut answer) = waiting else {
            panic!("it waits")
        };
        let polled = rest.poll(&mut Context::from_waker(Waker::noop()), &mut answer);
        match polled {
            Poll::Ready(Err(error)) => {
                assert!(
                    error.message().contains("may have been taken back"),
                    "{error}"
                );
                assert!(!is_answered, "{body}");
            }
            Poll::Ready(Ok(())) => assert!(is_answered, "{body}"),
            Poll::Pending => assert!(is_answered && !body.contains("open"), "{body}"),
        }
    }
}

#[test]
fn work_that_was_there_before_waits_until_the_bracket_is_over() {
    let app = app("async () => {
           const seen = [];
           queueMicrotask(() => seen.push('earlier'));
           await probe.within('a', async () => { await 0; await 0; seen.push('inside'); });
           seen.push('after');
           return seen; }");
    assert_eq!(app.text(get("/")), r#"["inside","earlier","after"]"#);
    let two = "let gate, open;
        app.get('/', async (req) => {
          if (req.query.open) { open(); gate = null; return 'opened'; }
          gate ??= new Promise((r) => { open = r; });
          await gate;
          return await probe.within(req.query.n, async () => { await 0; await 0; return req.query.n; });
        });";
    let app = load(&format!("import {{ app, probe }} from 'sampan'; {two}"));
    let waiting = ["/?n=1", "/?n=2"].map(|path| app.start(app.call(get(path), Some(0), &[])));
    assert_eq!(app.text(get("/?open=1")), "opened");
    for (waiting, expected) in waiting.into_iter().zip(["1", "2"]) {
        let End::Waits(mut rest, mut answer) = waiting else {
            panic!("it waits")
        };
        let polled = rest.poll(&mut Context::from_waker(Waker::noop()), &mut answer);
        assert!(matches!(polled, Poll::Ready(Ok(()))), "{expected}");
        assert_eq!(answer.text(), expected);
    }
    assert_eq!(
        *app.notes.0.borrow(),
        [
            "enter 1",
            "leave Text(\"1\") true",
            "enter 2",
            "leave Text(\"2\") true"
        ]
    );
}

#[test]
fn what_began_in_a_bracket_that_failed_cannot_use_its_module_any_more() {
    for body in [
        // Beside the one that fails; on what is there already; on what comes later, awaited, chained or in a function of its own.
        "async () => { await Promise.all([(async () => { await 0; throw new Error('x'); })(), (async () => { for (let i = 0; i < 9; i++) await 0; late(); })()]); }",
        "() => { (async () => { await 0; late(); })(); throw new Error('x'); }",
        "() => { Promise.resolve().then(late); queueMicrotask(late); throw new Error('x'); }",
        "async () => { await gate; late(); }",
        "async () => { try { await gate; } finally { late(); } }",
        "async () => { await (async () => { await gate; late(); })(); }",
        "() => gate.then(late)",
        "() => gate.then(() => 0).then(late)",
        "async () => { await Promise.race([gate, new Promise(() => {})]); late(); }",
    ] {
        let app = app(&format!(
            "async (req) => {{
               if (req.query.n) return (globalThis.ran ?? 'nothing') + globalThis.came;
               const late = () => {{ globalThis.came = 'yes'; probe.within('late', () => {{ globalThis.ran = 'late'; }}); }};
               let open; const gate = new Promise((r) => {{ open = r; }});
               try {{ await probe.within('a', {body}); return 'succeeded'; }} catch {{}}
               open(); await gate;
               for (let i = 0; i < 20; i++) await 0;
               return 'failed'; }}"
        ));
        assert_eq!(app.text(get("/")), "failed", "{body}");
        assert_eq!(app.text(get("/?n=1")), "nothingyes", "{body}");
    }
    // What goes on beside one that succeeds is a part of it.
    let app = app("async () => { let ran = 0;
          await probe.within('a', async () => { (async () => { await 0; await 0; ran++; })(); });
          return ran; }");
    assert_eq!(app.text(get("/")), "1");
    // Nor does a timer, whatever else is cleared.
    let app = self::app(
        "async (req) => { if (req.query.n) return globalThis.ran ?? 'nothing';
          const old = setTimeout(() => {}, 1000);
          try { probe.within('a', () => { clearTimeout(old); setTimeout(() => { probe.within('late', () => { globalThis.ran = 'late'; }); }, 1); throw new Error('x'); }); } catch {}
          await time.sleep(0.003); return 'done'; }",
    );
    assert_eq!(app.text(get("/")), "done");
    assert_eq!(app.text(get("/?n=1")), "nothing");
}

#[test]
fn who_left_a_callback_to_a_bracket_that_failed_is_not_answered() {
    for handler in [
        "async () => { await new Promise((r) => hooks.push(() => { r(); })); return 'kept'; }",
        // Beside something else that it waits for.
        "async () => { const t = time.sleep(1000); await new Promise((r) => hooks.push(() => { r(); })); return 'kept'; }",
        "async () => { await Promise.race([time.sleep(1000), new Promise((r) => hooks.push(() => { r(); }))]); return 'kept'; }",
    ] {
        let app = load(&format!(
            "import {{ app, probe, time }} from 'sampan';
             const hooks = [];
             app.get('/', (req) => {{
               if (req.query.wait) return ({handler})();
               try {{ probe.within('a', () => {{ hooks.forEach((hook) => hook()); throw new Error('x'); }}); }} catch {{}}
               return 'caught'; }});"
        ));
        let End::Waits(mut rest, mut answer) = app.start(app.call(get("/?wait=1"), Some(0), &[]))
        else {
            panic!("it waits")
        };
        assert_eq!(app.text(get("/")), "caught", "{handler}");
        let polled = rest.poll(&mut Context::from_waker(Waker::noop()), &mut answer);
        let Poll::Ready(Err(error)) = polled else {
            panic!("{handler}: it is answered")
        };
        assert!(
            error.message().contains("may have been taken back"),
            "{error}"
        );
    }
    // The bracket runs in the run of the one that it concerns.
    let app = load(
        "import { app, probe } from 'sampan';
         const hooks = []; let wake;
         app.get('/', async (req) => {
           if (req.query.fail) { await new Promise((r) => { wake = r; });
             try { probe.within('a', () => { hooks.forEach((hook) => hook()); throw new Error('x'); }); } catch {}
             return 'caught'; }
           wake(); await new Promise((r) => hooks.push(() => { r(); })); return 'kept'; });",
    );
    let _failing = app.start(app.call(get("/?fail=1"), Some(0), &[]));
    let error = app.only(get("/")).expect_err("it may be lost");
    assert!(
        error.message().contains("may have been taken back"),
        "{error}"
    );
}

#[test]
fn what_only_promises_to_work_is_refused_by_a_bracket() {
    for (body, expected) in [
        (
            "() => ({ then(a, b) { b(new Error('x')); } })",
            "a thenable",
        ),
        ("function* () { yield 1; }", "a generator"),
        ("async function* () { yield 1; }", "a generator"),
    ] {
        let app = app(&format!("() => probe.within('a', {body})"));
        let error = app.only(get("/")).expect_err(body);
        assert!(error.message().contains(expected), "{error}");
        assert_eq!(
            *app.notes.0.borrow(),
            ["enter a", "leave Text(\"a\") false"]
        );
    }
}

#[test]
fn what_waits_inside_makes_a_bracket_fail() {
    let app = app(
        "async (req) => { if (req.query.n) return globalThis.late ?? 'nothing';
          const kept = time.sleep(0.002);
          try { await probe.within('a', async () => { await time.sleep(0.001); probe.within('late', () => { globalThis.late = 'late'; }); }); } catch {}
          try { await probe.within('b', async () => { await new Promise((r) => setTimeout(r, 1)); probe.within('late', () => { globalThis.late = 'late'; }); }); } catch {}
          let fail; try { await probe.within('c', () => new Promise((_, reject) => { fail = reject; })); } catch {}
          fail(new Error('told already'));
          await kept; await time.sleep(0.003); return 'done'; }",
    );
    assert_eq!(app.text(get("/")), "done");
    assert_eq!(app.text(get("/?n=1")), "nothing");
    assert_eq!(app.sleeps.0.get(), 0);
    assert!(
        app.reports.borrow().is_empty(),
        "{:?}",
        app.reports.borrow()
    );
}

#[test]
fn a_rejection_inside_a_bracket_is_reported_if_nobody_handles_it() {
    let app = app(
        "() => { probe.within('a', async () => { throw new Error('lost'); }); return 'fine'; }",
    );
    assert_eq!(app.text(get("/")), "fine");
    assert_eq!(app.reports.borrow().len(), 1);
    let app = app_with_catch();
    assert_eq!(app.text(get("/")), "fine");
    assert!(app.reports.borrow().is_empty());
}

fn app_with_catch() -> App {
    app(
        "() => { probe.within('a', async () => { throw new Error('lost'); }).catch(() => {}); return 'fine'; }",
    )
}

#[test]
fn a_stop_inside_a_bracket_leaves_it() {
    for body in [
        "() => { for (;;); }",
        "async () => { await 0; for (;;); }",
        "async () => { for (;;) await 0; }",
        "async () => { try { for (;;); } finally { for (;;); } }",
    ] {
        let app = app(&format!(
            "async (req) => {{ if (req.query.n) return 'ok'; await probe.within('a', {body}); }}"
        ));
        let error = app.only(get("/")).expect_err("stopped");
        assert_eq!(error.kind(), ErrorKind::Stopped, "{body}: {error}");
        let notes = app.notes.0.borrow().clone();
        assert_eq!(notes, ["enter a", "leave Text(\"a\") false"], "{body}");
        assert_eq!(app.text(get("/?n=1")), "ok");
    }
}

#[test]
fn a_bracket_that_cannot_be_left_has_failed() {
    let app = app(
        "async (req) => {
           if (req.query.n) return globalThis.ran ?? 'nothing';
           const late = () => { probe.within('late', () => { globalThis.ran = 'late'; }); };
           let message;
           try { probe.within('stuck', () => { (async () => { await 0; late(); })(); queueMicrotask(late); setTimeout(late, 1); }); }
           catch (error) { message = error.message; }
           await time.sleep(0.003);
           return message; }",
    );
    assert_eq!(app.text(get("/")), "probe.within: stuck");
    assert_eq!(app.text(get("/?n=1")), "nothing");
}

#[test]
fn a_promise_counts_that_nobody_waits_for_yet() {
    for body in [
        "() => { hooks.forEach((hook) => hook()); throw new Error('x'); }",
        "async () => { await 0; hooks.forEach((hook) => hook()); await 0; throw new Error('x'); }",
        "() => { probe.within('b', () => { hooks.forEach((hook) => hook()); }); throw new Error('x'); }",
    ] {
        let app = load(&format!(
            "import {{ app, probe, time }} from 'sampan';
             const hooks = [];
             app.get('/', async (req) => {{
               if (req.query.wait) {{
                 const kept = new Promise((r) => hooks.push(() => r('kept')));
                 await time.sleep(0.001);
                 return await kept;
               }}
               try {{ await probe.within('a', {body}); }} catch {{}}
               return 'caught'; }});"
        ));
        let End::Waits(mut rest, mut answer) = app.start(app.call(get("/?wait=1"), Some(0), &[]))
        else {
            panic!("it waits")
        };
        assert_eq!(app.text(get("/")), "caught", "{body}");
        let polled = rest.poll(&mut Context::from_waker(Waker::noop()), &mut answer);
        assert!(matches!(polled, Poll::Ready(Err(_))), "{body}");
    }
}

#[test]
fn a_stream_is_cut_whose_callback_ran_in_a_bracket_that_failed() {
    let app = load(
        "import { app, probe, stream } from 'sampan';
         const hooks = [];
         app.get('/', (req) => {
           if (req.query.stream) return stream(async (write) => {
             const kept = new Promise((r) => hooks.push(() => r('kept')));
             await write('first');
             await write(await kept);
           });
           try { probe.within('a', () => { hooks.forEach((hook) => hook()); throw new Error('x'); }); } catch {}
           return 'caught'; });",
    );
    let mut answer = app.only(get("/?stream=1")).expect("an answer");
    let mut stream = answer.stream.take().expect("a stream");
    let mut next = || stream.poll_chunk(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(next(), Poll::Ready(Some(Ok(chunk))) if chunk == b"first"));
    // Nobody reads now.
    assert_eq!(app.text(get("/")), "caught");
    assert!(matches!(next(), Poll::Ready(Some(Err(_)))));
}

#[test]
fn what_a_bracket_that_failed_began_comes_to_an_end() {
    // What others share with it is settled, if only with an error.
    let app = app(
        "async (req) => {
           globalThis.config ??= (async () => { await 0; probe.within('inside', () => {}); return 'loaded'; })();
           if (req.query.n) return globalThis.config.catch((error) => error.message);
           globalThis.config = undefined;
           try { probe.within('a', () => {
             globalThis.config = (async () => { await 0; probe.within('inside', () => {}); return 'loaded'; })();
             throw new Error('x');
           }); } catch {}
           return 'failed'; }",
    );
    assert_eq!(app.text(get("/")), "failed");
    assert_eq!(
        app.text(get("/?n=1")),
        "probe.within: this began in a probe.within that has failed"
    );
}

#[test]
fn brackets_that_fail_leave_nothing_in_memory() {
    let app = app(
        "async (req) => {
           const large = new Uint8Array(100_000);
           try { await probe.within('a', async () => { await new Promise(() => {}); large.fill(1); }); } catch {}
           try { await probe.within('a', async () => { await time.sleep(1000); large.fill(1); }); } catch {}
           try { await probe.within('a', async () => { await Promise.race([new Promise(() => {}), 1]); large.fill(1); throw new Error('x'); }); } catch {}
           return 'ok'; }",
    );
    for _ in 0..20 {
        assert_eq!(app.text(get("/")), "ok");
    }
    app.background.borrow_mut().clear();
    app.js.collect_garbage();
    let before = app.js.memory_bytes();
    for _ in 0..200 {
        assert_eq!(app.text(get("/")), "ok");
        app.background.borrow_mut().clear();
    }
    app.js.collect_garbage();
    let after = app.js.memory_bytes();
    assert!(after < before + 3_000_000, "{before} bytes, then {after}");
}
