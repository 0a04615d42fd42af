//! Clients that do not read, and more streams than are allowed.

use crate::app::{App, LANGUAGES};
use sampan_testkit::wait;
use std::io::Read;

const FLOOD: [&str; 2] = [
    r#"local app = require "sampan"
app.sse("/", function(req, events) events:subscribe("flood") events:send("begun") end)
app.post("/flood", function() app.publish("flood", ("x"):rep(400000)) end)
local sent = "no"
app.sse("/fast", function(req, events)
  for n = 1, 200 do events:send(("x"):rep(100000)) end
  sent = "yes"
end)
app.get("/sent", function() return sent end)"#,
    r#"import { app } from "sampan";
app.sse("/", async (req, events) => {
  events.subscribe("flood");
  await events.send("begun");
});
app.post("/flood", () => { app.publish("flood", "x".repeat(400000)); });
let sent = "no";
app.sse("/fast", async (req, events) => {
  for (let at = 0; at < 200; at += 1) await events.send("x".repeat(100000));
  sent = "yes";
});
app.get("/sent", () => sent);"#,
];

#[test]
fn a_client_that_does_not_read_loses_its_stream_and_others_go_on() {
    for file in LANGUAGES {
        let app = App::start(file, FLOOD, 1, "[sse]\nwaiting_bytes_max = 500000\n");
        let mut slow = app.open("/", &[]);
        let mut quick = app.open("/", &[]);
        assert_eq!([slow.event(), quick.event()], ["data: begun"; 2]);
        for _ in 0..60 {
            app.post("/flood");
            assert!(quick.event().starts_with("id: "));
        }
        // It ends in order, without the messages for which there was no room.
        let got = slow.rest();
        assert!(got.len() < 60 * 400_000, "{}", got.len());
        assert!(slow.has_ended);
        app.post("/flood");
        assert!(quick.event().starts_with("id: "));
        drop(quick);
        assert!(app.running.shutdown());
    }
}

#[test]
fn a_function_that_sends_waits_for_its_client() {
    for file in LANGUAGES {
        let app = App::start(file, FLOOD, 1, "[sse]\nwaiting_bytes_max = 500000\n");
        let mut feed = app.open("/fast", &[]);
        assert_eq!(app.get("/sent"), "no");
        assert_eq!(feed.rest().len(), 200 * (100_000 + "data: \n\n".len()));
        assert_eq!(app.get("/sent"), "yes");
        assert!(app.running.shutdown());
    }
}

#[test]
fn more_streams_than_allowed_are_answered_503() {
    for file in LANGUAGES {
        let app = App::start(file, FLOOD, 1, "[sse]\nstreams_max = 1\n");
        let mut first = app.open("/", &[]);
        assert_eq!(first.event(), "data: begun");
        let refused = app.open("/", &[]);
        assert!(refused.head.starts_with("http/1.1 503"), "{}", refused.head);
        assert!(
            refused.head.contains("retry-after: 5\n"),
            "{}",
            refused.head
        );
        drop(first);
        wait::until("the place of the stream that has ended", || {
            let mut next = app.open("/", &[]);
            next.head.starts_with("http/1.1 200") && next.event() == "data: begun"
        });
        assert!(app.running.shutdown());
    }
}

const COMPRESSED: [&str; 2] = [
    r#"local app = require "sampan"
app.sse("/", { compress = true }, function(req, events) events:subscribe("all") events:send("begun") end)
app.post("/", function() app.publish("all", "later") end)"#,
    r#"import { app } from "sampan";
app.sse("/", { compress: true }, async (req, events) => {
  events.subscribe("all");
  await events.send("begun");
});
app.post("/", () => { app.publish("all", "later"); });"#,
];

#[test]
fn a_compressed_stream_is_flushed_with_each_event() {
    for file in LANGUAGES {
        let app = App::start(file, COMPRESSED, 1, "");
        let mut feed = app.open("/", &["Accept-Encoding: br, gzip"]);
        assert!(
            feed.head.contains("content-encoding: gzip"),
            "{}",
            feed.head
        );
        assert!(feed.head.contains("vary: accept-encoding"), "{}", feed.head);
        let mut bytes = Vec::new();
        let mut read_to = |wanted: &str| loop {
            let mut text = vec![0; 1000];
            let len = flate2::read::GzDecoder::new(&*bytes)
                .read(&mut text)
                .unwrap_or(0);
            let text = String::from_utf8_lossy(&text[..len]).into_owned();
            if text.contains(wanted) {
                return;
            }
            bytes.extend(feed.chunk().expect("more"));
        };
        read_to("data: begun\n\n");
        app.post("/");
        read_to("data: later\n\n");
        let mut plain = app.open("/", &[]);
        assert!(!plain.head.contains("content-encoding"), "{}", plain.head);
        assert_eq!(plain.event(), "data: begun");
        drop((feed, plain));
        assert!(app.running.shutdown());
    }
}
