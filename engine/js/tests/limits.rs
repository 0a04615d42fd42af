//! Scripts that run too long, too deep or too large end at their limit, and the next request runs.

mod common;

use common::{App, End, cpu_time, get, load_with, slowness};
use sampan_host::{ErrorKind, Isolate, ScriptLimits};
use std::time::{Duration, Instant};

/// Returns the allowed time of a run: its limit of 100 ms, 100 ms of grace, and what a busy machine adds.
fn grace() -> Duration {
    Duration::from_millis(250) * slowness()
}

/// Loads `app.js` with a limit of 100 ms.
fn load(source: &str) -> App {
    let limits = ScriptLimits {
        script_millis_max: 100,
        ..ScriptLimits::default()
    };
    load_with(&[("app.js", source)], limits).expect("the project loads")
}

/// Gives `hiddenKeys()` to handlers.
const HIDDEN_KEYS: &str = include_str!("web/hidden_keys.js");

fn app(handler: &str) -> App {
    load(&format!(
        "import {{ app, time, stream, probe }} from 'sampan'; const f = {handler}; app.get('/', (req) => req.query.ok \
         ? 'ok' : f(req)); {HIDDEN_KEYS}"
    ))
}

/// Runs a handler that must be stopped or fail, in time, and a request after it.
fn ends(handler: &str, kinds: &[ErrorKind]) -> Duration {
    let app = app(handler);
    let start = cpu_time();
    let error = app.only(get("/")).expect_err(handler);
    let took = cpu_time() - start;
    assert!(kinds.contains(&error.kind()), "{handler}: {error:?}");
    assert!(took <= grace(), "{handler}: took {took:?}, {error:?}");
    assert_eq!(app.text(get("/?ok=1")), "ok", "{handler}");
    took
}

#[test]
fn a_loop_without_a_body_is_named_by_its_own_line() {
    let handler = "() => {\n  const now = Date.now();\n  while (true) {}\n}";
    let error = app(handler).only(get("/")).expect_err("stopped");
    let stack = error.stack().expect("a stack").to_owned();
    assert_eq!(error.place().map(|place| place.line), Some(3), "{error:?}");
    assert!(stack.contains("app.js:3:3"), "{stack}");
}

/// A loop asks by itself at just the moment at which it is told to stop. The signal that tells it comes a little later,
/// and must not interrupt what passes the error on.
#[test]
fn a_loop_without_a_body_at_the_top_of_a_file_is_named_by_its_own_line() {
    let limits = ScriptLimits {
        script_millis_max: 600,
        ..ScriptLimits::default()
    };
    for endless in ["while (true) {}", "for (;;);"] {
        for _ in 0..4 {
            let text = format!("const a = 1;\n\n{endless}\n");
            let error = load_with(&[("app.js", &text)], limits.clone()).expect_err("stopped");
            assert_eq!(error.place().map(|place| place.line), Some(3), "{error:?}");
        }
    }
}

