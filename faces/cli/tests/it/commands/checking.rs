//! `sampan routes` and `sampan check`: what a project declares, and what is wrong with it.

mod places;

use crate::commands::command::{fails, run};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::TempDir;

/// A project with these files, of which some lie in folders.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text) in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }
    folder
}

/// Returns the output of a command on a project: exit status and standard output.
fn said(command: &str, folder: &TempDir, args: &[&str]) -> (i32, String) {
    let path = folder.path().display().to_string();
    let (status, out, errors) = run(&[&[command, &path], args].concat());
    assert_eq!(errors, "", "{out}");
    (status, out)
}

fn objects(out: &str) -> Vec<Value> {
    let object = |line| serde_json::from_str(line).expect("an object of JSON");
    out.lines().map(object).collect()
}

const LUA: &str = r#"local app = require "sampan"
app.use("/api/*", app.cors { origins = { "https://example.com" } })
app.use("/admin/*", function(req, next) return next(req) end)
app.get("/", function() return "hello" end)
app.group("/api", function(api)
  api.post("/notes/:id", function(req) return { id = req.params.id } end)
end)
app.get("/version", { version = 1 })
app.all("/any/*rest", function() end)
app.not_found(function() return app.text("nothing", 404) end)
"#;

const TS: &str = r#"import { app } from "sampan";
app.get("/", (): string => "hello");
app.delete("/notes/:id", () => null);
export default { fetch: () => new Response("rest") };
"#;

