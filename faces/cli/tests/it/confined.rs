//! `[sandbox]`: everything of an app works in a process that has given up its other rights.

use crate::serving::upgrade::upgrades_in;
use crate::serving::uploads::{form, head};
use crate::support::{Process, Scratch};
use sampan_client::certificates::Identity;
use sampan_testkit::{Client, wait};
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;

const SAMPAN: &str = env!("CARGO_BIN_EXE_sampan");

const LUA: &str = r#"
local app = require "sampan"
local db = app.db
app.on_start(function() db.exec("CREATE TABLE IF NOT EXISTS done (line TEXT)") end)
app.job("note", function(args) db.exec("INSERT INTO done VALUES (?)", { args }) end)
app.get("/version", function() return "VERSION" end)
app.get("/page", function() return app.render("page.html", { name = "<you>" }) end)
app.get("/visit", function(req)
  req.session.visits = (req.session.visits or 0) + 1
  return string.format("%d", req.session.visits)
end)
app.post("/save", { stream = true, body_bytes_max = "20 MB" }, function(req)
  local form = req:form()
  form.f:save("kept/" .. form.f.name)
  return { size = form.f.size }
end)
app.get("/kept", function() return { size = #app.files.read_async("kept/large.bin") } end)
app.get("/sorted", function()
  db.exec("CREATE TABLE IF NOT EXISTS many (n INTEGER, text TEXT)")
  db.exec("DELETE FROM many")
  db.exec("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 50000)" ..
    " INSERT INTO many SELECT n, hex(randomblob(100)) FROM c")
  return { n = db.one("SELECT count(*) AS n FROM (SELECT text FROM many ORDER BY text)").n }
end)
app.post("/job", function() app.enqueue("note", "by a job") end)
app.get("/jobs", function() return { n = db.one("SELECT count(*) AS n FROM done").n } end)
"#;

const JS: &str = r#"
import { app, db, files, render } from "sampan";
app.onStart(() => { db.exec("CREATE TABLE IF NOT EXISTS done (line TEXT)"); });
app.job("note", (args) => { db.exec("INSERT INTO done VALUES (?)", [args]); });
app.get("/version", () => "VERSION");
app.get("/page", () => render("page.html", { name: "<you>" }));
app.get("/visit", (req) => {
  req.session.visits = (req.session.visits ?? 0) + 1;
  return String(req.session.visits);
});
app.post("/save", { stream: true, bodyBytesMax: "20 MB" }, async (req) => {
  const form = await req.form();
  await form.f.save(`kept/${form.f.name}`);
  return { size: form.f.size };
});
app.get("/kept", async () => ({ size: (await files.bytes("kept/large.bin")).length }));
app.get("/sorted", () => {
  db.exec("CREATE TABLE IF NOT EXISTS many (n INTEGER, text TEXT)");
  db.exec("DELETE FROM many");
  db.exec("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 50000)" +
    " INSERT INTO many SELECT n, hex(randomblob(100)) FROM c");
  return { n: db.one("SELECT count(*) AS n FROM (SELECT text FROM many ORDER BY text)").n };
});
app.post("/job", async () => { await app.enqueue("note", "by a job"); });
app.get("/jobs", () => ({ n: db.one("SELECT count(*) AS n FROM done").n }));
"#;

/// A project whose database lies in a folder of its own, with templates that it shares by a link.
struct Scene {
    scratch: Scratch,
    file: &'static str,
    text: &'static str,
}

impl Scene {
    fn new(file: &'static str, text: &'static str) -> Self {
        let scratch = Scratch::new(&[]);
        for folder in ["app/data", "app/public", "shared", "copy"] {
            fs::create_dir_all(scratch.path().join(folder)).expect("a folder");
        }
        let write = |name: &str, text: &str| {
            fs::write(scratch.path().join(name), text).expect("a file");
        };
        write("shared/page.html", "hello {{ name }}");
        write("app/public/a.txt", "a file");
        write("secret.txt", "a secret");
        let copy = scratch.file("copy");
        let toml = format!(
            "[server]\nlisten = ['127.0.0.1:0', 'unix:data/app.sock']\nworkers = 2\n[db]\npath = 'data/data.db'\n\
             write_millis_max = '20 s'\nquery_inline_millis_max = '20 s'\n[limits]\nscript_millis_max = '20 s'\n\
             [backup]\nurl = 'file://{copy}'\nevery = '50 ms'\n"
        );
        write("app/sampan.toml", &toml);
        let link = |to: &str, name: &str| {
            std::os::unix::fs::symlink(to, scratch.path().join(name)).expect("a link");
        };
        link("../shared", "app/templates");
        link("a.txt", "app/public/linked.txt");
        link("../../secret.txt", "app/public/secret.txt");
        let scene = Self {
            scratch,
            file,
            text,
        };
        scene.write("one");
        scene
    }

    fn project(&self) -> String {
        self.scratch.file("app")
    }

    fn write(&self, version: &str) {
        let path = Path::new(&self.project()).join(self.file);
        fs::write(path, self.text.replace("VERSION", version)).expect("a file");
    }

    fn start(&self) -> Process {
        // A SIGHUP reloads where no terminal could have sent it.
        let mut command = Command::new("setsid");
        Process::start(command.args([SAMPAN, "run", &self.project()]))
    }
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut client = Client::connect(address).expect("someone listens");
    client.ask("GET", path, &[], "").expect("an answer").text()
}

/// Uses everything that an app has.
fn use_all(address: SocketAddr, jobs_before: u32) {
    assert_eq!(get(address, "/page"), "hello &lt;you&gt;");
    assert_eq!(get(address, "/a.txt"), "a file");
    assert_eq!(get(address, "/linked.txt"), "a file");
    assert!(!get(address, "/secret.txt").contains("a secret"));
    let mut client = Client::connect(address).expect("someone listens");
    let first = client.ask("GET", "/visit", &[], "").expect("an answer");
    assert_eq!(first.text(), "1");
    let cookie = first.header("set-cookie")[0]
        .split(';')
        .next()
        .unwrap_or_default()
        .to_owned();
    let second = client.ask("GET", "/visit", &[&format!("Cookie: {cookie}")], "");
    assert_eq!(second.expect("an answer").text(), "2");
    let body = form(&vec![7; 3_000_000]);
    client
        .send(head("/save", body.len()).as_bytes())
        .expect("sent");
    client.send(&body).expect("sent");
    let saved = client.read(false).expect("an answer").text();
    assert!(saved.contains("3000000"), "{saved}");
    assert!(get(address, "/kept").contains("3000000"));
    assert!(get(address, "/sorted").contains("50000"));
    let asked = client.ask("POST", "/job", &[], "").expect("an answer");
    assert_eq!(asked.status, 204);
    let wanted = format!("{{\"n\":{}}}", jobs_before + 1);
    wait::until("the job", || get(address, "/jobs") == wanted);
}

/// Reports whether the kernel refuses system calls to the process, on each of its threads.
fn refuses_calls(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
    let status = |task: fs::DirEntry| fs::read_to_string(task.path().join("status"));
    let mut told = tasks.filter_map(|task| status(task.ok()?).ok());
    told.all(|status| status.contains("Seccomp:\t2") && status.contains("NoNewPrivs:\t1"))
}

#[test]
fn an_app_works_as_without_a_sandbox() {
    for (file, text) in [("app.lua", LUA), ("app.js", JS)] {
        let scene = Scene::new(file, text);
        let mut process = scene.start();
        let address = process.address;
        use_all(address, 0);
        match refuses_calls(process.id()) {
            true => {}
            false => println!("SKIPPED: the kernel takes no filter of system calls"),
        }
        scene.write("two");
        process.signal("HUP");
        wait::until("the reload", || get(address, "/version") == "two");
        use_all(address, 1);
        let copied =
            || fs::read_dir(scene.scratch.path().join("copy")).is_ok_and(|all| all.count() > 0);
        wait::until("the copy", copied);
        scene.write("three");
        let new = upgrades_in(Path::new(&scene.project()));
        assert_eq!(process.status(), Some(0));
        assert_eq!(get(address, "/version"), "three");
        use_all(address, 2);
        new.ends_well();
        assert!(!Path::new(&scene.project()).join("data/app.sock").exists());
    }
}

/// The output of `sampan run` with these arguments, which ends by itself.
fn output(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(SAMPAN).arg("run").args(arguments).output();
    let output = output.expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn the_sandbox_is_explained_in_words() {
    let scene = Scene::new("app.lua", LUA);
    let project = scene.project();
    let (status, told, errors) = output(&[&project, "--explain-sandbox"]);
    assert_eq!(status, Some(0), "{errors}");
    for part in [
        &format!("{project}  (the project)"),
        &format!("{project}/data  (the database)"),
        &format!("{project}/storage  (storage"),
        &format!("{}  (the copy of the database)", scene.scratch.file("copy")),
        &format!(
            "{}  (files that the project shares)",
            scene.scratch.file("shared")
        ),
        "these TCP ports only: 53.",
        "This kernel can",
    ] {
        assert!(told.contains(part), "{part} is missing:\n{told}");
    }
    assert!(
        !told.contains("The project itself can be written"),
        "{told}"
    );
    let ports = [
        "--set",
        "sandbox.connect=443",
        "--set",
        "mail.url=smtps://mail.test:466",
    ];
    let (_, told, _) = output(&[&[project.as_str(), "--explain-sandbox"], &ports[..]].concat());
    assert!(
        told.contains("these TCP ports only: 53, 443, 466"),
        "{told}"
    );
    let any = ["--set", "sandbox.connect=any"];
    let (_, told, _) = output(&[&[project.as_str(), "--explain-sandbox"], &any[..]].concat());
    assert!(told.contains("to any TCP port."), "{told}");
    let off = ["--set", "sandbox.enabled=false"];
    let (_, told, _) = output(&[&[project.as_str(), "--explain-sandbox"], &off[..]].concat());
    assert!(told.starts_with("The sandbox is off"), "{told}");
    // In the folder of the project the database is beside the scripts.
    let beside = ["--set", "db.path=data.db"];
    let (_, told, _) = output(&[&[project.as_str(), "--explain-sandbox"], &beside[..]].concat());
    assert!(told.contains("The project itself can be written"), "{told}");
}

#[test]
fn a_sandbox_that_is_off_confines_nothing() {
    let scene = Scene::new("app.lua", LUA);
    let mut command = Command::new(SAMPAN);
    let off = ["--set", "sandbox.enabled=false"];
    let process = Process::start(command.arg("run").arg(scene.project()).args(off));
    use_all(process.address, 0);
    assert!(!refuses_calls(process.id()));
    process.signal("TERM");
    let (status, log) = process.end();
    assert_eq!(status, Some(0), "{log}");
}

#[test]
fn a_wrong_sandbox_is_told() {
    let scene = Scene::new("app.lua", LUA);
    let project = scene.project();
    for (set, part) in [
        (
            &["sandbox.required=true", "sandbox.enabled=false"][..],
            "it cannot be with enabled = false",
        ),
        (&["sandbox.connect=https"], "\"https\" is no port"),
    ] {
        let set = set.iter().flat_map(|set| ["--set", set]);
        let arguments: Vec<&str> = [project.as_str()].into_iter().chain(set).collect();
        let (status, _, errors) = output(&arguments);
        assert_eq!(status, Some(1), "{errors}");
        assert!(errors.contains(part), "{errors}");
    }
}

#[test]
fn a_required_sandbox_starts_where_the_kernel_can() {
    let scene = Scene::new("app.lua", LUA);
    let required = ["--set", "sandbox.required=true"];
    let (_, told, _) = output(&[&scene.project(), "--explain-sandbox"]);
    if told.contains("This kernel cannot") {
        println!("SKIPPED: this kernel cannot confine all: it must refuse to start");
        let (status, _, errors) = output(&[&scene.project(), required[0], required[1]]);
        assert_eq!(status, Some(1), "{errors}");
        assert!(errors.contains("[sandbox] required = true"), "{errors}");
        return;
    }
    let mut command = Command::new(SAMPAN);
    let process = Process::start(command.arg("run").arg(scene.project()).args(required));
    assert_eq!(get(process.address, "/version"), "one");
}

#[test]
fn the_memory_of_the_process_is_bounded() {
    let scene = Scene::new("app.lua", LUA);
    let project = scene.project();
    let mut command = Command::new(SAMPAN);
    command.args(["run", &project, "--set", "limits.process_bytes_max=400MB"]);
    let process = Process::start_until(&mut command, "process_bytes_max: ");
    let limits = fs::read_to_string(format!("/proc/{}/limits", process.id())).expect("a process");
    let data = limits
        .lines()
        .find(|line| line.starts_with("Max data size"));
    let is_bounded = data
        .and_then(|line| line.split_whitespace().nth(3))
        .is_some_and(|soft| soft != "unlimited");
    let group = fs::read_to_string(format!("/proc/{}/cgroup", process.id())).expect("a process");
    let group = group
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .unwrap_or_default();
    let group = fs::read_to_string(format!("/sys/fs/cgroup{group}/memory.max"));
    assert!(
        is_bounded || group.is_ok_and(|max| max.trim() != "max"),
        "{limits}"
    );
    let (status, _, errors) = output(&[&project, "--set", "limits.process_bytes_max=1MB"]);
    assert_eq!(status, Some(1), "{errors}");
    assert!(
        errors.contains("it must be 0 or at least 67108864"),
        "{errors}"
    );
}

#[test]
fn uploads_above_the_memory_of_the_process_do_not_end_it() {
    const UPLOADS: usize = 12;
    const UPLOAD_BYTES: usize = 30_000_000;
    let app = r#"local app = require "sampan"
app.get("/version", function() return "one" end)
app.post("/upload", { body_bytes_max = "40 MB" }, function(req) return tostring(#req:bytes()) end)
"#;
    let scene = Scene::new("app.lua", app);
    let mut command = Command::new(SAMPAN);
    command.args(["run", &scene.project()]);
    command.args(["--set", "limits.process_bytes_max=256MB"]);
    let process = Process::start(&mut command);
    let address = process.address;
    let uploads = (0..UPLOADS).map(|_| {
        std::thread::spawn(move || {
            let body = "x".repeat(UPLOAD_BYTES);
            // One that is refused early may not be able to send all.
            let mut client = Client::connect(address).expect("someone listens");
            let answer = client.ask("POST", "/upload", &[], &body);
            answer.map_or(0, |answer| answer.status)
        })
    });
    let uploads: Vec<_> = uploads.collect();
    for upload in uploads {
        let status = upload.join().expect("no panic");
        assert!([0, 200, 500, 503].contains(&status), "{status}");
    }
    assert_eq!(get(address, "/version"), "one");
}

/// Changes `sampan.toml` of a project.
fn change_settings(scene: &Scene, from: &str, to: &str) {
    let path = Path::new(&scene.project()).join("sampan.toml");
    let text = fs::read_to_string(&path).expect("a file");
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).expect("a file");
}

#[test]
fn a_server_that_connects_to_little_else_is_upgraded_and_ends_as_always() {
    let scene = Scene::new("app.lua", LUA);
    let mut command = Command::new(SAMPAN);
    command.args(["run", &scene.project(), "--set", "sandbox.connect=9"]);
    let mut process = Process::start(&mut command);
    let address = process.address;
    // This ends only where the acceptor of the old process wakes, which happens by a connection.
    let new = upgrades_in(Path::new(&scene.project()));
    assert_eq!(process.status(), Some(0));
    assert_eq!(get(address, "/version"), "one");
    new.ends_well();
    assert!(Client::connect(address).is_err(), "someone still listens");
}

/// Answers each request until the test program ends. Returns the URL.
fn answering() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut caller in listener.incoming().flatten() {
            let _ = caller.read(&mut [0; 1024]);
            let _ = caller.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\nhere",
            );
        }
    });
    url
}

