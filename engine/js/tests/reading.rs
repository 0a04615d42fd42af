//! Rows that read values of the script where they lie.

mod common;

use common::{App, get, load_files, load_with};
use sampan_host::{ErrorKind, Isolate, ScriptLimits};
use std::time::Duration;

/// A route with this body, and time enough on a busy machine.
fn app(body: &str) -> App {
    let source = format!(
        "import {{ app, reading, calls, data, objects, time }} from 'sampan';
app.get('/', async (req) => {{ {body} }});"
    );
    let limits = ScriptLimits {
        script_millis_max: 20_000,
        ..ScriptLimits::default()
    };
    load_with(&[("app.js", &source)], limits).expect("loads")
}

#[track_caller]
fn check(body: &str, expected: &str) {
    let answer = app(body).only(get("/"));
    let said = answer.map_or_else(|error| error.to_string(), |answer| answer.text());
    assert_eq!(said, expected, "{body}");
}

#[track_caller]
fn check_error(body: &str, part: &str) {
    let answer = app(body).only(get("/"));
    let error = answer.map_or_else(|error| error, |answer| panic!("{}", answer.text()));
    assert!(error.to_string().contains(part), "{body}: {error}");
}

/// The run is stopped at its limit, though the script catches what it can, and the next one answers.
#[track_caller]
fn check_stopped(body: &str) {
    let app = load_files(&[(
        "app.js",
        &format!(
            "import {{ app, reading }} from 'sampan';
app.get('/', () => {{ try {{ {body} }} catch {{}} return 'went on'; }});
app.get('/next', () => reading.outline(['next']));"
        ),
    )])
    .expect("loads");
    let before = common::cpu_time();
    let error = app.route("/", get("/")).expect_err(body);
    assert_eq!(error.kind(), ErrorKind::Stopped, "{body}: {error}");
    let took = common::cpu_time() - before;
    assert!(took < Duration::from_secs(3), "{body}: {took:?}");
    let next = app.route("/next", get("/")).expect("answers");
    assert_eq!(next.text(), "[\"next\"]");
}

#[test]
fn every_kind_of_value_is_seen() {
    for (value, seen) in [
        ("undefined", "nothing"),
        ("null", "null"),
        ("true", "true"),
        ("42", "42"),
        ("-0.5", "-0.5"),
        ("-0", "-0.0"),
        ("2 ** 53", "9007199254740992.0"),
        ("NaN", "NaN"),
        ("9007199254740993n", "9007199254740993"),
        ("-(2n ** 63n)", "-9223372036854775808"),
        ("2n ** 64n", "[BigInt]"),
        ("2n ** 200000n", "[BigInt]"),
        ("'text'", "\"text\""),
        ("''", "\"\""),
        ("'Bób €😀'", "\"Bób €😀\""),
        ("'a\\ud800b'", "\"a\u{fffd}b\""),
        ("'x'.repeat(3) + 'é'", "\"xxxé\""),
        ("Symbol('s')", "[symbol]"),
        ("() => 1", "function"),
        ("class {}", "function"),
        ("Promise.resolve(1)", "[promise]"),
        ("new Set([1])", "[Set]"),
        ("objects.counter(1)", "[Counter]"),
        ("{}", "{}"),
        ("[]", "[]"),
        ("[1, 'two', [3], , null]", "[1,\"two\",[3],nothing,null]"),
        (
            "{ b: 1, a: { c: 2 }, 10: 3, 9: 4 }",
            "{9:4,10:3,b:1,a:{c:2}}",
        ),
        ("{ a: undefined, [Symbol('s')]: 1 }", "{a:nothing}"),
        ("Object.create(null)", "{}"),
        ("new Date(0)", "\"1970-01-01T00:00:00.000Z\""),
        ("new Date(NaN)", "\"Invalid Date\""),
        ("/x/", "{}"),
        ("new String('ab')", "{0:\"a\",1:\"b\"}"),
        (
            "Object.assign(new Error('no'), { code: 'x' })",
            "{code:\"x\"}",
        ),
        ("new Uint8Array([1, 2, 3])", "<3 bytes>"),
        ("new Uint16Array(5).subarray(1, 3)", "<4 bytes>"),
        ("new ArrayBuffer(7)", "<7 bytes>"),
        ("new DataView(new ArrayBuffer(9), 2, 5)", "<5 bytes>"),
        (
            "new Map([['k', 1], [2, 'v'], [{ o: 1 }, [3]], [null, 4]])",
            "{k:1,2:\"v\",{o:1}:[3],null:4}",
        ),
        ("[[[[[[[[[1]]]]]]]]]", "[[[[[[[[...]]]]]]]]"),
    ] {
        check(&format!("return reading.outline({value});"), seen);
    }
    check("return reading.outline();", "nothing");
}

