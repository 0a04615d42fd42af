//! Clients that ask for the measurements and do not read them.

use crate::support::{PATH, both, start};
use sampan_client::wait;

const LUA: &str = r#"
local app = require "sampan"
local many = app.metrics.counter("many_total", { labels = { "at" } })
app.get("/", function()
  for at = 1, 990 do many:inc(1, { at = string.rep("x", 90) .. at }) end
  return "counted"
end)
"#;

const JS: &str = r#"
import { app, metrics } from "sampan";
const many = metrics.counter("many_total", { labels: ["at"] });
app.get("/", () => {
  for (let at = 1; at <= 990; at += 1) many.inc(1, { at: "x".repeat(90) + at });
  return "counted";
});
"#;

#[test]
fn a_scrape_that_is_never_read_ends_by_the_limits() {
    for app in both(LUA, JS) {
        let measured = start(app, "[limits]\nwrite_idle_millis_max = 200");
        assert_eq!(measured.ask("GET", "/").status, 200);
        let mut silent = measured.client();
        // More than the system keeps for a client that does not read.
        let request = format!("GET {PATH} HTTP/1.1\r\nHost: a\r\n\r\n");
        silent.send(request.repeat(200).as_bytes()).expect("sent");
        let mut client = measured.client();
        wait::until("the connection is closed", || {
            let answer = client.ask("GET", PATH, &[], "").expect("an answer");
            crate::support::Values::of(&answer.text()).get("sampan_connections") == Some(1.0)
        });
        drop(silent);
        assert!(measured.server.shutdown());
    }
}
