//! The common parts of the tests of the database under faults share: a project, its server as a process that can be
//! killed, clients that
//! remember what was acknowledged, and a disk that can fail (`shim`).

#![allow(dead_code)] // Each test file uses its own part.

pub(crate) mod load;
pub(crate) mod locker;
pub(crate) mod shim;

use sampan_testkit::wait;
use sampan_testkit::{Answer, Client};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// The longest time that a server may take to say where it listens: long, as a check of the whole database may come
/// before.
const START_SECONDS_MAX: u64 = 20;

const MIGRATION: &str = "CREATE TABLE writes (
  id INTEGER PRIMARY KEY,
  cycle INTEGER NOT NULL,
  batch INTEGER NOT NULL -- the first id of its batch, 0 for a single write
);
CREATE INDEX writes_cycle ON writes (cycle);
CREATE INDEX writes_batch ON writes (batch);
";

const APP_LUA: &str = r#"local app = require "sampan"
local db = app.db
local INSERT = "INSERT INTO writes (id, cycle, batch) VALUES (?, ?, ?)"
local IDS = [[SELECT coalesce(group_concat(id), '') AS ids
  FROM (SELECT id FROM writes WHERE cycle = ? AND id > ? ORDER BY id LIMIT 2000)]]
local HALVES = [[SELECT coalesce(group_concat(batch), '') AS halves
  FROM (SELECT batch FROM writes WHERE batch > 0 GROUP BY batch HAVING count(*) <> 10)]]

app.post("/write/:cycle/:id", function(req)
  db.exec(INSERT, { tonumber(req.params.id), tonumber(req.params.cycle), 0 })
  return { ok = true }
end)
app.post("/late/:cycle/:id", function(req)
  db.exec(INSERT, { tonumber(req.params.id), tonumber(req.params.cycle), 0 })
  app.time.sleep(0.01)
  return { ok = true }
end)
app.post("/batch/:cycle/:first", function(req)
  local first, cycle = tonumber(req.params.first), tonumber(req.params.cycle)
  db.batch(function()
    for id = first, first + 9 do db.exec(INSERT, { id, cycle, first }) end
  end)
  return { ok = true }
end)
app.post("/transaction/:cycle/:first", function(req)
  local first, cycle = tonumber(req.params.first), tonumber(req.params.cycle)
  return db.transaction(function(tx)
    for id = first, first + 4 do tx:exec(INSERT, { id, cycle, first }) end
    app.time.sleep(0.001)
    for id = first + 5, first + 9 do tx:exec(INSERT, { id, cycle, first }) end
    return { ok = true }
  end)
end)
app.get("/ids/:cycle/:after", function(req)
  return db.one(IDS, { tonumber(req.params.cycle), tonumber(req.params.after) }).ids
end)
app.get("/halves", function() return db.one(HALVES).halves end)
app.get("/last", function() return db.query("SELECT id, cycle FROM writes ORDER BY id DESC LIMIT 20") end)
app.get("/count", function() return tostring(db.one("SELECT count(*) AS count FROM writes").count) end)
app.get("/integrity", function() return db.one("PRAGMA integrity_check").integrity_check end)
app.post("/forget/:cycle", function(req)
  db.exec("DELETE FROM writes WHERE cycle < ?", { tonumber(req.params.cycle) })
  return { ok = true }
end)
app.get("/health", function() return "fine" end)
local mark = "nothing"
app.post("/mark/:id", function(req)
  db.exec(INSERT, { tonumber(req.params.id), 0, 0 })
  mark = req.params.id
  return { ok = true }
end)
app.get("/seen", function() return mark end)
app.get("/fixed", { fixed = true })
local function insert(req) db.exec(INSERT, { tonumber(req.params.id), 0, 0 }) end
local function ends_with_a_write(req)
  return app.stream(function(write)
    write("a")
    insert(req)
  end)
end
app.get("/ends/stream/:id", ends_with_a_write)
app.get("/ends/slow/:id", { slow = true }, ends_with_a_write)
app.get("/ends/sized/:id", function(req)
  return app.stream(function(write)
    write("a")
    insert(req)
  end, { headers = { ["content-length"] = "1" } })
end)
app.sse("/ends/events/:id", function(req, events)
  events:send("a")
  insert(req)
end)
app.sse("/ends/closed/:id", function(req, events)
  events:send("a")
  insert(req)
  events:close()
  app.time.sleep(20)
end)
"#;

