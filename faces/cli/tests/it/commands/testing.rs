//! `sampan test`: what passes, what fails, and how that is told.

use sampan_testkit::wait;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::SystemTime;
use tempfile::TempDir;

const LUA_APP: &str = r#"
local app = require "sampan"
app.use("*", function(req, next) local res = next(req) res.headers["x-wrapped"] = "yes" return res end)
app.get("/health", function() return { status = "ok" } end)
app.post("/notes", function(req)
  local id = app.db.exec("INSERT INTO notes (text) VALUES (?)", { req:json().text }).last_id
  req.session.last = id
  return app.json({ id = id }, 201)
end)
app.get("/last", function(req) return { last = req.session.last or 0 } end)
app.get("/page", function() return app.render("page.html", { items = { "one", "two" } }) end)
app.get("/time", function() return { now = app.time.now(), os = os.time() } end)
app.get("/boom", function() error("kaputt") end)
"#;

const LUA_TESTS: &str = r#"
local app = require "sampan"
local t, db = app.t, app.db
local before = 0
t.before_each(function() before = before + 1 end)
t.test("a commit is real, and cookies are kept", function()
  local res = t.post("/notes", { json = { text = "new" } })
  t.equal(res.status, 201)
  t.equal(res.headers["x-wrapped"], "yes")
  t.equal(db.one("SELECT count(*) AS n FROM notes").n, 2)
  t.equal(t.get("/last").json, { last = res.json.id })
  t.equal(t.get("/last", { browser = "other" }).json, { last = 0 })
end)
t.test("the database is put back", function()
  t.equal(db.one("SELECT count(*) AS n FROM notes").n, 1)
  t.equal(t.get("/last").json, { last = 0 })
  t.equal(before, 2)
end)
t.test("pages are searched", function()
  local html = t.get("/page").html
  t.equal(html:text("h1"), "A page")
  t.equal(html:count("li"), 2)
  t.equal(html:one("li:last-child").attributes.class, "item")
  assert(t.get("/page").json == nil and t.get("/health").html == nil)
end)
t.test("time is set", function()
  t.set_time(86400)
  t.equal(t.get("/time").json, { now = 86400, os = 86400 })
  local sealed = app.crypto.seal("a", "test", { max_age = 60 })
  t.set_time(86459)
  t.equal(app.crypto.open(sealed, "test"), "a")
  t.set_time(86460)
  t.equal(app.crypto.open(sealed, "test"), nil)
end)
t.test("waits", function()
  app.time.sleep(0.001)
  t.fails(function() error("kaputt") end, "kaputt")
end)
"#;

const JS_APP: &str = r#"
import { app, db, time } from "sampan";
app.post("/notes", async (req) => {
  const { text } = await req.json();
  return app.json({ id: db.exec("INSERT INTO notes (text) VALUES (?)", [text]).lastId }, 201);
});
app.get("/time", () => ({ now: time.now(), date: new Date().toISOString(), millis: Date.now() }));
"#;

const JS_TESTS: &str = r#"
import { t, db } from "sampan";
let before = 0;
t.beforeEach(async () => { before += 1; });
t.test("a commit is real", async () => {
  const res = await t.post("/notes", { json: { text: "new" } });
  t.equal([res.status, db.one("SELECT count(*) AS n FROM notes").n], [201, 2]);
});
t.test("the database is put back", () => {
  t.equal(db.one("SELECT count(*) AS n FROM notes").n, 1);
  t.equal(before, 2);
});
t.test("time is set", async () => {
  t.setTime(86400);
  const { json } = await t.get("/time");
  t.equal(json, { now: 86400, date: "1970-01-02T00:00:00.000Z", millis: 86400000 });
  t.equal(new Date(0).getTime(), 0);
});
t.test("waits", async () => {
  await t.fails(async () => { await null; throw new Error("kaputt"); }, "kaputt");
});
"#;

const MIGRATION: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);\nINSERT INTO notes (text) \
 VALUES ('first');\n";
const PAGE: &str =
    "<h1>A page</h1><ul>{% for item in items %}<li class=item>{{ item }}{% endfor %}</ul>";

