//! The errors of servers that do not start, read at night: one line that says what is wrong and what to do.

use crate::commands::command::sampan;
use crate::support::{Process, Scratch};
use std::fs;
use std::io::Write;
use std::process::Command;

const APP: &str = "local app = require 'sampan'\napp.get('/', function() return 'x' end)\napp.post('/', function() \
 return 'y' end)\n";

/// Expects that the project does not start, and that the one line contains `part`.
fn does_not_start(scratch: &Scratch, part: &str) {
    let folder = scratch.path().display().to_string();
    let output = sampan(&["run", &folder, "--listen", "127.0.0.1:0"])
        .output()
        .expect("the command starts");
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.starts_with("sampan: ") && told.contains(part),
        "{told}"
    );
    assert_eq!(told.trim_end().lines().count(), 1, "one line: {told}");
}

#[test]
fn files_that_are_not_what_they_should_be() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    fs::write(scratch.file("sampan.toml"), b"# \xff\xfe\n").expect("written");
    does_not_start(&scratch, "sampan.toml is not UTF-8: save it as UTF-8 text");
    for (text, part) in [
        (
            "[limits]\n\nbody_bytes_max = true\n",
            "sampan.toml:3: [limits] body_bytes_max = true: a size such as 10485760 or \"10MB\" is expected",
        ),
        (
            "[limits]\nheaders_max = \"10MB\"\n",
            "sampan.toml:2: [limits] headers_max = \"10MB\": a whole number is expected",
        ),
    ] {
        fs::write(scratch.file("sampan.toml"), text).expect("written");
        does_not_start(&scratch, part);
    }
    fs::remove_file(scratch.file("sampan.toml")).expect("removed");
    fs::write(
        scratch.file("data.db"),
        "a letter to nobody in particular\n".repeat(40),
    )
    .expect("written");
    does_not_start(
        &scratch,
        "file is not a database: name another file, or move this one away",
    );
    fs::remove_file(scratch.file("data.db")).expect("removed");
    fs::write(scratch.file("migrations"), "").expect("written");
    does_not_start(&scratch, "migrations is a file: make it a folder");
}

#[test]
fn an_app_without_a_database_gets_no_file_also_by_a_reload() {
    let scratch = Scratch::new(&[("app.lua", APP)]);
    fs::create_dir(scratch.path().join("migrations")).expect("a folder");
    let folder = scratch.path().display().to_string();
    let mut process = Process::start(&mut sampan(&["run", &folder, "--listen", "127.0.0.1:0"]));
    let said = process.read_errors();
    process.signal("HUP");
    said.until("reloaded in ");
    let mut client = process.client();
    for method in ["GET", "POST"] {
        client
            .send(format!("{method} / HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes())
            .expect("sent");
        assert_eq!(client.read(false).expect("an answer").status, 200);
    }
    process.signal("TERM");
    let (status, log) = process.end();
    assert_eq!(status, Some(0), "{log}");
    assert!(!scratch.path().join("data.db").exists());
}

/// Node's `fetch` sends on while its answer is there already.
#[test]
fn a_413_reaches_fetch() {
    const SCRIPT: &str = "let seen = 0; for (let i = 0; i < 20; i++) { try { const r = await fetch(process.argv[1], \
        { method: 'POST', body: Buffer.alloc(10_000_000) }); await r.text(); seen += r.status === 413; } catch {} } \
         console.log(seen);";
    if Command::new("node").arg("--version").output().is_err() {
        // Past the test harness, which hides what a passing test prints.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: node is not available, so its fetch is not tried"
        );
        return;
    }
    let scratch = Scratch::new(&[("app.lua", APP)]);
    let folder = scratch.path().display().to_string();
    let process = Process::start(&mut sampan(&["run", &folder, "--listen", "127.0.0.1:0"]));
    let url = format!("http://{}/", process.address);
    let output = Command::new("node")
        .args(["--input-type=module", "-e", SCRIPT, &url])
        .output()
        .expect("node runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "20");
    process.signal("TERM");
    assert_eq!(process.end().0, Some(0));
}
