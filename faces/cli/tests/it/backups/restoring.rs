//! States of the past, other machines, and keys.

use super::{BackupScene, now, objects, run};
use crate::support::Scratch;
use sampan_testkit::wait;

#[test]
fn the_state_of_a_moment_is_restored() {
    let mut scene = BackupScene::new("");
    let process = scene.start();
    let mut states = Vec::new();
    for _ in 0..4 {
        for _ in 0..3 {
            scene.add(&process);
        }
        scene.all_copied();
        states.push((now(), scene.next));
        // The moment belongs to this state alone.
        wait::until("another moment", || now() > states.last().expect("one").0);
    }
    process.signal("TERM");
    process.end();
    for (moment, requests) in states {
        let at = format!("{}.{:03}", moment / 1_000, moment % 1_000);
        let at = time_of(&at);
        assert_eq!(scene.restore(&["--at", &at]).1, requests, "{at}");
    }
    assert_eq!(scene.restore(&[]).1, 12);
    let folder = scene.scratch.path().display().to_string();
    let (code, _, errors) = run(&["db", "restore", &scene.url(), &folder]);
    assert_eq!(code, 1);
    assert!(errors.contains("data.db exists"), "{errors}");
    let to = scene.scratch.path().join("x.db").display().to_string();
    let early = [
        "db",
        "restore",
        "--to",
        &to,
        "--at",
        "2001-01-01T00:00:00Z",
        &folder,
    ];
    let (code, _, errors) = run(&early);
    assert_eq!(code, 1);
    assert!(errors.contains("the oldest copy is of"), "{errors}");
}

/// A number of seconds since 1970 with a fraction, as a time.
fn time_of(seconds: &str) -> String {
    let output = std::process::Command::new("date")
        .args([
            "-u",
            "-d",
            &format!("@{seconds}"),
            "+%Y-%m-%dT%H:%M:%S.%3NZ",
        ])
        .output();
    let output = output.expect("the command date").stdout;
    String::from_utf8(output).expect("UTF-8").trim().to_owned()
}

#[test]
fn a_restart_goes_on_with_the_same_copy() {
    let mut scene = BackupScene::new("");
    for signal in ["TERM", "KILL", "KILL", "TERM", "KILL"] {
        let process = scene.start();
        scene.add(&process);
        scene.all_copied();
        process.signal(signal);
        process.end();
    }
    let process = scene.start();
    scene.add(&process);
    scene.all_copied();
    assert_eq!(scene.generations(), 1);
    process.signal("TERM");
    process.end();
    // Another program writes while there is no server.
    let folder = scene.scratch.path().display().to_string();
    super::succeeds(&["db", &folder, "--write", "CREATE TABLE other (a)"]);
    let process = scene.start();
    scene.add(&process);
    scene.all_copied();
    assert_eq!(scene.generations(), 2);
    process.signal("TERM");
    process.end();
}

#[test]
fn a_bench_and_a_prompt_leave_the_copy_alone() {
    let mut scene = BackupScene::new("");
    let process = scene.start();
    scene.add(&process);
    scene.all_copied();
    process.signal("TERM");
    process.end();
    let folder = scene.scratch.path().display().to_string();
    let load = ["-X", "POST", "-c", "1", "-d", "500ms"];
    let args = [&["bench", "/add/7", "--project", &folder][..], &load].concat();
    // The writes after the first find their rows there, which the log tells.
    assert_eq!(super::run(&args).0, 0);
    let other = scene.scratch.path().join("other.db").display().to_string();
    let mut prompt = super::sampan(&["repl", &folder, "--db", &other]);
    let ended = prompt.stdin(std::process::Stdio::null()).status();
    assert!(ended.is_ok_and(|status| status.success()));
    assert_eq!((scene.generations(), scene.restore(&[]).1), (1, 1));
}

#[test]
fn an_empty_machine_starts_with_what_was_copied() {
    let mut scene = BackupScene::new("key = \"a key of thirty-two characters at least\"");
    let process = scene.start_with(&["--restore"]);
    assert!(super::ask(&process, "GET", "/count").contains(":0"));
    for _ in 0..5 {
        scene.add(&process);
    }
    scene.all_copied();
    process.signal("KILL");
    process.end();
    // The machine is gone; another has the project and the key.
    scene.remove_database();
    let process = scene.start_with(&["--restore"]);
    assert!(super::ask(&process, "GET", "/count").contains(":50"));
    scene.add(&process);
    scene.all_copied();
    process.signal("TERM");
    process.end();
    // The rows are hex digits, which an object shows unless it is encrypted; compressed or not, SQLite's own words are
    // in none.
    let words = b"CREATE TABLE added";
    for object in objects(&scene.copy) {
        let bytes = std::fs::read(&object).expect("read");
        let found = bytes.windows(words.len()).any(|part| part == words);
        assert!(!found, "{}", object.display());
    }
    // Without the key it is of no use.
    let other = Scratch::new(&[("app.lua", "")]);
    let folder = other.path().display().to_string();
    let (code, _, errors) = run(&["db", "restore", &scene.url(), &folder]);
    assert_eq!(code, 1);
    assert!(errors.contains("set the key of [backup]"), "{errors}");
    assert!(!other.path().join("data.db").exists());
}

#[test]
fn a_new_database_on_the_target_of_another_is_told_and_both_are_listed() {
    let mut scene = BackupScene::new("");
    let process = scene.start();
    for _ in 0..3 {
        scene.add(&process);
    }
    scene.all_copied();
    process.signal("TERM");
    process.end();
    scene.remove_database();
    let warning = "has the copy of another database file, until ";
    let process = scene.start_until(&[], warning);
    wait::until("the copy of the new database", || scene.generations() == 2);
    wait::until("its whole copy", || {
        let restored = scene.try_restore(&[]);
        restored.is_ok_and(|(_, requests)| requests == 0)
    });
    process.signal("TERM");
    process.end();
    let folder = scene.scratch.path().display().to_string();
    let list = super::succeeds(&["db", "restore", "--list", &folder]);
    let rows: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0], ["from", "to", "bytes", "generation"], "{list}");
    assert_eq!(rows.len(), 3, "{list}");
    let bytes: u64 = rows[1][2].parse().expect("a size");
    assert!(rows[1][0] <= rows[1][1] && bytes > 0, "{list}");
    // Each generation is restored by its last moment.
    assert_eq!(scene.restore(&["--at", rows[1][1]]).1, 3, "{list}");
    assert_eq!(scene.restore(&["--at", rows[2][1]]).1, 0, "{list}");
    let nothing = format!("file://{folder}/nothing");
    let (code, _, errors) = run(&["db", "restore", "--list", &nothing, &folder]);
    assert_eq!(code, 1);
    assert!(errors.contains("there is no complete copy"), "{errors}");
}

#[test]
fn a_restored_database_goes_on_without_a_warning() {
    let mut scene = BackupScene::new("");
    let process = scene.start();
    scene.add(&process);
    scene.all_copied();
    process.signal("TERM");
    process.end();
    scene.remove_database();
    let process = scene.start_with(&["--restore"]);
    scene.add(&process);
    scene.all_copied();
    assert_eq!(scene.generations(), 2);
    process.signal("TERM");
    let (_, log) = process.end();
    assert!(!log.contains("of another database file"), "{log}");
}
