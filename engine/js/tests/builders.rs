//! Refusals of the builders, thrown responses, responses in the hands of middleware, and what the log shows.

mod common;

use common::{App, TestAnswer, get, load, post};
use sampan_host::Isolate;

fn app(source: &str) -> App {
    load(&format!(
        "import {{ app, json, html, text, redirect, stream, log }} from 'sampan'; {source}"
    ))
}

fn shown(answer: &TestAnswer) -> String {
    format!("{} {}", answer.code(), answer.text())
}

#[test]
fn builders_keep_the_status_of_an_error() {
    for (built, expected) in [
        ("text('x', error.status)", "500 x"),
        ("html('x', { status: undefined })", "500 x"),
        ("json('x')", "500 \"x\""),
        ("text('x', 200)", "200 x"),
        ("new Response('x')", "200 x"),
        ("Promise.resolve(text('x'))", "500 x"),
    ] {
        let app = app(&format!(
            "app.onError((req, error) => {built}); app.get('/', () => {{ throw new Error('why'); }});"
        ));
        let error = app.only(get("/")).expect_err("an error");
        let mut call = app.call(get("/"), app.isolate.program().on_error, &[]);
        call.error = Some(&error);
        assert_eq!(
            shown(&app.run(call).expect("an answer")),
            expected,
            "{built}"
        );
    }
    let app = app("const same = html('nope'); app.notFound(() => same); app.get('/', () => same);");
    let missing = app.call(get("/x"), app.isolate.program().not_found, &[]);
    assert_eq!(shown(&app.run(missing).expect("an answer")), "404 nope");
    assert_eq!(shown(&app.only(get("/")).expect("an answer")), "200 nope");
}

#[test]
fn thrown_responses_are_answers() {
    for handler in [
        "() => { throw text('no', 403); }",
        "async () => { throw new Response('no', { status: 403 }); }",
        "async () => { await Promise.resolve(); throw text('no', 403); }",
    ] {
        let plain = app(&format!("app.get('/', {handler});"));
        assert_eq!(
            shown(&plain.only(get("/")).expect("an answer")),
            "403 no",
            "{handler}"
        );
        let wrapped = app(&format!(
            "app.use(async (req, next) => {{ const res = await next(req); res.headers.set('x-seen', res.status); \
             return res; }});
            app.get('/', {handler});"
        ));
        let answer = wrapped.wrapped(get("/")).expect("an answer");
        assert_eq!(
            (shown(&answer).as_str(), answer.header("x-seen")),
            ("403 no", Some("403"))
        );
    }
}

#[test]
fn middleware_may_change_guarded_headers() {
    let app = app(
        "const same = Response.redirect('/there');
        app.use((req, next) => { const res = next(req); res.headers.append('x-own', 'yes'); return res; });
        app.get('/', () => same);",
    );
    for _ in 0..2 {
        let answer = app.wrapped(get("/")).expect("an answer");
        assert_eq!(
            (
                answer.code(),
                answer.header("location"),
                answer.header("x-own")
            ),
            (302, Some("/there"), Some("yes"))
        );
    }
}

#[test]
fn bad_forms_are_the_clients_fault() {
    let app = app("app.post('/', async (req) => [...await req.formData()]);");
    for (content_type, expected) in [
        ("text/plain", 415),
        ("multipart/form-data", 400),
        ("multipart/form-data; boundary=B", 400),
    ] {
        let error = app
            .only(post("/", content_type, "a=1"))
            .expect_err("no form");
        assert_eq!(error.kind().status(), expected, "{content_type}: {error}");
    }
    let own = load(
        "import { app } from 'sampan'; app.get('/', async () => [...await new Response('x').formData()]);",
    );
    let error = own.only(get("/")).expect_err("no form");
    assert_eq!(error.kind().status(), 500, "not what the client sent");
}

