//! The codes of errors that only a fault or another process brings about, as scripts of both languages catch them. The
//! other codes are in `tests/specs/db/errors`. Together they are those that the guide lists.

mod faults;

use faults::locker::Locker;
use faults::shim::{Disk, DiskFault};
use faults::{APPS, Project, Server, ask};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

const APP_LUA: &str = r#"local app = require "sampan"
local db = app.db
local seen = "nothing"
local FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

local function told(err) return { code = err.code or "none", table = err.table, columns = err.columns } end
local function case(name, run)
  app.get("/" .. name, function()
    local ok, err = pcall(run)
    return ok and { ok = true } or told(err)
  end)
end
case("write", function() db.exec("INSERT INTO t VALUES ('a')") end)
case("large", function() db.exec("INSERT INTO t VALUES (zeroblob(4000000))") end)
case("read", function() db.query("SELECT count(v) FROM t") end)
-- Their own answers are lost, so that another request asks what they saw.
app.get("/undone", function()
  db.exec("INSERT INTO t VALUES ('a')")
  pcall(db.exec, "INSERT OR ROLLBACK INTO single VALUES (1)")
  local _, err = pcall(db.query, "SELECT 1")
  seen = told(err).code
  return { ok = true }
end)
app.get("/stopped", function()
  local _, err = pcall(db.exec, FOREVER)
  seen = told(err).code
  return { ok = true }
end)
app.get("/seen", function() return seen end)
app.post("/setup", function()
  db.exec("CREATE TABLE t (v)")
  db.exec("CREATE TABLE single (v UNIQUE)")
  db.exec("INSERT INTO single VALUES (1)")
  for _ = 1, 20 do db.exec("INSERT INTO t VALUES (randomblob(3000))") end
  return { ok = true }
end)
"#;

const APP_JS: &str = r#"import { app, db } from "sampan";
let seen = "nothing";
const FOREVER = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

const told = ({ code, table, columns }) => ({ code: code ?? "none", table, columns });
const caught = (run) => {
  try {
    run();
    return { ok: true };
  } catch (error) {
    return told(error);
  }
};
const singly = (name, run) => app.get("/" + name, () => caught(run));
singly("write", () => db.exec("INSERT INTO t VALUES ('a')"));
singly("large", () => db.exec("INSERT INTO t VALUES (zeroblob(4000000))"));
singly("read", () => db.query("SELECT count(v) FROM t"));
// Their own answers are lost, so that another request asks what they saw.
app.get("/undone", () => {
  db.exec("INSERT INTO t VALUES ('a')");
  caught(() => db.exec("INSERT OR ROLLBACK INTO single VALUES (1)"));
  seen = caught(() => db.query("SELECT 1")).code;
  return { ok: true };
});
app.get("/stopped", () => {
  seen = caught(() => db.exec(FOREVER)).code;
  return { ok: true };
});
app.get("/seen", () => seen);
app.post("/setup", () => {
  db.exec("CREATE TABLE t (v)");
  db.exec("CREATE TABLE single (v UNIQUE)");
  db.exec("INSERT INTO single VALUES (1)");
  for (let i = 0; i < 20; i++) db.exec("INSERT INTO t VALUES (randomblob(3000))");
  return { ok: true };
});
"#;

/// The codes that the tests below expect.
const CODES: [&str; 6] = ["busy", "full", "io", "read_only", "corrupt", "aborted"];

/// A project whose database is opened by the first statement, and whose cache is so small that a large row goes to the
/// disk before the commit.
fn project(app: &str, name: &str) -> Project {
    let settings = "cache_kib = 64\nbusy_millis_max = 50\nquery_inline_millis_max = \
     30000\n[limits]\nscript_millis_max = 1000";
    let project = Project::new(&format!("code-{name}-{app}"), "full", settings);
    fs::remove_dir_all(project.file("migrations")).expect("it was there");
    fs::write(project.file("app.lua"), APP_LUA).expect("a file");
    fs::write(project.file("app.js"), APP_JS).expect("a file");
    project
}

/// A server whose tables are there, and its disk.
fn set_up(project: &Project, app: &str) -> (Server, Disk) {
    let disk = Disk::failing(project);
    let mut command = project.command_for(app, 1);
    disk.under(&mut command);
    let server = project.serve(&mut command, "server.log");
    let answer = ask(&mut server.client(), "POST", "/setup").expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.text());
    (server, disk)
}

