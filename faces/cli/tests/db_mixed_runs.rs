//! In JavaScript a request can go on in another's run: when that settles the promise that it waits for. What it writes
//! there is kept or it is told, whatever becomes of the other.

mod faults;

use faults::{Project, Server, ask};
use sampan_testkit::{Answer, wait};
use std::thread::JoinHandle;

const APP: &str = r#"import { app, db, time } from "sampan";
const INSERT = "INSERT INTO writes (id, cycle, batch) VALUES (?, 1, 0)";
db.exec("CREATE TABLE IF NOT EXISTS parents (id INTEGER PRIMARY KEY)");
db.exec("CREATE TABLE IF NOT EXISTS children (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED)");
let open, close, gate, waiting = 0;
const add = (id) => db.exec(INSERT, [Number(id)]);
app.post("/seed", () => add(1));
app.post("/gate", () => {
  gate = new Promise((a, b) => { open = a; close = b; });
  return "closed";
});
app.post("/open", () => { open(); return "opened"; });
app.get("/waiting", () => `${waiting}`);
app.post("/wait/:id/:millis", async (req) => {
  waiting++;
  try { await gate; } catch {}
  add(req.params.id);
  if (req.params.millis !== "0") await time.sleep(Number(req.params.millis) / 1000);
  return "written";
});
const batches = {
  "succeeds": () => { add(9); open(); },
  "opens": () => { add(7); open(); add(8); throw new Error("no"); },
  "closes": () => { add(7); close(new Error("closed")); throw new Error("no"); },
  "opens-wrongly": () => { add(7); open({ get then() { throw new Error("no"); } }); throw new Error("no"); },
  "ends-badly": () => { add(7); db.exec("INSERT INTO children VALUES (1)"); open(); },
  "returns-a-promise": () => { add(7); open(); return gate; },
};
app.post("/batch/:how", (req) => { db.batch(batches[req.params.how]); return "done"; });
app.post("/undo", async () => {
  open();
  await 0; await 0; await 0;
  db.exec("INSERT OR ROLLBACK INTO writes (id, cycle, batch) VALUES (1, 1, 0)");
});
const misuses = {
  "async": (id) => async () => { add(id); },
  "generator": (id) => function* () { add(id); },
  "async-generator": (id) => async function* () { add(id); },
  "promise": (id) => () => { add(id); return Promise.resolve(); },
  "rejection": (id) => () => { add(id); return Promise.reject(new Error("no")); },
  "pending": (id) => () => { add(id); return gate.then(() => time.sleep(0.01)); },
  "thenable": (id) => () => { add(id); return { then(done) { done(); } }; },
  "bound": (id) => (async () => { add(id); await 0; }).bind(null),
  "proxy": (id) => new Proxy(async () => { add(id); await 0; }, {}),
  "throws": (id) => () => { add(id); throw Promise.resolve(); },
  "inner": (id) => () => { add(id); db.batch(async () => {}); },
};
app.post("/misuse/:how/:id", async (req) => {
  waiting++;
  await gate;
  db.batch(misuses[req.params.how](req.params.id));
  return "done";
});
app.get("/ids", () => db.query("SELECT id FROM writes ORDER BY id").map((row) => row.id));
"#;

/// The action of another request while one waits for the given milliseconds longer, and both answers.
const CASES: [(&str, u64, u16, u16); 9] = [
    ("opens", 0, 500, 200),
    ("closes", 0, 500, 200),
    ("opens-wrongly", 0, 500, 200),
    ("ends-badly", 0, 500, 200),
    ("returns-a-promise", 0, 500, 200),
    ("opens", 40, 500, 200),
    ("succeeds", 40, 200, 200),
    ("undo", 0, 500, 500),
    // What has undone its transaction once runs in one of its own.
    ("undo", 40, 500, 200),
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
        let waiting = start(&server, format!("/wait/{id}/{millis}"));
        wait::until("the gate", || {
            server.get("/waiting") == format!("{}", id - 99)
        });
        let other = if how == "undo" {
            post("/undo")
        } else {
            post(&format!("/batch/{how}"))
        };
        assert_eq!(other.status, status, "{how}");
        let waited = waiting.join().expect("it ends");
        let ids = ids(&server);
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

/// Ways to give a batch what it does not take.
const MISUSES: [&str; 11] = [
    "async",
    "generator",
    "async-generator",
    "promise",
    "rejection",
    "pending",
    "thenable",
    "bound",
    "proxy",
    "throws",
    "inner",
];

#[test]
fn a_misused_batch_leaves_the_neighbours_in_its_group_alone() {
    let project = Project::new("misused-batches", "full", "");
    std::fs::write(project.file("app.js"), APP).expect("a file");
    let server = project.serve(&mut project.command_for("app.js", 1), "server.log");
    let post = |path: &str| ask(&mut server.client(), "POST", path).expect("an answer");
    assert_eq!(post("/gate").status, 200);
    // All go on in the run that opens the gate, so all that they write is one group. Neighbours stand between them.
    let mut waiting = Vec::new();
    for (place, how) in (0..).zip(MISUSES) {
        let (misused, neighbour) = (1000 + place, 2000 + place);
        waiting.push((
            how,
            misused,
            start(&server, format!("/misuse/{how}/{misused}")),
        ));
        waiting.push((
            "",
            neighbour,
            start(&server, format!("/wait/{neighbour}/0")),
        ));
    }
    let number = waiting.len().to_string();
    wait::until("the gate", || server.get("/waiting") == number);
    assert_eq!(post("/open").status, 200);
    let answers = waiting
        .into_iter()
        .map(|(how, id, waiting)| (how, id, waiting.join()));
    let answers: Vec<_> = answers.collect();
    let ids = ids(&server);
    for (how, id, answer) in answers {
        let status = answer.expect("it ends").status;
        let is_neighbour = how.is_empty();
        assert_eq!(status, if is_neighbour { 200 } else { 500 }, "{how} {id}");
        assert_eq!(ids.contains(&id), is_neighbour, "{how} {id}: {ids:?}");
    }
    let log = server.log();
    for text in [
        "db.batch takes a plain function, not an async function: await what you need before db.batch",
        "db.batch takes a plain function, not a generator function",
        "db.batch: the function returned a promise, so db.batch failed: await what you need before db.batch, and \
         return a plain value",
        "db.batch: the function returned a thenable",
    ] {
        assert!(log.contains(text), "{text} is not in\n{log}");
    }
    assert!(!log.contains("unhandled rejection"), "{log}");
}

/// Sends a request that is answered later.
fn start(server: &Server, path: String) -> JoinHandle<Answer> {
    let mut client = server.client();
    std::thread::spawn(move || ask(&mut client, "POST", &path).expect("an answer"))
}

fn ids(server: &Server) -> Vec<u64> {
    serde_json::from_str(&server.get("/ids")).expect("JSON")
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
