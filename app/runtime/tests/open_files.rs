//! Files that scripts hold open take a part of the process's descriptors alone, in both languages.

use sampan_client::wait::until;
use sampan_runtime::{AppConfig, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

const LUA: &str = r#"
local app = require "sampan"
app.get("/hold", function()
  local open = {}
  for i = 1, 100 do open[i] = app.files.open("a.txt") end
  return app.stream(function(write)
    write("held")
    app.time.sleep(60)
  end)
end)
app.get("/open", function()
  app.files.open("a.txt")
  return "opened"
end)
"#;

const JS: &str = r#"
import { app, files, stream, time } from "sampan";
app.get("/hold", async () => {
  for (let i = 1; i <= 100; i++) await files.open("a.txt");
  return stream(async (write) => {
    await write("held");
    await time.sleep(60);
  });
});
app.get("/open", async () => {
  await files.open("a.txt");
  return "opened";
});
"#;

/// More requests than all open files of the process are enough for.
const REQUESTS: usize = 20;

/// The connection of a request, and its answer up to `end` or to its own end.
fn ask(address: SocketAddr, path: &str, end: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let (mut answer, mut piece) = (String::new(), [0; 4096]);
    while !answer.contains(end) {
        match stream.read(&mut piece).expect("an answer") {
            0 => break,
            read => answer.push_str(&String::from_utf8_lossy(&piece[..read])),
        }
    }
    (stream, answer)
}

#[test]
fn open_files_leave_descriptors_for_connections() {
    for (file, text) in [("app.lua", LUA), ("app.js", JS)] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(file), text).expect("written");
        std::fs::create_dir(folder.path().join("storage")).expect("a folder");
        std::fs::write(folder.path().join("storage/a.txt"), "text").expect("written");
        let settings =
            "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[db]\npath = \":memory:\"\n";
        let config = AppConfig::from_text(folder.path(), settings).expect("valid");
        let running = Server::start(config).expect("it starts");
        let mut held = Vec::new();
        let refused = loop {
            assert!(held.len() < REQUESTS, "{file}: none was refused");
            let (stream, answer) = ask(running.address(), "/hold", "held");
            match answer.contains("held") {
                true => held.push(stream),
                false => break answer,
            }
        };
        assert!(!held.is_empty(), "{file}: {refused}");
        assert!(refused.starts_with("HTTP/1.1 503 "), "{file}: {refused}");
        assert!(refused.contains("Retry-After: 5\r\n"), "{file}: {refused}");
        drop(held);
        until("files that close with their requests", || {
            ask(running.address(), "/open", "opened")
                .1
                .starts_with("HTTP/1.1 200 ")
        });
        assert!(running.shutdown());
    }
}
