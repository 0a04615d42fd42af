//! Routes, groups, requests and answers.

mod common;

use common::{get, load, load_files, post, program};
use sampan_host::Isolate;

#[test]
fn an_object_is_json() {
    let app = load(
        r#"import { app } from "sampan";
        app.get("/greet/:name", (req) => ({ greeting: `Hello, ${req.params.name}` }));"#,
    );
    let mut request = get("/greet/World");
    request.params = vec![("name".into(), "World".into())];
    let answer = app.only(request).expect("an answer");
    assert_eq!(answer.code(), 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.text(), r#"{"greeting":"Hello, World"}"#);
}

#[test]
fn an_echo_is_lossless() {
    let app = load(
        r#"import { app } from "sampan"; app.post("/echo", async (req) => await req.json());"#,
    );
    for text in [
        r#"{"a":[1,2.5,"x",null,true,[],{}],"":{"é":"🛶"}}"#,
        "[]",
        "0",
        r#""text""#,
        "{\"__proto__\":1,\"1\":2}",
    ] {
        let answer = app
            .only(post("/echo", "application/json", text))
            .expect("an answer");
        // A string from a handler is text, not JSON; integer keys come first in JavaScript.
        let expected = match text {
            r#""text""# => "text",
            "{\"__proto__\":1,\"1\":2}" => "{\"1\":2,\"__proto__\":1}",
            text => text,
        };
        assert_eq!(answer.text(), expected);
    }
}

#[test]
fn a_program_is_what_was_declared() {
    let program = program(
        r#"import { app } from "sampan";
        app.get("/version", { version: "1.0" });
        app.post("/upload", { bodyBytesMax: 9 }, () => 1);
        app.use("/admin/*", (req, next) => next(req));
        app.group("/api", (api) => {
          api.use((req, next) => next(req));
          api.all("/", () => 1);
          api.group("/v1", (v1) => v1.delete("/users/:id", () => 1));
        });
        app.notFound(() => 1);"#,
    );
    let routes: Vec<_> = program
        .routes
        .iter()
        .map(|r| (r.method.as_deref(), r.pattern.as_str(), r.fixed))
        .collect();
    assert_eq!(
        routes,
        [
            (Some("GET"), "/version", true),
            (Some("POST"), "/upload", false),
            (None, "/api", false),
            (Some("DELETE"), "/api/v1/users/:id", false)
        ]
    );
    assert_eq!(program.routes[1].body.bytes_max.as_deref(), Some("9"));
    assert_eq!(
        program.routes[0]
            .place
            .as_ref()
            .map(ToString::to_string)
            .as_deref(),
        Some("app.js:2")
    );
    let patterns: Vec<_> = program
        .middleware
        .iter()
        .map(|m| m.pattern.as_str())
        .collect();
    assert_eq!(patterns, ["/admin/*", "/api/*"]);
    assert!(program.not_found.is_some() && program.on_error.is_none() && program.fetch.is_none());
}

/// Returns the error of a project whose second line is `declaration`.
fn refused(declaration: &str) -> String {
    let source =
        format!("import {{ app, calls }} from 'sampan'; const f = () => 1;\n{declaration}\n");
    let loaded = load_files(&[("app.js", &source)]);
    loaded.map(drop).expect_err(declaration).to_string()
}

#[test]
fn a_declaration_refuses_arguments_that_it_does_not_take() {
    const ONE_HANDLER: &str = "it takes one handler: declare what runs before it with app.use";
    const ONE_FUNCTION: &str = "it takes one function: call it again for each further one";
    for (declaration, name, text) in [
        ("app.use('/x', f, f);", "app.use", ONE_FUNCTION),
        ("app.use(f, f);", "app.use", ONE_FUNCTION),
        (
            "app.use('/x', f, undefined, null);",
            "app.use",
            ONE_FUNCTION,
        ),
        ("app.get('/x', f, f);", "app.get", ONE_HANDLER),
        ("app.post('/x', {}, f, f);", "app.post", ONE_HANDLER),
        ("app.all('/x', {}, f, 3);", "app.all", ONE_HANDLER),
        (
            "app.group('/x', f, f);",
            "app.group",
            "it takes one function",
        ),
        (
            "app.group('/x', (g) => { g.use('/y', f, f); });",
            "app.use",
            ONE_FUNCTION,
        ),
        (
            "app.notFound(f, f);",
            "app.notFound",
            "it takes one function",
        ),
        (
            "app.onError(f, {});",
            "app.onError",
            "it takes one function",
        ),
        (
            "calls.keep(f, f);",
            "calls.keep",
            "too many arguments: it takes only fn",
        ),
    ] {
        let error = refused(declaration);
        assert!(error.starts_with("app.js:2: "), "{declaration}: {error}");
        let text = format!("{name}: {text}");
        assert!(error.contains(&text), "{declaration}: {error}");
    }
    let app = load(
        "import { app, calls } from 'sampan';
        const f = () => 1;
        app.use('/x', (req, next) => next(), undefined);
        app.use((req, next) => next(), undefined);
        app.get('/x', {}, f, undefined);
        app.get('/y', f, undefined);
        app.group('/g', (g) => {}, undefined);
        app.notFound(f, undefined);
        calls.keep(f, undefined);",
    );
    assert_eq!(app.isolate.program().routes.len(), 2);
    let error = refused("app.get('/x', {}, undefined);");
    assert!(error.contains("the handler must be a function"), "{error}");
}

#[test]
fn what_answers_errors_and_missing_paths_is_declared_once() {
    assert_eq!(
        refused("app.notFound(f);\n\napp.notFound(f);"),
        "app.js:4: app.notFound: it is already declared at app.js:2"
    );
    assert_eq!(
        refused("app.onError(f); app.onError(f);"),
        "app.js:2: app.onError: it is already declared at app.js:2"
    );
}
