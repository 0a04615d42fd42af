//! The time from adding a job to its start, while nothing else happens.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::measure::figures::Figure;
use crate::measure::setup::Setup;
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::peers::storage::Durability;
use crate::suites::side_by_side::RoundOptions;
use sampan_client::Client;

/// The jobs that are added first and do not count.
const WARM_UP: usize = 10;
/// The jobs that are added for each round.
const COUNT: usize = 100;
/// The pause between two jobs.
const PAUSE: Duration = Duration::from_millis(10);
/// The longest time until all have started.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most of the 99th percentile.
const P99_MILLIS_MAX: f64 = 5.0;

/// From the moment before the request adds the job to the first line of the job, so the commit counts.
pub(super) fn start(
    options: &RoundOptions,
    setup: &Setup,
    peer: &'static Peer,
) -> Result<Figure, String> {
    let storage = setup.storage(Durability::Full, "")?;
    let server = setup.start_with(peer, &Placement::everywhere(), 1, Some(&storage))?;
    let count = WARM_UP + COUNT * options.rounds as usize;
    let mut client = Client::connect(server.address()).map_err(|error| error.to_string())?;
    for _ in 0..count {
        let answer = client.ask("POST", "/start", &[], "");
        let status = answer.map_err(|error| error.to_string())?.status;
        if status != 200 {
            return Err(format!("POST /start answered {status}"));
        }
        std::thread::sleep(PAUSE);
    }
    let begun = Instant::now();
    let millis = loop {
        let answer = client.ask("GET", "/starts", &[], "");
        let body = answer.map_err(|error| error.to_string())?.body;
        let rows: Vec<Value> = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
        if rows.len() >= count {
            let millis = rows.iter().filter_map(|row| row["millis"].as_f64());
            break millis.skip(WARM_UP).collect::<Vec<f64>>();
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("{} of {count} jobs have started", rows.len()));
        }
        std::thread::sleep(PAUSE);
    };
    figure(peer, millis).ok_or_else(|| "the jobs told no times".to_owned())
}

fn figure(peer: &Peer, mut millis: Vec<f64>) -> Option<Figure> {
    millis.sort_by(f64::total_cmp);
    let last = millis.len().checked_sub(1)?;
    let at = |part: f64| millis[(last as f64 * part) as usize];
    let (p50, p99) = (at(0.5), at(0.99));
    Some(Figure {
        what: format!("{}: from adding a job to its start, idle", peer.title),
        value: format!("p50 {p50:.2} ms, p99 {p99:.2} ms of {}", millis.len()),
        wanted: format!("p99 at most {P99_MILLIS_MAX} ms"),
        reached: Some(p99 <= P99_MILLIS_MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::LUA_JOBS;

    #[test]
    fn the_ninety_ninth_percentile_counts() {
        let peer = Peer::named(LUA_JOBS).expect("a known peer");
        let millis = |slow: usize| (0..200).map(move |at| if at < slow { 9.0 } else { 1.0 });
        let found = |slow| figure(peer, millis(slow).collect()).expect("there are times");
        assert_eq!(found(2).reached, Some(true));
        assert_eq!(found(2).value, "p50 1.00 ms, p99 1.00 ms of 200");
        assert_eq!(found(3).reached, Some(false));
        assert!(figure(peer, Vec::new()).is_none());
    }
}
