//! kill -9 at random moments under write load: every write whose 200 reached its client is there afterwards.
//!
//! `SAMPAN_KILL_CYCLES` sets the number of cycles with each durability (150).

mod faults;

use faults::load::{Writers, Writes};
use faults::{APPS, Project, Random, ask, setting};
use sampan_testkit::wait;
use std::time::{Duration, Instant};

const CYCLES: u64 = 150;
const CLIENTS: u64 = 12;

/// Between these many milliseconds after the first write the server dies.
const LOAD_MILLIS: (u64, u64) = (5, 60);

fn survives(durability: &str) {
    let project = Project::new(&format!("kill-{durability}"), durability, "");
    let mut random = Random::new();
    let begun = Instant::now();
    let (mut acknowledged, mut busy_cycles) = (0, 0);
    let cycles = setting("SAMPAN_KILL_CYCLES", CYCLES);
    let mut server = project.start(APPS[0]);
    for cycle in 1..=cycles {
        let when = format!("{durability}, cycle {cycle}");
        let writers = Writers::start(&server, cycle, CLIENTS, Writes::All);
        let (least, most) = LOAD_MILLIS;
        wait::dawdle(Duration::from_millis(random.between(least, most)));
        server.kill();
        let told = writers.join();
        told.expect_no_refusals(&when);

        // The one that checks is the one that dies next.
        server = project.start(APPS[(cycle % 2) as usize]);
        told.expect_kept(&server.ids(cycle), &when);
        server.expect_sound();
        let forgot = ask(&mut server.client(), "POST", &format!("/forget/{cycle}"));
        assert_eq!(forgot.expect("an answer").status, 200);
        acknowledged += told.acknowledged.len();
        busy_cycles += u64::from(!told.acknowledged.is_empty());
    }
    println!(
        "{durability}: {cycles} cycles, {acknowledged} acknowledged rows, none lost, {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    assert!(
        busy_cycles * 2 > cycles,
        "only {busy_cycles} of {cycles} cycles wrote anything"
    );
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill_with_full_durability() {
    survives("full");
}

#[test]
fn nothing_acknowledged_is_lost_by_a_kill_with_normal_durability() {
    survives("normal");
}
