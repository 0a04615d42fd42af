//! Servers that have more to do than they can: overload, and one client with many connections beside ten with one each.
//! A request takes 1 ms of a processor, so the load costs little beside it.

use super::compute::Steps;
use super::{Found, LoadBench, SHARE, Scenario};
use crate::load::LoadResult;
use crate::load::open::{OpenLoad, Times};
use crate::peers::{LOAD_NGINX, Peer};
use crate::routes::Route;

/// The connections by which the most that a server does is found: enough to keep it busy, too few to overload it.
const BEST_CONNECTIONS: u32 = 16;
/// The connections of an open load: enough for those that wait.
const OPEN_CONNECTIONS: u32 = 1_000;
/// The time after which clients give up.
const PATIENCE: &str = "2s";
/// The loads, as multiples of the most.
const LOADS: [(Route, f64); 3] = [
    (Route::WorkHalf, 0.5),
    (Route::WorkTwice, 2.0),
    (Route::WorkFourTimes, 4.0),
];
/// The clients beside the crowd, by the last number of their addresses.
const TEN: std::ops::Range<u8> = 11..21;
/// The address of the crowd, and its connections.
const CROWD: &str = "127.0.0.99";
const CROWD_CONNECTIONS: u32 = 1_000;
/// The time that the crowd goes on before and after the measurement, in seconds.
const MARGIN: f64 = 1.0;

/// Measures half of the load that a server can bear, twice and four times that. Of the answers those below 400 count.
pub(super) fn overload(
    bench: &LoadBench<'_>,
    peer: &'static Peer,
    steps: Steps,
) -> Result<Found, String> {
    if !bench.has(Scenario::Overload) || peer.id == LOAD_NGINX {
        return Ok(Vec::new());
    }
    let server = bench.start(peer, None)?;
    let (site, seconds) = (bench.site(&server), bench.options.shared.seconds);
    let best = OpenLoad {
        times: Times::Accepted,
        ..OpenLoad::get(steps.work(), BEST_CONNECTIONS)
    };
    let best = completed(best.run(site, seconds)?, seconds);
    let mut found = Vec::new();
    for (route, times) in LOADS {
        let load = OpenLoad {
            timeout: PATIENCE,
            times: Times::Accepted,
            ..OpenLoad::get(steps.work(), OPEN_CONNECTIONS).at(times * best.per_second)
        };
        found.push((route, completed(load.run(site, seconds)?, seconds)));
    }
    found.insert(0, (Route::WorkBest, best));
    Ok(found)
}

/// Returns the figures with the requests per second that were completed.
fn completed(seen: LoadResult, seconds: u32) -> LoadResult {
    LoadResult {
        per_second: seen.fulfilled() as f64 / f64::from(seconds),
        ..seen
    }
}

/// Measures ten clients with a connection each, at 30 % of the most that the server does, without the crowd and with it.
pub(super) fn crowd(
    bench: &LoadBench<'_>,
    peer: &'static Peer,
    steps: Steps,
) -> Result<Found, String> {
    if !bench.has(Scenario::Crowd) || !(peer.is_ours() || peer.id == LOAD_NGINX) {
        return Ok(Vec::new());
    }
    let server = bench.start(peer, None)?;
    let (site, seconds) = (bench.site(&server), bench.options.shared.seconds);
    let best = OpenLoad::get(steps.work(), BEST_CONNECTIONS).run(site, seconds)?;
    let ten = OpenLoad {
        from: TEN.map(|last| format!("127.0.0.{last}")).collect(),
        ..OpenLoad::get(steps.work(), u32::from(TEN.end - TEN.start))
    };
    let ten = ten.at(SHARE * best.per_second);
    let alone = ten.run(site, seconds)?;
    let crowd = OpenLoad {
        from: vec![CROWD.to_owned()],
        timeout: "60s",
        ..OpenLoad::get(steps.work(), CROWD_CONNECTIONS)
    };
    let crowd = crowd.begin(site, f64::from(seconds) + 2.0 * MARGIN)?;
    std::thread::sleep(std::time::Duration::from_secs_f64(MARGIN));
    let beside = ten.run(site, seconds)?;
    crowd.end()?;
    Ok(vec![
        (Route::TenAlone, alone),
        (Route::TenBesideCrowd, beside),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_requests_are_not_completed() {
        let seen = LoadResult {
            requests: 100,
            per_second: 50.0,
            p50_micros: 1.0,
            p90_micros: 1.0,
            p99_micros: 1.0,
            errors: vec![("status".to_owned(), 40), ("timeout".to_owned(), 7)],
        };
        assert_eq!(completed(seen, 2).per_second, 30.0);
    }
}
