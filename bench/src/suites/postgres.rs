//! `cargo xtask bench postgres`: the routes of examples/bench_postgres, on a PostgreSQL that is started for it.
//!
//! Each measurement has a server and a database of its own, as in `bench db`. After those that write the rows are
//! counted.

use clap::Args;

use super::db::{WARM_UP_SECONDS, audit};
use crate::error::Error;
use crate::load::load;
use crate::measure::case::{CONNECTIONS, LoadCase};
use crate::measure::setup::{self, Setup, SuiteOptions};
use crate::measure::{Sample, Series, Skipped, before, rounds, sample};
use crate::peers::placement::Placement;
use crate::peers::server::PeerServer;
use crate::peers::storage::Durability;
use crate::peers::stores::{PgBouncer, Postgres, StoreServer, database_url};
use crate::peers::{POSTGRES_PEERS, Peer};
use crate::report;
use crate::report::targets;
use crate::routes::{self, Headers, Route, check, rows};

/// The largest number of connections of each server to PostgreSQL.
const POOL: u32 = 16;

/// The file that makes the tables, from the root of the checkout.
const TABLES: &str = "examples/bench_postgres/migrations/0001_tables.postgres.sql";

/// The options of `cargo xtask bench postgres`.
#[derive(Args)]
pub(crate) struct PostgresOptions {
    /// Measure only these servers
    #[arg(long, value_name = "PEER,...", value_delimiter = ',', value_parser = setup::peer_names(POSTGRES_PEERS))]
    only: Vec<String>,
    /// Measure only these routes
    #[arg(long, value_name = "ROUTE,...", value_delimiter = ',', value_parser = routes::parser(routes::POSTGRES))]
    routes: Vec<Route>,
    /// The number of workers (of the peers: processes or threads) of each server
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    workers: u32,
    /// Put pgbouncer in transaction mode before PostgreSQL; then the peers use no named statements
    #[arg(long)]
    pgbouncer: bool,
    /// The number of rounds in which each server is measured on each route
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// The duration of each measurement
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[command(flatten)]
    suite: SuiteOptions,
}

/// PostgreSQL, and what the servers are measured with.
struct Bench<'a> {
    options: &'a PostgresOptions,
    setup: &'a Setup,
    programs: Postgres,
    postgres: StoreServer,
    bouncer: Option<StoreServer>,
    placement: Placement,
}

/// Runs the benchmark and writes `postgres.json`, `postgres.md` and `postgres.svg`. `false` if nothing could be
/// measured.
///
/// # Errors
///
/// When PostgreSQL or pgbouncer cannot be installed or started, or as for the other benchmarks.
pub(crate) fn postgres(options: &PostgresOptions) -> Result<bool, Error> {
    let mut setup = options.suite.prepare(POSTGRES_PEERS, &options.only)?;
    let installer = options.suite.installer();
    let programs = Postgres::install(&installer)?;
    let everywhere = Placement::everywhere();
    let postgres = programs.start(&setup.folder, &everywhere, &setup.logs)?;
    let mut about = programs.version.clone();
    let mut bouncer = None;
    if options.pgbouncer {
        let program = PgBouncer::install(&installer)?;
        about += &format!(" behind {}", program.version);
        bouncer = Some(program.start(&postgres, &setup.folder, &everywhere, &setup.logs)?);
    }
    let mut skipped = Vec::new();
    let bench = Bench {
        options,
        setup: &setup,
        programs,
        postgres,
        bouncer,
        placement: Placement::here(options.workers as usize),
    };
    let series = bench.run(&mut skipped);
    let conditions = bench.conditions(&about);
    drop(bench);
    setup.skipped.append(&mut skipped);
    if let Some(comparison) = options.suite.comparison() {
        return Ok(before::print(&series, comparison));
    }
    let ratios = targets::judge(&targets::postgres(), &series, options.workers);
    report::finish(
        &report::POSTGRES,
        setup,
        conditions,
        series,
        ratios,
        Vec::new(),
    )
}

impl Bench<'_> {
    fn conditions(&self, about: &str) -> [(&'static str, String); 2] {
        let PostgresOptions {
            workers,
            rounds,
            seconds,
            ..
        } = self.options;
        let placed = self.placement.describe();
        [
            (
                "workers",
                format!("{workers}; {placed}, {about} on all processors"),
            ),
            (
                "load",
                format!(
                    "sampan bench, {CONNECTIONS} connections, {seconds} s × {rounds} rounds, after {WARM_UP_SECONDS} s \
                     of warming up; fsync and synchronous_commit on; {POOL} connections of each server to PostgreSQL"
                ),
            ),
        ]
    }

    /// In each round one route after the other, in it one peer after the other.
    fn run(&self, skipped: &mut Vec<Skipped>) -> Vec<Series> {
        let mut series = Vec::new();
        for route in setup::chosen(&self.options.routes, routes::POSTGRES) {
            let case = LoadCase {
                durability: Some(Durability::Full),
                ..LoadCase::plain(route, Headers::Plain, self.options.workers)
            };
            let peers = self.setup.installed.iter();
            series.extend(peers.map(|(peer, _)| Series::new(peer, case)));
        }
        rounds(series, self.options.rounds, skipped, |one, round| {
            self.measure(one.peer, one.case, round)
        })
    }

    /// One measurement, from an empty database to the counting of the rows.
    fn measure(&self, peer: &Peer, case: LoadCase, round: u32) -> Result<Sample, String> {
        let database = "bench";
        let run = |database: &str, sql: &str| {
            self.programs
                .psql(&self.postgres, database, &["-c", sql])
                .map_err(|fault| format!("PostgreSQL: {fault}"))
        };
        run(
            "postgres",
            &format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)"),
        )?;
        run("postgres", &format!("CREATE DATABASE {database}"))?;
        let server = self.start(peer, database)?;
        check::check(server.address(), case.route)?;
        run(database, "ANALYZE")?;
        let load = |seconds| {
            load(
                &self.setup.root,
                &self.placement,
                server.address(),
                case,
                seconds,
            )
        };
        let warmed = load(WARM_UP_SECONDS)?;
        // What was written before is not written while it is measured.
        run(database, "CHECKPOINT")?;
        let sample = sample(&server, round, || load(self.options.seconds))?;
        let acknowledged = warmed.fulfilled() + sample.seen.fulfilled();
        audit(&server, case, rows::SEEDED, acknowledged)?;
        Ok(sample)
    }

    /// Starts a server on a database, which gets its tables first.
    fn start(&self, peer: &Peer, database: &str) -> Result<PeerServer, String> {
        let port = self
            .bouncer
            .as_ref()
            .map_or(self.postgres.port, |one| one.port);
        let url = database_url(port, database);
        let mut installed = self.setup.installed(peer)?.clone();
        if peer.is_ours() {
            // It makes the tables itself.
            let pool = format!("db.connections_max={POOL}");
            let arguments = ["--db", &url, "--set", &pool].map(str::to_owned);
            installed.arguments.extend(arguments);
        } else {
            let tables = self.setup.root.join(TABLES);
            let tables = tables.display().to_string();
            self.programs
                .psql(&self.postgres, database, &["-f", &tables])?;
            installed.variables.extend([
                ("DATABASE_URL", url),
                ("POOL", POOL.to_string()),
                ("PREPARE", u8::from(self.bouncer.is_none()).to_string()),
            ]);
        }
        let threads = self.options.workers as usize;
        PeerServer::start(
            peer,
            &installed,
            &self.placement,
            threads,
            None,
            &self.setup.logs,
        )
        .map_err(|fault| format!("does not start: {fault}"))
    }
}
