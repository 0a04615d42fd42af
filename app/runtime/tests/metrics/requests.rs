//! Requests by route, method and status, and the times that they take.

use crate::support::{Measured, both, start};
use sampan_client::{Client, wait};
use std::fs;

const LUA: &str = r#"
local app = require "sampan"
app.get("/", function() return "hello" end)
app.get("/fixed", "always")
app.get("/items/:id", function(req) return { id = req.params.id } end)
app.post("/items/:id", function(req)
  app.db.exec("CREATE TABLE IF NOT EXISTS t (a)")
  app.db.exec("INSERT INTO t VALUES (?)", { req.params.id })
  return app.text("made", { status = 201 })
end)
app.get("/fails", function() error("broken") end)
app.get("/endless", function() while true do end end)
app.get("/teapot", function() return app.text("no", { status = 418 }) end)
"#;

const JS: &str = r#"
import { app, db } from "sampan";
app.get("/", () => "hello");
app.get("/fixed", "always");
app.get("/items/:id", (req) => ({ id: req.params.id }));
app.post("/items/:id", (req) => {
  db.exec("CREATE TABLE IF NOT EXISTS t (a)");
  db.exec("INSERT INTO t VALUES (?)", [req.params.id]);
  return app.text("made", { status: 201 });
});
app.get("/fails", () => { throw new Error("broken"); });
app.get("/endless", () => { for (;;); });
app.get("/teapot", () => app.text("no", { status: 418 }));
"#;

/// Returns the name of a counter of requests.
fn requests(route: &str, method: &str, status: u16) -> String {
    format!(
        "sampan_http_requests_total{{route=\"{route}\",method=\"{method}\",status=\"{status}\"}}"
    )
}

fn ask_all(measured: &Measured, client: &mut Client) {
    let folder = measured.folder.path().join("public");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("page.txt"), "text").expect("written");
    for (method, path, status) in [
        ("GET", "/", 200),
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/fixed", 200),
        ("GET", "/items/1?secret=2", 200),
        ("GET", "/items/another", 200),
        ("POST", "/items/1", 201),
        ("DELETE", "/items/1", 405),
        ("GET", "/fails", 500),
        ("GET", "/endless", 503),
        ("GET", "/teapot", 418),
        ("GET", "/nowhere/1", 404),
        ("GET", "/nowhere/2", 404),
        ("BREW", "/nowhere/3", 404),
    ] {
        let answer = client.ask(method, path, &[], "").expect("an answer");
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
    }
}

#[test]
fn requests_are_counted_by_the_pattern_of_their_route() {
    for app in both(LUA, JS) {
        let measured = start(
            app,
            "[limits]\nscript_millis_max = 500\n[log]\nlevel = \"error\"",
        );
        let mut client = measured.client();
        ask_all(&measured, &mut client);
        let values = measured.values_after(14.0);
        values.is(&requests("/", "GET", 200), 2.0);
        values.is(&requests("/", "HEAD", 200), 1.0);
        values.is(&requests("/fixed", "GET", 200), 1.0);
        values.is(&requests("/items/:id", "GET", 200), 2.0);
        values.is(&requests("/items/:id", "POST", 201), 1.0);
        values.is(&requests("/fails", "GET", 500), 1.0);
        values.is(&requests("/endless", "GET", 503), 1.0);
        values.is(&requests("/teapot", "GET", 418), 1.0);
        values.is(&requests("(none)", "DELETE", 405), 1.0);
        values.is(&requests("(none)", "GET", 404), 2.0);
        values.is(&requests("(none)", "other", 404), 1.0);
        values.is("sampan_request_errors_total{kind=\"script\"}", 1.0);
        values.is("sampan_request_errors_total{kind=\"stopped\"}", 1.0);
        let count = |name: &str, route: &str| format!("{name}_count{{route=\"{route}\"}}");
        values.is(&count("sampan_http_request_seconds", "/"), 3.0);
        values.is(&count("sampan_script_seconds", "/"), 3.0);
        values.is(&count("sampan_script_seconds", "/items/:id"), 3.0);
        values.is(&count("sampan_sql_seconds", "/items/:id"), 1.0);
        assert_eq!(values.get(&count("sampan_script_seconds", "/fixed")), None);
        assert_eq!(values.get(&count("sampan_sql_seconds", "/")), None);
        let sum = |name: &str| {
            values
                .get(&format!("{name}_sum{{route=\"/endless\"}}"))
                .expect("there")
        };
        // It ran for its limit at least, and the request took no less.
        assert!(sum("sampan_script_seconds") >= 0.05, "{values:?}");
        assert!(sum("sampan_http_request_seconds") >= sum("sampan_script_seconds"));
        // Of a client nothing is shown.
        assert!(!format!("{values:?}").contains("nowhere"));
        // The scrape itself; one before it may not have been told that it is over.
        let in_flight = |worker| {
            let name = format!("sampan_http_requests_in_flight{{worker=\"{worker}\"}}");
            values.get(&name).unwrap_or_default()
        };
        assert!(in_flight(1) + in_flight(2) >= 1.0, "{values:?}");
        assert!(values.get("sampan_connections") >= Some(1.0));
        assert!(values.get("sampan_connections_accepted_total") >= Some(2.0));
        values.is("sampan_http_answers_held", 0.0);
        values.is("sampan_workers", 2.0);
        let memory = |worker| {
            values.get(&format!(
                "sampan_isolate_memory_bytes{{worker=\"{worker}\"}}"
            ))
        };
        assert!(memory(1).is_some() && memory(2).is_some());
        let used = |worker| {
            let name = format!("sampan_worker_cpu_seconds_total{{worker=\"{worker}\"}}");
            values.get(&name).expect("there")
        };
        assert!(used(1) > 0.0 && used(2) > 0.0, "{values:?}");
        assert!(measured.server.shutdown());
    }
}

