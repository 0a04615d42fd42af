//! The uses of promises as if they were their values.

use sampan_js_modules::promise_uses;

/// The texts about a script whose second line begins `body`.
fn told(body: &str) -> Vec<(u32, String)> {
    let waiting = [
        ("password", "verify"),
        ("password", "hash"),
        ("app", "lock"),
        ("req", "csvRecords"),
    ];
    let waiting = waiting.map(|(module, name)| (module.to_owned(), name.to_owned()));
    let imports = "import sampan, { app, db, password, password as secret } from \"sampan\";";
    let source = format!("{imports}\n{body}");
    let found = promise_uses("app.tsx", &source, &waiting).into_iter();
    found.map(|one| (one.line, one.text)).collect()
}

#[test]
fn a_promise_in_a_condition_is_told() {
    for body in [
        "if (password.verify(a, b)) f();",
        "if (!password.verify(a, b)) f();",
        "const f = () => !(password.verify(a, b) as any);",
        "const c = password.verify(a, b) ? 1 : 2;",
        "while (password.verify(a, b)) f();",
        "do f(); while (password.verify(a, b));",
        "for (; password.verify(a, b); ) f();",
        "if (a && password.verify(a, b)) f();",
        "if (a || (b ?? 1) || password.verify(a, b)) f();",
        "f(password.verify(a, b) && c);",
        "f(password.verify(a, b) || c);",
        "if (password?.verify(a, b)) f();",
        "const ok = password.verify(a, b); if (ok) f();",
        "const f = () => { let ok = (password.verify(a, b)); return ok! && 1; };",
        "const ok = password.verify(a, b); const f = async () => { await ok; if (ok) f(); };",
        "const view = <p>{password.verify(a, b) && <b/>}</p>;",
    ] {
        let text = "password.verify(...) gives a promise, which is always true: write await password.verify(...)";
        assert_eq!(told(body), [(2, text.to_owned())], "{body}");
    }
    let later = "const ok = password.verify(a, b);\n\nif (!ok) f();";
    let text = "password.verify(...) gives a promise, which is always true (used in line 4): write await \
                password.verify(...)";
    assert_eq!(told(later), [(2, text.to_owned())]);
}

#[test]
fn each_misuse_has_its_text() {
    for (body, text) in [
        (
            "app.post('/', (req) => req.json().a);",
            "req.json() gives a promise, which has no a: write (await req.json()).a",
        ),
        (
            "app.post('/', (req) => { const { name } = req.form(); });",
            "req.form() gives a promise, which has no name: write await req.form()",
        ),
        (
            "app.post('/', (req) => { const { then, 'a-b': c } = req.form(); });",
            "req.form() gives a promise, which has no a-b: write await req.form()",
        ),
        (
            "app.post('/', (req) => req.json()['a']);",
            "req.json() gives a promise, which has no a: write await req.json()",
        ),
        (
            "app.post('/', (req) => ({ ...req.json() }));",
            "req.json() gives a promise, which has no members to copy: write await req.json()",
        ),
        (
            "app.post('/', (req) => `${req.text()}`);",
            "req.text() gives a promise, which as text is [object Promise]: write await req.text()",
        ),
        (
            "app.post('/', (req) => 'a' + req.text());",
            "req.text() gives a promise, which as text is [object Promise]: write await req.text()",
        ),
        (
            "app.post('/', (req) => { let a = ''; a += req.text(); });",
            "req.text() gives a promise, which as text is [object Promise]: write await req.text()",
        ),
        (
            "app.post('/', (req) => req.text() === secret);",
            "req.text() gives a promise, which cannot be compared with a value: write await req.text()",
        ),
        (
            "app.post('/', (req) => { switch (req.text()) { default: } });",
            "req.text() gives a promise, which cannot be compared with a value: write await req.text()",
        ),
        (
            "app.post('/', (req) => { const a = req.text(); return a == 'x'; });",
            "req.text() gives a promise, which cannot be compared with a value: write await req.text()",
        ),
        (
            "app.post('/', (req) => 10 < req.csvRecords(f));",
            "req.csvRecords(...) gives a promise, which cannot be compared with a value: write await \
             req.csvRecords(...)",
        ),
        (
            "app.post('/', (req) => {\n  const f = req.form();\n  return f.name;\n});",
            "req.form() gives a promise, which has no name (used in line 4): write await req.form()",
        ),
        (
            "app.post('/', (req) => app.validate(req.form(), schema));",
            "req.form() gives a promise, which has no fields to check: write await req.form()",
        ),
        (
            "const r = fetch(u); f(r.ok);",
            "fetch(...) gives a promise, which has no ok: write await fetch(...)",
        ),
    ] {
        let found: Vec<String> = told(body).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, [text], "{body}");
    }
}

