//! Upgrades: `sampan upgrade` and SIGUSR2 put a new process in the place of a running one, and no request is refused.

use super::reload::{app, get};
use crate::support::{Process, Scratch};
use sampan_http::websocket::Event;
use sampan_testkit::{Client, SocketClient, wait};
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const SAMPAN: &str = env!("CARGO_BIN_EXE_sampan");

/// Starts a server of the project by this executable.
fn start(executable: &str, scratch: &Scratch, options: &[&str]) -> Process {
    let mut command = Command::new(executable);
    command.arg("run").arg(scratch.path());
    Process::start(command.args(["--workers", "2"]).args(options))
}

const ON_A_PORT: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// `sampan upgrade` of a project, to its end.
fn upgrade(project: &Path) -> Output {
    let mut command = Command::new(SAMPAN);
    let command = command.arg("upgrade").arg(project);
    command.output().expect("the command starts")
}

/// Upgrades, and returns the number of the process that serves now.
pub(crate) fn upgrades(scratch: &Scratch) -> NewProcess {
    upgrades_in(scratch.path())
}

/// Upgrades the project in a folder, and returns the number of the process that serves now.
pub(crate) fn upgrades_in(project: &Path) -> NewProcess {
    let output = upgrade(project);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    let rest = told.split_once(": process ").map(|(_, rest)| rest);
    let pid = rest.and_then(|rest| rest.strip_suffix(" serves now\n"));
    NewProcess(pid.and_then(|pid| pid.parse().ok()).expect(&told))
}

/// Upgrades, and expects a refusal with this text.
pub(crate) fn refuses(scratch: &Scratch, part: &str) {
    let output = upgrade(scratch.path());
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("not upgraded, this process serves on") && told.contains(part),
        "{told}"
    );
}

/// Puts a script in the place of an executable.
pub(crate) fn replace_by_script(executable: &Path, text: &str) {
    let new = executable.with_extension("new");
    fs::write(&new, text).expect("a file");
    fs::set_permissions(&new, Permissions::from_mode(0o755)).expect("its owner");
    fs::rename(&new, executable).expect("renamed");
}

/// A process that took another's place. It is killed at the end of the test, should it still run.
pub(crate) struct NewProcess(u32);

impl NewProcess {
    fn is_there(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// Returns its number.
    pub(crate) fn id(&self) -> String {
        self.0.to_string()
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill")
            .args([&format!("-{name}"), &self.0.to_string()])
            .output();
        kill.expect("kill exists");
    }

    pub(crate) fn ends_well(&self) {
        self.signal("TERM");
        wait::until("the end of the new process", || !self.is_there());
    }
}

impl Drop for NewProcess {
    fn drop(&mut self) {
        if self.is_there() {
            self.signal("KILL");
        }
    }
}

fn ask(address: SocketAddr) -> String {
    get(&mut Client::connect(address).expect("someone listens"), "/")
}

#[test]
fn a_new_process_takes_the_place_and_no_request_is_refused() {
    for file in ["app.lua", "app.js"] {
        let scratch = Scratch::new(&[(file, &app(file, "one"))]);
        let mut process = start(SAMPAN, &scratch, &ON_A_PORT);
        let address = process.address;
        let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        let count = |word: &str| {
            assert!(word == "one" || word == "two", "{word}");
            answered.fetch_add(1, Ordering::Relaxed);
        };
        let new = std::thread::scope(|scope| {
            for keeps in [true, true, false] {
                let (is_over, count) = (&is_over, &count);
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let mut client = Client::connect(address).expect("someone listens");
                        // Until the server says that this connection ends.
                        loop {
                            let answer = client.ask("GET", "/", &[], "").expect("an answer");
                            count(&answer.text());
                            let is_last = answer.header("connection") == ["close"];
                            if is_last || !keeps || is_over.load(Ordering::Relaxed) {
                                break;
                            }
                        }
                    }
                });
            }
            let _over = wait::SetAtEnd(&is_over);
            wait::until("some answers", || answered.load(Ordering::Relaxed) > 50);
            fs::write(scratch.path().join(file), app(file, "two")).expect("a file");
            let new = upgrades(&scratch);
            assert_eq!(process.status(), Some(0));
            let before = answered.load(Ordering::Relaxed);
            wait::until("more answers", || {
                answered.load(Ordering::Relaxed) > before + 50
            });
            new
        });
        assert_ne!(new.0, process.id());
        assert_eq!(ask(address), "two");
        // The new process can be replaced too.
        let newest = upgrades(&scratch);
        wait::until("the end of the second", || !new.is_there());
        assert_eq!(ask(address), "two");
        newest.ends_well();
        assert!(Client::connect(address).is_err(), "someone still listens");
    }
}