#[test]
fn a_project_without_fetch_gives_up_connections_until_an_upgrade_brings_it() {
    let url = answering();
    for (file, hidden, named) in [
        (
            "app.lua",
            "local app = require 'sampan'\napp.get('/', function()\n  local done, got = pcall(app['fet' .. 'ch'], 'URL')\n  \
             return done and got.body or tostring(got)\nend)\n",
            "local app = require 'sampan'\napp.get('/', function() return app.fetch('URL').body end)\n",
        ),
        (
            "app.js",
            "import { app } from 'sampan';\napp.get('/', async () => {\n  try { return await (await \
             globalThis['fet' + 'ch']('URL')).text(); } catch (error) { return String(error); }\n});\n",
            "import { app } from 'sampan';\napp.get('/', async () => (await fetch('URL')).text());\n",
        ),
    ] {
        let toml = "[fetch]\nallow = ['127.0.0.1']\n";
        let scratch = Scratch::new(&[(file, &hidden.replace("URL", &url)), ("sampan.toml", toml)]);
        let folder = scratch.path().display().to_string();
        let (_, told, _) = output(&[&folder, "--explain-sandbox"]);
        if told.contains("This kernel cannot do all of it") {
            println!("SKIPPED: this kernel cannot confine all");
            return;
        }
        assert!(told.contains("these TCP ports only: 53"), "{told}");
        let mut command = Command::new(SAMPAN);
        let command = command.args(["run", &folder, "--listen", "127.0.0.1:0"]);
        let mut process = Process::start(command);
        let address = process.address;
        let refused = get(address, "/");
        assert!(refused.contains("[sandbox] connect"), "{file}: {refused}");
        let with_mail = format!("{toml}[mail]\nurl = 'smtp://127.0.0.1:9'\nfrom = 'a@b.test'\n");
        let changes = [
            ("sampan.toml", with_mail.as_str(), toml),
            (file, &named.replace("URL", &url), ""),
        ];
        for (changed, text, before) in changes {
            fs::write(scratch.file(changed), text).expect("a file");
            let reload = Command::new(SAMPAN).args(["reload", &folder]).output();
            let reload = reload.expect("the command starts");
            let told = String::from_utf8_lossy(&reload.stderr);
            assert_eq!(reload.status.code(), Some(1), "{told}");
            assert!(told.contains("sends requests or mail now"), "{told}");
            if !before.is_empty() {
                fs::write(scratch.file(changed), before).expect("a file");
            }
        }
        assert_eq!(get(address, "/"), refused, "the old project goes on");
        let (_, told, _) = output(&[&folder, "--explain-sandbox"]);
        assert!(
            told.contains("because the project may send requests or mail"),
            "{told}"
        );
        let new = upgrades_in(scratch.path());
        assert_eq!(process.status(), Some(0));
        assert_eq!(get(address, "/"), "here");
        new.ends_well();
    }
}

