//! In JavaScript a request can go on in another's run: when that settles the promise that it waits for. What it writes there is
//! kept or it is told, whatever becomes of the other.

mod faults;

use faults::{Project, ask};
use std::time::Duration;

const APP: &str = r#"import { app, db, time } from "sampan";
const INSERT = "INSERT INTO writes (id, cycle, batch) VALUES (?, 1, 0)";
db.exec("CREATE TABLE IF NOT EXISTS parents (id INTEGER PRIMARY KEY)");
db.exec("CREATE TABLE IF NOT EXISTS children (parent REFERENCES parents DEFERRABLE INITIALLY DEFERRED)");
let open, close, gate;
app.post("/seed", () => db.exec(INSERT, [1]));
app.post("/gate", () => { gate = new Promise((a, b) => { open = a; close = b; }); return "closed"; });
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
const batches = {
  "calls": () => { open(); throw new Error("no"); },
  "succeeds": async () => { await db.exec(INSERT, [9]); open(); },
  "opens": async () => { await db.exec(INSERT, [7]); open(); await db.exec(INSERT, [8]); throw new Error("no"); },
  "opens-first": async () => { open(); await db.exec(INSERT, [7]); throw new Error("no"); },
  "opens-last": async () => { await db.exec(INSERT, [7]); open(); throw new Error("no"); },
  "closes": async () => { await db.exec(INSERT, [7]); close(); for (let i = 0; i < 20; i++) await 0; throw new Error("no"); },
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
