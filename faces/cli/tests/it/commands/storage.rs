//! `sampan migrate` and `sampan backup` as their users meet them.

use crate::commands::command::{run, sampan, succeeds};
use crate::support::{Process, Scratch};
use std::process::Command;
use std::time::Duration;

const APP: &str = "local app = require 'sampan'
app.get('/', function() return app.db.query('SELECT name FROM users ORDER BY id') end)
app.post('/', function() return app.db.exec(\"INSERT INTO users(name) VALUES ('Eve')\") end)\n";
const USERS: &str = "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT);\nINSERT INTO users(name) VALUES ('Ann');\n";

fn project() -> Scratch {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    std::fs::create_dir(scratch.path().join("migrations")).expect("a folder");
    std::fs::write(scratch.path().join("migrations/0001_users.sql"), USERS).expect("written");
    scratch
}

fn fails(args: &[&str], part: &str) {
    let (code, out, errors) = run(args);
    assert_eq!(code, 1, "{args:?}: {out}");
    let is_one_line = errors.starts_with("sampan: ") && errors.trim_end().lines().count() == 1;
    assert!(
        is_one_line && errors.contains(part),
        "{args:?}: {errors:?} does not contain {part:?}"
    );
}

fn serve(scratch: &Scratch) -> Process {
    let folder = scratch.path().display().to_string();
    Process::start(&mut sampan(&[
        "run",
        &folder,
        "--listen",
        "127.0.0.1:0",
        "--workers",
        "1",
    ]))
}

fn ask(process: &Process, method: &str) -> (u16, String) {
    let mut client = process.client();
    let answer = client.ask(method, "/", &[], "").expect("an answer");
    (answer.status, answer.text())
}

#[test]
fn migrations_are_made_shown_and_applied() {
    let scratch = project();
    let folder = scratch.path().display().to_string();
    let status = succeeds(&["migrate", "status", &folder]);
    assert!(status.contains("0001_users  pending"), "{status}");
    assert!(
        !scratch.path().join("data.db").exists(),
        "looking creates nothing"
    );
    let made = succeeds(&["migrate", "new", "add_age", &folder]);
    assert!(
        made.trim_end().ends_with("migrations/0002_add_age.sql"),
        "{made}"
    );
    fails(
        &["migrate", &folder],
        "0002_add_age.sql: there is no statement in it",
    );
    // One that fails does not hide that those before it were applied.
    std::fs::write(made.trim_end(), "ALTER TABL users;").expect("written");
    let fresh = scratch.file("fresh.db");
    let (code, told, _) = run(&["migrate", &folder, "--db", &fresh]);
    assert_eq!(code, 1);
    assert_eq!(
        told,
        "applying 0001_users\napplied 0001_users\napplying 0002_add_age\n"
    );
    std::fs::write(made.trim_end(), "ALTER TABLE users ADD COLUMN age INTEGER;").expect("written");
    let applied = succeeds(&["migrate", &folder]);
    assert!(
        applied.contains("applied 0002_add_age\n") && applied.contains("1 applied now, 1 before"),
        "{applied}"
    );
    // A file of the project names it too.
    let again = succeeds(&["migrate", &scratch.file("app.lua")]);
    assert!(again.contains("0 applied now, 2 before"), "{again}");
    assert!(succeeds(&["migrate", "status", &folder]).contains("0001_users    applied 2"));
    let other = scratch.file("other.db");
    assert!(succeeds(&["migrate", &folder, "--db", &other]).contains("2 applied now"));
    // The database stands before the command or behind it.
    let before = succeeds(&["migrate", "--db", &other, "status", &folder]);
    assert_eq!(
        before,
        succeeds(&["migrate", "status", &folder, "--db", &other])
    );
    assert!(before.contains("0002_add_age  applied 2"), "{before}");
    fails(
        &["migrate", &folder, "status"],
        "before a command there are --db, --config and --env-file only",
    );
    std::fs::write(made.trim_end(), "ALTER TABLE users ADD COLUMN age REAL;").expect("written");
    fails(
        &["migrate", &folder],
        "0002_add_age.sql was changed after it was applied",
    );
    fails(
        &["run", &folder, "--listen", "127.0.0.1:0"],
        "0002_add_age.sql was changed after it was applied",
    );
    let (code, out, _) = run(&["migrate", "status", &folder]);
    assert!(code == 1 && out.contains("0002_add_age  CHANGED"), "{out}");
}

#[test]
fn the_name_of_a_database_is_no_uri() {
    let scratch = project();
    let folder = scratch.path().display().to_string();
    let name = "file:data.db?mode=memory&psow=0";
    let migrated = sampan(&["migrate", &folder, "--db", name])
        .current_dir(scratch.path())
        .status();
    assert!(migrated.expect("it runs").success());
    assert!(scratch.path().join(name).is_file());
}

#[test]
fn what_is_missing_is_said() {
    let bare = Scratch::new(&[("app.lua", APP)]);
    let folder = bare.path().display().to_string();
    fails(
        &["migrate", &folder],
        "the project has no migrations: there is no folder",
    );
    fails(
        &["migrate", "status", &folder],
        "the project has no migrations",
    );
    fails(&["migrate", &bare.file("none")], "none does not exist");
    fails(
        &["backup", &bare.file("copy.db"), &folder],
        "there is no database",
    );
    fails(
        &["migrate", "new", "a/b", &folder],
        "cannot be the name of a migration",
    );
    assert_eq!(run(&["backup"]).0, 2);
    assert_eq!(run(&["migrate", "new"]).0, 2);
}

#[test]
fn a_server_migrates_at_start_unless_told_not_to() {
    let scratch = project();
    let folder = scratch.path().display().to_string();
    let listen = ["--listen", "127.0.0.1:0", "--workers", "1"];
    let mut without = sampan(&["run", &folder, "--no-migrate"]);
    let process = Process::start(without.args(listen));
    assert_eq!(ask(&process, "GET").0, 500, "there is no table");
    drop(process);
    let process = serve(&scratch);
    assert_eq!(
        ask(&process, "GET"),
        (200, "[{\"name\":\"Ann\"}]".to_owned())
    );
}

#[test]
fn a_project_that_does_not_load_says_what_it_migrated_and_the_way_back() {
    let scratch = project();
    let file = scratch.path().join("app.lua");
    let args = [
        "run",
        file.to_str().expect("UTF-8"),
        "--listen",
        "127.0.0.1:0",
    ];
    std::fs::write(&file, "local app = \n").expect("written");
    let (code, _, errors) = run(&args);
    assert_eq!(code, 1, "{errors}");
    let told = "(applied before: 0001_users; an older project needs --no-migrate";
    assert!(errors.contains(told), "{errors}");
    // Back to the older release, which does not know that file.
    std::fs::write(&file, APP).expect("written");
    std::fs::remove_dir_all(scratch.path().join("migrations")).expect("removed");
    fails(&args, "or this code with --no-migrate");
}

#[test]
fn a_running_server_is_backed_up() {
    let scratch = project();
    let folder = scratch.path().display().to_string();
    let copy = scratch.file("copy.db");
    let process = serve(&scratch);
    assert_eq!(ask(&process, "POST").0, 200);
    let told = succeeds(&["backup", &copy, &folder]);
    assert!(
        told.contains("copy.db: ") && told.contains(" rows in 2 tables, checked"),
        "{told}"
    );
    fails(
        &["backup", &copy, &folder],
        "copy.db exists: name another file, or replace it with --force",
    );
    assert_eq!(ask(&process, "POST").0, 200);
    succeeds(&["backup", &copy, &folder, "--force"]);
    process.signal("TERM");
    assert_eq!(process.end().0, Some(0));
    assert!(
        !scratch.path().join("data.db-wal").exists(),
        "the log is in the database"
    );
    succeeds(&["backup", &scratch.file("stopped.db"), &folder]);
    // What was copied is a database that serves.
    std::fs::rename(&copy, scratch.file("data.db")).expect("restored");
    let process = serve(&scratch);
    let names = "[{\"name\":\"Ann\"},{\"name\":\"Eve\"},{\"name\":\"Eve\"}]";
    assert_eq!(ask(&process, "GET"), (200, names.to_owned()));
}

#[test]
fn a_backup_that_cannot_be_written_leaves_nothing() {
    let scratch = project();
    let folder = scratch.path().display().to_string();
    let large = "CREATE TABLE large(x); INSERT INTO large VALUES (zeroblob(300000));";
    std::fs::write(scratch.path().join("migrations/0002_large.sql"), large).expect("written");
    succeeds(&["migrate", &folder]);
    // No file may grow beyond 64 KiB; the signal that would end the process is ignored, so that writing fails.
    let script = "trap '' XFSZ; ulimit -f 128; exec \"$0\" backup \"$1\" \"$2\"";
    let output = Command::new("sh")
        .args([
            "-c",
            script,
            env!("CARGO_BIN_EXE_sampan"),
            &scratch.file("copy.db"),
            &folder,
        ])
        .output()
        .expect("sh exists");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("copy.db.part: "), "{errors}");
    for name in ["copy.db", "copy.db.part"] {
        assert!(
            !scratch.path().join(name).exists(),
            "{name} is left: {errors}"
        );
    }
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let scratch = project();
    let shell = |line: &str| {
        let output = Command::new("sh")
            .args(["-c", line, "sh", env!("CARGO_BIN_EXE_sampan")])
            .arg(scratch.path())
            .output()
            .expect("a shell");
        let errors = String::from_utf8(output.stderr).expect("UTF-8");
        (output.status.code(), errors)
    };
    let (code, errors) = shell("\"$1\" migrate \"$2\" > /dev/full");
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.starts_with("sampan: cannot write to standard output")
            && errors.lines().count() == 1,
        "{errors}"
    );
    // A reader that has gone has heard enough.
    let (_, errors) = shell("\"$1\" migrate status \"$2\" | true");
    assert_eq!(errors, "");
}

