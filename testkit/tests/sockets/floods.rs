//! Clients that send frames without a pause.

use crate::{App, ECHO, WAYS, say, text};
use sampan_http::websocket::{Event, Opcode, codes};
use sampan_testkit::SocketClient;
use std::thread;

/// The clients that send a flood at the same time.
const FLOODS: usize = 128;

/// The frames of each. Most of their bytes fit into what the system keeps for a socket.
const FRAMES: usize = 20_000;

/// The fewest messages that another client is answered meanwhile, on a machine that does much else. Where a socket takes
/// all the frames that have come before others have their turn, there are one to three.
const ANSWERED_MIN: usize = 5;

/// A ping and a pong without a payload, with a mask of zeros.
const PING: [u8; 6] = [0x89, 0x80, 0, 0, 0, 0];
const PONG: [u8; 6] = [0x8a, 0x80, 0, 0, 0, 0];

/// An echo that can keep its worker busy, so that floods gather.
const BUSY: [&str; 2] = [
    r#"local app = require "sampan"
app.ws("/", {
  message = function(ws, message)
    local until_then = os.clock() + (message == "busy" and 0.3 or 0)
    while os.clock() < until_then do end
    ws:send(message)
  end,
})"#,
    r#"import { app } from "sampan";
app.ws("/", {
  message(ws, message) {
    const until = Date.now() + (message === "busy" ? 300 : 0);
    while (Date.now() < until);
    ws.send(message);
  },
});"#,
];

#[test]
fn others_are_answered_while_pongs_flood_in() {
    let bytes = PONG.repeat(FRAMES);
    for (file, way) in WAYS {
        let limits = "[limits]\ncontrol_frames_max = 1000000\n";
        let app = App::start((file, way), BUSY, limits);
        let mut other = app.connect();
        let sockets: Vec<_> = (0..FLOODS).map(|_| app.connect()).collect();
        say(&mut other, "busy");
        let flood = |mut socket: SocketClient| {
            let bytes = bytes.clone();
            thread::spawn(move || {
                socket.send_raw(&bytes).expect("sent");
                say(&mut socket, "end");
                assert_eq!(text(&mut socket), "end");
            })
        };
        let floods: Vec<_> = sockets.into_iter().map(flood).collect();
        assert_eq!(text(&mut other), "busy");
        let mut answered = 0;
        while !floods.iter().all(thread::JoinHandle::is_finished) {
            say(&mut other, "x");
            assert_eq!(text(&mut other), "x");
            answered += 1;
        }
        for flood in floods {
            flood.join().expect("no panic");
        }
        assert!(answered >= ANSWERED_MIN, "{file}: {answered}");
        drop(other);
        assert!(app.running.shutdown());
    }
}

#[test]
fn a_client_that_sends_too_many_pings_or_pongs_is_closed() {
    for (file, way) in WAYS {
        let app = App::start((file, way), ECHO, "[limits]\ncontrol_frames_max = 100\n");
        for frame in [PING, PONG] {
            let mut socket = app.connect();
            // In whatever seconds they come, one has more than the limit.
            socket.send_raw(&frame.repeat(1_000)).expect("sent");
            let closed = loop {
                match socket.receive().expect("an event") {
                    Some(Event::Pong(_)) => {}
                    Some(Event::Close(closed)) => break closed,
                    other => panic!("{file}: {other:?} instead of a close frame"),
                }
            };
            assert_eq!(closed.code, codes::POLICY, "{file}");
            assert!(
                closed.reason.contains("pings and pongs"),
                "{file}: {}",
                closed.reason
            );
            socket.send(Opcode::Close, &closed.payload()).expect("sent");
            assert_eq!(socket.receive(), Ok(None), "{file}");
        }
        assert!(app.running.shutdown());
    }
}
