//! Errors: kind, place and stack; loading; values on their way to capabilities.

mod common;

use common::{get, load, load_files, load_with};
use sampan_host::{ErrorKind, ScriptLimits};

fn failure(handler: &str) -> sampan_host::Error {
    let app = load(&format!(
        "import {{ app, probe }} from 'sampan';\n\napp.get('/', {handler});"
    ));
    app.only(get("/")).expect_err("an error")
}

#[test]
fn thrown_values_become_errors() {
    for (handler, kind, shown) in [
        (
            "() => { throw new Error('oh'); }",
            ErrorKind::Script,
            "app.js:3: oh",
        ),
        (
            "() => { null.x; }",
            ErrorKind::Script,
            "app.js:3: TypeError: cannot read property 'x' of null",
        ),
        ("() => { throw 'text'; }", ErrorKind::Script, "text"),
        (
            "() => { throw { code: 7 }; }",
            ErrorKind::Script,
            r#"uncaught {"code":7}"#,
        ),
        (
            "() => { throw { status: 404, detail: 'secret' }; }",
            ErrorKind::Status(404),
            "",
        ),
        (
            "() => { throw undefined; }",
            ErrorKind::Script,
            "uncaught undefined",
        ),
        (
            "() => { throw { status: 404, message: 'no such user' }; }",
            ErrorKind::Status(404),
            "no such user",
        ),
        (
            "() => { throw Object.assign(new TypeError('gone'), { status: 410 }); }",
            ErrorKind::Status(410),
            "app.js:3: gone",
        ),
        (
            "() => { throw Object.assign(new Error('odd'), { status: 200 }); }",
            ErrorKind::Script,
            "app.js:3: odd",
        ),
        (
            "() => { throw { get message() { throw 1; }, get status() { throw 2; } }; }",
            ErrorKind::Script,
            "uncaught object",
        ),
        (
            "async () => { throw new Error('async'); }",
            ErrorKind::Script,
            "app.js:3: async",
        ),
        (
            "() => probe.number('x')",
            ErrorKind::Script,
            "app.js:3: probe.number: argument 1 (seconds) must be a number, not a string",
        ),
        (
            "() => probe.number(new Date(0))",
            ErrorKind::Script,
            "app.js:3: probe.number: argument 1 (seconds) must be a number, not an object that becomes text, as a \
             Date does (date.getTime() is its number of milliseconds)",
        ),
        (
            "() => probe.echo(() => 1)",
            ErrorKind::Script,
            "app.js:3: probe.echo: argument 1 (value): a function cannot be passed here",
        ),
    ] {
        let error = failure(handler);
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (kind, shown),
            "{handler}"
        );
    }
}

#[test]
fn an_error_has_its_stack_and_its_causes() {
    let app = load_files(&[
        ("app.js", "import { app } from 'sampan';\nimport { inner } from './lib/inner.js';\napp.get('/', function \
         outer() {\n  return inner();\n});"),
        ("lib/inner.js", "export function inner() {\n  throw new Error('deep', { cause: new Error('root') });\n}"),
    ])
    .expect("it loads");
    let error = app.only(get("/")).expect_err("an error");
    assert_eq!(
        error.place().map(ToString::to_string).as_deref(),
        Some("lib/inner.js:2")
    );
    let stack = error.stack().expect("a stack");
    let lines: Vec<&str> = stack.lines().collect();
    assert!(
        lines[0].starts_with("at inner (lib/inner.js:2:")
            && lines[1].starts_with("at outer (app.js:4:"),
        "{stack}"
    );
    assert!(
        stack.contains("caused by: Error: root") && !stack.contains("sampan:"),
        "{stack}"
    );
}