#[test]
fn what_a_statement_makes_distinct_or_sorts_does_not_stay_in_memory() {
    // Thirty megabytes are sorted in files, which takes its time on a busy machine.
    let limits = (
        "sampan.toml",
        "[limits]\nhandler_millis_max = 300000\n[db]\nstatement_millis_max = 300000\n",
    );
    let scratch = Scratch::new(&[limits, (
        "app.lua",
        "local app = require 'sampan'
        local many = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) '
        local sql = {
          distinct = many .. 'SELECT count(DISTINCT randomblob(1000)) AS n FROM n',
          sorted = many .. 'SELECT count(*) AS n FROM (SELECT randomblob(1000) AS b FROM n ORDER BY b LIMIT -1 OFFSET \
           1)',
          joined = many .. 'SELECT length(group_concat(DISTINCT randomblob(1000))) AS n FROM n',
        }
        app.get('/:name', function(req) return app.json(app.db.one(sql[req.params.name])) end)",
    )]);
    let process = serve(&scratch);
    let mut client = process.client();
    let patience = Duration::from_secs(300);
    client.set_read_time(patience).expect("set");
    let mut ask = |path: &str| {
        let answer = client.ask("GET", path, &[], "").expect("an answer");
        (answer.status, answer.text())
    };
    assert_eq!(ask("/distinct"), (200, r#"{"n":30000}"#.to_owned()));
    assert_eq!(ask("/sorted"), (200, r#"{"n":29999}"#.to_owned()));
    // A text that is too large is an error, whatever made it.
    assert_eq!(ask("/joined").0, 500);
    let after = process.memory_peak_kib();
    assert!(after < 100 * 1024, "{after} KiB");
}
