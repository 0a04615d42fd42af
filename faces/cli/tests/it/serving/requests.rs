//! Additions of capabilities to requests reach the answer and nothing else. And requests that are repeated by their key
//! run once.

use crate::commands::command::serve;
use crate::support::{Process, Scratch};
use sampan_host::log::Level;
use sampan_host::{Args, Context, Error, Function, FunctionKind, Module, Param, Type, Value};
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Server};
use sampan_testkit::{Answer, Client, wait};
use std::cell::Cell;

const fn text(name: &'static str) -> Param {
    Param {
        name,
        ty: Type::Text,
        optional: false,
        doc: "Text.",
    }
}

/// A field, a method that adds to the answer, and one that counts in the store of the request.
static MARKS: Module = Module {
    name: "marks",
    request_fields: &[Function {
        name: "own_path",
        params: &[],
        returns: Type::Text,
        doc: "The path.",
        kind: FunctionKind::Sync(|_, args| Ok(Value::Text(args.request().path().to_owned()))),
    }],
    request_methods: &[
        Function {
            name: "mark",
            params: &[text("name"), text("value")],
            returns: Type::Nothing,
            doc: "Adds a header field to the answer.",
            kind: FunctionKind::Sync(mark),
        },
        Function {
            name: "count",
            params: &[],
            returns: Type::Int,
            doc: "How often it was called for this request.",
            kind: FunctionKind::Sync(count),
        },
    ],
    ..Module::EMPTY
};

static MODULES: &[&Module] = &[&MARKS];

fn mark(_: &Context, mut args: Args) -> Result<Value, Error> {
    let (name, value) = (args.text(0), args.text(1));
    args.request().add_header(&name, value.as_bytes())?;
    Ok(Value::Null)
}

fn count(_: &Context, args: Args) -> Result<Value, Error> {
    let store = args.request().store();
    let count = match store.get::<Cell<i64>>() {
        Some(count) => count,
        None => store.put(Cell::new(0)),
    };
    count.set(count.get() + 1);
    Ok(Value::Int(count.get()))
}

const LUA: &str = r#"
local app = require 'sampan'
local kept
app.use("/*rest", function(req, next)
  req:mark("X-Mark", "from " .. req.own_path)
  req:mark("Set-Cookie", "a=1")
  req:mark("Set-Cookie", "b=2")
  return next(req)
end)
app.get("/plain", function(req) return { n = req:count() + req:count() } end)
app.get("/boom", function() error("boom") end)
app.get("/stream", function(req)
  return app.stream(function(write)
    write("begun ")
    local ok, err = pcall(req.mark, req, "x-late", "1")
    write(tostring(err))
  end)
end)
app.get("/bad", function(req) req:mark("x", "a\nb") end)
app.get("/large", function(req) for _ = 1, 100 do req:mark("x", ("x"):rep(1000)) end end)
app.get("/keep", function(req) kept = req return "kept" end)
app.get("/use", function(req) return kept:count() end)
app.get("/fixed", { fixed = true })
"#;

const JS: &str = r#"
import { app, stream } from "sampan";
let kept;
app.use("/*rest", (req, next) => {
  req.mark("X-Mark", `from ${req.ownPath}`);
  req.mark("Set-Cookie", "a=1");
  req.mark("Set-Cookie", "b=2");
  return next();
});
app.get("/plain", (req) => ({ n: req.count() + req.count() }));
app.get("/web", () => new Response("web", { headers: { "set-cookie": "c=3" } }));
app.get("/boom", () => { throw new Error("boom"); });
app.get("/stream", (req) => stream(async (write) => {
  await write("begun ");
  try { req.mark("x-late", "1"); } catch (error) { await write(error.message); }
}));
app.get("/bad", (req) => req.mark("x", "a\nb"));
app.get("/large", (req) => { for (let i = 0; i < 100; i++) req.mark("x", "x".repeat(1000)); });
app.get("/keep", (req) => { kept = req; return "kept"; });
app.get("/use", () => kept.count());
app.get("/fixed", { fixed: true });
"#;

