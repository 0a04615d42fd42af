//! Commands beside a server, on an app whose database is on PostgreSQL.

use super::serving::{project, serve};
use crate::commands::command::{fails, run, sampan};
use crate::support::Process;
use sampan_client::postgres::PostgresServer;

const APP: &str = r#"
local app = require "sampan"
app.job("keep", function() end)
app.get("/notes", function() return app.db.query("SELECT id FROM notes") end)
app.get("/first", { note = app.db.one("SELECT title FROM notes") })
"#;

#[test]
fn the_url_stands_before_a_command_or_behind_it() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let (url, app) = (server.url(&server.database()), scratch.file("app.lua"));
    let (code, told, errors) = run(&["db", "--db", &url, "migrate", &app]);
    assert!(
        code == 0 && told.ends_with(": 1 applied now, 0 before\n"),
        "{errors}"
    );
    for args in [
        ["db", "--db", &url, "status", &app],
        ["db", "status", &app, "--db", &url],
        ["migrate", "status", &app, "--db", &url],
        ["migrate", "--db", &url, "status", &app],
    ] {
        let (code, told, errors) = run(&args);
        assert!(
            code == 0 && told.starts_with("0001_notes  applied "),
            "{args:?}: {told}{errors}"
        );
    }
    for args in [
        ["jobs", "--db", &url, "list", &app],
        ["jobs", "list", &app, "--db", &url],
    ] {
        assert_eq!(
            run(&args),
            (0, "no jobs\n".to_owned(), String::new()),
            "{args:?}"
        );
    }
    let others = "before a command there are --db, --config and --env-file only";
    fails(&["db", &app, "--write", "status"], 1, &[others]);
}

#[test]
fn routes_are_shown_without_asking_the_server() {
    // A project with migrations for both databases, and one with those of PostgreSQL alone.
    for source in [
        APP,
        &APP.replace("app.db.one(\"SELECT title FROM notes\")", "1"),
    ] {
        let scratch = project("app.lua", source);
        if source != APP {
            let migrations = scratch.path().join("migrations");
            std::fs::remove_file(migrations.join("0001_notes.sqlite.sql")).expect("a file");
        }
        let url = "postgres://nobody@127.0.0.1:1/none";
        let (code, told, errors) = run(&["routes", &scratch.file("app.lua"), "--db", url]);
        assert!(
            code == 0 && told.contains("/notes") && told.contains("/first"),
            "{errors}"
        );
        let config = format!("[db]\nurl = \"{url}\"\n");
        std::fs::write(scratch.path().join("sampan.toml"), config).expect("a file");
        let by_file = run(&["routes", &scratch.file("app.lua")]);
        assert_eq!(by_file, (0, told, String::new()));
    }
}

#[test]
fn an_outage_is_an_error_and_its_end_is_none() {
    let Some(server) = PostgresServer::start() else {
        return;
    };
    let scratch = project("app.lua", APP);
    let url = server.url(&server.database());
    let mut process = Process::start(&mut serve(&scratch.file("app.lua"), &url));
    let log = process.read_errors();
    server.kill();
    log.until("ERROR database: topics: no messages of other processes: ");
    server.resume();
    log.until("INFO database: topics: messages of other processes come again");
}

#[test]
fn slow_statements_are_told_with_their_plans() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let app = r#"
        local app = require "sampan"
        app.get("/slow", function()
          app.db.query("SELECT pg_sleep(0.05), title FROM notes WHERE id = :id OR id = :id + 1;", { id = 1 })
          app.db.query("SELECT pg_sleep(0.05)")
          return "slow"
        end)
    "#;
    let scratch = project("app.lua", app);
    let settings = "[dev]\nslow_query = '1ms'\n";
    std::fs::write(scratch.path().join("sampan.toml"), settings).expect("a file");
    let database = server.database();
    let mut dev = sampan(&["dev", &scratch.file("app.lua"), "--listen", "127.0.0.1:0"]);
    dev.args(["--workers", "1", "--db", &server.url(&database)]);
    let mut process = Process::start(&mut dev);
    let log = process.read_errors();
    server.psql(&database, "INSERT INTO notes (title) VALUES ('a')");
    let mut client = process.client();
    let answer = client.ask("GET", "/slow", &[], "").expect("an answer");
    assert_eq!(answer.text(), "slow");
    // The second is reported behind the plan of the first.
    log.until("SELECT pg_sleep(0.05)\n");
    log.until("Result  (cost=");
    process.signal("TERM");
    assert_eq!(process.status(), Some(0));
    let log = log.join().expect("text");
    assert!(log.contains("Bitmap Index Scan on notes_pkey"), "{log}");
    assert!(!log.contains("no plan"), "{log}");
}
