//! Clients that leave in the middle of a transaction, at random moments, beside others who write: nothing of theirs
//! stays, and the others are not kept waiting.
//!
//! `SAMPAN_LEFT_CLIENTS` sets the number of those who leave from each app (200).

mod faults;

use faults::load::{Writers, Writes};
use faults::{APPS, Project, Random, setting};
use sampan_testkit::wait;
use std::time::Duration;

const LEAVING: u64 = 200;

/// Writers who stay. They and those who leave share two workers.
const CLIENTS: u64 = 6;

#[test]
fn clients_that_leave_inside_a_transaction_leave_nothing_behind() {
    for app in APPS {
        let project = Project::new("left", "normal", "");
        let server = project.start(app);
        let writers = Writers::start(&server, 1, CLIENTS, Writes::All);
        let mut random = Random::new();
        for number in 0..setting("SAMPAN_LEFT_CLIENTS", LEAVING) {
            let mut client = server.client();
            let first = 900_000_000 + number * 10;
            let head = format!(
                "POST /transaction/2/{first} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
            );
            client.send(head.as_bytes()).expect("a server that reads");
            wait::dawdle(Duration::from_micros(random.between(0, 4_000)));
            drop(client);
        }
        let told = writers.stop();
        told.expect_no_refusals(app);
        told.expect_kept(&server.ids(1), app);
        server.expect_sound();
        // Clients that come now find the connection free.
        let last = Writers::start(&server, 3, 3, Writes::All);
        wait::until("writes", || !server.ids(3).is_empty());
        let told = last.stop();
        told.expect_no_refusals(app);
        assert!(!told.acknowledged.is_empty(), "{app}");
        server.stop();
    }
}