#[test]
fn a_signal_upgrades_too_and_what_is_in_flight_ends() {
    let slow = "local app = require 'sampan'\napp.get('/', function() return 'quick' end)\n\
        app.get('/slow', function() app.time.sleep(0.7) return 'done' end)\n";
    let scratch = Scratch::new(&[("app.lua", slow)]);
    let mut process = start(SAMPAN, &scratch, &ON_A_PORT);
    let address = process.address;
    let mut client = process.client();
    client
        .send(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("sent");
    // It is read when another connection's answer is there.
    assert_eq!(ask(address), "quick");
    let log = process.read_errors();
    process.signal("USR2");
    let pid = wait::found("the new process", || {
        let text = log.text();
        let (_, rest) = text.split_once("upgrade: process ")?;
        rest.split(' ').next()?.parse().ok()
    });
    let new = NewProcess(pid);
    assert_eq!(client.read(false).expect("an answer").text(), "done");
    assert_eq!(process.status(), Some(0));
    assert_eq!(ask(address), "quick");
    new.ends_well();
}

#[test]
fn a_process_that_still_ends_after_an_upgrade_fails_no_later_command() {
    let text = "local app = require 'sampan'\napp.post('/', function(req) return req:text() end)\n\
        app.get('/', function() return 'quick' end)\n";
    let scratch = Scratch::new(&[("app.lua", text)]);
    let mut process = start(SAMPAN, &scratch, &ON_A_PORT);
    let mut upload = TcpStream::connect(process.address).expect("someone listens");
    let time = Some(wait::EVENT_TIME_MAX);
    upload.set_read_timeout(time).expect("a time");
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    upload.write_all(head).expect("sent");
    read_until(&mut upload, "100 Continue\r\n\r\n");
    let second = upgrades(&scratch);
    // The first process waits for the body, and has nothing to do with these.
    let mut reload = Command::new(SAMPAN);
    let reload = reload.arg("reload").arg(scratch.path()).output();
    let reload = reload.expect("the command starts");
    let errors = String::from_utf8_lossy(&reload.stderr);
    assert_eq!(reload.status.code(), Some(0), "{errors}");
    let third = upgrades(&scratch);
    upload.write_all(b"hello").expect("sent");
    read_until(&mut upload, "hello");
    assert_eq!(process.status(), Some(0));
    wait::until("the end of the second", || !second.is_there());
    assert_eq!(ask(process.address), "quick");
    third.ends_well();
}

#[test]
fn a_new_process_that_does_not_start_changes_nothing() {
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "one")), ("sampan.toml", "")]);
    let link = scratch.path().join("server");
    std::os::unix::fs::symlink(SAMPAN, &link).expect("a link");
    let process = start(link.to_str().expect("UTF-8"), &scratch, &ON_A_PORT);
    let address = process.address;
    let write =
        |file: &str, text: &str| fs::write(scratch.path().join(file), text).expect("a file");
    write("app.lua", "error('broken')");
    refuses(&scratch, "broken");
    write("app.lua", &app("app.lua", "two"));
    write("sampan.toml", "[nonsense]\na = 1\n");
    refuses(&scratch, "nonsense");
    write("sampan.toml", "");
    replace_by_script(&link, "#!/bin/sh\nexit 3\n");
    refuses(
        &scratch,
        "the new process ended before it served: exit status: 3",
    );
    replace_by_script(&link, "#!/nothing\n");
    refuses(&scratch, "cannot start");
    assert_eq!(ask(address), "one");
    // The path that the server was started by leads to another executable now.
    fs::remove_file(&link).expect("removed");
    std::os::unix::fs::symlink(SAMPAN, &link).expect("a link");
    let new = upgrades(&scratch);
    assert_eq!(ask(address), "two");
    new.ends_well();
}

#[test]
fn a_unix_socket_stays_and_goes_with_the_new_process() {
    let toml = "[server]\nlisten = ['127.0.0.1:0', 'unix:app.sock']\n";
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "one")), ("sampan.toml", toml)]);
    let mut process = start(SAMPAN, &scratch, &[]);
    let socket = scratch.path().join("app.sock");
    assert!(ask_unix(&socket).ends_with("one"));
    let new = upgrades(&scratch);
    assert_eq!(process.status(), Some(0));
    assert!(ask_unix(&socket).ends_with("one"));
    assert_eq!(ask(process.address), "one");
    new.ends_well();
    assert!(!socket.exists());
}

#[test]
fn a_unix_socket_stays_where_the_new_process_does_not_start() {
    let toml = "[server]\nlisten = ['127.0.0.1:0', 'unix:app.sock']\n";
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "one")), ("sampan.toml", toml)]);
    let mut process = start(SAMPAN, &scratch, &[]);
    let socket = scratch.path().join("app.sock");
    fs::write(scratch.path().join("app.lua"), "error('broken')").expect("a file");
    refuses(&scratch, "broken");
    assert!(ask_unix(&socket).ends_with("one"));
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn a_unix_socket_that_is_no_longer_wanted_goes() {
    let toml = "[server]\nlisten = ['127.0.0.1:0', 'unix:app.sock']\n";
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "one")), ("sampan.toml", toml)]);
    let mut process = start(SAMPAN, &scratch, &[]);
    let toml = "[server]\nlisten = '127.0.0.1:0'\n";
    fs::write(scratch.path().join("sampan.toml"), toml).expect("a file");
    let new = upgrades(&scratch);
    assert_eq!(process.status(), Some(0));
    assert!(!scratch.path().join("app.sock").exists());
    assert_eq!(ask(process.address), "one");
    new.ends_well();
}