#[test]
fn what_a_capability_adds_to_a_request_is_in_its_answer() {
    for (file, source) in [("app.lua", LUA), ("app.js", JS)] {
        let scratch = Scratch::new(&[(file, source)]);
        let toml = "[server]\nlisten = \"127.0.0.1:0\"\nworkers = 1\n";
        let mut config = AppConfig::from_text(scratch.path(), toml).expect("valid");
        let logger = Logger::captured(Level::Info);
        config.program.logger = logger.clone();
        config.program.modules = MODULES;
        let running = Server::start(config).expect("it starts");
        let mut client = Client::connect(running.address()).expect("someone listens");
        let mut ask = |path: &str| client.ask("GET", path, &[], "").expect("an answer");
        for (path, status) in [
            ("/plain", 200),
            ("/boom", 500),
            ("/nowhere", 404),
            ("/stream", 200),
            ("/bad", 500),
        ] {
            let answer = ask(path);
            assert_eq!(answer.status, status, "{file} {path}: {}", answer.text());
            assert_eq!(answer.header("x-mark"), [format!("from {path}")], "{file}");
            assert_eq!(answer.header("set-cookie"), ["a=1", "b=2"], "{file} {path}");
        }
        assert_eq!(
            ask("/plain").text(),
            r#"{"n":3}"#,
            "{file}: each request counts anew"
        );
        let told = ask("/stream").text();
        let late = "the header fields of the answer have been sent";
        assert!(
            told.starts_with("begun ") && told.ends_with(late),
            "{file}: {told}"
        );
        if file == "app.js" {
            let answer = ask("/web");
            assert_eq!(answer.text(), "web");
            assert_eq!(answer.header("set-cookie"), ["c=3", "a=1", "b=2"]);
        }
        assert_eq!(ask("/large").status, 500, "{file}");
        let text = logger.lines();
        assert!(
            text.contains("the headers of the response have more than 65536 bytes"),
            "{text}"
        );
        assert_eq!(ask("/keep").text(), "kept");
        assert_eq!(ask("/use").status, 500);
        let text = logger.lines();
        assert!(text.contains("the request is over"), "{file}: {text}");
        assert!(running.shutdown());
    }
}

const KEYS_LUA: &str = r#"
local app = require "sampan"
local db = app.db
db.exec("CREATE TABLE IF NOT EXISTS orders (name TEXT)")
db.exec("CREATE TABLE IF NOT EXISTS signs (sign TEXT)")
local function has(sign) return db.one("SELECT 1 FROM signs WHERE sign = ?", { sign }) ~= nil end
app.use(app.secure_headers{ csp = "script-src 'nonce-{nonce}'" })
app.use(app.idempotency{ user = function() return 1 end })
app.post("/order", function(req)
  local name = req.headers["x-name"]
  if name == "slow" then
    db.exec("INSERT INTO signs VALUES ('begun')")
    while not has("go") do app.time.sleep(0.002) end
  end
  db.exec("INSERT INTO orders VALUES (?)", { name })
  return name
end)
app.post("/page", function(req) return req.csp_nonce end)
app.post("/plain", function(req)
  return app.text(req.csp_nonce, { headers = { ["Content-Security-Policy"] = "default-src 'none'" } })
end)
app.post("/go", function() db.exec("INSERT INTO signs VALUES ('go')") return "gone" end)
app.get("/begun", function() return tostring(has("begun")) end)
app.get("/orders", function() return db.query("SELECT name FROM orders") end)
"#;

const KEYS_JS: &str = r#"
import { app, db, text, time } from "sampan";
db.exec("CREATE TABLE IF NOT EXISTS orders (name TEXT)");
db.exec("CREATE TABLE IF NOT EXISTS signs (sign TEXT)");
const has = (sign) => db.one("SELECT 1 FROM signs WHERE sign = ?", [sign]) != null;
app.use(app.secureHeaders({ csp: "script-src 'nonce-{nonce}'" }));
app.use(app.idempotency({ user: () => 1 }));
app.post("/order", async (req) => {
  const name = req.headers.get("x-name");
  if (name === "slow") {
    db.exec("INSERT INTO signs VALUES ('begun')");
    while (!has("go")) await time.sleep(0.002);
  }
  db.exec("INSERT INTO orders VALUES (?)", [name]);
  return name;
});
app.post("/page", (req) => req.cspNonce);
app.post("/plain", (req) => text(req.cspNonce, { headers: { "Content-Security-Policy": "default-src 'none'" } }));
app.post("/go", () => {
  db.exec("INSERT INTO signs VALUES ('go')");
  return "gone";
});
app.get("/begun", () => String(has("begun")));
app.get("/orders", () => db.query("SELECT name FROM orders"));
"#;

