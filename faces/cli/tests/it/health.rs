//! `GET /_sampan/health` and `sampan health`: of a server that is well, that lacks something, and that stops.

use crate::commands::command::{run, sampan, serve};
use crate::support::{Process, Scratch};
use sampan_client::certificates::Identity;
use sampan_client::{Answer, ports};
use sampan_testkit::wait;
use serde_json::{Value, json};
use std::fs;

const APP: &str = r#"
local app = require "sampan"
app.on_start(function() app.db.exec("CREATE TABLE IF NOT EXISTS t (a)") end)
app.get("/", function() return "hello" end)
app.post("/", function() app.db.exec("INSERT INTO t VALUES (1)") end)
"#;
const PATH: &str = "/_sampan/health";

fn start(toml: &str) -> (Scratch, Process) {
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", toml)]);
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    (scratch, process)
}

fn ask(process: &Process, path: &str, headers: &[&str]) -> Answer {
    let answer = process.client().ask("GET", path, headers, "");
    answer.expect("an answer")
}

fn body(response: &Answer) -> Value {
    serde_json::from_str(&response.text()).expect("JSON")
}

/// The exit status of the command, and what it prints.
fn command(process: &Process, more: &[&str]) -> (i32, String) {
    let url = format!("http://{}", process.address);
    let (status, out, _) = run(&[&["health", &url], more].concat());
    (status, out)
}

#[test]
fn a_server_that_is_well_says_so() {
    let (_scratch, process) = start("");
    for path in [PATH, "/_sampan/health/ready"] {
        let answer = ask(&process, path, &[]);
        assert_eq!(answer.status, 200);
        let ok = json!({ "status": "ok" });
        let checks = json!({ "database": ok, "migrations": ok, "disk": ok, "stopping": ok });
        assert_eq!(
            body(&answer),
            json!({ "status": "ready", "checks": checks })
        );
        assert_eq!(answer.header("cache-control"), ["no-store"]);
        assert_eq!(answer.header("content-type"), ["application/json"]);
    }
    let live = ask(&process, "/_sampan/health/live", &[]);
    assert_eq!(
        (live.status, body(&live)),
        (200, json!({ "status": "live" }))
    );
    assert_eq!(command(&process, &[]), (0, "ready\n".to_owned()));
    assert_eq!(command(&process, &["--live"]), (0, "live\n".to_owned()));
    let (status, out) = command(&process, &["--json"]);
    let out: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((status, &out["status"]), (0, &json!("ready")));
    // Other methods and paths.
    let answer = process
        .client()
        .ask("POST", PATH, &[], "")
        .expect("an answer");
    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("allow"), ["GET, HEAD"]);
    assert_eq!(ask(&process, "/_sampan/healthy", &[]).status, 404);
    let url = format!("http://{}/other", process.address);
    let (status, out, _) = run(&["health", &url]);
    assert!(status == 1 && out.contains("it answered 404"), "{out}");
}

#[test]
fn reasons_are_for_this_machine_and_for_those_who_have_the_token() {
    let toml = "[health]\ndisk_bytes_min = \"1000000TB\"\ntoken = \"a long secret\"\n";
    let (_scratch, process) = start(toml);
    let answer = ask(&process, PATH, &[]);
    assert_eq!(answer.status, 503);
    let reason = &body(&answer)["checks"]["disk"]["reason"];
    let reason = reason.as_str().expect("a reason");
    assert!(
        reason.contains("less than [health] disk_bytes_min"),
        "{reason}"
    );
    let (status, out) = command(&process, &[]);
    assert!(
        status == 1 && out.starts_with("unready: disk: the disk of "),
        "{out}"
    );
    // A proxy on this machine passes requests of others on.
    let passed_on = "X-Forwarded-For: 192.0.2.1";
    for (token, sees) in [
        (None, false),
        (Some("other"), false),
        (Some("a long secret"), true),
    ] {
        let token = token.map(|token| format!("Authorization: Bearer {token}"));
        let mut headers = vec![passed_on];
        headers.extend(token.as_deref());
        let answer = ask(&process, PATH, &headers);
        let disk = &body(&answer)["checks"]["disk"];
        assert_eq!(disk["status"], "failed");
        assert_eq!(disk["reason"].is_string(), sees, "{token:?}: {disk}");
    }
    assert_eq!(ask(&process, "/_sampan/health/live", &[]).status, 200);
}

#[test]
fn it_is_not_ready_before_its_migrations_are_applied() {
    let toml = "[db]\nmigrate = false\n";
    let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", toml)]);
    fs::create_dir(scratch.file("migrations")).expect("a folder");
    let migration = |number: u8| scratch.file(&format!("migrations/000{number}_more.sql"));
    fs::write(migration(1), "CREATE TABLE more (a);").expect("written");
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let (status, out) = command(&process, &[]);
    let expected = "unready: migrations: not applied: 0001_more; run `sampan migrate`\n";
    assert_eq!((status, out.as_str()), (1, expected));
    let folder = scratch.path().display().to_string();
    assert_eq!(run(&["migrate", &folder]).0, 0);
    wait::until("the migration", || command(&process, &[]).0 == 0);
    // A file of the next version counts once that version is loaded.
    fs::write(migration(2), "CREATE TABLE even_more (a);").expect("written");
    assert_eq!(command(&process, &[]).0, 0);
    process.signal("HUP");
    wait::until("the reload", || {
        command(&process, &[]).1.contains("not applied: 0002_more")
    });
}

