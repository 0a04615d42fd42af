//! Jobs while the database cannot be written.

use super::{alone, ask, config, database, start};
use sampan_client::{Client, wait};
use sampan_host::log::Level;
use sampan_log::Logger;
use sampan_runtime::Server;
use std::time::Duration;

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

const HELD: &str = r#"
local app = require "sampan"
local db, time = app.db, app.time
app.on_start(function()
  db.exec("CREATE TABLE IF NOT EXISTS runs (what TEXT)")
  db.exec("CREATE TABLE IF NOT EXISTS released (n INTEGER)")
end)
local function note(what) db.exec("INSERT INTO runs VALUES (?)", { what }) end
app.job("held", { timeout = "1 h", backoff = 0 }, function()
  note("begun")
  while not db.one("SELECT 1 FROM released") do time.sleep(0.01) end
  note("ended")
end)
app.post("/add", function() app.enqueue("held") end)
app.post("/release", function() db.exec("INSERT INTO released VALUES (1)") end)
app.get("/count/:what", function(req)
  return app.text(("%d"):format(db.one("SELECT count(*) AS n FROM runs WHERE what = ?", { req.params.what }).n))
end)
-- The jobs that run and whose lease goes on.
app.get("/held", function()
  local sql = "SELECT count(*) AS n FROM _sampan_jobs WHERE state = 'running' AND lease > ?"
  return app.text(("%d"):format(db.one(sql, { time.now() * 1000 }).n))
end)
"#;

/// Has two servers run a job each while another process holds the lock for longer than their lease.
fn assert_held_beside_a_lock(sections: &str) {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let jobs = "[jobs]\nlease = \"2s\"\nqueues = [\"default 1\"]\n";
    let sections = format!("{sections}{jobs}");
    let servers = [0, 1].map(|_| start(folder.path(), HELD, &sections));
    let count = |what: &str| ask(&servers[0], "GET", &format!("/count/{what}"));
    for (server, begun) in servers.iter().zip(["1", "2"]) {
        ask(server, "POST", "/add");
        wait::until("it has begun", || count("begun") == begun);
    }
    let foreign = database(folder.path());
    wait::until("the lock is here", || foreign.own_begin().is_ok());
    wait::dawdle(Duration::from_millis(4_500));
    assert_eq!(
        ask(&servers[0], "GET", "/held"),
        "0",
        "the leases have ended"
    );
    drop(foreign);
    wait::until("both leases go on", || {
        ask(&servers[0], "GET", "/held") == "2"
    });
    // Both servers write, and the lock may be taken for longer than one of them waits.
    wait::until("both are released", || {
        let mut client = Client::connect(servers[0].address()).expect("connected");
        let answer = client.ask("POST", "/release", &[], "");
        answer.expect("an answer").status == 204
    });
    wait::until("both have ended", || count("ended") == "2");
    assert_eq!(count("begun"), "2", "none begins twice");
    for server in servers {
        assert!(server.shutdown());
    }
}

#[test]
fn a_lock_that_is_waited_for_takes_no_job_from_those_who_run_it() {
    assert_held_beside_a_lock("busy_millis_max = 60000\n");
}

#[test]
fn a_lock_that_makes_writes_fail_takes_no_job_from_those_who_run_it() {
    assert_held_beside_a_lock("busy_millis_max = 20\n");
}