/// A project with these files besides the migration and the template.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let own = [
        ("migrations/0001_notes.sql", MIGRATION),
        ("templates/page.html", PAGE),
    ];
    for (file, text) in own.iter().chain(files) {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    folder
}

/// Runs the tests of a project: exit status, standard output, standard error.
fn test(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
    command.arg("test").arg(folder).args(args).env_remove("CI");
    let output = command.output().expect("the command starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let status = output.status.code().expect("no signal");
    (status, text(output.stdout), text(output.stderr))
}

#[test]
fn a_value_of_an_answer_that_was_not_awaited_has_a_hint() {
    let tests = "import { t } from 'sampan';
t.test('is fine', () => { t.equal(t.get('/time').status, 200); });
";
    let folder = project(&[("app.js", JS_APP), ("tests/a.test.js", tests)]);
    let (status, out, errors) = test(folder.path(), &[]);
    let hint = "t.get gives a promise here: write \"await t.get(...)\" and use what that gives";
    assert!(status == 1 && out.contains(hint), "{out}{errors}");
}

#[test]
fn a_failure_about_an_answer_without_a_body_has_a_note() {
    let lua_app = "local app = require 'sampan'
app.get('/none', function() end)
app.get('/moved', function() return app.redirect('/') end)
app.get('/', function() return { a = 1 } end)";
    let lua = "local t = require('sampan').t
t.test('reads', function() local res = t.get('/none') return res.json.id end)
t.test('compares', function() t.equal(t.get('/none?a=1').json, { id = 1 }) end)
t.test('body', function() t.equal(t.get('/none').body, 'x') end)
t.test('moved', function() t.ok(t.get('/moved').json) end)
t.test('other', function() t.get('/none') t.ok(t.get('/').html) end)
t.test('status', function() t.equal(t.get('/none').status, 200) end)";
    let js_app = "import { app } from 'sampan';
app.get('/none', () => {});
app.get('/moved', () => app.redirect('/'));
app.get('/', () => ({ a: 1 }));";
    let js = "import { t } from 'sampan';
t.test('reads', async () => (await t.get('/none')).json.id);
t.test('compares', async () => t.equal((await t.get('/none?a=1')).json, { id: 1 }));
t.test('body', async () => t.equal((await t.get('/none')).body, 'x'));
t.test('moved', async () => t.ok((await t.get('/moved')).json));
t.test('other', async () => { await t.get('/none'); t.ok((await t.get('/')).html); });
t.test('status', async () => t.equal((await t.get('/none')).status, 200));";
    for (app, text, file, tests) in [
        ("app.lua", lua_app, "tests/a.test.lua", lua),
        ("app.js", js_app, "tests/a.test.js", js),
    ] {
        let folder = project(&[(app, text), (file, tests)]);
        let (status, out, errors) = test(folder.path(), &[]);
        assert!(
            status == 1 && out.contains("0 passed, 6 failed"),
            "{out}{errors}"
        );
        let why = "answered with status 204 and no body, as a handler that returns nothing does";
        for (note, count) in [
            (format!("GET /none {why}"), 2),
            (format!("GET /none?a=1 {why}"), 1),
            (
                "GET /moved answered with status 302 and no body".to_owned(),
                1,
            ),
            ("and no body".to_owned(), 4),
        ] {
            assert_eq!(out.matches(&note).count(), count, "{note}: {out}");
        }
    }
}

#[test]
fn a_failure_about_an_answer_that_is_an_error_has_a_note() {
    let lua_app = "local app = require 'sampan'\napp.get('/boom', function() error('no') end)";
    let lua = "local t = require('sampan').t
t.test('page', function() return t.get('/nowhere').html:text('h1') end)
t.test('failed', function() return t.get('/boom').html:text('h1') end)";
    let js_app =
        "import { app } from 'sampan';\napp.get('/boom', () => { throw new Error('no'); });";
    let js = "import { t } from 'sampan';
t.test('page', async () => (await t.get('/nowhere')).html.text('h1'));
t.test('failed', async () => (await t.get('/boom')).html.text('h1'));";
    for (app, text, file, tests) in [
        ("app.lua", lua_app, "tests/a.test.lua", lua),
        ("app.js", js_app, "tests/a.test.js", js),
    ] {
        let folder = project(&[(app, text), (file, tests)]);
        let (status, out, errors) = test(folder.path(), &[]);
        assert_eq!(status, 1, "{out}{errors}");
        for note in [
            "GET /nowhere answered with status 404\n",
            "GET /boom answered with status 500\n",
        ] {
            assert!(out.contains(note), "{note} is not in:\n{out}");
        }
    }
}

#[test]
fn what_a_test_got_wrong_is_told() {
    let lua = "local t = require('sampan').t
t.test('nothing', function() t.equal() end)
t.test('one', function() t.not_equal(1) end)
t.test('nil is a value', function() t.equal(nil, nil) end)
t.test('misspelt', function() t.post('/', { form = { a = { contnt = 'x', filename = 'x' } } }) end)
t.test('empty', function() t.post('/', { form = { a = { filename = 'x' } } }) end)
t.test('a file', function() t.post('/', { form = { a = { content = 'x' } } }) end)
t.test('foreign', function() t.eq(1, 1) end)";
    let js = "import { t } from 'sampan';
t.test('nothing', () => t.equal());
t.test('one', () => t.notEqual(1));
t.test('undefined is a value', () => t.equal(undefined, undefined));
t.test('misspelt', async () => { await t.post('/', { form: { a: { contnt: 'x', filename: 'x' } } }); });
t.test('empty', async () => { await t.post('/', { form: { a: { filename: 'x' } } }); });
t.test('a file', async () => { await t.post('/', { form: { a: { content: 'x' } } }); });
t.test('foreign', () => t.eq(1, 1));";
    for (app, text, file, tests) in [
        ("app.lua", LUA_APP, "tests/a.test.lua", lua),
        ("app.js", JS_APP, "tests/a.test.js", js),
    ] {
        let folder = project(&[(app, text), (file, tests)]);
        let (status, out, errors) = test(folder.path(), &[]);
        let both = "two values are compared: give what there is, and what is expected";
        assert_eq!(out.matches(both).count(), 2, "{out}{errors}");
        for part in [
            "the file \"a\" of the form: unknown option 'contnt'; did you mean 'content'?",
            "the file \"a\" of the form: it has no content; a file has content, and may have filename and type",
            ": write t.equal(actual, expected)",
            "2 passed, 5 failed",
        ] {
            assert!(out.contains(part), "{part:?} is not in:\n{out}");
        }
        assert_eq!(status, 1);
    }
}

#[test]
fn a_test_that_does_not_end_names_the_call_that_waits() {
    let lua_app = "local app = require 'sampan'\napp.get('/', function() app.time.sleep(60) end)";
    let lua = "local t = require('sampan').t
t.test('waits', function()
  t.get('/')
end)";
    let js_app =
        "import { app, time } from 'sampan';\napp.get('/', async () => { await time.sleep(60); });";
    let js = "import { t } from 'sampan';
t.test('waits', async () => {
  await t.get('/');
});";
    for (app, text, file, tests) in [
        ("app.lua", lua_app, "tests/a.test.lua", lua),
        ("app.js", js_app, "tests/a.test.js", js),
    ] {
        let folder = project(&[(app, text), (file, tests)]);
        let (status, out, errors) = test(folder.path(), &["--timeout", "0.5"]);
        let told = format!(
            "{file}:3: the test did not end within 0.5 s (--timeout): t.get(\"/\") was still running"
        );
        assert!(status == 1 && out.contains(&told), "{out}{errors}");
    }
}

#[test]
fn tests_of_both_languages_see_the_real_application() {
    for (app, text, file, tests, count) in [
        ("app.lua", LUA_APP, "tests/notes.test.lua", LUA_TESTS, 5),
        ("app.js", JS_APP, "tests/notes.test.js", JS_TESTS, 4),
        ("app.lua", LUA_APP, "tests/deep/notes.test.js", JS_TESTS, 4),
    ] {
        // Tests in another language than the application's: what they ask it for differs there.
        let mixed = tests.replace("  const { json } = await t.get(\"/time\");\n  \
         t.equal(json", "  t.ok(true); const \
         json = { now: 86400, date: new Date().toISOString(), millis: Date.now() };\n  t.equal(json");
        let tests = if file.contains("deep") { &mixed } else { tests };
        let folder = project(&[(app, text), (file, tests)]);
        let (status, out, errors) = test(folder.path(), &[]);
        assert_eq!(status, 0, "{app}, {file}: {out}{errors}");
        assert!(out.contains(&format!("{count} passed, 0 failed")), "{out}");
        assert!(
            !folder.path().join("data.db").exists(),
            "its own database is left alone"
        );
    }
}

#[test]
fn failures_are_told_and_the_others_run() {
    const TESTS: &str = r#"
local app = require "sampan"
local t = app.t
t.test("differs", function()
  t.equal({ a = 1, b = { "x", "y" } }, { a = 1, b = { "x", "z" } }, "my message")
end)
t.test("a handler fails", function() t.equal(t.get("/boom").status, 200) end)
t.test("loops", function() while true do end end)
t.test("waits for ever", function() app.time.sleep(1000) end)
t.test("wrong request", function() t.get("/", { jsn = 1 }) end)
t.test("goes on", function() t.equal(t.get("/health").status, 200) end)
"#;
    let folder = project(&[
        ("app.lua", LUA_APP),
        ("sampan.toml", "[limits]\nscript_millis_max = 500\n"),
        ("tests/a.test.lua", "local x = = 1\n"),
        ("tests/b.test.lua", TESTS),
        ("tests/helper.lua", "this is no test"),
    ]);
    let junit = folder.path().join("report.xml");
    let report = junit.display().to_string();
    let args = ["--timeout", "2", "--junit", &report];
    let (status, out, errors) = test(folder.path(), &args);
    assert_eq!(status, 1, "{out}{errors}");
    for part in [
        "FAIL tests/a.test.lua: (does not load)\n     tests/a.test.lua:1: unexpected symbol near '='",
        "tests/b.test.lua:5: my message: the values differ\n         5 |   t.equal(",
        "         -     \"z\"\n         +     \"y\"",
        "expected 200, found 500",
        "ERROR GET /boom: app.lua:13: kaputt",
        "the script ran longer than script_millis_max (500 ms)",
        "the test did not end within 2 s (--timeout)",
        "unknown option 'jsn'",
        "ok   tests/b.test.lua: goes on",
        "1 passed, 6 failed",
    ] {
        assert!(out.contains(part), "{part:?} is not in:\n{out}");
    }
    let xml = fs::read_to_string(&junit).expect("a report");
    assert!(xml.contains("tests=\"7\" failures=\"6\""), "{xml}");
    let (status, out, _) = test(folder.path(), &["--filter", "goes on", "--json"]);
    let lines: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(
        status, 0,
        "the filter names nothing in the file that does not load: {out}"
    );
    assert_eq!(lines[1]["not_loaded"][0], "tests/a.test.lua");
    assert_eq!(test(folder.path(), &["--filter", "a.test"]).0, 1);
    assert_eq!(test(folder.path(), &["--filter", "x ="]).0, 1);
    assert_eq!(lines[0]["name"], "goes on");
    assert_eq!(
        (&lines[0]["passed"], &lines[1]["filtered"]),
        (&true.into(), &5.into())
    );
}

#[test]
fn names_of_files_do_not_act_on_a_terminal() {
    let folder = project(&[
        ("app.lua", LUA_APP),
        (
            "tests/a\x1b[2J.test.lua",
            "require('sampan').t.test('one', function() end)\n",
        ),
        ("tests/b\x1b[2J.test.lua", "local x = = 1\n"),
    ]);
    let (status, out, errors) = test(folder.path(), &["--filter", "one"]);
    assert_eq!(status, 0, "{out}{errors}");
    for part in [
        "ok   tests/a\\u{1b}[2J.test.lua: one\n",
        "left out: tests/b\\u{1b}[2J.test.lua does not load",
    ] {
        assert!(out.contains(part), "{part:?} is not in:\n{out}");
    }
    assert!(!out.contains('\x1b'), "{out}");
}

#[test]
fn snapshots_are_written_compared_and_accepted() {
    let tests = |value: &str| {
        let text =
            "local t = require('sampan').t\nt.test('one', function() t.snapshot(VALUE) end)\n";
        text.replace("VALUE", value)
    };
    let folder = project(&[
        ("app.lua", LUA_APP),
        ("tests/s.test.lua", &tests("{ a = 1 }")),
    ]);
    let again = |args: &[&str]| test(folder.path(), args);
    assert!(again(&[]).1.contains("1 snapshot written"));
    let kept = folder.path().join("tests/snapshots/s.test.lua/one.txt");
    assert_eq!(
        fs::read_to_string(&kept).expect("kept"),
        "{\n  \"a\": 1\n}\n"
    );
    assert!(again(&[]).1.contains("1 passed, 0 failed in"));
    fs::write(folder.path().join("tests/s.test.lua"), tests("{ a = 2 }")).expect("changed");
    let (status, out, _) = again(&[]);
    assert!(
        status == 1 && out.contains("differs; sampan test --update accepts it"),
        "{out}"
    );
    assert_eq!(again(&["--update"]).0, 0);
    assert_eq!(again(&[]).0, 0);
}

#[test]
fn a_project_without_tests_says_what_to_write() {
    let folder = project(&[("app.lua", LUA_APP)]);
    let (status, _, errors) = test(folder.path(), &[]);
    assert!(
        status == 1 && errors.contains("make a file such as tests/app.test.lua"),
        "{errors}"
    );
    fs::create_dir(folder.path().join("tests")).expect("a folder");
    fs::write(folder.path().join("tests/a.test.lua"), "").expect("a file");
    let (status, _, errors) = test(folder.path(), &[]);
    assert!(
        status == 1 && errors.contains("write t.test(name, fn)"),
        "{errors}"
    );
}

#[test]
fn one_file_of_tests_is_run_alone() {
    let passing = "local t = require('sampan').t\nt.test('one', function() end)\n";
    let folder = project(&[
        ("app.lua", LUA_APP),
        ("tests/a.test.lua", passing),
        ("tests/deep/b.test.lua", passing),
        ("tests/helper.lua", ""),
        ("other/c.test.lua", passing),
    ]);
    let file = |name: &str| folder.path().join(name);
    let (status, out, errors) = test(&file("tests/deep/b.test.lua"), &[]);
    assert_eq!(status, 0, "{out}{errors}");
    assert!(
        out.contains("ok   tests/deep/b.test.lua: one") && out.contains("1 passed"),
        "{out}"
    );
    for (name, part) in [
        ("tests/helper.lua", "is no file of tests"),
        ("other/c.test.lua", "--filter"),
    ] {
        let (status, _, errors) = test(&file(name), &[]);
        assert!(status == 1 && errors.contains(part), "{errors}");
    }
}

#[test]
fn a_snapshot_of_an_answer_leaves_out_what_changes() {
    const APP: &str = "local app = require 'sampan'\napp.get('/', function(req)\n\
        req.session.seen = true\n  return { seen = true }\nend)\n";
    const TESTS: &str = "local t = require('sampan').t\nt.test('a', function()\n  t.snapshot(t.get('/'))\nend)\n\
        t.test('b', function() t.snapshot('text') end)\n";
    let folder = project(&[("app.lua", APP), ("tests/a.test.lua", TESTS)]);
    assert_eq!(test(folder.path(), &[]).0, 0);
    let kept = folder.path().join("tests/snapshots/a.test.lua/a.txt");
    let kept = fs::read_to_string(kept).expect("kept");
    assert!(
        kept.contains("\"set-cookie\": \"session=...\"") && !kept.contains("date"),
        "{kept}"
    );
    let second = || SystemTime::UNIX_EPOCH.elapsed().expect("later").as_secs();
    let first = second();
    wait::until("the next second of the clock", || second() > first);
    let (status, out, errors) = test(folder.path(), &[]);
    assert_eq!(status, 0, "{out}{errors}");
    fs::write(
        folder.path().join("tests/a.test.lua"),
        TESTS.replace("'text'", "'text\\n'"),
    )
    .expect("changed");
    let (status, out, _) = test(folder.path(), &["--filter", ": b"]);
    assert!(status == 1 && out.contains("the snapshot"), "{out}");
}

#[test]
fn templates_use_the_filters_of_the_project() {
    const LUA: &str = "local app = require 'sampan'\napp.template.filter('money', function(v) return v .. '$' end)\n\
        app.get('/', function() return app.render('a.html') end)\n";
    const JS: &str = "import { app, render, template } from 'sampan';\ntemplate.filter('money', (v) => v + '$');\n\
        app.get('/', () => render('a.html'));\n";
    const LUA_TEST: &str = "local t = require('sampan').t\nt.test('a', function() t.equal(t.get('/').body, '1$') \
     end)\n";
    const JS_TEST: &str = "import { t } from 'sampan';\nt.test('a', async () => t.equal((await t.get('/')).body, \
     '1$'));\n";
    for (app, text, file, tests) in [
        ("app.lua", LUA, "tests/a.test.lua", LUA_TEST),
        ("app.js", JS, "tests/a.test.js", JS_TEST),
        ("app.lua", LUA, "tests/a.test.js", JS_TEST),
    ] {
        let folder = project(&[
            (app, text),
            ("templates/a.html", "{{ 1|money }}"),
            (file, tests),
        ]);
        let (status, out, errors) = test(folder.path(), &[]);
        assert_eq!(status, 0, "{app}, {file}: {out}{errors}");
    }
}

#[test]
fn what_nobody_awaits_fails_its_test() {
    const TESTS: &str = r#"
import { t, time } from "sampan";
t.test("an inner function", () => { (async () => { await 1; t.equal(1, 2); })(); });
t.test("a check", () => { t.fails(() => {}); });
t.test("a request", () => { t.get("/health"); });
t.test("a wrong request", () => { t.post("/nope", { jsn: 1 }); });
t.test("a rejection", async () => { Promise.reject(new Error("x")); await 1; });
t.test("a timer", () => { setTimeout(() => { throw new Error("late"); }, 5); });
t.test("a wait", () => { (async () => { await time.sleep(0.02); t.equal(1, 2); })(); });
t.test("no end", () => { setInterval(() => {}, 10); });
t.test("all is awaited", async () => {
  await Promise.all([t.get("/health"), t.get("/health")]);
  await t.fails(async () => { throw new Error("x"); });
  const timer = setInterval(() => {}, 5);
  await time.sleep(0.02);
  clearInterval(timer);
});
"#;
    let app = "import { app } from 'sampan';\napp.get('/health', () => 'well');\n";
    let folder = project(&[("app.js", app), ("tests/a.test.js", TESTS)]);
    let (status, out, errors) = test(folder.path(), &[]);
    assert_eq!(status, 1, "{out}{errors}");
    for part in [
        "tests/a.test.js:3: unhandled rejection: expected 2, found 1",
        "t.fails was still running when the test ended: await it",
        "t.get(\"/health\") was still running when the test ended: await it",
        "tests/a.test.js:6: unhandled rejection: t.post: unknown option 'jsn'; did you mean 'json'?",
        "tests/a.test.js:7: unhandled rejection: x",
        "tests/a.test.js:8: late",
        "The test did not wait for what failed here: await it",
        "tests/a.test.js:9: unhandled rejection: expected 2, found 1",
        "something still runs after the end of the test: await it, or clear its timer",
        "ok   tests/a.test.js: all is awaited",
        "1 passed, 8 failed",
    ] {
        assert!(out.contains(part), "{part:?} is not in:\n{out}");
    }
}

/// A password is hashed on threads of the process: what they hold does not delay the end.
/// A run that goes on until it is told to end.
struct Ongoing {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Ongoing {
    /// Starts it in `folder`, with its temporary folders in `temp`.
    fn start(folder: &Path, args: &[&str], temp: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command.current_dir(folder).arg("test").args(args);
        command.env("TMPDIR", temp).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, out }
    }

    /// Everything up to the line that contains `part`.
    fn until(&mut self, part: &str) -> String {
        let mut seen = String::new();
        loop {
            let begun = seen.len();
            let read = self.out.read_line(&mut seen).expect("UTF-8");
            assert!(read > 0, "{part:?} never came:\n{seen}");
            if seen[begun..].contains(part) {
                return seen;
            }
        }
    }

    /// Sends Ctrl-C, and gives the exit status.
    fn interrupt(self) -> Option<i32> {
        self.signal("-INT")
    }

    fn signal(mut self, name: &str) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.expect("kill runs").success());
        self.child.wait().expect("it ends").code()
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).expect("a folder").next().is_none()
}

