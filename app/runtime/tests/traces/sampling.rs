//! The traces that are kept.

use crate::support::{both, start};

const LUA: &str = r#"
local app = require "sampan"
local time = app.time
app.get("/quick", function() return "done" end)
app.get("/slow", function() time.sleep(0.06) return "done" end)
app.get("/last", function() time.sleep(0.06) return "done" end)
"#;

const JS: &str = r#"
import { app, time } from "sampan";
app.get("/quick", () => "done");
app.get("/slow", async () => { await time.sleep(0.06); return "done"; });
app.get("/last", async () => { await time.sleep(0.06); return "done"; });
"#;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

#[test]
fn slow_requests_are_kept_beside_the_sample() {
    for app in both(LUA, JS) {
        let traced = start(app, "sample = \"0\"\nslow_millis = 50");
        traced.ask("/quick", &[]);
        traced.ask("/slow", &[("traceparent", PARENT)]);
        let slow = traced.collector.span("GET /slow");
        assert_eq!(slow.text("traceId"), "0af7651916cd43dd8448eb211c80319c");
        traced.collector.span("script");
        assert!(
            !traced
                .collector
                .spans()
                .iter()
                .any(|span| span.name().contains("quick"))
        );
    }
}

#[test]
fn the_decision_of_the_caller_is_respected() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        traced.ask("/quick", &[("traceparent", PARENT)]);
        traced.ask("/last", &[]);
        traced.collector.span("GET /last");
        assert!(
            !traced
                .collector
                .spans()
                .iter()
                .any(|span| span.name().contains("quick"))
        );
    }
}
