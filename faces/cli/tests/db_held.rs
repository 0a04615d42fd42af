//! Nothing that could depend on a write leaves before its commit, on a disk whose syncs take four tenths of a second:
//! neither the answer of who wrote nor that of a handler which only saw a variable that the writer set. What no script
//! makes is not held.

mod faults;

use faults::shim::Disk;
use faults::{APPS, Project, Server, ask};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// After as many slow commits the server has noticed that they are slow.
const NOTICED_AFTER: u64 = 4;

/// A request that is sent now: what came back, how long it took, and when it was there.
fn send(
    server: &Server,
    method: &'static str,
    path: String,
) -> JoinHandle<(String, Duration, Instant)> {
    let mut client = server.client();
    std::thread::spawn(move || {
        let began = Instant::now();
        let answer = ask(&mut client, method, &path).expect("an answer");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        (answer.text().to_string(), began.elapsed(), Instant::now())
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
        let (_, took, _) = send(&server, "POST", format!("/mark/{id}"))
            .join()
            .expect("it ends");
        assert!(took > Duration::from_millis(150), "the sync took {took:?}");
    }
    let writer = send(&server, "POST", "/mark/77".into());
    std::thread::sleep(Duration::from_millis(60));
    let reader = send(&server, "GET", "/seen".into());
    let fixed = send(&server, "GET", "/fixed".into());
    let (_, fixed_took, fixed_at) = fixed.join().expect("it ends");
    let (_, writer_took, written_at) = writer.join().expect("it ends");
    let (seen, reader_took, seen_at) = reader.join().expect("it ends");
    assert_eq!(seen, "77");
    assert!(writer_took > Duration::from_millis(150), "{writer_took:?}");
    assert!(reader_took > Duration::from_millis(60), "{reader_took:?}");
    assert!(
        seen_at + Duration::from_millis(60) > written_at,
        "the reader was answered {:?} before the writer",
        written_at.saturating_duration_since(seen_at)
    );
    assert!(
        fixed_at < written_at,
        "an answer that no script makes took {fixed_took:?}"
    );
}

#[test]
fn what_saw_an_uncommitted_write_waits_for_its_commit() {
    for app in APPS {
        holds(app, &format!("held-{app}"));
    }
}
