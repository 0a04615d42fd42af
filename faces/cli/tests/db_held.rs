//! Checks that nothing that could depend on a write leaves before its commit, on a disk whose syncs end when told to:
//! neither the writer's answer nor that of a handler which only saw a variable that the writer set. What no script
//! makes is not held.

mod faults;

use faults::shim::Disk;
use faults::{APPS, Project, Server, ask};
use sampan_testkit::wait;
use std::thread::JoinHandle;

/// After as many slow commits the server has noticed that they are slow.
const NOTICED_AFTER: u64 = 4;

/// Sends a request: what came back.
fn send(server: &Server, method: &'static str, path: String) -> JoinHandle<String> {
    let mut client = server.client();
    std::thread::spawn(move || {
        let answer = ask(&mut client, method, &path).expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.text()
    })
}

/// A server on a disk whose commits it knows to be slow.
fn on_a_slow_disk(app: &str, name: &str) -> (Project, Disk, Server) {
    let project = Project::new(name, "full", "");
    let disk = Disk::failing(&project);
    let mut command = project.command_for(app, 1);
    disk.under(&mut command);
    let server = project.serve(&mut command, "server.log");
    disk.crawl();
    for id in 1..=NOTICED_AFTER {
        send(&server, "POST", format!("/mark/{id}"))
            .join()
            .expect("it ends");
    }
    (project, disk, server)
}

/// Sends a request that writes, whose commit has begun and does not end.
fn send_held(
    server: &Server,
    disk: &Disk,
    method: &'static str,
    path: String,
) -> JoinHandle<String> {
    disk.hold_syncs();
    let (_, syncs, _) = disk.counts();
    let writer = send(server, method, path);
    wait::until("the sync of its commit", || disk.counts().1 > syncs);
    writer
}

/// Has answered what no script makes, which also gives the worker time to answer others.
fn answer_others(server: &Server) {
    for _ in 0..20 {
        server.get("/fixed");
    }
}

fn holds(app: &str, name: &str) {
    let (_project, disk, server) = on_a_slow_disk(app, name);
    let writer = send_held(&server, &disk, "POST", "/mark/77".into());
    let reader = send(&server, "GET", "/seen".into());
    answer_others(&server);
    assert!(
        !writer.is_finished(),
        "the writer is answered before its commit"
    );
    assert!(
        !reader.is_finished(),
        "the reader is answered before the commit of what it saw"
    );
    disk.slow_down(false);
    writer.join().expect("it ends");
    assert_eq!(reader.join().expect("it ends"), "77");
}

#[test]
fn what_saw_an_uncommitted_write_waits_for_its_commit() {
    for app in APPS {
        holds(app, &format!("held-{app}"));
    }
}

#[test]
fn a_stream_does_not_end_before_its_last_write_is_committed() {
    let event = "data: a\n\n";
    let streams = [
        ("stream", "a"),
        ("slow", "a"),
        ("sized", "a"),
        ("events", event),
        ("closed", event),
    ];
    let mut early = Vec::new();
    for app in APPS {
        let (_project, disk, server) = on_a_slow_disk(app, &format!("ends-{app}"));
        for (id, (name, text)) in (100..).zip(streams) {
            let stream = send_held(&server, &disk, "GET", format!("/ends/{name}/{id}"));
            answer_others(&server);
            if stream.is_finished() {
                early.push((app, name));
            }
            disk.slow_down(false);
            assert_eq!(stream.join().expect("it ends"), text, "{app}: {name}");
        }
    }
    assert!(early.is_empty(), "{early:?} ended before the commit");
}
