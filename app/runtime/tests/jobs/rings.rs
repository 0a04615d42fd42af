//! Jobs that people change beside a server, which hears of it.

use super::{alone, ask, database, start};
use sampan_client::wait;
use sampan_db::DatabaseConfig;
use sampan_host::{Error, LocalFuture, Value};
use sampan_jobs::console::JobsConsole;
use sampan_runtime::with_tables;
use std::path::Path;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS notes (note TEXT)") end)
local function note(text) db.exec("INSERT INTO notes VALUES (?)", { text }) end
app.job("quick", function() note("quick") end)
app.job("held", { timeout = "1 h" }, function() note("held") time.sleep(3600) end)
app.job("long", { queue = "other", timeout = "1 h" }, function()
  note("long")
  time.sleep(10)
  note("long ended")
end)
app.post("/add/:name", function(req) return app.text(tostring(app.enqueue(req.params.name))) end)
app.post("/later/:name", function(req)
  return app.text(tostring(app.enqueue(req.params.name, nil, { delay = "1 d" })))
end)
app.get("/count/:note", function(req)
  return app.text(tostring(#db.query("SELECT 1 FROM notes WHERE note = ?", { req.params.note })))
end)
app.get("/ended", function()
  return app.text(tostring(#db.query("SELECT 1 FROM notes WHERE note = 'long ended'")))
end)
"#;

/// No lease of a test ends.
const SECTIONS: &str =
    "[limits]\nshutdown_millis_max = \"50 ms\"\n[jobs]\nlease = \"1h\"\nqueues = [\"default 1\"]\n";

/// Does what `sampan jobs` does with one job.
fn change(
    folder: &Path,
    work: impl FnOnce(JobsConsole) -> LocalFuture<Result<i64, Error>> + 'static,
) {
    let config = DatabaseConfig::new(folder.join("data.db"));
    let changed = with_tables(&config, move |tables| work(JobsConsole(tables)));
    assert_eq!(changed, Ok(1));
}

#[test]
fn jobs_that_people_retry_start_without_waiting_for_the_next_look() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), APP, SECTIONS);
    ask(&server, "POST", "/add/long");
    wait::until("the long job", || ask(&server, "GET", "/count/long") == "1");
    // By looks alone, each 500 ms, they would take twice as long as the long job.
    for n in 1..=40 {
        let id = ask(&server, "POST", "/later/quick");
        let id: i64 = id.parse().expect("a number");
        change(folder.path(), move |jobs| {
            Box::pin(async move { jobs.retry(&[id]).await })
        });
        wait::until("the job", || {
            ask(&server, "GET", "/count/quick") == n.to_string()
        });
    }
    assert_eq!(ask(&server, "GET", "/ended"), "0", "the jobs have waited");
    let _ = server.shutdown();
}

#[test]
fn a_job_that_people_cancel_is_given_up_long_before_a_third_of_its_lease() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), APP, SECTIONS);
    let id: i64 = ask(&server, "POST", "/add/held").parse().expect("a number");
    wait::until("the job", || ask(&server, "GET", "/count/held") == "1");
    // The queue runs one job at a time.
    ask(&server, "POST", "/add/quick");
    change(folder.path(), move |jobs| {
        Box::pin(async move { jobs.cancel(&[id]).await })
    });
    wait::until("the next job", || {
        ask(&server, "GET", "/count/quick") == "1"
    });
    let _ = server.shutdown();
}

#[test]
fn a_job_is_found_for_which_no_process_has_rung() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(folder.path(), APP, SECTIONS);
    ask(&server, "POST", "/later/quick");
    let db = database(folder.path());
    let sql = "UPDATE _sampan_jobs SET due = 0";
    let changed = db.own_write(sql, &Value::Null);
    assert_eq!(changed.expect("written"), Some(1));
    db.finish_loading().expect("committed");
    wait::until("the job", || ask(&server, "GET", "/count/quick") == "1");
    drop(db);
    assert!(server.shutdown());
}
