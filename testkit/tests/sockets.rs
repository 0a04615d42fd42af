//! WebSockets over a server's life: slow readers, reloads and stops, in both languages, over both protocols and TLS.

#[path = "sockets/floods.rs"]
mod floods;
#[path = "sockets/unfinished.rs"]
mod unfinished;
#[path = "sockets/unread.rs"]
mod unread;
#[path = "sockets/writers.rs"]
mod writers;

use sampan_client::certificates::Identity;
use sampan_http::websocket::{CloseFrame, Event, Opcode};
use sampan_runtime::{AppConfig, Running, Server};
use sampan_testkit::{SocketClient, wait};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;

struct App {
    folder: tempfile::TempDir,
    running: Running,
    way: Way,
    /// The certificate of the server, over TLS.
    identity: Option<Identity>,
}

/// The protocol that opens the sockets of a test.
#[derive(Clone, Copy)]
enum Way {
    Http1,
    Http2,
    /// HTTP/1.1 over TLS.
    Tls,
}

/// Both languages, over both protocols and TLS.
const WAYS: [(&str, Way); 6] = [
    ("app.lua", Way::Http1),
    ("app.js", Way::Http1),
    ("app.lua", Way::Http2),
    ("app.js", Way::Http2),
    ("app.lua", Way::Tls),
    ("app.js", Way::Tls),
];

impl App {
    fn start((file, way): (&str, Way), [lua, js]: [&str; 2], sections: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), file, [lua, js]);
        let identity = matches!(way, Way::Tls).then(|| Identity::new(&["localhost"]));
        let config = config(folder.path(), identity.as_ref(), sections);
        let running = Server::start(config).expect("it starts");
        Self {
            folder,
            running,
            way,
            identity,
        }
    }

    fn connect(&self) -> SocketClient {
        self.connect_with(&[]).expect("a socket")
    }

    fn connect_with(&self, headers: &[(String, String)]) -> Result<SocketClient, String> {
        let address = self.running.address();
        match (self.way, &self.identity) {
            (Way::Http2, _) => SocketClient::connect_http2(address, "/", headers),
            (_, None) => SocketClient::connect(address, "/", headers),
            (_, Some(identity)) => {
                let host = address.to_string();
                SocketClient::connect_over(identity.tunnel(address), &host, "/", headers)
            }
        }
    }

    fn reload(&self, file: &str, texts: [&str; 2]) {
        write(self.folder.path(), file, texts);
        let reloaded = self.running.reloader();
        reloaded
            .reload(config(self.folder.path(), self.identity.as_ref(), ""))
            .expect("reloaded");
    }
}

fn write(folder: &Path, file: &str, [lua, js]: [&str; 2]) {
    let text = if file == "app.lua" { lua } else { js };
    std::fs::write(folder.join(file), text).expect("written");
}

fn config(folder: &Path, identity: Option<&Identity>, sections: &str) -> AppConfig {
    let mut text =
        format!("[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\nh2c = true\n{sections}");
    if let Some(identity) = identity {
        let (certificate, key) = (identity.certificate_file(), identity.key_file());
        text += &format!("[tls]\ncert = {certificate:?}\nkey = {key:?}\n");
    }
    AppConfig::from_text(folder, &text).expect("valid")
}

fn text(socket: &mut SocketClient) -> String {
    match socket.receive().expect("an event") {
        Some(Event::Text(text)) => text,
        other => panic!("{other:?} instead of a text"),
    }
}

fn say(socket: &mut SocketClient, text: &str) {
    socket.send(Opcode::Text, text.as_bytes()).expect("sent");
}

const FIRST: [&str; 2] = [
    r#"local app = require "sampan"
app.ws("/", { message = function(ws, message) ws.data.seen = message ws:send("first") end })"#,
    r#"import { app } from "sampan";
app.ws("/", { message(ws, message) { ws.data.seen = message; ws.send("first"); } });"#,
];

const SECOND: [&str; 2] = [
    r#"local app = require "sampan"
app.ws("/", { message = function(ws) ws:send("second " .. ws.data.seen) end })"#,
    r#"import { app } from "sampan";
app.ws("/", { message(ws) { ws.send("second " + ws.data.seen); } });"#,
];

const NONE: [&str; 2] = [
    r#"local app = require "sampan" app.get("/other", "x")"#,
    r#"import { app } from "sampan"; app.get("/other", "x");"#,
];

#[test]
fn a_socket_stays_through_a_reload_and_its_next_event_runs_the_new_code() {
    for (file, way) in WAYS {
        let app = App::start((file, way), FIRST, "");
        let mut socket = app.connect();
        say(&mut socket, "a");
        assert_eq!(text(&mut socket), "first");
        app.reload(file, SECOND);
        say(&mut socket, "b");
        assert_eq!(text(&mut socket), "second a");
        app.reload(file, NONE);
        say(&mut socket, "c");
        let closed = CloseFrame::new(1012, "this address is no longer served");
        assert_eq!(socket.receive(), Ok(Some(Event::Close(closed))));
        drop(socket);
        assert!(app.running.shutdown());
    }
}

