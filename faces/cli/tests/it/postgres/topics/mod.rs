//! Topics of several processes on one database.

mod faults;
mod feed;
mod nginx;
mod reaching;

use super::serving::project;
use crate::commands::command::sampan;
use crate::support::{Process, Scratch};
use nginx::Nginx;
use sampan_client::postgres::PostgresServer;
use sampan_testkit::{Client, SocketClient, wait};
use std::net::SocketAddr;
use std::sync::Arc;

/// The chat in Lua.
const LUA: &str = r#"
local app = require "sampan"
local db = app.db
local function topic(req) return "room:" .. req.params.room end
local function keep(text) return db.exec("INSERT INTO notes (title) VALUES (?)", { text }) end

app.topic("room:*", { history = 1000 })
app.sse("/rooms/:room/events", function(req, events)
  events:subscribe(topic(req), { presence = true })
  if req.query.name then events:join(topic(req), { name = req.query.name }) end
end)
app.ws("/rooms/:room/socket", {
  open = function(ws)
    ws:subscribe(topic(ws.req))
    ws:join(topic(ws.req), { name = ws.req.query.name })
    ws:send("open")
  end,
  message = function(ws, text) app.publish(topic(ws.req), text) end,
})
app.get("/rooms/:room/people", function(req)
  local names = {}
  for i, member in ipairs(app.presence(topic(req))) do names[i] = member.data.name end
  return table.concat(names, " ")
end)
app.post("/rooms/:room/say/:text", function(req)
  keep(req.params.text)
  app.publish(topic(req), req.params.text)
  return "said"
end)
app.post("/rooms/:room/keep/:text", function(req)
  keep(req.params.text)
  return "kept"
end)
app.post("/rooms/:room/transaction/:text", function(req)
  local ok = pcall(db.transaction, function(tx)
    app.publish(topic(req), "in " .. req.params.text)
    tx:exec("INSERT INTO notes (title) VALUES (?)", { req.params.text })
    tx:batch(function() app.publish(topic(req), "nested " .. req.params.text) end)
    if req.params.text == "fails" then error("no") end
  end)
  return tostring(ok)
end)
app.post("/rooms/:room/batch/:text", function(req)
  local ok = pcall(db.batch, function()
    app.publish(topic(req), "batched " .. req.params.text)
    keep(req.params.text ~= "fails" and req.params.text or app.null)
  end)
  return tostring(ok)
end)
app.post("/rooms/:room/large/:count", function(req)
  app.publish(topic(req), string.rep("x", tonumber(req.params.count)))
  return "said"
end)
"#;

/// The chat in JavaScript.
const JS: &str = r#"
import { app, db } from "sampan";
const topic = (req) => `room:${req.params.room}`;
const keep = (text) => db.exec("INSERT INTO notes (title) VALUES (?)", [text]);
const succeeds = async (work) => {
  try {
    await work();
    return "true";
  } catch {
    return "false";
  }
};

app.topic("room:*", { history: 1000 });
app.sse("/rooms/:room/events", (req, events) => {
  events.subscribe(topic(req), { presence: true });
  if (req.query.name) events.join(topic(req), { name: req.query.name });
});
app.ws("/rooms/:room/socket", {
  open(ws) {
    ws.subscribe(topic(ws.req));
    ws.join(topic(ws.req), { name: ws.req.query.name });
    ws.send("open");
  },
  message(ws, text) { app.publish(topic(ws.req), text); },
});
app.get("/rooms/:room/people", (req) => app.presence(topic(req)).map((member) => member.data.name).join(" "));
app.post("/rooms/:room/say/:text", async (req) => {
  await keep(req.params.text);
  app.publish(topic(req), req.params.text);
  return "said";
});
app.post("/rooms/:room/keep/:text", async (req) => {
  await keep(req.params.text);
  return "kept";
});
app.post("/rooms/:room/transaction/:text", (req) => succeeds(() => db.transaction(async (tx) => {
  app.publish(topic(req), `in ${req.params.text}`);
  await tx.exec("INSERT INTO notes (title) VALUES (?)", [req.params.text]);
  await tx.batch(() => app.publish(topic(req), `nested ${req.params.text}`));
  if (req.params.text === "fails") throw new Error("no");
})));
app.post("/rooms/:room/batch/:text", (req) => succeeds(() => db.batch(() => {
  app.publish(topic(req), `batched ${req.params.text}`);
  keep(req.params.text === "fails" ? null : req.params.text);
})));
app.post("/rooms/:room/large/:count", (req) => {
  app.publish(topic(req), "x".repeat(Number(req.params.count)));
  return "said";
});
"#;

