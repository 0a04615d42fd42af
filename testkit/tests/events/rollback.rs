//! Messages of transactions and statements that are rolled back: nothing of them leaves.

use crate::app::{App, LANGUAGES};
use crate::feed::id_and_data;
use sampan_http::websocket::{Event, Opcode};
use sampan_testkit::SocketClient;

/// Sends the text on a socket, and publishes it; the subscribed function does so too, when it gets `run`.
const RUNS: [&str; 2] = [
    r#"local app = require "sampan"
local db = app.db
app.on_start(function() db.exec("CREATE TABLE notes (text TEXT)") end)
app.sse("/feed", function(req, events)
  events:subscribe("feed")
  events:send("begun")
end)
local function fail(ws)
  local ok = pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO notes VALUES ('lost')")
    if ws then
      ws:send("bad")
      ws:join("room", 1)
    end
    app.publish("feed", "bad")
    app.time.sleep(0.01)
    app.publish("feed", "bad too")
    if ws then ws:send_json({ "bad" }) end
    error("undone")
  end)
  local got
  db.transaction(function(tx)
    tx:exec("INSERT INTO notes VALUES ('kept')")
    if ws then got = ws:send("kept") end
    app.publish("feed", "kept")
  end)
  return tostring(ok) .. " " .. tostring(got)
end
app.ws("/", { message = function(ws) ws:send(fail(ws) .. " " .. #app.presence("room")) end })
app.subscribe("work", function() fail() end)
app.post("/work", function() app.publish("work", "run") end)"#,
    r#"import { app, db, time } from "sampan";
app.onStart(() => { db.exec("CREATE TABLE notes (text TEXT)"); });
app.sse("/feed", async (req, events) => {
  events.subscribe("feed");
  await events.send("begun");
});
async function fail(ws) {
  let [ok, got] = [true, null];
  try {
    await db.transaction(async (tx) => {
      tx.exec("INSERT INTO notes VALUES ('lost')");
      if (ws) {
        ws.send("bad");
        ws.join("room", 1);
      }
      app.publish("feed", "bad");
      await time.sleep(0.01);
      app.publish("feed", "bad too");
      if (ws) ws.sendJson(["bad"]);
      throw new Error("undone");
    });
  } catch {
    ok = false;
  }
  await db.transaction(async (tx) => {
    tx.exec("INSERT INTO notes VALUES ('kept')");
    if (ws) got = ws.send("kept");
    app.publish("feed", "kept");
  });
  return `${ok} ${got}`;
}
app.ws("/", { async message(ws) { ws.send(`${await fail(ws)} ${app.presence("room").length}`); } });
app.subscribe("work", async () => { await fail(); });
app.post("/work", () => { app.publish("work", "run"); });"#,
];

#[test]
fn messages_of_events_and_functions_wait_for_their_transactions() {
    for file in LANGUAGES {
        let app = App::start(file, RUNS, 1, "");
        let mut feed = app.open("/feed", &[]);
        assert_eq!(feed.event(), "data: begun");
        let mut socket = SocketClient::connect(app.running.address(), "/", &[]).expect("a socket");
        socket.send(Opcode::Text, b"go").expect("sent");
        for expected in ["kept", "false queued 0"] {
            let text = Event::Text(expected.to_owned());
            assert_eq!(socket.receive(), Ok(Some(text)), "{file}");
        }
        assert_eq!(id_and_data(&feed.event()).1, "kept", "{file}");
        app.post("/work");
        assert_eq!(id_and_data(&feed.event()).1, "kept", "{file}");
        drop((feed, socket));
        assert!(app.running.shutdown());
    }
}

/// Ways to lose a transaction whose function goes on. Each tells what came of a message afterwards.
const GOES_ON: [&str; 2] = [
    r#"local app = require "sampan"
local db = app.db
app.on_start(function()
  db.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY)")
  db.exec("INSERT INTO notes VALUES (1)")
end)
local function told(ok, err) return ok and "sent" or tostring(err.message or err) end
app.sse("/undone", function(req, events)
  local first, second
  pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO notes VALUES (2)")
    pcall(tx.exec, tx, "INSERT OR ROLLBACK INTO notes VALUES (1)")
    first = told(pcall(app.publish, "feed", "bad"))
    second = told(pcall(events.send, events, "bad"))
  end)
  events:send(first .. "; " .. second)
end)
app.sse("/late", function(req, events)
  local first, second
  pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO notes VALUES (2)")
    repeat
      app.time.sleep(0.01)
      local is_open = pcall(tx.one, tx, "SELECT 1")
    until not is_open
    first = told(pcall(app.publish, "feed", "bad"))
    second = told(pcall(events.send, events, "bad"))
  end)
  events:send(first .. "; " .. second)
end)
local group
app.post("/group", function(req)
  db.exec("INSERT INTO notes VALUES (2)")
  pcall(db.exec, "INSERT OR ROLLBACK INTO notes VALUES (1)")
  group = told(pcall(app.publish, "feed", "bad"))
end)
app.get("/group", function() return group end)
local last
app.sse("/much", function(req, events)
  pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO notes VALUES (2)")
    for n = 1, 4 do events:send(("x"):rep(40000)) end
    app.time.sleep(0.01)
    error("undone")
  end)
  events:send("undone")
  db.transaction(function(tx)
    tx:exec("INSERT INTO notes VALUES (2)")
    repeat last = told(pcall(events.send, events, ("y"):rep(40000))) until last ~= "sent"
  end)