#[test]
fn rows_and_requests_are_read() {
    check(
        "const people = data.people(); people[0].extra = 1; return reading.outline(people);",
        "[{id:1,name:\"Ada\",note:null,extra:1},{id:2,name:\"Bób €\",note:\"x\"}]",
    );
    check("return reading.outline(data.nobody());", "[]");
    check(
        "return reading.outline(data.person(true));",
        "{id:1,name:\"Ada\",note:null}",
    );
    check("return reading.outline(req.query);", "{}");
}

#[test]
fn what_is_inherited_or_computed_is_found() {
    for value in [
        "Object.create({ text: 'inherited' })",
        "new (class { text = 'own'; })",
        "new (class { get text() { return 'computed'; } })",
        "new (class extends class { get text() { return 'inherited getter'; } } {})",
        "new Map([['text', 'entry']])",
        "new Proxy({ text: 'behind' }, {})",
        "new Proxy({}, { get: (_, name) => `trapped ${name}` })",
        "new Proxy(new Proxy({ text: 'far behind' }, {}), {})",
        "Object.assign(() => 1, { text: 'of a function' })",
        "Object.assign([], { text: 'of an array' })",
    ] {
        check(
            &format!("return String(reading.hold({value}, () => {{}}));"),
            "true",
        );
    }
    // An entry of a map is meant, not its property; texts and numbers have no members.
    for value in [
        "Object.assign(new Map(), { text: 'x' })",
        "'text'",
        "1",
        "Symbol('s')",
        "null",
    ] {
        check_error(
            &format!("return reading.hold({value}, () => {{}});"),
            "reading: no text",
        );
    }
    check(
        "String.prototype.text = 'x'; return String(reading.lengths([{ name: 'abc' }, 'abc', new Map([['name', \
         'abcd']])]));",
        "7",
    );
    check(
        "return reading.outline(new Proxy([1, [2]], {})) + reading.outline(new Proxy({ a: 1 }, {})) + \
         reading.outline(new Proxy(() => 1, {}));",
        "[1,[2]]{a:1}function",
    );
}

#[test]
fn records_are_added_up() {
    check(
        "const list = []; for (let i = 1; i <= 50; i++) list.push({ name: 'n' + i, city: 'c', email: 'e', note: 'é' });
        return String(reading.lengths(list));",
        "341",
    );
    // Other shapes between them, and fields that come and go.
    check(
        "const list = [];
        for (let i = 0; i < 200; i++) {
          const record = i % 3 ? { name: 'abc', city: 'x' } : { id: 1, city: 'x', name: 'abc' };
          if (i % 5 === 0) delete record.city;
          if (i % 7 === 0) Object.defineProperty(record, 'note', { get: () => 'four' });
          list.push(record);
        }
        const first = reading.lengths(list);
        for (const record of list) record.name = 'longer';
        return `${first} ${reading.lengths(list)}`;",
        "876 1476",
    );
    check(
        "return String(reading.lengths([1, 'two', { name: 3 }]));",
        "0",
    );
    check("return String(reading.lengths(null));", "0");
    check("return String(reading.lengths({ length: 3 }));", "0");
}

