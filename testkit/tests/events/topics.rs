//! Messages of topics on their way to streams.

use crate::app::{App, LANGUAGES};
use crate::feed::id_and_data;

const NEWS: [&str; 2] = [
    r#"local app = require "sampan"
app.sse("/news", function(req, events)
  events:subscribe("news")
  events:send("worker " .. app.worker.index)
end)
app.post("/news/:text", function(req) app.publish("news", req.params.text) end)"#,
    r#"import { app } from "sampan";
app.sse("/news", async (req, events) => {
  events.subscribe("news");
  await events.send(`worker ${app.worker.index}`);
});
app.post("/news/:text", (req) => { app.publish("news", req.params.text); });"#,
];

#[test]
fn a_message_reaches_the_streams_of_all_workers_with_one_id() {
    for file in LANGUAGES {
        let app = App::start(file, NEWS, 2, "");
        let mut feeds: Vec<_> = (0..2).map(|_| app.open("/news", &[])).collect();
        let mut workers: Vec<String> = feeds.iter_mut().map(|feed| feed.event()).collect();
        workers.sort();
        assert_eq!(workers, ["data: worker 1", "data: worker 2"]);
        app.post("/news/a");
        app.post("/news/b");
        let got: Vec<[String; 2]> = feeds
            .iter_mut()
            .map(|feed| [feed.event(), feed.event()])
            .collect();
        assert_eq!(got[0], got[1]);
        let ids = got[0].each_ref().map(|event| id_and_data(event));
        assert_eq!(ids.map(|(_, data)| data), ["a", "b"]);
        assert_ne!(ids[0].0, ids[1].0);
        drop(feeds);
        assert!(app.running.shutdown());
    }
}

const LOST: [&str; 2] = [
    r#"local app = require "sampan"
local db = app.db
app.on_start(function()
  db.exec("CREATE TABLE parents (id INTEGER PRIMARY KEY)")
  db.exec("CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)")
end)
app.sse("/", function(req, events)
  local is_at_the_end = false
  local ok = pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO children (parent) VALUES (7)")
    events:send("not there")
    is_at_the_end = true
  end)
  events:send(tostring(ok) .. " " .. tostring(is_at_the_end))
end)"#,
    r#"import { app, db } from "sampan";
app.onStart(() => {
  db.exec("CREATE TABLE parents (id INTEGER PRIMARY KEY)");
  db.exec("CREATE TABLE children (parent INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)");
});
app.sse("/", async (req, events) => {
  let [ok, isAtTheEnd] = [true, false];
  try {
    await db.transaction(async (tx) => {
      tx.exec("INSERT INTO children (parent) VALUES (7)");
      events.send("not there");
      isAtTheEnd = true;
    });
  } catch {
    ok = false;
  }
  await events.send(`${ok} ${isAtTheEnd}`);
});"#,
];

#[test]
fn an_event_is_not_sent_when_its_commit_fails() {
    for file in LANGUAGES {
        let app = App::start(file, LOST, 1, "");
        assert_eq!(app.open("/", &[]).rest(), "data: false true\n\n", "{file}");
        assert!(app.running.shutdown());
    }
}
