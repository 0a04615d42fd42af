//! Power loss with `durability = "full"`: all that was not synced is gone, or some of it, and nothing acknowledged is
//! lost.
//!
//! `SAMPAN_POWER_CYCLES` sets the number of cycles (60).

mod faults;

use faults::load::{Writers, Writes};
use faults::shim::{Disk, DiskFault};
use faults::{APPS, Project, Random, ask, setting};
use sampan_testkit::wait;
use std::time::{Duration, Instant};

const CYCLES: u64 = 60;
const CLIENTS: u64 = 12;

/// Between these many milliseconds after the first write the power fails.
const LOAD_MILLIS: (u64, u64) = (10, 150);

/// Small, so that checkpoints and new rounds of the log happen within a cycle.
const SETTINGS: &str = "checkpoint_pages = 20";

#[test]
fn nothing_acknowledged_is_lost_with_the_power() {
    let project = Project::new("power", "full", SETTINGS);
    // The tables are made on a disk that works.
    project.start(APPS[0]).kill();
    let disk = Disk::losing(&project);
    let mut random = Random::new();
    let begun = Instant::now();
    let (mut acknowledged, mut busy_cycles) = (0, 0);
    let cycles = setting("SAMPAN_POWER_CYCLES", CYCLES);
    for cycle in 1..=cycles {
        let keeps_some = random.one_in(2);
        let when = format!("cycle {cycle}, unsynced writes kept: {keeps_some}");
        let app = APPS[(cycle % 2) as usize];
        let mut command = project.command(app);
        disk.under(&mut command);
        disk.slow_down(random.one_in(2));
        let server = project.serve(&mut command, "shim.log");
        let before = disk.counts();
        let writers = Writers::start(&server, cycle, CLIENTS, Writes::All);
        let (least, most) = LOAD_MILLIS;
        wait::dawdle(Duration::from_millis(random.between(least, most)));
        server.kill();
        let told = writers.join();
        told.expect_no_refusals(&when);
        let after = disk.counts();
        assert!(
            told.acknowledged.is_empty() || after.1 > before.1,
            "{when}: acknowledged without a sync"
        );
        disk.lose_power(keeps_some.then_some(&mut random));

        let server = project.start(app);
        told.expect_kept(&server.ids(cycle), &when);
        server.expect_sound();
        let forgot = ask(&mut server.client(), "POST", &format!("/forget/{cycle}"));
        assert_eq!(forgot.expect("an answer").status, 200);
        acknowledged += told.acknowledged.len();
        busy_cycles += u64::from(!told.acknowledged.is_empty());
    }
    println!(
        "{cycles} cycles, {acknowledged} acknowledged rows, none lost, {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    assert!(
        busy_cycles * 2 > cycles,
        "only {busy_cycles} of {cycles} cycles wrote anything"
    );
}

/// The disk forgets what a failed sync was to write. What is acknowledged after it must not rest on that.
#[test]
fn nothing_acknowledged_after_a_failed_sync_is_lost_with_the_power() {
    let project = Project::new("forgets", "full", SETTINGS);
    project.start(APPS[0]).kill();
    let disk = Disk::losing(&project);
    let mut random = Random::new();
    for cycle in 1..=6 {
        let when = format!("cycle {cycle}");
        let mut command = project.command(APPS[(cycle % 2) as usize]);
        disk.under(&mut command);
        let server = project.serve(&mut command, "shim.log");
        let writers = Writers::start(&server, cycle, CLIENTS, Writes::All);
        wait::dawdle(Duration::from_millis(random.between(20, 60)));
        let before = disk.counts();
        disk.fail(DiskFault::Sync);
        wait::until(format!("{when}: a sync that fails"), || {
            disk.counts().2 > before.2
        });
        disk.fail(DiskFault::None);
        let mut client = server.client();
        let first = 1 + (cycle * 100 + 99) * 1_000_000;
        let again = wait_for_a_write(&mut client, cycle, first);
        wait::dawdle(Duration::from_millis(random.between(20, 60)));
        server.kill();
        let mut told = writers.join();
        told.asked.extend(first..=again);
        told.acknowledged.insert(again);
        assert!(
            told.others.keys().all(|status| [500, 503].contains(status)),
            "{when}: {:?}",
            told.others
        );
        disk.lose_power(None);

        let server = project.start(APPS[0]);
        told.expect_kept(&server.ids(cycle), &when);
        server.expect_sound();
    }
}

/// A server that has done little has one connection only. If that were the last one closed after the failed sync, the
/// next would read the log from the file, where what the sync has lost still looks committed.
#[test]
fn nothing_acknowledged_after_a_failed_sync_of_a_quiet_server_is_lost_with_the_power() {
    let project = Project::new("quiet", "full", "");
    project.start(APPS[0]).kill();
    let disk = Disk::losing(&project);
    for (cycle, app) in (1..).zip(APPS) {
        let mut command = project.command(app);
        disk.under(&mut command);
        let server = project.serve(&mut command, "shim.log");
        let mut client = server.client();
        let first = cycle * 1_000_000;
        let before = wait_for_a_write(&mut client, cycle, first);
        disk.fail(DiskFault::Sync);
        let failed = before + 1;
        let answer = ask(&mut client, "POST", &format!("/write/{cycle}/{failed}"));
        assert_eq!(answer.expect("an answer").status, 500, "{app}");
        disk.fail(DiskFault::None);
        let after = wait_for_a_write(&mut client, cycle, failed + 1);
        server.kill();
        disk.lose_power(None);

        let server = project.start(app);
        let kept = server.ids(cycle);
        assert!(kept.contains(&before), "{app}: the write before it");
        assert!(!kept.contains(&failed), "{app}: the write that failed");
        assert!(kept.contains(&after), "{app}: the write after it");
        server.expect_sound();
    }
}

/// Writes until it is acknowledged: the id of that write.
fn wait_for_a_write(client: &mut sampan_testkit::Client, cycle: u64, first: u64) -> u64 {
    let mut ids = first..;
    wait::found("a write", || {
        let id = ids.next()?;
        let answer = ask(client, "POST", &format!("/write/{cycle}/{id}")).expect("an answer");
        (answer.status == 200).then_some(id)
    })
}