#[test]
fn members_are_found_in_objects_of_every_make() {
    // Each is read so often that its places are known, then changed, and read again.
    for (make, before, after) in [
        ("({ name: 'abc', city: 'd' })", 4, 8),
        ("({ city: 'd', 7: 'x', name: 'abc' })", 4, 8),
        ("({ 7: 'x', name: 'abc', city: 'd' })", 4, 8),
        (
            "({ id: 1, name: 'abc', city: 'd', email: undefined, note: null })",
            4,
            8,
        ),
        ("JSON.parse('{\"name\":\"abc\",\"city\":\"d\"}')", 4, 8),
        (
            "Object.assign(Object.create(null), { name: 'abc', city: 'd' })",
            4,
            8,
        ),
        (
            "Object.create({ city: 'd' }, { name: { value: 'abc', writable: true } })",
            4,
            8,
        ),
        ("Object.assign(new Map(), { name: 'abc', city: 'd' })", 0, 0),
        (
            "Object.setPrototypeOf(Object.assign(new Map(), { name: 'abc', city: 'd' }), Object.prototype)",
            0,
            0,
        ),
        ("Object.assign([], { name: 'abc', city: 'd' })", 4, 8),
        ("Object.assign(() => 1, { city: 'defg' })", 4, 4),
        (
            "({ get name() { return 'abc'; }, set name(v) {}, city: 'd' })",
            4,
            4,
        ),
        ("Object.freeze({ name: 'abc', city: 'd' })", 4, 4),
        (
            "(() => { const o = { other: 1, name: 'abc', city: 'd' }; delete o.other; return o; })()",
            4,
            8,
        ),
        (
            "new (class { name = 'abc'; #secret = 1; city = 'd'; })",
            4,
            8,
        ),
        ("data.people()[0]", 3, 7),
    ] {
        check(
            &format!(
                "const list = Array.from({{ length: 40 }}, () => {make});
                const before = reading.lengths(list) / 40;
                for (const one of list) try {{ one.name = 'longer+'; }} catch {{}}
                const after = reading.lengths(list) / 40;
                for (const one of list) try {{ delete one.name; one.extra = 1; }} catch {{}}
                reading.lengths(list);
                return `${{before}} ${{after}}`;"
            ),
            &format!("{before} {after}"),
        );
    }
}

#[test]
fn a_map_is_told_from_an_object_of_its_shape() {
    check(
        "const like = (object) => Object.assign(object, { name: 'abc', city: 'd' });
        const list = Array.from({ length: 40 }, () => like(Object.create(Map.prototype)));
        return `${reading.lengths(list)} ${reading.lengths([like(new Map())])}`;",
        "160 0",
    );
}

#[test]
fn what_changes_meanwhile_is_looked_at_anew() {
    check(
        "const t = ['a' + 1, 'b' + 2, ['c' + 3]];
        return reading.twice(t, () => { t.length = 0; });",
        "\"a1\" \"b2\" [\"c3\"] / []",
    );
    check(
        "const t = { x: 'a' + 1, y: ['b' + 2] };
        return reading.twice(t, () => { delete t.x; delete t.y; for (let i = 0; i < 100; i++) t['n' + i] = {}; for \
         (let i = 0; i < 100; i++) delete t['n' + i]; });",
        "\"x\" \"a1\" \"y\" [\"b2\"] / {}",
    );
    check(
        "const t = new Map([['k' + 1, ['v' + 1]], [{ o: 1 }, 2]]); return reading.twice(t, () => t.clear());",
        "\"k1\" [\"v1\"] {o:1} 2 / {}",
    );
    check(
        "const t = { text: 'long'.repeat(1000) + req.path };
        return String(reading.hold(t, () => { t.text = 'other'; for (let i = 0; i < 3000; i++) 'x'.repeat(1000) + i; \
         }));",
        "true",
    );
    check(
        "const t = { text: 'é'.repeat(1000) + req.path }; return String(reading.hold(t, () => { t.text = null; }));",
        "true",
    );
    // The bytes of a buffer are a copy, whatever becomes of it.
    check(
        "const t = { text: new Uint8Array(9).fill(7) };
        return String(reading.hold(t, () => { t.text.fill(1); t.text.buffer.transfer(); t.text = new \
         Uint8Array(9).fill(7); }));",
        "true",
    );
}

#[test]
fn what_a_getter_changes_is_looked_at_anew() {
    // A list loses its items while they are read, and with them the one that is being read.
    check(
        "const list = [];
        const garbage = () => { for (let i = 0; i < 100; i++) ({ name: 'x' + i, city: [i] }); };
        list.push({ get name() { list.length = 0; garbage(); return 'ab'; }, city: 'c' + 'd' });
        return `${reading.lengths(list)} ${list.length}`;",
        "4 0",
    );
    check(
        "const list = ['a' + 1, ['b' + 2], { get c() { list.length = 0; return 'd'; } }, 'e'];
        return reading.outline([list]);",
        "[[\"a1\",[\"b2\"],{c:\"d\"},nothing]]",
    );
    check(
        "const list = [];
        for (let i = 0; i < 50; i++) list.push({ get name() { list.length = 10; return 'ab'; } });
        return `${reading.lengths(list)} ${list.length}`;",
        "20 10",
    );
    check(
        "const t = { get a() { delete t.b; delete t.c; t.d = 1; return 'a'; }, b: 2, c: { e: 3 } };
        return reading.outline(t) + reading.outline(t);",
        "{a:\"a\",b:nothing,c:nothing}{a:\"a\",d:1}",
    );
    check(
        "const m = new Map([['a', { get x() { m.clear(); return 1; } }], ['b', 2]]);
        return reading.outline(m) + reading.outline(m);",
        "{a:{x:1},b:nothing}{}",
    );
    // An object changes its shape and its prototype under the names that were found in it.
    check(
        "const list = [];
        for (let i = 0; i < 20; i++) list.push({ city: 'c', name: 'nn' });
        const all = reading.lengths(list);
        list[5].__proto__ = { note: 'four' };
        Object.defineProperty(list[6], 'city', { get() { list[7].name = 1; list[8] = null; return ''; } });
        Object.freeze(list[9]);
        list[10] = new Proxy(list[10], { get: (t, k) => t[k] + '!' });
        return `${all} ${reading.lengths(list)}`;",
        "60 80",
    );
}