#[test]
fn collections_of_garbage_are_counted() {
    let lua = "local app = require 'sampan' local kept
        app.get('/', function() for at = 1, 1000 do kept = { at } end return 'done' end)";
    let js = "import { app } from 'sampan';
        app.get('/', () => { for (let i = 0; i < 1000; i++) { const c = {}; c.self = c; } return 'done'; });";
    for app in both(lua, js) {
        let measured = start(app, "");
        wait::until("a worker that has collected", || {
            assert_eq!(measured.ask("GET", "/").text(), "done");
            let values = measured.values();
            let of = |worker| format!("sampan_isolate_collections_total{{worker=\"{worker}\"}}");
            [1, 2]
                .iter()
                .any(|worker| values.get(&of(worker)) > Some(0.0))
        });
        assert!(measured.server.shutdown());
    }
}

#[test]
fn files_and_a_fetch_have_labels_of_their_own() {
    let js = "export default { fetch: (req) => new Response('any ' + req.url) };\n";
    let measured = start(("app.js", js), "");
    let folder = measured.folder.path().join("public");
    fs::create_dir_all(&folder).expect("a folder");
    assert_eq!(measured.ask("GET", "/a/b").status, 200);
    let values = measured.values_after(1.0);
    values.is(&requests("(fetch)", "GET", 200), 1.0);
    assert!(measured.server.shutdown());
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("public")).expect("a folder");
    fs::write(folder.path().join("public/page.txt"), "text").expect("written");
    let app = ("app.lua", LUA);
    let server = crate::support::start_in(folder.path(), app, "");
    let measured = Measured { folder, server };
    assert_eq!(measured.ask("GET", "/page.txt").text(), "text");
    let values = measured.values_after(1.0);
    values.is(&requests("(file)", "GET", 200), 1.0);
    assert!(measured.server.shutdown());
}

#[test]
fn what_is_counted_outlives_a_reload() {
    for app in both(LUA, JS) {
        let measured = start(app, "");
        measured.ask("GET", "/");
        let folder = measured.folder.path();
        let toml = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 2\n";
        let config = sampan_runtime::AppConfig::from_text(folder, toml).expect("valid");
        measured.server.reloader().reload(config).expect("reloaded");
        measured.ask("GET", "/");
        let values = measured.values_after(2.0);
        values.is(&requests("/", "GET", 200), 2.0);
        assert!(measured.server.shutdown());
    }
}

#[test]
fn refusals_are_counted_by_their_limit() {
    let measured = start(("app.lua", LUA), "[limits]\nbody_bytes_max = 10");
    let answer = measured
        .client()
        .ask("POST", "/items/1", &[], "12345678901");
    assert_eq!(answer.expect("an answer").status, 413);
    let mut client = measured.client();
    client.send(b"GET / HTTP/9.9\r\n\r\n").expect("sent");
    assert_eq!(client.read(false).expect("an answer").status, 505);
    let values = measured.values();
    values.is("sampan_refusals_total{reason=\"body_bytes_max\"}", 1.0);
    values.is("sampan_refusals_total{reason=\"505\"}", 1.0);
    assert!(measured.server.shutdown());
}