#[test]
fn watched_tests_run_again_at_each_change() {
    let tests = |value: u32| {
        format!(
            "local t = require('sampan').t\nt.test('one', function() t.equal(1, {value}) end)\n"
        )
    };
    for path in [".", "app.lua", "tests/a.test.lua"] {
        let folder = project(&[("app.lua", LUA_APP), ("tests/a.test.lua", &tests(2))]);
        let temp = tempfile::tempdir().expect("a folder");
        let mut run = Ongoing::start(folder.path(), &[path, "--watch"], temp.path());
        let waiting = "waiting for changes";
        assert!(run.until(waiting).contains("0 passed, 1 failed"));
        // What tests write is no change: the next run is that of the test.
        fs::create_dir(folder.path().join("tests/snapshots")).expect("a folder");
        fs::write(folder.path().join("tests/snapshots/a.json"), "1").expect("saved");
        let file = folder.path().join("tests/a.test.lua");
        fs::write(&file, tests(1)).expect("saved");
        assert!(run.until(waiting).contains("1 passed, 0 failed"));
        // An app that does not load is told, and the next change is waited for.
        fs::write(folder.path().join("app.lua"), "local x = = 1").expect("saved");
        assert!(run.until(waiting).contains("app.lua:1: "));
        fs::write(folder.path().join("app.lua"), LUA_APP).expect("saved");
        assert!(run.until(waiting).contains("1 passed, 0 failed"));
        assert_eq!(run.interrupt(), Some(130));
        assert!(is_empty(temp.path()), "its temporary folder is left");
    }
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    const TESTS: &str = "local app = require('sampan')\nlocal t = app.t\nt.test('first', function() \
     end)\nt.test('waits', function() app.time.sleep(60) end)\n";
    let folder = project(&[("app.lua", LUA_APP), ("tests/a.test.lua", TESTS)]);
    let temp = tempfile::tempdir().expect("a folder");
    for (signal, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let mut run = Ongoing::start(folder.path(), &["--timeout", "1min"], temp.path());
        run.until("first");
        assert_eq!(run.signal(signal), Some(status));
        assert!(
            is_empty(temp.path()),
            "{signal}: its temporary folder is left"
        );
    }
    assert!(!folder.path().join("data.db").exists());
}

