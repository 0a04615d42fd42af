//! Tests of turns and refusals.

use super::*;
use std::net::IpAddr;

const SETTINGS: OverloadSettings = OverloadSettings {
    target: Duration::from_millis(5),
    interval: Duration::from_millis(100),
    waiting_min: 10,
    wait_max: Duration::MAX,
    slow_target: Duration::from_secs(1),
};

/// Settings by which requests are refused for their wait alone.
const BY_TIME: OverloadSettings = OverloadSettings {
    waiting_min: 1_000_000,
    wait_max: Duration::from_millis(100),
    ..SETTINGS
};

fn client(last: u8) -> Client {
    Client::of(Some(IpAddr::from([192, 0, 2, last])))
}

fn popped(queue: &mut FairQueue<u32>, now: Duration) -> Vec<u32> {
    std::iter::from_fn(|| queue.pop(now, &SETTINGS).map(|(item, _)| item)).collect()
}

#[test]
fn a_client_with_many_requests_waits_behind_itself() {
    let now = Duration::ZERO;
    let mut queue = FairQueue::default();
    for item in 0..5 {
        queue.push(client(1), item, now, &SETTINGS);
    }
    queue.push(client(2), 10, now, &SETTINGS);
    queue.push(client(3), 20, now, &SETTINGS);
    queue.push(client(3), 21, now, &SETTINGS);
    assert_eq!(popped(&mut queue, now), [0, 10, 20, 1, 21, 2, 3, 4]);
    assert!(queue.is_empty() && queue.flows.is_empty() && queue.turns.is_empty());
}

#[test]
fn the_client_with_the_most_loses_its_newest() {
    let now = Duration::ZERO;
    let mut queue = FairQueue::default();
    assert_eq!(queue.pop_above(0), None);
    queue.push(client(1), 10, now, &SETTINGS);
    for item in 0..3 {
        queue.push(client(2), item, now, &SETTINGS);
    }
    assert_eq!(
        (
            queue.len(),
            queue.len_of(client(2)),
            queue.len_of(client(3))
        ),
        (4, 3, 0)
    );
    assert_eq!(queue.pop_above(3), None);
    assert_eq!(queue.pop_above(2), Some(2));
    assert_eq!(queue.pop_above(0), Some(1));
    assert_eq!(popped(&mut queue, now).len(), 2);
    queue.push(client(1), 10, now, &SETTINGS);
    assert_eq!(queue.pop_above(0), Some(10));
    assert!(queue.is_empty() && queue.flows.is_empty() && queue.turns.is_empty());
}

#[test]
fn only_the_client_whose_queue_stays_long_is_refused() {
    let begun = Duration::ZERO;
    let mut queue = FairQueue::default();
    for item in 0..1_000 {
        queue.push(client(1), item, begun, &SETTINGS);
    }
    let (mut begun_light, mut refused) = (0, 0);
    for millis in 1..400 {
        let now = begun + Duration::from_millis(millis);
        queue.push(client(2), 5_000, now, &SETTINGS);
        for _ in 0..2 {
            match queue.pop(now, &SETTINGS).expect("there are more") {
                (5_000, Decision::Begin) => begun_light += 1,
                (5_000, Decision::Refuse) => panic!("the light client is refused"),
                (_, Decision::Refuse) => refused += 1,
                (_, Decision::Begin) => {}
            }
        }
    }
    assert!(begun_light >= 398, "{begun_light}");
    assert!(refused >= 150, "{refused}");
}

#[test]
fn many_clients_with_one_request_each_are_refused_too() {
    let begun = Duration::ZERO;
    let mut queue = FairQueue::default();
    let mut refused = 0;
    for millis in 0..400_u64 {
        let now = begun + Duration::from_millis(millis);
        for more in 0..2 {
            let address = u32::try_from(millis * 2 + more).expect("small");
            let client = Client::of(Some(IpAddr::from(address.to_be_bytes())));
            queue.push(client, 0, now, &SETTINGS);
        }
        if let Some((_, Decision::Refuse)) = queue.pop(now, &SETTINGS) {
            refused += 1;
        }
    }
    assert!(refused > 100, "{refused}");
}