#[test]
fn runaways_are_stopped() {
    for handler in [
        "() => { for (;;); }",
        "() => { while (true) { try { for (;;); } catch {} } }",
        "() => { for (;;) { try { throw 1; } catch {} finally { continue; } } }",
        "async () => { for (;;) await null; }",
        "async () => { await null; for (;;); }",
        "async () => { await time.sleep(0.001); for (;;); }",
        "() => { const p = () => Promise.resolve().then(p); return p(); }",
        "() => { function* g() { for (;;) yield 1; } for (const x of g()); }",
        "() => [1].map(function f(x) { for (;;); })",
        "() => ({ toJSON() { for (;;); } })",
        "() => ({ get a() { for (;;); } })",
        "() => { throw { get message() { for (;;); } }; }",
        "() => new Proxy({}, { ownKeys() { for (;;); } })",
        "() => JSON.parse('[1]', () => { for (;;); })",
        "() => /^(a+)+$/.test('a'.repeat(40) + 'b')",
        "() => 'a'.repeat(40).concat('b').replace(/^(a+)+$/, '')",
        "() => /(.*)*x/.exec('a'.repeat(5000))",
        "async () => { const t = { then(r) { for (;;); } }; await t; }",
        "() => { const s = new Array(1e5).fill(1).join(); for (;;) s.split(','); }",
        "() => { const a = new Array(1e6).fill(0); for (;;) a.indexOf(1); }",
        "() => { const a = new Array(1e5).fill(0); for (;;) [...a]; }",
        "() => { let x = 3n ** 10000n; for (;;) x * x; }",
        "() => { const a = new Uint8Array(1e7); for (;;) a.fill(1); }",
        "() => { const o = {}; for (let i = 0; i < 1e5; i++) o['k' + i] = i; for (;;) ({ ...o }); }",
        "() => { const a = new Array(1e5).fill(0); for (;;) JSON.stringify(a); }",
        "() => { setTimeout(() => {}, 1); for (;;); }",
        "() => { let a = ''; for (let i = 0; i < 60; i++) a = [a, a]; return a; }",
        "() => { let a = ''; for (let i = 0; i < 60; i++) a = { a, b: a }; return a; }",
        "() => { let a = ''; for (let i = 0; i < 60; i++) a = { a, b: a }; return JSON.stringify(a); }",
        "() => { let a = ''; for (let i = 0; i < 60; i++) a = { a, b: a }; return probe.shape(a); }",
        "() => { class A { static { for (;;); } } }",
        "() => eval('for (;;);')",
        "() => new Function('for (;;);')()",
        "async () => { for await (const x of (async function* () { for (;;) yield 1; })()); }",
    ] {
        ends(handler, &[ErrorKind::Stopped]);
    }
}

#[test]
fn recursion_ends() {
    for handler in [
        "() => { const f = () => f() + 1; f(); }",
        "() => { const f = () => { try { f(); } finally { } }; f(); }",
        "() => { const o = {}; o.toString = () => `${o}`; return `${o}`; }",
        "() => { const f = (n) => [n].map(f); f(1); }",
        "async () => { const f = async () => { await f(); }; await f(); }",
        "() => JSON.parse('['.repeat(1e5))",
        "() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a); }",
        "() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a.flat(Infinity); }",
        "() => new RegExp('('.repeat(1e5))",
        "() => eval('('.repeat(1e5))",
        "() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return structuredClone(a); }",
        "() => { let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return String(a); }",
    ] {
        ends(handler, &[ErrorKind::Script, ErrorKind::Stopped]);
    }
}

#[test]
fn a_stop_says_where_it_was() {
    let app = load(
        "import { app } from 'sampan';\nfunction spin(n) {\n  for (;;) n++;\n}\napp.get('/', () => spin());",
    );
    // More than once: the stop is repeated until the run has ended, and must not fall into the telling of its place.
    let stops: Vec<_> = (0..5)
        .map(|_| app.only(get("/")).expect_err("a stop"))
        .collect();
    let located = stops.iter().filter(|error| {
        error.to_string() == "app.js:3: the script ran longer than script_millis_max (100 ms)"
            && error
                .stack()
                .is_some_and(|stack| stack.contains("at spin (app.js:3:"))
    });
    assert_eq!(located.count(), 5, "{stops:?}");
}

#[test]
fn a_stream_that_runs_away_is_stopped() {
    let app = app("() => stream(async (write) => { await write('a'); for (;;); })");
    let mut answer = app.only(get("/")).expect("an answer");
    let start = cpu_time();
    assert!(app.read(&mut answer).is_err());
    assert!(cpu_time() - start <= grace());
    assert_eq!(app.text(get("/?ok=1")), "ok");
}

#[test]
fn work_after_the_answer_is_stopped_too() {
    let app = app("() => { setTimeout(() => { for (;;); }, 1); return 'sent'; }");
    assert_eq!(app.text(get("/")), "sent");
    let start = cpu_time();
    while !app.background.borrow().is_empty() {
        app.poll_background();
    }
    assert!(cpu_time() - start <= grace());
    assert_eq!(app.reports.borrow().len(), 1);
    assert_eq!(app.reports.borrow()[0].kind(), ErrorKind::Stopped);
    assert_eq!(app.text(get("/?ok=1")), "ok");
}

