//! Rows of queries as objects, values on their way out of JavaScript, and the kinds of functions that a database needs.

mod common;

use common::{App, get, load_with};
use sampan_host::{ErrorKind, Isolate};
use sampan_rig::patient_limits;

fn app(handler: &str) -> App {
    let source = format!("import {{ app, data, probe }} from 'sampan'; app.get('/', {handler});");
    load_with(&[("app.js", &source)], patient_limits()).expect("the project loads")
}

/// Returns two answers of the handler `body`: the second time shapes are known.
fn run(body: &str) -> Result<String, String> {
    let app = app(body);
    let mut all = (0..3).map(|_| {
        let answer = app.only(get("/"));
        answer.map(|a| a.text()).map_err(|e| e.to_string())
    });
    let first = all.next().expect("three");
    for other in all {
        assert_eq!(first, other, "{body}");
    }
    first
}

#[track_caller]
fn check(body: &str, expected: &str) {
    assert_eq!(run(body).as_deref(), Ok(expected), "{body}");
}

const ADA: &str = r#"{"id":1,"name":"Ada","note":null}"#;
const BOB: &str = r#"{"id":2,"name":"Bób €","note":"x"}"#;

#[test]
fn rows_are_plain_objects_with_their_columns_in_order() {
    check("() => data.people()", &format!("[{ADA},{BOB}]"));
    check("() => data.person()", ADA);
    check("() => data.nobody()", "[]");
    check("() => [data.person(false) === null]", "[true]");
    check(
        "() => data.people().map((r) => r.id).concat(data.people().length)",
        "[1,2,2]",
    );
    check(
        "() => { const r = data.person(); r.zed = [1]; delete r.name; r.id = undefined; return r; }",
        r#"{"note":null,"zed":[1]}"#,
    );
    check(
        "() => { const [a, b] = data.people(); return { ...a, extra: Object.keys(b) }; }",
        r#"{"id":1,"name":"Ada","note":null,"extra":["id","name","note"]}"#,
    );
    check(
        "() => { const r = data.person(); return [Object.getPrototypeOf(r) === Object.prototype, \
         Array.isArray(data.people()), r.hasOwnProperty('note')]; }",
        "[true,true,true]",
    );
    check(
        "() => { const r = data.people(); r.push({ id: 3 }); r.sort((a, b) => b.id - a.id); return r.map((x) => \
         x.id); }",
        "[3,2,1]",
    );
    check(
        "() => JSON.stringify(data.people()) === JSON.stringify(data.people().map((r) => ({ ...r })))",
        "true",
    );
}

#[test]
fn rows_that_give_answers_have_any_number_of_parameters_before_the_options() {
    for (call, expected) in [
        ("probe.page()", "200 "),
        ("probe.page(201)", "201 "),
        ("probe.page({ headers: { 'x-a': 'b' } })", "200 "),
        ("probe.pageOf('a', 'b', 'c', 'd')", "200 abcd"),
        (
            "probe.pageOf('a', 'b', 'c', 'd', { status: 202 })",
            "202 abcd",
        ),
        ("req.visitPage(201)", "201 "),
        ("req.visitPageOf('a', 'b', 'c', 'd', 202)", "202 abcd"),
    ] {
        let answer = app(&format!("(req) => {call}")).only(get("/"));
        let answer = answer.map(|answer| format!("{} {}", answer.code(), answer.text()));
        assert_eq!(answer.as_deref().ok(), Some(expected), "{call}");
    }
    let refused = run("() => probe.pageOf('a', 'b', 'c', 4, 202)").expect_err("a number");
    assert!(refused.contains("probe.pageOf: argument 4"), "{refused}");
}

