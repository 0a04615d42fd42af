//! Empty jobs per second, each system with its own database.
//!
//! All jobs are added while the system does none. Then a process is started that does them. Their number is asked from
//! the system's database several times; the rate is that between the first and the last of these questions, so neither
//! the start nor the end counts.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::JobsBench;
use crate::load::LoadResult;
use crate::measure::case::LoadCase;
use crate::measure::figures::Figure;
use crate::measure::{Sample, Series, Skipped, rounds};
use crate::peers::placement::Placement;
use crate::peers::processes::CpuTimes;
use crate::peers::server::PeerServer;
use crate::peers::storage::{BenchStorage, Durability};
use crate::peers::stores::{Postgres, Redis, StoreServer, postgres_url};
use crate::peers::{BULLMQ, BULLMQ_EVERYSEC, GRAPHILE, Installed, Peer, RIVER};
use crate::report::stats::Spread;
use crate::routes::{Headers, Route};
use sampan_client::Client;

/// The jobs that are added for each second of a measurement. They must last.
const COUNT_PER_SECOND: u32 = 50_000;
/// The jobs that one request adds.
const ADDED: u32 = 1_000;
/// The time for which a system works before it is measured.
const WARM_UP: Duration = Duration::from_millis(300);
/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(250);
/// The longest time until the first jobs are done.
const PATIENCE: Duration = Duration::from_secs(20);
/// The jobs per second that ours must do.
const RATE_MIN: f64 = 15_000.0;

/// The databases of the others.
struct Stores {
    postgres: Result<Postgres, String>,
    redis: Result<Redis, String>,
}

/// The database of one system in one round.
enum Store {
    Ours(BenchStorage),
    Theirs {
        server: StoreServer,
        variable: (&'static str, String),
    },
}

/// The state of a system at one time.
struct Look {
    at: Instant,
    left: u64,
    server: CpuTimes,
    store: Option<CpuTimes>,
}

/// The number of jobs that are added before a measurement of so many seconds.
pub(super) fn count(seconds: u32) -> u32 {
    COUNT_PER_SECOND * seconds
}

/// The rows of ours that have no peer.
pub(super) fn judge(series: &[Series]) -> Vec<Figure> {
    let ours = series.iter().filter(|one| one.peer.is_ours());
    let figures = ours.filter_map(|one| {
        let spread = one.spread(|sample| sample.seen.per_second)?;
        Some(Figure {
            what: format!("{}: empty jobs per second", one.peer.title),
            value: spread.show(0),
            wanted: format!("at least {RATE_MIN:.0}"),
            reached: Some(spread.median >= RATE_MIN),
        })
    });
    figures.collect()
}

impl JobsBench<'_> {
    /// Measures all systems.
    pub(super) fn rates(&mut self) -> Vec<Series> {
        let installer = self.options.shared.suite.installer();
        let is_measured = |ids: &[&str]| {
            let mut installed = self.setup.installed.iter();
            installed.any(|(peer, _)| ids.contains(&peer.id))
        };
        let stores = Stores {
            postgres: match is_measured(&[RIVER, GRAPHILE]) {
                true => Postgres::install(&installer),
                false => unused(),
            },
            redis: match is_measured(&[BULLMQ, BULLMQ_EVERYSEC]) {
                true => Redis::install(&installer),
                false => unused(),
            },
        };
        for (peer, installed) in &mut self.setup.installed {
            if let Some(version) = stores.version(peer) {
                installed.version += &format!(", {version}");
            }
        }
        let case = LoadCase::plain(Route::EmptyJob, Headers::Plain, 1);
        let peers = self.setup.installed.iter();
        let series = peers.map(|(peer, _)| Series::new(peer, case)).collect();
        let mut skipped = Vec::new();
        let series = rounds(
            series,
            self.options.shared.rounds,
            &mut skipped,
            |one, round| self.rate(&stores, one.peer, round),
        );
        for one in skipped {
            Skipped::note(&mut self.setup.skipped, one.what, one.why);
        }
        series
    }

    fn rate(&self, stores: &Stores, peer: &'static Peer, round: u32) -> Result<Sample, String> {
        let installed = self.setup.installed(peer)?;
        let placement = Placement::everywhere();
        let store = self.store(stores, peer, &placement)?;
        let seconds = self.options.shared.seconds;
        let start = |works: bool| {
            let installed = store.prepare(installed, works)?;
            let (storage, logs) = (store.storage(), &self.setup.logs);
            PeerServer::start(peer, &installed, &placement, 1, storage, logs)
                .map_err(|fault| format!("does not start: {fault}"))
        };
        add(&start(false)?, count(seconds))?;
        let server = start(true)?;
        let (first, last) = watch(&server, &store, count(seconds), seconds)?;
        let done = first.left - last.left;
        let time = last.at.duration_since(first.at);
        let spent = last.server.micros_since(&first.server)
            + match (&first.store, &last.store) {
                (Some(first), Some(last)) => last.micros_since(first),
                _ => 0.0,
            };
        Ok(Sample {
            round,
            seen: LoadResult {
                requests: done,
                per_second: done as f64 / time.as_secs_f64(),
                p50_micros: f64::NAN,
                p90_micros: f64::NAN,
                p99_micros: f64::NAN,
                errors: Vec::new(),
            },
            cpu_micros: spent / done as f64,
            resident_bytes: server.resident_bytes() + store.resident_bytes(),
            database: None,
        })
    }

