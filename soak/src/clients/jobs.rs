//! A client that adds jobs. Each that was acknowledged is done in the end, and none without its request.

use super::client::{Client, listed};
use crate::visitor::{Request, Told};
use sampan_testkit::wait;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The longest time from the end of the load to the end of the last job, which may have failed before.
const JOBS_TIME_MAX: Duration = Duration::from_secs(120);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Adds jobs until the end, and waits for them.
pub(super) fn work(mut client: Client) {
    let (mut acknowledged, mut refused, mut next) = (BTreeSet::new(), BTreeSet::new(), 1);
    while !client.has_ended() {
        let (number, seq) = (client.number, next);
        next += 1;
        let request = Request::post(&format!("/jobs/{number}/{seq}"), "{}");
        let wanted = format!(r#"{{"writer":{number},"seq":{seq},"rows":1}}"#);
        match client.visitor.expect(&request, &wanted) {
            Told::Answer(_) => drop(acknowledged.insert(seq)),
            Told::Refused => drop(refused.insert(seq)),
            Told::Cut => {}
        }
        client.pause(120);
    }
    let end = Instant::now() + JOBS_TIME_MAX;
    loop {
        let (rows, is_late) = (rows(&mut client), Instant::now() > end);
        let found = rows.as_ref().map(|rows| {
            let done = |seq: &u64| rows.get(seq).is_some_and(|done| *done > 0);
            acknowledged.iter().find(|seq| !done(seq)).copied()
        });
        let site = &client.visitor.site;
        match (found, is_late) {
            (Some(None), _) => {
                for seq in rows.into_iter().flatten().map(|(seq, _)| seq) {
                    if refused.contains(&seq) || seq >= next {
                        site.fail(format_args!("job {seq} is there, which was refused"));
                    }
                }
                return;
            }
            (None, true) => return site.fail("the last look at jobs was not answered"),
            (Some(Some(seq)), true) => {
                return site.fail(format_args!("job {seq} was acknowledged and is not done"));
            }
            (_, false) => wait::dawdle(PAUSE),
        }
    }
}

/// Reads how often each job was done.
fn rows(client: &mut Client) -> Option<BTreeMap<u64, u64>> {
    let (mut rows, mut after) = (BTreeMap::new(), 0);
    loop {
        let path = format!("/jobs/{}/{after}", client.number);
        let page = listed(&client.visitor.value(&Request::get(&path))?)?;
        match page.last() {
            None => return Some(rows),
            Some((last, _)) => after = *last,
        }
        for (seq, done) in page {
            rows.insert(seq, done.parse().ok()?);
        }
    }
}
