//! Requests that are given up: their scripts end in order.

use crate::commands::command::serve;
use crate::support::{Process, Scratch};
use sampan_testkit::{Client, wait};

const LUA: &str = r#"
local app = require "sampan"
local time, here, left = app.time, 0, {}
local function note(what) left[what] = (left[what] or 0) + 1 end

app.get("/wait", function()
  here = here + 1
  local ok, err = pcall(time.sleep, 60)
  time.sleep(0.005)
  here = here - 1
  note(tostring(ok) .. " " .. err.code)
  return "nobody reads this"
end)
app.get("/stream", function()
  return app.stream(function(write)
    here = here + 1
    local ok, err = pcall(function() while true do write(("x"):rep(1000)) time.sleep(0.01) end end)
    local again, second = pcall(write, "more")
    here = here - 1
    note(tostring(ok) .. " " .. err.code .. " " .. tostring(again) .. " " .. second.code)
  end)
end)
app.get("/fails", function() pcall(time.sleep, 60) error("in the cleanup") end)
app.get("/uncaught", function() time.sleep(60) end)
app.get("/stubborn", function() while true do pcall(time.sleep, 60) end end)
app.get("/stays", function() pcall(time.sleep, 60) time.sleep(60) note("stayed") end)
app.get("/spins", function() pcall(time.sleep, 60) while true do end end)
app.get("/writes", function() return app.stream(function(write) while true do pcall(write, "x") end end) end)
app.get("/here", function() return { here = here, left = left } end)
"#;

const JS: &str = r#"
import { app, stream, time } from "sampan";
let here = 0;
const left = {};
const note = (what) => { left[what] = (left[what] ?? 0) + 1; };

app.get("/wait", async (req) => {
  here++;
  const { signal } = req;
  try {
    await time.sleep(60);
  } catch (error) {
    await time.sleep(0.005);
    note(`false ${error.code}`);
    if (!signal.aborted) note("not aborted");
  } finally {
    here--;
  }
  return "nobody reads this";
});
app.get("/stream", () => stream(async (write) => {
  here++;
  try {
    for (;;) { await write("x".repeat(1000)); await time.sleep(0.01); }
  } catch (error) {
    let second;
    try { await write("more"); } catch (error) { second = error; }
    note(`false ${error.code} false ${second?.code}`);
  } finally {
    here--;
  }
}));
app.get("/fails", async () => { try { await time.sleep(60); } catch {} throw new Error("in the cleanup"); });
app.get("/uncaught", () => time.sleep(60));
app.get("/stubborn", async () => { for (;;) try { await time.sleep(60); } catch {} });
app.get("/stays", async () => { try { await time.sleep(60); } catch {} await time.sleep(60); note("stayed"); });
app.get("/spins", async () => { try { await time.sleep(60); } catch {} for (;;); });
app.get("/writes", () => stream(async (write) => { for (;;) try { await write("x"); } catch {} }));
app.get("/here", () => ({ here, left }));
"#;

const LIMITS: &str = "[limits]\nhandler_millis_max = 2000\ncleanup_millis_max = 800\nscript_millis_max = 500\n\
    [overload]\nenabled = false\n[workers]\nslow = 0\n";

fn server(name: &str, source: &str) -> (Scratch, Process) {
    let scratch = Scratch::new(&[(name, source), ("sampan.toml", LIMITS)]);
    let process = Process::start(&mut serve(&scratch.file(name), 1));
    (scratch, process)
}

fn ask(process: &Process, path: &str) -> Client {
    let mut client = process.client();
    let request = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
    client.send(request.as_bytes()).expect("sent");
    client
}

fn here(process: &Process) -> String {
    let mut client = ask(process, "/here");
    client.read(false).expect("an answer").text()
}

/// Asks until the server says so.
fn until(process: &Process, expected: &str) {
    wait::until(expected, || here(process) == expected);
}