#[test]
fn explaining_makes_no_folders() {
    let scene = Scene::new("app.lua", LUA);
    let project = scene.project();
    let temp = scene.scratch.file("app/parts");
    let crashes = scene.scratch.file("crashes");
    let set = [
        format!("files.temp={temp}"),
        format!("crash.folder={crashes}"),
    ];
    fs::remove_dir(scene.scratch.path().join("copy")).expect("it is empty");
    let set = set.iter().flat_map(|set| ["--set", set.as_str()]);
    let arguments: Vec<&str> = [project.as_str(), "--explain-sandbox"]
        .into_iter()
        .chain(set)
        .collect();
    let (status, told, errors) = output(&arguments);
    assert_eq!(status, Some(0), "{errors}");
    assert!(
        told.contains(&format!(
            "{crashes}  (reports of crashes, which is not there)"
        )),
        "{told}"
    );
    for made in ["app/storage", "app/parts", "crashes", "copy"] {
        assert!(!scene.scratch.path().join(made).exists(), "{made}");
    }
}

#[test]
fn the_file_of_a_socket_goes_that_an_upgrade_drops() {
    let scene = Scene::new("app.lua", LUA);
    fs::create_dir(scene.scratch.path().join("sockets")).expect("a folder");
    let socket = scene.scratch.path().join("sockets/app.sock");
    let listed = format!(", 'unix:{}'", socket.display());
    change_settings(&scene, ", 'unix:data/app.sock'", &listed);
    let mut process = scene.start();
    assert!(socket.exists());
    change_settings(&scene, &listed, "");
    let new = upgrades_in(Path::new(&scene.project()));
    assert_eq!(process.status(), Some(0));
    assert!(!socket.exists());
    assert_eq!(get(process.address, "/version"), "one");
    new.ends_well();
}