/// Sends a request whose URL is the same for all servers.
fn send(process: &Process, line: &str, fields: &str) -> Client {
    let mut client = process.client();
    let request = format!("{line} HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: 0\r\n\r\n");
    client.send(request.as_bytes()).expect("sent");
    client
}

fn answer(process: &Process, line: &str, fields: &str) -> Answer {
    send(process, line, fields).read(false).expect("an answer")
}

#[test]
fn a_key_that_runs_in_one_process_is_refused_by_another() {
    for (name, source) in [("app.lua", KEYS_LUA), ("app.js", KEYS_JS)] {
        let scratch = Scratch::new(&[(name, source)]);
        let start = || Process::start(&mut serve(&scratch.file(name), 1));
        let (one, other) = (start(), start());
        let mut slow = send(
            &one,
            "POST /order",
            "Idempotency-Key: a\r\nX-Name: slow\r\n",
        );
        let begun = || answer(&other, "GET /begun", "").text() == "true";
        wait::until("it has begun", begun);
        let quick = "Idempotency-Key: a\r\nX-Name: quick\r\n";
        for process in [&one, &other] {
            let refused = answer(process, "POST /order", quick);
            assert_eq!(refused.status, 409, "{name}: {}", refused.text());
            assert_eq!(refused.header("retry-after"), ["1"]);
            assert!(refused.text().contains("still runs"), "{}", refused.text());
        }
        assert_eq!(answer(&other, "POST /go", "").text(), "gone");
        assert_eq!(slow.read(false).expect("an answer").text(), "slow");
        for process in [&one, &other] {
            let orders = answer(process, "GET /orders", "").text();
            assert_eq!(orders, r#"[{"name":"slow"}]"#, "{name}");
            let again = answer(process, "POST /order", quick);
            assert_eq!(again.text(), "slow");
            assert_eq!(again.header("idempotent-replayed"), ["true"]);
        }
    }
}

#[test]
fn a_page_that_is_given_again_has_the_policy_of_its_nonce() {
    for (name, source) in [("app.lua", KEYS_LUA), ("app.js", KEYS_JS)] {
        let scratch = Scratch::new(&[(name, source)]);
        let process = Process::start(&mut serve(&scratch.file(name), 1));
        let page = |key: &str| {
            let key = format!("Idempotency-Key: {key}\r\n");
            let answer = answer(&process, "POST /page", &key);
            let policies = answer.header("content-security-policy");
            let nonce = format!("'nonce-{}'", answer.text());
            assert!(
                matches!(policies[..], [policy] if policy.contains(&nonce)),
                "{name}: {policies:?}, {nonce}"
            );
            (
                answer.text(),
                answer.header("idempotent-replayed") == ["true"],
            )
        };
        let (first, _) = page("a");
        assert_eq!(page("a"), (first.clone(), true), "{name}");
        assert_ne!(page("b").0, first, "{name}");
        // A policy of the handler's own stays alone.
        for _ in 0..2 {
            let answer = answer(&process, "POST /plain", "Idempotency-Key: a\r\n");
            let policies = answer.header("content-security-policy");
            assert_eq!(policies, ["default-src 'none'"], "{name}");
        }
    }
}

const UNAWAITED_JS: &str = r#"
import { app, db } from "sampan";
app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS orders (name TEXT)"); });
app.use("/*", app.idempotency({ user: () => "1" }));
app.post("/:end", ({ params: { end } }) => {
  db.transaction(async (tx) => {
    tx.exec("INSERT INTO orders VALUES (?)", [end]);
    await null;
    if (end === "fails") throw new Error("too bad");
  });
  return "ok";
});
app.get("/", () => db.query("SELECT name FROM orders").map((row) => row.name).join());
"#;

#[test]
fn an_answer_is_not_recorded_before_a_transaction_that_it_depends_on() {
    let scratch = Scratch::new(&[("app.js", UNAWAITED_JS)]);
    let process = Process::start(&mut serve(&scratch.file("app.js"), 1));
    for (path, status) in [("/ends", 200), ("/fails", 500)] {
        for at in 0..2 {
            let seen = answer(
                &process,
                &format!("POST {path}"),
                &format!("Idempotency-Key: {path}\r\n"),
            );
            assert_eq!(seen.status, status, "{path}");
            let is_replayed = seen.header("idempotent-replayed") == ["true"];
            assert_eq!(is_replayed, at == 1 && status == 200, "{path}");
        }
    }
    assert_eq!(answer(&process, "GET /", "").text(), "ends");
}
