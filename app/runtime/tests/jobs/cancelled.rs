//! Jobs that people cancel while they run, and have run again.

use super::{alone, ask, start};
use sampan_client::wait;
use sampan_db::DatabaseConfig;
use sampan_jobs::JobView;
use sampan_jobs::console::JobsConsole;
use sampan_runtime::with_tables;
use std::path::Path;

const APP: &str = r#"
local app = require "sampan"
app.job("held", { timeout = "1 h" }, function() app.time.sleep(3600) end)
app.post("/add", function() return app.text(tostring(app.enqueue("held"))) end)
"#;

/// Shows a job as `sampan jobs` does.
fn show(folder: &Path, id: i64) -> JobView {
    let config = DatabaseConfig::new(folder.join("data.db"));
    let found = with_tables(&config, move |tables| {
        Box::pin(async move { JobsConsole(tables).show(id).await })
    });
    found.expect("read").expect("a job")
}

fn cancel_and_retry(folder: &Path, id: i64) {
    let config = DatabaseConfig::new(folder.join("data.db"));
    let done = with_tables(&config, move |tables| {
        Box::pin(async move {
            let console = JobsConsole(tables);
            let cancelled = console.cancel(&[id]).await?;
            Ok((cancelled, console.retry(&[id]).await?))
        })
    });
    assert_eq!(done, Ok((1, 1)));
}

#[test]
fn a_job_that_is_retried_waits_for_the_end_of_the_lease_that_it_was_cancelled_under() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let sections = "[limits]\nshutdown_millis_max = \"50 ms\"\n[jobs]\nlease = \"1h\"\n";
    let server = start(folder.path(), APP, sections);
    let id = ask(&server, "POST", "/add").parse().expect("a number");
    wait::until("the job runs", || {
        show(folder.path(), id).state == "running"
    });
    // Its process does not know of it yet, and goes on.
    for _ in 0..2 {
        cancel_and_retry(folder.path(), id);
        let job = show(folder.path(), id);
        let begun = job.started.expect("it has begun");
        assert_eq!(job.state, "scheduled");
        assert!(job.due >= begun + 3_600_000, "{job:?}");
    }
    let _ = server.shutdown();
}
