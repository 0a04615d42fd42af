//! A disk that is full, one that fails to write and one that fails to sync: who wrote meanwhile is told, nothing of
//! theirs is visible, reads go on, and writing resumes when the fault ends.

mod faults;

use faults::load::{Told, Writers, Writes};
use faults::shim::{Disk, DiskFault};
use faults::{APPS, Project, Server, ask};
use sampan_testkit::wait;
use std::collections::HashSet;
use std::fs;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

/// Requests that come at the same moment, so that they share a group.
const TOGETHER: u64 = 16;

/// The time that the clients write against the fault.
const FAULT_MILLIS: u64 = 300;

/// Writes that are sent together, each on a connection of its own: the status of each id. Every third one waits for
/// something else after it has written.
fn write_together(server: &Server, cycle: u64) -> Vec<(u64, u16)> {
    let gate = Arc::new(Barrier::new(TOGETHER as usize));
    let clients = (1..=TOGETHER).map(|number| {
        let (mut client, gate) = (server.client(), Arc::clone(&gate));
        let id = cycle * 1_000 + number;
        std::thread::spawn(move || {
            gate.wait();
            let route = if number % 3 == 0 { "late" } else { "write" };
            let answer = ask(&mut client, "POST", &format!("/{route}/{cycle}/{id}"));
            (id, answer.expect("an answer").status)
        })
    });
    let clients: Vec<_> = clients.collect();
    let told = clients
        .into_iter()
        .map(|client| client.join().expect("it ends"));
    told.collect()
}

fn expect_all_written(server: &Server, cycle: u64) {
    let told = write_together(server, cycle);
    assert!(told.iter().all(|(_, status)| *status == 200), "{told:?}");
    let ids: HashSet<u64> = told.iter().map(|(id, _)| *id).collect();
    assert_eq!(server.ids(cycle), ids);
}

fn wait_until_writing_resumes(server: &Server, cycle: u64) {
    let mut ids = cycle * 1_000..;
    wait::until("a write", || {
        let id = ids.next().unwrap_or_default();
        let path = format!("/write/{cycle}/{id}");
        let answer = ask(&mut server.client(), "POST", &path);
        answer.expect("an answer").status == 200
    });
}

/// The expected answers of the first group is told, what later ones are told, and the words in the log.
struct Expected {
    fault: DiskFault,
    later: &'static [u16],
    words: &'static [&'static str],
}

fn behaves(app: &str, name: &str, expected: &Expected) {
    let project = Project::new(name, "full", "");
    let disk = Disk::failing(&project);
    let mut command = project.command(app);
    disk.under(&mut command);
    let server = project.serve(&mut command, "server.log");
    expect_all_written(&server, 1);
    let rows = server.get("/count");

    disk.fail(expected.fault);
    let told = write_together(&server, 2);
    // Those that come while the first are being told may already meet a database that is being repaired.
    let is_right = |status: u16| status == 500 || expected.later.contains(&status);
    assert!(
        told.iter().all(|(_, status)| is_right(*status)),
        "{told:?}\n{}",
        server.log()
    );
    assert!(told.iter().any(|(_, status)| *status == 500), "{told:?}");
    assert!(disk.counts().2 > 0, "the fault was never met");
    assert_eq!(
        server.get("/count"),
        rows,
        "nothing of theirs is visible, reads go on"
    );
    expect_logged(&server, expected.words);
    let during = under_fire(&server, 3, expected.later, &rows);
    assert_eq!(server.get("/count"), rows);

    disk.fail(DiskFault::None);
    wait_until_writing_resumes(&server, 4);
    expect_all_written(&server, 5);
    for cycle in [2, 3] {
        let there = server.ids(cycle);
        assert!(there.is_empty(), "refused writes are visible: {there:?}");
    }
    assert!(during.acknowledged.is_empty());

    server.kill();
    let server = project.start(app);
    let ids: HashSet<u64> = (1..=TOGETHER).map(|number| 5_000 + number).collect();
    assert_eq!(server.ids(5), ids, "after a kill too");
    server.expect_sound();
}