#[test]
fn an_aggregate_error_shows_what_it_stands_for() {
    let app = load(
        "import { app } from 'sampan';\napp.get('/', async () => {\n  const fail = async (text) => { throw new \
         TypeError(text); };\n  await Promise.any([fail('one'), fail('two')]);\n});",
    );
    let error = app.only(get("/")).expect_err("an error");
    let stack = error.stack().expect("a stack");
    for part in [
        "one of its errors: TypeError: one",
        "one of its errors: TypeError: two",
        "(app.js:3:",
    ] {
        assert!(stack.contains(part), "{stack}");
    }
}

#[test]
fn a_stack_shows_no_frames_of_our_own() {
    let app = load(
        "import { app } from 'sampan';\napp.use((req, next) => next(req));\napp.get('/', function inner() { throw new \
         Error('oh'); });",
    );
    let error = app.wrapped(get("/")).expect_err("an error");
    let stack = error.stack().expect("a stack");
    assert!(
        stack.starts_with("at inner (app.js:3:") && stack.contains("(app.js:2:"),
        "{stack}"
    );
    assert!(!stack.contains("sampan:"), "{stack}");
}

#[test]
fn what_does_not_load_says_where() {
    for (files, shown) in [
        (
            vec![("app.js", "const a = 1;\nconst b = ;\n")],
            "app.js:2: SyntaxError",
        ),
        (
            vec![("app.js", "const page =\n  <p>hello</p>;\n")],
            "'<': if this is JSX, the name of the file must end with .jsx or .tsx",
        ),
        (
            vec![
                ("app.js", "import './page.jsx';"),
                ("page.jsx", "\nexport const page = <p>hello</p>;\n"),
            ],
            "page.jsx:1: cannot import \"react/jsx-runtime\": ",
        ),
        (
            vec![("app.js", "\nimport './missing.js';")],
            "app.js:2: cannot import \"./missing.js\": there is no file missing.js",
        ),
        (
            vec![
                ("app.js", "import { x } from './lib/utlis.js';"),
                ("lib/utils.js", ""),
                ("other.js", ""),
            ],
            "app.js:1: cannot import \"./lib/utlis.js\": there is no file lib/utlis.js; did you mean \"lib/utils.js\"?",
        ),
        (
            vec![("app.js", "import express from 'express';")],
            "app.js:1: cannot import \"express\": the package express is not installed: npm install express",
        ),
        (
            vec![("app.js", "import '../../etc/passwd';")],
            "app.js:1: cannot import \"../../etc/passwd\": it lies outside",
        ),
        (
            vec![
                ("app.js", "import './b.js';"),
                ("b.js", "\n\nlet x = 1; let x = 2;"),
            ],
            "b.js:3: SyntaxError",
        ),
        (
            vec![("app.js", "throw new Error('at start');")],
            "app.js:1: at start",
        ),
        (
            vec![(
                "app.js",
                "import { app } from 'sampan';\n\nimport { nothing } from 'sampan';",
            )],
            "app.js:3: cannot import \"nothing\": sampan has no export",
        ),
        (
            vec![("app.js", "import { appp } from 'sampan';")],
            "app.js:1: cannot import \"appp\": sampan has no export of that name; did you mean \"app\"?",
        ),
        (
            vec![
                ("app.js", "import d from './d.json' with { type: 'json' };"),
                ("d.json", "{"),
            ],
            "d.json: invalid JSON",
        ),
        (
            vec![(
                "app.js",
                "import { app } from 'sampan';\napp.get('no-slash', () => 1);",
            )],
            "app.js:2: app.get: the pattern must begin with",
        ),
        (
            vec![(
                "app.js",
                "import { app } from 'sampan';\napp.get('/', { bodyBytes: 1 }, () => 1);",
            )],
            "app.js:2: app.get: unknown option 'bodyBytes'; did you mean 'bodyBytesMax'? The options are bodyBytesMax, compress, etag, name, priority, slow, stream",
        ),
        (vec![("other.js", "")], "there is no file app.js"),
        (
            vec![("app.js", "let n = 0;\nfor (;;) n++;")],
            "the script ran longer than script_millis_max (500 ms)",
        ),
    ] {
        let error = load_files(&files).expect_err("it does not load");
        assert_eq!(error.kind(), ErrorKind::Load, "{files:?}");
        assert!(error.to_string().contains(shown), "{files:?}: {error}");
    }
}

