//! Ended jobs, which are kept for some days.

use super::{alone, ask, database, start};
use sampan_client::wait;
use sampan_host::Value;

const APP: &str = r#"
local app = require "sampan"
local db = app.db
app.job("first", function() end)
app.post("/first", function() app.enqueue("first") end)
app.get("/left", function()
  local ids = {}
  for i, row in ipairs(db.query("SELECT id FROM _sampan_jobs ORDER BY id")) do ids[i] = ("%d"):format(row.id) end
  return app.text(table.concat(ids, " "))
end)
"#;

/// Jobs by their states, and for how many hours they have ended. More of them are old than one transaction removes.
const ADD: &str = "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 3499),
    jobs(id, state, hours) AS (
      VALUES (1, 'done', 23), (2, 'done', 25), (3, 'dead', 71), (4, 'dead', 73), (5, 'cancelled', 71),
        (6, 'cancelled', 73), (7, 'scheduled', NULL)
      UNION ALL SELECT i, 'done', 25 FROM n)
    INSERT INTO _sampan_jobs(id, name, queue, args, state, priority, due, added, ended)
    SELECT id, 'first', 'default', '1', state, 0, 99999999999999, 0, unixepoch() * 1000 - hours * 3600000 FROM jobs";

#[test]
fn ended_jobs_are_removed_after_their_days() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), APP, "");
    ask(&server, "POST", "/first");
    wait::until("a job that is done is not kept", || {
        ask(&server, "GET", "/left").is_empty()
    });
    assert!(server.shutdown());
    let db = database(folder.path());
    let added = db.own_write(ADD, &Value::Null).expect("written");
    assert_eq!(added, Some(2507));
    db.finish_loading().expect("committed");
    drop(db);
    let sections = "[jobs]\nkeep_days = 3\nkeep_done_days = 1\n";
    let server = start(folder.path(), APP, sections);
    wait::until("the young ones alone are left", || {
        ask(&server, "GET", "/left") == "1 3 5 7"
    });
    assert!(server.shutdown());
}
