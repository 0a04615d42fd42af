//! The jobs that follow batches: they start when the last job has ended, not at the keeper's next look at the table.

use super::{alone, ask, start};
use sampan_client::wait;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS times (run INTEGER, at REAL)") end)
local function note(run) db.exec("INSERT INTO times VALUES (?, ?)", { run, time.now() }) end
app.job("part", function(run) note(run) end)
app.job("held", function() time.sleep(3600) end)
app.job("report", function(batch) note(batch.args) end)
app.post("/add/:name/:run", function(req)
  local run = tonumber(req.params.run)
  app.enqueue_batch(req.params.name, { run }, { after = "report", args = run })
end)
app.post("/cancel/:run", function(req)
  app.cancel_job(db.one("SELECT id FROM _sampan_jobs WHERE name = 'held' AND state IN ('ready', 'running')").id)
  note(tonumber(req.params.run))
end)
-- The milliseconds between the end of a batch and the job that follows.
app.get("/wait/:run", function(req)
  local row = db.one("SELECT max(at) - min(at) AS seconds, count(*) AS count FROM times WHERE run = ?",
    { tonumber(req.params.run) })
  return app.text(row.count == 2 and ("%d"):format(row.seconds * 1000) or "none")
end)
"#;

/// The keeper looks at the table each 500 ms, and it has just looked when a batch of these tests ends.
const LONG_MILLIS: u64 = 250;

/// Asserts that a job which follows a batch starts long before the next look. A machine that is busy makes some of them
/// late, so the quickest counts.
fn assert_starts_at_once(paths: &[&str]) {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), APP, "");
    let waits = (1..=20).map(|run| {
        for path in paths {
            ask(&server, "POST", &format!("{path}/{run}"));
        }
        wait::found("the job that follows", || {
            ask(&server, "GET", &format!("/wait/{run}")).parse().ok()
        })
    });
    let mut seen: Vec<u64> = Vec::new();
    let is_quick = waits
        .inspect(|millis| seen.push(*millis))
        .any(|millis| millis < LONG_MILLIS);
    assert!(is_quick, "{seen:?} ms");
    assert!(server.shutdown());
}

#[test]
fn the_job_that_follows_a_batch_starts_at_its_end() {
    assert_starts_at_once(&["/add/part"]);
}

#[test]
fn the_job_that_follows_a_batch_starts_when_its_last_job_is_cancelled() {
    assert_starts_at_once(&["/add/held", "/cancel"]);
}