#[test]
fn calls_are_known_by_their_modules_and_handlers() {
    for body in [
        "if (secret.verify(a)) f();",
        "if (app.password.verify(a)) f();",
        "if (sampan.password.verify(a)) f();",
        "if (app.lock(a, b)) f();",
        "if (fetch(u).ok) f();",
        "app.use(async (r, next) => r.json().a);",
        "app.use('/a/*', async function (r, next) { return r.json().a; });",
        "app.get('/', { name: 'x' }, (r) => r.json().a);",
        "app.get('/', (r) => 1).post('/', (r) => r.json().a);",
        "app.notFound((r) => r.text().length);",
        "app.group('/a', (api) => { api.post('/', (r) => r.json().a); });",
        "app.host('h', (h) => h.group('/a', (api) => api.post('/', (r) => r.json().a)));",
        "app.post('/', login); function login(r) { return r.json().a; }",
        "const login = async (r) => r.json().a; app.post('/', login); app.post('/b', login);",
        "app.post('/', (r: any) => { [1].map(() => r.json().a); });",
    ] {
        assert_eq!(told(body).len(), 1, "{body}");
    }
}

#[test]
fn what_is_in_order_or_unknown_is_not_told() {
    for body in [
        // A promise that is waited for, returned or passed on.
        "if (await password.verify(a, b)) f();",
        "if (!(await (password.verify(a, b)))) f();",
        "app.post('/', async (req) => (await req.json()).a);",
        "app.post('/', async (req) => { const { a } = await req.json(); });",
        "app.post('/', async (req) => `${await req.text()}`);",
        "app.post('/', (req) => req.json().then((value) => value.a));",
        "app.post('/', (req) => req.json()['finally'](f));",
        "app.post('/', (req) => { void req.json(); });",
        "app.post('/', (req) => { req.json(); });",
        "app.post('/', (req) => a && req.json());",
        "app.post('/', (req) => a ? req.json() : 1);",
        "app.post('/', (req) => { const f = req.form(); return f; });",
        "app.post('/', async (req) => { const f = req.form(); return (await f).name; });",
        "app.post('/', async (req) => { const f = req.form(); return (await Promise.all([f]))[0].a; });",
        "app.post('/', async (req) => { const f = req.form(); f.catch(g); const v = await f; return v.a; });",
        "const a = password.verify(x) ?? 1;",
        "f(typeof password.verify(x), password.verify(x) instanceof Promise);",
        "sql`${password.hash(x)}`;",
        "const list = [password.hash(x), ...(await Promise.all([password.hash(y)]))];",
        // A variable that holds something else later, or a promise with members of the script's own.
        "app.post('/', async (req) => { let f = req.form(); f = await f; return f.name; });",
        "app.post('/', (req) => { var f = req.form(); return f.name; });",
        "let f; f = password.verify(x); if (f) g();",
        "const f = a ? fetch(u) : null; if (f) g();",
        "const f = fetch(u); f.cancel = g; f.cancel();",
        "const f = fetch(u); Object.assign(f, { cancel: g }); f.cancel();",
        "const f = fetch(u); decorate(f); f.tag;",
        "const f = fetch(u); const g = fetch(v); h(f === g, f === null, f != undefined);",
        "const f = fetch(u); h(f.toString(), f.constructor);",
        // Other functions and objects.
        "if (password.verified(x)) f();",
        "if (db.query(x)) f();",
        "if (password.verify) f();",
        "function g(password) { if (password.verify(x)) f(); }",
        "function g(fetch) { if (fetch(x)) f(); }",
        "const other = { verify: f }; if (other.verify(x)) f();",
        "if (x.password.verify(y)) f();",
        "if (x.fetch(y)) f();",
        "function g(req) { return req.json().a; }",
        "export function g(req) { return req.json().a; } app.post('/', (req) => g({ json: f }));",
        "function g(req) { return req.json().a; } app.post('/', g); g({ json: f });",
        "router.post('/', (c) => c.json().a);",
        "app.post('/', (req) => { const other = f(); return other.json().a; });",
        "app.post('/', (req) => { { const req = f(); return req.json().a; } });",
        "app.post('/', (req) => { req = f(req); return req.json().a; });",
        "app.post('/', ({ json }) => json().a);",
        "app.post('/', (req) => f((req) => req.json().a));",
        "app.use((req, next) => next().json().a);",
        "app.onError((error, req) => error.json().a);",
        "app.enqueue('a', (req) => req.json().a);",
        "app.lists.get('/', (req) => req.json().a);",
        "app.post('/', (req) => req.state.json().a);",
        "app.post('/', (req) => req.t('a').length);",
        "if (password.verify(",
    ] {
        assert_eq!(told(body), [], "{body}");
    }
    let waiting = [("password".to_owned(), "verify".to_owned())];
    for source in [
        "import { password } from './sampan.js'; if (password.verify(x)) f();",
        "import { app } from 'hono'; app.post('/', (req) => req.json().a); // sampan",
        "const password = require('sampan-like'); if (password.verify(x)) f();",
        "import { other as password } from 'sampan'; if (password.verify(x)) f();",
    ] {
        assert_eq!(promise_uses("app.js", source, &waiting), [], "{source}");
    }
}
