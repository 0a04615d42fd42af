//! `sampan db`: SQL given, piped and typed; dumps, loads and seeds.

use crate::commands::command::{fails, piped, run};
use crate::commands::terminal::Terminal;
use crate::support::Scratch;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

const MADE: &str = "CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO user VALUES (1, 'Ada'), (2, \
 NULL);";

fn project() -> Scratch {
    let scratch = Scratch::new(&[]);
    let (code, out, errors) = run(&["db", &scratch.file(""), MADE, "--write"]);
    assert_eq!((code, out.as_str()), (0, "2 rows changed\n"), "{errors}");
    scratch
}

#[test]
fn rows_are_printed_in_each_mode() {
    let scratch = project();
    let folder = scratch.file("");
    let sql = "SELECT id, name, X'00ff' AS b FROM user";
    for (mode, expected) in [
        (
            "table",
            "id  name  b\n──  ────  ───────\n 1  Ada   x'00ff'\n 2  NULL  x'00ff'\n",
        ),
        ("csv", "id,name,b\n1,Ada,00ff\n2,,00ff\n"),
        (
            "json",
            "[{\"id\":1,\"name\":\"Ada\",\"b\":\"00ff\"},\n {\"id\":2,\"name\":null,\"b\":\"00ff\"}]\n",
        ),
        (
            "line",
            "  id = 1\nname = Ada\n   b = x'00ff'\n\n  id = 2\nname = NULL\n   b = x'00ff'\n",
        ),
    ] {
        let (code, out, errors) = run(&["db", &folder, sql, "--mode", mode]);
        assert_eq!((code, out.as_str()), (0, expected), "{mode}: {errors}");
    }
    let (_, out, _) = run(&["db", &folder, "SELECT 1 WHERE 0", "--json"]);
    assert_eq!(out, "[]\n");
    let sql = "SELECT a.id, b.id, b.name FROM user a JOIN user b ON b.id > a.id";
    let (_, out, _) = run(&["db", &folder, sql, "--json"]);
    assert_eq!(out, "[{\"id\":1,\"id:1\":2,\"name\":null}]\n");
    let (_, out, _) = run(&["db", &folder, "EXPLAIN SELECT * FROM user WHERE name = 'x'"]);
    assert_eq!(
        out,
        "└─ read every row of user\n   hint: no index helps to choose rows of user: CREATE INDEX on its column in \
         WHERE or ON\n"
    );
}

#[test]
fn a_pipe_is_read_with_its_commands() {
    let scratch = project();
    let folder = scratch.file("");
    let text = ".tables\n.mode csv\nSELECT id\n FROM user;\n.schema user\n.mode json\nSELECT 'a.b\n.c' AS \
     x;\n.quit\nSELECT 9;";
    let (code, out, errors) = piped(&["db", &folder], text);
    assert_eq!(code, 0, "{errors}");
    assert_eq!(
        out,
        "user\nid\n1\n2\nCREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT);\n[{\"x\":\"a.b\\n.c\"}]\n"
    );
}

#[test]
fn quit_and_exit_end_a_pipe() {
    let scratch = project();
    let folder = scratch.file("");
    for end in ["quit", "exit;", " quit ;", ".quit"] {
        let text = format!("SELECT 1;\n{end}\nSELECT 2;\n");
        let (code, out, errors) = piped(&["db", &folder, "--mode", "csv"], &text);
        assert_eq!((code, out.as_str()), (0, "1\n1\n"), "{end}: {errors}");
        let (code, out, errors) = piped(&["db", &folder], &format!("{end}\n"));
        assert_eq!((code, out.as_str()), (0, ""), "{end}: {errors}");
    }
    // Within a statement the word is a name.
    let text = "SELECT 1 AS\nquit\n, 2 AS b;";
    let (code, out, errors) = piped(&["db", &folder, "--mode", "csv"], text);
    assert_eq!((code, out.as_str()), (0, "quit,b\n1,2\n"), "{errors}");
}

#[test]
fn faults_name_the_sql_and_the_place() {
    let scratch = project();
    let folder = scratch.file("");
    let (code, out, errors) = piped(
        &["db", &folder],
        ".tables\nSELECT 1;\n\nSELECT name,\n  gone FROM user;\nSELECT 2;",
    );
    assert_eq!(code, 1);
    assert!(out.contains('1') && !out.contains('2'), "{out}");
    assert_eq!(
        errors,
        "sampan: line 5, column 3: no such column: gone\n    5 |   gone FROM user;\n      |   ^\n"
    );
    let (code, _, errors) = run(&["db", &folder, "DELETE FROM user"]);
    assert!(
        code == 1 && errors.contains("start with --write"),
        "{errors}"
    );
    fails(
        &["db", &scratch.file("none")],
        1,
        &["does not exist: name the project's folder, or write SQL in quotes"],
    );
    fails(
        &["db", "SELEC"],
        1,
        &[
            "SELEC does not exist",
            "or write SQL in quotes; did you mean SELECT?",
        ],
    );
    let empty = Scratch::new(&[]);
    fails(
        &["db", &empty.file(""), "SELECT 1"],
        1,
        &["there is no database", "--db"],
    );
    let (code, _, errors) = piped(&["db", &folder], ".gone\n");
    assert!(
        code == 1 && errors.contains("there is no command .gone: .help shows them"),
        "{errors}"
    );
}