#[test]
fn the_file_of_a_socket_that_redirects_goes_with_the_server() {
    let identity = Identity::new(&["localhost"]);
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let scene = Scene::new("app.lua", LUA);
    fs::create_dir(scene.scratch.path().join("sockets")).expect("a folder");
    let socket = scene.scratch.path().join("sockets/plain.sock");
    let tls = format!(
        "[tls]\ncert = {certificate:?}\nkey = {key:?}\nredirect = true\nredirect_listen = 'unix:{}'\n[backup]\n",
        socket.display()
    );
    change_settings(&scene, "[backup]\n", &tls);
    let process = scene.start();
    assert!(socket.exists());
    process.signal("TERM");
    let (status, log) = process.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(!socket.exists());
}

#[test]
fn an_upgrade_takes_the_bound_of_the_memory_back() {
    let scene = Scene::new("app.lua", LUA);
    let bounded = "[limits]\nprocess_bytes_max = '400MB'\n";
    change_settings(&scene, "[limits]\n", bounded);
    let mut process = scene.start();
    change_settings(&scene, bounded, "[limits]\n");
    let new = upgrades_in(Path::new(&scene.project()));
    assert_eq!(process.status(), Some(0));
    let limits = fs::read_to_string(format!("/proc/{}/limits", new.id())).expect("a process");
    let data = limits
        .lines()
        .find(|line| line.starts_with("Max data size"));
    let bounds: Vec<&str> = data.unwrap_or_default().split_whitespace().collect();
    assert_eq!(bounds[3], bounds[4], "{limits}");
    new.ends_well();
}