/// Waits for a cause in the log, which is written by a thread of its own.
fn expect_logged(server: &Server, words: &[&str]) {
    let is_there = |log: &str| words.iter().any(|words| log.contains(words));
    wait::until("a cause in the log", || {
        is_there(&server.log().to_lowercase())
    });
}

/// Many clients for a while, none of which is told 200, and a reader that goes on. It is told 500 only where it ran in
/// a group that was lost, as it may have seen what is not there any more; what it is told else is right.
fn under_fire(server: &Server, cycle: u64, later: &[u16], rows: &str) -> Told {
    let writers = Writers::start(server, cycle, 8, Writes::All);
    let end = Instant::now() + Duration::from_millis(FAULT_MILLIS);
    let mut client = server.client();
    let (mut right, mut lost) = (0, 0);
    while Instant::now() < end {
        let answer = ask(&mut client, "GET", "/count").expect("an answer");
        match answer.status {
            200 => {
                assert_eq!(answer.text(), rows, "a refused write is visible");
                right += 1;
            }
            500 => lost += 1,
            status => panic!("a reader was told {status}: {}", answer.text()),
        }
    }
    assert!(
        right > lost,
        "of the reads {right} went on and {lost} did not"
    );
    let told = writers.stop();
    let is_right = |status: &u16| *status == 500 || later.contains(status);
    assert!(
        !told.others.is_empty() && told.others.keys().all(is_right),
        "{:?}",
        told.others
    );
    told
}

#[test]
fn a_full_disk() {
    let expected = Expected {
        fault: DiskFault::Full,
        later: &[503],
        words: &["disk is full"],
    };
    for (app, name) in APPS.iter().zip(["full-lua", "full-js"]) {
        behaves(app, name, &expected);
    }
}

#[test]
fn a_disk_that_fails_to_write() {
    let expected = Expected {
        fault: DiskFault::Write,
        later: &[503],
        words: &["disk i/o error"],
    };
    for (app, name) in APPS.iter().zip(["write-lua", "write-js"]) {
        behaves(app, name, &expected);
    }
}

#[test]
fn a_disk_that_fails_to_sync() {
    let expected = Expected {
        fault: DiskFault::Sync,
        later: &[503],
        words: &["disk i/o error", "fsync"],
    };
    for (app, name) in APPS.iter().zip(["sync-lua", "sync-js"]) {
        behaves(app, name, &expected);
    }
}

/// A limit on the size of files is told like a full disk, and does not end the process (SIGXFSZ).
#[test]
fn a_file_that_may_not_grow() {
    for app in APPS {
        let project = Project::new(&format!("limit-{app}"), "full", "");
        let server_command = project.command_for(app, 1);
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", "ulimit -f 600; exec \"$@\"", "sh"])
            .arg(server_command.get_program())
            .args(server_command.get_args());
        let server = project.serve(&mut command, "server.log");
        let mut client = server.client();
        let mut write = |id: u64| {
            let answer = ask(&mut client, "POST", &format!("/batch/1/{}", id * 10));
            answer.expect("an answer").status
        };
        let refused = (1..20_000).map(&mut write).find(|status| *status != 200);
        assert_eq!(refused, Some(500), "{app}: {}", server.log());
        expect_logged(&server, &["disk is full: a file has reached the limit"]);
        assert_eq!(server.get("/halves"), "", "{app}");
    }
}

/// Another file at its place, or none: whoever writes is told 503 from the first on, also those whose statements ran
/// before it was noticed.
#[test]
fn a_file_that_is_removed_or_replaced() {
    for app in APPS {
        for is_replaced in [false, true] {
            let project = Project::new(&format!("gone-{is_replaced}-{app}"), "full", "");
            let server = project.serve(&mut project.command(app), "server.log");
            expect_all_written(&server, 1);
            let file = project.data().join("test.db");
            fs::rename(&file, project.data().join("moved.db")).expect("moved");
            if is_replaced {
                fs::copy(project.data().join("moved.db"), &file).expect("copied");
            }
            let told = write_together(&server, 2);
            assert!(told.iter().all(|(_, status)| *status == 503), "{told:?}");
            expect_logged(&server, &["was removed or replaced while it was open"]);
        }
    }
}
