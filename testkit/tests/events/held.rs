//! Ends that are rolled back: a client that left a topic, joined it anew, or was closed in vain.

use crate::app::{App, LANGUAGES};
use crate::feed::Feed;
use sampan_http::websocket::{Event, Opcode};
use sampan_testkit::SocketClient;

/// Each message is a round of ends that fail, in a batch and in a transaction. Then the client joins anew, leaves and is
/// closed with success.
const ENDS: [&str; 2] = [
    r#"local app = require "sampan"
local db = app.db
app.on_start(function() db.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY)") end)
local function fails_in_batch(run)
  pcall(db.batch, function()
    db.exec("INSERT INTO notes DEFAULT VALUES")
    run()
    error("undone")
  end)
end
local function fails_in_transaction(run)
  pcall(db.transaction, function(tx)
    tx:exec("INSERT INTO notes DEFAULT VALUES")
    run()
    app.time.sleep(0.01)
    error("undone")
  end)
end
local function who()
  local numbers = {}
  for _, member in ipairs(app.presence("room")) do numbers[#numbers + 1] = member.data end
  return table.concat(numbers, " ")
end
local function ends(client, close)
  client:join("room", 1)
  local told = {}
  for _, fails in ipairs{ fails_in_batch, fails_in_transaction } do
    fails(function()
      told[#told + 1] = tostring(client:leave("room")) .. " " .. tostring(client:leave("room"))
      close()
    end)
    fails(function()
      client:join("room", 2)
      client:join("room", 3)
    end)
    told[#told + 1] = who()
  end
  client:send(table.concat(told, ", "))
  db.transaction(function(tx)
    tx:exec("INSERT INTO notes DEFAULT VALUES")
    client:join("room", 4)
    app.time.sleep(0.01)
    told = who()
  end)
  client:send(told .. " then " .. who())
  db.batch(function()
    db.exec("INSERT INTO notes DEFAULT VALUES")
    client:leave("room")
    close()
  end)
end
app.ws("/", { message = function(ws) ends(ws, function() ws:close(4000, "bye") end) end })
app.sse("/ends", function(req, events)
  ends(events, function() events:close() end)
  events:wait()
end)
app.sse("/watch", function(req, events)
  events:subscribe("room", { presence = true })
  events:send("begun")
end)"#,
    r#"import { app, db, time } from "sampan";
app.onStart(() => { db.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY)"); });
async function failsInBatch(run) {
  try {
    db.batch(() => {
      db.exec("INSERT INTO notes DEFAULT VALUES");
      run();
      throw new Error("undone");
    });
  } catch {}
}
async function failsInTransaction(run) {
  try {
    await db.transaction(async (tx) => {
      tx.exec("INSERT INTO notes DEFAULT VALUES");
      run();
      await time.sleep(0.01);
      throw new Error("undone");
    });
  } catch {}
}
const who = () => app.presence("room").map((member) => member.data).join(" ");
async function ends(client, close) {
  client.join("room", 1);
  let told = [];
  for (const fails of [failsInBatch, failsInTransaction]) {
    await fails(() => {
      told.push(`${client.leave("room")} ${client.leave("room")}`);
      close();
    });
    await fails(() => {
      client.join("room", 2);
      client.join("room", 3);
    });
    told.push(who());
  }
  await client.send(told.join(", "));
  await db.transaction(async (tx) => {
    tx.exec("INSERT INTO notes DEFAULT VALUES");
    client.join("room", 4);
    await time.sleep(0.01);
    told = who();
  });
  await client.send(`${told} then ${who()}`);
  db.batch(() => {
    db.exec("INSERT INTO notes DEFAULT VALUES");
    client.leave("room");
    close();
  });
}
app.ws("/", { message: (ws) => ends(ws, () => ws.close(4000, "bye")) });
app.sse("/ends", async (req, events) => {
  await ends(events, () => events.close());
  await events.wait();
});
app.sse("/watch", async (req, events) => {
  events.subscribe("room", { presence: true });
  await events.send("begun");
});"#,
];

/// The texts that a client is told.
const TOLD: [&str; 2] = ["true false, 1, true false, 1", "1 then 4"];

/// Checks that the watcher hears of no more than what was committed.
fn hears_what_was_committed(watcher: &mut Feed) {
    for (name, data) in [("join", 1), ("leave", 1), ("join", 4), ("leave", 4)] {
        let event = watcher.event();
        let is_it = event.starts_with(&format!("event: {name}\n"));
        let has_data = event.ends_with(&format!("\"data\":{data}}}"));
        assert!(is_it && has_data, "{event} instead of {name} {data}");
    }
}

#[test]
fn ends_of_sockets_and_streams_count_when_they_are_committed() {
    for file in LANGUAGES {
        let app = App::start(file, ENDS, 1, "");
        let mut watcher = app.open("/watch", &[]);
        assert_eq!(watcher.event(), "data: begun");
        let mut socket = SocketClient::connect(app.running.address(), "/", &[]).expect("a socket");
        socket.send(Opcode::Text, b"go").expect("sent");
        for told in TOLD {
            let text = Event::Text(told.to_owned());
            assert_eq!(socket.receive(), Ok(Some(text)), "{file}");
        }
        match socket.receive() {
            Ok(Some(Event::Close(frame))) => assert_eq!(frame.code, 4000, "{file}"),
            other => panic!("{file}: {other:?} instead of a close frame"),
        }
        hears_what_was_committed(&mut watcher);
        let got = app.open("/ends", &[]).rest();
        let told = TOLD.map(|told| format!("data: {told}\n\n"));
        assert_eq!(got, told.concat(), "{file}");
        hears_what_was_committed(&mut watcher);
        drop((watcher, socket));
        assert!(app.running.shutdown());
    }
}
