//! In JavaScript a request can go on in another's run: when that settles the promise that it waits for. What it writes there is
//! kept or it is told, whatever becomes of the other.

mod faults;

use faults::{Project, ask};
use std::time::Duration;

const APP: &str = r#"import { app, db, time } from "sampan";
const INSERT = "INSERT INTO writes (id, cycle, batch) VALUES (?, 1, 0)";
db.exec("CREATE TABLE IF NOT EXISTS parents (id INTEGER PRIMARY KEY)");
db.exec("CREATE TABLE IF NOT EXISTS children (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED)");
let open, close, gate, late, openLate;
app.post("/seed", () => db.exec(INSERT, [1]));
app.post("/gate", () => {
  gate = new Promise((a, b) => { open = a; close = b; });
  late = new Promise((a) => { openLate = a; });
  return "closed";
});
app.post("/wait/:id/:millis", async (req) => {
  try { await gate; } catch {}
  db.exec(INSERT, [Number(req.params.id)]);
  if (req.params.millis !== "0") await time.sleep(Number(req.params.millis) / 1000);
  return "written";
});
app.post("/callback/:id/:millis", async (req) => {
  const millis = Number(req.params.millis);
  const answer = new Promise((resolve) => { open = () => { db.exec(INSERT, [Number(req.params.id)]); resolve("written"); }; });
  if (millis === 0) return answer;
  await answer;
  await time.sleep(millis / 1000);
  return "written";
});
app.post("/wait-again/:id", async (req) => {
  try { await gate; } catch {}
  db.exec(INSERT, [Number(req.params.id)]);
  await late;
  return "written";
});
app.post("/sleep-again/:id", async (req) => {
  const sleeping = time.sleep(0.3);
  try { await gate; } catch {}
  db.exec(INSERT, [Number(req.params.id)]);
  await sleeping;
  return "written";
});
app.post("/late", () => { openLate(); return "opened"; });
const batches = {
  "calls": () => { open(); throw new Error("no"); },
  "succeeds": async () => { await db.exec(INSERT, [9]); open(); },
  "opens": async () => { await db.exec(INSERT, [7]); open(); await db.exec(INSERT, [8]); throw new Error("no"); },
  "opens-first": async () => { open(); await db.exec(INSERT, [7]); throw new Error("no"); },
  "opens-last": async () => { await db.exec(INSERT, [7]); open(); throw new Error("no"); },
  "closes": async () => { await db.exec(INSERT, [7]); close(); for (let i = 0; i < 20; i++) await 0; throw new Error("no"); },
  "closes-own": async () => {
    await db.exec(INSERT, [9]);
    const own = new Promise((a, b) => { b(new Error("mine")); });
    await own.catch(() => 0);
    await Promise.reject(new Error("mine")).catch(() => 0);
    try { await (async () => { await 0; throw new Error("mine"); })(); } catch {}
    try { await Promise.any([Promise.reject(1), Promise.reject(2)]); } catch {}
    for await (const x of (async function* () { yield 1; })()) await x;
    open();
  },
  "opens-wrongly": async () => {
    await db.exec(INSERT, [7]);
    open({ get then() { throw new Error("no"); } });
    for (let i = 0; i < 20; i++) await 0;
    throw new Error("no");
  },
  "ends-badly": async () => {
    await db.exec(INSERT, [7]);
    db.exec("INSERT INTO children VALUES (1)");
    close();
    for (let i = 0; i < 20; i++) await 0;
  },
  "not-async": () => { db.exec(INSERT, [7]); open(); throw new Error("no"); },
};
app.post("/batch/:how", async (req) => { await db.batch(batches[req.params.how]); return "done"; });
app.post("/undo", async () => {
  open();
  await 0; await 0; await 0;
  db.exec("INSERT OR ROLLBACK INTO writes (id, cycle, batch) VALUES (1, 1, 0)");
});
app.get("/ids", () => db.query("SELECT id FROM writes ORDER BY id").map((row) => row.id));
"#;

/// What another request does while one waits for so many milliseconds more, and how both are answered.
const CASES: [(&str, u64, u16, u16); 13] = [
    ("opens", 0, 500, 500),
    ("opens-first", 0, 500, 500),
    ("opens-last", 0, 500, 500),
    ("closes", 0, 500, 500),
    ("ends-badly", 0, 500, 500),
    ("not-async", 0, 500, 500),
    ("calls", 0, 500, 500),
    ("opens", 40, 500, 500),
    ("opens-last", 40, 500, 500),
    ("calls", 40, 500, 500),
    ("undo", 0, 500, 500),
    // What has undone its transaction once runs in one of its own.
    ("undo", 40, 500, 200),
    ("succeeds", 40, 200, 200),
];