#[test]
fn a_row_that_changes_changes_alone() {
    check(
        "() => { const [a, b] = data.people(); a.more = 1; delete b.id; const [c] = data.people(); return [a, b, c]; }",
        &format!(
            r#"[{{"id":1,"name":"Ada","note":null,"more":1}},{{"name":"Bób €","note":"x"}},{ADA}]"#
        ),
    );
    check(
        "() => { const r = data.person(); for (let i = 0; i < 40; i++) r['k' + i] = i; for (let i = 1; i < 40; i++) \
         delete r['k' + i]; return r; }",
        r#"{"id":1,"name":"Ada","note":null,"k0":0}"#,
    );
    check(
        "() => { const r = data.person(); Object.defineProperty(r, 'id', { get: () => 'got', enumerable: true }); \
         Object.freeze(r); return r; }",
        r#"{"id":"got","name":"Ada","note":null}"#,
    );
    check(
        "() => { const [a, b] = data.people(); a.note = { toJSON() { delete a.later; b.name = 1; return 'n'; } }; \
         a.later = 2; a.last = 3; return [a, b]; }",
        r#"[{"id":1,"name":"Ada","note":"n","last":3},{"id":2,"name":1,"note":"x"}]"#,
    );
    check(
        "() => { const r = data.person(); r.note = { toJSON() { for (let i = 0; i < 50; i++) r['x' + i] = i; return \
         'n'; } }; r.after = 1; const text = JSON.stringify(r); return [text]; }",
        r#"["{\"id\":1,\"name\":\"Ada\",\"note\":\"n\",\"after\":1}"]"#,
    );
    check(
        "() => { const r = data.person(); r.id = { toJSON() { delete r.name; r.note = 5; r.name = 'again'; r.extra = \
         1; return 0; } }; return r; }",
        r#"{"id":0,"name":"again","note":5}"#,
    );
    check(
        "() => { Object.prototype.toJSON = function () { return 'all'; }; try { return JSON.stringify(data.person()); \
         } finally { delete Object.prototype.toJSON; } }",
        "\"all\"",
    );
    check(
        "() => { const r = data.person(); r.toJSON = () => 'own'; return [r]; }",
        r#"["own"]"#,
    );
}

#[test]
fn cells_are_what_they_are() {
    check(
        "() => { const [r] = data.oddCells(); return [r.bytes instanceof Uint8Array, [...r.bytes], \
         Object.getOwnPropertyDescriptor(r, '__proto__').value,
           r.toString, r[7], typeof r.big, r.big === -9007199254740993n, Object.getPrototypeOf(r) === \
            Object.prototype]; }",
        r#"[true,[255,0],0.5,3,"","bigint",true,true]"#,
    );
    check("() => data.people().map((r) => r.name.length)", "[3,5]");
    check(
        "() => { const { zero, before, at, far } = data.dates(); return [at instanceof Date, at.getTime(), +before, \
         Number.isNaN(far.getTime()), { zero, at }]; }",
        r#"[true,1769862896789,-1,true,{"zero":"1970-01-01T00:00:00.000Z","at":"2026-01-31T12:34:56.789Z"}]"#,
    );
}

