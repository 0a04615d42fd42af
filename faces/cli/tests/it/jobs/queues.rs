//! Jobs whose declaration names another queue than when they were added.

use crate::commands::command::{sampan, serve};
use crate::support::{Process, Scratch, ask};
use sampan_client::postgres::PostgresServer;
use sampan_testkit::wait;

const APP: &str = r#"
local app = require "sampan"
local db = app.db

app.job("resize", { queue = "QUEUE" }, function() end)
app.job("other", function() end)
app.post("/add", function() for _ = 1, 3 do app.enqueue("resize") end end)
app.post("/other", function() for _ = 1, 20 do app.enqueue("other") end end)
-- More jobs than move at once, which the next version does not declare.
app.job("gone_QUEUE", { queue = "QUEUE" }, function() end)
app.post("/gone", function()
  local list = {}
  for n = 1, 5001 do list[n] = n end
  app.enqueue_batch("gone_QUEUE", list)
  app.enqueue_batch("gone_QUEUE", list)
end)
local function count(name)
  return function()
    return app.text(("%d"):format(db.one("SELECT count(*) AS n FROM _sampan_jobs WHERE name = ?", { name }).n))
  end
end
app.get("/left", count("resize"))
app.get("/others", count("other"))
"#;

const TOML: &str = "[jobs]\nworkers = WORKERS\n";

/// Adds jobs in one version of an app, and waits until the next has done them.
fn do_jobs_of_the_version_before(start: impl Fn(&Scratch) -> Process) {
    let project = |queue: &str, workers: &str| {
        let app = APP.replace("QUEUE", queue);
        Scratch::new(&[
            ("app.lua", &app),
            ("sampan.toml", &TOML.replace("WORKERS", workers)),
        ])
    };
    // It does no jobs itself.
    let before = project("pictures", "0");
    let process = start(&before);
    ask(&process, "POST", "/gone");
    ask(&process, "POST", "/add");
    assert_eq!(ask(&process, "GET", "/left"), "3");
    let after = project("slow", "1");
    let after = start(&after);
    wait::until("the end of all jobs", || ask(&after, "GET", "/left") == "0");
}

#[test]
fn jobs_follow_their_declaration_to_another_queue() {
    let folder = Scratch::new(&[]);
    let database = folder.file("data.db");
    do_jobs_of_the_version_before(|project| {
        Process::start(serve(&project.file("app.lua"), 1).args(["--db", &database]))
    });
}

#[test]
fn jobs_on_postgresql_follow_their_declaration_to_another_queue() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let url = server.url(&server.database());
    do_jobs_of_the_version_before(|project| {
        let file = project.file("app.lua");
        let args = ["run", &file, "--listen", "127.0.0.1:0", "--workers", "1"];
        Process::start(sampan(&args).args(["--db", &url]))
    });
}

/// Counts the jobs that move to another queue.
const COUNT_MOVES: &str = "CREATE TABLE moves (id bigint);
    CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO moves VALUES (NEW.id); RETURN NEW; END $$;
    CREATE TRIGGER moved AFTER UPDATE OF queue ON _sampan_jobs FOR EACH ROW EXECUTE FUNCTION note_move();";

#[test]
fn two_versions_with_different_queues_move_a_job_once_a_minute_at_most() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let database = server.database();
    let url = server.url(&database);
    let start = |queue: &str| {
        // The rate keeps all but one of the jobs waiting.
        let toml = format!("[jobs]\nqueues = [\"{queue} 1 1/h\"]\n");
        let app = APP.replace("QUEUE", queue);
        let project = Scratch::new(&[("app.lua", &app), ("sampan.toml", &toml)]);
        let file = project.file("app.lua");
        let args = ["run", &file, "--listen", "127.0.0.1:0", "--workers", "1"];
        let process = Process::start(sampan(&args).args(["--db", &url]));
        (project, process)
    };
    let (_project, one) = start("pictures");
    ask(&one, "POST", "/add");
    wait::until("the rate is used up", || ask(&one, "GET", "/left") == "2");
    server.psql(&database, COUNT_MOVES);
    let (_other_project, other) = start("slow");
    wait::until("a job in the other queue", || {
        ask(&other, "GET", "/left") == "1"
    });
    // Each keeper has many turns.
    for _ in 0..20 {
        for process in [&one, &other] {
            ask(process, "POST", "/other");
            wait::until("the end of others", || {
                ask(process, "GET", "/others") == "0"
            });
        }
    }
    let moves = server.psql(&database, "SELECT count(*) FROM moves");
    let moves: u32 = moves.parse().expect("a number");
    assert!(moves <= 10, "{moves} moves of two jobs");
}