#[test]
fn nobody_is_told_of_a_write_that_went_with_anothers_run() {
    let project = Project::new("mixed-runs", "full", "");
    std::fs::write(project.file("app.js"), APP).expect("a file");
    let server = project.serve(&mut project.command_for("app.js", 1), "server.log");
    let post = |path: &str| ask(&mut server.client(), "POST", path).expect("an answer");
    assert_eq!(post("/seed").status, 200);
    for (id, (how, millis, status, waited_status)) in (100..).zip(CASES) {
        assert_eq!(post("/gate").status, 200);
        let waiting = {
            let mut client = server.client();
            let kind = if how == "calls" { "callback" } else { "wait" };
            let path = format!("/{kind}/{id}/{millis}");
            std::thread::spawn(move || ask(&mut client, "POST", &path).expect("an answer"))
        };
        std::thread::sleep(Duration::from_millis(50));
        let other = if how == "undo" {
            post("/undo")
        } else {
            post(&format!("/batch/{how}"))
        };
        assert_eq!(other.status, status, "{how}");
        let waited = waiting.join().expect("it ends");
        let ids = server.get("/ids");
        let ids: Vec<u64> = serde_json::from_str(&ids).expect("JSON");
        assert!(
            waited.status != 200 || ids.contains(&id),
            "{how}, {millis} ms: answered 200, but there are {ids:?}"
        );
        assert_eq!(waited.status, waited_status, "{how}, {millis} ms");
        assert!(
            !ids.contains(&7) && !ids.contains(&8),
            "{how}: what a batch that failed wrote is there: {ids:?}"
        );
    }
}

/// How one waits whose promise is rejected in a batch that fails, and what the batch does.
const REJECTIONS: [(&str, &str); 6] = [
    ("wait-again", "closes"),
    ("wait-again", "ends-badly"),
    ("wait-again", "opens-wrongly"),
    ("sleep-again", "closes"),
    ("sleep-again", "ends-badly"),
    ("sleep-again", "opens-wrongly"),
];

#[test]
fn who_catches_a_rejection_and_waits_on_is_not_told_of_a_write_that_is_lost() {
    let project = Project::new("mixed-rejections", "full", "");
    std::fs::write(project.file("app.js"), APP).expect("a file");
    let server = project.serve(&mut project.command_for("app.js", 1), "server.log");
    let post = |path: &str| ask(&mut server.client(), "POST", path).expect("an answer");
    for (id, (kind, how)) in (200..).zip(REJECTIONS) {
        assert_eq!(post("/gate").status, 200);
        let waiting = {
            let mut client = server.client();
            let path = format!("/{kind}/{id}");
            std::thread::spawn(move || ask(&mut client, "POST", &path).expect("an answer"))
        };
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(post(&format!("/batch/{how}")).status, 500, "{how}");
        assert_eq!(post("/late").status, 200);
        let waited = waiting.join().expect("it ends");
        let ids: Vec<u64> = serde_json::from_str(&server.get("/ids")).expect("JSON");
        assert!(
            waited.status != 200 || ids.contains(&id),
            "{kind}, {how}: answered 200, but there are {ids:?}"
        );
        assert!(!ids.contains(&7), "{how}: {ids:?}");
    }
    assert_eq!(post("/gate").status, 200);
    assert_eq!(
        post("/batch/closes-own").status,
        200,
        "a batch may reject and catch what is its own"
    );
}

const WAITS_AFTERWARDS: [(&str, &str); 2] = [
    (
        "app.lua",
        r#"local app = require "sampan"
local INSERT = "INTO writes (id, cycle, batch) VALUES (?, 1, 0)"
app.post("/lose/:id", function(req)
  app.db.exec("INSERT OR IGNORE " .. INSERT, { 1 })
  app.db.exec("INSERT " .. INSERT, { tonumber(req.params.id) })
  pcall(app.db.exec, "INSERT OR ROLLBACK " .. INSERT, { 1 })
  app.time.sleep(0.01)
  return "written"
end)
app.get("/ids", function() return app.db.query("SELECT id FROM writes") end)
"#,
    ),
    (
        "app.js",
        r#"import { app, db, time } from "sampan";
const INSERT = "INTO writes (id, cycle, batch) VALUES (?, 1, 0)";
app.post("/lose/:id", async (req) => {
  db.exec("INSERT OR IGNORE " + INSERT, [1]);
  db.exec("INSERT " + INSERT, [Number(req.params.id)]);
  try { db.exec("INSERT OR ROLLBACK " + INSERT, [1]); } catch {}
  await time.sleep(0.01);
  return "written";
});
app.get("/ids", () => db.query("SELECT id FROM writes"));
"#,
    ),
];

#[test]
fn who_waits_after_its_group_was_lost_is_told() {
    for (file, app) in WAITS_AFTERWARDS {
        let project = Project::new("waits-afterwards", "full", "");
        std::fs::write(project.file(file), app).expect("a file");
        let server = project.serve(&mut project.command_for(file, 1), "server.log");
        let mut client = server.client();
        for id in 100..103 {
            let answer = ask(&mut client, "POST", &format!("/lose/{id}")).expect("an answer");
            let is_there = server.get("/ids").contains(&id.to_string());
            assert!(
                answer.status == 500 || is_there,
                "{file}: {id} is not there"
            );
        }
    }
}