#[test]
fn columns_may_be_many_or_have_the_same_name() {
    check("() => data.wide(3)", r#"[{"c0":0,"c1":1,"c2":2}]"#);
    check("() => data.wide(4)", r#"[{"c0":1,"c1":3}]"#);
    for count in [65, 301] {
        let members: Vec<String> = (0..count).map(|at| format!("\"c{at}\":{at}")).collect();
        check(
            &format!("() => data.wide({count})"),
            &format!("[{{{}}}]", members.join(",")),
        );
    }
    let app =
        app("() => { for (let i = 0; i < 300; i++) data.wide(5); return data.wide(7)[0].c6; }");
    for _ in 0..50 {
        assert_eq!(app.text(get("/")), "6");
    }
    app.isolate.collect_garbage();
    let before = app.isolate.memory_bytes();
    for _ in 0..50 {
        assert_eq!(app.text(get("/")), "6");
    }
    app.isolate.collect_garbage();
    let after = app.isolate.memory_bytes();
    assert!(after < before + 64 * 1024, "{before} then {after}");
}

#[test]
fn values_reach_capabilities_as_they_are() {
    for (value, expected) in [
        (
            "[1, 'a', null, undefined, true]",
            r#"List([Int(1), Text("a"), Null, Null, Bool(true)])"#,
        ),
        ("[1, , 3]", "List([Int(1), Null, Int(3)])"),
        ("undefined", "Null"),
        ("9007199254740993n", "Int(9007199254740993)"),
        ("-9223372036854775808n", "Int(-9223372036854775808)"),
        ("0.5", "Float(0.5)"),
        ("-0", "Float(-0.0)"),
        ("0", "Int(0)"),
        ("NaN", "Float(NaN)"),
        ("2 ** 53", "Float(9007199254740992.0)"),
        (
            "new Uint8Array([1, 2, 3, 4]).subarray(1, 3)",
            "Bytes([2, 3])",
        ),
        ("new Uint8Array([1, 2]).buffer", "Bytes([1, 2])"),
        ("new Uint16Array([1, 2, 3]).subarray(1, 2)", "Bytes([2, 0])"),
        ("new Uint8ClampedArray([7])", "Bytes([7])"),
        (
            "new DataView(new Uint8Array([1, 2, 3]).buffer, 1, 2)",
            "Bytes([2, 3])",
        ),
        (
            "(() => { const v = new DataView(new ArrayBuffer(2)); Object.defineProperty(v, 'byteLength', { value: 1e9 \
             }); return v; })()",
            "Bytes([0, 0])",
        ),
        ("new Uint8Array(0)", "Bytes([])"),
        ("new Date(0)", r#"Text("1970-01-01T00:00:00.000Z")"#),
        ("{ a: 1, b: undefined }", r#"Map([("a", Int(1))])"#),
    ] {
        check(&format!("() => probe.shape({value})"), expected);
    }
    let error = run("() => probe.shape(2n ** 63n)").expect_err("too large");
    assert!(
        error.contains(
            "a BigInt that takes more than 64 bits cannot be passed here: give it as text"
        ),
        "{error}"
    );
    let error = run("() => probe.shape([new Date(NaN)])").expect_err("no time");
    assert!(
        error.contains("an invalid Date cannot be passed here"),
        "{error}"
    );
    let error = run("() => probe.shape([Object(1n)])").expect_err("no plain data");
    assert!(error.contains("an object that holds a BigInt"), "{error}");
}

#[test]
fn errors_say_names_as_javascript_has_them_and_keep_their_kind() {
    for (body, kind, message) in [
        (
            "data.slowQuery(1, true)",
            ErrorKind::TooLong,
            "takes too long (data.slowQuery: await data.slowQueryAsync)",
        ),
        (
            "await data.slowQueryAsync()",
            ErrorKind::Unavailable,
            "locked",
        ),
    ] {
        for body in [
            body.to_owned(),
            format!("try {{ {body} }} catch (e) {{ throw e; }}"),
        ] {
            let error = app(&format!("async () => {{ {body}; }}"))
                .only(get("/"))
                .expect_err("an error");
            assert_eq!((error.kind(), error.message()), (kind, message), "{body}");
        }
    }
    check(
        "async () => { try { await data.slowQueryAsync(); } catch (e) { return [e.status]; } }",
        "[503]",
    );
}

#[test]
fn a_tag_takes_templates_only() {
    check(
        "() => data.sql`a ${1} b ${'x'} c`",
        r#"List([Text("a "), Text(" b "), Text(" c")]) List([Int(1), Text("x")])"#,
    );
    check("() => data.sql``", r#"List([Text("")]) List([])"#);
    check(
        "() => data.sql`${[1, null]}${undefined}`",
        r#"List([Text(""), Text(""), Text("")]) List([List([Int(1), Null]), Null])"#,
    );
    for call in [
        "data.sql('DROP')",
        "data.sql()",
        "data.sql(['a', 'b'], 1)",
        "data.sql(Object.assign(['a', 'b'], { raw: ['a', 'b'] }))",
    ] {
        let error = run(&format!("() => {call}")).expect_err(call);
        assert!(
            error.contains("data.sql is a template tag: data.sql`"),
            "{call}: {error}"
        );
    }
    let error = run("() => data.sql`a ${() => 1}`").expect_err("a function");
    assert!(
        error.contains("data.sql: value 1: a function cannot be passed here"),
        "{error}"
    );
}