#[test]
fn handlers_and_streams_whose_clients_have_left_end_in_order() {
    for (name, source) in [("app.lua", LUA), ("app.js", JS)] {
        let (_scratch, process) = server(name, source);
        for (path, count, note) in [
            ("/wait", 300, "false cancelled"),
            ("/stream", 300, "false cancelled false cancelled"),
        ] {
            let clients: Vec<Client> = (0..count).map(|_| ask(&process, path)).collect();
            // One whose client leaves before it has begun never begins.
            let all = format!(r#"{{"here":{count},"#);
            wait::until(&all, || here(&process).starts_with(&all));
            let before = if path == "/stream" {
                let begun = format!(r#"{{"here":{count},"left":{{"false cancelled":300}}}}"#);
                until(&process, &begun);
                r#""false cancelled":300,"#
            } else {
                ""
            };
            drop(clients);
            until(
                &process,
                &format!(r#"{{"here":0,"left":{{{before}"{note}":{count}}}}}"#),
            );
        }
        let (status, errors) = {
            process.signal("TERM");
            process.end()
        };
        assert_eq!(status, Some(0), "{errors}");
        assert!(!errors.contains("error"), "{name}: {errors}");
    }
}

#[test]
fn a_handler_that_takes_too_long_ends_in_order() {
    for (name, source) in [("app.lua", LUA), ("app.js", JS)] {
        let (_scratch, process) = server(name, source);
        let mut client = ask(&process, "/wait");
        assert_eq!(client.read(false).expect("an answer").status, 504);
        until(&process, r#"{"here":0,"left":{"false cancelled":1}}"#);
    }
}

#[test]
fn a_cleanup_is_bounded() {
    for (name, source) in [("app.lua", LUA), ("app.js", JS)] {
        let (_scratch, mut process) = server(name, source);
        let log = process.read_errors();
        for path in [
            "/fails",
            "/uncaught",
            "/stubborn",
            "/stays",
            "/spins",
            "/writes",
        ] {
            let client = ask(&process, path);
            // The one worker takes requests in the order in which they come.
            here(&process);
            drop(client);
        }
        for expected in [
            "GET /fails (given up): ",
            "in the cleanup",
            "GET /stubborn (given up): dropped: it did not end within 800 ms (cleanup_millis_max)",
            "GET /stays (given up): dropped",
            "GET /spins (given up): ",
            "the script ran longer than script_millis_max",
            "GET /writes (given up): dropped",
        ] {
            log.until(expected);
        }
        assert_eq!(here(&process), r#"{"here":0,"left":{}}"#);
        process.signal("TERM");
        assert_eq!(process.status(), Some(0), "{}", log.text());
        let errors = log.join().expect("text");
        assert!(!errors.contains("/uncaught"), "{name}: {errors}");
    }
}

#[test]
fn a_shutdown_waits_for_a_cleanup() {
    let lua = "local app = require 'sampan'\napp.get('/', function() app.log.info('begun') pcall(app.time.sleep, 60) app.time.sleep(0.1) \
     app.log.info('cleaned up') end)\n";
    let js = "import { app, log, time } from 'sampan';\napp.get('/', async () => { log.info('begun'); try { await time.sleep(60); } \
     finally { await time.sleep(0.1); log.info('cleaned up'); } });\n";
    for (name, source) in [("app.lua", lua), ("app.js", js)] {
        let limits = "[limits]\nshutdown_millis_max = 200\n";
        let scratch = Scratch::new(&[(name, source), ("sampan.toml", limits)]);
        let mut process = Process::start(&mut serve(&scratch.file(name), 1));
        let log = process.read_errors();
        let client = ask(&process, "/");
        log.until("begun");
        process.signal("TERM");
        assert_eq!(process.status(), Some(0), "{}", log.text());
        let errors = log.join().expect("text");
        assert!(errors.contains("cleaned up"), "{name}: {errors}");
        drop(client);
    }
}

#[test]
fn those_who_wait_for_an_answer_go_on_when_its_request_is_given_up() {
    // Scripts that hold their requests.
    let lua = r#"
local app = require "sampan"
local time, held = app.time, {}
app.use("/kept", app.cached{ seconds = 60 })
app.use("/once", app.idempotency{ user = function() return 1 end })
local function make(req)
  held[#held + 1] = req
  if #held == 1 then time.sleep(60) end
  return "made"
end
app.get("/kept", make)
app.post("/once", make)
app.get("/here", function() return tostring(#held) end)
"#;
    let js = r#"
import { app, time } from "sampan";
const held = [];
app.use("/kept", app.cached({ seconds: 60 }));
app.use("/once", app.idempotency({ user: () => 1 }));
async function make(req) {
  held.push(req);
  if (held.length === 1) await time.sleep(60);
  return "made";
}
app.get("/kept", make);
app.post("/once", make);
app.get("/here", () => String(held.length));
"#;
    const REPEATED: &[u8] =
        b"POST /once HTTP/1.1\r\nHost: h\r\nIdempotency-Key: a\r\nContent-Length: 0\r\n\r\n";
    for (name, source) in [("app.lua", lua), ("app.js", js)] {
        let scratch = Scratch::new(&[(name, source), ("sampan.toml", "[workers]\nslow = 0\n")]);
        let process = Process::start(&mut serve(&scratch.file(name), 1));
        let first = ask(&process, "/kept");
        until(&process, "1");
        let mut waiting = [ask(&process, "/kept"), ask(&process, "/kept")];
        // The one worker takes requests in the order in which they come.
        assert_eq!(here(&process), "1");
        drop(first);
        for client in &mut waiting {
            assert_eq!(client.read(false).expect("an answer").text(), "made");
        }
        // One of them made the answer for both.
        assert_eq!(here(&process), "2");
        drop(process);

        let process = Process::start(&mut serve(&scratch.file(name), 1));
        let mut first = process.client();
        first.send(REPEATED).expect("sent");
        until(&process, "1");
        let repeated = || {
            let mut client = process.client();
            client.send(REPEATED).expect("sent");
            client.read(false).expect("an answer").status
        };
        assert_eq!(repeated(), 409);
        drop(first);
        wait::until("it runs again", || repeated() == 200);
    }
}

#[test]
fn those_who_wait_for_an_answer_that_fails_try_one_at_a_time() {
    let lua = r#"
local app = require "sampan"
local begun, allowed = 0, 0
app.use("/fails", app.cached{ seconds = 60 })
app.get("/fails", function()
  begun = begun + 1
  local own = begun
  while allowed < own do app.time.sleep(0.001) end
  error("on purpose")
end)
app.get("/allow", function() allowed = allowed + 1 return "one more" end)
app.get("/here", function() return tostring(begun) end)
"#;
    let js = r#"
import { app, time } from "sampan";
let begun = 0, allowed = 0;
app.use("/fails", app.cached({ seconds: 60 }));
app.get("/fails", async () => {
  const own = ++begun;
  while (allowed < own) await time.sleep(0.001);
  throw new Error("on purpose");
});
app.get("/allow", () => {
  allowed++;
  return "one more";
});
app.get("/here", () => String(begun));
"#;
    for (name, source) in [("app.lua", lua), ("app.js", js)] {
        let scratch = Scratch::new(&[(name, source), ("sampan.toml", "[workers]\nslow = 0\n")]);
        let process = Process::start(&mut serve(&scratch.file(name), 1));
        let allow = || {
            let mut client = ask(&process, "/allow");
            assert_eq!(client.read(false).expect("an answer").text(), "one more");
        };
        let mut first = ask(&process, "/fails");
        until(&process, "1");
        let mut waiting = [(); 5].map(|()| ask(&process, "/fails"));
        // The one worker takes requests in the order in which they come.
        assert_eq!(here(&process), "1");
        allow();
        assert_eq!(first.read(false).expect("an answer").status, 500);
        until(&process, "2");
        allow();
        // One more tries, and the others have waited for two already.
        until(&process, "3");
        allow();
        let mut statuses = Vec::new();
        for client in &mut waiting {
            let answer = client.read(false).expect("an answer");
            let is_told = answer.header("retry-after") == ["1"];
            assert_eq!(is_told, answer.status == 503, "{name}: {}", answer.status);
            statuses.push(answer.status);
        }
        statuses.sort_unstable();
        assert_eq!(statuses, [500, 500, 503, 503, 503], "{name}");
        assert_eq!(here(&process), "3");
        // The next request tries again.
        let mut next = ask(&process, "/fails");
        until(&process, "4");
        allow();
        assert_eq!(next.read(false).expect("an answer").status, 500);
    }
}

const KEYED_LUA: &str = r#"
local app = require "sampan"
local db, time, begun, notes = app.db, app.time, 0, {}
local function note(what) notes[#notes + 1] = what end
local function try(...)
  local ok, err = pcall(...)
  note(ok and "written" or err.code)
end
local function write(tx) tx:exec("INSERT INTO orders VALUES (1)") end
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS orders (n INTEGER)") end)
app.use("/order", app.idempotency{ user = function() return 1 end })
app.post("/order", function()
  begun = begun + 1
  local is_first = begun == 1
  if is_first then pcall(time.sleep, 60) end
  try(db.exec, "INSERT INTO orders VALUES (1)")
  if is_first then
    try(db.batch, function() db.exec("INSERT INTO orders VALUES (1)") end)
    try(db.transaction, write)
    time.sleep(0.001)
    try(db.exec, "INSERT INTO orders VALUES (1)")
  end
  return "taken"
end)
app.get("/here", function()
  return begun .. " " .. table.concat(notes, ",") .. " " .. db.one("SELECT count(*) AS n FROM orders").n
end)
"#;

const KEYED_JS: &str = r#"
import { app, db } from "sampan";
let begun = 0;
const notes = [];
async function attempt(write) {
  try {
    await write();
    notes.push("written");
  } catch (error) {
    notes.push(error.code);
  }
}
const insert = () => db.exec("INSERT INTO orders VALUES (1)");
app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS orders (n INTEGER)"); });
app.use("/order", app.idempotency({ user: () => 1 }));
app.post("/order", async (req) => {
  const isFirst = ++begun === 1;
  // A promise of the script's own.
  if (isFirst) await new Promise((done) => req.signal.addEventListener("abort", done));
  await attempt(insert);
  if (isFirst) {
    await attempt(() => db.batch(() => { insert(); }));
    await attempt(() => db.transaction(async (tx) => { tx.exec("INSERT INTO orders VALUES (1)"); }));
    // Goes on when the handler has ended.
    setTimeout(() => attempt(insert), 1);
  }
  return "taken";
});
app.get("/here", () => `${begun} ${notes.join(",")} ${db.one("SELECT count(*) AS n FROM orders").n}`);
"#;

#[test]
fn a_request_with_a_key_writes_nothing_once_it_was_given_up() {
    const REPEATED: &[u8] =
        b"POST /order HTTP/1.1\r\nHost: h\r\nIdempotency-Key: a\r\nContent-Length: 0\r\n\r\n";
    for (name, source) in [("app.lua", KEYED_LUA), ("app.js", KEYED_JS)] {
        let scratch = Scratch::new(&[(name, source), ("sampan.toml", "[workers]\nslow = 0\n")]);
        let process = Process::start(&mut serve(&scratch.file(name), 1));
        let mut first = process.client();
        first.send(REPEATED).expect("sent");
        until(&process, "1  0");
        drop(first);
        until(&process, "1 cancelled,cancelled,cancelled,cancelled 0");
        let answer = wait::found("it runs again", || {
            let mut client = process.client();
            client.send(REPEATED).expect("sent");
            let answer = client.read(false).expect("an answer");
            (answer.status != 409).then_some(answer)
        });
        assert_eq!((answer.status, answer.text()), (200, "taken".to_owned()));
        let all = "2 cancelled,cancelled,cancelled,cancelled,written 1";
        assert_eq!(here(&process), all, "{name}");
    }
}

const LOCKED_LUA: &str = r#"
local app = require "sampan"
local time, notes, may_end = app.time, {}, false
app.get("/buy", function()
  app.lock("stock", function()
    notes[#notes + 1] = "begun"
    pcall(time.sleep, 60)
    notes[#notes + 1] = "cancelled"
    while not may_end do time.sleep(0.001) end
  end)
end)
app.get("/end", function() may_end = true return "now" end)
app.get("/try", function()
  local ok, err = pcall(app.lock, "stock", { timeout = 0 }, function() end)
  return ok and "free" or err.code
end)
app.get("/here", function() return table.concat(notes, ",") end)
"#;

const LOCKED_JS: &str = r#"
import { app, db, time } from "sampan";
let mayEnd = false;
const notes = [];
const aborted = (req) => new Promise((done) => req.signal.addEventListener("abort", done));
async function untilEnd() {
  while (!mayEnd) await new Promise((done) => setTimeout(done, 1));
}
app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS sold (n INTEGER)"); });
app.get("/buy", (req) => app.lock("stock", async () => {
  notes.push("begun");
  await aborted(req);
  notes.push("cancelled");
  await untilEnd();
}));
// The function of the lock goes on when the handler has ended.
app.get("/leave", async (req) => {
  const bought = app.lock("stock", async () => {
    notes.push("begun");
    await untilEnd();
    try {
      db.exec("INSERT INTO sold VALUES (1)");
      notes.push("written");
    } catch (error) {
      notes.push(error.code);
    }
  });
  await Promise.race([bought, aborted(req)]);
});
app.get("/end", () => { mayEnd = true; return "now"; });
app.get("/try", async () => {
  try {
    await app.lock("stock", { timeout: 0 }, () => {});
    return "free";
  } catch (error) {
    return error.code;
  }
});
app.get("/here", () => notes.join(","));
"#;

/// A server whose cleanups may take long.
fn patient_server(name: &str, source: &str) -> (Scratch, Process) {
    let settings = "[limits]\ncleanup_millis_max = 600000\n[workers]\nslow = 0\n";
    let scratch = Scratch::new(&[(name, source), ("sampan.toml", settings)]);
    let process = Process::start(&mut serve(&scratch.file(name), 1));
    (scratch, process)
}

fn text_of(process: &Process, path: &str) -> String {
    let mut client = ask(process, path);
    client.read(false).expect("an answer").text()
}

#[test]
fn a_lock_is_held_until_the_cleanup_has_ended() {
    for (name, source) in [("app.lua", LOCKED_LUA), ("app.js", LOCKED_JS)] {
        let (_scratch, process) = patient_server(name, source);
        let client = ask(&process, "/buy");
        until(&process, "begun");
        drop(client);
        until(&process, "begun,cancelled");
        assert_eq!(text_of(&process, "/try"), "lock_timeout", "{name}");
        assert_eq!(text_of(&process, "/end"), "now");
        wait::until("the lock is free", || text_of(&process, "/try") == "free");
    }
}

#[test]
fn what_outlives_the_cleanup_writes_nothing_without_its_lock() {
    let (_scratch, process) = patient_server("app.js", LOCKED_JS);
    let client = ask(&process, "/leave");
    until(&process, "begun");
    drop(client);
    wait::until("the lock is free", || text_of(&process, "/try") == "free");
    assert_eq!(text_of(&process, "/end"), "now");
    until(&process, "begun,cancelled");
}