#[test]
fn what_the_language_has_may_be_replaced() {
    check(
        "const broken = () => { throw new Error('replaced'); };
        for (const name of ['get', 'keys', 'has', 'entries', 'forEach']) Map.prototype[name] = broken;
        Object.defineProperty(Map.prototype, 'size', { get: broken });
        Object.getPrototypeOf(new Map().values()).next = broken;
        Object.defineProperty(Object.prototype, 'done', { get: broken });
        Object.defineProperty(Object.prototype, 'value', { get: broken });
        const map = new Map([['text', 'x'], [1, 2]]);
        return 'ok' + reading.hold(map, () => {}) + reading.outline(map);",
        "oktrue{text:\"x\",1:2}",
    );
    check(
        "const broken = { get() { throw new Error('replaced'); } };
        const names = ['buffer', 'byteOffset', 'byteLength', 'length'];
        for (const name of names) {
          Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), name, broken);
          if (name !== 'length') Object.defineProperty(DataView.prototype, name, broken);
        }
        const wide = Object.defineProperty(new Uint16Array(2), 'byteLength', broken);
        return reading.outline([wide, new Uint8Array(3), new DataView(new ArrayBuffer(5))]);",
        "[<4 bytes>,<3 bytes>,<5 bytes>]",
    );
    check(
        "Object.defineProperty(Array.prototype, Symbol.iterator, { value: null });
        Array.prototype.push = Array.prototype.map = null; Object.keys = null;
        return reading.outline([{ a: 1 }]);",
        "[{a:1}]",
    );
}

#[test]
fn a_getter_that_throws_is_the_callers_error() {
    check_error(
        "return reading.outline({\n a: 1,\n get b() { throw new Error('no b'); } });",
        "app.js:4: no b",
    );
    check(
        "try { reading.outline({ get a() { throw new Error('none'); } }); } catch (e) { return e.message; }",
        "none",
    );
    check(
        "try { reading.outline({ get a() { throw 1; } }); } catch {} return reading.outline(['still here']);",
        "[\"still here\"]",
    );
    let error = app(
        "return reading.outline({ get a() { throw Object.assign(new Error('taken'), { status: 409 }); } });",
    );
    let error = error.only(get("/")).expect_err("an error");
    assert_eq!(error.kind(), ErrorKind::Status(409), "{error}");
}

#[test]
fn a_getter_cannot_wait() {
    check(
        "const t = { get a() { return time.sleep(0.001); }, get b() { return (async () => { await null; return 1; \
         })(); } };
        return reading.outline(t);",
        "{a:[promise],b:[promise]}",
    );
}

#[test]
fn traps_of_a_proxy_may_throw() {
    for (trap, ask) in [
        ("get", "reading.lengths([new Proxy({}, traps)])"),
        ("get", "reading.outline(new Proxy([1], traps))"),
        ("ownKeys", "reading.outline(new Proxy({}, traps))"),
        (
            "getOwnPropertyDescriptor",
            "reading.outline(new Proxy({ a: 1 }, traps))",
        ),
    ] {
        check_error(
            &format!(
                "const traps = {{ {trap}() {{ throw new Error('trapped'); }} }}; return {ask};"
            ),
            "trapped",
        );
    }
    check_error(
        "const { proxy, revoke } = Proxy.revocable([1], {}); revoke(); return reading.outline(proxy);",
        "revoked",
    );
    check(
        "return reading.outline(new Proxy([1, 2], { get: (t, k) => k === 'length' ? -5 : t[k] }));",
        "[]",
    );
}