#[test]
fn a_stop_closes_sockets_with_1001() {
    for (file, way) in WAYS {
        let app = App::start((file, way), FIRST, "");
        let mut socket = app.connect();
        say(&mut socket, "a");
        assert_eq!(text(&mut socket), "first");
        let App { running, .. } = app;
        let stopping = std::thread::spawn(move || running.shutdown());
        let closed = CloseFrame::new(1001, "the server stops");
        let event = Event::Close(closed.clone());
        assert_eq!(socket.receive(), Ok(Some(event)));
        socket.send(Opcode::Close, &closed.payload()).expect("sent");
        assert_eq!(socket.receive(), Ok(None));
        assert!(stopping.join().expect("no panic"));
    }
}

const FLOOD: [&str; 2] = [
    r#"local app = require "sampan"
local is_done = false
app.ws("/", {
  message = function(ws, message)
    if message == "done?" then return ws:send(tostring(is_done)) end
    local said = {}
    for _ = 1, 400 do
      local word = ws:send(("x"):rep(100000))
      said[word] = (said[word] or 0) + 1
      app.time.sleep(0)
    end
    ws.data.dropped, is_done = said.dropped or 0, true
  end,
  drain = function(ws) ws:send("drained, dropped " .. ws.data.dropped) end,
})"#,
    r#"import { app, time } from "sampan";
let isDone = false;
app.ws("/", {
  async message(ws, message) {
    if (message === "done?") return ws.send(String(isDone));
    const said = {};
    for (let at = 0; at < 400; at += 1) {
      const word = ws.send("x".repeat(100000));
      said[word] = (said[word] ?? 0) + 1;
      await time.sleep(0);
    }
    ws.data.dropped = said.dropped ?? 0;
    isDone = true;
  },
  drain(ws) { ws.send(`drained, dropped ${ws.data.dropped}`); },
});"#,
];

/// Waits until the handler has sent all that it wants to, which another socket tells.
fn done(app: &App) {
    let mut other = app.connect();
    wait::until("the end of the handler", || {
        say(&mut other, "done?");
        text(&mut other) == "true"
    });
}

#[test]
fn a_client_that_does_not_read_loses_messages_or_its_socket() {
    for (file, way) in WAYS {
        let dropping = "[sockets]\nbackpressure_bytes_max = 200000\non_backpressure = \"drop\"\n";
        let app = App::start((file, way), FLOOD, dropping);
        let mut socket = app.connect();
        say(&mut socket, "go");
        done(&app);
        let mut large = 0;
        let told = loop {
            match text(&mut socket) {
                told if told.starts_with("drained") => break told,
                message => large += usize::from(message.len() == 100_000),
            }
        };
        assert_ne!(told, "drained, dropped 0");
        assert_eq!(told, format!("drained, dropped {}", 400 - large));
        drop(socket);
        assert!(app.running.shutdown());

        let close = "[sockets]\nbackpressure_bytes_max = 200000\n";
        let app = App::start((file, way), FLOOD, close);
        let mut socket = app.connect();
        say(&mut socket, "go");
        done(&app);
        let code = loop {
            match socket.receive().expect("an event") {
                Some(Event::Close(frame)) => break frame.code,
                Some(_) => {}
                None => panic!("no close frame"),
            }
        };
        assert_eq!(code, 1013);
        drop(socket);
        assert!(app.running.shutdown());
    }
}

const LARGE: [&str; 2] = [
    r#"local app = require "sampan"
app.ws("/", {
  message = function(ws)
    local words = {}
    for n = 1, 2 do words[n] = ws:send(("x"):rep(700000)) end
    ws:send(table.concat(words, " "))
  end,
})"#,
    r#"import { app } from "sampan";
app.ws("/", {
  message(ws) {
    const words = [1, 2].map(() => ws.send("x".repeat(700000)));
    ws.send(words.join(" "));
  },
});"#,
];

#[test]
fn a_client_that_reads_gets_more_than_may_wait_in_one_turn() {
    for (file, way) in WAYS {
        let app = App::start((file, way), LARGE, "");
        let mut socket = app.connect();
        say(&mut socket, "go");
        assert_eq!(
            [text(&mut socket).len(), text(&mut socket).len()],
            [700_000; 2]
        );
        assert_eq!(text(&mut socket), "sent sent");
        drop(socket);
        assert!(app.running.shutdown());
    }
}

const ECHO: [&str; 2] = [
    r#"local app = require "sampan"
app.ws("/", { compress = true, message = function(ws, message) ws:send(message) end })"#,
    r#"import { app } from "sampan";
app.ws("/", { compress: true, message(ws, message) { ws.send(message); } });"#,
];

