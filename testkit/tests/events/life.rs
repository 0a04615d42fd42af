//! The life of streams: their clients leave, they are silent, the project is loaded anew, the server stops.

use crate::app::{App, LANGUAGES};
use crate::feed::retry_of;
use sampan_testkit::wait;

const LEFT: [&str; 2] = [
    r#"local app = require "sampan"
local left = {}
app.sse("/wait", function(req, events)
  events:wait()
  app.time.sleep(0.001)
  left[#left + 1] = "waited"
end)
app.sse("/sleep", function(req, events)
  local ok, err = pcall(app.time.sleep, 3600)
  left[#left + 1] = tostring(ok) .. " " .. tostring(err.code)
end)
app.get("/left", function() return table.concat(left, ", ") end)"#,
    r#"import { app, time } from "sampan";
const left = [];
app.sse("/wait", async (req, events) => {
  await events.wait();
  await time.sleep(0.001);
  left.push("waited");
});
app.sse("/sleep", async (req, events) => {
  try {
    await time.sleep(3600);
  } catch (error) {
    left.push(`false ${error.code}`);
  }
});
app.get("/left", () => left.join(", "));"#,
];

#[test]
fn the_head_comes_at_once_and_a_client_that_leaves_ends_the_function() {
    for file in LANGUAGES {
        let app = App::start(file, LEFT, 1, "");
        let feed = app.open("/wait", &[]);
        assert!(feed.head.contains("content-type: text/event-stream\n"));
        assert!(feed.head.contains("cache-control: no-store\n"));
        assert!(feed.head.contains("x-accel-buffering: no\n"));
        drop(feed);
        wait::until("the end of the function", || app.get("/left") == "waited");
        drop(app.open("/sleep", &[]));
        let expected = "waited, false cancelled";
        wait::until("the end of the other", || app.get("/left") == expected);
        assert!(app.running.shutdown());
    }
}

/// Functions that do not end when their clients leave.
const ENDLESS: [&str; 2] = [
    r#"local app = require "sampan"
local told = 0
app.sse("/wait", function(req, events)
  while true do
    pcall(events.wait, events)
    told = told + 1
  end
end)
app.sse("/send", function(req, events)
  while true do
    if not pcall(events.send, events, "x") then told = told + 1 end
  end
end)
app.get("/told", function() return tostring(told) end)"#,
    r#"import { app } from "sampan";
let told = 0;
app.sse("/wait", async (req, events) => {
  for (;;) {
    await events.wait();
    told += 1;
  }
});
app.sse("/send", async (req, events) => {
  for (;;) {
    try {
      await events.send("x");
    } catch {
      told += 1;
    }
  }
});
app.get("/told", () => String(told));"#,
];

#[test]
fn a_function_that_does_not_end_is_told_a_thousand_times_and_dropped() {
    for file in LANGUAGES {
        let limits = "[limits]\ncleanup_millis_max = 300\n";
        let app = App::start(file, ENDLESS, 1, limits);
        drop(app.open("/wait", &[]));
        wait::until("the end of the first", || app.get("/told") == "1000");
        let mut feed = app.open("/send", &[]);
        assert_eq!(feed.event(), "data: x");
        drop(feed);
        // The wait that was under way fails with `cancelled`, and is none of those.
        wait::until("the end of the other", || {
            app.get("/told").parse::<u32>().expect("a number") >= 2000
        });
        assert!(app.running.shutdown());
    }
}

const SILENT: [&str; 2] = [
    r#"local app = require "sampan"
app.sse("/", function(req, events) events:subscribe("silence") end)"#,
    r#"import { app } from "sampan";
app.sse("/", (req, events) => { events.subscribe("silence"); });"#,
];

#[test]
fn a_silent_stream_is_kept_alive_by_comments() {
    for file in LANGUAGES {
        let sections = "[sse]\nheartbeat_millis = 30\n[limits]\nstream_idle_millis_max = 60000\n";
        let app = App::start(file, SILENT, 1, sections);
        let mut feed = app.open("/", &[]);
        assert_eq!([feed.event(), feed.event(), feed.event()], [":"; 3]);
        drop(feed);
        assert!(app.running.shutdown());
    }
}

const BEFORE: [&str; 2] = [
    r#"local app = require "sampan"
app.sse("/kept", function(req, events) events:subscribe("news") events:send("begun") end)
app.sse("/running", function(req, events) events:send("begun") events:wait() end)
app.get("/version", "before")"#,
    r#"import { app } from "sampan";
app.sse("/kept", async (req, events) => {
  events.subscribe("news");
  await events.send("begun");
});
app.sse("/running", async (req, events) => {
  await events.send("begun");
  await events.wait();
});
app.get("/version", "before");"#,
];

const AFTER: [&str; 2] = [
    r#"local app = require "sampan"
app.post("/", function() app.publish("news", "of the new project") end)
app.get("/version", "after")"#,
    r#"import { app } from "sampan";
app.post("/", () => { app.publish("news", "of the new project"); });
app.get("/version", "after");"#,
];

#[test]
fn a_reload_keeps_streams_and_ends_functions_after_a_time() {
    for file in LANGUAGES {
        let limits = "[limits]\nshutdown_millis_max = 300\n";
        let app = App::start(file, BEFORE, 1, limits);
        let (mut kept, mut running) = (app.open("/kept", &[]), app.open("/running", &[]));
        assert_eq!([kept.event(), running.event()], ["data: begun"; 2]);
        app.reload(file, AFTER, limits);
        wait::until("the new project", || app.get("/version") == "after");
        app.post("/");
        assert!(kept.event().ends_with("\ndata: of the new project"));
        assert!(retry_of(&running.rest()) >= 1000);
        app.post("/");
        assert!(kept.event().ends_with("\ndata: of the new project"));
        drop(kept);
        assert!(app.running.shutdown());
    }
}

#[test]
fn a_stop_tells_clients_to_come_back_at_different_times() {
    for file in LANGUAGES {
        let app = App::start(file, BEFORE, 1, "[limits]\ndrain_millis = 4000\n");
        let mut feeds: Vec<_> = (0..8)
            .map(|n| app.open(["/kept", "/running"][n % 2], &[]))
            .collect();
        for feed in &mut feeds {
            assert_eq!(feed.event(), "data: begun");
        }
        let App { running, folder } = app;
        let stopping = std::thread::spawn(move || running.shutdown());
        let times: Vec<u64> = feeds
            .iter_mut()
            .map(|feed| retry_of(&feed.rest()))
            .collect();
        assert!(
            times.iter().all(|time| (1000..=5000).contains(time)),
            "{times:?}"
        );
        let quarter = |at: u64| times.iter().any(|time| (at..at + 1000).contains(time));
        assert!(
            [1000, 2000, 3000, 4000].into_iter().all(quarter),
            "{times:?}"
        );
        assert!(
            stopping.join().expect("no panic"),
            "streams do not hold it up"
        );
        drop(folder);
    }
}
