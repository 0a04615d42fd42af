//! Hints before the answer (`req:early_hints`, RFC 8297), in both languages.

use sampan_runtime::{AppConfig, Running, Server};
use std::io::{Read, Write};
use std::net::TcpStream;

const LUA: &str = r#"
local app = require "sampan"
app.get("/", function(req)
  req:early_hints{ "</app.css>; rel=preload; as=style", "</app.js>; rel=preload; as=script" }
  app.time.sleep(0.02)
  return "page"
end)
app.get("/twice", function(req)
  req:early_hints{ "</a>; rel=preload" }
  app.time.sleep(0.01)
  req:early_hints{ "</b>; rel=preload" }
  app.time.sleep(0.01)
  return "page"
end)
app.get("/at-once", function(req)
  req:early_hints{ "</a>; rel=preload" }
  return "page"
end)
app.get("/transaction", function(req)
  app.db.transaction(function(tx)
    tx:exec("CREATE TABLE IF NOT EXISTS seen (id)")
    req:early_hints{ "</a>; rel=preload" }
    app.time.sleep(0.01)
    if req.query.fails then error("rolled back") end
  end)
  app.time.sleep(0.01)
  return "page"
end)
app.get("/wrong", function(req) req:early_hints{ "a\r\nb" } end)
app.get("/number", function(req) req:early_hints{ 1 } end)
app.get("/many", function(req)
  local link = "</" .. ("a"):rep(20000) .. ">; rel=preload"
  local ok, fault
  for i = 1, 4 do
    ok, fault = pcall(req.early_hints, req, { link })
    app.time.sleep(0)
  end
  return tostring(ok) .. " " .. tostring(fault)
end)
"#;

const JS: &str = r#"
import { app, db, time } from "sampan";
app.get("/", async (req) => {
  req.earlyHints(["</app.css>; rel=preload; as=style", "</app.js>; rel=preload; as=script"]);
  await time.sleep(0.02);
  return "page";
});
app.get("/twice", async (req) => {
  req.earlyHints(["</a>; rel=preload"]);
  await time.sleep(0.01);
  req.earlyHints(["</b>; rel=preload"]);
  await time.sleep(0.01);
  return "page";
});
app.get("/at-once", (req) => {
  req.earlyHints(["</a>; rel=preload"]);
  return "page";
});
app.get("/transaction", async (req) => {
  await db.transaction(async (tx) => {
    tx.exec("CREATE TABLE IF NOT EXISTS seen (id)");
    req.earlyHints(["</a>; rel=preload"]);
    await time.sleep(0.01);
    if (req.query.fails) throw new Error("rolled back");
  });
  await time.sleep(0.01);
  return "page";
});
app.get("/wrong", (req) => req.earlyHints(["a\r\nb"]));
app.get("/number", (req) => req.earlyHints([1]));
app.get("/many", async (req) => {
  const link = `</${"a".repeat(20000)}>; rel=preload`;
  let said = "true";
  for (let i = 1; i <= 4; i++) {
    try {
      req.earlyHints([link]);
    } catch (error) {
      said = `false ${error.message}`;
    }
    await time.sleep(0);
  }
  return said;
});
"#;

/// A project with all routes in the slow lane.
fn slow(text: &str) -> String {
    text.replace("\", function(", "\", { slow = true }, function(")
        .replace("\", (req)", "\", { slow: true }, (req)")
        .replace("\", async (req)", "\", { slow: true }, async (req)")
}

fn start(file: &str, text: &str) -> (tempfile::TempDir, Running) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(file), text).expect("written");
    let settings = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n[db]\npath = \":memory:\"\n";
    let config = AppConfig::from_text(folder.path(), settings).expect("valid");
    (folder, Server::start(config).expect("it starts"))
}

/// The whole answer to requests for these paths, of which the last ends the connection.
fn ask(running: &Running, paths: &[&str], version: &str) -> String {
    let mut stream = TcpStream::connect(running.address()).expect("it listens");
    for (at, path) in paths.iter().enumerate() {
        let is_last = at + 1 == paths.len();
        let connection = if is_last { "close" } else { "keep-alive" };
        let request =
            format!("GET {path} HTTP/{version}\r\nHost: x\r\nConnection: {connection}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn hints_leave_before_the_answer() {
    for (file, text) in [
        ("app.lua", LUA.to_owned()),
        ("app.js", JS.to_owned()),
        ("app.lua", slow(LUA)),
        ("app.js", slow(JS)),
    ] {
        let (_folder, running) = start(file, &text);
        let answer = ask(&running, &["/"], "1.1");
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </app.css>; rel=preload; as=style\r\n\
            Link: </app.js>; rel=preload; as=script\r\n\r\nHTTP/1.1 200 OK\r\n";
        assert!(answer.starts_with(hints), "{answer}");
        assert!(answer.ends_with("\r\n\r\npage"), "{answer}");
        let answer = ask(&running, &["/twice"], "1.1");
        assert_eq!(answer.matches("HTTP/1.1 103 ").count(), 2, "{answer}");
        // A handler that does not wait has no use for hints: its answer leaves at once.
        let answer = ask(&running, &["/at-once", "/at-once"], "1.1");
        assert_eq!(answer.matches("103").count(), 0, "{answer}");
        // HTTP/1.0 knows no interim answers.
        let answer = ask(&running, &["/"], "1.0");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        // Those that were sent count too: a client that does not read would leave any number in memory.
        let answer = ask(&running, &["/many"], "1.1");
        let (_, body) = answer.rsplit_once("\r\n\r\n").expect("a body");
        assert!(body.starts_with("false "), "{body}");
        assert!(body.contains("at most 65536 bytes together"), "{body}");
        for wrong in ["/wrong", "/number"] {
            let answer = ask(&running, &[wrong], "1.1");
            assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
        }
        assert!(running.shutdown());
    }
}

#[test]
fn hints_of_a_transaction_leave_with_its_commit() {
    for (file, text) in [("app.lua", LUA), ("app.js", JS)] {
        let (_folder, running) = start(file, text);
        let answer = ask(&running, &["/transaction"], "1.1");
        assert!(answer.starts_with("HTTP/1.1 103 "), "{answer}");
        assert!(answer.ends_with("\r\n\r\npage"), "{answer}");
        let answer = ask(&running, &["/transaction?fails=1"], "1.1");
        assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
        assert!(running.shutdown());
    }
}

#[test]
fn hints_behind_another_answer_keep_the_order() {
    for (file, text) in [("app.lua", LUA), ("app.js", JS)] {
        let (_folder, running) = start(file, text);
        let answer = ask(&running, &["/", "/twice", "/at-once"], "1.1");
        let lines: Vec<&str> = answer
            .split("\r\n")
            .filter(|line| line.contains("HTTP/1.1"))
            .map(|line| &line[line.len() - line.len().min(40)..])
            .collect();
        let statuses: String = lines
            .iter()
            .filter_map(|line| line.split_once("HTTP/1.1 "))
            .map(|(_, rest)| rest.get(..3).unwrap_or_default())
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(statuses, "103 200 103 103 200 200", "{answer}");
        assert!(running.shutdown());
    }
}