#[test]
fn builders_check_their_arguments() {
    for (built, expected) in [
        ("html()", "html: the body must be a string, not undefined"),
        ("text(null)", "text: the body must be a string, not null"),
        ("text({})", "text: the body must be a string, not an object"),
        (
            "redirect()",
            "redirect: the location must be a string, not undefined",
        ),
        (
            "redirect('/', 200)",
            "redirect: the status must be 300, 301, 302, 303, 307 or 308, not 200",
        ),
    ] {
        let error = app(&format!("app.get('/', () => {built});"))
            .only(get("/"))
            .expect_err("an error");
        assert!(error.message().contains(expected), "{built}: {error}");
    }
    assert_eq!(
        app("app.get('/', () => text(new Uint8Array([104, 105])));").text(get("/")),
        "hi"
    );
    let away = app("app.get('/', () => redirect('/grüße 🛶?a=%20b#c', 303));")
        .only(get("/"))
        .expect("an answer");
    assert_eq!(
        away.header("location"),
        Some("/gr%C3%BC%C3%9Fe%20%F0%9F%9B%B6?a=%20b#c")
    );
}

#[test]
fn a_stream_says_what_it_takes() {
    let app = app("app.get('/', () => stream(async (write) => { await write(5); }));");
    let mut answer = app.only(get("/")).expect("an answer");
    let error = app.read(&mut answer).expect_err("a bad chunk");
    assert!(
        error
            .message()
            .contains("write takes a string or a Uint8Array, not number"),
        "{error}"
    );
}

#[test]
fn anything_can_be_logged() {
    let app = app(
        "app.get('/', () => {
            const self = {}; self.self = self;
            log.error(new TypeError('why'));
            log.info('x', { error: new Error('because'), f() {}, s: Symbol('s'), map: new Map(), re: /x/, own: new \
             (class Own {}), blob: new Blob(), self });
            log.info('y', { headers: new Headers({ a: '1', b: '2' }), request: new Request('http://h/') });
            return 'ok';
        });",
    );
    assert_eq!(app.text(get("/")), "ok");
    let notes = app.notes.0.borrow();
    assert_eq!(notes[0], "TypeError: why");
    for part in [
        "\"Error: because\"",
        "[function]",
        "[symbol]",
        "[Map]",
        "[RegExp]",
        "[Own]",
        "[Blob]",
        "[object that contains itself]",
    ] {
        assert!(notes[1].contains(part), "{part}: {}", notes[1]);
    }
    for part in ["(\"a\", Text(\"1\")), (\"b\", Text(\"2\"))", "[Request]"] {
        assert!(notes[2].contains(part), "{part}: {}", notes[2]);
    }
}

/// The fields that a builder sends for these headers, or what it throws.
fn fields(app: &App) -> String {
    match app.only(get("/")) {
        Ok(answer) => {
            let lines = answer.headers.iter();
            let lines = lines.map(|(name, value)| format!("{name}={value}"));
            lines.collect::<Vec<_>>().join("|")
        }
        Err(error) => error.message().to_owned(),
    }
}