    fn store(&self, stores: &Stores, peer: &Peer, placement: &Placement) -> Result<Store, String> {
        let (folder, logs) = (&self.setup.folder, &self.setup.logs);
        let redis = |appendfsync: &str| {
            let server = stores.redis.clone()?;
            let server = server.start(appendfsync, folder, placement, logs)?;
            let variable = ("REDIS_PORT", server.port.to_string());
            Ok(Store::Theirs { server, variable })
        };
        match peer.id {
            RIVER | GRAPHILE => {
                let server = stores.postgres.clone()?.start(folder, placement, logs)?;
                let variable = ("DATABASE_URL", postgres_url(&server));
                Ok(Store::Theirs { server, variable })
            }
            BULLMQ => redis("always"),
            BULLMQ_EVERYSEC => redis("everysec"),
            _ => Ok(Store::Ours(self.setup.storage(Durability::Full, "")?)),
        }
    }
}

/// The database of systems that are not measured.
fn unused<T>() -> Result<T, String> {
    Err("it is not measured".to_owned())
}

impl Stores {
    /// Returns the version of the database that a peer uses.
    fn version(&self, peer: &Peer) -> Option<&str> {
        match peer.id {
            RIVER | GRAPHILE => self.postgres.as_ref().ok().map(|one| one.version.as_str()),
            BULLMQ | BULLMQ_EVERYSEC => self.redis.as_ref().ok().map(|one| one.version.as_str()),
            _ => None,
        }
    }
}

impl Store {
    /// Returns what starts a system that does jobs or only adds them.
    fn prepare(&self, installed: &Installed, works: bool) -> Result<Installed, String> {
        let mut installed = installed.clone();
        match self {
            Self::Ours(storage) => {
                let settings = if works { "" } else { "[jobs]\nworkers = 0\n" };
                storage
                    .configure(settings)
                    .map_err(|error| error.to_string())?;
            }
            Self::Theirs { variable, .. } => {
                installed.variables.push(variable.clone());
                let works = u8::from(works).to_string();
                installed.variables.push(("WORK", works));
            }
        }
        Ok(installed)
    }

    fn storage(&self) -> Option<&BenchStorage> {
        match self {
            Self::Ours(storage) => Some(storage),
            Self::Theirs { .. } => None,
        }
    }

    fn cpu(&self) -> Option<CpuTimes> {
        match self {
            Self::Ours(_) => None,
            Self::Theirs { server, .. } => Some(server.cpu()),
        }
    }

    fn resident_bytes(&self) -> u64 {
        match self {
            Self::Ours(_) => 0,
            Self::Theirs { server, .. } => server.resident_bytes(),
        }
    }
}

/// Adds jobs.
fn add(server: &PeerServer, count: u32) -> Result<(), String> {
    let mut client = Client::connect(server.address()).map_err(|error| error.to_string())?;
    for _ in 0..count / ADDED {
        let added = number(&mut client, "POST", "/add", "added")?;
        if added != u64::from(ADDED) {
            return Err(format!("POST /add added {added} jobs"));
        }
    }
    match number(&mut client, "GET", "/left", "left")? {
        left if left == u64::from(count) => Ok(()),
        left => Err(format!("it has {left} jobs where {count} were added")),
    }
}

/// Returns the first and the last look at a system that works, before it has done all jobs.
fn watch(
    server: &PeerServer,
    store: &Store,
    count: u32,
    seconds: u32,
) -> Result<(Look, Look), String> {
    let mut client = Client::connect(server.address()).map_err(|error| error.to_string())?;
    let mut look = || -> Result<Look, String> {
        let left = number(&mut client, "GET", "/left", "left")?;
        Ok(Look {
            at: Instant::now(),
            left,
            server: server.cpu(),
            store: store.cpu(),
        })
    };
    let begun = Instant::now();
    std::thread::sleep(WARM_UP);
    let mut first = look()?;
    while first.left >= u64::from(count) {
        if begun.elapsed() > PATIENCE {
            return Err("it does no jobs".to_owned());
        }
        std::thread::sleep(PAUSE);
        first = look()?;
    }
    let mut last = None;
    while first.at.elapsed().as_secs() < u64::from(seconds) {
        std::thread::sleep(PAUSE);
        let now = look()?;
        if now.left == 0 {
            break;
        }
        last = Some(now);
    }
    let last = last.ok_or("all jobs were done too soon to be measured")?;
    match last.left < first.left {
        true => Ok((first, last)),
        false => Err(format!("{} jobs stay", last.left)),
    }
}

/// Returns a number in the answer to a request.
pub(super) fn number(
    client: &mut Client,
    method: &str,
    path: &str,
    name: &str,
) -> Result<u64, String> {
    let fault = |why: String| format!("{method} {path}: {why}");
    let answer = client
        .ask(method, path, &[], "")
        .map_err(|error| fault(error.to_string()))?;
    let found: Value =
        serde_json::from_slice(&answer.body).map_err(|error| fault(error.to_string()))?;
    let number = found[name].as_u64();
    number.ok_or_else(|| fault(String::from_utf8_lossy(&answer.body).into_owned()))
}

/// Returns the median of some values, if there are any.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
    Spread::of(values.into_iter().filter(|value| value.is_finite()))
}