end)
app.get("/last", function() return last end)"#,
    r#"import { app, db, time } from "sampan";
app.onStart(() => {
  db.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY)");
  db.exec("INSERT INTO notes VALUES (1)");
});
async function told(run) {
  try {
    await run();
    return "sent";
  } catch (error) {
    return error.message;
  }
}
async function both(events) {
  const first = await told(() => app.publish("feed", "bad"));
  return `${first}; ${await told(() => events.send("bad"))}`;
}
app.sse("/undone", async (req, events) => {
  let both_told;
  await told(() => db.transaction(async (tx) => {
    tx.exec("INSERT INTO notes VALUES (2)");
    await told(() => tx.exec("INSERT OR ROLLBACK INTO notes VALUES (1)"));
    both_told = await both(events);
  }));
  await events.send(both_told);
});
app.sse("/late", async (req, events) => {
  let both_told;
  await told(() => db.transaction(async (tx) => {
    tx.exec("INSERT INTO notes VALUES (2)");
    do await time.sleep(0.01); while (await told(() => tx.one("SELECT 1")) === "sent");
    both_told = await both(events);
  }));
  await events.send(both_told);
});
let group;
app.post("/group", async () => {
  db.exec("INSERT INTO notes VALUES (2)");
  try { db.exec("INSERT OR ROLLBACK INTO notes VALUES (1)"); } catch {}
  group = told(() => app.publish("feed", "bad"));
});
app.get("/group", () => group);
let last;
app.sse("/much", async (req, events) => {
  await told(() => db.transaction(async (tx) => {
    tx.exec("INSERT INTO notes VALUES (2)");
    for (let at = 0; at < 4; at += 1) await events.send("x".repeat(40000));
    await time.sleep(0.01);
    throw new Error("undone");
  }));
  await events.send("undone");
  await db.transaction(async (tx) => {
    tx.exec("INSERT INTO notes VALUES (2)");
    do last = await told(() => events.send("y".repeat(40000))); while (last === "sent");
  });
});
app.get("/last", () => last);"#,
];

const LOST: &str = "what this request wrote was rolled back: nothing is sent";

#[test]
fn nothing_is_sent_after_a_rollback_while_the_function_goes_on() {
    for file in LANGUAGES {
        let app = App::start(file, GOES_ON, 1, "[db]\ntransaction_millis_max = 200\n");
        for path in ["/undone", "/late"] {
            let got = app.open(path, &[]).rest();
            let is_alone = got.matches("data:").count() == 1;
            assert!(
                is_alone && got.matches(LOST).count() == 2,
                "{file} {path}: {got}"
            );
        }
        assert_eq!(app.ask("POST", "/group").0, 500, "{file}");
        let group = app.get("/group");
        assert!(group.ends_with(LOST), "{file}: {group}");
        assert!(app.running.shutdown());
    }
}

#[test]
fn a_transaction_does_not_wait_for_room_in_a_stream() {
    for file in LANGUAGES {
        let app = App::start(file, GOES_ON, 1, "[sse]\nwaiting_bytes_max = 180000\n");
        let got = app.open("/much", &[]).rest();
        let events: Vec<&str> = got.split_terminator("\n\n").collect();
        let (first, many) = events.split_first().expect("an event");
        assert_eq!(*first, "data: undone", "{file}");
        let is_whole = |event: &&str| event.len() == "data: ".len() + 40_000;
        assert!(many.len() > 3 && many.iter().all(is_whole), "{file}");
        let why = "more would wait for a commit than may (waiting_bytes_max in [sse])";
        let last = app.get("/last");
        assert!(last.ends_with(why), "{file}: {last}");
        assert!(app.running.shutdown());
    }
}