#[test]
fn a_missing_export_is_named_where_it_is_imported() {
    let util = ("lib/util.js", "export const yes = 1;");
    for (name, source, line) in [
        (
            "app.js",
            "import { app } from 'sampan';\nimport {\n  yes,\n  nope,\n} from './lib/util.js';",
            4,
        ),
        (
            "app.js",
            "import './lib/util.js';\nimport nope from './lib/util.js';",
            2,
        ),
        ("app.js", "export { nope } from './lib/util.js';", 1),
    ] {
        let error = load_files(&[(name, source), util]).expect_err("an error");
        let place = error.place().map(ToString::to_string);
        assert_eq!(place, Some(format!("{name}:{line}")), "{error}");
        assert!(error.message().starts_with("cannot import \""), "{error}");
        assert!(
            error.message().contains("lib/util.js has no export"),
            "{error}"
        );
    }
}

#[test]
fn a_module_that_hangs_is_told_with_its_lines() {
    let error = load_files(&[
        (
            "app.js",
            "import { app } from 'sampan';\nimport './wait.js';",
        ),
        (
            "wait.js",
            "const f = async () => { await 1; };\nawait f();\nawait new Promise(() => {});",
        ),
    ])
    .expect_err("an error");
    let shown = error.to_string();
    assert!(shown.starts_with("wait.js:2: cannot wait here"), "{shown}");
    assert!(shown.ends_with("(it may also be wait.js:3)"), "{shown}");

    // The awaits of functions in other files are not told.
    let used = "import './wait.js'; export const used = async () => {\n  await 1;\n};";
    let error = load_files(&[
        ("app.js", "import './used.js';"),
        ("used.js", used),
        ("wait.js", "\nawait new Promise(() => {});"),
    ])
    .expect_err("an error");
    let shown = error.to_string();
    assert!(shown.starts_with("wait.js:2: cannot wait here"), "{shown}");
    assert!(!shown.contains("used.js"), "{shown}");

    // In a block: no file awaits outside of all brackets.
    let error =
        load_files(&[("app.js", "{\n  await new Promise(() => {});\n}")]).expect_err("an error");
    let shown = error.to_string();
    assert!(shown.starts_with("app.js:2: cannot wait here"), "{shown}");
}

#[test]
fn what_is_called_and_is_no_function_is_named() {
    for (handler, shown) in [
        (
            "(req) => req.nope()",
            "TypeError: req.nope is not a function",
        ),
        (
            "() => { const helper = 3; return helper(1); }",
            "TypeError: helper is not a function",
        ),
        (
            "(req) => { new req.path(); }",
            "TypeError: req.path is not a function",
        ),
        (
            "(req) => [1].map(req.nope)",
            "TypeError: map: an argument is not a function",
        ),
        ("() => ({})['x' + 1]()", "TypeError: not a function"),
        (
            "() => probe.echo(probe.nothing_like_it())",
            "TypeError: probe.nothing_like_it is not a function",
        ),
        (
            "() => { probe.echo(1)(2); }",
            "TypeError: probe.echo(...) gives no function: is a semicolon missing behind it?",
        ),
        (
            "() => { probe.echo(1)\n(2); }",
            "TypeError: not a function: is a semicolon missing in the line before?",
        ),
        (
            "(req) => req.rememberd('x')",
            "TypeError: req.rememberd is not a function: did you mean req.remember?",
        ),
        (
            "() => { const counter = {}; counter.waitAndAd(); }",
            "TypeError: counter.waitAndAd is not a function: did you mean counter.waitAndAdd?",
        ),
        (
            "(req) => req.quer.x",
            "TypeError: cannot read property 'x' of undefined: did you mean req.query?",
        ),
        (
            "() => { const other = {}; other.quer.x; }",
            "TypeError: cannot read property 'x' of undefined",
        ),
    ] {
        assert_eq!(failure(handler).message(), shown, "{handler}");
    }
}

