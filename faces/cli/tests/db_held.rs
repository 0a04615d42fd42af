//! Nothing that could depend on a write leaves before its commit, on a disk whose syncs end when told to:
//! neither the answer of who wrote nor that of a handler which only saw a variable that the writer set. What no script
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

fn holds(app: &str, name: &str) {
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
    disk.hold_syncs();
    let (_, syncs, _) = disk.counts();
    let writer = send(&server, "POST", "/mark/77".into());
    wait::until("the sync of its commit", || disk.counts().1 > syncs);
    let reader = send(&server, "GET", "/seen".into());
    // What no script makes is answered meanwhile; these answers also give the worker time to answer the others.
    for _ in 0..20 {
        server.get("/fixed");
    }
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