#[test]
fn a_stop_hits_nobody_else() {
    // While one request waits, another one is stopped; the first goes on.
    let app = app(
        "async (req) => { if (req.query.loop) for (;;); await time.sleep(0.05); return 'first'; }",
    );
    let End::Waits(mut rest, mut answer) = app.start(app.call(get("/"), Some(0), &[])) else {
        panic!("it waits")
    };
    assert_eq!(
        app.only(get("/?loop=1")).expect_err("a stop").kind(),
        ErrorKind::Stopped
    );
    let until = Instant::now() + Duration::from_secs(30);
    while rest
        .poll(
            &mut std::task::Context::from_waker(std::task::Waker::noop()),
            &mut answer,
        )
        .is_pending()
    {
        assert!(Instant::now() < until, "the first request never ends");
    }
    assert_eq!(answer.text(), "first");
}

#[test]
fn jobs_of_a_stopped_request_never_run() {
    let app = app(
        "(req) => { if (req.query.n) return globalThis.n ?? 0; Promise.resolve().then(() => { globalThis.n = 1; }); \
         for (;;); }",
    );
    assert_eq!(
        app.only(get("/")).expect_err("a stop").kind(),
        ErrorKind::Stopped
    );
    assert_eq!(app.text(get("/?n=1")), "0");
}

#[test]
fn a_flood_of_jobs_is_dropped() {
    let app = app("() => { const p = () => { queueMicrotask(p); queueMicrotask(p); }; p(); }");
    let start = cpu_time();
    assert_eq!(
        app.only(get("/")).expect_err("a stop").kind(),
        ErrorKind::Stopped
    );
    // To drop a job takes about as long as to make it: at worst the time until the stop comes twice.
    assert!(
        cpu_time() - start <= 2 * grace(),
        "took {:?}",
        cpu_time() - start
    );
    assert_eq!(app.text(get("/?ok=1")), "ok");
}

fn small(source: &str) -> App {
    let limits = ScriptLimits {
        // By the clock, so far away: a busy machine must not reach it before the memory does.
        script_millis_max: 20_000,
        memory_bytes_max: 16 * 1024 * 1024,
        ..ScriptLimits::default()
    };
    load_with(&[("app.js", source)], limits).expect("it loads")
}

#[test]
fn memory_has_a_limit() {
    for handler in [
        "() => { const a = []; for (;;) a.push({ x: a.length }); }",
        "() => { const a = []; for (;;) a.push('x'.repeat(1e6) + a.length); }",
        "() => { let s = 'x'; for (;;) s += s; }",
        "() => new Uint8Array(1e8)",
        "() => new Array(2e6).fill(1)",
        "() => 'x'.repeat(1e8)",
        "() => { const m = new Map(); for (let i = 0;; i++) m.set(i, i); }",
        "async () => { const a = []; for (;;) { a.push(await new Promise((r) => r({ x: a.length }))); } }",
        "() => [...new Array(1e9)]",
        "() => { const f = () => { a.push(new Promise(f)); queueMicrotask(f); }; const a = []; f(); for (;;) f(); }",
        // Errors that are caught are no way around the limit. The small objects fill what large texts leave.
        "() => { const a = []; for (;;) { try { a.push('y'.repeat(1e4) + a.length); } catch { a.push({}); } } }",
    ] {
        let app = small(&format!(
            "import {{ app }} from 'sampan'; const f = {handler}; app.get('/', (req) => req.query.ok ? 'ok' : f(req));"
        ));
        let start = cpu_time();
        let error = app.only(get("/")).expect_err(handler);
        let took = cpu_time() - start;
        let is_large_string = handler.contains("s += s");
        assert!(
            error.kind() == ErrorKind::Memory
                || (is_large_string && error.kind() == ErrorKind::Script),
            "{handler}: {error:?}"
        );
        assert!(
            took < Duration::from_millis(1200) * slowness(),
            "{handler}: {took:?}"
        );
        assert_eq!(app.text(get("/?ok=1")), "ok", "{handler}");
        assert!(
            app.isolate.memory_bytes() < 4 * 1024 * 1024,
            "{handler}: {}",
            app.isolate.memory_bytes()
        );
        assert!(!app.isolate.is_worn_out(), "{handler}");
    }
}

#[test]
fn an_answer_is_no_larger_than_memory() {
    let app = small(
        "import { app } from 'sampan'; let a = 'x'.repeat(1000); for (let i = 0; i < 40; i++) a = [a, a]; \
         app.get('/', () => a);",
    );
    let error = app.only(get("/")).expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
}

