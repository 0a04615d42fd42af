//! `sampan build`: a file that is copied alone into an empty folder serves its project, and refuses what is damaged or
//! missing.

mod left_out;
mod loading;

use crate::commands::command::{fails, run, sampan};
use crate::support::{Process, Scratch};
use sampan_testkit::Answer;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

const APP: &str = r#"local app = require "sampan"
local shop = require "shop"
local db, files = app.db, app.files
app.get("/page", function() return app.render("page.html", { name = shop.name }) end)
app.get("/text", function(req) return req:t("hello") end)
app.get("/rows", function()
  db.exec("INSERT INTO visits (path) VALUES (?)", { "/rows" })
  return db.query("SELECT count(*) AS count FROM visits")
end)
app.get("/data", function()
  local lines = {}
  files.lines("data/list.txt", function(line) lines[#lines + 1] = line end, { from = "project" })
  return { lines = lines, names = files.list("data", { from = "project" }),
           size = files.stat("data/list.txt", { from = "project" }).size,
           none = files.exists("data/none", { from = "project" }),
           hidden = files.exists(".env", { from = "project" }) }
end)
app.get("/file", function() return app.file("list.txt", { folder = "data" }) end)
app.get("/keep", function() files.write("kept.txt", "kept") return files.read("kept.txt") end)
app.get("/asset", function() return app.asset("app.css") end)
app.get("/fail", function() error("on purpose") end)
"#;

fn css() -> String {
    "body { margin: 0; padding: 0; color: black }\n".repeat(50)
}

/// Bytes that no encoder makes smaller, more than are kept in memory.
fn picture() -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..100_000).map(|_| next()).collect()
}

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    fs::write(file, content).expect("written");
}

/// A project in Lua with everything that a project can have.
fn project() -> Scratch {
    let scratch = Scratch::new(&[]);
    let root = scratch.path().join("shop");
    let css = css();
    for (path, content) in [
        ("app.lua", APP),
        ("shop.lua", "return { name = 'Corner <shop>' }"),
        (
            "templates/base.html",
            "<title>{% block t %}{% endblock %}</title>",
        ),
        (
            "templates/page.html",
            "{% extends 'base.html' %}{% block t %}{{ name }}{% endblock %}",
        ),
        ("locales/en.toml", "hello = \"Hello\"\n"),
        ("locales/de.toml", "hello = \"Hallo\"\n"),
        (
            "migrations/0001_visits.sql",
            "CREATE TABLE visits (path TEXT);",
        ),
        ("sampan.toml", "[static]\ncache_control = \"max-age=7\"\n"),
        ("public/app.css", &css),
        ("public/docs/index.html", "the docs"),
        ("public/.well-known/x.txt", "known"),
        ("public/.hidden", "hidden"),
        ("data/list.txt", "one\ntwo\n"),
        ("tests/shop.test.lua", "this is no Lua"),
        ("storage/old.txt", "old"),
        (".env", "SECRET=1"),
        ("notes/todo.txt", "todo"),
    ] {
        write(&root, path, content);
    }
    write(&root, "public/picture.bin", picture());
    write(&root, "data.db", b"SQLite format 3\0 and so on");
    write(&root, "old.sqlite", b"SQLite format 3\0 and so on");
    scratch
}

/// Builds a project, and returns what was said.
fn build(project: &Path, output: &Path, more: &[&str]) -> String {
    let (project, output) = (project.display().to_string(), output.display().to_string());
    let mut args = vec!["build", &project, "-o", &output];
    args.extend(more);
    let (status, said, errors) = run(&args);
    assert_eq!((status, errors.as_str()), (0, ""), "{said}");
    said
}

/// Starts a built file alone in an empty folder, with nothing of the environment.
fn alone(built: &Path) -> (Process, Scratch) {
    let scratch = Scratch::new(&[]);
    let copy = scratch.path().join("served");
    let copied = Command::new("cp").arg(built).arg(&copy).status();
    assert!(copied.expect("cp exists").success());
    let mut command = Command::new("./served");
    command.current_dir(scratch.path()).env_clear();
    command.args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    (Process::start(&mut command), scratch)
}