/// Plain objects go into the answer without a `Headers`: what is sent must be the same.
#[test]
fn fields_of_a_builder_are_those_of_a_headers_object() {
    for (given, expected) in [
        ("{}", ""),
        ("{ 'X-Upper': 'a', 'x-lower': 'b' }", "x-upper=a|x-lower=b"),
        ("{ b: '1', a: '2', B: '3' }", "b=1|a=2|b=3"),
        (
            "{ 'x-n': 7, 'x-z': -0, 'x-f': 1.5, 'x-big': 10n }",
            "x-n=7|x-z=0|x-f=1.5|x-big=10",
        ),
        (
            "{ 'x-t': true, 'x-null': null, 'x-u': undefined }",
            "x-t=true|x-null=null|x-u=undefined",
        ),
        (
            "{ 'set-cookie': ['a=1', 'b=2'], 'x-l': [1, 'two'] }",
            "set-cookie=a=1|set-cookie=b=2|x-l=1|x-l=two",
        ),
        ("{ 'x-none': [], 'x-after': 'y' }", "x-after=y"),
        (
            "{ 'x-hole': [1, , 3] }",
            "x-hole=1|x-hole=undefined|x-hole=3",
        ),
        (
            "{ 'x-b': '  padded\\t', 'x-e': '', 'x-i': 'a\\tb c' }",
            "x-b=padded|x-e=|x-i=a\tb c",
        ),
        ("{ 'x-latin': 'größe' }", "x-latin=größe"),
        ("{ 'x-o': { toString: () => 'told' } }", "x-o=told"),
        ("{ get 'x-got'() { return 'it'; } }", "x-got=it"),
        (
            "{ 'x-list': Object.defineProperty([0], 0, { get: () => 'it', enumerable: true }) }",
            "x-list=it",
        ),
        (
            "Object.defineProperty({ 'x-a': 1 }, 'x-hidden', { value: 2 })",
            "x-a=1",
        ),
        (
            "Object.create(null, { 'x-bare': { value: 1, enumerable: true } })",
            "x-bare=1",
        ),
        (
            "Object.create({ 'x-inherited': 1 }, { 'x-own': { value: 2, enumerable: true } })",
            "x-own=2",
        ),
        ("new Proxy({ 'x-p': 1 }, {})", "x-p=1"),
        ("[['x-pair', 'p'], ['x-pair', 'q']]", "x-pair=p|x-pair=q"),
        ("new Map([['x-map', 'm']])", "x-map=m"),
        ("new Headers({ 'X-H': 'h' })", "x-h=h"),
        ("{ 1: 'one' }", "1=one"),
        ("{ 'content-type': 'text/own' }", "content-type=text/own"),
        ("{ 'Content-Type': ['text/own'] }", "content-type=text/own"),
        ("{ 'x y': 1 }", "invalid header name"),
        ("{ '': 1 }", "invalid header name"),
        ("{ 'größe': 1 }", "invalid header name"),
        ("{ 'x-c': 'a\\nb' }", "invalid value for header"),
        ("{ 'x-c': 'a\\u007fb' }", "invalid value for header"),
        ("{ 'x-c': ['fine', 'a\\0b'] }", "invalid value for header"),
        ("{ 'x-wide': '€' }", "invalid value for header"),
        ("{ [Symbol('s')]: 1 }", "a symbol cannot be a header name"),
        ("{ [Symbol.iterator]: 1 }", "is not iterable"),
        (
            "5",
            "Headers: the argument must be Headers, pairs or an object",
        ),
    ] {
        let own = app(&format!(
            "app.get('/', () => text('x', {{ headers: {given} }}));"
        ));
        let found = fields(&own);
        // The default type comes last.
        let found = found
            .strip_suffix("content-type=text/plain; charset=utf-8")
            .unwrap_or(&found);
        let found = found.strip_suffix('|').unwrap_or(found);
        if found.contains('=') || expected.is_empty() || expected.contains('=') {
            assert_eq!(found, expected, "{given}");
        } else {
            assert!(found.contains(expected), "{given}: {found}");
        }
    }
}

#[test]
fn fields_of_a_builder_are_read_once_and_when_it_is_called() {
    let own = app("app.get('/', () => {
            const headers = { 'x-a': 'before', 'x-l': ['before'] };
            const answer = text('x', { headers });
            headers['x-a'] = 'after'; headers['x-l'][0] = 'after'; headers['x-b'] = 'after';
            answer.headers.append('x-own', answer.headers.get('X-A'));
            return answer;
        });");
    assert_eq!(
        fields(&own),
        "x-a=before|x-l=before|content-type=text/plain; charset=utf-8|x-own=before"
    );
    let counted = app("let reads = 0;
        app.get('/', () => {
            text('x', { headers: { 'x-a': '1', get 'x-b'() { return String(++reads); } } });
            return text('x', { headers: { 'x-reads': reads } });
        });");
    assert!(fields(&counted).starts_with("x-reads=1|"));
    let caught = app(
        "app.get('/', () => { try { return text('x', { headers: { 'x y': 1 } }); } catch (e) { return \
         e.constructor.name; } });",
    );
    assert_eq!(caught.text(get("/")), "TypeError");
}