#[test]
fn a_value_for_a_capability_is_no_larger_than_memory() {
    for value in [
        "new Array(1000).fill('x'.repeat(1e5))",
        "new Array(1000).fill('é'.repeat(1e5))",
        "new Array(1000).fill(new Uint8Array(1e5))",
        "new Array(1000).fill(new ArrayBuffer(1e5))",
        "new Array(1000).fill(new Uint16Array(1e5))",
        "new Array(1000).fill({ ['x'.repeat(1e5)]: 1 })",
        "new Array(1000).fill(new Array(1000).fill(true))",
    ] {
        let app = small(&format!(
            "import {{ app, probe }} from 'sampan'; app.get('/', () => probe.shape({value}));"
        ));
        let error = app.only(get("/")).expect_err(value);
        assert_eq!(error.kind(), ErrorKind::Memory, "{value}: {error}");
        let text = error.to_string();
        assert!(
            text.contains("larger than memory_bytes_max"),
            "{value}: {text}"
        );
    }
    let app = small(
        "import { app, probe } from 'sampan'; const list = new Array(100).fill({ ['n'.repeat(1e4)]: 'x'.repeat(1e4), b: \
         new Uint8Array(1000) }); app.get('/', () => String(probe.shape(list).length > 2e6));",
    );
    assert_eq!(app.text(get("/")), "true");
}

#[test]
fn the_arguments_of_waits_are_no_larger_than_memory() {
    let app = small(
        "import { app, probe } from 'sampan'; const text = 'x'.repeat(1e6); \
         app.get('/', async (req) => { const all = []; \
         for (let left = Number(req.query.count); left > 0; left--) all.push(probe.later(text)); \
         return String((await Promise.all(all)).length); });",
    );
    for _ in 0..3 {
        let error = app.only(get("/?count=64")).expect_err("no memory");
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        let text = error.to_string();
        assert!(
            text.contains("the arguments of what is waited for"),
            "{text}"
        );
        // They count until their waits have ended.
        assert_eq!(app.text(get("/?count=10")), "10");
    }
    assert!(!app.isolate.is_worn_out());
}

#[test]
fn an_isolate_that_keeps_too_much_is_worn_out() {
    let app = small(
        "import { app } from 'sampan'; const kept = []; app.get('/', () => { for (;;) kept.push({ x: kept.length }); \
         });",
    );
    assert_eq!(
        app.only(get("/")).expect_err("no memory").kind(),
        ErrorKind::Memory
    );
    assert!(app.isolate.is_worn_out());
}

#[test]
fn cyclic_garbage_is_collected_in_time() {
    let app = small(
        "import { app } from 'sampan'; app.get('/', () => { const a = new Array(1e4).fill(0); a[0] = { a }; return \
         'ok'; });",
    );
    for _ in 0..1000 {
        assert_eq!(app.text(get("/")), "ok");
    }
    assert!(app.isolate.memory_bytes() < 16 * 1024 * 1024);
}

#[test]
fn near_the_limit_a_request_costs_no_collection() {
    let app = small(
        "import { app } from 'sampan'; const kept = []; \
         app.get('/', (req) => { if (req.query.fill) for (let i = 0; i < 500; i++) kept.push({ i, of: {} }); \
         const a = new Array(100).fill(0); a[0] = { a }; return 'ok'; });",
    );
    while app.isolate.memory_bytes() < 15 * 1024 * 1024 {
        assert_eq!(app.text(get("/?fill=1")), "ok");
    }
    let start = cpu_time();
    for _ in 0..1000 {
        assert_eq!(app.text(get("/")), "ok");
    }
    let took = cpu_time() - start;
    assert!(took < Duration::from_millis(500) * slowness(), "{took:?}");
    assert!(!app.isolate.is_worn_out());
}

