//! Many connections while another process holds the write lock now and then for up to a second: nobody is told that the
//! database is locked, and what does not write goes on.
//!
//! `SAMPAN_BUSY_SECONDS` sets how long (8).

mod faults;

use faults::load::{Told, Writers, Writes};
use faults::locker::Locker;
use faults::{APPS, Project, Server, ask, setting};
use sampan_testkit::wait;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const SECONDS: u64 = 8;
const WRITERS: u64 = 64;
const READERS: usize = 256;

/// The time that the other process holds the lock at most.
const HOLD_MILLIS_MAX: u64 = 1_000;

/// Between two requests of a reader: without a pause 256 of them measure the processor alone.
const READER_PAUSE_MILLIS: u64 = 20;

/// The time that each answer took.
type Times = Vec<Duration>;

/// A client that reads until told to stop.
fn reader(server: &Server, path: &'static str, stop: &Arc<AtomicBool>) -> JoinHandle<Times> {
    let (mut client, stop) = (server.client(), Arc::clone(stop));
    std::thread::spawn(move || {
        let mut times = Times::new();
        while !stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let answer = ask(&mut client, "GET", path).expect("an answer");
            times.push(begun.elapsed());
            assert_eq!(answer.status, 200, "{path}: {}", answer.text());
            wait::dawdle(Duration::from_millis(READER_PAUSE_MILLIS));
        }
        times
    })
}

fn gather(readers: Vec<JoinHandle<Times>>) -> Times {
    let mut times: Times = readers
        .into_iter()
        .flat_map(|reader| reader.join().expect("it was told nothing but 200"))
        .collect();
    times.sort_unstable();
    times
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default()
}

fn goes_on(app: &str, name: &str, seconds: u64) {
    let project = Project::new(name, "full", "");
    let server = project.start(app);
    let mut locker = Locker::start(&project, HOLD_MILLIS_MAX);
    let stop = Arc::new(AtomicBool::new(false));
    let writers = Writers::start(&server, 1, WRITERS, Writes::Both);
    let readers = (0..READERS)
        .map(|_| reader(&server, "/last", &stop))
        .collect();
    // What waits for the lock would not be answered.
    for _ in 0..50 {
        server.get("/health");
    }
    locker.go_on();
    let health = (0..2).map(|_| reader(&server, "/health", &stop)).collect();
    wait::dawdle(Duration::from_secs(seconds));
    let (holds, longest) = locker.stop();
    stop.store(true, Ordering::Relaxed);
    let (reads, health, told) = (gather(readers), gather(health), writers.stop());

    let p99 = |times: &Times| percentile(times, 99);
    println!(
        "{app}, {seconds} s, the lock held {holds} times for up to {longest} ms: {} rows written in {} requests; {} \
         reads, p50 {:?}, \
         p99 {:?}; {} others, p99 {:?}, longest {:?}",
        told.acknowledged.len(),
        told.times.len(),
        reads.len(),
        percentile(&reads, 50),
        p99(&reads),
        health.len(),
        p99(&health),
        percentile(&health, 100)
    );
    println!(
        "writes: p50 {:?}, p99 {:?}",
        percentile(&told.sorted_times(), 50),
        p99(&told.sorted_times())
    );
    expect_undisturbed(&server, &told, longest);
}

fn expect_undisturbed(server: &Server, told: &Told, longest: u64) {
    assert!(
        longest >= HOLD_MILLIS_MAX,
        "the lock was held for {longest} ms at most"
    );
    told.expect_no_refusals("while the lock was held");
    let log = server.log();
    assert!(!log.contains("database is locked"), "{log}");
    told.expect_kept(&server.ids(1), "while the lock was held");
    server.expect_sound();
}

#[test]
fn a_process_that_holds_the_write_lock_disturbs_nobody() {
    let seconds = setting("SAMPAN_BUSY_SECONDS", SECONDS) / APPS.len() as u64;
    for (app, name) in APPS.iter().zip(["busy-lua", "busy-js"]) {
        goes_on(app, name, seconds.max(2));
    }
}
