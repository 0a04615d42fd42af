//! `sampan bench`: figures, what goes wrong told apart, and the project that it starts itself.

use crate::commands::command::{fails, run, sampan};
use crate::support::{Process, Scratch};
use sampan_client::certificates::Identity;
use sampan_testkit::wait;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// A server of a few lines: `answer` gets a connection and the number of its request.
fn server(answer: impl Fn(&mut TcpStream, u64) -> bool + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let answer = Arc::new(answer);
    let count = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer, count) = (
                stream.expect("accepted"),
                Arc::clone(&answer),
                Arc::clone(&count),
            );
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while matches!(stream.read(&mut buffer), Ok(1..)) {
                    if !answer(&mut stream, count.fetch_add(1, Relaxed)) {
                        break;
                    }
                }
            });
        }
    });
    address
}

fn say(stream: &mut TcpStream, text: &str) -> bool {
    stream.write_all(text.as_bytes()).is_ok()
}

/// Says it and ends the connection.
fn say_last(stream: &mut TcpStream, text: &str) -> bool {
    say(stream, text);
    false
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Runs a bench and reads its figures.
fn figures(args: &[&str]) -> serde_json::Value {
    let args = [&["bench", "--json"], args].concat();
    let (code, out, errors) = run(&args);
    assert!(code == 0, "{out}{errors}");
    serde_json::from_str(&out).expect("JSON")
}

/// Runs a bench for a moment, and for longer ones until it has had so many answers with status 200. Returns its figures.
fn figures_of(answers: u64, args: &[&str]) -> serde_json::Value {
    for time in ["300ms", "3s"] {
        let args = [&["bench", "--json", "-d", time], args].concat();
        let (_, out, _) = run(&args);
        let seen = serde_json::from_str(&out).expect("JSON");
        if count(&seen, "statuses", "200") >= answers {
            return seen;
        }
    }
    let seen = figures(&[&["-d", "20s"], args].concat());
    assert!(count(&seen, "statuses", "200") >= answers, "{seen}");
    seen
}

fn count(figures: &serde_json::Value, group: &str, name: &str) -> u64 {
    figures[group][name].as_u64().unwrap_or(0)
}

#[test]
fn answers_are_counted_by_status_and_faults_by_kind() {
    let address = server(|stream, number| match number % 5 {
        0 => say(stream, "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
        1 => say_last(stream, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
        2 => say(stream, "what is this\r\n\r\n"),
        3 => say_last(
            stream,
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end",
        ),
        _ => say(stream, OK),
    });
    let url = format!("http://{address}/");
    let figures = figures(&[&url, "-c", "4", "-d", "700ms"]);
    for (group, name) in [
        ("statuses", "200"),
        ("statuses", "500"),
        ("errors", "closed"),
        ("errors", "malformed"),
    ] {
        assert!(
            count(&figures, group, name) > 0,
            "{group} {name}: {figures}"
        );
    }
    assert_eq!(count(&figures, "errors", "connect"), 0, "{figures}");
    let answers = figures["answers"].as_u64().expect("a number");
    assert_eq!(
        answers,
        count(&figures, "statuses", "200") + count(&figures, "statuses", "500"),
        "{figures}"
    );
}

#[test]
fn nobody_there_and_nobody_answering_are_told_apart() {
    let free = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound");
    let (code, out, _) = run(&[
        "bench",
        &format!("http://{free}/"),
        "-c",
        "2",
        "-d",
        "200ms",
    ]);
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains("connect") && out.contains("connecting failed: Connection refused"),
        "{out}"
    );
    let silent = server(|_, _| true);
    let (code, out, _) = run(&[
        "bench",
        &format!("http://{silent}/"),
        "-c",
        "2",
        "-d",
        "500ms",
        "--timeout",
        "100ms",
    ]);
    assert!(
        code == 1 && out.contains("× no answer within 100.0 ms"),
        "{out}"
    );
}

#[test]
fn a_stall_counts_for_all_that_was_due_meanwhile() {
    let address = server(|stream, number| {
        if number == 50 {
            wait::dawdle(Duration::from_millis(500));
        }
        say(stream, OK)
    });
    let url = format!("http://{address}/");
    let open = figures(&[&url, "-c", "1", "-r", "200", "-d", "1500ms"]);
    // A hundred of three hundred requests were due during the stall, and waited a quarter of a second in the median.
    let p75 = open["latency_ms"]["p75"].as_f64().expect("a number");
    assert!(p75 >= 20.0, "{open}");
}

#[test]
fn a_rate_is_kept() {
    let address = server(|stream, _| say(stream, OK));
    let url = format!("http://{address}/");
    let figures = figures(&[&url, "-c", "8", "-t", "2", "-r", "400", "-d", "1s"]);
    // A machine that is too slow for it leaves some unsent, and says so.
    let number = |name: &str| figures[name].as_u64().expect("a number");
    assert!(
        (360..=400).contains(&(number("answers") + number("unsent"))),
        "{figures}"
    );
}

const APP: &str = "local app = require 'sampan'
app.get('/', function() return 'hello' end)
app.post('/', function(req) app.db.exec('INSERT INTO t VALUES (?)', { req:json().n }) return req.headers['x-a'] end)";

#[test]
fn a_route_is_measured_on_a_project_of_its_own_with_a_copy_of_its_database() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let folder = scratch.file("");
    assert_eq!(run(&["db", &folder, "CREATE TABLE t(n)", "--write"]).0, 0);
    let (code, out, errors) = run(&[
        "bench",
        "/",
        "--project",
        &folder,
        "--workers",
        "1",
        "-c",
        "4",
        "-d",
        "300ms",
    ]);
    assert!(
        code == 0 && out.contains("errors    none") && out.contains("p99.9") && out.contains('█'),
        "{out}{errors}"
    );
    assert!(!out.contains('\u{1b}'), "plain in a pipe: {out}");
    let args = [
        "/",
        "--project",
        &folder,
        "--workers",
        "1",
        "-d",
        "300ms",
        "-H",
        "X-A: b",
        "--body",
        "{\"n\":7}",
    ];
    let figures = figures(&args);
    assert!(
        count(&figures, "statuses", "200") > 0 && figures["method"] == "POST",
        "{figures}"
    );
    let (_, out, _) = run(&["db", &folder, "SELECT count(*) AS n FROM t", "--json"]);
    assert_eq!(out, "[{\"n\":0}]\n", "what the load wrote went into a copy");
    let left: Vec<_> = std::fs::read_dir(scratch.path())
        .expect("read")
        .filter_map(Result::ok)
        .collect();
    assert!(
        left.iter()
            .all(|entry| !entry.file_name().to_string_lossy().contains(".load-")),
        "{left:?}"
    );
}

#[test]
fn jobs_that_wait_do_not_run_in_the_copy_of_the_database() {
    let app = "local app = require 'sampan'
app.job('told', function() app.log.warn('a job runs') end)
app.on_start(function() app.enqueue('told', 1) end)
app.get('/', 'hello')";
    let scratch = Scratch::new(&[("app.lua", app)]);
    let folder = scratch.file("");
    let (code, out, errors) = run(&["bench", "/", "--project", &folder, "-c", "1", "-d", "1s"]);
    assert!(code == 0 && out.contains("errors    none"), "{out}{errors}");
    assert!(!errors.contains("a job runs"), "{errors}");
}

#[test]
fn a_route_of_a_project_with_tls_is_measured_beside_its_server() {
    let identity = Identity::new(&["localhost"]);
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    // The address of the measurements of the server that runs.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let metrics = taken.local_addr().expect("bound").to_string();
    let toml = format!(
        "[tls]\ncert = {certificate:?}\nkey = {key:?}\nredirect = true\nredirect_listen = {metrics:?}\n\
         [metrics]\nlisten = {metrics:?}\n\
         [server]\ntrusted_proxies = [\"127.0.0.1\"]\nproxy_protocol = true\n"
    );
    let app = "local app = require 'sampan'\napp.get('/', 'hello')";
    let scratch = Scratch::new(&[("app.lua", app), ("sampan.toml", &toml)]);
    let args = ["/", "--project", &scratch.file(""), "-d", "300ms"];
    let figures = figures(&args);
    let statuses = figures["statuses"].as_object().expect("counts");
    assert!(
        count(&figures, "statuses", "200") > 0 && statuses.len() == 1,
        "{figures}"
    );
}

#[test]
fn a_project_on_postgres_is_measured_on_a_file_of_sqlite() {
    let app = "local app = require 'sampan'\napp.get('/', function() return app.db.one('SELECT 1 AS n') end)";
    let toml = "[db]\nurl = \"postgres://a@127.0.0.1:1/none\"\n";
    let scratch = Scratch::new(&[("app.lua", app), ("sampan.toml", toml)]);
    let args = ["/", "--project", &scratch.file(""), "-d", "300ms"];
    let told = "name one with --set db.url=";
    fails(&[&["bench"], &args[..]].concat(), 1, &[told]);
    let figures = figures(&[&args[..], &["--set", "db.url="]].concat());
    assert!(count(&figures, "statuses", "200") > 0, "{figures}");
}

#[test]
fn a_signal_and_a_process_that_was_killed_leave_no_copy_of_the_database() {
    let app = "local app = require 'sampan'\napp.db.exec('CREATE TABLE IF NOT EXISTS t(a)')\napp.get('/', 'hello')";
    let scratch = Scratch::new(&[("app.lua", app)]);
    let folder = scratch.file("");
    let copies = |of: &str| {
        let entries = std::fs::read_dir(scratch.path()).expect("read").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.contains(of)).count()
    };
    run(&["db", &folder, "CREATE TABLE u(a)", "--write"]);
    for signal in ["-KILL", "-TERM", "-HUP"] {
        let mut process = sampan(&["bench", "/", "--project", &folder, "-d", "20s"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        let pid = process.id().to_string();
        wait::until("two copies", || copies(&format!(".load-{pid}")) >= 2);
        let sent = std::process::Command::new("kill")
            .args([signal, &pid])
            .status();
        assert!(sent.is_ok_and(|status| status.success()));
        process.wait().expect("it ends");
        // What the first leaves is removed by the second.
        assert_eq!(copies(".load-") > 0, signal == "-KILL", "{signal}");
    }
}

#[test]
fn connections_come_from_the_addresses_in_turn() {
    let seen = Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let addresses = Arc::clone(&seen);
    let address = server(move |stream, _| {
        let from = stream.peer_addr().expect("an address").ip();
        addresses.lock().expect("no panic").insert(from.to_string());
        say(stream, OK)
    });
    let url = format!("http://{address}/");
    let from = "127.0.0.11,127.0.0.12,127.0.0.13";
    let figures = figures(&[&url, "-c", "6", "-d", "300ms", "--from", from]);
    assert!(count(&figures, "statuses", "200") > 0, "{figures}");
    let seen: Vec<String> = seen.lock().expect("no panic").iter().cloned().collect();
    assert_eq!(seen.join(","), from);
}

#[test]
fn requests_without_an_answer_count_as_long_as_they_have_waited() {
    // One of the two connections never gets an answer.
    let address = server(|stream, number| match number {
        0 => {
            say(stream, "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
            say(stream, "")
        }
        1 => {
            thread::park();
            false
        }
        _ => say(stream, OK),
    });
    let url = format!("http://{address}/");
    let figures = figures(&[&url, "-c", "2", "-d", "1s", "--rate", "20"]);
    let most = |group: &str| figures[group]["max"].as_f64().expect("a time");
    assert!(most("wait_ms") > 500.0, "{figures}");
    assert!(most("wait_ms") > most("latency_ms"), "{figures}");
    assert!(most("accepted_ms") <= most("latency_ms"), "{figures}");
}

#[test]
fn what_cannot_be_measured_is_told_at_once() {
    let told = "only http:// and https:// can be measured";
    fails(&["bench", "ftp://localhost/"], 1, &[told]);
    fails(&["bench", "localhost"], 1, &["is no address"]);
    fails(
        &["bench", "http://127.0.0.1/", "-c", "0"],
        2,
        &["it must be a number from 1"],
    );
    fails(
        &["bench", "http://127.0.0.1/", "-d", "soon"],
        2,
        &["such as 500ms, 10s or 2min"],
    );
    let empty = Scratch::new(&[]);
    fails(
        &["bench", "/", "--project", &empty.file("")],
        1,
        &["no app.lua"],
    );
    let app = "local app = require 'sampan'\napp.get('/', function() return 'x' end)";
    let project = Scratch::new(&[("app.lua", app)]);
    let args = ["bench", "/nothere", "--project", &project.file("")];
    // The server tells that it listens.
    let (code, _, errors) = run(&args);
    let told = "sampan: GET /nothere is answered 404: there is no such route";
    assert!(code == 1 && errors.contains(told), "{errors}");
}

#[test]
fn a_server_by_https_is_measured_too() {
    let large = "x".repeat(300_000);
    let app = format!(
        "local app = require 'sampan'\napp.get('/', 'ok')\napp.get('/large', '{large}')\n\
         app.post('/', function(req) return tostring(#req:text()) end)\n"
    );
    let identity = Identity::new(&["localhost"]);
    let (certificate, key) = (identity.certificate_file(), identity.key_file());
    let toml = format!("[tls]\ncert = {certificate:?}\nkey = {key:?}\n");
    let scratch = Scratch::new(&[("app.lua", &app), ("sampan.toml", &toml)]);
    let mut command = sampan(&["run", &scratch.file(""), "--listen", "127.0.0.1:0"]);
    let process = Process::start(&mut command);
    let address = process.address;
    let body = format!("@{}", scratch.file("app.lua"));
    let close = "Connection: close";
    for more in [
        &[][..],
        &["--header", close],
        &["--header", close, "--full-handshakes"],
        &["--rate", "200"],
        &["--body", &body],
    ] {
        let url = format!("https://{address}/");
        let seen = figures_of(10, &[&["-c", "4", &url][..], more].concat());
        let errors = seen["errors"].as_object().expect("counts");
        assert!(errors.values().all(|count| *count == 0), "{more:?} {seen}");
    }
    let url = format!("https://{address}/large");
    figures_of(1, &["-c", "4", &url]);
    // A port without TLS.
    let plain = server(|stream, _| say_last(stream, OK));
    let (code, out, _) = run(&["bench", &format!("https://{plain}/"), "-d", "300ms"]);
    assert!(code == 1 && out.contains("connect"), "{out}");
}
