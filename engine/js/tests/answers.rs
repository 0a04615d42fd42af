//! Results of handlers, fields of requests, and middleware.

mod common;

use common::{App, get, load, post};
use sampan_host::Isolate;

/// Gives `hiddenKeys()` to handlers.
const HIDDEN_KEYS: &str = include_str!("web/hidden_keys.js");

fn app(handler: &str) -> App {
    load(&format!(
        "import {{ app, json, html, text, redirect, stream }} from 'sampan'; app.get('/', {handler}); {HIDDEN_KEYS}"
    ))
}

/// Status, content type and body of what a handler answers.
fn answer(handler: &str) -> String {
    let answer = app(handler).only(get("/")).expect("an answer");
    format!(
        "{} {} {}",
        answer.code(),
        answer.header("content-type").unwrap_or("-"),
        answer.text()
    )
}

fn failure(handler: &str) -> String {
    app(handler)
        .only(get("/"))
        .expect_err("an error")
        .to_string()
}

#[test]
fn plain_values() {
    for (handler, expected) in [
        ("() => ({ a: 1 })", r#"200 application/json {"a":1}"#),
        (
            "() => [1, 'x', null]",
            r#"200 application/json [1,"x",null]"#,
        ),
        ("() => 42", "200 application/json 42"),
        ("() => true", "200 application/json true"),
        ("() => 'grüße'", "200 text/plain; charset=utf-8 grüße"),
        ("() => {}", "204 - "),
        ("() => null", "204 - "),
        (
            "async () => ({ late: true })",
            r#"200 application/json {"late":true}"#,
        ),
        (
            "() => new Date(0)",
            r#"200 application/json "1970-01-01T00:00:00.000Z""#,
        ),
    ] {
        assert_eq!(answer(handler), expected, "{handler}");
    }
}

#[test]
fn json_is_what_stringify_writes() {
    let values = r#"[
        { b: 1, a: 2, 2: "two", 1: "one", [Symbol("s")]: 1, f() {}, u: undefined, n: NaN, i: -Infinity, z: -0 },
        [undefined, () => 1, Symbol("x"), NaN], 1e21, 1e-7, 123456789012345680000, 0.1, 1/3, -1.5e300, 5e-324, 1e15, 1e16, 0.0001, 0.00001,
        "quote \" back \\ slash / \b\f\n\r\t \u0001 \u007f \u2028 é 🛶 \ud800 x \udc00\ud800",
        { toJSON(key) { return "key:" + key; } }, { a: { toJSON(key) { return { k: key, toJSON() { return 1 } }; } } },
        [{ toJSON(key) { return key; } }], new Date(0), new Number(5), new String("s"), new Boolean(false),
        Object.create({ inherited: 1 }, { own: { value: 1, enumerable: true }, hidden: { value: 2 } }),
        new (class A { x = 1; #p = 2; get g() { return 3; } })(), { get g() { return "got"; } }, [, 1, ,],
        new Proxy({ p: 1 }, {}), new Proxy([1, 2], {}), Object.assign([1], { extra: 1 }), { "ключ": 1, "a\"b": 2 },
        "x".repeat(300) + "é".repeat(300), { "": "" }, "a".concat("b").concat("c".repeat(500)), Object(1n) && 0,
    ]"#;
    let source = format!(
        r#"import {{ app }} from "sampan";
        const values = {values};
        app.get("/", () => values); app.get("/count", () => values.length);
        app.get("/one", (req) => [values[req.query.i]]);
        app.get("/stringified", (req) => JSON.stringify([values[req.query.i]], undefined, ""));
        app.get("/fast", (req) => JSON.stringify([values[req.query.i]]));"#
    );
    let app = load(&source);
    let count: usize = app
        .route("/count", get("/count"))
        .expect("a count")
        .text()
        .parse()
        .expect("a number");
    assert!(count > 30);
    for index in 0..count {
        let ours = app
            .route("/one", get(&format!("/one?i={index}")))
            .expect("an answer")
            .text();
        let theirs = app
            .route("/stringified", get(&format!("/stringified?i={index}")))
            .expect("an answer")
            .text();
        assert_eq!(ours, theirs, "value {index}");
        let fast = app
            .route("/fast", get(&format!("/fast?i={index}")))
            .expect("an answer")
            .text();
        assert_eq!(fast, theirs, "value {index}");
    }
}

#[test]
fn stringify_is_the_standards() {
    let source = r#"import { app } from "sampan";
        const cycle = {}; cycle.cycle = cycle;
        let deep = 1; for (let i = 0; i < 500; i++) deep = [deep];
        const show = (f) => { try { return String(f()); } catch (e) { return e.name; } };
        app.get("/", () => [show(() => JSON.stringify({ a: 1n })), show(() => JSON.stringify(cycle)), show(() => JSON.stringify(deep).length),
          show(() => JSON.stringify()), show(() => JSON.stringify(undefined)), show(() => JSON.stringify(() => 1)), show(() => JSON.stringify({ a: [1] }, null, 1)),
          show(() => JSON.stringify({ a: 1, b: 2 }, ["b"])), show(() => JSON.stringify({ toJSON() { throw new RangeError(); } })), JSON.stringify.name, JSON.stringify.length]);"#;
    assert_eq!(
        load(source).text(get("/")),
        r#"["TypeError","TypeError","1001","undefined","undefined","undefined","{\n \"a\": [\n  1\n ]\n}","{\"b\":2}","RangeError","stringify",3]"#
    );
    let big = r#"import { app } from "sampan"; BigInt.prototype.toJSON = function () { return `${this}n`; }; app.get("/", () => [1n]);"#;
    assert_eq!(load(big).text(get("/")), r#"["1n"]"#);
}

#[test]
fn json_of_big_integers_is_exact() {
    assert_eq!(
        answer("() => ({ id: 9223372036854775807n, neg: -1n })"),
        r#"200 application/json {"id":9223372036854775807,"neg":-1}"#
    );
}

#[test]
fn bytes_are_sent_as_bytes() {
    for (handler, expected) in [
        (
            "() => new Uint8Array([104, 105])",
            "200 application/octet-stream hi",
        ),
        (
            "() => new Uint8Array([104, 105]).buffer",
            "200 application/octet-stream hi",
        ),
        (
            "() => new DataView(new Uint8Array([120, 104, 105]).buffer, 1)",
            "200 application/octet-stream hi",
        ),
        (
            "() => new Blob(['<b>'], { type: 'text/html' })",
            "200 text/html <b>",
        ),
        ("() => new Blob(['x'])", "200 application/octet-stream x"),
        (
            "async () => new File(['x'], 'n', { type: 'a/b' })",
            "200 a/b x",
        ),
        (
            "() => new Blob(['s']).stream()",
            "200 application/octet-stream s",
        ),
        (
            "() => new (class A { a = 1 })()",
            "200 application/json {\"a\":1}",
        ),
        (
            "() => new (class A extends Map { toJSON() { return [...this]; } })([[1, 2]])",
            "200 application/json [[1,2]]",
        ),
    ] {
        assert_eq!(answer(handler), expected, "{handler}");
        let wrapped = format!("app.use((req, next) => next()); app.get('/', {handler});");
        let source = format!("import {{ app, json, text }} from 'sampan'; {wrapped}");
        let made = load(&source).wrapped(get("/")).expect("an answer");
        let content_type = made.header("content-type").unwrap_or("-");
        let shown = format!("{} {content_type} {}", made.code(), made.text());
        assert_eq!(shown, expected, "{handler} in middleware");
    }
}

/// QuickJS tells the length that a view had at the beginning.
#[test]
fn a_view_of_a_resized_buffer_shows_what_it_has_now() {
    let view = |size: u32, view: &str, now: u32| {
        format!(
            "() => {{ const b = new ArrayBuffer({size}, {{ maxByteLength: 400000 }}); const a = new {view}; \
             a.fill(65); b.resize({now}); return a; }}"
        )
    };
    for (size, shown, now, expected) in [
        (100_000, "Uint8Array(b)", 10, 10),
        (100, "Uint8Array(b)", 10, 10),
        (100_000, "Uint8Array(b, 1000)", 1010, 10),
        (100_000, "Uint8Array(b, 1000)", 500, 0),
        (100_000, "Uint8Array(b, 0, 50000)", 60_000, 50_000),
        (100_000, "Uint8Array(b, 0, 50000)", 40_000, 0),
        (20_000, "Uint8Array(b)", 300_000, 300_000),
        (20_000, "Uint8Array(b)", 0, 0),
        (100_000, "Uint16Array(b)", 10, 10),
    ] {
        let handler = view(size, shown, now);
        let body = app(&handler).only(get("/")).expect("an answer").body;
        let plain = |byte: &u8| matches!(byte, 0 | 65);
        assert_eq!(body.len(), expected, "{handler}");
        assert!(body.iter().all(plain), "{handler}");
    }
}

#[test]
fn what_is_no_answer_is_an_error() {
    for (handler, expected) in [
        ("() => () => 1", "a handler returned a function"),
        ("() => Symbol('x')", "a handler returned a symbol"),
        (
            "() => ({ a: new Map([[1, 2]]) })",
            "'a': a Map has no place in JSON; write Object.fromEntries(map)",
        ),
        ("() => [new Set([1])]", "'0': a Set has no place in JSON"),
        (
            "() => (function* () { yield 1; })()",
            "a generator has no place in JSON; write [...generator]",
        ),
        (
            "() => ({ g: (async function* () { yield 1; })() })",
            "'g': an async generator has no place in JSON",
        ),
        ("() => json([1].values())", "an iterator has no place"),
        ("() => new Map([[1, 2]]).keys()", "an iterator has no place"),
        ("() => new Set([1]).values()", "an iterator has no place"),
        ("() => 'x'[Symbol.iterator]()", "an iterator has no place"),
        ("() => 'x'.matchAll(/x/g)", "an iterator has no place"),
        (
            "() => [1].values().map((x) => x)",
            "an iterator has no place",
        ),
        (
            "() => Iterator.from({ next() {} })",
            "an iterator has no place",
        ),
        ("() => Iterator.concat([1])", "an iterator has no place"),
        (
            "() => new (class extends Iterator { a = 1 })()",
            "an iterator has no place",
        ),
        ("() => ({ r: /x/ })", "'r': a RegExp has no place in JSON"),
        ("() => new WeakMap()", "a WeakMap or WeakSet has no place"),
        (
            "() => json(new WeakSet())",
            "a WeakMap or WeakSet has no place",
        ),
        (
            "() => stream(function* (write) { yield write('x'); })",
            "stream takes a plain or an async function, not a generator function: call write",
        ),
        (
            "() => stream(async function* (write) { yield write('x'); })",
            "stream takes a plain or an async function, not a generator function",
        ),
        ("() => new Error('e')", "an Error has no place in JSON"),
        (
            "() => ({ e: new TypeError('e') })",
            "'e': an Error has no place in JSON",
        ),
        (
            "() => ({ b: new Uint8Array(2) })",
            "'b': a buffer of bytes has no place in JSON",
        ),
        (
            "() => json(new Float64Array(2))",
            "a buffer of bytes has no place in JSON",
        ),
        ("() => ({ b: new Blob(['x']) })", "'b': a Blob has no place"),
        ("() => json(new Blob(['x']))", "a Blob has no place in JSON"),
        (
            "() => ({ s: new ReadableStream() })",
            "'s': a ReadableStream has no place in JSON",
        ),
        ("() => json(text('x'))", "a Response has no place in JSON"),
        (
            "(req) => ({ req })",
            "'req': a Request has no place in JSON",
        ),
        (
            "(req) => ({ h: req.headers })",
            "'h': an object that lists pairs has no place in JSON",
        ),
        ("() => json(undefined)", "undefined has no place in JSON"),
        (
            "() => { const a = {}; a.a = a; return a; }",
            "contains itself or nests more than 128 deep",
        ),
        ("async () => () => 1", "a handler returned a function"),
        ("() => Response.error()", "Response.error() is no answer"),
        (
            "async () => { const r = new Response('x'); await r.text(); return r; }",
            "has been read",
        ),
    ] {
        let error = failure(handler);
        assert!(error.contains(expected), "{handler}: {error}");
    }
}

#[test]
fn builders_make_responses() {
    for (handler, expected) in [
        (
            "() => json({ a: 1 }, 201)",
            r#"201 application/json {"a":1}"#,
        ),
        ("() => app.json([])", "200 application/json []"),
        ("() => html('<b>')", "200 text/html; charset=utf-8 <b>"),
        (
            "() => text('x', { status: 404 })",
            "404 text/plain; charset=utf-8 x",
        ),
        (
            "() => text('x', { headers: { 'content-type': 'text/csv' } })",
            "200 text/csv x",
        ),
        (
            "() => new Response('x', { status: 202, headers: { 'Content-Type': 'a/b' } })",
            "202 a/b x",
        ),
        (
            "() => Response.json({ a: 1 })",
            r#"200 application/json {"a":1}"#,
        ),
        ("() => new Response(new Uint8Array([104, 105]))", "200 - hi"),
        (
            "() => new Response(new Blob(['blob'], { type: 'x/y' }))",
            "200 x/y blob",
        ),
        ("() => new Response(null, { status: 204 })", "204 - "),
        (
            "() => new Response(new URLSearchParams({ a: 'b c' }))",
            "200 application/x-www-form-urlencoded;charset=UTF-8 a=b+c",
        ),
    ] {
        assert_eq!(answer(handler), expected, "{handler}");
    }
    let redirected = app("() => redirect('/there', 303)")
        .only(get("/"))
        .expect("an answer");
    assert_eq!(
        (redirected.code(), redirected.header("location")),
        (303, Some("/there"))
    );
    for (handler, expected) in [
        (
            "() => json({}, { code: 1 })",
            "json: unknown option 'code'; the options are status, headers",
        ),
        ("() => text('x', 700)", "the status must be a whole number"),
        ("() => json(() => 1)", "a function has no place in JSON"),
        (
            "() => text('x', { headers: { a: 'b\\r\\nc: d' } })",
            "invalid value for header \"a\"",
        ),
    ] {
        assert!(
            failure(handler).contains(expected),
            "{handler}: {}",
            failure(handler)
        );
    }
}

#[test]
fn headers_set_behind_the_checks_are_checked_again() {
    let error = failure(
        "() => { const r = text('x'); r.headers[hiddenKeys().list].push('a', 'b\\n'); return r; }",
    );
    assert!(error.contains("control byte"), "{error}");
}

#[test]
fn what_web_objects_keep_is_not_listed() {
    for made in [
        "new Request('http://a/', { method: 'POST', body: 'x' })",
        "new Response('x', { headers: { a: 'b' } })",
        "new Headers({ a: 'b' })",
        "text('x')",
        "Response.error()",
        "req",
        "req.clone()",
    ] {
        let handler = format!(
            "(req) => Reflect.ownKeys({made}).concat(Object.keys({{ ...{made} }})).map(String)"
        );
        assert_eq!(answer(&handler), "200 application/json []", "{made}");
    }
}

#[test]
fn what_a_route_adds_to_a_request_can_be_written_and_the_webs_fields_cannot() {
    for name in ["params", "query", "cookies", "ip", "path", "state", "user"] {
        let handler = format!("(req) => {{ req.{name} = {{ a: 1 }}; return req.{name}; }}");
        assert_eq!(answer(&handler), "200 application/json {\"a\":1}", "{name}");
    }
    for name in ["method", "url", "headers", "body"] {
        let error = failure(&format!("(req) => {{ req.{name} = 'x'; }}"));
        assert!(error.contains("setter"), "{name}: {error}");
    }
}

#[test]
fn a_request_shows_its_parts() {
    let app = load(
        r#"import { app } from "sampan";
        app.post("/", (req) => ({
          method: req.method, path: req.path, url: req.url, ip: req.ip, query: req.query, cookies: req.cookies,
          type: req.headers.get("CONTENT-TYPE"), accept: req.headers.get("accept"), all: [...req.headers].length,
          same: req.params === req.params && req.headers === req.headers && req.state === req.state,
          isRequest: req instanceof Request, state: (req.state.user = "ada", req.state.user), extra: (req.user = 1, req.user),
          used: req.bodyUsed,
        }));"#,
    );
    let mut request = post("/a%20b?x=1&y=%C3%A9+z&x=2", "text/plain", "body");
    request.headers.push(("Accept".into(), b"a/b".to_vec()));
    request.headers.push(("accept".into(), b"c/\xe9".to_vec()));
    request
        .headers
        .push(("Cookie".into(), b"sid=42; theme=\"dark\"; sid=43".to_vec()));
    assert_eq!(
        app.text(request),
        r#"{"method":"POST","path":"/a%20b","url":"http://test.example/a%20b?x=1&y=%C3%A9+z&x=2","ip":"192.0.2.1","query":{"x":["1","2"],"y":"é z"},"cookies":{"sid":"42","theme":"dark"},"type":"text/plain","accept":"a/b, c/é","all":3,"same":true,"isRequest":true,"state":"ada","extra":1,"used":false}"#
    );
}

#[test]
fn a_body_is_read_once_in_any_way() {
    let cases = [
        (
            "await req.text()",
            r#"200 text/plain; charset=utf-8 {"a":[1]}"#,
        ),
        ("await req.json()", r#"200 application/json {"a":[1]}"#),
        (
            "new TextDecoder().decode(await req.bytes())",
            r#"200 text/plain; charset=utf-8 {"a":[1]}"#,
        ),
        (
            "new TextDecoder().decode(await req.arrayBuffer())",
            r#"200 text/plain; charset=utf-8 {"a":[1]}"#,
        ),
        (
            "await new Response(req.body).text()",
            r#"200 text/plain; charset=utf-8 {"a":[1]}"#,
        ),
        (
            "[await req.clone().json(), await req.json()]",
            r#"200 application/json [{"a":[1]},{"a":[1]}]"#,
        ),
        (
            "[req.bodyUsed, await req.text(), req.bodyUsed]",
            r#"200 application/json [false,"{\"a\":[1]}",true]"#,
        ),
        (
            "await new Request(req).json()",
            r#"200 application/json {"a":[1]}"#,
        ),
        (
            "(await (await req.blob()).text())",
            r#"200 text/plain; charset=utf-8 {"a":[1]}"#,
        ),
        (
            "[await req.text(), await req.json().catch((e) => e.message)]",
            r#"200 application/json ["{\"a\":[1]}","the body has already been read"]"#,
        ),
        (
            "[await req.json(), await req.arrayBuffer().catch((e) => e.message)]",
            r#"200 application/json [{"a":[1]},"the body has already been read"]"#,
        ),
    ];
    for (expression, expected) in cases {
        let app = load(&format!(
            "import {{ app }} from 'sampan'; app.post('/', async (req) => {expression});"
        ));
        let answer = app
            .only(post("/", "application/json", r#"{"a":[1]}"#))
            .expect("an answer");
        let shown = format!(
            "{} {} {}",
            answer.code(),
            answer.header("content-type").unwrap_or("-"),
            answer.text()
        );
        assert_eq!(shown, expected, "{expression}");
    }
    let app = load(
        "import { app } from 'sampan'; app.post('/', async (req) => [req.body, await req.text()]);",
    );
    assert_eq!(app.text(post("/", "text/plain", "")), r#"[null,""]"#);
}

#[test]
fn forms_are_objects() {
    let app = load("import { app } from 'sampan'; app.post('/', async (req) => await req.form());");
    let urlencoded = post(
        "/",
        "application/x-www-form-urlencoded; charset=utf-8",
        "a=1&b=x+y&a=2&__proto__=p",
    );
    assert_eq!(
        app.text(urlencoded),
        r#"{"a":["1","2"],"b":"x y","__proto__":"p"}"#
    );
    let parts = "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B\r\nContent-Disposition: form-data; \
     name=\"a\"\r\n\r\n2\r\n--B--\r\n";
    assert_eq!(
        app.text(post("/", "multipart/form-data; boundary=B", parts)),
        r#"{"a":["1","2"]}"#
    );
    let error = app
        .only(post("/", "text/plain", "a=1"))
        .expect_err("no form");
    assert_eq!(
        (error.kind().status(), error.message()),
        (
            415,
            "expected a body of type application/x-www-form-urlencoded or multipart/form-data"
        )
    );
}

#[test]
fn malformed_json_is_the_clients_fault() {
    let app = load("import { app } from 'sampan'; app.post('/', async (req) => await req.json());");
    for (text, expected) in [
        (
            "{\"a\": }",
            "invalid JSON: expected a value at line 1, column 7",
        ),
        (
            "",
            "invalid JSON: the text ends where a value should be at line 1, column 1",
        ),
        ("[1,]", "invalid JSON: expected a value at line 1, column 4"),
    ] {
        let error = app
            .only(post("/", "application/json", text))
            .expect_err("no JSON");
        assert_eq!(
            (error.kind(), error.message()),
            (sampan_host::ErrorKind::BadRequest, expected)
        );
    }
    let deep = "[".repeat(129) + &"]".repeat(129);
    assert!(
        app.only(post("/", "application/json", &deep))
            .expect_err("too deep")
            .message()
            .contains("nested too deeply")
    );
}

#[test]
fn middleware_wraps() {
    let app = load(
        r#"import { app, text, time } from "sampan";
        app.use((req, next) => { const res = next(req); res.headers.set("x-outer", "1"); return res; });
        app.use("/x/*", async (req, next) => { await time.sleep(0.001); const res = await next(req); res.headers.append("x-inner", String(res.status)); });
        app.get("/", (req) => ({ via: req.path }));"#,
    );
    // The first one is synchronous around one that waits: it finds a promise.
    let error = app
        .wrapped(get("/y"))
        .expect_err("a promise has no headers")
        .to_string();
    assert!(
        error.contains("headers") || error.contains("undefined"),
        "{error}"
    );
    let app = load(
        r#"import { app, text, time } from "sampan";
        app.use(async (req, next) => { const res = await next(req); res.headers.set("x-outer", "1"); return res; });
        app.use("/x/*", async (req, next) => { await time.sleep(0.001); const res = await next(req); res.headers.append("x-inner", String(res.status)); });
        app.get("/", (req) => ({ via: req.path }));"#,
    );
    let answer = app.wrapped(get("/y")).expect("an answer");
    assert_eq!(
        (
            answer.header("x-outer"),
            answer.header("x-inner"),
            answer.text().as_str()
        ),
        (Some("1"), Some("200"), r#"{"via":"/y"}"#)
    );
    // On an unknown path the end of the chain is empty.
    let ids: Vec<_> = app
        .isolate
        .program()
        .middleware
        .iter()
        .map(|m| m.handler)
        .collect();
    let answer = app
        .run(app.call(get("/nowhere"), None, &ids))
        .expect("an answer");
    assert_eq!(
        (
            answer.code(),
            answer.header("x-inner"),
            answer.text().as_str()
        ),
        (404, Some("404"), "")
    );
}

#[test]
fn middleware_may_stop_the_chain_or_change_the_answer() {
    let app = load(
        r#"import { app, text } from "sampan";
        app.use((req, next) => req.query.stop ? text("stopped", 403) : next(req));
        app.use((req, next) => { const res = next(req); return req.query.twice ? { twice: res.status } : res; });
        app.use((req, next) => { try { return next(req); } catch (error) { return { caught: error.message }; } });
        app.get("/", (req) => { if (req.query.fail) throw new Error("oh"); return "fine"; });"#,
    );
    let text = |path| {
        let answer = app.wrapped(get(path)).expect("an answer");
        format!("{} {}", answer.code(), answer.text())
    };
    assert_eq!(text("/"), "200 fine");
    assert_eq!(text("/?stop=1"), "403 stopped");
    assert_eq!(text("/?twice=1"), r#"200 {"twice":200}"#);
    assert_eq!(text("/?fail=1"), r#"200 {"caught":"oh"}"#);
}

#[test]
fn handlers_of_unknown_paths_and_errors_have_their_status() {
    let app = load(
        r#"import { app } from "sampan";
        app.get("/", () => { throw Object.assign(new Error("no such user"), { status: 404, code: "E1" }); });
        app.notFound((req) => ({ nothing: req.path }));
        app.onError((req, error) => ({ seen: error.message, code: error.code, is: error instanceof Error }));"#,
    );
    let program = app.isolate.program();
    let answer = app
        .run(app.call(get("/x"), program.not_found, &[]))
        .expect("an answer");
    assert_eq!(
        (answer.code(), answer.text().as_str()),
        (404, r#"{"nothing":"/x"}"#)
    );
    let error = app.only(get("/")).expect_err("an error");
    let mut call = app.call(get("/"), program.on_error, &[]);
    call.error = Some(&error);
    let answer = app.run(call).expect("an answer");
    assert_eq!(
        (answer.code(), answer.text().as_str()),
        (404, r#"{"seen":"no such user","code":"E1","is":true}"#)
    );
    // Later, when what was thrown is gone, an equal error takes its place.
    let mut call = app.call(get("/"), program.on_error, &[]);
    call.error = Some(&error);
    assert_eq!(
        app.run(call).expect("an answer").text(),
        r#"{"seen":"no such user","code":"E1","is":true}"#
    );
}

#[test]
fn a_default_export_with_fetch_is_served() {
    let app = load(
        "export default { greeting: 'hi', async fetch(request, env, ctx) { ctx.waitUntil(Promise.resolve()); return \
         new Response(this.greeting + new URL(request.url).pathname); } };",
    );
    let fetch = app.isolate.program().fetch.expect("a fetch handler");
    assert_eq!(
        app.run(app.call(get("/there"), Some(fetch), &[]))
            .expect("an answer")
            .text(),
        "hi/there"
    );
}

#[test]
fn a_fetch_export_gets_a_web_request_and_its_middleware_all_fields() {
    let app = load(
        r#"import { app } from "sampan";
        app.use(async (req, next) => {
          req.state.user = "ada";
          const before = req.path;
          const res = await next(req);
          res.headers.set("x-seen", [before, req.path, req.state.user, typeof req.form].join());
          return res;
        });
        app.get("/proxy", (req) => { const p = new Proxy(req, {}); p.params = { own: 1 }; return req.params; });
        export default {
          fetch(request, env, context) {
            if (request.url.endsWith("/throws")) throw new Response("thrown");
            request.id = "mine";
            const fields = ["params", "query", "cookies", "path", "state", "ip", "form"].filter((name) => name in request);
            const { method, id } = request;
            return Response.json({ fields, method, id, user: context.state.user, keys: Object.keys(context) });
          },
        };"#,
    );
    let program = app.isolate.program();
    let (fetch, middleware) = (program.fetch, [program.middleware[0].handler]);
    let run = |path: &str, chain| {
        app.run(app.call(get(path), fetch, chain))
            .expect("an answer")
    };
    let wrapped = run("/x", &middleware);
    let expected = r#"{"fields":[],"method":"GET","id":"mine","user":"ada","keys":[]}"#;
    assert_eq!(wrapped.text(), expected);
    assert_eq!(wrapped.header("x-seen"), Some("/x,/x,ada,function"));
    let thrown = run("/throws", &middleware);
    assert_eq!(thrown.text(), "thrown");
    assert_eq!(
        thrown.header("x-seen"),
        Some("/throws,/throws,ada,function")
    );
    let alone = run("/x", &[]);
    assert_eq!(
        alone.text(),
        r#"{"fields":[],"method":"GET","id":"mine","keys":[]}"#
    );
    // A proxy of a route's request can be written to.
    assert_eq!(
        app.route("/proxy", get("/proxy"))
            .expect("an answer")
            .text(),
        r#"{"own":1}"#
    );
}

/// However QuickJS keeps a string, its bytes are the same.
#[test]
fn strings_of_every_kind_are_sent_as_they_are() {
    let long = "0123456789".repeat(10_000);
    for (source, expected) in [
        ("'0123456789'.repeat(10000)", long.clone()),
        ("'0123456789'.repeat(10001).slice(0, 100000)", long.clone()),
        (
            "'x' + '0123456789'.repeat(5000) + '0123456789'.repeat(5000)",
            format!("x{long}"),
        ),
        ("'0123456789'.repeat(10000) + 'é'", format!("{long}é")),
        ("'é'.repeat(50000)", "é".repeat(50_000)),
        ("'€🛶'.repeat(20000)", "€🛶".repeat(20_000)),
        (
            "'a'.repeat(50000) + '\\ud800'",
            "a".repeat(50_000) + "\u{fffd}",
        ),
        ("''", String::new()),
        ("'a\\0b'", "a\0b".to_owned()),
    ] {
        for built in [
            source.to_owned(),
            format!("text({source})"),
            format!("new Response({source})"),
        ] {
            let app = load(&format!(
                "import {{ app, text }} from 'sampan'; app.get('/', () => {built});"
            ));
            for _ in 0..2 {
                assert!(app.text(get("/")) == expected, "{built}");
            }
        }
    }
    let app = load("import { app } from 'sampan'; app.post('/', async (req) => await req.text());");
    for text in [&*long, "é€🛶", "\u{feff}x", ""] {
        let expected = text.strip_prefix('\u{feff}').unwrap_or(text);
        assert!(app.text(post("/", "text/plain", text)) == expected);
    }
}
