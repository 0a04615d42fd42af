//! `t.fetch_mock` and `t.fetch_allow` in `sampan test`, in both languages: requests of the app to other servers.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;

const LUA_APP: &str = r#"
local app = require "sampan"
app.get("/weather/:city", function(req)
  local res = app.fetch("https://weather.example/v1", { query = { city = req.params.city } })
  if res.status ~= 200 then return app.json({ error = "no weather" }, 502) end
  return { degrees = res:json().degrees, kind = res.headers["X-Kind"] }
end)
app.post("/order", function(req)
  local res = app.fetch("https://shop.example/orders", { json = req:json(), headers = { authorization = "Bearer 1" } })
  return app.json(res:json(), res.status)
end)
app.get("/words", function()
  local res, words = app.fetch("https://words.example/", { stream = true }), {}
  for chunk in res:chunks() do words[#words + 1] = chunk end
  return words
end)
app.get("/pass", function() return app.fetch("https://words.example/", { stream = true }) end)
app.get("/code", function()
  local ok, err = pcall(app.fetch, "https://down.example/")
  return { code = err.code }
end)
app.get("/up", function() return app.fetch("https://words.example/", { body = function(write) write("a") write("b") end }) end)
"#;

const LUA_TESTS: &str = r#"
local app = require "sampan"
local t = app.t
local shop = t.fetch_mock("POST shop.example/*", { status = 201, json = { id = 7 } })
t.test("a function answers", function()
  local mock = t.fetch_mock("https://weather.example/v1", function(request)
    if request.url:find("city=Oslo", 1, true) then return { json = { degrees = -3 }, headers = { ["X-Kind"] = "snow" } } end
    return { status = 404 }
  end)
  t.equal(t.get("/weather/Oslo").json, { degrees = -3, kind = "snow" })
  t.equal(t.get("/weather/Atlantis").status, 502)
  t.equal({ mock:count(), mock:calls()[2].url }, { 2, "https://weather.example/v1?city=Atlantis" })
end)
t.test("what is sent is recorded", function()
  local answer = t.post("/order", { json = { item = "boat" } })
  t.equal({ answer.status, answer.json.id }, { 201, 7 })
  local call = shop:calls()[1]
  t.equal({ call.method, call.json.item, call.headers.authorization, shop:count() }, { "POST", "boat", "Bearer 1", 1 })
end)
t.test("a mock of the file holds for each test, its calls do not", function()
  t.equal(shop:count(), 0)
  t.equal(t.post("/order", { json = {} }).status, 201)
end)
t.test("a body in pieces", function()
  t.fetch_mock("words.example", { chunks = { "one", "two" } })
  t.equal(t.get("/pass").body, "onetwo")
  t.equal(t.get("/words").json, { "one", "two" })
  t.fetch_mock("words.example", { chunks = {} })
  t.equal(t.get("/pass").body, "")
end)
t.test("an upload", function()
  local mock = t.fetch_mock("words.example", function(request) return request.method .. request.body end)
  t.equal({ t.get("/up").body, mock:calls()[1].body }, { "POSTab", "ab" })
end)
t.test("a fault", function()
  t.fetch_mock("down.example", { error = "connect" })
  t.equal(t.get("/code").json.code, "fetch_connect")
end)
t.test("the network is off", function()
  t.equal(t.get("/code").json.code, "fetch_refused")
  t.fails(function() app.fetch("https://down.example/a?b") end, 'answer the request with t.fetch_mock("GET https://down.example/a"')
end)
t.test("wrong answers are told of where they are written", function()
  t.fails(function() t.fetch_mock("a.example", { stats = 1 }) end, "unknown option 'stats'")
  t.fails(function() t.fetch_mock("a.example", { status = 99 }) end, "status must be from 200 to 599")
  t.fails(function() t.fetch_mock("a.example", { error = "rain" }) end, "error must be one of dns")
end)
"#;

const JS_APP: &str = r#"
import { app, json } from "sampan";
app.get("/weather/:city", async (req) => {
  const res = await fetch(`https://weather.example/v1?city=${req.params.city}`);
  if (!res.ok) return json({ error: "no weather" }, 502);
  return { degrees: (await res.json()).degrees, kind: res.headers.get("X-Kind") };
});
app.post("/order", async (req) => {
  const res = await fetch("https://shop.example/orders", {
    method: "POST", body: JSON.stringify(await req.json()),
    headers: { authorization: "Bearer 1", "content-type": "application/json" },
  });
  return json(await res.json(), res.status);
});
app.get("/words", async () => {
  const words = [];
  for await (const chunk of (await fetch("https://words.example/")).body) words.push(new TextDecoder().decode(chunk));
  return words;
});
app.get("/pass", () => fetch("https://words.example/"));
app.get("/code", () => fetch("https://down.example/").catch((error) => ({ code: error.cause.code, name: error.name })));
app.get("/up", () => fetch("https://words.example/", {
  method: "POST", duplex: "half", body: ReadableStream.from(["a", "b"].map((text) => new TextEncoder().encode(text))),
}));
"#;

const JS_TESTS: &str = r#"
import { t } from "sampan";
const shop = t.fetchMock("POST shop.example/*", { status: 201, json: { id: 7 } });
t.test("a function answers", async () => {
  const mock = t.fetchMock("https://weather.example/v1", (request) => {
    if (request.url.includes("city=Oslo")) return { json: { degrees: -3 }, headers: { "X-Kind": "snow" } };
    return { status: 404 };
  });
  t.equal((await t.get("/weather/Oslo")).json, { degrees: -3, kind: "snow" });
  t.equal((await t.get("/weather/Atlantis")).status, 502);
  t.equal([mock.count(), mock.calls()[1].url], [2, "https://weather.example/v1?city=Atlantis"]);
});
t.test("what is sent is recorded", async () => {
  const answer = await t.post("/order", { json: { item: "boat" } });
  t.equal([answer.status, answer.json.id], [201, 7]);
  const [call] = shop.calls();
  t.equal([call.method, call.json.item, call.headers.authorization, shop.count()], ["POST", "boat", "Bearer 1", 1]);
});
t.test("a body in pieces", async () => {
  t.fetchMock("words.example", { chunks: ["one", "two"] });
  t.equal((await t.get("/pass")).body, "onetwo");
  t.equal((await t.get("/words")).json, ["one", "two"]);
});
t.test("an upload", async () => {
  const mock = t.fetchMock("words.example", (request) => request.method + request.body);
  t.equal([(await t.get("/up")).body, mock.calls()[0].body], ["POSTab", "ab"]);
});
t.test("a fault", async () => {
  t.fetchMock("down.example", { error: "connect" });
  t.equal((await t.get("/code")).json, { code: "fetch_connect", name: "TypeError" });
});
t.test("the network is off", async () => {
  t.equal((await t.get("/code")).json.code, "fetch_refused");
  await t.fails(() => fetch("https://down.example/a?b"), 'answer the request with t.fetchMock("GET https://down.example/a"');
});
"#;

#[test]
fn a_test_answers_the_requests_of_the_app() {
    for (app, text, file, tests, count) in [
        ("app.lua", LUA_APP, "tests/a.test.lua", LUA_TESTS, 8),
        ("app.js", JS_APP, "tests/a.test.js", JS_TESTS, 6),
    ] {
        let out = tested(&[(app, text), (file, tests)]);
        assert!(out.contains(&format!("{count} passed, 0 failed")), "{out}");
    }
}

#[test]
fn the_network_is_off_while_the_project_starts() {
    let lua = r#"
local app = require "sampan"
local seen
app.on_start(function()
  local ok, err = pcall(app.fetch, "http://192.0.2.1/", { timeout = 1 })
  local named, by_name = pcall(app.fetch, "http://name.invalid/")
  seen = { ok, err.code, tostring(err):match("the network is off"), named, by_name.code }
end)
app.get("/seen", function() return seen end)
"#;
    let js = r#"
import { app } from "sampan";
const tried = (url) => fetch(url, { sampan: { total: 1 } }).then(() => [true], (error) => [false, error.cause.code, error]);
let seen;
app.onStart(async () => {
  const [ok, code, error] = await tried("http://192.0.2.1/");
  const [named, nameCode] = await tried("http://name.invalid/");
  seen = [ok, code, `${error.message}`.match(/the network is off/)[0], named, nameCode];
});
app.get("/seen", () => seen);
"#;
    let tests_of = |run: &str| {
        format!("{run}'[false,\"fetch_refused\",\"the network is off\",false,\"fetch_refused\"]')")
    };
    let lua_tests = format!(
        "local t = require('sampan').t\nt.test('start', function()\n  {}\nend)\n",
        tests_of("t.equal(t.get('/seen').body, ")
    );
    let js_tests = format!(
        "import {{ t }} from 'sampan';\nt.test('start', async () => {{\n  {};\n}});\n",
        tests_of("t.equal((await t.get('/seen')).body, ")
    );
    for (app, text, file, tests) in [
        ("app.lua", lua, "tests/a.test.lua", &lua_tests),
        ("app.js", js, "tests/a.test.js", &js_tests),
    ] {
        // What may be reached in `run` may not be either.
        let toml = "[fetch]\nallow = [\"192.0.2.0/24\", \"name.invalid\"]\n";
        let out = tested(&[(app, text), (file, tests), ("sampan.toml", toml)]);
        assert!(out.contains("1 passed, 0 failed"), "{out}");
    }
}

#[test]
fn a_test_lets_requests_through_until_its_end() {
    let lua_app = r#"
local app = require "sampan"
app.get("/ask", function()
  local ok, res = pcall(app.fetch, "http://0.0.0.0:PORT/up")
  return app.text(ok and res:text() or res.code)
end)
"#;
    let lua_tests = r#"
local t = require("sampan").t
t.test("refused", function() t.equal(t.get("/ask").body, "fetch_refused") end)
t.test("allowed", function()
  t.fetch_allow("0.0.0.0:PORT/other")
  t.equal(t.get("/ask").body, "fetch_refused")
  t.fetch_allow("GET 0.0.0.0:PORT/*")
  t.equal(t.get("/ask").body, "hello")
end)
t.test("refused again", function() t.equal(t.get("/ask").body, "fetch_refused") end)
"#;
    let js_app = r#"
import { app } from "sampan";
app.get("/ask", () => fetch("http://0.0.0.0:PORT/up").then((res) => res.text(), (error) => error.cause.code));
"#;
    let js_tests = r#"
import { t } from "sampan";
const asked = async () => (await t.get("/ask")).body;
t.test("refused", async () => t.equal(await asked(), "fetch_refused"));
t.test("allowed", async () => {
  t.fetchAllow("0.0.0.0:PORT/other");
  t.equal(await asked(), "fetch_refused");
  t.fetchAllow("GET 0.0.0.0:PORT/*");
  t.equal(await asked(), "hello");
});
t.test("refused again", async () => t.equal(await asked(), "fetch_refused"));
"#;
    // 127.0.0.1 is let through without a word. This address is another name for it.
    let toml = "[fetch]\nallow = [\"0.0.0.0\"]\n";
    let port = greet().to_string();
    for (app, text, file, tests) in [
        ("app.lua", lua_app, "tests/a.test.lua", lua_tests),
        ("app.js", js_app, "tests/a.test.js", js_tests),
    ] {
        let [text, tests] = [text, tests].map(|text| text.replace("PORT", &port));
        let out = tested(&[(app, &text), (file, &tests), ("sampan.toml", toml)]);
        assert!(out.contains("3 passed, 0 failed"), "{out}");
    }
}

/// Starts a server that answers each request with `hello`. Returns its port.
fn greet() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines();
            // A client may leave at any time.
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
            let _ = (&stream).write_all(answer.as_bytes());
        }
    });
    port
}

/// Returns the output of `sampan test`, which must succeed.
fn tested(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.arg("test").arg(folder.path()).env_remove("CI");
    let output = command.output().expect("the command starts");
    let out = [output.stdout, output.stderr].concat();
    let out = String::from_utf8(out).expect("UTF-8");
    assert_eq!(output.status.code(), Some(0), "{out}");
    out
}