const APP_JS: &str = r#"import { app, db, time } from "sampan";
const INSERT = "INSERT INTO writes (id, cycle, batch) VALUES (?, ?, ?)";
const IDS = `SELECT coalesce(group_concat(id), '') AS ids
  FROM (SELECT id FROM writes WHERE cycle = ? AND id > ? ORDER BY id LIMIT 2000)`;
const HALVES = `SELECT coalesce(group_concat(batch), '') AS halves
  FROM (SELECT batch FROM writes WHERE batch > 0 GROUP BY batch HAVING count(*) <> 10)`;

app.post("/write/:cycle/:id", (req) => {
  db.exec(INSERT, [Number(req.params.id), Number(req.params.cycle), 0]);
  return { ok: true };
});
app.post("/late/:cycle/:id", async (req) => {
  db.exec(INSERT, [Number(req.params.id), Number(req.params.cycle), 0]);
  await time.sleep(0.01);
  return { ok: true };
});
app.post("/batch/:cycle/:first", (req) => {
  const first = Number(req.params.first), cycle = Number(req.params.cycle);
  db.batch(() => {
    for (let id = first; id < first + 10; id++) db.exec(INSERT, [id, cycle, first]);
  });
  return { ok: true };
});
app.post("/transaction/:cycle/:first", (req) => {
  const first = Number(req.params.first), cycle = Number(req.params.cycle);
  return db.transaction(async (tx) => {
    for (let id = first; id < first + 5; id++) tx.exec(INSERT, [id, cycle, first]);
    await time.sleep(0.001);
    for (let id = first + 5; id < first + 10; id++) tx.exec(INSERT, [id, cycle, first]);
    return { ok: true };
  });
});
app.get("/ids/:cycle/:after", (req) =>
  db.one(IDS, [Number(req.params.cycle), Number(req.params.after)]).ids);
app.get("/halves", async () => (await db.oneAsync(HALVES)).halves);
app.get("/last", () => db.query("SELECT id, cycle FROM writes ORDER BY id DESC LIMIT 20"));
app.get("/count", () => String(db.one("SELECT count(*) AS count FROM writes").count));
app.get("/integrity", async () => (await db.oneAsync("PRAGMA integrity_check")).integrity_check);
app.post("/forget/:cycle", (req) => {
  db.exec("DELETE FROM writes WHERE cycle < ?", [Number(req.params.cycle)]);
  return { ok: true };
});
app.get("/health", () => "fine");
let mark = "nothing";
app.post("/mark/:id", (req) => {
  db.exec(INSERT, [Number(req.params.id), 0, 0]);
  mark = req.params.id;
  return { ok: true };
});
app.get("/seen", () => mark);
app.get("/fixed", { fixed: true });
const insert = (req) => db.exec(INSERT, [Number(req.params.id), 0, 0]);
const endsWithAWrite = (req, headers = {}) => app.stream(async (write) => {
  await write("a");
  insert(req);
}, { headers });
app.get("/ends/stream/:id", (req) => endsWithAWrite(req));
app.get("/ends/slow/:id", { slow: true }, (req) => endsWithAWrite(req));
app.get("/ends/sized/:id", (req) => endsWithAWrite(req, { "content-length": "1" }));
app.sse("/ends/events/:id", async (req, events) => {
  await events.send("a");
  insert(req);
});
app.sse("/ends/closed/:id", async (req, events) => {
  await events.send("a");
  insert(req);
  events.close();
  await time.sleep(20);
});
"#;

/// The languages that the app is written in, by its file.
pub(crate) const APPS: [&str; 2] = ["app.lua", "app.js"];

