//! Additions of capabilities to requests reach the answer and nothing else.

use crate::support::Scratch;
use sampan_host::log::Level;
use sampan_host::{Args, Context, Error, Function, FunctionKind, Module, Param, Type, Value};
use sampan_log::Logger;
use sampan_runtime::{AppConfig, Server};
use sampan_testkit::Client;
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
