//! Processes of machines whose clocks differ by minutes, with one database on PostgreSQL.

use super::each_app;
use super::serving::serve;
use crate::faults::shim;
use crate::support::{Process, Scratch, ask};
use sampan_testkit::wait;
use std::path::Path;

/// The time by which the clocks differ from that of the database, in seconds.
const AHEAD: [&str; 2] = ["600", "-600"];

const LUA: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
app.job("count", function(n) db.exec("INSERT INTO runs (what, n) VALUES ('count', ?)", { n }) end)
app.job("held", { timeout = "1 h" }, function()
  db.exec("INSERT INTO runs (what) VALUES ('begun')")
  while not db.one("SELECT 1 FROM released") do time.sleep(0.01) end
  db.exec("INSERT INTO runs (what) VALUES ('ended')")
end)
app.post("/add/:n", function(req) app.enqueue("count", tonumber(req.params.n)) end)
app.post("/late/:n", function(req) app.enqueue("count", tonumber(req.params.n), { delay = "1 h" }) end)
app.post("/soon/:n", function(req) app.enqueue("count", tonumber(req.params.n), { delay = "1 s" }) end)
app.post("/held", function() app.enqueue("held") end)
app.post("/release", function() db.exec("INSERT INTO released VALUES (1)") end)
app.get("/count/:what", function(req)
  return string.format("%d", db.one("SELECT count(*) AS n FROM runs WHERE what = ?", { req.params.what }).n)
end)
app.get("/ran/:n", function(req)
  return string.format("%d", db.one("SELECT count(*) AS n FROM runs WHERE n = ?", { tonumber(req.params.n) }).n)
end)
app.get("/clock", function() return string.format("%d", time.now()) end)
"#;

const JS: &str = r#"
import { app, db, time } from "sampan";
app.job("count", async (n) => { await db.exec("INSERT INTO runs (what, n) VALUES ('count', ?)", [n]); });
app.job("held", { timeout: "1 h" }, async () => {
  await db.exec("INSERT INTO runs (what) VALUES ('begun')");
  while (!await db.one("SELECT 1 FROM released")) await time.sleep(0.01);
  await db.exec("INSERT INTO runs (what) VALUES ('ended')");
});
app.post("/add/:n", async (req) => { await app.enqueue("count", Number(req.params.n)); });
app.post("/late/:n", async (req) => { await app.enqueue("count", Number(req.params.n), { delay: "1 h" }); });
app.post("/soon/:n", async (req) => { await app.enqueue("count", Number(req.params.n), { delay: "1 s" }); });
app.post("/held", async () => { await app.enqueue("held"); });
app.post("/release", async () => { await db.exec("INSERT INTO released VALUES (1)"); });
app.get("/count/:what", async (req) => {
  return String((await db.one("SELECT count(*) AS n FROM runs WHERE what = ?", [req.params.what])).n);
});
app.get("/ran/:n", async (req) => {
  return String((await db.one("SELECT count(*) AS n FROM runs WHERE n = ?", [Number(req.params.n)])).n);
});
app.get("/clock", () => String(Math.floor(time.now())));
"#;

const APPS: [(&str, &str); 2] = [("app.lua", LUA), ("app.js", JS)];

/// The lease is shorter than the clocks differ, and long for a machine that is busy.
fn project(file: &str, source: &str) -> Scratch {
    Scratch::new(&[(file, source), ("sampan.toml", "[jobs]\nlease = \"60s\"\n")])
}

#[test]
fn jobs_run_once_and_at_their_time_though_clocks_differ() {
    for (server, file, scratch) in each_app(APPS, project) {
        let library = shim::build(Path::new("shim/clock.c"), &["-shared", "-fPIC"], "so");
        let database = server.database();
        let tables = "CREATE TABLE runs (what TEXT, n INTEGER); CREATE TABLE released (n INTEGER)";
        server.psql(&database, tables);
        let machines = AHEAD.map(|seconds| {
            let mut command = serve(&scratch.file(file), &server.url(&database));
            command
                .env("LD_PRELOAD", &library)
                .env("SAMPAN_SHIM_CLOCK_SECONDS", seconds);
            Process::start(&mut command)
        });
        let [ahead, behind] = &machines;
        let clock = |machine| -> i64 { ask(machine, "GET", "/clock").parse().expect("a time") };
        assert!(
            clock(ahead) - clock(behind) >= 1_199,
            "{file}: their clocks differ"
        );
        // One that runs on either machine is not taken away by the other.
        ask(ahead, "POST", "/held");
        ask(behind, "POST", "/held");
        wait::until("both have begun", || {
            ask(ahead, "GET", "/count/begun") == "2"
        });
        for (at, machine) in machines.iter().enumerate() {
            ask(machine, "POST", &format!("/late/{}", 100 + at));
            ask(machine, "POST", &format!("/soon/{}", 200 + at));
        }
        for n in 0..40 {
            ask(&machines[n % 2], "POST", &format!("/add/{n}"));
        }
        // Those with the short delay too.
        wait::until("all but the late ones", || {
            ask(behind, "GET", "/count/count") == "42"
        });
        for n in [0, 39, 200, 201] {
            assert_eq!(ask(ahead, "GET", &format!("/ran/{n}")), "1", "{file}: {n}");
        }
        for n in [100, 101] {
            assert_eq!(ask(ahead, "GET", &format!("/ran/{n}")), "0", "{file}: {n}");
        }
        ask(ahead, "POST", "/release");
        wait::until("the ends", || ask(behind, "GET", "/count/ended") == "2");
        assert_eq!(
            ask(ahead, "GET", "/count/begun"),
            "2",
            "{file}: no second attempt"
        );
    }
}