/// A project in a folder of its own, removed at the end.
pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    /// The app in both languages with this durability, and other lines for its `[db]` table.
    pub(crate) fn new(name: &str, durability: &str, settings: &str) -> Self {
        let prefix = format!("sampan-{name}-");
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir();
        let folder = folder.expect("a folder");
        for part in ["migrations", "data"] {
            fs::create_dir(folder.path().join(part)).expect("a folder");
        }
        let settings = format!("[db]\ndurability = \"{durability}\"\n{settings}\n");
        for (file, text) in [
            ("app.lua", APP_LUA),
            ("app.js", APP_JS),
            ("sampan.toml", &settings),
            ("migrations/0001_writes.sql", MIGRATION),
        ] {
            fs::write(folder.path().join(file), text).expect("a file");
        }
        Self { folder }
    }

    /// The folder with the database and nothing else.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The command that serves one of [`APPS`].
    pub(crate) fn command(&self, app: &str) -> Command {
        self.command_for(app, 2)
    }

    /// Does what [`Project::command`] does, with so many workers.
    pub(crate) fn command_for(&self, app: &str, workers: u32) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command
            .arg("run")
            .arg(self.folder.path().join(app))
            .args(["--listen", "127.0.0.1:0", "--workers"])
            .arg(workers.to_string())
            .arg("--db")
            .arg(self.data().join("test.db"));
        command
    }

    /// Starts the server, which answers when this returns. `name` is that of its log.
    pub(crate) fn start(&self, app: &str) -> Server {
        self.serve(&mut self.command(app), "server.log")
    }

    /// Does what [`Project::start`] does, for a command that was given more, its log in a file of this name.
    pub(crate) fn serve(&self, command: &mut Command, log: &str) -> Server {
        Server::start(command, &self.folder.path().join(log))
    }

    /// A file beside the app.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        // Kept where the test failed: the database tells what happened.
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
            eprintln!("kept for a look: {}", self.folder.path().display());
        }
    }
}

/// A server as a process of its own; killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// In a file, as nobody reads it while the server runs.
    log: PathBuf,
    pub(crate) address: SocketAddr,
}

impl Server {
    #[allow(clippy::zombie_processes)] // Where this panics the test ends, and its children with it.
    fn start(command: &mut Command, log: &Path) -> Self {
        let file = File::create(log).expect("a log");
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn();
        let mut child = Some(child.expect("the command starts"));
        wait::found("the start", || {
            let said = fs::read_to_string(log).unwrap_or_default();
            let whole = said.rsplit_once('\n').map_or("", |(lines, _)| lines);
            if let Some((_, rest)) = whole.split_once("listening on http://") {
                let address = rest.split([' ', '\n']).next().unwrap_or_default();
                return Some(Self {
                    child: child.take()?,
                    log: log.to_path_buf(),
                    address: address.parse().expect("an address"),
                });
            }
            let ended = child.as_mut()?.try_wait().expect("a child").is_some();
            assert!(!ended, "the server ended at its start:\n{said}");
            None
        })
    }

    /// Returns the log so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it in good order (SIGTERM), so that the log is copied into the database.
    pub(crate) fn stop(mut self) {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(told.expect("kill exists").success());
        let status = self.child.wait().expect("a child");
        assert!(status.success(), "{status}: {}", self.log());
    }

    /// Ends it as a crash would (SIGKILL).
    pub(crate) fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// A new connection.
    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address).expect("someone listens")
    }

    /// Asks, expecting 200, and takes the body as text.
    pub(crate) fn get(&self, path: &str) -> String {
        let answer = ask(&mut self.client(), "GET", path).expect("an answer");
        assert_eq!(
            answer.status,
            200,
            "{path}: {}\n{}",
            answer.text(),
            self.log()
        );
        answer.text()
    }

    /// The ids that are there of a cycle, asked for in pages.
    pub(crate) fn ids(&self, cycle: u64) -> HashSet<u64> {
        let mut ids = HashSet::new();
        let mut after = 0;
        loop {
            let text = self.get(&format!("/ids/{cycle}/{after}"));
            let page = text.split(',').filter(|id| !id.is_empty());
            let page: Vec<u64> = page.map(|id| id.parse().expect("a number")).collect();
            let Some(last) = page.last() else {
                return ids;
            };
            after = *last;
            ids.extend(page);
        }
    }

    /// Makes sure that the database is whole and holds no half of a batch.
    pub(crate) fn expect_sound(&self) {
        assert_eq!(self.get("/integrity"), "ok");
        assert_eq!(self.get("/halves"), "", "batches that are half there");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Makes a request without a body.
pub(crate) fn ask(client: &mut Client, method: &str, path: &str) -> io::Result<Answer> {
    let length = if method == "POST" {
        "Content-Length: 0\r\n"
    } else {
        ""
    };
    client.send(format!("{method} {path} HTTP/1.1\r\nHost: h\r\n{length}\r\n").as_bytes())?;
    client.read(false)
}

/// A number from the environment, for longer runs than the test command's.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Random numbers (xorshift64).
pub(crate) struct Random(u64);

impl Random {
    /// Seeded by the clock.
    pub(crate) fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self::seeded(now.map_or(1, |now| now.as_nanos() as u64))
    }

    /// Creates the generator: equal seeds give equal numbers.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        least + self.0 % (most - least + 1)
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.between(1, times) == 1
    }
}