#[test]
fn answers_that_never_end_are_refused() {
    use ErrorKind::{Memory, Script, Stopped};
    for handler in [
        "() => { const x = 'x'.repeat(1e6); return new Array(1500).fill(x); }",
        "() => { const x = 'x'.repeat(1e6); return JSON.stringify(new Array(1500).fill(x)); }",
        "() => new Array(20).fill('\\u0001'.repeat(2e7))",
        // A proxy's trap is shown the hidden keys, so a script can put anything under them.
        "() => { const { headers, list } = hiddenKeys(), r = new Response('x'); r[headers] = { [list]: { length: \
         4294967294 } }; return r; }",
        "() => { const { headers, list } = hiddenKeys(), r = new Response('x'), l = new \
         Array(8000).fill('x'.repeat(1e6)); r[headers] = { [list]: l }; return r; }",
        "() => ({ a: 2n ** 900000n })",
        "() => { throw 2n ** 900000n; }",
        "() => probe.shape(2n ** 900000n)",
    ] {
        ends(handler, &[Memory, Script, Stopped]);
    }
}

/// QuickJS makes an error of a block that is refused, and collected then, while a shape was in no list of its
/// collector.
#[test]
fn memory_that_ends_while_an_object_grows_crashes_no_collection() {
    let source = "import { app } from 'sampan';
app.get('/', () => {
  const object = {};
  try { for (let i = 0; ; i++) object[i] = i; } catch (error) { return error.message; }
});";
    for step in 0..12 {
        let limits = ScriptLimits {
            memory_bytes_max: (4 << 20) + step * (300 << 10),
            ..ScriptLimits::default()
        };
        let app = load_with(&[("app.js", source)], limits).expect("the project loads");
        for _ in 0..2 {
            let _ = app.only(get("/"));
        }
    }
}

#[test]
fn jobs_of_a_described_rejection_run_in_their_own_request() {
    let handler = "() => { Promise.reject({ get message() { Promise.resolve().then(() => { for (;;); }); return 'm'; } \
                   }); return 'ok'; }";
    ends(handler, &[ErrorKind::Stopped]);
    // Each report makes the next rejection: the rest is dropped.
    let app = app(
        "() => { const again = () => Promise.reject({ get message() { again(); return 'm'; } }); again(); return 'ok'; \
         }",
    );
    assert_eq!(app.text(get("/")), "ok");
    let reports = app.reports.borrow().len();
    assert!((2..100).contains(&reports), "{reports}");
    assert_eq!(app.text(get("/?ok=1")), "ok");
    assert_eq!(app.reports.borrow().len(), reports);
}

#[test]
fn no_callback_waits_for_a_collection() {
    let app = app("() => `${typeof FinalizationRegistry} ${'FinalizationRegistry' in globalThis}`");
    assert_eq!(app.text(get("/")), "undefined false");
}

/// The script's limit of 100 ms, 100 ms of grace, and what a busy machine adds.
const BUILTIN_LIMIT: Duration = Duration::from_millis(400);

/// A neighbour on the same core stretches CPU time too: what was too slow is tried again.
const TRIES: usize = 3;

/// Calls that a script cannot be stopped in, and what their errors say; nothing for those that are stopped.
const COPIES: &[(&str, &str)] = &[
    (
        "Uint8Array.from(Object.assign(Object.create({}), { length: 1e8 }))",
        "from: length above 2000000",
    ),
    (
        "new Uint8Array(1e8).set(new Array(1e8))",
        "set: length above 10000000",
    ),
    (
        "(() => { let p = []; for (let i = 0; i < 1e5; i++) p = Object.create(p); return \
         JSON.stringify(Object.setPrototypeOf(new Array(1e4), p)); })()",
        "",
    ),
    (
        "(() => { let p = {}; for (let i = 0; i < 1e5; i++) p = Object.create(p); return \
         JSON.stringify(new Array(1e4).fill(p)); })()",
        "",
    ),
];

/// Returns the end of a call, and the CPU time that it took.
fn outcome_of(call: &str, script_millis_max: u64) -> (Duration, String) {
    let source = format!(
        "import {{ app }} from 'sampan'; const f = () => {call}; app.get('/', (req) => req.query.ok ? 'ok' : f());"
    );
    let limits = ScriptLimits {
        script_millis_max,
        ..ScriptLimits::default()
    };
    let app = load_with(&[("app.js", &source)], limits).expect("it loads");
    let start = cpu_time();
    let result = app.only(get("/"));
    let took = cpu_time() - start;
    assert_eq!(app.text(get("/?ok=1")), "ok", "{call}");
    (
        took,
        result.map_or_else(|error| error.message().to_owned(), |answer| answer.text()),
    )
}

