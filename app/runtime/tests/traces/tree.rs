//! The tree of a request's spans.

use crate::support::{Collected, Traced, both, start};
use sampan_client::wait;
use std::collections::HashSet;

const LUA: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
app.use(function(req, next) return next(req) end)
app.get("/work/:port", function(req)
  db.exec("CREATE TABLE IF NOT EXISTS t (a, b)")
  return app.trace("outer", { kind = "test", n = 2 }, function()
    db.exec("INSERT INTO t VALUES ('secret', ?)", { 7 })
    app.trace("inner", function() time.sleep(0.001) end)
    app.fetch("http://127.0.0.1:" .. req.params.port .. "/upstream?key=secret")
    return app.render("page.html", { n = 1 })
  end)
end)
app.get("/fails", function()
  app.trace("broken", function() error("boom") end)
end)
app.get("/caught", function()
  local ok = pcall(app.trace, "caught", function() error("boom") end)
  return tostring(ok)
end)
app.get("/own/:port", function(req)
  app.fetch("http://127.0.0.1:" .. req.params.port .. "/own", { headers = { traceparent = "mine" } })
  return "done"
end)
app.get("/many", function()
  return app.trace("outer", function()
    for _ = 1, 1500 do app.trace("one", function() end) end
    return "done"
  end)
end)
app.job("count", function() db.query("SELECT 1") end)
app.get("/job", function() app.enqueue("count", {}) return "added" end)
"#;

const JS: &str = r#"
import { app, db, time } from "sampan";
app.use((req, next) => next(req));
app.get("/work/:port", async (req) => {
  db.exec("CREATE TABLE IF NOT EXISTS t (a, b)");
  return app.trace("outer", { kind: "test", n: 2 }, async () => {
    db.exec("INSERT INTO t VALUES ('secret', ?)", [7]);
    await app.trace("inner", () => time.sleep(0.001));
    await fetch(`http://127.0.0.1:${req.params.port}/upstream?key=secret`);
    return app.render("page.html", { n: 1 });
  });
});
app.get("/fails", async () => {
  await app.trace("broken", () => { throw new Error("boom"); });
});
app.get("/caught", async () => {
  try { await app.trace("caught", async () => { throw new Error("boom"); }); return "true"; }
  catch { return "false"; }
});
app.get("/own/:port", async (req) => {
  await fetch(`http://127.0.0.1:${req.params.port}/own`, { headers: { traceparent: "mine" } });
  return "done";
});
app.get("/many", () => app.trace("outer", () => {
  for (let n = 0; n < 1500; n++) app.trace("one", () => {});
  return "done";
}));
app.job("count", () => { db.query("SELECT 1"); });
app.get("/job", () => { app.enqueue("count", {}); return "added"; });
"#;

fn child_of(child: &Collected, parent: &Collected) {
    assert_eq!(child.text("traceId"), parent.text("traceId"), "{child:?}");
    assert_eq!(
        child.text("parentSpanId"),
        parent.text("spanId"),
        "{child:?} of {parent:?}"
    );
    assert!(child.nanos("startTimeUnixNano") >= parent.nanos("startTimeUnixNano"));
    assert!(child.nanos("endTimeUnixNano") <= parent.nanos("endTimeUnixNano"));
}

fn of(traced: &Traced, name: &str, wanted: impl Fn(&Collected) -> bool) -> Collected {
    wait::found(name, || {
        let all = traced.collector.spans();
        all.into_iter()
            .find(|span| span.name() == name && wanted(span))
    })
}

