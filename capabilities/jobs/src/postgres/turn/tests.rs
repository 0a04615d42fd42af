//! Tests of the statements of a turn.

use super::*;
use crate::config::QueueRule;
use crate::table::rates::StartSlot;
use std::collections::BTreeMap;
use std::time::Duration;

fn job(queue: &str) -> Taken {
    Taken {
        id: 1,
        name: "call".to_owned(),
        queue: queue.to_owned(),
        args: None,
        attempt: 1,
        token: 1,
        trace: None,
        slot: Some(StartSlot {
            at: 0,
            taken: Instant::now(),
        }),
    }
}

#[test]
fn rates_are_locked_once_before_starts_are_given_back_and_counted() {
    let rule = QueueRule {
        concurrency: 1,
        rate: Some(QueueRate {
            count: 1,
            period: Duration::from_secs(1),
        }),
    };
    let config = JobsConfig {
        workers: 1,
        concurrency: 1,
        queues: BTreeMap::from(["a", "b", "c", "d"].map(|queue| (queue.to_owned(), rule))),
        lease: Duration::from_secs(30),
        args_bytes_max: 1_024,
        keep_millis: 0,
        keep_done_millis: 0,
    };
    let room = ["c", "a", "plain"].map(|queue| (queue.to_owned(), 1));
    let given_back = [job("b")];
    let ended = [("c", Outcome::Undeclared), ("d", Outcome::Done)].map(|(queue, outcome)| {
        let job = job(queue);
        Ended { job, outcome }
    });
    let mut turn = TurnStatements::default();
    turn.lock_rates(&room, &config, &given_back, &ended);
    turn.give_back_starts(&given_back, &ended);
    turn.take(&room, "holder", &config);
    let sent: Vec<&str> = turn
        .statements
        .iter()
        .map(|(sql, _)| sql.as_str())
        .collect();
    let expected = [
        LOCK,
        GIVE_BACK_STARTS,
        GIVE_BACK_STARTS,
        TAKE_RATED,
        OPENS,
        TAKE_RATED,
        OPENS,
        TAKE,
    ];
    assert_eq!(sent, expected);
    let queues = Value::List(vec![texts(["a", "b", "c"])]);
    assert_eq!(turn.statements[0].1, queues);
}
