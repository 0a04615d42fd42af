//! `sampan config`, and the places from which values of the configuration come.

use super::command::{fails, run, sampan};
use crate::support::{Process, Scratch};

#[test]
fn config_shows_what_is_in_force_and_from_where() {
    let scratch = Scratch::new(&[
        ("app.lua", ""),
        ("sampan.toml", "[log]\nlevel = \"warn\"\n"),
    ]);
    let folder = scratch.path().display().to_string();
    let output = sampan(&["config", &folder, "--set", "limits.body_bytes_max=1MB"])
        .env("SAMPAN_SERVER_WORKERS", "3")
        .env("PORT", "5000")
        .output()
        .expect("the command starts");
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    let file = scratch.file("sampan.toml");
    for line in [
        "[server]\nlisten = \"0.0.0.0:5000\"  # PORT\nworkers = 3  # SAMPAN_SERVER_WORKERS\n# trusted_proxies = []\n",
        "\nbody_bytes_max = \"1MB\"  # --set\n",
        "\n# headers_max = 100\n",
        &format!("\nlevel = \"warn\"  # {file}:2\n"),
        "\n# default is not set\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    // It can be read as it is.
    let copy = scratch.file("shown.toml");
    std::fs::write(&copy, &shown).expect("written");
    let (status, again, errors) = run(&["config", &folder, "--config", &copy]);
    assert_eq!(status, 0, "{errors}");
    assert!(
        again.contains(&format!("workers = 3  # {copy}:3")),
        "{again}"
    );
    for endpoint in [
        "trace.endpoint=http://u:secret@h",
        "backup.endpoint=http://u:secret@h",
    ] {
        let (_, shown, errors) = run(&["config", &folder, "--set", endpoint]);
        assert!(shown.contains("endpoint"), "{shown}{errors}");
        assert!(!shown.contains("secret@"), "{shown}");
    }
    fails(
        &["config", &folder, "--set", "limits.x=1"],
        1,
        &["--set: [limits] has no key \"x\""],
    );
}

#[test]
fn every_command_that_loads_a_project_reads_dotenv_and_run_when_it_is_told() {
    let lua = "local app = require 'sampan' assert(app.env.get('DOTENV_TEST_NAME'))
app.get('/named', function() return 'x' end)";
    let lua_test = "local t = require('sampan').t
t.test('reads', function() t.equal(t.get('/named').status, 200) end)";
    let js = "import { app, env } from 'sampan';
if (!env.get('DOTENV_TEST_NAME')) throw new Error('none');
app.get('/named', () => 'x');";
    let js_test = "import { t } from 'sampan';
t.test('reads', async () => { t.equal((await t.get('/named')).status, 200); });";
    for (language, app, test) in [("lua", lua, lua_test), ("js", js, js_test)] {
        let scratch = Scratch::new(&[
            (&format!("app.{language}"), app),
            ("sampan.toml", "[db]\npath = \"${DOTENV_TEST_NAME}.db\"\n"),
            (".env", "DOTENV_TEST_NAME=named\n"),
        ]);
        for folder in ["tests", "migrations"] {
            std::fs::create_dir(scratch.path().join(folder)).expect("a folder");
        }
        std::fs::write(scratch.file("migrations/0001_a.sql"), "CREATE TABLE a (b);")
            .expect("written");
        std::fs::write(scratch.file(&format!("tests/a.test.{language}")), test).expect("written");
        let folder = scratch.path().display().to_string();
        let (copy, env) = (scratch.file("copy.db"), scratch.file(".env"));
        for command in [
            &["check", &folder][..],
            &["routes", &folder],
            &["test", &folder],
            &["migrate", &folder],
            &["repl", &folder],
            &[
                "bench",
                "/named",
                "--duration",
                "200ms",
                "--project",
                &folder,
            ],
        ] {
            let (status, out, errors) = run(command);
            assert_eq!(status, 0, "{command:?}: {out}{errors}");
        }
        assert!(scratch.path().join("named.db").exists());
        for command in [
            &["db", &folder, "SELECT 1"][..],
            &["backup", &copy, &folder],
        ] {
            let (status, out, errors) = run(command);
            assert_eq!(status, 0, "{command:?}: {out}{errors}");
        }
        let serve = ["run", &folder, "--listen", "127.0.0.1:0"];
        fails(
            &serve,
            1,
            &[
                "the environment has no variable DOTENV_TEST_NAME; .env has it: start with --env-file ",
                ".env\n",
            ],
        );
        let process = Process::start(&mut sampan(&[&serve[..], &["--env-file", &env]].concat()));
        process.signal("TERM");
        assert_eq!(process.end().0, Some(0));
    }
}

#[test]
fn commands_of_a_deployment_take_the_variables_of_the_server() {
    let scratch = Scratch::new(&[
        ("app.lua", ""),
        ("sampan.toml", "[db]\npath = \"${DOTENV_TEST_NAME}.db\"\n"),
        (".env", "DOTENV_TEST_NAME=development\n"),
        ("production.env", "DOTENV_TEST_NAME=production\n"),
    ]);
    std::fs::create_dir(scratch.path().join("migrations")).expect("a folder");
    std::fs::write(scratch.file("migrations/0001_a.sql"), "CREATE TABLE a (b);").expect("written");
    let (folder, env) = (scratch.file(""), scratch.file("production.env"));
    let copy = scratch.file("copy.db");
    for command in [
        &["migrate", &folder][..],
        &["migrate", "status", &folder],
        &["db", &folder, "SELECT b FROM a"],
        &["backup", &copy, &folder],
        &["jobs", "list", &folder],
    ] {
        let (status, out, errors) = run(&[command, &["--env-file", &env]].concat());
        assert_eq!(status, 0, "{command:?}: {out}{errors}");
    }
    assert!(scratch.path().join("production.db").exists());
    assert!(!scratch.path().join("development.db").exists());
    fails(
        &["migrate", &folder, "--env-file", &scratch.file("none.env")],
        1,
        &["cannot read the file of --env-file"],
    );
}

#[test]
fn a_misspelt_variable_is_told_at_the_start_and_by_check() {
    let scratch = Scratch::new(&[("app.lua", "")]);
    let folder = scratch.path().display().to_string();
    let warning =
        "the variable SAMPAN_SECRET_KEYS has no effect: did you mean SAMPAN_SECRETS_KEYS?";
    let mut serve = sampan(&["run", &folder, "--listen", "127.0.0.1:0"]);
    let process = Process::start_until(serve.env("SAMPAN_SECRET_KEYS", "x"), warning);
    process.signal("TERM");
    process.end();
    let mut check = sampan(&["check", &folder]);
    let output = check
        .env("SAMPAN_SECRET_KEYS", "x")
        .output()
        .expect("the command starts");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(out.contains(&format!("warning: {warning}")), "{out}");
}