#[test]
fn all_parts_of_a_request_are_below_it() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        let port = traced.collector.address.port();
        let answer = traced.ask(&format!("/work/{port}?key=secret"), &[]);
        assert_eq!(answer.text(), "<p>1</p>", "{}", app.0);
        let root = traced.collector.span("GET /work/:port");
        assert_eq!(root.text("parentSpanId"), "");
        assert_eq!(root.0["kind"], 2);
        let is = |key: &str, value: &str| {
            assert_eq!(root.attribute(key).as_deref(), Some(value), "{key}");
        };
        is("http.request.method", "GET");
        is("http.route", "/work/:port");
        is("url.path", &format!("/work/{port}"));
        is("http.response.status_code", "200");
        let script = traced.collector.span("script");
        child_of(&script, &root);
        let kind = |kind: &'static str| {
            let all = traced.collector.spans();
            let found = all.into_iter().find(|span| span.name().starts_with(kind));
            found.unwrap_or_else(|| panic!("no span of a {kind}"))
        };
        let (middleware, handler) = (kind("middleware "), kind("handler "));
        child_of(&middleware, &script);
        child_of(&handler, &middleware);
        child_of(&traced.collector.span("CREATE"), &handler);
        let outer = traced.collector.span("outer");
        child_of(&outer, &handler);
        assert_eq!(outer.attribute("kind").as_deref(), Some("test"));
        assert_eq!(outer.attribute("n").as_deref(), Some("2"));
        let insert = traced.collector.span("INSERT");
        child_of(&insert, &outer);
        assert_eq!(
            insert.attribute("db.system.name").as_deref(),
            Some("sqlite")
        );
        let text = insert.attribute("db.query.text");
        assert_eq!(text.as_deref(), Some("INSERT INTO t VALUES (?, ?)"));
        child_of(&traced.collector.span("inner"), &outer);
        let fetch = of(&traced, "GET", |span| span.0["kind"] == 3);
        child_of(&fetch, &outer);
        let url = fetch.attribute("url.full");
        assert_eq!(url, Some(format!("http://127.0.0.1:{port}/upstream")));
        assert_eq!(
            fetch.attribute("http.response.status_code").as_deref(),
            Some("200")
        );
        let render = traced.collector.span("render");
        child_of(&render, &outer);
        assert_eq!(
            render.attribute("template.name").as_deref(),
            Some("page.html")
        );
        let upstream = traced.collector.received("/upstream?key=secret");
        let (trace, span) = (fetch.text("traceId"), fetch.text("spanId"));
        assert_eq!(
            upstream[0].headers["traceparent"],
            format!("00-{trace}-{span}-01")
        );
        let sent = traced.collector.received("/v1/traces");
        let sent = String::from_utf8_lossy(&sent[0].body).into_owned();
        assert!(!sent.contains("secret"), "{sent}");
        assert!(sent.contains(r#""value":{"stringValue":"shop"}"#), "{sent}");
    }
}

#[test]
fn errors_mark_their_spans() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        assert_eq!(traced.ask("/fails", &[]).status, 500);
        assert_eq!(traced.ask("/caught", &[]).text(), "false");
        for name in ["broken", "script", "GET /fails", "caught"] {
            assert!(traced.collector.span(name).has_failed(), "{} {name}", app.0);
        }
        assert!(!traced.collector.span("GET /caught").has_failed());
    }
}

#[test]
fn where_spans_are_too_many_the_outer_ones_are_kept() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        assert_eq!(traced.ask("/many", &[]).text(), "done");
        let root = traced.collector.span("GET /many");
        let dropped = root.attribute("sampan.dropped_spans");
        // Script, middleware, handler and "outer" have places too.
        assert_eq!(dropped.as_deref(), Some("504"), "{}", app.0);
        wait::until("all spans", || traced.collector.spans().len() == 1_001);
        let spans = traced.collector.spans();
        let ids: HashSet<_> = spans.iter().map(|span| span.text("spanId")).collect();
        for span in &spans {
            let parent = span.text("parentSpanId");
            assert!(parent.is_empty() || ids.contains(parent), "{span:?}");
        }
    }
}

#[test]
fn a_header_of_the_script_wins() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        let path = format!("/own/{}", traced.collector.address.port());
        assert_eq!(traced.ask(&path, &[]).text(), "done");
        assert_eq!(
            traced.collector.received("/own")[0].headers["traceparent"],
            "mine"
        );
    }
}

#[test]
fn a_job_has_a_trace() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        assert_eq!(traced.ask("/job", &[]).text(), "added");
        let job = traced.collector.span("job count");
        assert_eq!(job.0["kind"], 5);
        assert_eq!(
            job.attribute("messaging.destination.name").as_deref(),
            Some("default")
        );
        let root = traced.collector.span("GET /job");
        assert_eq!(job.text("traceId"), root.text("traceId"));
        let select = of(&traced, "SELECT", |span| {
            span.text("traceId") == job.text("traceId")
        });
        child_of(&select, &job);
    }
}
