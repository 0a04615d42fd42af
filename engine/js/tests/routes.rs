//! Routes, groups, requests and answers.

mod common;

use common::{get, load, post, program};

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
