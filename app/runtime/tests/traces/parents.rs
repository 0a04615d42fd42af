//! Traces that began on another server.

use crate::support::{both, start};
use sampan_client::wait;

const LUA: &str = r#"
local app = require "sampan"
app.get("/:n/:port", function(req)
  app.fetch("http://127.0.0.1:" .. req.params.port .. "/" .. req.params.n)
  return "done"
end)
"#;

const JS: &str = r#"
import { app } from "sampan";
app.get("/:n/:port", async (req) => {
  await fetch(`http://127.0.0.1:${req.params.port}/${req.params.n}`);
  return "done";
});
"#;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn a_trace_continues_across_servers() {
    for app in both(LUA, JS) {
        let traced = start(app, "sample = \"0\"");
        let port = traced.collector.address.port();
        let huge = format!("huge={}", "x".repeat(3_000));
        for (path, parent, state, passed) in [
            ("1", PARENT.to_owned(), "a=1", Some("a=1")),
            (
                "2",
                PARENT.replacen("00", "01", 1) + "-more",
                "b=2,c=3",
                Some("b=2,c=3"),
            ),
            ("3", PARENT.to_owned(), huge.as_str(), None),
        ] {
            let headers = [("traceparent", parent.as_str()), ("tracestate", state)];
            assert_eq!(
                traced.ask(&format!("/{path}/{port}"), &headers).text(),
                "done"
            );
            let upstream = &traced.collector.received(&format!("/{path}"))[0].headers;
            assert!(
                upstream["traceparent"].starts_with(&format!("00-{TRACE}-")),
                "{path}"
            );
            assert!(upstream["traceparent"].ends_with("-01"), "{path}");
            assert_eq!(
                upstream.get("tracestate").map(String::as_str),
                passed,
                "{path}"
            );
        }
        let roots = wait::found("the spans of three requests", || {
            let spans = traced.collector.spans().into_iter();
            let roots: Vec<_> = spans
                .filter(|span| span.name() == "GET /:n/:port")
                .collect();
            (roots.len() == 3).then_some(roots)
        });
        for root in roots {
            assert_eq!(root.text("traceId"), TRACE);
            assert_eq!(root.text("parentSpanId"), "b7ad6b7169203331");
        }
    }
}

#[test]
fn a_malformed_parent_is_ignored() {
    for app in both(LUA, JS) {
        let traced = start(app, "");
        let port = traced.collector.address.port();
        let zeros = "0".repeat(32);
        for (at, parent) in [
            String::new(),
            "nonsense".to_owned(),
            PARENT.to_uppercase(),
            PARENT.replacen("00", "ff", 1),
            PARENT.to_owned() + "-extra",
            PARENT.replace(TRACE, &zeros),
            PARENT.replace("b7ad6b7169203331", &zeros[..16]),
        ]
        .iter()
        .enumerate()
        {
            let headers = [("traceparent", parent.as_str()), ("tracestate", "a=1")];
            assert_eq!(
                traced.ask(&format!("/{at}/{port}"), &headers).text(),
                "done"
            );
            let upstream = &traced.collector.received(&format!("/{at}"))[0].headers;
            let sent = &upstream["traceparent"];
            assert!(sent.len() == 55 && sent.ends_with("-01"), "{sent}");
            assert!(
                !sent.contains(TRACE) && !sent.contains(&zeros),
                "{parent}: {sent}"
            );
            assert!(!upstream.contains_key("tracestate"), "{parent}");
        }
        // Two parents are none.
        let headers = [("traceparent", PARENT), ("traceparent", PARENT)];
        assert_eq!(traced.ask(&format!("/two/{port}"), &headers).text(), "done");
        let upstream = &traced.collector.received("/two")[0].headers;
        assert!(!upstream["traceparent"].contains(TRACE));
    }
}