#[test]
fn routes_are_shown_with_their_places() {
    let folder = project(&[("app.lua", LUA), ("public/a.txt", "a")]);
    let (status, out) = said("routes", &folder, &[]);
    let expected = "\
use        /api/*          app.lua:2 (native)
use        /admin/*        app.lua:3
GET        /               app.lua:4
POST       /api/notes/:id  app.lua:6
GET        /version        app.lua:8 (a value, answered without the script)
ALL        /any/*rest      app.lua:9
files      /*
not_found  *
";
    assert_eq!((status, out.as_str()), (0, expected));
    assert!(!folder.path().join("data.db").exists());
    let (_, out) = said("routes", &folder, &["--json"]);
    let rows = objects(&out);
    let route = json!({
        "kind": "handler", "method": "POST", "protocol": null, "pattern": "/api/notes/:id", "lane": "measured",
        "file": "app.lua", "line": 6,
    });
    assert_eq!(rows[3], route);
    assert_eq!(rows[6]["kind"], "files");
    let folder = project(&[("app.ts", TS)]);
    let (_, out) = said("routes", &folder, &[]);
    let expected = "\
GET     /           app.ts:2
DELETE  /notes/:id  app.ts:3
fetch   *            (has routes of its own)
";
    assert_eq!(
        out.replace("  (has", " (has"),
        expected.replace("  (has", " (has")
    );
    let folder = project(&[("app.lua", "local x = = 1")]);
    let path = folder.path().display().to_string();
    let (status, _, errors) = run(&["routes", &path]);
    assert!(status == 1 && errors.contains("app.lua:1: "), "{errors}");
}

const WORK_LUA: &str = r#"local app = require "sampan"
app.get("/", function() return "hello" end)
app.group("/live", function(live)
  live.ws("/chat", { message = function() end })
  live.sse("/events", { name = "events" }, function() end)
end)
app.job("mails", { queue = "mail" }, function() end)
app.job("images", function() end)
app.cron("0 3 * * *", "cleanup", { tz = "Europe/Berlin" }, function() end)
app.every(0.5, function() end)
"#;

const WORK_JS: &str = r#"import app from "sampan";
app.get("/", () => "hello");
app.group("/live", (live) => {
  live.ws("/chat", { message() {} });
  live.sse("/events", { name: "events" }, () => {});
});
app.job("mails", { queue: "mail" }, () => {});
app.job("images", () => {});
app.cron("0 3 * * *", "cleanup", { tz: "Europe/Berlin" }, () => {});
app.every(0.5, () => {});
"#;

#[test]
fn sockets_streams_jobs_and_schedules_are_listed_as_such() {
    for (file, text) in [("app.lua", WORK_LUA), ("app.js", WORK_JS)] {
        let folder = project(&[(file, text)]);
        let (_, out) = said("routes", &folder, &[]);
        let expected = "\
GET    /             FILE:2
WS     /live/chat    FILE:4
SSE    /live/events  FILE:5
job    images        FILE:8 (queue default)
job    mails         FILE:7 (queue mail)
cron   cleanup       FILE:9 (0 3 * * *, Europe/Berlin, queue cron)
every  0.5 s         FILE:10 (in each worker)
";
        assert_eq!(out.replace(file, "FILE"), expected);
        let (_, out) = said("routes", &folder, &["--json"]);
        let rows = objects(&out);
        let (kind, protocol): (Vec<&Value>, Vec<&Value>) = rows[..3]
            .iter()
            .map(|row| (&row["method"], &row["protocol"]))
            .unzip();
        assert_eq!(kind, ["GET", "GET", "GET"]);
        assert_eq!(protocol, [&Value::Null, &json!("ws"), &json!("sse")]);
        let work = [
            json!({ "kind": "job", "name": "images", "queue": "default", "file": file, "line": 8 }),
            json!({ "kind": "job", "name": "mails", "queue": "mail", "file": file, "line": 7 }),
            json!({
                "kind": "cron", "name": "cleanup", "queue": "cron", "schedule": "0 3 * * *", "tz": "Europe/Berlin",
                "file": file, "line": 9,
            }),
            json!({ "kind": "every", "seconds": 0.5, "file": file, "line": 10 }),
        ];
        assert_eq!(rows[3..], work);
    }
    let folder = project(&[("app.lua", "require('sampan').job('a', function() end)")]);
    let (_, out) = said("routes", &folder, &[]);
    let expected = "\
no routes: every answer is 404
job  a  app.lua:1 (queue default)
";
    assert_eq!(out, expected);
}

#[test]
fn a_project_in_order_passes() {
    let files = [
        (
            "app.lua",
            "local app = require 'sampan'\nlocal lib = require 'lib.notes'\napp.get('/', function(req)\n  return \
             app.render(\"page.html\", lib)\nend)\napp.db.query('SELECT * FROM notes')\n",
        ),
        (
            "lib/notes.lua",
            "return { later = function() return require('lib.later') end }\n",
        ),
        ("lib/later.lua", "return {}\n"),
        ("types/sampan.lua", ""),
        ("tests/app.test.lua", ""),
        (
            "templates/base.html",
            "{% block main %}{% endblock %}<link href=\"{{ asset('a.css') }}\">",
        ),
        ("templates/page.html", "{% extends \"base.html\" %}"),
        ("public/a.css", ""),
        (
            "migrations/0001_notes.sql",
            "CREATE TABLE notes (id INTEGER PRIMARY KEY);",
        ),
    ];
    let folder = project(&files);
    let (status, out) = said("check", &folder, &[]);
    assert_eq!(
        (status, out.as_str()),
        (0, "all is well (1 route, 2 templates, 1 migration)\n")
    );
    assert!(!folder.path().join("data.db").exists());
    let (_, out) = said("check", &folder, &["--json"]);
    let summary =
        json!({ "errors": 0, "warnings": 0, "routes": 1, "templates": 2, "migrations": 1 });
    assert_eq!(objects(&out), [summary]);
}

/// Each part of a project that is wrong, and what is said of it.
#[test]
fn errors_are_told_with_their_places() {
    let hello = (
        "app.lua",
        "local app = require 'sampan'\napp.get('/', function() end)\n",
    );
    let told = |files: &[(&str, &str)], parts: &[&str]| {
        let folder = project(files);
        let (status, out) = said("check", &folder, &[]);
        assert_eq!(status, 1, "{out}");
        for part in parts {
            assert!(out.contains(part), "{part:?} is not in:\n{out}");
        }
    };
    told(
        &[("app.lua", "local app = require 'sampan'\nlocal x = = 1\n")],
        &["error: app.lua:2: ", "2 | local x = = 1"],
    );
    told(
        &[("app.js", "import { nothing } from \"./nothing.js\";\n")],
        &["error: app.js", "nothing.js"],
    );
    told(
        &[(
            "app.lua",
            "require('sampan').on_start(function() error('kaputt') end)\n",
        )],
        &["error: app.lua:1: kaputt"],
    );
    let config = (
        "sampan.toml",
        "[limits]\nscript_milis_max = 1\n[server]\nworkers = \"two\"\n",
    );
    told(
        &[hello, config],
        &[
            "error: sampan.toml:2: [limits] has no key \"script_milis_max\"",
            "error: sampan.toml:4: [server] workers = \"two\"",
            "2 errors, 0 warnings",
        ],
    );
    let config = (
        "sampan.toml",
        "[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n",
    );
    told(
        &[hello, config],
        &["error: [tls] ", "cert.pem: cannot be read"],
    );
    told(
        &[hello, config, ("cert.pem", "no certificate")],
        &["error: [tls] ", "cert.pem: holds no certificate"],
    );
    let sql = ("migrations/0001_a.sql", "CREATE TABLE a (id INTEGER;\n");
    told(
        &[hello, sql],
        &[
            "error: migrations/0001_a.sql:1:",
            "1 error, 0 warnings (1 migration)",
        ],
    );
    // All templates are told, not only the first.
    let first = ("templates/a.html", "{% if %}");
    let second = ("templates/b.html", "\n{{ a.b. }}");
    told(
        &[hello, first, second],
        &[
            "error: templates/a.html:1:7: ",
            "error: templates/b.html:2:9: ",
            "2 errors",
        ],
    );
    let missing = ("templates/a.html", "{% include \"none.html\" %}");
    told(
        &[hello, missing],
        &["error: templates/a.html:1:12: ", "none.html"],
    );
    told(
        &[hello, ("locales/en.toml", "a = \n")],
        &["locales/en.toml"],
    );
}

#[test]
fn texts_and_functions_that_are_not_there_are_told() {
    let app = "local app = require 'sampan'\napp.get('/', function(req)\n  return req:t(\"titel\")\nend)\n\
               app.get('/de', function() return app.i18n.t('de', 'gone') end)\n";
    let folder = project(&[
        ("app.lua", app),
        ("locales/en.toml", "title = \"x\"\nbye = \"x\"\n"),
        ("locales/de.toml", "title = \"x\"\nold = \"x\"\n"),
        ("templates/a.html", "\n{{ t(\"titles\") }}{{ t(\"bye\") }}"),
    ]);
    let (_, out) = said("check", &folder, &[]);
    for part in [
        "app.lua:3: t(\"titel\"): no file in locales/ has this text; did you mean \"title\"?",
        "app.lua:5: t(\"gone\"): no file in locales/ has this text",
        "templates/a.html:2: t(\"titles\"): no file in locales/ has this text; did you mean \"title\"?",
        "locales/de.toml: there is no translation of bye, which locales/en.toml has",
        "locales/de.toml: old is not in locales/en.toml, so no text asks for it",
    ] {
        assert!(out.contains(part), "{part:?} is not in:\n{out}");
    }
    let hello =
        "local app = require 'sampan'\napp.get('/', function() return app.render 'a.html' end)\n";
    let folder = project(&[
        ("app.lua", hello),
        ("sampan.toml", "[i18n]\ndefault = \"de\"\n"),
        ("templates/a.html", "x"),
    ]);
    let (_, out) = said("check", &folder, &[]);
    assert!(out.contains("there is no locales/de.toml"), "{out}");
    let folder = project(&[("app.lua", hello), ("templates/a.html", "\n{{ rnge(3) }}")]);
    let (status, out) = said("check", &folder, &[]);
    let told = "templates/a.html:2:4: unknown function: there is no function rnge; did you mean \"range\"?";
    assert!(status == 1 && out.contains(told), "{out}");
}

#[test]
fn all_names_that_templates_misspell_are_told() {
    let folder = project(&[
        ("app.lua", LUA),
        (
            "templates/a.html",
            "{{ rnge(3) }}\n{{ 1 | upperr }}{{ 1 | upperr }}\n{% include \"none.html\" %}\n",
        ),
        ("templates/b.html", "{{ 1 is evn }}"),
    ]);
    let (status, out) = said("check", &folder, &[]);
    assert_eq!(status, 1, "{out}");
    for told in [
        "error: templates/a.html:1:4: unknown function: there is no function rnge",
        "error: templates/a.html:2:8: unknown filter: ",
        "error: templates/a.html:3:12: template not found: ",
        "error: templates/b.html:1:9: unknown test: ",
    ] {
        assert_eq!(out.matches(told).count(), 1, "{told}: {out}");
    }
    assert!(out.contains("4 errors, 0 warnings"), "{out}");
    let many: String = (0..200)
        .map(|at| format!("{{{{ none{at}() }}}}\n"))
        .collect();
    let folder = project(&[("app.lua", LUA), ("templates/a.html", &many)]);
    let (_, out) = said("check", &folder, &[]);
    assert!(
        out.contains("50 errors, ") && out.contains("  (there are more)"),
        "{out}"
    );
}

#[test]
fn translations_of_the_messages_about_invalid_values_are_asked_for() {
    // The table of the chapter has them all.
    let chapter = include_str!("../../../../../docs/pages/validation.md");
    let (_, table) = chapter.split_once("| key | text |").expect("the table");
    let keys = table
        .lines()
        .filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    let keys: Vec<&str> = keys.collect();
    assert!(keys.len() > 20, "{keys:?}");
    let rows: String = keys.iter().map(|key| format!("{key} = \"x\"\n")).collect();
    let folder = project(&[
        (
            "app.lua",
            "local app = require 'sampan'\napp.get('/', function() end)\n",
        ),
        ("locales/en.toml", "title = \"x\"\n"),
        (
            "locales/de.toml",
            &format!("title = \"x\"\n[validate]\n{rows}"),
        ),
        (
            "locales/fr.toml",
            "title = \"x\"\n[validate]\nrequierd = \"x\"\n",
        ),
    ]);
    let (_, out) = said("check", &folder, &[]);
    let expected = "\
warning: locales/fr.toml: validate.requierd is not in locales/en.toml, so no text asks for it; \
did you mean \"required\"?
warning: locales/fr.toml: there is no translation of validate.any, validate.boolean, validate.chars and 24 more, \
which locales/de.toml has
0 errors, 2 warnings (1 route)
";
    assert_eq!(out, expected);
}

#[test]
fn settings_and_urls_that_name_nothing_are_warnings() {
    let app = "local app = require 'sampan'\n\
               app.get('/products/:id', { name = 'product' }, function() return app.render 'a.html' end)\n\
               app.post('/hooks/stripe', function() end)\n\
               app.job('resize', { queue = 'pictures' }, function() end)\n";
    let toml = |fallback, queue, path| {
        format!(
            "[static]\nfallback = \"{fallback}\"\n[jobs]\nqueues = [\"{queue} 1\", \"mail 2\"]\n\
             [csrf]\nexcept = [\"{path}\"]\n"
        )
    };
    let wrong = toml("nope.html", "picture", "/hoks/*");
    let page = "{{ url_for(\"product\", id=1) }}\n{{ url_for(\"prodct\", id=1) }}";
    let folder = project(&[
        ("app.lua", app),
        ("sampan.toml", &wrong),
        ("templates/a.html", page),
        ("public/app.html", "x"),
    ]);
    let (_, out) = said("check", &folder, &[]);
    let out = out.replace(&format!("{}/", folder.path().display()), "");
    let expected = "\
warning: sampan.toml:2: [static] fallback: there is no public/nope.html
warning: sampan.toml:4: [jobs] queues: no script that is loaded names the queue \"picture\"
warning: sampan.toml:6: [csrf] except: \"/hoks/*\" covers no route
warning: templates/a.html:2: url_for(\"prodct\"): no route has this name; did you mean \"product\"?
0 errors, 4 warnings (2 routes, 1 template)
";
    assert_eq!(out, expected);
    let right = toml("app.html", "pictures", "/hooks/*");
    fs::write(folder.path().join("sampan.toml"), right).expect("written");
    fs::write(folder.path().join("templates/a.html"), "x").expect("written");
    let (_, out) = said("check", &folder, &[]);
    assert!(out.starts_with("all is well"), "{out}");
}

#[test]
fn a_parameter_that_is_text_in_its_pattern_is_a_warning() {
    let app = "local app = require 'sampan'\n\
               app.get('/v:major', function(req) return req.params.major end)\n\
               app.post('/items/:id:cancel', function(req) return req.params.id end)\n\
               app.get('/:id:size/:size', function(req) return req.params.size end)\n";
    let folder = project(&[("app.lua", app)]);
    let (_, out) = said("check", &folder, &[]);
    let out = out.replace(&format!("{}/", folder.path().display()), "");
    let expected = "\
warning: app.lua:2: the pattern \"/v:major\" has no parameter \"major\": write {:major} for one, as ':' behind a word \
is text
0 errors, 1 warning (3 routes)
";
    assert_eq!(out, expected);
    for handler in [
        "({ params: { major } }) => major",
        "(req) => { const { major } = req.params; return major; }",
    ] {
        let app = format!("import {{ app }} from 'sampan';\napp.get('/v:major', {handler});\n");
        let folder = project(&[("app.js", &app)]);
        let (_, out) = said("check", &folder, &[]);
        assert!(
            out.starts_with("warning: app.js:2: the pattern \"/v:major\" has no"),
            "{out}"
        );
    }
}

#[test]
fn parameters_as_other_frameworks_write_them_are_warnings() {
    let lua = "local app = require 'sampan'\n\
               app.get('/items/{id}', function(req) return req.params.id end)\n\
               app.get('/users/<int:id>', function(req) return req.params.id end)\n\
               app.use('/v{major}/*', function(req, next) return next(req) end)\n\
               app.get('/a/:b/%7Bid%7D', function(req) return req.params.b end)\n";
    let js = "import { app } from 'sampan';\n\
              app.get('/items/{id}', (req) => req.params.id);\n\
              app.get('/users/<int:id>', (req) => req.params.id);\n\
              app.use('/v{major}/*', (req, next) => next(req));\n\
              app.get('/a/:b/%7Bid%7D', (req) => req.params.b);\n";
    for (file, text) in [("app.lua", lua), ("app.js", js)] {
        let folder = project(&[(file, text)]);
        let (status, out) = said("check", &folder, &[]);
        let expected = format!(
            "\
warning: {file}:4: {{major}} is text in the pattern \"/v{{major}}/*\": a parameter is written {{:major}}
warning: {file}:2: {{id}} is text in the pattern \"/items/{{id}}\": a parameter is written :id
warning: {file}:3: <int:id> is text in the pattern \"/users/<int:id>\": a parameter is written :id
0 errors, 3 warnings (3 routes)
"
        );
        assert_eq!((status, out), (0, expected));
    }
}

#[test]
fn promises_that_are_used_as_values_are_warnings() {
    let app = |verify: &str| {
        format!(
            "import {{ app, json, password }} from \"sampan\";\nimport {{ isUp }} from \"./up.ts\";\n\
             app.post(\"/login\", async (req) => {{\n  const f = await req.form<{{ password: string }}>();\n  \
             if (!{verify}(f.password, \"h\")) return json({{}}, 401);\n  return isUp();\n}});\n"
        )
    };
    let up = |fetch: &str| {
        format!(
            "export async function isUp() {{\n  const answer = {fetch}(\"https://example.com\");\n  \
             return answer.ok;\n}}\n"
        )
    };
    let wrong = (app("password.verify"), up("fetch"));
    let folder = project(&[("app.ts", &wrong.0), ("up.ts", &wrong.1)]);
    let (status, out) = said("check", &folder, &[]);
    let expected = "\
warning: app.ts:5: password.verify(...) gives a promise, which is always true: write await password.verify(...)
warning: up.ts:2: fetch(...) gives a promise, which has no ok (used in line 3): write await fetch(...)
0 errors, 2 warnings (1 route)
";
    assert_eq!((status, out.as_str()), (0, expected));
    let right = (app("await password.verify"), up("await fetch"));
    let folder = project(&[("app.ts", &right.0), ("up.ts", &right.1)]);
    let (_, out) = said("check", &folder, &[]);
    assert!(out.starts_with("all is well"), "{out}");
}

#[test]
fn filters_without_an_argument_that_they_need_are_told() {
    let page = "{{ 'a'|replace('a') }}\n{{ [1]|batch }}\n{{ [1]|map }}\n{{ [1]|selectattr }}\n\
                {{ 'a'|replace('a', new='b') }}{{ [{'a': 1}]|map(attribute='a') }}\n";
    let folder = project(&[("app.lua", LUA), ("templates/a.html", page)]);
    let (status, out) = said("check", &folder, &[]);
    assert_eq!(status, 1, "{out}");
    for told in [
        "error: templates/a.html:1:8: missing argument: the filter replace needs \"new\"; it takes 3 arguments: old, \
         new, count\n",
        "error: templates/a.html:2:8: missing argument: the filter batch needs \"linecount\"",
        "error: templates/a.html:3:8: missing argument: the filter map needs the name of a filter, or attribute=...\n",
        "error: templates/a.html:4:8: missing argument: the filter selectattr needs the name of an attribute\n",
        "4 errors, 0 warnings",
    ] {
        assert!(out.contains(told), "{told:?} is not in:\n{out}");
    }
}

#[test]
fn a_project_without_templates_that_renders_is_told() {
    let lua = "local app = require 'sampan'\n\
               app.get('/', function() return app.render('a.html') end)\n\
               app.get('/b', function(req) return req:render('b.html') end)\n\
               app.get('/c', function() return other.render('c') end)\n";
    let js = "import { app, render } from 'sampan';\n\
              app.get('/', () => render('a.html'));\n\
              app.get('/b', (req) => req.render('b.html'));\n";
    let why = "the project has no templates, which lie in its folder templates/";
    for (file, text, calls) in [
        ("app.lua", lua, ["app.render", "req:render"]),
        ("app.js", js, ["render", "render"]),
    ] {
        let folder = project(&[(file, text)]);
        let (status, out) = said("check", &folder, &[]);
        assert_eq!(status, 0, "{out}");
        for (line, call, page) in [(2, calls[0], "a.html"), (3, calls[1], "b.html")] {
            let told = format!(
                "warning: {file}:{line}: {call}({page:?}): there is no templates/{page}: {why}\n"
            );
            assert_eq!(out.matches(&told).count(), 1, "{told}: {out}");
        }
        assert!(out.contains("0 errors, 2 warnings"), "{out}");
    }
    // A function of another library.
    let js = "import { app } from 'sampan';\nimport { render } from './own.js';\n\
              app.get('/', () => render('a'));\n";
    let own = "export const render = (text) => text;\n";
    let folder = project(&[("app.js", js), ("own.js", own)]);
    let (_, out) = said("check", &folder, &[]);
    assert_eq!(out, "all is well (1 route)\n");
}

#[test]
fn a_database_that_the_migrations_do_not_fit_is_an_error() {
    let first = "CREATE TABLE a (id INTEGER PRIMARY KEY);";
    let app = "local app = require 'sampan'\napp.get('/', function() end)\n";
    let folder = project(&[("app.lua", app), ("migrations/0001_a.sql", first)]);
    let path = folder.path().display().to_string();
    assert_eq!(run(&["migrate", &path]).0, 0);
    assert_eq!(said("check", &folder, &[]).0, 0);
    fs::write(
        folder.path().join("migrations/0001_a.sql"),
        "CREATE TABLE b (id);",
    )
    .expect("changed");
    let (status, out) = said("check", &folder, &[]);
    assert_eq!(status, 1, "{out}");
    let changed = "error: migrations/0001_a.sql:1: it was changed since it was applied to ";
    assert!(out.contains(changed), "{out}");
}

#[test]
fn templates_of_mails_are_named_without_their_ending() {
    let app = "local app = require 'sampan'\napp.post('/', function()\n  app.mail.send { to = 'a@b.c', \
     template = 'mails/paid' }\n  app.mail.send { to = 'a@b.c', template = 'mails/piad' }\nend)\n";
    let folder = project(&[
        ("app.lua", app),
        ("templates/mails/paid.html", "paid"),
        ("templates/mails/paid.txt", "paid"),
    ]);
    let (status, out) = said("check", &folder, &[]);
    let expected = "\
warning: app.lua:4: template \"mails/piad\": there is no templates/mails/piad.html; did you mean \"mails/paid.html\"?
0 errors, 1 warning (1 route, 2 templates)
";
    assert_eq!((status, out.as_str()), (0, expected));
}

#[test]
fn files_with_nearly_the_same_name_are_told() {
    for (app, expected) in [
        (
            ("app.lua", "local app = require 'sampan'\nrequire 'utlis'\n"),
            "did you mean 'utils'?",
        ),
        (
            ("app.lua", "require 'models.usr'\n"),
            "did you mean 'models.user'?",
        ),
        (
            (
                "app.js",
                "import { app } from 'sampan';\nimport './utlis.js';\n",
            ),
            "app.js:2: cannot import \"./utlis.js\": there is no file utlis.js; did you mean \"utils.js\"?",
        ),
        (
            ("app.js", "import './utlis';\n"),
            "there is no file utlis; did you mean \"utils.js\"?",
        ),
    ] {
        let folder = project(&[
            app,
            ("utils.lua", "return 1"),
            ("utils.js", "export const x = 1;"),
            ("models/user.lua", "return 1"),
        ]);
        let (status, out) = said("check", &folder, &[]);
        assert!(status == 1 && out.contains(expected), "{out}");
    }
    let page =
        "{% extends \"layot.html\" %}{% block main %}{% include \"heder.html\" %}{% endblock %}";
    for (page, expected) in [
        (page, "did you mean \"layout.html\"?"),
        (&page[26..], "did you mean \"header.html\"?"),
    ] {
        let folder = project(&[
            ("app.lua", LUA),
            ("templates/layout.html", "{% block main %}{% endblock %}"),
            ("templates/header.html", "<p>"),
            ("templates/page.html", page),
        ]);
        let (status, out) = said("check", &folder, &[]);
        assert!(status == 1 && out.contains(expected), "{out}");
    }
}

#[test]
fn what_nothing_uses_is_a_warning() {
    let app = "import { app, render } from \"sampan\";\nimport \"./used.js\";\napp.get(\"/\", () => \
     render(\"pgae.html\"));\n";
    let used =
        "const lazy = () => import(\"./lazy.js\");\nconst mail = { template: \"mails/new\" };\n";
    let folder = project(&[
        ("app.js", app),
        ("used.js", used),
        ("templates/mails/new.html", "<p>Hello</p>"),
        ("templates/mails/new.txt", "Hello"),
        ("lazy.js", ""),
        ("old.js", ""),
        ("lib/index.js", ""),
        // For sampan exec.
        ("scripts/import.js", "import \"../data/rows.js\";\n"),
        ("data/rows.js", ""),
        ("vite.config.js", ""),
        ("node_modules/x/index.js", ""),
        (
            "templates/page.html",
            "<img src=\"{{ asset(\"logo.svg\") }}\">",
        ),
    ]);
    let (status, out) = said("check", &folder, &[]);
    let expected = "\
warning: app.js:3: render(\"pgae.html\"): there is no templates/pgae.html; did you mean \"page.html\"?
warning: templates/page.html:1: asset(\"logo.svg\"): there is no public/logo.svg
warning: lib/index.js: no script that is loaded imports it
warning: old.js: no script that is loaded imports it
warning: templates/page.html: no script and no other template names it
0 errors, 5 warnings (1 route, 3 templates)
";
    assert_eq!((status, out.as_str()), (0, expected));
    let (_, out) = said("check", &folder, &["--json"]);
    let first = json!({
        "severity": "warning", "file": "app.js", "line": 3, "column": null, "message": "render(\"pgae.html\"): there \
         is no templates/pgae.html; did you mean \"page.html\"?",
    });
    assert_eq!(objects(&out)[0], first);
    let nothing = project(&[("app.lua", "local x = 1\n")]);
    let (status, out) = said("check", &nothing, &[]);
    let warned =
        "warning: app.lua declares no routes and exports no fetch: every answer will be 404";
    assert!(status == 0 && out.contains(warned), "{out}");
}

#[test]
fn handlers_of_errors_as_express_has_them_are_told() {
    let app = "import { app } from 'sampan';\napp.get('/', () => 'x');\napp.use((err, req, res, next) => next());\n";
    let folder = project(&[("app.js", app)]);
    let (status, out) = said("check", &folder, &[]);
    let told = "warning: app.js:3: app.use((err, req, res, next) => ...): middleware gets req and next, and no errors";
    assert!(status == 0 && out.contains(told), "{out}");
}

/// A compiler that says what TypeScript would, which `testkit/tests/types.rs` and the test of `sampan new` have.
fn compiler(folder: &Path, script: &str) {
    let path = folder.join("node_modules/.bin/tsc");
    fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
}

#[test]
fn types_are_checked_where_the_compiler_is() {
    let folder = project(&[("app.ts", TS)]);
    let (status, out) = said("check", &folder, &["--types"]);
    assert!(
        status == 1 && out.contains("error: --types needs a tsconfig.json"),
        "{out}"
    );
    fs::write(folder.path().join("tsconfig.json"), "{}").expect("written");
    compiler(
        folder.path(),
        "echo \"app.ts(2,1): error TS2322: Type 'a' is wrong.\"\necho '  More.'\nexit 2",
    );
    let (status, out) = said("check", &folder, &["--types"]);
    let expected =
        "error: app.ts:2: TS2322: Type 'a' is wrong.\n  More.\n1 error, 0 warnings (2 routes)\n";
    assert_eq!((status, out.as_str()), (1, expected));
    compiler(
        folder.path(),
        "[ \"$*\" = '--noEmit --pretty false --project tsconfig.json' ]",
    );
    assert_eq!(said("check", &folder, &["--types"]).0, 0);
    compiler(folder.path(), "echo broken >&2; exit 1");
    let (status, out) = said("check", &folder, &["--types"]);
    assert!(status == 1 && out.contains("failed: broken"), "{out}");
}

#[test]
fn shells_and_man_read_of_all_commands() {
    for (shell, part) in [
        ("bash", "_sampan()"),
        ("zsh", "#compdef sampan"),
        ("fish", "complete -c sampan"),
    ] {
        let (status, out, _) = run(&["completions", shell]);
        assert!(
            status == 0 && out.contains(part) && out.contains("migrate"),
            "{shell}: {out}"
        );
    }
    assert_eq!(run(&["completions", "tcsh"]).0, 2);
    let (status, out, _) = run(&["man"]);
    assert!(
        status == 0 && out.contains(".TH sampan 1") && out.contains("sampan\\-migrate"),
        "{out}"
    );
    let (_, out, _) = run(&["man", "test"]);
    assert!(
        out.contains("\\-\\-filter") && out.contains("sampan test"),
        "{out}"
    );
    fails(&["man", "nothing"], 1, &["there is no command nothing"]);
}

#[test]
fn a_sender_without_a_mail_server_is_a_warning() {
    let app = "local app = require 'sampan'\napp.get('/', function() end)\n";
    let toml = "[mail]\nfrom = 'app@example.org'\n";
    let folder = project(&[("app.lua", app), ("sampan.toml", toml)]);
    let (status, out) = said("check", &folder, &[]);
    let out = out.replace(&format!("{}/", folder.path().display()), "");
    let expected = "\
warning: sampan.toml:2: [mail] from is set, but no mail can be sent without a mail server: set url, or SAMPAN_MAIL_URL
0 errors, 1 warning (1 route)
";
    assert_eq!((status, out.as_str()), (0, expected));
}