#[test]
fn a_dump_is_loaded_into_another_project() {
    let scratch = project();
    let other = Scratch::new(&[]);
    let (from, to, file) = (scratch.file(""), other.file(""), scratch.file("dump.sql"));
    let (code, out, errors) = run(&["db", "dump", &file, &from]);
    assert!(code == 0 && out.contains("bytes of SQL"), "{errors}");
    fails(
        &["db", "dump", &file, &from],
        1,
        &["exists: name another file, or replace it with --force"],
    );
    let (_, text, _) = run(&["db", "dump", "-", &from]);
    assert_eq!(text, std::fs::read_to_string(&file).expect("written"));
    let (code, out, errors) = run(&["db", "load", &file, &to]);
    assert!(
        code == 0 && out.ends_with("3 statements, 2 rows changed\n"),
        "{out}{errors}"
    );
    let (_, same, _) = run(&["db", "dump", "-", &to]);
    assert_eq!(same, text);
    let (code, _, errors) = run(&["db", "load", &file, &to]);
    assert_eq!(code, 1);
    assert!(
        errors.contains("dump.sql:3:14: table user already exists")
            && errors.ends_with("\nnothing of it was kept\n"),
        "{errors}"
    );
    let (code, out, _) = piped(
        &["db", "load", "-", &to],
        "INSERT INTO user VALUES (3, 'x');",
    );
    assert_eq!(
        (code, out.as_str()),
        (0, "standard input: 1 statement, 1 row changed\n")
    );
}

#[test]
fn a_dump_never_replaces_its_database() {
    let scratch = project();
    let folder = scratch.file("");
    let prompt = "SELECT count(*) AS n FROM user";
    for (name, fault) in [
        ("data.db", "is the database itself: name another file"),
        (
            "data.db-wal",
            "belongs to the database itself: name another file",
        ),
        (
            "data.db-shm",
            "belongs to the database itself: name another file",
        ),
    ] {
        for force in [&["--force"][..], &[]] {
            let file = scratch.file(name);
            let args = [&["db", "dump", &file, &folder][..], force].concat();
            fails(&args, 1, &[fault]);
        }
    }
    let (_, out, errors) = run(&["db", &folder, prompt, "--json"]);
    assert_eq!(out, "[{\"n\":2}]\n", "{errors}");
}

#[test]
fn a_dump_is_as_private_as_its_database() {
    let scratch = project();
    let (database, file) = (scratch.file("data.db"), scratch.file("dump.sql"));
    fs::set_permissions(&database, Permissions::from_mode(0o600)).expect("set");
    let (code, _, errors) = run(&["db", "dump", &file, &scratch.file("")]);
    assert_eq!(code, 0, "{errors}");
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
}

#[test]
fn seeds_wait_for_migrations() {
    let scratch = Scratch::new(&[]);
    let folder = scratch.file("");
    fails(&["db", "seed", &folder], 1, &["has no", "seeds.sql"]);
    std::fs::create_dir(scratch.path().join("migrations")).expect("made");
    std::fs::write(
        scratch.path().join("migrations/0001_a.sql"),
        "CREATE TABLE a(b UNIQUE);",
    )
    .expect("written");
    std::fs::write(
        scratch.path().join("seeds.sql"),
        "INSERT INTO a VALUES (1);\nINSERT INTO a VALUES (2);",
    )
    .expect("written");
    fails(
        &["db", "seed", &folder],
        1,
        &["0001_a is not applied: run sampan migrate first"],
    );
    assert_eq!(run(&["migrate", &folder]).0, 0);
    let (code, out, errors) = run(&["db", "seed", &folder]);
    assert!(
        code == 0 && out.ends_with("2 statements, 2 rows changed\n"),
        "{out}{errors}"
    );
    let (code, _, errors) = run(&["db", "seed", &folder]);
    assert!(
        code == 1 && errors.contains("seeds.sql:1:1: UNIQUE constraint failed: a.b"),
        "{errors}"
    );
}

#[test]
fn a_terminal_has_a_prompt_and_ctrl_c_stops_the_statement_alone() {
    let scratch = project();
    let Some(mut terminal) = Terminal::start(&["db", &scratch.file("")], scratch.path()) else {
        return;
    };
    terminal.wait_for("sql> ");
    terminal.type_line("SELECT name");
    terminal.type_line("FROM user;");
    terminal.wait_for("2 rows");
    terminal.type_line(
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n;",
    );
    terminal.interrupt_until("stopped");
    terminal.type_line_until("SELECT 'still ' || 'here';", "still here");
    terminal.wait_for("sql> ");
    terminal.type_keys("half a line\x03");
    terminal.wait_for("half a line");
    terminal.wait_for("sql> ");
    terminal.type_line("quit");
    assert_eq!(terminal.end(), 0);
    let history = scratch.path().join("sampan/db_history");
    let history = std::fs::read_to_string(history).expect("kept");
    assert!(
        history.contains("still ") && !history.contains("half"),
        "{history}"
    );
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let scratch = project();
    let Some(mut terminal) = Terminal::start(&["db", &scratch.file("")], scratch.path()) else {
        return;
    };
    terminal.wait_for("sql> ");
    terminal.signal("TERM");
    assert_eq!(terminal.end(), 128 + 15);
    assert!(terminal.is_sane(), "echo and line editing are on again");
}