/// Runs as a user who may read the project, but not write in it.
#[test]
fn a_project_that_may_not_be_written_is_tested_and_checked() {
    const NOBODY: u32 = 65_534;
    let snapshot =
        "local t = require('sampan').t\nt.test('one', function() t.snapshot({ a = 1 }) end)\n";
    let folder = project(&[
        ("app.lua", LUA_APP),
        (
            "tests/a.test.lua",
            "local t = require('sampan').t\nt.test('one', function() end)\n",
        ),
        ("tests/b.test.lua", snapshot),
    ]);
    let temp = tempfile::tempdir().expect("a folder");
    let allow = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("permitted");
    };
    allow(temp.path(), 0o777);
    allow(&folder.path().join("tests"), 0o555);
    allow(folder.path(), 0o555);
    let path = folder.path().display().to_string();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sampan"));
        command
            .args(args)
            .env("TMPDIR", temp.path())
            .env_remove("CI");
        // Root may write everywhere.
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().ok()?;
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        Some((output.status.code(), text.into_owned()))
    };
    if run(&["--version"]).is_none() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: another user cannot run the command from where it is built"
        );
        return;
    }
    let (status, out) = run(&["test", &path]).expect("it runs");
    assert_eq!(status, Some(1), "{out}");
    assert!(
        out.contains("1 passed, 1 failed") && out.contains("the snapshot tests/snapshots/"),
        "{out}"
    );
    let (status, out) = run(&["check", &path]).expect("it runs");
    assert!(status == Some(0) && out.contains("all is well"), "{out}");
    let (status, out) = run(&["new", &format!("{path}/new")]).expect("it runs");
    assert!(
        status == Some(1) && out.contains("cannot write") && out.contains("Permission denied"),
        "{out}"
    );
    allow(folder.path(), 0o755);
    allow(&folder.path().join("tests"), 0o755);
}

