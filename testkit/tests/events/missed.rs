//! Messages of several topics that clients missed, large amounts, and much at once.

use crate::app::{App, LANGUAGES};
use crate::feed::id_and_data;

const SEVERAL: [&str; 2] = [
    r#"local app = require "sampan"
app.topic("kept:*", { history = 100 })
app.sse("/", function(req, events)
  events:send("first")
  events:subscribe("kept:a")
  events:subscribe("kept:b")
  events:subscribe("kept:a")
  events:send("begun")
end)
app.sse("/late", function(req, events)
  events:subscribe("kept:a")
  app.time.sleep(0.001)
  events:subscribe("kept:b")
  events:send("begun")
end)
app.sse("/first", function(req, events)
  events:subscribe("kept:a")
end)
app.sse("/together", function(req, events)
  app.time.sleep(0.001)
  events:subscribe("kept:a")
  events:subscribe("kept:b")
  events:send("begun")
end)
app.sse("/other", function(req, events)
  events:subscribe("other")
  events:send("begun " .. tostring(events.last_id))
end)
app.post("/:topic/:text", function(req) app.publish("kept:" .. req.params.topic, req.params.text) end)
app.post("/large", function() app.publish("kept:a", ("x"):rep(400000)) end)
app.post("/three", function()
  for n = 1, 3 do app.publish("kept:a", n .. ("x"):rep(700000)) end
end)"#,
    r#"import { app, time } from "sampan";
app.topic("kept:*", { history: 100 });
app.sse("/", async (req, events) => {
  events.send("first");
  events.subscribe("kept:a");
  events.subscribe("kept:b");
  events.subscribe("kept:a");
  await events.send("begun");
});
app.sse("/late", async (req, events) => {
  events.subscribe("kept:a");
  await time.sleep(0.001);
  events.subscribe("kept:b");
  await events.send("begun");
});
app.sse("/first", (req, events) => {
  events.subscribe("kept:a");
});
app.sse("/together", async (req, events) => {
  await time.sleep(0.001);
  events.subscribe("kept:a");
  events.subscribe("kept:b");
  await events.send("begun");
});
app.sse("/other", async (req, events) => {
  events.subscribe("other");
  await events.send(`begun ${events.lastId === null || events.lastId === undefined ? "nil" : events.lastId}`);
});
app.post("/:topic/:text", (req) => { app.publish(`kept:${req.params.topic}`, req.params.text); });
app.post("/large", () => { app.publish("kept:a", "x".repeat(400000)); });
app.post("/three", () => {
  for (let n = 1; n <= 3; n += 1) app.publish("kept:a", n + "x".repeat(700000));
});"#,
];

/// Opens a stream, and returns the line that names the first event that it got of a topic.
fn known(app: &App) -> String {
    let mut feed = app.open("/", &[]);
    assert_eq!([feed.event(), feed.event()], ["data: first", "data: begun"]);
    app.post("/a/0");
    format!("Last-Event-ID: {}", id_and_data(&feed.event()).0)
}

#[test]
fn what_was_missed_of_several_topics_comes_in_one_order_and_once() {
    for file in LANGUAGES {
        let app = App::start(file, SEVERAL, 1, "");
        let line = known(&app);
        for path in ["/b/1", "/a/2", "/b/3", "/a/4"] {
            app.post(path);
        }
        let mut again = app.open("/", &[&line]);
        assert_eq!(again.event(), "data: first");
        for text in ["1", "2", "3", "4"] {
            assert_eq!(id_and_data(&again.event()).1, text, "{file}");
        }
        assert_eq!(again.event(), "data: begun");
        app.post("/a/5");
        assert_eq!(id_and_data(&again.event()).1, "5");
        drop(again);

        // The client's id does not stand for a later subscription.
        let mut late = app.open("/late", &[&line]);
        for text in ["2", "4", "5"] {
            assert_eq!(id_and_data(&late.event()).1, text, "{file}");
        }
        assert_eq!(late.event(), "event: resync\ndata: {\"topic\":\"kept:b\"}");
        assert_eq!(late.event(), "data: begun");
        drop(late);
        assert!(app.running.shutdown());
    }
}

