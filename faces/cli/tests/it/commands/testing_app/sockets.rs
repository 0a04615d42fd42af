//! `t.ws` in `sampan test`: the app's WebSockets as its tests see them, in both languages.

use std::fs;
use std::process::Command;

const LUA_APP: &str = r#"
local app = require "sampan"
app.post("/login", function(req) req.session.user = "ann" return {} end)
app.ws("/chat/:room", {
  protocols = { "v2", "v1" },
  upgrade = function(req)
    if not req.session.user then return app.json({ error = "log in" }, 401) end
    return { user = req.session.user }
  end,
  open = function(ws) ws:subscribe(ws.req.params.room) ws:send("hello " .. ws.data.user) end,
  message = function(ws, message, is_text)
    if message == "bye" then ws:close(4001, "done")
    elseif message == "fail" then error("kaputt")
    elseif message == "flood" then for _ = 1, 6 do ws:send(("x"):rep(65536)) end
    elseif is_text then app.publish(ws.req.params.room, message)
    else ws:send_bytes(message) end
  end,
  drain = function(ws) ws:send("drained") end,
  close = function(ws, code, reason)
    app.db.exec("INSERT INTO left (code, reason) VALUES (?, ?)", { code, reason })
  end,
})
"#;

const LUA_TESTS: &str = r#"
local app = require "sampan"
local t, db = app.t, app.db
t.test("a refusal is a value", function()
  local ws = t.ws("/chat/a")
  t.equal({ ws.status, ws.json.error }, { 401, "log in" })
  t.fails(function() ws:send("x") end, "has refused the socket: 401")
  t.equal(t.ws("/nowhere").status, 404)
  t.equal(t.ws("/chat/a", { headers = { upgrade = "other" }, browser = "b" }).status, 401)
end)
t.test("messages", function()
  t.post("/login")
  local ws = t.ws("/chat/a", { protocols = { "v1", "v2" } })
  t.equal({ ws.status, ws.protocol, ws.headers.upgrade }, { 101, "v2", "websocket" })
  assert(ws.json == nil)
  t.equal(ws:receive(), "hello ann")
  local other = t.ws("ws://localhost/chat/a?x=1")
  t.equal(other:receive(), "hello ann")
  ws:send("to all")
  t.equal({ ws:receive(), other:receive() }, { "to all", "to all" })
  ws:send_json({ a = 1 })
  t.equal(other:receive(), '{"a":1}')
  ws:send_bytes("raw")
  t.equal({ ws:receive(), ws:receive() }, { '{"a":1}', "raw" })
  t.fails(function() ws:receive(1) end, "no message came within 1 ms")
  t.fails(function() ws:closed(1) end, "the socket was not closed within 1 ms")
end)
t.test("the app closes", function()
  t.equal(db.one("SELECT count(*) AS n FROM left").n, 0)
  t.post("/login")
  local ws = t.ws("/chat/a")
  ws:send("bye")
  t.equal(ws:closed(), { code = 4001, reason = "done" })
  t.equal(ws:receive(), "hello ann")
  t.fails(function() ws:receive() end, "the socket is closed: 4001 done")
  t.fails(function() ws:send("x") end, "the socket is closed: 4001 done")
  t.equal(db.one("SELECT * FROM left"), { code = 4001, reason = "done" })
end)
t.test("the test closes", function()
  t.post("/login")
  local ws = t.ws("/chat/a")
  ws:close(4000, "enough")
  t.fails(function() ws:send("x") end, "the test has closed it")
  t.equal(ws:closed().code, 4000)
  t.equal(db.one("SELECT * FROM left"), { code = 4000, reason = "enough" })
end)
t.test("a handler fails", function()
  t.post("/login")
  local ws = t.ws("/chat/a")
  ws:send("fail")
  t.equal(ws:closed().code, 1011)
end)
t.test("a slow client", function()
  t.post("/login")
  local ws = t.ws("/chat/a")
  t.equal(ws:receive(), "hello ann")
  ws:send("flood")
  t.equal(#ws:receive(), 65536)
  ws:send("flood")
  for _ = 1, 11 do t.equal(#ws:receive(), 65536) end
  t.equal(ws:receive(), "drained")
end)
t.test("wrong options", function()
  t.fails(function() t.ws("/chat/a", { json = {} }) end, "unknown option 'json'")
  t.fails(function() t.ws("/chat/a", { protocols = 1 }) end, "protocols")
  t.fails(function() t.ws("chat") end, "must begin with")
end)
"#;

const JS_APP: &str = r#"
import { app, db } from "sampan";
app.post("/login", (req) => { req.session.user = "ann"; return {}; });
app.ws("/chat/:room", {
  upgrade(req) {
    if (!req.session.user) return app.json({ error: "log in" }, 401);
    return { user: req.session.user };
  },
  open(ws) { ws.send(`hello ${ws.data.user}`); },
  message(ws, message, isText) {
    if (message === "bye") ws.close(4001, "done");
    else if (isText) ws.send(message);
    else ws.sendBytes(message);
  },
  close(ws, code, reason) { db.exec("INSERT INTO left (code, reason) VALUES (?, ?)", [code, reason]); },
});
"#;

const JS_TESTS: &str = r#"
import { t, db } from "sampan";
t.test("a refusal is a value", async () => {
  const ws = await t.ws("/chat/a");
  t.equal([ws.status, ws.json.error], [401, "log in"]);
  await t.fails(async () => ws.send("x"), "has refused the socket: 401");
});
t.test("messages", async () => {
  await t.post("/login");
  const ws = await t.ws("/chat/a");
  t.equal(await ws.receive(), "hello ann");
  ws.send("text");
  ws.sendJson({ a: 1 });
  ws.send(new Uint8Array([0, 255]));
  t.equal([await ws.receive(), await ws.receive(), [...await ws.receive()]], ["text", '{"a":1}', [0, 255]]);
  await t.fails(() => ws.receive(1), "no message came within 1 ms");
  ws.send("bye");
  t.equal(await ws.closed(), { code: 4001, reason: "done" });
  t.equal(db.one("SELECT * FROM left"), { code: 4001, reason: "done" });
});
t.test("what a test leaves open has ended", async () => {
  t.equal(db.one("SELECT count(*) AS n FROM left").n, 0);
  await t.post("/login");
  await (await t.ws("/chat/a")).receive();
});
"#;

/// Runs the tests of a project: exit status and output.
fn test(files: &[(&str, &str)]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let migration = (
        "migrations/0001_left.sql",
        "CREATE TABLE left (code INTEGER NOT NULL, reason TEXT NOT NULL);",
    );
    for (file, text) in files.iter().chain([&migration]) {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.arg("test").arg(folder.path()).env_remove("CI");
    let output = command.output().expect("the command starts");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8(text).expect("UTF-8"),
    )
}

#[test]
fn a_test_is_a_client_of_the_apps_sockets() {
    for (app, tests, file, count) in [
        ("app.lua", LUA_TESTS, "tests/chat.test.lua", 7),
        ("app.js", JS_TESTS, "tests/chat.test.js", 3),
    ] {
        let text = if app == "app.lua" { LUA_APP } else { JS_APP };
        let (status, out) = test(&[(app, text), (file, tests)]);
        assert_eq!(status, Some(0), "{out}");
        assert!(out.contains(&format!("{count} passed, 0 failed")), "{out}");
    }
}

#[test]
fn a_socket_that_does_not_answer_fails_the_test() {
    let tests = r#"
local t = require("sampan").t
t.test("waits", function()
  t.post("/login")
  local ws = t.ws("/chat/a")
  t.equal(ws:receive(), "hello ann")
  ws:receive(20)
end)"#;
    let (status, out) = test(&[("app.lua", LUA_APP), ("tests/a.test.lua", tests)]);
    assert_eq!(status, Some(1), "{out}");
    assert!(out.contains("no message came within 20 ms"), "{out}");
}
