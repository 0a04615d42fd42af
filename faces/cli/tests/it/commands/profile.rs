//! `sampan profile`: the shares of functions in both languages, lines of TypeScript's source, and what goes wrong told
//! in time.

use crate::commands::command::{fails, run, sampan};
use crate::support::Scratch;
use sampan_testkit::Client;
use sampan_testkit::wait;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const LUA: &str = "local app = require 'sampan'
local function step(i) return (i * 7 + 3) % 1000003 end
local function some(n) local x = 0 for i = 1, n do x = x + step(i) end return x end
local function more(n) local x = 0 for i = 1, n do x = x + i % 7 * (i % 3) end return x end
app.get('/', function() return { a = some(200000), b = some(600000) } end)
app.get('/shares', function()
  local function small() local x = more(300000) return x end
  local function big() local x = more(900000) return x end
  return { a = small(), b = big() }
end)
local function rows()
  return app.db.query('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) SELECT sum(x) \
   FROM c')
end
app.get('/rows', function() return { n = #rows() } end)";

const JS: &str = "import { app, db } from 'sampan';
function more(n) { let x = 0; for (let i = 0; i < n; i++) x += i % 7 * (i % 3); return x }
const small = () => { const x = more(5000); return x };
const big = () => { const x = more.call(null, 15000); return x };
app.get('/shares', () => ({ a: small(), b: big() }));
const rows = () => db.query('WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 20000) SELECT \
 sum(x) FROM c');
app.get('/rows', () => ({ n: rows().length }));
app.get('/deep', () => { const f = n => (n > 0 ? f(n - 1) : more(20000)) + 0; return { x: f(100) } });
app.get('/own', () => {
  const before = [Error.stackTraceLimit, Error.prepareStackTrace];
  more(20000);
  return { same: Error.stackTraceLimit === before[0] && Error.prepareStackTrace === before[1] };
});";

const TS: &str = "import { app } from 'sampan';

interface Work { rounds: number }

enum Kind { Small, Big }

function work({ rounds }: Work): number {
  let x = 0;
  for (let i = 0; i < rounds; i++) x += i % 7;
  return x;
}
app.get('/', () => ({ x: work({ rounds: 10000 }), kind: Kind.Big }));";

/// Profiles a route, and gives how often each function was on the stack, and how often each was the innermost.
fn profiled(scratch: &Scratch, route: &str) -> (BTreeMap<String, u64>, BTreeMap<String, u64>, u64) {
    let (folder, output) = (scratch.file(""), scratch.file("out.folded"));
    let args = [
        "profile",
        route,
        "--project",
        &folder,
        "-d",
        "1500ms",
        "-c",
        "2",
        "--folded",
        "-o",
        &output,
    ];
    let (code, out, errors) = run(&args);
    assert!(code == 0, "{out}{errors}");
    let text = std::fs::read_to_string(&output).expect("written");
    let (mut all, mut own, mut samples) = (BTreeMap::new(), BTreeMap::new(), 0);
    for line in text.lines() {
        let (calls, count) = line.rsplit_once(' ').expect("calls and a count");
        let count: u64 = count.parse().expect("a count");
        samples += count;
        let calls: Vec<&str> = calls.split(';').collect();
        *own.entry(calls[calls.len() - 1].to_owned()).or_default() += count;
        for (at, call) in calls.iter().enumerate() {
            if !calls[..at].contains(call) {
                *all.entry((*call).to_owned()).or_default() += count;
            }
        }
    }
    assert!(samples > 100, "{text}");
    (all, own, samples)
}

/// Profiles the route `/shares`, in which `big` takes three times as long as `small`, until the samples say so: a
/// machine that does much else takes them late, or while the script waits for a processor in one of the two.
fn profiled_with_shares(
    scratch: &Scratch,
    small: &str,
    big: &str,
) -> (BTreeMap<String, u64>, BTreeMap<String, u64>, u64) {
    const TRIES: usize = 5;
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let (all, own, samples) = profiled(scratch, "/shares");
        let count = |name: &str| all.get(name).copied().unwrap_or(0) as f64;
        let (small, big) = (count(small), count(big));
        if (1.5..=8.0).contains(&(big / small)) && small + big > 0.7 * samples as f64 {
            return (all, own, samples);
        }
        seen.push(format!("{small} and {big} of {samples}: {all:?}"));
    }
    panic!("{}", seen.join("\n"));
}

#[test]
fn a_function_that_takes_three_times_as_long_has_a_box_three_times_as_wide() {
    let lua = Scratch::new(&[("app.lua", LUA)]);
    let (all, own, samples) = profiled_with_shares(&lua, "small app.lua:7", "big app.lua:8");
    assert!(own["more app.lua:4"] > samples / 2, "{own:?}");
    assert_eq!(all["GET /shares (app.lua:6)"], samples, "{all:?}");
    // Compiled code has one function in another, and tells them apart.
    let (_, own, samples) = profiled(&lua, "/");
    assert!(own["step app.lua:2"] > samples / 4, "{own:?}");
    let js = Scratch::new(&[("app.js", JS)]);
    let (all, own, samples) = profiled_with_shares(&js, "small app.js:3", "big app.js:4");
    assert!(own["more app.js:2"] > samples / 2, "{own:?}");
    assert_eq!(all["GET /shares (app.js:5)"], samples, "{all:?}");
    assert!(!all.contains_key("[call]"), "{all:?}");
}

#[test]
fn time_in_the_database_has_the_name_of_its_function() {
    for (name, text, place) in [
        ("app.lua", LUA, "rows app.lua:11"),
        ("app.js", JS, "rows app.js:6"),
    ] {
        let scratch = Scratch::new(&[(name, text)]);
        let (all, own, samples) = profiled(&scratch, "/rows");
        assert!(own["[db.query]"] > samples / 2, "{own:?}");
        // The frame of a Lua function is gone where it ends with a tail call.
        if name == "app.js" {
            assert!(all[place] > samples / 2, "{all:?}");
        }
    }
}

#[test]
fn typescript_has_lines_of_its_source_and_deep_stacks_say_that_calls_are_missing() {
    let ts = Scratch::new(&[("app.ts", TS)]);
    let (_, own, samples) = profiled(&ts, "/");
    assert!(own["work app.ts:7"] > samples / 2, "{own:?}");
    let js = Scratch::new(&[("app.js", JS)]);
    let (all, _, samples) = profiled(&js, "/deep");
    assert!(
        all["[more calls]"] > samples / 2 && all["f app.js:8"] > samples / 2,
        "{all:?}"
    );
}

#[test]
fn a_script_does_not_notice_that_it_is_profiled() {
    let js = Scratch::new(&[("app.js", JS)]);
    let (folder, output) = (js.file(""), js.file("out.svg"));
    let mut child = sampan(&["profile", "--project", &folder, "-d", "600s", "-o", &output])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let first = lines.next().expect("a line").expect("UTF-8");
    let address = first.split_whitespace().next().expect("an address");
    let address = address.trim_start_matches("http://");
    let mut client = Client::connect(address.parse().expect("an address")).expect("it listens");
    for _ in 0..3_000 {
        let answer = client.ask("GET", "/own", &[], "").expect("an answer");
        assert_eq!(answer.text(), "{\"same\":true}");
    }
    // Ctrl-C ends it, and what was seen is written.
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.expect("kill exists").success());
    let status = wait::found("its end", || child.try_wait().expect("a child"));
    assert!(status.success(), "{status}");
    let svg = std::fs::read_to_string(&output).expect("written");
    assert!(
        svg.contains("<title>more app.js:2: ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(
        rest.iter().any(|line| line.ends_with("  more app.js:2")),
        "{rest:?}"
    );
}

#[test]
fn what_cannot_be_profiled_is_told_before_the_load() {
    let scratch = Scratch::new(&[("app.lua", LUA)]);
    let folder = scratch.file("");
    // Before the load, which would take an hour.
    let missing = scratch.file("no/such/x.svg");
    let args = ["profile", "/", "--project", &folder, "-d", "3600s", "-o"];
    fails(
        &[&args[..], &[&missing]].concat(),
        1,
        &["cannot write", "x.svg", "No such file"],
    );
    fails(
        &[&args[..], &[&folder]].concat(),
        1,
        &["it is a folder; name the file with -o"],
    );
    fails(
        &["profile", "http://127.0.0.1/"],
        2,
        &["it must be a path of the project"],
    );
    let output = scratch.file("none.svg");
    // The server tells that it listens.
    let (code, _, errors) = run(&["profile", "/nowhere", "--project", &folder, "-o", &output]);
    let told = "sampan: GET /nowhere is answered 404: there is no such route";
    assert!(code == 1 && errors.contains(told), "{errors}");
    let fifo = scratch.file("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo exists").success());
    fails(
        &[&args[..], &[&fifo]].concat(),
        1,
        &["fifo is not a regular file, so it is not replaced"],
    );
    std::fs::remove_file(&fifo).expect("still there");
    // A request with a header is not sent before the load.
    let args = [
        "profile",
        "/nowhere",
        "--project",
        &folder,
        "-H",
        "X-A: b",
        "-d",
        "300ms",
        "-o",
        &output,
    ];
    let (code, out, errors) = run(&args);
    assert!(
        code == 1
            && out.contains("(404: ")
            && errors.contains("no script ran while the project was profiled"),
        "{out}{errors}"
    );
    assert!(
        !scratch.path().join("none.svg").exists(),
        "no empty picture"
    );
    let left = std::fs::read_dir(scratch.path()).expect("read");
    let left: Vec<_> = left
        .filter_map(Result::ok)
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["app.lua"], "nothing is left");
}

#[test]
fn a_runaway_is_stopped_while_it_is_profiled() {
    let lua = "local app = require 'sampan'
local function spin(x) while true do x = (x * 3 + 1) % 1000 end end
app.get('/', function() local x = spin(1) return { x = x } end)";
    let js = "import { app } from 'sampan';
function spin(x) { while (true) x = (x * 3 + 1) % 1000 }
app.get('/', () => ({ x: spin(1) }));";
    for (name, text) in [("app.lua", lua), ("app.js", js)] {
        let limit = "[limits]\nscript_millis_max = 500\n";
        let scratch = Scratch::new(&[(name, text), ("sampan.toml", limit)]);
        let (all, _, samples) = profiled(&scratch, "/");
        // A busy machine lets the engine itself run for long, between the runs that are stopped.
        let in_scripts = samples - all.get("[engine]").unwrap_or(&0);
        assert!(all[&format!("spin {name}:2")] > in_scripts / 2, "{all:?}");
    }
}
