//! Clients that do not read what they are sent.

use crate::{App, Way, say, text};
use sampan_testkit::{SocketClient, wait};
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// The number of clients that do not read; the variable `SAMPAN_TEST_SOCKETS` sets another, such as 10000.
const UNREAD_CLIENTS: usize = 20;
/// The number of those that are stuck at the same time, unless that variable is set.
const STUCK_CLIENTS: usize = 1_000;
/// The length of a message.
const MESSAGE_BYTES: usize = 50_000;

const ROOM: [&str; 2] = [
    r#"local app = require "sampan"
app.ws("/", {
  open = function(ws) ws:subscribe("room") end,
  message = function(_, text) app.publish("room", text .. (" "):rep(50000 - #text)) end,
})"#,
    r#"import { app } from "sampan";
app.ws("/", {
  open(ws) { ws.subscribe("room"); },
  message(_, text) { app.publish("room", text.padEnd(50000)); },
});"#,
];

fn clients(default: usize) -> usize {
    let count = std::env::var("SAMPAN_TEST_SOCKETS");
    count.map_or(default, |count| count.parse().expect("a number"))
}

/// Opens a socket that is not read, with a small buffer, so that the server has to keep what does not fit. By small
/// segments the system keeps little too.
fn unread(address: std::net::SocketAddr, segment_bytes: Option<u32>) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a buffer");
    if let Some(bytes) = segment_bytes {
        socket.set_tcp_mss(bytes).expect("a size");
    }
    socket.connect(&address.into()).expect("connected");
    let mut stream = TcpStream::from(socket);
    let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("sent");
    stream
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("there");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

/// Clients that stop reading are let go of, and one that reads gets every message meanwhile, in step with its own.
#[test]
fn clients_that_stop_reading_take_nothing_from_one_that_reads() {
    // Together more than the system keeps for a socket.
    const MESSAGES: usize = 150;
    let count = clients(UNREAD_CLIENTS);
    for file in ["app.lua", "app.js"] {
        let limits = "[sockets]\nbackpressure_bytes_max = 100000\n";
        let app = App::start((file, Way::Http1), ROOM, limits);
        let mut reader = app.connect();
        say(&mut reader, "warm up");
        text(&mut reader);
        let before = resident_kib();
        let unread: Vec<_> = (0..count)
            .map(|_| unread(app.running.address(), None))
            .collect();
        for _ in 0..MESSAGES {
            say(&mut reader, "go");
            assert_eq!(text(&mut reader).len(), MESSAGE_BYTES);
        }
        let grown = resident_kib().saturating_sub(before);
        assert!(grown < 64 * 1024 + count * 32, "{grown} KiB");
        for mut stream in unread {
            stream
                .set_read_timeout(Some(wait::EVENT_TIME_MAX))
                .expect("a time");
            let mut got = 0;
            let mut space = vec![0; 64 * 1024];
            loop {
                match stream.read(&mut space) {
                    Ok(0) => break,
                    Ok(len) => got += len,
                    Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                    Err(error) => panic!("it is still open: {error}"),
                }
            }
            assert!(got < MESSAGES * MESSAGE_BYTES, "{got} bytes");
        }
        drop(reader);
        assert!(app.running.shutdown());
    }
}

/// A thousand sockets are stuck all the time. Others get every message meanwhile, in order, and the memory is bounded.
#[test]
fn sockets_that_are_stuck_keep_no_message_from_others() {
    const MESSAGES: usize = 40;
    let count = clients(STUCK_CLIENTS);
    for file in ["app.lua", "app.js"] {
        let limits = "[sockets]\nbackpressure_bytes_max = 100000\non_backpressure = \"drop\"\n";
        let app = App::start((file, Way::Http1), ROOM, limits);
        let mut readers: Vec<SocketClient> = (0..4).map(|_| app.connect()).collect();
        // Once its own message comes back, a socket hears all that follow.
        for (at, reader) in readers.iter_mut().enumerate() {
            say(reader, &format!("own {at}"));
            let own = format!("own {at} ");
            while !text(reader).starts_with(&own) {}
        }
        for reader in &mut readers[..3] {
            while !text(reader).starts_with("own 3 ") {}
        }
        let before = resident_kib();
        let address = app.running.address();
        let mut stuck: Vec<TcpStream> = (0..count).map(|_| unread(address, Some(536))).collect();
        for number in 0..MESSAGES {
            say(&mut readers[number % 4], &format!("message {number}"));
            let expected = format!("message {number} ");
            for reader in &mut readers {
                assert!(text(reader).starts_with(&expected), "{file}: {expected}");
            }
        }
        let grown = resident_kib().saturating_sub(before);
        assert!(grown < 64 * 1024 + count * 32, "{file}: {grown} KiB");
        // One of them goes on: it has missed messages, so it was stuck.
        let mut freed = stuck.pop().expect("a socket");
        freed.set_nonblocking(true).expect("set");
        let mut seen = Vec::new();
        wait::until("a message after it was stuck", || {
            say(&mut readers[0], "freed");
            for reader in &mut readers {
                assert!(text(reader).starts_with("freed "));
            }
            let mut space = vec![0; 256 * 1024];
            while let Ok(len @ 1..) = freed.read(&mut space) {
                seen.extend_from_slice(&space[..len]);
            }
            has(&seen, b"freed ")
        });
        // The last ones may have come when it went on already.
        let heard = |number: usize| has(&seen, format!("message {number} ").as_bytes());
        assert!(!(0..MESSAGES).all(heard), "{file}: it was not stuck");
        drop((freed, stuck, readers));
        assert!(app.running.shutdown());
    }
}

const EMPTY: [&str; 2] = [
    r#"local app = require "sampan"
local dropped = 0
app.ws("/", {
  message = function(ws, text)
    if text == "count" then return ws:send("dropped: " .. dropped) end
    for _ = 1, 10000 do
      if ws:send("") == "dropped" then dropped = dropped + 1 end
    end
  end,
})"#,
    r#"import { app } from "sampan";
let dropped = 0;
app.ws("/", {
  message(ws, text) {
    if (text === "count") return ws.send(`dropped: ${dropped}`);
    for (let at = 0; at < 10000; at++) {
      if (ws.send("") === "dropped") dropped++;
    }
  },
});"#,
];

/// Messages without a byte take memory too, so there is a bound for those that wait.
#[test]
fn empty_messages_count_against_the_bound() {
    for file in ["app.lua", "app.js"] {
        let limits = "[sockets]\nbackpressure_bytes_max = 1024\non_backpressure = \"drop\"\n";
        let app = App::start((file, Way::Http1), EMPTY, limits);
        let mut client = app.connect();
        say(&mut client, "many");
        // Written once the event has ended, so that there is room for the answer to the next.
        assert_eq!(text(&mut client), "");
        say(&mut client, "count");
        let mut got = 1;
        let told = loop {
            match text(&mut client) {
                empty if empty.is_empty() => got += 1,
                told => break told,
            }
        };
        assert_eq!(told, format!("dropped: {}", 10_000 - got), "{file}");
        assert!((100..2_000).contains(&got), "{file}: {got}");
        drop(client);
        assert!(app.running.shutdown());
    }
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