#[test]
fn two_hundred_small_tests_pass() {
    let mut tests = String::from("local t = require('sampan').t\n");
    for number in 0..200 {
        tests += &format!(
            "t.test('{number}', function() t.equal(t.post('/notes', {{ json = {{ text = 'n' }} }}).json.id, 2) end)\n"
        );
    }
    let folder = project(&[("app.lua", LUA_APP), ("tests/many.test.lua", &tests)]);
    let (status, out, _) = test(folder.path(), &[]);
    assert_eq!(status, 0, "{out}");
}

#[test]
fn a_job_that_spins_ends_with_its_test() {
    let app = "local app = require 'sampan'\napp.job('spins', { timeout = '1 h' }, function() while true do end \
     end)\napp.get('/', function() app.enqueue('spins') end)\n";
    let tests =
        "local t = require('sampan').t\nt.test('spins', function() t.get('/') t.run_jobs() end)\n";
    let folder = project(&[("app.lua", app), ("tests/a.test.lua", tests)]);
    let (status, out, errors) = test(folder.path(), &["--timeout", "0.5"]);
    let text = "the test did not end within 0.5 s (--timeout)";
    assert!(status == 1 && out.contains(text), "{out}{errors}");
}

#[test]
fn a_test_that_adds_a_job_of_the_project_keeps_it_unique() {
    let app = "local app = require 'sampan'\napp.job('sum', { unique = true }, function() end)\n\
     app.job('each', function() end)\n";
    let tests = "local app = require('sampan')\napp.t.test('adds', function()\n\
     app.t.equal(app.enqueue('sum', 7), app.enqueue('sum', 7))\n\
     assert(app.enqueue('sum', 7) ~= app.enqueue('sum', 8))\n\
     assert(app.enqueue('each', 7) ~= app.enqueue('each', 7))\n\
     app.t.equal(app.t.run_jobs().ran, 4)\nend)\n";
    let folder = project(&[("app.lua", app), ("tests/a.test.lua", tests)]);
    let (status, out, errors) = test(folder.path(), &[]);
    assert_eq!(status, 0, "{out}{errors}");
}

#[test]
fn attempts_of_jobs_are_counted() {
    let app = "local app = require 'sampan'\nlocal broken = function() error('no way') end\n\
     app.job('fine', function() end)\napp.job('again', broken)\napp.job('dies', { attempts = 1 }, broken)\n\
     app.get('/', function() for _, name in ipairs { 'fine', 'again', 'dies' } do app.enqueue(name) end end)\n";
    let test_lua = "local t = require('sampan').t\nt.test('counts', function()\n  t.get('/')\n\
     t.equal(t.run_jobs(), { ran = 3, failed = 2, dead = 1 })\n\
     t.equal(t.run_jobs(), { ran = 0, failed = 0, dead = 0 })\nend)\n";
    let test_js = "import { t } from 'sampan';\nt.test('counts in JavaScript', async () => {\n  await t.get('/');\n\
     t.equal(await t.runJobs(), { ran: 3, failed: 2, dead: 1 });\n});\n";
    let folder = project(&[
        ("app.lua", app),
        ("tests/a.test.lua", test_lua),
        ("tests/b.test.js", test_js),
    ]);
    let (status, out, errors) = test(folder.path(), &[]);
    assert_eq!(status, 0, "{out}{errors}");
}