#[test]
fn a_database_that_is_gone_is_told() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    fs::create_dir(scratch.file("migrations")).expect("a folder");
    let migration = scratch.file("migrations/0001_more.sql");
    fs::write(migration, "CREATE TABLE more (a);").expect("written");
    let process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    assert_eq!(command(&process, &[]).0, 0);
    fs::remove_file(scratch.file("data.db")).expect("removed");
    wait::until("the fault", || {
        let (status, out) = command(&process, &[]);
        status == 1 && out.contains("database: ")
    });
    let (_, out) = command(&process, &[]);
    assert!(!out.contains("not applied"), "{out}");
}

#[test]
fn a_commit_to_a_database_that_is_gone_is_told_without_a_wrong_status() {
    let app = "local app = require 'sampan'\n\
        app.post('/', function() app.db.exec('INSERT INTO more VALUES (1)') return 'x' end)";
    let scratch = Scratch::new(&[("app.lua", app)]);
    fs::create_dir(scratch.file("migrations")).expect("a folder");
    let migration = scratch.file("migrations/0001_more.sql");
    fs::write(migration, "CREATE TABLE more (a);").expect("written");
    let mut process = Process::start(&mut serve(&scratch.file("app.lua"), 1));
    let said = process.read_errors();
    let mut client = process.client();
    let mut write = || client.ask("POST", "/", &[], "").expect("an answer").status;
    assert_eq!(write(), 200);
    fs::remove_file(scratch.file("data.db")).expect("removed");
    assert_eq!(write(), 503);
    said.until("all answers that depend on it are replaced by errors");
}

#[test]
fn a_server_that_stops_is_not_ready_first() {
    let (_scratch, mut process) = start("[health]\nstop_delay_millis = \"10 m\"\n");
    process.signal("TERM");
    wait::until("the word", || {
        let (status, out) = command(&process, &[]);
        status == 1 && out == "unready: stopping: the server has been told to stop\n"
    });
    // Meanwhile it answers as before, on new connections too.
    let answer = ask(&process, "/", &[]);
    assert_eq!((answer.status, answer.text().as_str()), (200, "hello"));
    assert_eq!(command(&process, &["--live"]).0, 0);
    process.signal("TERM");
    // Of a second signal it ends at once.
    assert_eq!(process.status(), Some(128 + 15));
}

#[test]
fn the_server_of_a_project_is_found_by_its_settings() {
    let identity = Identity::new(&["localhost"]);
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let (tls, plain) = (ports::free(), ports::free());
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let write = |text: &str| fs::write(scratch.file("sampan.toml"), text).expect("written");
    let here = |more: &[&str]| {
        let mut command = sampan(&["health"]);
        let output = command.args(more).current_dir(scratch.path()).output();
        let output = output.expect("the command");
        let text = String::from_utf8(output.stdout).expect("text");
        (output.status.code(), text)
    };
    let secured = format!("[tls]\ncert = {certificate:?}\nkey = {key:?}\n");
    // By TLS, whose certificate nothing here trusts; by the port that redirects; by a Unix socket; as a proxy.
    for toml in [
        format!("[server]\nlisten = \"0.0.0.0:{tls}\"\n{secured}"),
        format!(
            "[server]\nlisten = \"127.0.0.1:{tls}\"\n{secured}client_ca = {certificate:?}\nclient_auth = \
             \"required\"\nredirect = true\nredirect_listen = \"127.0.0.1:{plain}\"\n"
        ),
        format!("[server]\nlisten = [\"127.0.0.1:{tls}\", \"unix:app.sock\"]\n"),
        format!(
            "[server]\nlisten = \"127.0.0.1:{tls}\"\nproxy_protocol = true\ntrusted_proxies = [\"127.0.0.0/8\"]\n\
             {secured}"
        ),
    ] {
        write(&toml);
        let unreachable = here(&["--json"]).1;
        assert!(
            unreachable.contains("\"status\":\"unreachable\""),
            "{unreachable}"
        );
        let mut command = sampan(&["run", ".", "--workers", "1"]);
        let process = Process::start_until(command.current_dir(scratch.path()), "listening on");
        assert_eq!(here(&[]), (Some(0), "ready\n".to_owned()), "{toml}");
        drop(process);
    }
    write("[health]\nenabled = false\n");
    assert_eq!(here(&[]).0, Some(1));
}

#[test]
fn other_paths_and_none() {
    let (_scratch, process) = start("[health]\npath = \"/up\"\n");
    assert_eq!(ask(&process, "/up/ready", &[]).status, 200);
    assert_eq!(ask(&process, PATH, &[]).status, 404);
    let url = format!("http://{}/up", process.address);
    assert_eq!(run(&["health", &url]).0, 0);
    let (_scratch, process) = start("[health]\nenabled = false\n");
    assert_eq!(ask(&process, PATH, &[]).status, 404);
    for path in ["up", "/up/", "/", "/a b", "/../a"] {
        let toml = format!("[health]\npath = {path:?}\n");
        let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", &toml)]);
        let (status, _, errors) = run(&["run", &scratch.file("app.lua")]);
        assert!(
            status == 1 && errors.contains("it must be a path such as"),
            "{errors}"
        );
    }
    for path in [PATH, "/_sampan/health/live"] {
        let toml = format!("[metrics]\npath = {path:?}\n");
        let scratch = Scratch::new(&[("app.lua", APP), ("sampan.toml", &toml)]);
        let (status, _, errors) = run(&["run", &scratch.file("app.lua")]);
        assert!(
            status == 1 && errors.contains("which [health] answers"),
            "{errors}"
        );
    }
}