#[test]
fn a_text_that_is_no_json_is_told_at_its_caller() {
    let error = failure("() => {\n  return JSON.parse('{');\n}");
    let place = error.place().map(ToString::to_string);
    assert_eq!(place.as_deref(), Some("app.js:4"), "{error}");
    assert!(error.message().contains("in JSON at position 1"), "{error}");
}

#[test]
fn modules_are_found() {
    let app = load_files(&[
        ("app.js", "import sampan, { app } from 'sampan'; import data, { default as again } from './data.json' with { \
         type: 'json' }; import * as lib from './lib/a.js';
            app.get('/', async () => ({ data, same: data === again && sampan === app, lib: lib.name, late: (await \
             import('./late.js')).value }));"),
        ("data.json", r#"{"n": [1, 2]}"#),
        ("lib/a.js", "import { b } from './b.js'; export const name = 'a' + b;"),
        ("lib/b.js", "export const b = 'b';"),
        ("late.js", "export const value = 'late';"),
    ])
    .expect("it loads");
    assert_eq!(
        app.text(get("/")),
        r#"{"data":{"n":[1,2]},"same":true,"lib":"ab","late":"late"}"#
    );
}

#[test]
fn values_cross_the_border_and_back() {
    for (value, shape) in [
        ("null", "Null"),
        ("undefined", "Null"),
        ("true", "Bool(true)"),
        ("5", "Int(5)"),
        ("-0.5", "Float(-0.5)"),
        ("2 ** 53", "Float(9007199254740992.0)"),
        ("9223372036854775807n", "Int(9223372036854775807)"),
        ("'é\\ud800'", "Text(\"é\u{fffd}\")"),
        ("new Uint8Array([1, 2])", "Bytes([1, 2])"),
        ("new Uint8Array([1, 2, 3]).subarray(1)", "Bytes([2, 3])"),
        ("new ArrayBuffer(2)", "Bytes([0, 0])"),
        ("[1, [null]]", "List([Int(1), List([Null])])"),
        (
            "({ b: 1, a: undefined, c: { d: 'x' } })",
            r#"Map([("b", Int(1)), ("c", Map([("d", Text("x"))]))])"#,
        ),
        ("new Date(0)", "Text(\"1970-01-01T00:00:00.000Z\")"),
    ] {
        let app = load(&format!(
            "import {{ app, probe }} from 'sampan'; app.get('/', () => probe.shape({value}));"
        ));
        assert_eq!(app.text(get("/")), shape, "{value}");
    }
    for (value, message) in [
        ("new Map()", "a Map or Set cannot be passed here"),
        (
            "[new TypeError('a')]",
            "an Error cannot be passed here; pass its message",
        ),
        ("/a/", "a RegExp cannot be passed here; pass its source"),
        ("Promise.resolve(1)", "is an await missing?"),
        (
            "new Headers({ a: 'b' })",
            "a Headers cannot be passed here; pass Object.fromEntries(headers)",
        ),
        (
            "{ a: new URLSearchParams('a=1') }",
            "a URLSearchParams cannot be passed here",
        ),
        ("new FormData()", "a FormData cannot be passed here"),
        ("new Blob(['a'])", "a Blob cannot be passed here"),
        ("new Response('a')", "a Response cannot be passed here"),
        (
            "new Request('http://a/')",
            "a Request cannot be passed here; pass the fields",
        ),
        ("2n ** 64n", "more than 64 bits"),
        ("Symbol()", "a symbol cannot"),
        (
            "(() => { const a = []; a[0] = a; return a; })()",
            "contains itself",
        ),
        (
            "(() => { let a = 0; for (let i = 0; i < 200; i++) a = [a]; return a; })()",
            "nested more than 128 deep",
        ),
    ] {
        let error = failure(&format!("() => probe.shape({value})"));
        assert!(error.message().contains(message), "{value}: {error}");
    }
}

#[test]
fn results_are_plain_objects_with_names_in_camel_case() {
    let app = load(
        "import { app, probe } from 'sampan';
        app.get('/', () => { const rows = probe.rows(); return [rows, typeof rows[1].id, probe.runIt(), app.probe === \
         probe, typeof probe.run_it, probe.echo(new Uint8Array([7])) instanceof Uint8Array]; });",
    );
    assert_eq!(
        app.text(get("/")),
        r#"[[{"id":1,"name":"ada"},{"id":9223372036854775807,"name":null}],"bigint",{"lastId":7},true,"undefined",true]"#
    );
}

#[test]
fn the_module_has_what_it_should() {
    let app = load(
        "import sampan, * as all from 'sampan';
        sampan.get('/', () => [Object.keys(all).sort(), sampan.runtime, sampan.version, typeof sampan.json, \
         sampan.time === all.time]);",
    );
    assert_eq!(
        app.text(get("/")),
        format!(
            r#"[["app","calls","data","default","first","html","json","log","objects","probe","reading","redirect","stream","text","time"],"js","{}","function",true]"#,
            env!("CARGO_PKG_VERSION")
        )
    );
}

#[test]
fn routes_cannot_be_declared_later() {
    let error = failure("() => app.get('/late', () => 1)");
    assert!(
        error.message().contains("while the project loads"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_stopped_while_it_loads_is_named() {
    // QuickJS may tell the line at which the file begins instead of the one at which it was. The limit leaves a busy
    // machine time to get there.
    let limits = ScriptLimits {
        script_millis_max: 1_000,
        ..ScriptLimits::default()
    };
    let stopped_in = |files: &[(&str, &str)]| {
        let error = load_with(files, limits.clone()).expect_err("is stopped");
        assert!(error.message().contains("script_millis_max"), "{error}");
        error.place().map(|place| place.file.clone())
    };
    let endless = "let n = 0;\n\nwhile (true) n++;";
    assert_eq!(
        stopped_in(&[("app.js", endless)]).as_deref(),
        Some("app.js")
    );
    let files = [("app.js", "import './lib/b.js';"), ("lib/b.js", endless)];
    assert_eq!(stopped_in(&files).as_deref(), Some("lib/b.js"));
}

#[test]
fn a_forgotten_await_is_named() {
    let app = load(
        "import { app, probe, time } from 'sampan';
        app.use('/wait', (req, next) => {
          const res = next(req);
          res.headers.set('x', 'y');
          return res;
        });
        app.get('/wait', async () => { await time.sleep(0.001); return 'late'; });
        app.get('/record', () => probe.record().status);",
    );
    let error = app.nth(0, get("/wait")).expect_err("an error");
    assert!(
        error
            .message()
            .ends_with("of undefined: is await missing in front of next(...)?"),
        "{error}"
    );
    let error = app.route("/record", get("/record")).expect_err("an error");
    assert!(
        error
            .message()
            .contains("probe.record gives a promise here: write \"await probe.record(...)\""),
        "{error}"
    );
}

#[test]
fn a_module_that_hides_the_webs_crypto_is_told() {
    for (handler, part) in [
        (
            "() => crypto.randomUUID()",
            "crypto.randomUUID is not a function",
        ),
        ("() => crypto.subtle.digest('SHA-256', '')", "of undefined"),
    ] {
        let app = load(&format!(
            "import {{ app, probe as crypto }} from 'sampan';\napp.get('/', {handler});"
        ));
        let error = app.only(get("/")).expect_err("an error");
        assert!(
            error.message().ends_with(&format!(
                "{part}: the import hides the Web's crypto: write globalThis.crypto"
            )),
            "{error}"
        );
    }
}
