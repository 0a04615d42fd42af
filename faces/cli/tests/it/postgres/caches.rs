//! The cache of several processes on one database.

use super::each_app;
use super::serving::project;
use crate::commands::command::sampan;
use crate::support::{Process, Scratch};
use sampan_testkit::{Client, wait};
use std::net::SocketAddr;
use std::thread;

const LUA: &str = r#"
local app = require "sampan"
local cache, db = app.cache, app.db

app.post("/batch", function()
  db.batch(function() cache.set("k", "batched") end)
  return "kept"
end)
app.post("/expire", function()
  for _ = 1, 10 do
    db.batch(function()
      for i = 1, 100 do cache.set("e" .. i, 1, { ttl = 0.001 }) end
    end)
  end
  app.time.sleep(0.02)
  return cache.get("e1") or "none"
end)
app.post("/set", function() cache.set("k", "set") return "kept" end)
app.post("/get", function() return cache.get("k") or "none" end)
app.post("/add", function() return tostring(cache.incr("n")) end)
app.post("/make", function()
  return cache.once("made", function()
    db.exec("INSERT INTO notes (title) VALUES ('making')")
    while not db.one("SELECT 1 FROM notes WHERE title = 'go on'") do app.time.sleep(0.01) end
    return "old"
  end)
end)
app.post("/forget", function()
  db.transaction(function(tx)
    tx:exec("INSERT INTO notes (title) VALUES ('go on')")
    cache.delete("made")
  end)
  return "forgotten"
end)
app.post("/again", function() return cache.once("made", function() return "new" end) end)
app.post("/large", function()
  local ok, err = pcall(cache.set, "large", ("x"):rep(1048577))
  return ok and "kept" or tostring(err)
end)
"#;

const JS: &str = r#"
import { app, cache, db, time } from "sampan";

app.post("/batch", async () => {
  await db.batch(() => { cache.set("k", "batched"); });
  return "kept";
});
app.post("/expire", async () => {
  for (let batch = 0; batch < 10; batch += 1) {
    await db.batch(() => {
      for (let i = 1; i <= 100; i += 1) cache.set(`e${i}`, 1, { ttl: 0.001 });
    });
  }
  await time.sleep(0.02);
  return (await cache.get("e1")) ?? "none";
});
app.post("/set", async () => { await cache.set("k", "set"); return "kept"; });
app.post("/get", async () => (await cache.get("k")) ?? "none");
app.post("/add", async () => String(await cache.incr("n")));
app.post("/make", () => cache.once("made", async () => {
  await db.exec("INSERT INTO notes (title) VALUES ('making')");
  while (!(await db.one("SELECT 1 FROM notes WHERE title = 'go on'"))) await time.sleep(0.01);
  return "old";
}));
app.post("/forget", async () => {
  await db.transaction(async (tx) => {
    await tx.exec("INSERT INTO notes (title) VALUES ('go on')");
    await cache.delete("made");
  });
  return "forgotten";
});
app.post("/again", () => cache.once("made", () => "new"));
app.post("/large", async () => {
  try {
    await cache.set("large", "x".repeat(1048577));
    return "kept";
  } catch (error) {
    return error.message;
  }
});
"#;

fn start(scratch: &Scratch, file: &str, url: &str) -> Process {
    let path = scratch.file(file);
    let args = ["run", &path, "--listen", "127.0.0.1:0", "--db", url];
    Process::start(&mut sampan(&args))
}

fn post(address: SocketAddr, path: &str) -> String {
    let mut client = Client::connect(address).expect("someone listens");
    let answer = client.ask("POST", path, &[], "").expect("an answer");
    answer.text()
}

#[test]
fn processes_share_a_cache() {
    for (server, file, scratch) in each_app([("app.lua", LUA), ("app.js", JS)], project) {
        let settings = "[cache]\nshared = true\nbytes_max = \"1 MiB\"\n[limits]\nhandler_millis_max = 600000\n";
        std::fs::write(scratch.path().join("sampan.toml"), settings).expect("a file");
        let database = server.database();
        let url = server.url(&database);
        let all = [(); 2].map(|()| start(&scratch, file, &url));
        let [one, other] = [all[0].address, all[1].address];
        assert_eq!(post(other, "/get"), "none", "{file}");
        // A batch cannot make the table.
        assert_eq!(post(one, "/batch"), "kept", "{file}");
        assert_eq!(post(other, "/get"), "batched", "{file}");
        // Nor does it remove what is over: the next reading does.
        assert_eq!(post(one, "/expire"), "none", "{file}");
        let over = "SELECT count(*) FROM _sampan_cache WHERE ends < now()";
        assert_eq!(server.psql(&database, over), "0", "{file}");
        assert_eq!(post(one, "/set"), "kept", "{file}");
        assert_eq!(post(other, "/get"), "set", "{file}");
        assert_eq!(post(one, "/add"), "1", "{file}");
        assert_eq!(post(other, "/add"), "2", "{file}");
        let refused = post(one, "/large");
        assert!(refused.contains("values of at most 1048576"), "{refused}");
        // What was made from the rows of before is not kept.
        let making = thread::spawn(move || post(one, "/make"));
        let begun = "SELECT count(*) FROM notes WHERE title = 'making'";
        wait::until("it is being made", || server.psql(&database, begun) == "1");
        assert_eq!(post(other, "/forget"), "forgotten", "{file}");
        assert_eq!(making.join().expect("no panic"), "old", "{file}");
        assert_eq!(post(other, "/again"), "new", "{file}");
        assert_eq!(post(one, "/again"), "new", "{file}");
    }
}
