//! Native objects: their methods, when they go; and brackets that wait.

mod common;

use common::{App, End, get, load};
use sampan_host::{ErrorKind, Isolate};
use std::task::{Context, Waker};

fn app(handlers: &str) -> App {
    load(&format!(
        "import {{ app, objects, probe, time }} from 'sampan';\n{handlers}"
    ))
}

/// Returns the answer of one handler, or its error.
fn outcome(handler: &str) -> String {
    let app = app(&format!("app.get('/', {handler});"));
    match app.only(get("/")) {
        Ok(answer) => answer.text(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn an_object_with_keys_is_read_and_written_like_any() {
    let cases = [
        (
            "() => { const b = objects.box(); b.userId = 7; b['a b'] = { x: [1] }; return [b.userId, b['a b'].x, \
             b.none === undefined]; }",
            "[7,[1],true]",
        ),
        (
            "() => { const b = objects.box(); b.a = 1; b.b = 'x'; return [Object.keys(b), { ...b }, 'a' in b, 'c' in \
             b, Object.entries(b)]; }",
            r#"[["a","b"],{"a":1,"b":"x"},true,false,[["a",1],["b","x"]]]"#,
        ),
        (
            "() => { const b = objects.box(); b.a = 1; b.b = 2; delete b.a; b.b = undefined; b[0] = 5; return \
             [Object.keys(b), b[0]]; }",
            r#"[["0"],5]"#,
        ),
        (
            "() => { const b = objects.box(); b.set('a', 1); Object.assign(b, { c: 2 }); b.c += 1; return \
             [b.get('a'), b.c, b.keys()]; }",
            r#"[1,3,["a","c"]]"#,
        ),
        (
            "() => { const b = objects.box(); b.a = 1; b.clear(); return [b.keys(), String(b), b.constructor.name]; }",
            r#"[[],"[object Box]","Box"]"#,
        ),
        (
            "async () => { const b = objects.box(); b.a = 1; return [(await b).a]; }",
            "[1]",
        ),
        (
            "() => { objects.box().clear = 1; }",
            "app.js:2: \"clear\" is a method of a Box: choose another key for what is kept in the box",
        ),
        (
            "() => { objects.box().f = () => 1; }",
            "app.js:2: box.set: argument 2 (value): a function cannot be passed here",
        ),
        (
            "() => { objects.box()[Symbol.iterator] = 1; }",
            "app.js:2: a Box has no symbols as keys",
        ),
        (
            "() => Object.defineProperty(objects.box(), 'a', { get() { return 1; } })",
            "app.js:2: a key of a Box has a value and nothing else",
        ),
        (
            "() => { const b = Object.create(objects.box()); b.a = 1; return [b.a, 'a' in b]; }",
            "[1,true]",
        ),
    ];
    for (handler, expected) in cases {
        assert_eq!(outcome(handler), expected, "{handler}");
    }
}

#[test]
fn methods_are_called_on_objects_and_checked_like_functions() {
    let cases = [
        (
            "() => { const c = objects.counter(); c.add(2); return [c.add(3)]; }",
            "[5]",
        ),
        (
            "async () => { const c = objects.counter(); return [await c.waitAndAdd(2), c.add(1)]; }",
            "[2,3]",
        ),
        (
            "() => { const c = objects.counter(); c.add(4); return [objects.read(c)]; }",
            "[4]",
        ),
        (
            "() => { const c = objects.counter(); objects.echo(c).add(4); return [c.add(0)]; }",
            "[4]",
        ),
        (
            "() => { const c = objects.counter(); return [c.within((same) => same.add(7))]; }",
            "[7]",
        ),
        (
            "() => { const c = objects.counter(); return [String(c), typeof c, c.constructor.name, Object.keys(c)]; }",
            r#"["[object Counter]","object","Counter",[]]"#,
        ),
        (
            "() => objects.counter().add('x')",
            "app.js:2: counter.add: argument 1 (by) must be a whole number, not a string",
        ),
        (
            "() => { const { add } = objects.counter(); add(1); }",
            "app.js:2: counter.add: call it on a Counter",
        ),
        (
            "() => objects.counter().add.call(objects.ticket(), 1)",
            "app.js:2: counter.add: call it on a Counter",
        ),
        (
            "() => Object.create(objects.counter()).add(1)",
            "app.js:2: counter.add: call it on a Counter",
        ),
        (
            "() => Object.getPrototypeOf(objects.counter()).add(1)",
            "app.js:2: counter.add: call it on a Counter",
        ),
        (
            "() => new Proxy(objects.counter(), {}).add(1)",
            "app.js:2: counter.add: call it on a Counter",
        ),
        (
            "() => objects.read({})",
            "app.js:2: objects.read: argument 1 (counter) must be a Counter, not an object",
        ),
        (
            "() => objects.read(objects.ticket())",
            "app.js:2: objects.read: argument 1 (counter) must be a Counter, not a Ticket",
        ),
        (
            "() => { const c = objects.counter(); c.close(); c.add(1); }",
            "app.js:2: this Counter is over",
        ),
        (
            "async () => { const c = objects.counter(); c.close(); await c.waitAndAdd(1); }",
            "this Counter is over",
        ),
        (
            "() => { const c = objects.counter(); c.close(); objects.read(c); }",
            "app.js:2: this Counter is over",
        ),
        (
            "() => objects.counter().add({ toJSON() { throw new Error('mine'); } })",
            "mine",
        ),
        (
            "() => objects.counter().within()",
            "app.js:2: counter.within: the last argument must be a function, not undefined",
        ),
        (
            "() => objects.counter().within(async () => {})",
            "counter.within takes a plain function, not an async function",
        ),
        (
            "() => [objects.counter()]",
            "a native object has no place in JSON; write the values that are meant",
        ),
        (
            "() => objects.counter()",
            "a native object has no place in JSON; write the values that are meant",
        ),
        (
            "() => structuredClone({ c: objects.counter() })",
            "a Counter could not be cloned",
        ),
        (
            "() => new (objects.counter().constructor)()",
            "not a constructor",
        ),
    ];
    for (handler, expected) in cases {
        let outcome = outcome(handler);
        assert!(outcome.contains(expected), "{handler}: {outcome}");
    }
}

#[test]
fn an_object_goes_with_its_request() {
    let app = app("
        let kept;
        app.get('/keep', () => { kept = objects.ticket(); kept.add(1); return 'kept'; });
        app.get('/hold', async () => { kept = objects.ticket(); await time.sleep(60); });
        app.get('/fail', () => { kept = objects.ticket(); throw new Error('no'); });
        app.get('/loop', () => { kept = objects.ticket(); for (;;); });
        app.get('/use', () => [kept.add(1)]);
        app.get('/stream', () => app.stream(async (write) => {
          kept = objects.ticket();
          await write('a');
          await write(String(kept.add(1)));
        }));");
    let use_it = || app.route("/use", get("/")).map(|answer| answer.text());
    let is_over = || use_it().is_err_and(|error| error.message() == "this Ticket is over");
    for path in ["/keep", "/fail", "/loop"] {
        let _ = app.route(path, get("/"));
        assert!(app.live.0.get() == 0 && is_over(), "{path}");
    }
    let holding = app.start(app.call(get("/"), Some(app.handler("/hold")), &[]));
    assert!(matches!(holding, End::Waits(..)));
    // The code of one request can run in another's turn, so the object alone says whose it is.
    assert_eq!(use_it().unwrap(), "[1]");
    drop(holding);
    assert!(app.live.0.get() == 0 && is_over());
    let mut streaming = app.route("/stream", get("/")).unwrap();
    assert_eq!(app.read(&mut streaming).unwrap(), b"a1");
    drop(streaming);
    assert!(app.live.0.get() == 0 && is_over());
}

#[test]
fn ten_thousand_objects_that_nobody_closes_leave_memory_flat() {
    let app = app("app.get('/', () => { for (let i = 0; i < 1000; i++) objects.counter().add(1); return 'done'; });
        app.get('/cycles', () => { for (let i = 0; i < 100; i++) { const c = objects.counter(); c.self = c; } return \
         'done'; });");
    let mut most = 0;
    for _ in 0..200 {
        assert_eq!(app.route("/", get("/")).unwrap().text(), "done");
        most = most.max(app.isolate.memory_bytes());
        assert_eq!(app.live.0.get(), 0);
    }
    assert!(most < 16 * 1024 * 1024, "{most}");
    app.route("/cycles", get("/")).unwrap();
    app.isolate.collect_garbage();
    app.route("/", get("/")).unwrap();
    assert_eq!(app.live.0.get(), 0);
}

#[test]
fn collections_of_cyclic_garbage_are_counted() {
    let app = app(
        "app.get('/', () => { for (let i = 0; i < 1000; i++) { const c = { text: [] }; c.self = c; } return \
         'done'; });",
    );
    let _ = app.isolate.take_collections();
    for _ in 0..3 {
        app.isolate.collect_garbage();
    }
    assert_eq!(app.isolate.take_collections(), 3);
    assert_eq!(app.isolate.take_collections(), 0);
    let collected = (0..10_000).any(|_| {
        assert_eq!(app.route("/", get("/")).unwrap().text(), "done");
        app.isolate.take_collections() > 0
    });
    assert!(collected, "ten million objects and no collection");
}

#[test]
fn an_object_that_the_script_holds_stays() {
    let app = app("
        let kept = objects.counter();
        let twice = objects.echo(kept);
        app.get('/forget', () => { twice = null; return 'forgotten'; });
        app.get('/use', () => [kept.add(1)]);
        app.get('/forget-all', () => { kept = twice = null; return 'forgotten'; });");
    let call = |path: &str| app.route(path, get("/")).unwrap().text();
    call("/forget");
    app.isolate.collect_garbage();
    assert_eq!((call("/use"), app.live.0.get()), ("[1]".to_owned(), 1));
    call("/forget-all");
    assert_eq!(app.live.0.get(), 0);
    let live = app.live.clone();
    call("/forget");
    drop(app);
    assert_eq!(live.0.get(), 0);
}

#[test]
fn a_bracket_that_waits_is_left_in_order() {
    let cases = [
        (
            "() => objects.around(async (t) => { await time.sleep(0.001); return String(t.add(1)); })",
            "1",
            true,
        ),
        ("() => objects.around((t) => String(t.add(1)))", "1", true),
        (
            "() => objects.around((t) => objects.around((u) => String(t.add(1) + u.add(1))))",
            "2",
            true,
        ),
        (
            "() => objects.around(() => { throw new Error('oh'); })",
            "oh",
            false,
        ),
        (
            "() => objects.around(async () => { await null; throw Object.assign(new Error('taken'), { status: 409 }); })",
            "taken",
            false,
        ),
        (
            "async () => { try { await objects.around(() => Promise.reject('caught')); } catch (error) { return \
             error; } }",
            "caught",
            false,
        ),
    ];
    for (handler, expected, succeeds) in cases {
        let app = app(&format!("app.get('/', {handler});"));
        let outcome = match app.only(get("/")) {
            Ok(answer) => answer.text(),
            Err(error) => error.message().to_owned(),
        };
        assert_eq!(outcome, expected, "{handler}");
        let notes = app.notes.0.borrow().clone();
        assert!(
            notes
                .iter()
                .all(|note| note == "enter" || *note == format!("leave {succeeds}"))
        );
        assert!(notes.len() >= 2 && app.live.0.get() == 0, "{notes:?}");
    }
}

#[test]
fn an_error_keeps_its_place_while_its_bracket_waits() {
    let app = app("const deep = () => { throw new Error('deep down'); };
        app.get('/fails', () => objects.around(async () => {
          await null;
          deep();
        }));");
    let error = app.route("/fails", get("/")).unwrap_err();
    assert_eq!(
        (error.message(), error.kind()),
        ("deep down", ErrorKind::Script)
    );
    assert_eq!(
        error.place().map(ToString::to_string).as_deref(),
        Some("app.js:2")
    );
    let stack = error.stack().unwrap_or_default();
    assert!(
        stack.contains("app.js:2") && stack.contains("app.js:5"),
        "{stack}"
    );
    assert!(!stack.contains("sampan:"), "{stack}");
}

#[test]
fn a_bracket_that_waits_goes_with_its_request() {
    let app = app("
        app.get('/', () => objects.around(() => time.sleep(60)));
        app.get('/no-function', () => objects.around('x'));
        app.get('/batch', () => probe.within('x', () => objects.around(() => {})));");
    let call = app.call(get("/"), Some(app.handler("/")), &[]);
    let End::Waits(mut rest, mut answer) = app.start(call) else {
        panic!("it waits");
    };
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..20 {
        assert!(rest.poll(&mut cx, &mut answer).is_pending());
        sampan_rig::wait::dawdle(std::time::Duration::from_millis(1));
    }
    assert_eq!(app.live.0.get(), 1);
    drop(rest);
    assert_eq!(
        (app.live.0.get(), &**app.notes.0.borrow()),
        (0, &["enter".to_owned()][..])
    );
    let error = app.route("/no-function", get("/")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "app.js:4: objects.around: the last argument must be a function, not a string"
    );
    assert!(app.route("/batch", get("/")).is_err());
    let error = common::load_files(&[(
        "app.js",
        "import { objects } from 'sampan'; await objects.around(() => {});",
    )]);
    let error = error.map(drop).unwrap_err();
    assert!(
        error
            .message()
            .contains("objects.around: cannot wait here (at module top level)"),
        "{error}"
    );
}
