//! Members of topics, and what clients missed.

use crate::app::{App, LANGUAGES};
use crate::feed::id_and_data;
use sampan_http::websocket::Event;
use sampan_testkit::{SocketClient, wait};

const ROOM: [&str; 2] = [
    r#"local app = require "sampan"
app.sse("/member/:name", function(req, events)
  events:join("room", { name = req.params.name })
  events:send("joined")
end)
app.ws("/watch", {
  open = function(ws)
    ws:subscribe("room", { presence = true })
    ws:join("room", { name = "watcher" })
  end,
})
app.get("/who", function()
  local names = {}
  for _, member in ipairs(app.presence("room")) do names[#names + 1] = member.data.name end
  return table.concat(names, " ")
end)"#,
    r#"import { app } from "sampan";
app.sse("/member/:name", async (req, events) => {
  events.join("room", { name: req.params.name });
  await events.send("joined");
});
app.ws("/watch", {
  open(ws) {
    ws.subscribe("room", { presence: true });
    ws.join("room", { name: "watcher" });
  },
});
app.get("/who", () => app.presence("room").map((member) => member.data.name).join(" "));"#,
];

/// Takes the next text, and returns its event and the name of the member.
fn told(socket: &mut SocketClient) -> (String, String) {
    let text = match socket.receive().expect("an event") {
        Some(Event::Text(text)) => text,
        other => panic!("{other:?} instead of a text"),
    };
    let value: serde_json::Value = serde_json::from_str(&text).expect(&text);
    assert_eq!(value["topic"], "room");
    let text_of = |value: &serde_json::Value| value.as_str().expect(&text).to_owned();
    let member = &value["member"];
    assert!(!text_of(&member["id"]).is_empty());
    (text_of(&value["event"]), text_of(&member["data"]["name"]))
}

#[test]
fn members_of_all_workers_are_one_list_and_leave_with_their_connections() {
    for file in LANGUAGES {
        let app = App::start(file, ROOM, 2, "");
        let address = app.running.address();
        let mut watcher = SocketClient::connect(address, "/watch", &[]).expect("a socket");
        assert_eq!(told(&mut watcher), ("join".into(), "watcher".into()));
        let mut ann = app.open("/member/Ann", &[]);
        assert_eq!(ann.event(), "data: joined");
        assert_eq!(told(&mut watcher), ("join".into(), "Ann".into()));
        let mut bob = app.open("/member/Bob", &[]);
        assert_eq!(bob.event(), "data: joined");
        assert_eq!(told(&mut watcher), ("join".into(), "Bob".into()));
        assert_eq!(app.get("/who"), "watcher Ann Bob");
        drop(ann);
        assert_eq!(told(&mut watcher), ("leave".into(), "Ann".into()));
        assert_eq!(app.get("/who"), "watcher Bob");
        drop(watcher);
        wait::until("the end of the socket", || app.get("/who") == "Bob");
        drop(bob);
        assert!(app.running.shutdown());
    }
}

const KEPT: [&str; 2] = [
    r#"local app = require "sampan"
app.topic("room:*", { history = 3 })
app.sse("/events", function(req, events)
  events:subscribe("room:7")
  events:send("begun")
end)
app.post("/:text", function(req) app.publish("room:7", req.params.text) end)"#,
    r#"import { app } from "sampan";
app.topic("room:*", { history: 3 });
app.sse("/events", async (req, events) => {
  events.subscribe("room:7");
  await events.send("begun");
});
app.post("/:text", (req) => { app.publish("room:7", req.params.text); });"#,
];

#[test]
fn a_client_that_comes_back_gets_what_it_missed_or_is_told_to_read_anew() {
    for file in LANGUAGES {
        let app = App::start(file, KEPT, 2, "");
        let mut feed = app.open("/events", &[]);
        assert_eq!(feed.event(), "data: begun");
        app.post("/a");
        let first = feed.event();
        let (id, data) = id_and_data(&first);
        assert_eq!(data, "a");
        drop(feed);
        app.post("/b");
        app.post("/c");
        let line = format!("Last-Event-ID: {id}");
        // Whichever worker takes it.
        for _ in 0..2 {
            let mut again = app.open("/events", &[&line]);
            let missed = [again.event(), again.event()];
            let texts = missed.each_ref().map(|event| id_and_data(event).1);
            assert_eq!(texts, ["b", "c"]);
            assert_eq!(again.event(), "data: begun");
        }
        app.post("/d");
        app.post("/e");
        let mut late = app.open("/events", &[&line]);
        assert_eq!(late.event(), "event: resync\ndata: {\"topic\":\"room:7\"}");
        assert_eq!(late.event(), "data: begun");
        app.post("/f");
        assert!(late.event().ends_with("\ndata: f"));
        drop(late);
        assert!(app.running.shutdown());
    }
}
