//! A quick route while four jobs use the processors, beside the same without them.

use std::time::{Duration, Instant};

use super::rate::{median, number};
use crate::load::{LoadResult, load_at};
use crate::measure::case::LoadCase;
use crate::measure::figures::Figure;
use crate::measure::setup::Setup;
use crate::peers::Peer;
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::storage::Durability;
use crate::routes::check;
use crate::routes::{Headers, Route};
use crate::suites::side_by_side::RoundOptions;
use sampan_client::Client;

/// The requests per second: few, so that it is the waiting that is measured.
const RATE: u32 = 2_000;
const CONNECTIONS: u32 = 8;
/// The workers that take requests.
const WORKERS: usize = 2;
/// The time that jobs go on before and after the load.
const MARGIN: Duration = Duration::from_millis(400);
/// The longest time until the jobs have ended.
const PATIENCE: Duration = Duration::from_secs(30);
const RATIO_MAX: f64 = 2.0;

/// The ratio of the 99th percentiles, round by round.
pub(super) fn beside(
    options: &RoundOptions,
    setup: &Setup,
    peer: &'static Peer,
) -> Result<Figure, String> {
    let storage = setup.storage(Durability::Full, "[jobs]\nworkers = 4\n")?;
    let placement = Placement::everywhere();
    let server = setup.start_with(peer, &placement, WORKERS, Some(&storage))?;
    check::check(server.address(), Route::Quick)?;
    let seconds = options.seconds;
    let case = LoadCase {
        connections: CONNECTIONS,
        ..LoadCase::plain(Route::Quick, Headers::Plain, 1)
    };
    let load = || -> Result<LoadResult, String> {
        let address = server.address();
        load_at(&setup.root, &placement, address, case, seconds, Some(RATE))
    };
    load()?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        without.push(load()?.p99_micros);
        let burning = Burning::begin(&server, seconds)?;
        with.push(load()?.p99_micros);
        burning.end()?;
    }
    let ratios = with
        .iter()
        .zip(&without)
        .map(|(with, without)| with / without);
    let ratio = median(ratios).ok_or("nothing was measured")?;
    let millis = |micros: &[f64]| median(micros.iter().map(|micros| micros / 1e3));
    let show = |micros: &[f64]| millis(micros).map_or_else(String::new, |one| one.show(2));
    let (with, without) = (show(&with), show(&without));
    Ok(Figure {
        what: format!(
            "{}: p99 of GET /quick at {RATE} requests/s while 4 jobs use the processors, against without",
            peer.title
        ),
        value: format!("{} ({with} against {without} ms)", ratio.show(2)),
        wanted: format!("at most {RATIO_MAX}"),
        reached: Some(ratio.median <= RATIO_MAX),
    })
}

/// Four jobs that use the processors.
struct Burning {
    client: Client,
}

impl Burning {
    /// Adds them, and waits until they run.
    fn begin(server: &PeerServer, seconds: u32) -> Result<Self, String> {
        let mut client = Client::connect(server.address()).map_err(|error| error.to_string())?;
        let time = Duration::from_secs(u64::from(seconds)) + 2 * MARGIN;
        let path = format!("/burn/{}", time.as_millis());
        let answer = client.ask("POST", &path, &[], "");
        let status = answer.map_err(|error| error.to_string())?.status;
        if status != 200 {
            return Err(format!("POST {path} answered {status}"));
        }
        std::thread::sleep(MARGIN);
        Ok(Self { client })
    }

    /// Expects that they still run, and waits for their end.
    fn end(mut self) -> Result<(), String> {
        let mut left = || number(&mut self.client, "GET", "/left", "left");
        match left()? {
            4 => {}
            other => return Err(format!("{other} of 4 jobs ran at the end of the load")),
        }
        let begun = Instant::now();
        while left()? > 0 {
            if begun.elapsed() > PATIENCE {
                return Err("the jobs do not end".to_owned());
            }
            std::thread::sleep(MARGIN / 8);
        }
        Ok(())
    }
}