fn ask(server: &Process, path: &str, fields: &str) -> Answer {
    let mut client = server.client();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n");
    client.send(request.as_bytes()).expect("sent");
    client.read(false).expect("an answer")
}

fn text(server: &Process, path: &str) -> String {
    let answer = ask(server, path, "");
    assert_eq!(answer.status, 200, "{path}");
    String::from_utf8(answer.body).expect("UTF-8")
}

#[test]
fn one_file_serves_a_project() {
    let scratch = project();
    let built = scratch.path().join("one");
    let said = build(
        &scratch.path().join("shop"),
        &built,
        &["--exclude", "notes"],
    );
    for left_out in [
        "tests/",
        "storage/",
        "data.db",
        "old.sqlite (a database)",
        "notes/",
    ] {
        assert!(said.contains(&format!("left out: {left_out}\n")), "{said}");
    }
    let (server, folder) = alone(&built);
    assert_eq!(text(&server, "/page"), "<title>Corner &lt;shop&gt;</title>");
    assert_eq!(
        ask(&server, "/text", "Accept-Language: de\r\n").body,
        b"Hallo"
    );
    assert_eq!(text(&server, "/rows"), "[{\"count\":1}]");
    assert_eq!(
        text(&server, "/data"),
        "{\"hidden\":false,\"lines\":[\"one\",\"two\"],\"names\":[\"list.txt\"],\"none\":false,\"size\":8}"
    );
    assert_eq!(text(&server, "/file"), "one\ntwo\n");
    assert_eq!(text(&server, "/keep"), "kept");
    assert!(folder.path().join("storage/kept.txt").is_file());
    assert!(folder.path().join("data.db").is_file());
    // What was made there, and nothing that was unpacked.
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| {
            entry
                .expect("one")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    names.sort();
    assert_eq!(names, ["data.db", "served", "storage"]);
}

#[test]
fn static_files_of_one_file() {
    let scratch = project();
    let built = scratch.path().join("one");
    build(&scratch.path().join("shop"), &built, &[]);
    let (server, _folder) = alone(&built);
    let plain = ask(&server, "/app.css", "");
    assert_eq!(plain.body, css().as_bytes());
    let header = |answer: &Answer, name: &str| {
        let values = answer.header(name);
        values.first().map(|value| (*value).to_owned())
    };
    assert_eq!(
        header(&plain, "cache-control").as_deref(),
        Some("max-age=7")
    );
    assert_eq!(header(&plain, "last-modified"), None);
    let tag = header(&plain, "etag").expect("a tag");
    let asset = text(&server, "/asset");
    assert_eq!(asset, format!("/app.css?v={}", tag.trim_matches('"')));
    for coding in ["br", "zstd", "gzip"] {
        let encoded = ask(
            &server,
            "/app.css",
            &format!("Accept-Encoding: {coding}\r\n"),
        );
        assert_eq!(
            header(&encoded, "content-encoding").as_deref(),
            Some(coding)
        );
        assert!(encoded.body.len() < 200, "{coding}");
    }
    let known = ask(&server, "/app.css", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!(known.status, 304);
    let part = ask(&server, "/app.css", "Range: bytes=5-9\r\n");
    assert_eq!(
        (part.status, part.body),
        (206, css().as_bytes()[5..10].to_vec())
    );
    // A large file comes from where the system keeps the executable.
    let picture = picture();
    let large = ask(&server, "/picture.bin", "");
    assert!(large.body == picture);
    let tag = header(&large, "etag").expect("a tag");
    assert_eq!(tag.len(), 18, "a part of the checksum: {tag}");
    let part = ask(&server, "/picture.bin", "Range: bytes=99990-\r\n");
    assert_eq!((part.status, part.body), (206, picture[99_990..].to_vec()));
    let parts = ask(&server, "/picture.bin", "Range: bytes=0-1,70000-70001\r\n");
    let has = |bytes: &[u8]| parts.body.windows(2).any(|window| window == bytes);
    assert!(parts.status == 206 && has(&picture[..2]) && has(&picture[70_000..70_002]));
    assert_eq!(text(&server, "/docs/"), "the docs");
    assert_eq!(ask(&server, "/docs", "").status, 301);
    assert_eq!(text(&server, "/.well-known/x.txt"), "known");
    for none in ["/.hidden", "/none", "/app.lua", "/../app.lua", "/docs/none"] {
        assert!(matches!(ask(&server, none, "").status, 400 | 404), "{none}");
    }
}

#[test]
fn modules_of_typescript_and_packages_are_inside() {
    let scratch = Scratch::new(&[]);
    let root = scratch.path().join("ws/apps/api");
    for (path, content) in [
        ("../../package.json", r#"{"workspaces": ["apps/*"]}"#),
        (
            "../../node_modules/dep/package.json",
            r#"{"exports": {"import": "./lib/main.js"}, "type": "module"}"#,
        ),
        (
            "../../node_modules/dep/lib/main.js",
            "import { deep } from './deep.js';\nexport const dep = 'dep ' + deep;",
        ),
        (
            "../../node_modules/dep/lib/deep.js",
            "export const deep = 'deep';",
        ),
        ("../../node_modules/dep/lib/unused.js", "never"),
        (
            "../../node_modules/old/index.js",
            "try { require('optional'); } catch (e) {}\nmodule.exports = process.env.NODE_ENV === 'production' ? \
             require('./a') : require('./b');",
        ),
        ("../../node_modules/old/package.json", "{}"),
        ("../../node_modules/old/a.js", "exports.old = 'old a';"),
        ("../../node_modules/old/b.js", "exports.old = 'old b';"),
        ("../../shared/package.json", r#"{"main": "src/index.ts"}"#),
        (
            "../../shared/src/index.ts",
            "export const shared: string = 'shared';",
        ),
        ("package.json", "{}"),
        (
            "tsconfig.json",
            r#"{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}"#,
        ),
        ("src/names.ts", "export enum Names { One = 'one' }"),
        ("src/late.ts", "export const late = 'late';"),
        ("src/data.json", r#"{"number": 7}"#),
        (
            "app.ts",
            "import { app } from \"sampan\";\nimport { dep } from \"dep\";\nimport { old } from \"old\";\nimport { \
             shared } from \"shared\";\n\
             import { Names } from \"@/names\";\nimport data from \"./src/data.json\" with { type: \"json\" };\n\
             import type { Nothing } from \"./not-there\";\ninterface A { a: number }\n\
             app.get(\"/\", async () => {\n  const { late } = await import(\"./src/late.ts\");\n\
             \x20 return [dep, old, shared, Names.One, data.number, late];\n});\n\
             app.get(\"/fail\", () => { throw new Error(\"on purpose\"); });\n",
        ),
    ] {
        write(&root, path, content);
    }
    symlink("../shared", scratch.path().join("ws/node_modules/shared")).expect("a link");
    let built = scratch.path().join("one");
    build(&root, &built, &[]);
    let about = Command::new(&built)
        .arg("--about")
        .output()
        .expect("it starts");
    let about = String::from_utf8(about.stdout).expect("UTF-8");
    assert!(
        about.contains("../../node_modules/dep/lib/deep.js"),
        "{about}"
    );
    assert!(!about.contains("unused.js"), "{about}");
    // Nothing of where it was built is needed.
    fs::rename(scratch.path().join("ws"), scratch.path().join("gone")).expect("moved");
    let (mut server, _folder) = alone(&built);
    assert_eq!(
        text(&server, "/"),
        "[\"dep deep\",\"old a\",\"shared\",\"one\",7,\"late\"]"
    );
    let errors = server.read_errors();
    assert_eq!(ask(&server, "/fail", "").status, 500);
    server.signal("TERM");
    let errors = errors.join().expect("read");
    assert!(errors.contains("app.ts:13"), "{errors}");
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let (one, two) = (project(), project());
    // Another time of each file, and another order in the folder.
    let file = two.path().join("shop/app.lua");
    fs::remove_file(&file).expect("removed");
    fs::write(&file, APP).expect("written");
    let old = SystemTime::now() - Duration::from_secs(100_000);
    let opened = fs::File::options().write(true).open(&file).expect("open");
    opened.set_modified(old).expect("set");
    let (first, second) = (one.path().join("first"), two.path().join("second"));
    build(&one.path().join("shop"), &first, &[]);
    build(&two.path().join("shop"), &second, &[]);
    let bytes = fs::read(&first).expect("built");
    assert!(bytes == fs::read(&second).expect("built"), "they differ");
    // A built file as the base is as good as the executable in it, and the output may be within the project.
    let third = one.path().join("shop/third");
    let base = first.display().to_string();
    build(&one.path().join("shop"), &third, &["--target", &base]);
    assert!(bytes == fs::read(&third).expect("built"), "they differ");
    let said = build(&one.path().join("shop"), &third, &[]);
    assert!(bytes == fs::read(&third).expect("built"), "they differ");
    assert!(said.contains("left out: third\n"), "{said}");
    let mode = fs::metadata(&third).expect("built").permissions().mode();
    assert_eq!(mode & 0o700, 0o700);
}

#[test]
fn about_tells_what_is_inside() {
    let scratch = project();
    let built = scratch.path().join("one");
    build(&scratch.path().join("shop"), &built, &[]);
    let about = |args: &[&str]| {
        let output = Command::new(&built).args(args).output().expect("it starts");
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let plain = about(&["--about"]);
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        plain.starts_with(&format!(
            "sampan {version} serves app.lua, built by sampan {version}\n"
        )),
        "{plain}"
    );
    let sum = Command::new("sha256sum")
        .arg(scratch.path().join("shop/app.lua"))
        .output()
        .expect("sha256sum exists");
    let sum = String::from_utf8(sum.stdout).expect("UTF-8");
    let sum = sum.split(' ').next().expect("a checksum");
    let line = plain.lines().find(|line| line.ends_with("  app.lua"));
    assert!(line.is_some_and(|line| line.starts_with(sum)), "{plain}");
    assert!(plain.contains("public/app.css.br"), "{plain}");
    let json: serde_json::Value =
        serde_json::from_str(&about(&["--about", "--json"])).expect("JSON");
    let files = json["archive"]["files"].as_array().expect("a list");
    let found = files.iter().find(|file| file["path"] == "app.lua");
    assert_eq!(found.expect("there")["sha256"], sum);
    let help = about(&["--help"]);
    assert!(
        help.contains("--listen") && help.contains("backup"),
        "{help}"
    );
}

#[test]
fn a_damaged_file_does_not_start() {
    let scratch = project();
    let built = scratch.path().join("one");
    build(&scratch.path().join("shop"), &built, &[]);
    let len = fs::metadata(&built).expect("built").len();
    let whole = fs::read(&built).expect("built");
    let at = |text: &str| {
        let places = whole
            .windows(text.len())
            .rposition(|window| window == text.as_bytes());
        places.expect("it is inside") as u64
    };
    let template = at("{% extends 'base.html' %}");
    let faults = [
        (
            template,
            len,
            "templates/page.html in its archive has another checksum",
        ),
        (
            at("\"path\":\"app.lua\""),
            len,
            "the index of its archive has another checksum",
        ),
        (
            len - 1,
            len,
            "the index of its archive has another checksum",
        ),
        (len - 64, len, "are no complete archive"),
        (len - 45, len, "are no complete archive"),
        (len, len - 1, "are no complete archive"),
        (len, template, "are no complete archive"),
    ];
    for (flipped, cut, part) in faults {
        let mut bytes = whole.clone();
        if let Some(byte) = bytes.get_mut(flipped as usize) {
            *byte ^= 1;
        }
        let damaged = scratch.path().join("damaged");
        let _ = fs::remove_file(&damaged);
        // Copied by another process, so that no descriptor of this one keeps it busy when it starts.
        let source = scratch.path().join("bytes");
        fs::write(&source, &bytes[..cut as usize]).expect("written");
        let script = "cp \"$0\" \"$1\" && chmod +x \"$1\"";
        let copied = Command::new("sh")
            .args(["-c", script])
            .arg(&source)
            .arg(&damaged)
            .status();
        assert!(copied.expect("sh exists").success());
        for args in [&["--listen", "127.0.0.1:0"][..], &["--about"]] {
            let output = Command::new(&damaged)
                .args(args)
                .output()
                .expect("it starts");
            let said = String::from_utf8(output.stderr).expect("UTF-8");
            assert_eq!(output.status.code(), Some(1), "{part}: {said}");
            assert!(said.starts_with("sampan: this file is damaged: "), "{said}");
            assert!(said.contains(part), "{said:?} does not contain {part:?}");
        }
    }
    // The executable itself is looked at by --about.
    let damaged = scratch.path().join("damaged");
    fs::remove_file(&damaged).expect("removed");
    let copied = Command::new("cp").arg(&built).arg(&damaged).status();
    assert!(copied.expect("cp exists").success());
    let output = Command::new("sh")
        .args([
            "-c",
            "printf x | dd of=\"$0\" bs=1 seek=9 conv=notrunc 2>/dev/null; \"$0\" --about",
        ])
        .arg(&damaged)
        .output()
        .expect("sh exists");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(
        said.contains("the executable has another checksum"),
        "{said}"
    );
    // As a base it is refused.
    let source = fs::File::options()
        .append(true)
        .open(&damaged)
        .expect("open");
    source.write_all_at(b"more", len).expect("written");
    drop(source);
    let (shop, out) = (scratch.file("shop"), scratch.file("out"));
    let damaged = damaged.display().to_string();
    fails(
        &["build", &shop, "-o", &out, "--target", &damaged],
        1,
        &["--target", "is damaged", "no complete archive"],
    );
}

#[test]
fn a_missing_module_is_named_with_its_line() {
    for (entry, text, parts) in [
        (
            "app.lua",
            "local app = require 'sampan'\nlocal a = require \"lib.none\"\n",
            &[
                "app.lua:2: cannot require \"lib.none\"",
                "2 | local a = require \"lib.none\"",
            ][..],
        ),
        (
            "app.js",
            "import { app } from 'sampan';\n\nimport x from './none.js';\n",
            &[
                "app.js:3: cannot import \"./none.js\": there is no file none.js",
                "3 | import x",
            ],
        ),
        (
            "app.ts",
            "interface A { a: number }\nimport { Hono } from 'hono';\nexport default new Hono();",
            &["app.ts:2: cannot import \"hono\": the package hono is not installed"],
        ),
        ("app.ts", "let a: = 1;", &["app.ts:1: "]),
    ] {
        let scratch = Scratch::new(&[]);
        write(&scratch.path().join("p"), entry, text);
        let (project, out) = (scratch.file("p"), scratch.file("out"));
        let (status, _, errors) = run(&["build", &project, "-o", &out]);
        assert_eq!(status, 1, "{errors}");
        for part in parts {
            assert!(
                errors.contains(part),
                "{errors:?} does not contain {part:?}"
            );
        }
        assert_eq!(names(scratch.path()), ["p"]);
    }
}

#[test]
fn what_may_not_be_there_does_not_keep_it_from_building() {
    let scratch = Scratch::new(&[]);
    let root = scratch.path().join("p");
    write(
        &root,
        "app.lua",
        "local app = require 'sampan'\nlocal ok = pcall(require, 'a')\nlocal function f() return require 'b' end\n\
         if not ok then ok = pcall(f) end\napp.get('/', function() return tostring(ok) end)\n",
    );
    let built = scratch.path().join("one");
    build(&root, &built, &[]);
    let (server, _folder) = alone(&built);
    assert_eq!(text(&server, "/"), "false");
}

#[test]
fn faults_of_the_project_are_told() {
    let fault = |path: &str, content: &str, parts: &[&str]| {
        let scratch = project();
        write(&scratch.path().join("shop"), path, content);
        let (shop, out) = (scratch.file("shop"), scratch.file("out"));
        let (status, _, errors) = run(&["build", &shop, "-o", &out]);
        assert_eq!(status, 1, "{errors}");
        for part in parts {
            assert!(
                errors.contains(part),
                "{errors:?} does not contain {part:?}"
            );
        }
        assert!(!Path::new(&out).exists());
    };
    fault("templates/x.html", "a\n{% if %}", &["x.html:2"]);
    fault("locales/de.toml", "hello = [", &["locales/de.toml"]);
    fault("migrations/0003_x.sql", "SELECT 1;", &["no migration 0002"]);
    fault(
        "migrations/0002_x.sql",
        "CREATE TABLE a(b);\nCREATE TABL c(d);",
        &["migrations/0002_x.sql:2:", "TABL"],
    );
    fault(
        "app.lua",
        "local app = require 'sampan'\n\napp.get(",
        &["app.lua:"],
    );
    fault(
        "app.lua",
        "local app = require 'sampan'\napp.cron('a', 'b', function() end)",
        &["app.lua:2: ", "app.cron"],
    );
    fault(
        "sampan.toml",
        "[server]\nlisen = 1\n",
        &["sampan.toml:2", "lisen"],
    );
}

#[test]
fn wrong_words_are_refused() {
    let scratch = project();
    let (shop, out, folder) = (scratch.file("shop"), scratch.file("out"), scratch.file("."));
    fails(&["build", &shop], 2, &["--output"]);
    fails(&["build", &shop, "-o", "-"], 2, &["standard output"]);
    fails(&["build", &shop, "-o", &folder], 1, &["is a folder"]);
    fails(
        &["build", &shop, "-o", "/dev/null"],
        1,
        &["no file that can be replaced"],
    );
    let nowhere = scratch.file("none/out");
    fails(
        &["build", &shop, "-o", &nowhere],
        1,
        &["there is no such folder"],
    );
    fails(&["build", &folder, "-o", &out], 1, &["has no app.lua"]);
    fails(
        &["build", &shop, "-o", &out, "--target", "/bin/sh"],
        1,
        &["--target /bin/sh is no executable of Sampan"],
    );
    let text = scratch.file("shop/app.lua");
    fails(
        &["build", &shop, "-o", &out, "--target", &text],
        1,
        &["no executable for Linux"],
    );
    fails(
        &["build", &shop, "-o", &out, "--exclude", "none"],
        1,
        &["--exclude \"none\": the project has no such file"],
    );
    assert!(!Path::new(&out).exists());
}

/// Replaces only an earlier build unasked, and a file of the project never.
#[test]
fn other_files_are_not_overwritten() {
    let scratch = project();
    let (shop, out) = (scratch.file("shop"), scratch.path().join("out"));
    let shown = out.display().to_string();
    let kept = |path: &Path| fs::read_to_string(path).expect("there");
    fs::write(&out, "my letters").expect("written");
    fails(&["build", &shop, "-o", &shown], 1, &["--force"]);
    assert_eq!(kept(&out), "my letters");
    build(&scratch.path().join("shop"), &out, &["--force"]);
    build(&scratch.path().join("shop"), &out, &[]);
    for own in ["app.lua", "templates/page.html", "data.db"] {
        let path = scratch.path().join("shop").join(own);
        let before = fs::read(&path).expect("there");
        let shown = path.display().to_string();
        fails(
            &["build", &shop, "-o", &shown, "--force"],
            1,
            &["is a file of the project"],
        );
        assert!(before == fs::read(&path).expect("there"), "{own}");
    }
    // A module that lies in a package beside the project's folder.
    let outside = scratch.path().join("ws");
    for (path, content) in [
        ("package.json", r#"{"workspaces": ["apps/*"]}"#),
        ("apps/api/package.json", "{}"),
        ("apps/api/app.js", "import 'shared';"),
        ("shared/package.json", r#"{"main": "index.js"}"#),
        ("shared/index.js", "export {};"),
    ] {
        write(&outside, path, content);
    }
    fs::create_dir(outside.join("node_modules")).expect("a folder");
    symlink("../shared", outside.join("node_modules/shared")).expect("a link");
    let (api, shared) = (outside.join("apps/api"), outside.join("shared/index.js"));
    let (api, path) = (api.display().to_string(), shared.display().to_string());
    fails(
        &["build", &api, "-o", &path, "--force"],
        1,
        &["is a file of the project"],
    );
    assert_eq!(kept(&shared), "export {};");
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("one")
                .file_name()
                .into_string()
                .expect("UTF-8")
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let scratch = project();
    let (shop, out): (String, PathBuf) = (scratch.file("shop"), scratch.path().join("out"));
    for before in [None, Some("what was there")] {
        if let Some(before) = before {
            fs::write(&out, before).expect("written");
        }
        let names_before = names(scratch.path());
        // The limit counts in blocks of 512 bytes or of 1 KiB: in both it is below the executable.
        let output = Command::new("sh")
            .args([
                "-c",
                "ulimit -f 2000; exec \"$0\" build \"$1\" -o \"$2\" --force",
            ])
            .arg(env!("CARGO_BIN_EXE_sampan"))
            .arg(&shop)
            .arg(&out)
            .output()
            .expect("sh exists");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("cannot write") && said.contains("no larger file"),
            "{said}"
        );
        assert_eq!(names(scratch.path()), names_before);
        let left = fs::read_to_string(&out).ok();
        assert_eq!(left.as_deref(), before);
    }
}

#[test]
fn the_configuration_is_inside_and_can_be_overruled() {
    let scratch = project();
    let root = scratch.path().join("shop");
    let toml = "[server]\nworkers = 3\n[db]\npath = \"${SHOP_DB:-shop.db}\"\n[secrets]\nkeys = \
     [\"0123456789abcdef0123456789abcdef\"]\n";
    write(&root, "sampan.toml", toml);
    let built = scratch.path().join("one");
    let said = build(&root, &built, &[]);
    assert!(
        said.contains("warning: sampan.toml has secret keys"),
        "{said}"
    );
    let empty = Scratch::new(&[("other.toml", "[server]\nworkers = 2\n")]);
    let told = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(&built);
        command.current_dir(empty.path()).env_clear();
        let command = command.args(args).envs(variables.iter().copied());
        let output = command.output().expect("it starts");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let config = told(&["config"], &[]);
    assert!(config.contains("workers = 3  # sampan.toml:2"), "{config}");
    assert!(config.contains("path = \"shop.db\""), "{config}");
    let config = told(
        &["config", "--config", "other.toml"],
        &[("SAMPAN_LOG_LEVEL", "warn")],
    );
    assert!(config.contains("workers = 2  # other.toml:2"), "{config}");
    assert!(
        config.contains("level = \"warn\"  # SAMPAN_LOG_LEVEL"),
        "{config}"
    );
    let migrated = told(&["migrate"], &[("SHOP_DB", "here.db")]);
    assert!(migrated.contains("applied 0001_visits"), "{migrated}");
    assert!(empty.path().join("here.db").is_file());
    let status = told(&["migrate", "--status", "--db", "here.db"], &[]);
    assert!(status.contains("0001_visits  applied"), "{status}");
    assert_eq!(told(&["migrate", "status", "--db", "here.db"], &[]), status);
    let fails = |args: &[&str], text: &str| {
        let mut command = Command::new(&built);
        let output = command.current_dir(empty.path()).args(args).output();
        let output = output.expect("it starts");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && errors.contains(text),
            "{errors}"
        );
    };
    fails(&["jobs", "--db", "other.db"], "there is no database");
    fails(&["jobs", "/srv/shop"], "the project is in this file");
    fails(&["db", "restore"], "name the URL of the copy");
    fails(&["reload"], "no server of ");
    told(&["backup", "copy.db", "--db", "here.db"], &[]);
    assert!(empty.path().join("copy.db").is_file());
    let output = sampan(&["reload"]).current_dir(empty.path()).output();
    assert_eq!(output.expect("it starts").status.code(), Some(1));
}