#[test]
fn a_connection_that_ends_before_a_later_subscription_loses_nothing_silently() {
    for file in LANGUAGES {
        let app = App::start(file, SEVERAL, 1, "");
        let line = known(&app);
        for path in ["/b/1", "/a/2"] {
            app.post(path);
        }
        // It breaks when the first topic is sent, before the second is subscribed to.
        let mut cut = app.open("/first", &[&line]);
        let event = cut.event();
        let (id, text) = id_and_data(&event);
        assert_eq!(text, "2", "{file}");
        let line = format!("Last-Event-ID: {id}");
        drop(cut);
        let mut late = app.open("/late", &[&line]);
        let resync = "event: resync\ndata: {\"topic\":\"kept:b\"}";
        assert_eq!(late.event(), resync, "{file}");
        assert_eq!(late.event(), "data: begun");
        app.post("/b/3");
        assert_eq!(id_and_data(&late.event()).1, "3");
        drop(late);
        // Waiting before all of them is no matter.
        let mut together = app.open("/together", &[&line]);
        assert_eq!(id_and_data(&together.event()).1, "3", "{file}");
        assert_eq!(together.event(), "data: begun");
        drop(together);
        assert!(app.running.shutdown());
    }
}

#[test]
fn more_than_may_wait_is_replayed() {
    for file in LANGUAGES {
        let app = App::start(file, SEVERAL, 1, "");
        let line = known(&app);
        for _ in 0..10 {
            app.post("/large");
        }
        let mut again = app.open("/", &[&line]);
        assert_eq!(again.event(), "data: first");
        for _ in 0..10 {
            assert_eq!(id_and_data(&again.event()).1.len(), 400_000);
        }
        assert_eq!(again.event(), "data: begun");
        drop(again);
        assert!(app.running.shutdown());
    }
}

#[test]
fn a_replay_above_every_bound_is_continued_by_the_next_connection() {
    for file in LANGUAGES {
        let app = App::start(file, SEVERAL, 1, "[sse]\nwaiting_bytes_max = 60000\n");
        let mut line = known(&app);
        for _ in 0..5 {
            app.post("/large");
        }
        let mut count = 0;
        for _ in 0..5 {
            let mut feed = app.open("/", &[&line]);
            let mut last = None;
            for event in feed
                .rest_if_closed(5 - count)
                .iter()
                .filter(|event| event.starts_with("id: "))
            {
                last = Some(format!("Last-Event-ID: {}", id_and_data(event).0));
                count += 1;
            }
            line = last.expect("each connection goes on");
            if count == 5 {
                break;
            }
        }
        assert_eq!(count, 5, "{file}");
        assert!(app.running.shutdown());
    }
}

#[test]
fn a_client_that_comes_back_to_a_topic_without_history_is_told_to_read_anew() {
    for file in LANGUAGES {
        let app = App::start(file, SEVERAL, 1, "");
        let resync = "event: resync\ndata: {\"topic\":\"other\"}";
        let mut feed = app.open("/other", &["Last-Event-ID: abc-1"]);
        assert_eq!([feed.event(), feed.event()], [resync, "data: begun abc-1"]);
        let long = format!("Last-Event-ID: {}", "x".repeat(2000));
        let mut feed = app.open("/other", &[&long]);
        assert_eq!([feed.event(), feed.event()], [resync, "data: begun nil"]);
        let mut feed = app.open("/other", &[]);
        assert_eq!(feed.event(), "data: begun nil");
        drop(feed);
        assert!(app.running.shutdown());
    }
}

#[test]
fn a_client_that_reads_gets_more_than_may_wait_in_one_turn() {
    for file in LANGUAGES {
        let app = App::start(file, SEVERAL, 1, "");
        let mut feed = app.open("/", &[]);
        assert_eq!([feed.event(), feed.event()], ["data: first", "data: begun"]);
        app.post("/three");
        for n in ["1", "2", "3"] {
            assert!(id_and_data(&feed.event()).1.starts_with(n), "{file}");
        }
        app.post("/a/later");
        assert_eq!(id_and_data(&feed.event()).1, "later");
        drop(feed);
        assert!(app.running.shutdown());
    }
}