fn expect_code(server: &Server, route: &str, code: &str) {
    assert!(CODES.contains(&code));
    let told = server.get(route);
    assert_eq!(told, format!(r#"{{"code":"{code}"}}"#), "{}", server.log());
}

#[test]
fn busy_while_another_process_holds_the_lock() {
    for app in APPS {
        let project = project(app, "busy");
        let (server, _) = set_up(&project, app);
        let locker = Locker::start(&project, 2_000);
        expect_code(&server, "/write", "busy");
        locker.stop();
        assert_eq!(server.get("/large"), r#"{"ok":true}"#);
    }
}

#[test]
fn full_where_the_disk_is() {
    for app in APPS {
        let project = project(app, "full");
        let (server, disk) = set_up(&project, app);
        disk.fail(DiskFault::Full);
        expect_code(&server, "/large", "full");
    }
}

#[test]
fn io_where_the_disk_fails_and_until_it_is_well() {
    for app in APPS {
        let project = project(app, "io");
        let (server, disk) = set_up(&project, app);
        disk.fail(DiskFault::Write);
        expect_code(&server, "/large", "io");
        expect_code(&server, "/write", "io");
    }
}

#[test]
fn read_only_where_the_file_may_not_be_written() {
    for app in APPS {
        let project = project(app, "read-only");
        fs::write(project.data().join("test.db"), "").expect("a file");
        let disk = Disk::failing(&project);
        let mut command = project.command(app);
        disk.under(&mut command);
        let server = project.serve(&mut command, "server.log");
        // Each worker opens the file once more at its first statement.
        disk.fail(DiskFault::ReadOnly);
        expect_code(&server, "/write", "read_only");
        expect_code(&server, "/read", "read_only");
    }
}

#[test]
fn corrupt_where_a_page_is_damaged_or_the_file_is_no_database() {
    for app in APPS {
        let project = project(app, "corrupt");
        let (server, _) = set_up(&project, app);
        server.stop();
        let path = project.data().join("test.db");
        let file = OpenOptions::new()
            .write(true)
            .open(&path)
            .expect("it is there");
        let length = file.metadata().expect("a file").len();
        // All but the first page, which tells what tables there are.
        let damage = vec![0xA5; usize::try_from(length).expect("small") - 4096];
        file.write_all_at(&damage, 4096).expect("it is written");
        let server = project.start(app);
        expect_code(&server, "/read", "corrupt");
        server.stop();

        fs::remove_file(&path).expect("it was there");
        let server = project.start(app);
        fs::write(&path, "a letter to somebody, and no database ".repeat(200)).expect("a file");
        expect_code(&server, "/read", "corrupt");
    }
}

#[test]
fn aborted_after_an_error_that_undid_what_the_request_wrote() {
    for app in APPS {
        let project = project(app, "aborted");
        let (server, _) = set_up(&project, app);
        let answer = ask(&mut server.client(), "GET", "/undone").expect("an answer");
        assert_eq!(answer.status, 500);
        assert_eq!(server.get("/seen"), "aborted");
        assert!(CODES.contains(&"aborted"));
    }
}

/// A stopped request has no code, because its client has left.
#[test]
fn a_stopped_script_sees_no_code() {
    for app in APPS {
        let project = project(app, "stopped");
        let (server, _) = set_up(&project, app);
        let answer = ask(&mut server.client(), "GET", "/stopped").expect("an answer");
        assert_eq!(answer.status, 503, "{}", answer.text());
        assert_eq!(server.get("/seen"), "nothing");
    }
}

#[test]
fn the_guide_lists_the_codes_that_are_raised_and_no_others() {
    let text = |path: &str| {
        let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
        fs::read_to_string(&path).expect(&path)
    };
    let chapter = text("docs/data/database.md");
    let (_, table) = chapter
        .split_once("| `code` |")
        .expect("the table of codes");
    let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
    let listed: BTreeSet<String> = rows
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|codes| codes.split(','))
        .map(|code| code.trim().trim_matches('`').to_owned())
        .collect();
    let spec = text("tests/specs/db/errors/expect.toml");
    let in_spec = spec.split(r#""code":""#).skip(1);
    let mut raised: BTreeSet<String> = in_spec
        .filter_map(|rest| rest.split('"').next())
        .map(str::to_owned)
        .collect();
    raised.extend(CODES.map(str::to_owned));
    assert_eq!(listed, raised);
}
