//! Clients that begin messages and do not finish them.

use crate::{App, ECHO, WAYS, say, text};
use sampan_http::websocket::{CloseFrame, Event, codes};
use sampan_testkit::wait;
use std::time::Duration;

/// A pong without a payload, with a mask of zeros.
const PONG: [u8; 6] = [0x8a, 0x80, 0, 0, 0, 0];

/// A ping without a payload, with a mask of zeros.
const PING: [u8; 6] = [0x89, 0x80, 0, 0, 0, 0];

/// Returns the first frame of a text that does not end with it: of so many bytes, more than 65,535, with a mask of
/// zeros.
fn begun(bytes: usize) -> Vec<u8> {
    let mut frame = vec![0x01, 0xff];
    frame.extend((bytes as u64).to_be_bytes());
    frame.extend([0; 4]);
    frame.resize(frame.len() + bytes, b'a');
    frame
}

#[test]
fn a_message_that_does_not_go_on_ends_its_socket() {
    for (file, way) in WAYS {
        let limits = "[limits]\nbody_idle_millis_max = 400\n";
        let app = App::start((file, way), ECHO, limits);
        let mut socket = app.connect();
        say(&mut socket, "whole");
        assert_eq!(text(&mut socket), "whole");
        socket.send_raw(&begun(70_000)).expect("sent");
        // Half of the time later it is heard, which is not enough.
        wait::dawdle(Duration::from_millis(200));
        socket.send_raw(&PONG).expect("sent");
        match socket.receive() {
            Ok(Some(Event::Close(CloseFrame { code, reason }))) => {
                assert_eq!(code, codes::POLICY, "{file}: {reason}");
                assert!(reason.contains("bytes in 400 ms"), "{file}: {reason}");
            }
            other => panic!("{file}: {other:?} in place of a close frame"),
        }
        drop(socket);
        assert!(app.running.shutdown());
    }
}

/// The end of such a text: one more byte.
const END: [u8; 7] = [0x80, 0x81, 0, 0, 0, 0, b'a'];

/// Sends a client more than the system keeps for it, and is busy for a while when that was read.
const DRAINS: [&str; 2] = [
    r#"local app = require "sampan"
app.ws("/", {
  message = function(ws, text)
    if text ~= "much" then return ws:send("got " .. #text) end
    ws:send(("x"):rep(16000000))
    app.time.sleep(0)
    ws:send("more")
  end,
  drain = function(ws) app.time.sleep(3) ws:send("drained") end,
})"#,
    r#"import { app, time } from "sampan";
app.ws("/", {
  async message(ws, text) {
    if (text !== "much") return ws.send("got " + text.length);
    ws.send("x".repeat(16000000));
    await time.sleep(0);
    ws.send("more");
  },
  async drain(ws) { await time.sleep(3); ws.send("drained"); },
});"#,
];

#[test]
fn time_in_which_an_event_waits_is_not_that_of_the_message() {
    let sections =
        "[limits]\nbody_idle_millis_max = 2000\n[sockets]\nbackpressure_bytes_max = \"32 MB\"\n";
    for (file, way) in &WAYS[..2] {
        let app = App::start((file, *way), DRAINS, sections);
        let mut socket = app.connect();
        say(&mut socket, "much");
        socket.send_raw(&begun(70_000)).expect("sent");
        assert_eq!(text(&mut socket).len(), 16_000_000, "{file}");
        assert_eq!(text(&mut socket), "more", "{file}");
        assert_eq!(text(&mut socket), "drained", "{file}");
        socket.send_raw(&END).expect("sent");
        assert_eq!(text(&mut socket), "got 70001", "{file}");
        drop(socket);
        assert!(app.running.shutdown());
    }
}

#[test]
fn messages_that_have_not_ended_count_as_bodies_do() {
    let limits =
        "[limits]\nreceived_bytes_max = 1000000\nreceived_bytes_per_client_max = 1000000\n";
    for (file, way) in WAYS {
        let app = App::start((file, way), ECHO, limits);
        let mut open = Vec::new();
        let refused = loop {
            let mut socket = app.connect();
            socket.send_raw(&begun(200_000)).expect("sent");
            socket.send_raw(&PING).expect("sent");
            match socket.receive() {
                Ok(Some(Event::Pong(_))) => open.push(socket),
                Ok(Some(Event::Close(closed))) => break closed,
                other => panic!("{file}: {other:?}"),
            }
            assert!(open.len() < 6, "{file}");
        };
        let CloseFrame { code, reason } = refused;
        assert_eq!(code, codes::TRY_LATER, "{file}: {reason}");
        assert!(reason.contains("received_bytes"), "{file}: {reason}");
        drop(open);
        let long = "b".repeat(200_000);
        wait::until("room again", || {
            let mut socket = app.connect();
            say(&mut socket, &long);
            matches!(socket.receive(), Ok(Some(Event::Text(echo))) if echo == long)
        });
        assert!(app.running.shutdown());
    }
}
