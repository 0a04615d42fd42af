//! The spans of middleware: nested as their chain, with the handler inside.

use crate::support::{Collected, Traced, both, start};
use sampan_client::wait;

const LUA: &str = r#"
local app = require "sampan"
app.use(function(req, next)
  app.time.sleep(0.001)
  return next(req)
end)
app.use("/nested", function(req, next)
  app.db.query("SELECT 1")
  return next(req)
end)
app.get("/nested", function() app.db.query("VALUES (1)") return "nested" end)
app.use("/caught/*", function(req, next)
  local ok, err = pcall(next, req)
  if not ok then next(req) end
  return "caught"
end)
app.use("/caught/*", function(req, next) return next(req) end)
local calls = 0
app.get("/caught/:n", function()
  calls = calls + 1
  if calls % 2 == 1 then error("boom") end
end)
app.get("/fails", function() app.time.sleep(0.001) error("boom") end)
app.get("/refuses", function() error({ status = 404, message = "gone" }) end)
app.not_found(function() return "nothing" end)
"#;

const JS: &str = r#"
import { app, db, time } from "sampan";
app.use(async (req, next) => {
  await time.sleep(0.001);
  return next(req);
});
app.use("/nested", (req, next) => {
  db.query("SELECT 1");
  return next(req);
});
app.get("/nested", () => { db.query("VALUES (1)"); return "nested"; });
app.use("/caught/*", async (req, next) => {
  try { await next(); } catch { await next(); }
  return "caught";
});

app.use("/caught/*", (req, next) => next());
let calls = 0;
app.get("/caught/:n", async () => {
  calls += 1;
  if (calls % 2 === 1) throw new Error("boom");
});
app.get("/fails", async () => { await time.sleep(0.001); throw new Error("boom"); });
app.get("/refuses", () => { throw Object.assign(new Error("gone"), { status: 404 }); });
app.notFound(() => "nothing");
"#;

/// The lines of the declarations, which are those of both programs.
const ALL: u32 = 3;
const NESTED: u32 = 7;
const ON_NESTED: u32 = 11;
const CATCHES: u32 = 12;
const INNER: u32 = 17;
const ON_CAUGHT: u32 = 19;
const ON_FAILS: u32 = 23;
const ON_REFUSES: u32 = 24;

/// Returns the spans of the request with this name, once it has ended.
fn of(traced: &Traced, root: &str) -> (Collected, Vec<Collected>) {
    let root = traced.collector.span(root);
    let all = traced.collector.spans();
    let own = all.into_iter();
    let own = own.filter(|span| span.text("traceId") == root.text("traceId"));
    let own = own.collect();
    (root, own)
}

/// Checks that spans with these names lie within each other, the first in `root`, and returns them.
fn nested(root: &Collected, spans: &[Collected], names: &[&str]) -> Vec<Collected> {
    let mut around = root.clone();
    let mut found = Vec::new();
    for name in names {
        let is_wanted = |span: &&Collected| {
            span.name() == *name && span.text("parentSpanId") == around.text("spanId")
        };
        let inner = spans.iter().find(is_wanted);
        let inner = inner.unwrap_or_else(|| panic!("{name} in {around:?} of {spans:#?}"));
        assert!(inner.nanos("startTimeUnixNano") >= around.nanos("startTimeUnixNano"));
        assert!(inner.nanos("endTimeUnixNano") <= around.nanos("endTimeUnixNano"));
        around = inner.clone();
        found.push(around.clone());
    }
    found
}

#[test]
fn spans_are_nested_as_the_chain() {
    let shared = both(LUA, JS).map(|app| (app, ""));
    let isolated = (("app.lua", LUA), "[scripts]\nisolation = \"request\"");
    for (app, keys) in shared.into_iter().chain([isolated]) {
        let traced = start(app, keys);
        assert_eq!(traced.ask("/nested", &[]).text(), "nested", "{}", app.0);
        let (root, spans) = of(&traced, "GET /nested");
        let [all, inner, handler] = [
            format!("middleware {}:{ALL}", app.0),
            format!("middleware {}:{NESTED}", app.0),
            format!("handler {}:{ON_NESTED}", app.0),
        ];
        let chain = ["script", &all, &inner, &handler, "VALUES"];
        let found = nested(&root, &spans, &chain);
        nested(&root, &spans, &["script", &all, &inner, "SELECT"]);
        assert!(found.iter().all(|span| !span.has_failed()));
        let (file, line) = (app.0.to_owned(), NESTED.to_string());
        assert_eq!(found[2].attribute("code.file.path"), Some(file));
        assert_eq!(found[2].attribute("code.line.number"), Some(line));
        assert_eq!(spans.len(), 7, "{spans:#?}");
    }
}

