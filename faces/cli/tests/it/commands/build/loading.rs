//! `sampan build` loads the project before it packs it.

use super::{build, write};
use crate::commands::command::run;
use crate::support::Scratch;
use std::os::unix::fs::symlink;
use std::path::Path;

#[test]
fn faults_of_this_machine_are_warnings() {
    let cases = [
        (
            "app.lua",
            "local app = require 'sampan'\nlocal key = app.env.get('SURELY_NOT_SET')\n\
             app.get('/', 'ok ' .. key)\n",
        ),
        (
            "app.js",
            "import { app, env } from 'sampan';\nconst key = env.get('SURELY_NOT_SET').trim();\n\
             app.get('/', () => 'ok ' + key);\n",
        ),
        (
            "app.lua",
            "local app = require 'sampan'\napp.on_start(function() error('no server') end)\n\
             app.get('/', function() return 'ok' end)\n",
        ),
    ];
    for (at, (entry, program)) in cases.into_iter().enumerate() {
        let scratch = Scratch::new(&[]);
        let root = scratch.path().join("p");
        write(&root, entry, program);
        let said = build(&root, &scratch.path().join("one"), &[]);
        let warning = "warning: the project was not loaded without the variables SURELY_NOT_SET";
        assert_eq!(said.contains(warning), at < 2, "{said}");
        assert!(scratch.path().join("one").exists());
    }
}

#[test]
fn migrations_for_a_server_are_not_tried_on_sqlite() {
    let scratch = Scratch::new(&[]);
    let root = scratch.path().join("p");
    write(&root, "app.lua", "require('sampan').get('/', 'ok')\n");
    let sql = "CREATE TABLE a (b text DEFAULT gen_random_uuid()::text);";
    write(&root, "migrations/0001_a.sql", sql);
    let (project, out) = (scratch.file("p"), scratch.file("one"));
    let (status, _, errors) = run(&["build", &project, "-o", &out]);
    assert_eq!(status, 1, "{errors}");
    assert!(errors.contains("0001_a.sql:1:"), "{errors}");
    let server = "postgres://127.0.0.1:1/none";
    build(&root, Path::new(&out), &["--db", server]);
}

#[test]
fn a_program_that_needs_its_machine_is_packed_without_a_trial() {
    let scratch = Scratch::new(&[]);
    let root = scratch.path().join("p");
    let program = "local app = require 'sampan'\nlocal plan = app.db.one('SELECT name FROM plans')\n\
                   app.get('/', plan.name)\n";
    write(&root, "app.lua", program);
    let (project, out) = (scratch.file("p"), scratch.file("one"));
    let (status, _, errors) = run(&["build", &project, "-o", &out]);
    assert_eq!(status, 1, "{errors}");
    assert!(errors.contains("app.lua:2: "), "{errors}");
    assert!(errors.contains("add --no-load"), "{errors}");
    build(&root, Path::new(&out), &["--no-load"]);
    // The tables of a server are not here.
    write(
        &root,
        "sampan.toml",
        "[db]\nurl = \"postgres://a@127.0.0.1:1/none\"\n",
    );
    let said = build(&root, Path::new(&out), &[]);
    let warning =
        "warning: the project was not loaded with a file of SQLite in place of its server";
    assert!(said.contains(warning), "{said}");
}

#[test]
fn faults_without_a_line_fail_the_build() {
    let app = ("app.lua", "require('sampan').get('/', 'ok')\n");
    let sql = "CREATE TABLE u (x INTEGER PRIMARY KEY); CREATE TABLE c (a INTEGER REFERENCES u(x));\n\
               INSERT INTO c VALUES (1);";
    for (files, fault) in [
        (
            &[("app.js", "throw undefined;\n")][..],
            "app.js: uncaught undefined",
        ),
        (
            &[("app.lua", "coroutine.yield()\n")],
            "app.lua: the file yielded",
        ),
        (
            &[app, ("migrations/0001_c.sql", sql)],
            "FOREIGN KEY constraint failed",
        ),
        (&[app, ("migrations/0001_e.sql", "")], "0001_e.sql"),
    ] {
        let scratch = Scratch::new(&[]);
        files
            .iter()
            .for_each(|(path, content)| write(&scratch.path().join("p"), path, content));
        let (status, _, errors) = run(&["build", &scratch.file("p"), "-o", &scratch.file("one")]);
        assert_eq!(status, 1, "{errors}");
        assert!(
            errors.contains(fault) && errors.contains("--no-load"),
            "{errors}"
        );
        assert!(!scratch.path().join("one").exists(), "{errors}");
    }
}

#[test]
fn a_program_that_is_a_link_out_of_its_project_is_not_packed() {
    for entry in ["app.lua", "app.js"] {
        let scratch = Scratch::new(&[]);
        write(scratch.path(), entry, "");
        write(&scratch.path().join("p"), "readme.txt", "");
        let link = scratch.path().join("p").join(entry);
        symlink(Path::new("..").join(entry), link).expect("a link");
        let (status, _, errors) = run(&["build", &scratch.file("p"), "-o", &scratch.file("one")]);
        assert_eq!(status, 1, "{errors}");
        let fault = format!("there is no file {entry} in the project");
        assert!(errors.contains(&fault), "{errors}");
    }
}