#[test]
fn no_copy_takes_long() {
    let limit = BUILTIN_LIMIT * slowness();
    for (call, text) in COPIES {
        let mut took = Vec::new();
        for _ in 0..TRIES {
            let (time, how) = outcome_of(call, 100);
            // A machine that is busy may stop the script before it comes to the call.
            if !text.is_empty() && !how.contains("ran longer") {
                assert!(how.contains(text), "{call}: {how}");
            }
            took.push(time);
            if time < limit {
                break;
            }
        }
        assert!(took.iter().any(|time| *time < limit), "{call}: {took:?}");
    }
}

#[test]
fn copies_remain_the_standards() {
    for (call, expected) in [
        ("[...new Uint8Array([1, 2, , 4])]", "[1,2,0,4]"),
        ("[...new Uint8Array({ length: 3, 1: 7 })]", "[0,7,0]"),
        ("[...new Float64Array(new Set([1.5, 2]))]", "[1.5,2]"),
        (
            "[...new Uint8Array((function* () { yield 1; yield 2; })())]",
            "[1,2]",
        ),
        ("[...new Uint16Array(new Uint8Array([1, 2]))]", "[1,2]"),
        ("new Uint16Array(new ArrayBuffer(8), 2, 3).length", "3"),
        (
            "new Uint8Array(new DataView(new ArrayBuffer(8))).length",
            "0",
        ),
        ("new Uint8Array({}).length", "0"),
        (
            "[...Uint8Array.from({ length: 3 }, (_, i) => i)]",
            "[0,1,2]",
        ),
        (
            "Uint8Array.from({ length: 3e6 }, () => 1).length",
            "3000000",
        ),
        ("[...Uint8Array.from('123')]", "[1,2,3]"),
        ("[...Uint8Array.from(new Proxy([1, 2], {}))]", "[1,2]"),
        (
            "[...Uint8Array.from({ get length() { return 2; }, 1: 7 })]",
            "[0,7]",
        ),
        (
            "(() => { const a = new Uint8Array(4); a.set([1, 2], 1); a.set(new Int8Array([9]), 3); return [...a]; })()",
            "[0,1,2,9]",
        ),
        (
            "(() => { class X extends Uint8Array { sum() { return this.reduce((a, b) => a + b); } } const x = \
             X.from([1, 2, 3]); return [x instanceof X, x.map((y) => y * 2).sum(), \
             x.subarray(1).constructor === X]; })()",
            "[true,12,true]",
        ),
        (
            "[new Uint8Array(1).constructor === Uint8Array, Uint8Array.prototype.constructor === Uint8Array, \
             Uint8Array.name, Uint8Array.length, Uint8Array.BYTES_PER_ELEMENT]",
            r#"[true,true,"Uint8Array",3,1]"#,
        ),
        (
            "[() => Uint8Array(1), () => new Uint8Array(-1), () => new RegExp('(')].map((f) => { try { f(); } \
             catch (e) { return e.name; } })",
            r#"["TypeError","RangeError","SyntaxError"]"#,
        ),
    ] {
        let (_, how) = outcome_of(call, 60_000);
        assert_eq!(how, expected, "{call}");
    }
}

#[test]
fn json_of_what_contains_itself_runs_its_scripts_once() {
    for (call, expected) in [
        // `toJSON` runs for the object, and where the object is found within itself.
        (
            "(() => { let n = 0; const a = { toJSON() { n++; return a; } }; a.a = a; try { JSON.stringify(a); } \
             catch (e) { return [e instanceof TypeError, e.message, n]; } })()",
            r#"[true,"circular reference",2]"#,
        ),
        (
            "(() => { let n = 0; let a = { toJSON() { n++; return 1; } }; for (let i = 0; i < 300; i++) a = [a]; \
             return [JSON.stringify(a).length, n]; })()",
            "[601,1]",
        ),
        (
            "(() => { let n = 0; const a = [{ toJSON() { n++; return 1; } }]; a.push([[a]]); try { \
             JSON.stringify(a); } catch { return n; } })()",
            "1",
        ),
        (
            "JSON.stringify((() => { const a = {}; return [a, a, { a }]; })())",
            "[{},{},{\"a\":{}}]",
        ),
    ] {
        let (_, how) = outcome_of(call, 60_000);
        assert_eq!(how, expected, "{call}");
    }
}