#[test]
fn a_server_that_ends_takes_the_new_process_with_it() {
    let scratch = Scratch::new(&[("app.lua", &app("app.lua", "one"))]);
    let mut process = start(SAMPAN, &scratch, &ON_A_PORT);
    let slow = "local app = require 'sampan'\napp.on_start(function()\n  app.log.info('it starts')\n  \
        app.time.sleep(20)\nend)\napp.get('/', function() return 'two' end)\n";
    fs::write(scratch.path().join("app.lua"), slow).expect("a file");
    let log = process.read_errors();
    process.signal("USR2");
    log.until("it starts");
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    // The log ends when no process can write to it any more.
    let told = log.join().expect("text");
    assert!(told.contains("the server was told to end"), "{told}");
    assert!(Client::connect(process.address).is_err());
}

fn ask_unix(path: &Path) -> String {
    let mut stream = UnixStream::connect(path).expect("someone listens");
    let request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    stream.write_all(request).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// A feed and a socket that tell their versions, and what is posted.
fn live(file: &str, version: &str) -> String {
    let text = match file {
        "app.lua" => {
            r#"local app = require "sampan"
app.sse("/feed", function(req, events)
  events:subscribe("news")
  events:send("VERSION")
end)
app.ws("/socket", {
  open = function(ws)
    ws:subscribe("news")
    ws:send("VERSION")
  end,
})
app.post("/", function() app.publish("news", "posted") end)"#
        }
        _ => {
            r#"import { app } from "sampan";
app.sse("/feed", async (req, events) => {
  events.subscribe("news");
  await events.send("VERSION");
});
app.ws("/socket", {
  open(ws) {
    ws.subscribe("news");
    ws.send("VERSION");
  },
});
app.post("/", () => { app.publish("news", "posted"); });"#
        }
    };
    text.replace("VERSION", version)
}

/// Reads a stream of events up to this text.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let (mut text, mut space) = (String::new(), [0; 4096]);
    while !text.contains(end) {
        let len = stream.read(&mut space).expect("bytes");
        assert!(len > 0, "it ended before {end:?}: {text}");
        text += &String::from_utf8_lossy(&space[..len]);
    }
    text
}

/// Opens a feed and a socket, and checks the version that serves them.
fn open_live(address: SocketAddr, version: &str) -> (TcpStream, SocketClient) {
    let mut feed = TcpStream::connect(address).expect("someone listens");
    let time = Some(wait::EVENT_TIME_MAX);
    feed.set_read_timeout(time).expect("a time");
    let request = b"GET /feed HTTP/1.1\r\nHost: x\r\n\r\n";
    feed.write_all(request).expect("sent");
    read_until(&mut feed, &format!("data: {version}\n\n"));
    let mut socket = SocketClient::connect(address, "/socket", &[]).expect("a socket");
    let text = Event::Text(version.to_owned());
    assert_eq!(socket.receive(), Ok(Some(text)));
    (feed, socket)
}

fn post(address: SocketAddr) {
    let mut client = Client::connect(address).expect("someone listens");
    let answer = client.ask("POST", "/", &[], "").expect("an answer");
    assert_eq!(answer.status, 204);
}

#[test]
fn streams_and_sockets_are_told_to_come_back_and_the_new_process_has_them() {
    for file in ["app.lua", "app.js"] {
        let scratch = Scratch::new(&[(file, &live(file, "one"))]);
        let mut process = start(SAMPAN, &scratch, &ON_A_PORT);
        let address = process.address;
        let (mut feed, mut socket) = open_live(address, "one");
        fs::write(scratch.path().join(file), live(file, "two")).expect("a file");
        let new = upgrades(&scratch);
        let end = read_until(&mut feed, "\r\n0\r\n\r\n");
        assert!(end.contains("retry: "), "{file}: {end}");
        match socket.receive() {
            Ok(Some(Event::Close(frame))) => assert_eq!(frame.code, 1001, "{file}"),
            other => panic!("{file}: {other:?} instead of a close frame"),
        }
        assert_eq!(process.status(), Some(0));
        let (mut feed, mut socket) = open_live(address, "two");
        post(address);
        read_until(&mut feed, "data: posted\n\n");
        let text = Event::Text("posted".to_owned());
        assert_eq!(socket.receive(), Ok(Some(text)), "{file}");
        drop((feed, socket));
        new.ends_well();
    }
}
