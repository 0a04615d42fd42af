//! Jobs while the database cannot be written.

use super::{alone, ask, config, database};
use sampan_client::wait;
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::Server;

const APP: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS lines (line TEXT)") end)
app.job("once", { attempts = 1 }, function(_, job)
  db.exec("INSERT INTO lines VALUES ('begun')")
  time.sleep(0.2)
  db.exec("INSERT INTO lines VALUES ('ended-' || ?)", { job.attempt })
end)
app.post("/add", function() app.enqueue("once") end)
app.get("/has/:line", function(req)
  return app.text(tostring(#db.query("SELECT line FROM lines WHERE line = ?", { req.params.line })))
end)
"#;

#[test]
fn an_attempt_that_meets_the_lock_of_another_process_begins_anew() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = config(folder.path(), APP, "busy_millis_max = 20\n");
    let logger = Logger::captured(Level::Warn);
    config.program.logger = logger.clone();
    let server = Server::start(config).expect("it starts");
    ask(&server, "POST", "/add");
    wait::until("the job has begun", || {
        ask(&server, "GET", "/has/begun") != "0"
    });
    // As another process that writes has it.
    let foreign = database(folder.path());
    wait::until("the lock is here", || foreign.own_begin().is_ok());
    wait::until("the attempt begins anew", || {
        logger.lines().contains("attempt 1 begins anew")
    });
    drop(foreign);
    wait::until("its only attempt has ended", || {
        ask(&server, "GET", "/has/ended-1") == "1"
    });
    assert!(server.shutdown());
}