#[test]
fn paths_without_a_route_have_spans_too() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        assert_eq!(traced.ask("/nowhere", &[]).status, 404);
        let (root, spans) = of(&traced, "GET");
        let all = format!("middleware {}:{ALL}", app.0);
        nested(&root, &spans, &["script", &all, "handler not_found"]);
    }
}

#[test]
fn errors_and_no_refusals_mark_the_functions_that_they_leave() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        for (path, status, line, has_failed) in [
            ("/fails", 500, ON_FAILS, true),
            ("/refuses", 404, ON_REFUSES, false),
        ] {
            assert_eq!(traced.ask(path, &[]).status, status, "{} {path}", app.0);
            let (root, spans) = of(&traced, &format!("GET {path}"));
            let all = format!("middleware {}:{ALL}", app.0);
            let handler = format!("handler {}:{line}", app.0);
            for span in nested(&root, &spans, &["script", &all, &handler]) {
                assert_eq!(span.has_failed(), has_failed, "{} {span:?}", app.0);
            }
        }
    }
}

#[test]
fn functions_that_are_called_again_have_a_span_each_time() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        assert_eq!(traced.ask("/caught/1", &[]).text(), "caught", "{}", app.0);
        let (root, spans) = of(&traced, "GET /caught/:n");
        let named = |kind: &str, line: u32| format!("{kind} {}:{line}", app.0);
        let [all, catches] = [named("middleware", ALL), named("middleware", CATCHES)];
        let [inner, handler] = [named("middleware", INNER), named("handler", ON_CAUGHT)];
        let outer = nested(&root, &spans, &["script", &all, &catches]);
        assert!(outer.iter().all(|span| !span.has_failed()), "{outer:#?}");
        let mut tried: Vec<&Collected> = spans.iter().filter(|span| span.name() == inner).collect();
        tried.sort_by_key(|span| span.nanos("startTimeUnixNano"));
        let [failed, succeeded] = tried[..] else {
            panic!("{spans:#?}");
        };
        assert!(failed.has_failed() && !succeeded.has_failed());
        for (around, has_failed) in [(failed, true), (succeeded, false)] {
            assert_eq!(around.text("parentSpanId"), outer[2].text("spanId"));
            let found = nested(around, &spans, &[&handler]);
            assert_eq!(found[0].has_failed(), has_failed);
        }
        let ended = failed.nanos("endTimeUnixNano");
        assert!(ended <= succeeded.nanos("startTimeUnixNano"));
    }
}

const LUA_GUARDS: &str = r#"
local app = require "sampan"
app.use("/limited", app.rate_limit{ limit = 1, per = 60 })
app.use(app.cors{ origins = "*" })
app.get("/limited", function() return "answered" end)
app.get("/fixed", { fixed = true })
"#;

const JS_GUARDS: &str = r#"
import { app } from "sampan";
app.use("/limited", app.rateLimit({ limit: 1, per: 60 }));
app.use(app.cors({ origins: "*" }));
app.get("/limited", () => "answered");
app.get("/fixed", { fixed: true });
"#;

#[test]
fn guards_have_spans_before_the_script() {
    for app in both(LUA_GUARDS, JS_GUARDS) {
        let traced = start(app, "");
        let [limit, cors] = [3, 4].map(|line| format!("middleware {}:{line}", app.0));
        assert_eq!(traced.ask("/limited", &[]).text(), "answered", "{}", app.0);
        let (root, spans) = of(&traced, "GET /limited");
        let [limited] = &nested(&root, &spans, &[&limit])[..] else {
            unreachable!("one was asked for");
        };
        nested(&root, &spans, &[&cors]);
        nested(&root, &spans, &["script"]);
        assert_eq!(limited.attribute("error.type"), None);
        assert_eq!(
            spans.len(),
            4,
            "a script without middleware has one span: {spans:#?}"
        );
        assert_eq!(traced.ask("/limited", &[]).status, 429);
        let refused = wait::found("the refused request", || {
            let all = traced.collector.spans();
            let is_refused = |span: &Collected| span.attribute("error.type").is_some();
            all.into_iter()
                .find(|span| span.name() == limit && is_refused(span))
        });
        assert_eq!(refused.attribute("error.type").as_deref(), Some("429"));
        assert!(!refused.has_failed());
        assert_eq!(traced.ask("/fixed", &[]).status, 200);
        let (root, spans) = of(&traced, "GET /fixed");
        nested(&root, &spans, &[&cors]);
    }
}
