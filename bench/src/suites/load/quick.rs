//! A quick route at 30 % of the most that the server does: alone, beside slow requests, and beside logins.

use std::time::Duration;

use super::compute::Steps;
use super::{Found, LoadBench, SHARE, Scenario};
use crate::load::LoadResult;
use crate::load::open::{Background, OpenLoad, Site};
use crate::measure::case::CONNECTIONS;
use crate::peers::{LOAD_BUN, LOAD_GO, Peer};
use crate::routes::{Route, check};

/// The time that slow requests go on before and after the measurement.
const MARGIN: Duration = Duration::from_millis(800);
/// Slow requests at the same time, for each thread of the server.
const BURNERS: u32 = 2;
/// The clients that log in, and those that read.
const LOGINS: u32 = 50;
const READERS: u32 = 20;
/// The time for which a server is warmed up after a restart, in seconds.
const WARM_UP_SECONDS: u32 = 1;

/// Measures the route in the states that were asked for and that the server has.
pub(super) fn measure(
    bench: &LoadBench<'_>,
    peer: &'static Peer,
    steps: Steps,
) -> Result<Found, String> {
    let has_slow = bench.has(Scenario::Slow) && peer.id != LOAD_GO;
    let has_learned = bench.has(Scenario::Learned) && peer.is_ours();
    let has_logins = bench.has(Scenario::Logins) && (peer.is_ours() || peer.id == LOAD_BUN);
    if !has_slow && !has_learned && !has_logins {
        return Ok(Vec::new());
    }
    let storage = bench.storage(peer)?;
    let server = bench.start(peer, storage.as_ref())?;
    check::check(server.server.address(), Route::Quick)?;
    let (site, seconds) = (bench.site(&server), bench.options.shared.seconds);
    let quick = OpenLoad::get("/quick", CONNECTIONS);
    let best = quick.run(site, seconds)?;
    let quick = quick.at(SHARE * best.per_second);
    let mut found = vec![(Route::QuickAlone, quick.run(site, seconds)?)];
    if has_logins {
        let login = OpenLoad {
            method: "POST",
            timeout: "60s",
            ..OpenLoad::get("/login", LOGINS)
        };
        let read = OpenLoad {
            timeout: "60s",
            ..OpenLoad::get("/rows", READERS)
        };
        let seen = beside(&quick, site, seconds, &[login, read], MARGIN)?;
        found.push((Route::QuickBesideLogins, seen));
    }
    let burn = OpenLoad {
        timeout: "60s",
        ..OpenLoad::get(steps.burn(), BURNERS * bench.options.threads)
    };
    let burners = std::slice::from_ref(&burn);
    if has_slow || has_learned {
        // What is learned now counts after a restart.
        let seen = beside(&quick, site, seconds, burners, MARGIN)?;
        if has_slow {
            found.push((Route::QuickBesideSlow, seen));
        }
    }
    if has_learned {
        drop(server);
        let server = bench.start(peer, storage.as_ref())?;
        let site = bench.site(&server);
        quick.run(site, WARM_UP_SECONDS)?;
        // The first slow request counts.
        let seen = beside(&quick, site, seconds, burners, Duration::ZERO)?;
        found.push((Route::QuickLearned, seen));
    }
    Ok(found)
}

/// Measures a load beside others, which begin so much earlier.
fn beside(
    load: &OpenLoad,
    site: Site<'_>,
    seconds: u32,
    others: &[OpenLoad],
    earlier: Duration,
) -> Result<LoadResult, String> {
    let whole = f64::from(seconds) + (earlier + MARGIN).as_secs_f64();
    let begun = others.iter().map(|other| other.begin(site, whole));
    let begun: Vec<Background> = begun.collect::<Result<_, _>>()?;
    std::thread::sleep(earlier);
    let seen = load.run(site, seconds)?;
    for other in begun {
        other.end()?;
    }
    Ok(seen)
}