const APPS: [(&str, &str); 2] = [("app.lua", LUA), ("app.js", JS)];

/// Three processes of one app on one database.
struct Processes {
    server: Arc<PostgresServer>,
    database: String,
    all: Vec<Process>,
    nginx: Option<Nginx>,
    _scratch: Scratch,
}

impl Processes {
    fn start(server: Arc<PostgresServer>, (file, source): (&str, &str)) -> Self {
        let scratch = project(file, source);
        // The server of the tests is slow now and then, and so are the processes.
        let settings = "[topics]\npresence = \"4 s\"\n[db]\nstatement_millis_max = 60000\nbusy_millis_max = 60000\n";
        std::fs::write(scratch.path().join("sampan.toml"), settings).expect("a file");
        let database = server.database();
        let url = server.url(&database);
        let all: Vec<Process> = (0..3)
            .map(|_| {
                let path = scratch.file(file);
                let args = [
                    "run",
                    &path,
                    "--listen",
                    "127.0.0.1:0",
                    "--workers",
                    "2",
                    "--db",
                    &url,
                ];
                Process::start(&mut sampan(&args))
            })
            .collect();
        let addresses: Vec<SocketAddr> = all.iter().map(|one| one.address).collect();
        Self {
            server,
            database,
            nginx: Nginx::before(&addresses),
            all,
            _scratch: scratch,
        }
    }

    fn address(&self, at: usize) -> SocketAddr {
        self.all[at].address
    }

    /// The address behind which all processes are.
    fn front(&self) -> SocketAddr {
        self.nginx
            .as_ref()
            .map_or(self.address(2), |nginx| nginx.address)
    }

    fn post(&self, at: usize, path: &str) -> String {
        let (status, text) = post(self.address(at), path).expect("an answer");
        assert_eq!(status, 200, "{path}: {text}");
        text
    }

    fn people(&self, at: usize) -> String {
        let mut client = Client::connect(self.address(at)).expect("someone listens");
        let answer = client.ask("GET", "/rooms/7/people", &[], "");
        answer.expect("an answer").text()
    }

    /// Waits until a process knows these members, in any order.
    fn until_people(&self, at: usize, names: &str) {
        wait::until(format!("{names} in process {at}"), || {
            let people = self.people(at);
            let mut people: Vec<&str> = people.split(' ').collect();
            people.sort_unstable();
            people.join(" ") == names
        });
    }
}

/// Sends a request without a body. `None` without a whole answer.
fn post(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let mut client = Client::connect(address).ok()?;
    let answer = client.ask("POST", path, &[], "").ok()?;
    (!answer.is_cut).then(|| (answer.status, answer.text()))
}

fn socket(address: SocketAddr, name: &str) -> SocketClient {
    let path = format!("/rooms/7/socket?name={name}");
    let origin = [("Origin".to_owned(), format!("http://{address}"))];
    let mut socket = SocketClient::connect(address, &path, &origin).expect("a socket");
    assert_eq!(text(&mut socket), "open");
    socket
}

/// The next text of a socket.
fn text(socket: &mut SocketClient) -> String {
    use sampan_http::websocket::Event;
    loop {
        match socket.receive().expect("a message") {
            Some(Event::Text(text)) => return text,
            Some(Event::Ping(_) | Event::Pong(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}
