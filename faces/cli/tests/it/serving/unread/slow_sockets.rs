//! Clients of WebSockets that read slowly, or not at all.

use crate::commands::command::serve;
use crate::support::{LiveLog, Process, Scratch};
use sampan_http::websocket::{Event, Opcode};
use sampan_testkit::{SocketClient, wait};

/// The messages that a flood has, which are more than the buffers of the system hold.
const MESSAGES: usize = 8;

/// The length of each, in bytes.
const MESSAGE_BYTES: usize = 4_000_000;

/// The code with which the app closes a socket behind a flood.
const CODE: u16 = 4001;

const LUA: &str = r#"
local app = require "sampan"
local large = ("x"):rep(4000000)

app.ws("/", {
  backpressure_bytes_max = "64 MB",
  message = function(ws, message)
    for _ = 1, 8 do ws:send(large) end
    if message == "close" then ws:close(4001, "all is sent") end
  end,
  close = function(ws, code) app.log.info("gone with " .. code) end,
})
app.get("/pause", function()
  app.time.sleep(6)
  return "over"
end)
"#;

const JS: &str = r#"
import { app, log, time } from "sampan";
const large = "x".repeat(4000000);

app.ws("/", {
  backpressureBytesMax: "64 MB",
  message(ws, message) {
    for (let at = 0; at < 8; at++) ws.send(large);
    if (message === "close") ws.close(4001, "all is sent");
  },
  close(ws, code) { log.info(`gone with ${code}`); },
});
app.get("/pause", async () => {
  await time.sleep(6);
  return "over";
});
"#;

const APPS: [(&str, &str); 2] = [("app.lua", LUA), ("app.js", JS)];

/// A server, and a client that has asked for a flood and reads nothing yet.
struct Flooded {
    client: SocketClient,
    log: LiveLog,
    process: Process,
    _scratch: Scratch,
}

fn start(app: (&str, &str), limits: &str, wanted: &str) -> Flooded {
    let scratch = Scratch::new(&[app, ("sampan.toml", limits)]);
    let path = scratch.path().display().to_string();
    let mut process = Process::start(&mut serve(&path, 1));
    let log = process.read_errors();
    let mut client = SocketClient::connect(process.address, "/", &[]).expect("a socket");
    client.send(Opcode::Text, wanted.as_bytes()).expect("sent");
    Flooded {
        client,
        log,
        process,
        _scratch: scratch,
    }
}

/// Reads the whole flood after a pause, and the close frame behind it.
fn reads_after_a_pause(app: (&str, &str)) {
    let mut flooded = start(app, "", "close");
    let answer = flooded.process.client().ask("GET", "/pause", &[], "");
    assert_eq!(answer.expect("an answer").text(), "over");
    let client = &mut flooded.client;
    for at in 0..MESSAGES {
        let length = match client.receive() {
            Ok(Some(Event::Text(text))) => text.len(),
            _ => 0,
        };
        assert_eq!(length, MESSAGE_BYTES, "message {at}");
    }
    match client.receive() {
        Ok(Some(Event::Close(frame))) => assert_eq!(frame.code, CODE),
        other => panic!("{other:?} instead of a close frame"),
    }
    client
        .send(Opcode::Close, &CODE.to_be_bytes())
        .expect("sent");
    flooded.log.until("gone with 4001");
}

#[test]
fn a_socket_that_lua_closes_gives_a_slow_client_time_to_read() {
    reads_after_a_pause(APPS[0]);
}

#[test]
fn a_socket_that_javascript_closes_gives_a_slow_client_time_to_read() {
    reads_after_a_pause(APPS[1]);
}

#[test]
fn a_socket_ends_whose_client_takes_nothing_although_it_pings() {
    for app in APPS {
        for wanted in ["flood", "close"] {
            let limits = "[limits]\nwrite_idle_millis_max = 300\n";
            let mut flooded = start(app, limits, wanted);
            wait::until("the end of the socket", || {
                // Fails once the server has ended the connection.
                let _ = flooded.client.send(Opcode::Ping, b"here");
                flooded.log.text().contains("gone with 1006")
            });
        }
    }
}

#[test]
fn bytes_that_wait_for_a_socket_count_as_unsent() {
    for app in APPS {
        let limits =
            "[limits]\nunsent_bytes_max = \"8 MB\"\nunsent_bytes_per_client_max = \"8 MB\"\n";
        let flooded = start(app, limits, "flood");
        let log = &flooded.log;
        log.until("closed the connection of 127.0.0.1, which held");
        log.until("gone with 1006");
    }
}
