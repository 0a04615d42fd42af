//! In JavaScript a request can go on in another's run: when that settles the promise that it waits for. What it writes there is
//! kept or it is told, whatever becomes of the other.

mod faults;

use faults::{Project, ask};
use std::time::Duration;

const APP: &str = r#"import { app, db, time } from "sampan";
const INSERT = "INSERT INTO writes (id, cycle, batch) VALUES (?, 1, 0)";
let open, close, gate;
app.post("/seed", () => db.exec(INSERT, [1]));
app.post("/gate", () => { gate = new Promise((a, b) => { open = a; close = b; }); return "closed"; });
app.post("/wait/:id/:millis", async (req) => {
  try { await gate; } catch {}
  db.exec(INSERT, [Number(req.params.id)]);
  if (req.params.millis !== "0") await time.sleep(Number(req.params.millis) / 1000);
  return "written";
});
const failing = {
  "opens": async () => { await db.exec(INSERT, [7]); open(); await db.exec(INSERT, [8]); throw new Error("no"); },
  "opens-first": async () => { open(); await db.exec(INSERT, [7]); throw new Error("no"); },
  "opens-last": async () => { await db.exec(INSERT, [7]); open(); throw new Error("no"); },
  "closes": async () => { await db.exec(INSERT, [7]); close(); for (let i = 0; i < 20; i++) await 0; throw new Error("no"); },
  "not-async": () => { db.exec(INSERT, [7]); open(); throw new Error("no"); },
};
app.post("/batch/:how", async (req) => { await db.batch(failing[req.params.how]); });
app.post("/undo", async () => {
  open();
  await 0; await 0; await 0;
  db.exec("INSERT OR ROLLBACK INTO writes (id, cycle, batch) VALUES (1, 1, 0)");
});
app.get("/ids", () => db.query("SELECT id FROM writes ORDER BY id").map((row) => row.id));
"#;

#[test]
fn nobody_is_told_of_a_write_that_went_with_anothers_run() {
    let project = Project::new("mixed-runs", "full", "");
    std::fs::write(project.file("app.js"), APP).expect("a file");
    let server = project.serve(&mut project.command_for("app.js", 1), "server.log");
    let post = |path: &str| ask(&mut server.client(), "POST", path).expect("an answer");
    assert_eq!(post("/seed").status, 200);
    let mut kept = vec![1];
    let mut id = 100;
    for (millis, other) in [
        (0, "/batch/opens"),
        (0, "/batch/opens-first"),
        (0, "/batch/opens-last"),
        (0, "/batch/closes"),
        (0, "/batch/not-async"),
        (40, "/batch/opens"),
        (40, "/batch/opens-last"),
        (0, "/undo"),
        (40, "/undo"),
    ] {
        id += 1;
        assert_eq!(post("/gate").status, 200);
        let waiting = {
            let mut client = server.client();
            let path = format!("/wait/{id}/{millis}");
            std::thread::spawn(move || ask(&mut client, "POST", &path).expect("an answer"))
        };
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(post(other).status, 500, "{other}");
        let waited = waiting.join().expect("it ends");
        if waited.status == 200 {
            kept.push(id);
        }
        let must_be_kept = !matches!(other, "/undo" | "/batch/closes" | "/batch/opens");
        assert!(waited.status == 200 || !must_be_kept, "{other}");
        let ids = ask(&mut server.client(), "GET", "/ids").expect("an answer");
        kept.sort_unstable();
        let expected = serde_json::to_string(&kept).expect("JSON");
        assert_eq!(ids.text(), expected, "after {other}, {millis} ms");
    }
}
