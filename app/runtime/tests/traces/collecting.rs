//! Collectors that are down, or refuse, and a server without one.

use crate::support::{Collector, both, start, start_for};
use sampan_client::{Client, wait};
use sampan_runtime::{AppConfig, Server};
use std::fs;
use std::net::TcpListener;

const LUA: &str = r#"
local app = require "sampan"
app.get("/one", function() return "done" end)
app.get("/two", function() return "done" end)
app.get("/to/:port", function(req)
  return app.trace("free", function()
    app.fetch("http://127.0.0.1:" .. req.params.port .. "/upstream")
    return "done"
  end)
end)
"#;

const JS: &str = r#"
import { app } from "sampan";
app.get("/one", () => "done");
app.get("/two", () => "done");
app.get("/to/:port", (req) => app.trace("free", async () => {
  await fetch(`http://127.0.0.1:${req.params.port}/upstream`);
  return "done";
}));
"#;

#[test]
fn spans_wait_for_a_collector_that_is_down() {
    let [app, _] = both(LUA, JS);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let traced = start_for(Collector::down(address), app, "");
    assert_eq!(traced.ask("/one", &[]).text(), "done");
    let listener = wait::found("the port", || TcpListener::bind(address).ok());
    let up = Collector::serve(listener);
    assert_eq!(traced.ask("/two", &[]).text(), "done");
    up.span("GET /one");
    up.span("GET /two");
}

#[test]
fn a_collector_that_refuses_is_in_the_way_of_nothing() {
    let [_, app] = both(LUA, JS);
    let traced = start(app, "headers = [\"x-key: abc\"]");
    traced.collector.answer_with(400);
    assert_eq!(traced.ask("/one", &[]).text(), "done");
    wait::found("the refusal", || {
        traced.collector.received("/v1/traces").into_iter().next()
    });
    traced.collector.answer_with(200);
    assert_eq!(traced.ask("/two", &[]).text(), "done");
    traced.collector.span("GET /two");
    let sent = traced.collector.received("/v1/traces");
    assert_eq!(sent[0].headers["x-key"], "abc");
    assert_eq!(sent[0].headers["content-type"], "application/json");
}

#[test]
fn the_last_spans_are_sent_at_the_end() {
    let [app, _] = both(LUA, JS);
    let traced = start(app, "");
    assert_eq!(traced.ask("/one", &[]).text(), "done");
    let collector = traced.collector.clone();
    traced.server.shutdown();
    assert!(
        collector
            .spans()
            .iter()
            .any(|span| span.name() == "GET /one")
    );
}

#[test]
fn a_server_without_traces_sends_no_header() {
    for (name, text) in both(LUA, JS) {
        let (folder, upstream) = (tempfile::tempdir().expect("a folder"), Collector::start());
        fs::write(folder.path().join(name), text).expect("written");
        let toml = "[server]\nlisten = \"127.0.0.1:0\"\n[fetch]\nallow = [\"127.0.0.1\"]\n";
        let config = AppConfig::from_text(folder.path(), toml).expect("valid");
        let server = Server::start(config).expect("it starts");
        let mut client = Client::connect(server.address()).expect("it listens");
        let path = format!("/to/{}", upstream.address.port());
        let parent = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let answer = client.ask("GET", &path, &[parent], "");
        assert_eq!(answer.expect("an answer").text(), "done");
        let got = &upstream.received("/upstream")[0].headers;
        assert!(!got.contains_key("traceparent"), "{got:?}");
    }
}