/// Has twice as many requests arrive as begin, one of which does in each millisecond, and returns the longest wait
/// of those that begin in the second half, in milliseconds, and how many were refused.
fn at_twice_the_load(
    settings: OverloadSettings,
    client_of: impl Fn(u32) -> Client,
) -> (u64, usize) {
    let (mut queue, mut longest, mut refused) = (FairQueue::default(), 0, 0);
    for millis in 0..2_000_u64 {
        let now = Duration::from_millis(millis);
        for more in 0..2 {
            let number = u32::try_from(millis * 2 + more).expect("small");
            queue.push(client_of(number), millis, now, &settings);
        }
        while let Some((arrived, decision)) = queue.pop(now, &settings) {
            if decision == Decision::Begin {
                longest = longest.max((millis - arrived) * u64::from(millis > 1_000));
                break;
            }
            refused += 1;
        }
    }
    (longest, refused)
}

#[test]
fn while_requests_are_refused_the_newest_begin_first() {
    let few = OverloadSettings {
        waiting_min: 100,
        ..SETTINGS
    };
    let each = |number: u32| Client::of(Some(IpAddr::from(number.to_be_bytes())));
    for settings in [few, BY_TIME] {
        let one = at_twice_the_load(settings, |_| client(1));
        for (longest, refused) in [one, at_twice_the_load(settings, each)] {
            assert!(longest <= 5, "{longest} ms");
            assert!((1_800..=2_000).contains(&refused), "{refused}");
        }
    }
}

/// Has `count` requests wait, and one begin in each millisecond, behind which the next ones arrive. Returns the
/// number of those that are refused in two seconds.
fn refused_of(count: u32, arriving: u32, client_of: impl Fn(u32) -> Client) -> usize {
    let (mut queue, mut refused) = (FairQueue::default(), 0);
    for number in 0..count {
        queue.push(client_of(number), number, Duration::ZERO, &BY_TIME);
    }
    for millis in 1..2_000_u64 {
        let now = Duration::from_millis(millis);
        while let Some((number, decision)) = queue.pop(now, &BY_TIME) {
            for _ in 0..arriving {
                queue.push(client_of(number), number, now, &BY_TIME);
            }
            if decision == Decision::Begin {
                break;
            }
            refused += 1;
        }
    }
    refused
}

#[test]
fn clients_who_wait_for_their_answers_or_come_back_at_once_are_not_refused() {
    let each = |number: u32| Client::of(Some(IpAddr::from(number.to_be_bytes())));
    for arriving in [0, 1] {
        assert_eq!(refused_of(800, arriving, |_| client(1)), 0);
        assert_eq!(refused_of(800, arriving, each), 0);
    }
}

#[test]
fn what_newer_requests_pass_for_long_is_refused_however_few_wait() {
    for clients in [1, 50] {
        let mut queue = FairQueue::default();
        for item in 0..50 {
            queue.push(
                client(item as u8 % clients),
                item,
                Duration::ZERO,
                &SETTINGS,
            );
        }
        let mut refused = 0;
        // One arrives for each that begins, so that the oldest ones wait for ever.
        for millis in 1..5_000 {
            let now = Duration::from_millis(millis);
            queue.push(client(100), 1_000, now, &SETTINGS);
            while let Some((_, decision)) = queue.pop(now, &SETTINGS) {
                if decision == Decision::Begin {
                    break;
                }
                refused += 1;
            }
        }
        assert!(
            refused <= 50 && queue.len() <= 1,
            "{} wait, {refused}",
            queue.len()
        );
    }
}

#[test]
fn few_requests_are_never_refused() {
    let begun = Duration::ZERO;
    let mut queue = FairQueue::default();
    for millis in 0..1_000 {
        let now = begun + Duration::from_millis(millis);
        let earlier = begun + Duration::from_millis(millis.saturating_sub(50));
        queue.push(client(1), 0, earlier, &SETTINGS);
        if millis >= 9 {
            let (_, decision) = queue.pop(now, &SETTINGS).expect("one waits");
            assert_eq!(decision, Decision::Begin);
        }
    }
}