#[test]
fn messages_are_compressed_where_both_ends_want_it() {
    for (file, way) in WAYS {
        let app = App::start((file, way), ECHO, "");
        let offer = (
            "Sec-WebSocket-Extensions",
            "permessage-deflate; client_max_window_bits",
        );
        let offer = [(offer.0.to_owned(), offer.1.to_owned())];
        let mut socket = app.connect_with(&offer).expect("a socket");
        assert!(
            socket.head().contains("permessage-deflate"),
            "{}",
            socket.head()
        );
        let long = "a line that comes again\n".repeat(1_000);
        say(&mut socket, &long);
        assert_eq!(text(&mut socket), long);
        // A bomb: a megabyte and a half in a few bytes.
        let mut bomb = sampan_http::websocket::Deflater::new(15);
        let bomb = bomb.deflate(&vec![b'x'; 1_500_000]).expect("shorter");
        let mut frame = vec![0xc1, 0xfe];
        frame.extend_from_slice(&(bomb.len() as u16).to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&bomb);
        socket.send_raw(&frame).expect("sent");
        let Ok(Some(Event::Close(closed))) = socket.receive() else {
            panic!("no close frame");
        };
        assert_eq!(closed.code, 1009);
        drop(socket);
        assert!(app.running.shutdown());
    }
}

const ORIGINS: [&str; 2] = [
    r#"local app = require "sampan"
app.ws("/", { message = function(ws, message) ws:send(ws.req.method .. ws.req.path .. message) end })"#,
    r#"import { app } from "sampan";
app.ws("/", { message(ws, message) { ws.send(ws.req.method + ws.req.path + message); } });"#,
];

#[test]
fn pages_of_other_sites_are_refused_and_ends_are_told() {
    for (file, way) in WAYS {
        let app = App::start((file, way), ORIGINS, "");
        let origin = |origin: &str| [("Origin".to_owned(), origin.to_owned())];
        let refused = app.connect_with(&origin("http://other.example"));
        let refused = refused.expect_err("refused");
        assert!(refused.contains(" 403"), "{refused}");
        let scheme = app.identity.as_ref().map_or("http", |_| "https");
        let own = format!("{scheme}://{}", app.running.address());
        let mut socket = app.connect_with(&origin(&own)).expect("a socket");
        say(&mut socket, "x");
        assert_eq!(text(&mut socket), "GET/x");
        let closed = CloseFrame::new(4000, "enough");
        socket.send(Opcode::Close, &closed.payload()).expect("sent");
        assert_eq!(socket.receive(), Ok(Some(Event::Close(closed))));
        assert_eq!(socket.receive(), Ok(None));
        assert!(app.running.shutdown());
    }
}

/// Sends a handshake, and returns the head of the answer.
fn shake(app: &App, version: &str, fields: &str) -> String {
    let mut stream = TcpStream::connect(app.running.address()).expect("someone listens");
    stream
        .set_read_timeout(Some(wait::EVENT_TIME_MAX))
        .expect("a time");
    let request = format!(
        "GET / {version}\r\nHost: localhost\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let lines = BufReader::new(stream)
        .lines()
        .map(|line| line.expect("a line"));
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    head.join("\n")
}

#[test]
fn lists_may_come_in_several_lines() {
    let apps = [
        "local app = require 'sampan'\napp.ws('/', { compress = true, protocols = { 'b' }, message = function() end })",
        "import { app } from 'sampan';\napp.ws('/', { compress: true, protocols: ['b'], message() {} });",
    ];
    for way in &WAYS[..2] {
        let app = App::start(*way, apps, "");
        let fields = "Connection: keep-alive\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: b\r\n\
            Sec-WebSocket-Extensions: x-unknown\r\nSec-WebSocket-Extensions: permessage-deflate\r\n";
        let head = shake(&app, "HTTP/1.1", fields);
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert!(head.contains("Sec-WebSocket-Protocol: b"), "{head}");
        assert!(head.contains("permessage-deflate"), "{head}");
        drop(app);
    }
}

#[test]
fn a_refused_handshake_names_the_protocol() {
    for way in &WAYS[..2] {
        let app = App::start(*way, FIRST, "");
        let whole = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
        for (version, fields) in [("HTTP/1.0", whole), ("HTTP/1.1", "")] {
            let head = shake(&app, version, fields);
            assert!(head.starts_with("HTTP/1.1 426 "), "{head}");
            assert!(head.contains("Upgrade: websocket"), "{version}: {head}");
            let connection = head.lines().find(|line| line.starts_with("Connection: "));
            let is_named = connection.is_some_and(|line| line.ends_with("Upgrade"));
            assert!(is_named, "{version}: {head}");
        }
    }
}