#[test]
fn what_does_not_end_is_stopped() {
    check_stopped("reading.outline({ get a() { for (;;); } });");
    check_stopped("reading.lengths([new Proxy({}, { get() { for (;;); } })]);");
    check_stopped("reading.hold({ text: 'x' }, () => { for (;;); });");
    // Nothing but the limits ends these.
    check_stopped("const list = []; list.length = 2 ** 32 - 1; reading.lengths(list);");
    check_stopped("reading.lengths(new Proxy([], { get: () => 2 ** 53 }));");
    check_stopped("const t = {}; for (let i = 0; i < 20; i++) t['k' + i] = t; reading.outline(t);");
    check_stopped("const t = []; for (let i = 0; i < 20; i++) t.push(t); reading.outline(t);");
    check_stopped(
        "const m = new Map(); for (let i = 0; i < 20; i++) m.set(i, m); reading.outline(m);",
    );
}

#[test]
fn what_is_read_may_not_take_all_memory() {
    let limits = ScriptLimits {
        memory_bytes_max: 16 * 1024 * 1024,
        script_millis_max: 60_000,
        ..ScriptLimits::default()
    };
    let source = "import { app, reading } from 'sampan';
const list = []; list.length = 2 ** 32 - 1;
app.get('/', () => { list.__proto__ = new Proxy([], { get: () => true }); return reading.twice(list, () => {}); });";
    let app = load_with(&[("app.js", source)], limits).expect("loads");
    let error = app.only(get("/")).expect_err("too large");
    assert!(
        error.to_string().contains("larger than memory_bytes_max"),
        "{error}"
    );
}

#[test]
fn many_keys_are_read() {
    check(
        "const t = {}; for (let i = 1; i <= 20000; i++) t['key' + i] = i; return String(reading.outline(t).length);",
        "277789",
    );
    check(
        "const t = new Map(); for (let i = 1; i <= 20000; i++) t.set('key' + i, i); return \
         String(reading.outline(t).length);",
        "277789",
    );
}

#[test]
fn errors_that_nobody_sees_may_run_script_too() {
    // What was found lies in the list that goes, and other objects take its room.
    for (value, seen) in [
        (
            "(() => { const { proxy, revoke } = Proxy.revocable([], {}); revoke(); return proxy; })()",
            "TypeError: revoked proxy []",
        ),
        (
            "(() => { const view = new DataView(new ArrayBuffer(8)); view.buffer.transfer(); return view; })()",
            "[\"a1\",[\"b2\"],<0 bytes>,nothing] []",
        ),
    ] {
        check(
            &format!(
                "const list = ['a' + 1, ['b' + 2], {value}, 'e'], others = [];
                Error.prepareStackTrace = () => {{ list.length = 0; for (let i = 0; i < 100; i++) others.push({{ ['k' \
                 + i]: 'x' + i }}); return ''; }};
                const read = () => {{ try {{ return reading.outline(list); }} catch (e) {{ return e.message; }} }};
                return read() + ' ' + reading.outline(list);"
            ),
            seen,
        );
    }
}

#[test]
fn readers_nest() {
    check(
        "let inner = { text: 'in' + 'ner' };
        const t = { get text() {
          reading.twice(['a' + 1, inner], () => { inner = null; });
          inner = { text: 'x' };
          return 'o' + reading.outline([inner]);
        } };
        return String(reading.hold(t, () => reading.outline([{}, { get a() { return reading.outline([1]); } }])));",
        "true",
    );
    check(
        "return reading.twice({ a: 'b' }, () => { reading.twice(['c'], () => reading.outline('d')); });",
        "\"a\" \"b\" / {a:\"b\"}",
    );
}

#[test]
fn handles_of_a_round_go_with_it() {
    check(
        "const list = []; for (let i = 0; i < 10000; i++) list.push([i, { a: i }]); return \
         String(reading.rounds(list) < 20);",
        "true",
    );
    check(
        "return reading.unknown({ text: 'x' });",
        "nothing nothing nothing nothing {text:\"x\"}",
    );
}

#[test]
fn reading_leaves_nothing_behind() {
    let app = app("for (let i = 0; i < 200; i++) {
          reading.lengths([{ name: 'n' + i }, new Map([['name', 'm' + i]])]);
          reading.twice({ a: 'v' + i, b: [i] }, () => i);
          reading.hold({ text: 'é' + i }, () => {});
          try { reading.outline({ a: 'x' + i, get b() { throw new Error('x' + i); } }); } catch {}
        }
        return 'ok';");
    let run = || {
        for _ in 0..25 {
            app.only(get("/")).expect("answers");
        }
        app.isolate.collect_garbage();
        app.isolate.memory_bytes()
    };
    let before = run();
    let after = run();
    assert!(after < before + 20_000, "{before} to {after} bytes");
}
