//! The rows of a file of SQLite on a PostgreSQL server.
//!
//! The file is read in one snapshot, and everything on the server is one transaction: a copy that is interrupted leaves
//! nothing there. Tables that the server has are used, others are made by what SQLite's declare and hold.

mod canonical;
mod canonical_json;
mod checks;
mod definition;
mod expressions;
mod names;
mod profile;
mod rows;
mod schema;
mod server;
mod source;
mod tokens;

use crate::config::DatabaseConfig;
use crate::migrate::{CarriedMigrations, Migrations};
use crate::postgres::database::PostgresDatabase;
use rows::Plan;
use sampan_host::Error;
use sampan_postgres::{PostgresClient, PostgresConfig, PostgresTransaction};
use schema::Maker;
use source::{Others, Snapshot, Table, fault};

/// A file to copy, and the server to copy it to.
#[derive(Clone, Copy, Debug)]
pub struct CopyJob<'a> {
    /// The file.
    pub from: &'a DatabaseConfig,
    /// The server.
    pub to: &'a DatabaseConfig,
    /// The migrations of the project.
    pub migrations: &'a Migrations,
    /// True to delete the rows that tables on the server have.
    pub replaces: bool,
}

/// The progress of [`copy`]. Tables have their names in SQLite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyProgress<'a> {
    /// Another process copies to the server, or applies a migration there: the copy begins when it has ended.
    Waits,
    /// The values of a table are being looked at.
    Reads(&'a str),
    /// So many rows of a table are on the server.
    Rows(&'a str, u64),
    /// All rows of a table are on the server.
    Copied(&'a str, u64),
    /// Keys and indexes are being made, and both sides compared.
    Checks,
}

/// The result of [`copy`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// The number of tables, and of those that the copy has made.
    pub tables: usize,
    /// The tables that the copy has made.
    pub made: usize,
    /// The number of rows.
    pub rows: u64,
    /// The migrations that were run on the server.
    pub migrated: usize,
    /// The parts of the database that the server has not, in words.
    pub left_out: Vec<String>,
    /// The file was written to meanwhile. These writes are not in the copy.
    pub was_written: bool,
}

/// Tables of capabilities, and what it means that the server does not get them.
const CAPABILITIES: [(&str, &str); 5] = [
    (
        "_sampan_sessions",
        "sessions, whose table is not on the server: people log in again",
    ),
    (
        "_sampan_jobs",
        "jobs, whose table is not on the server: those that wait are lost there",
    ),
    ("_sampan_job_batches", "batches of jobs"),
    ("_sampan_cron_times", "the times at which crons have run"),
    (
        "_sampan_idempotency",
        "answers to idempotency keys, which PostgreSQL does not keep",
    ),
];

/// Copies a database.
///
/// # Errors
/// One line that says what to do. Nothing was changed on the server then.
pub fn copy(job: CopyJob<'_>, tell: &mut dyn FnMut(CopyProgress<'_>)) -> Result<CopyReport, Error> {
    job.check_target()?;
    // Copying may take as long as it needs.
    let unlimited = DatabaseConfig {
        statement_millis_max: 0,
        ..job.to.clone()
    };
    let database = PostgresDatabase::new(unlimited)?;
    database.here(async |client: PostgresClient| {
        // What is wrong with the server is known before the file is read.
        client.script("SELECT 1").await?;
        let snapshot = Snapshot::open(job.from)?;
        let transaction = client.begin().await?;
        match copy_in(&job, &snapshot, &transaction, tell).await {
            Ok(mut report) => {
                transaction.commit().await?;
                report.was_written = snapshot.end()?;
                Ok(report)
            }
            Err(error) => {
                transaction.rollback().await;
                Err(error)
            }
        }
    })
}

/// Checks the URL of a server to copy to.
///
/// # Errors
/// It is none of PostgreSQL.
pub fn check_url(url: &str) -> Result<(), String> {
    PostgresConfig::from_url(url).map(drop)
}

impl CopyJob<'_> {
    fn check_target(&self) -> Result<(), Error> {
        match self.to.is_postgres() {
            true => Ok(()),
            false => Err(fault(
                "name the server with --to postgres://user@host/database",
            )),
        }
    }
}

/// Copies everything within a transaction.
async fn copy_in(
    job: &CopyJob<'_>,
    snapshot: &Snapshot,
    transaction: &PostgresTransaction,
    tell: &mut dyn FnMut(CopyProgress<'_>),
) -> Result<CopyReport, Error> {
    let (all, Others { mut left_out }) = snapshot.tables()?;
    let is_own = |table: &Table| table.name.starts_with("_sampan_");
    let (own, tables): (Vec<Table>, Vec<Table>) = all.into_iter().partition(is_own);
    names::check_distinct(tables.iter().map(|table| &*table.target)).map_err(fault)?;
    snapshot.check_keys(&tables)?;
    let carried = CarriedMigrations::of(snapshot.migrations()?, job.migrations)?;
    // The transaction is idle while the file is read.
    let idle = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = 0";
    transaction.script(idle).await?;
    CarriedMigrations::lock(transaction, &mut || tell(CopyProgress::Waits)).await?;
    let limit = format!("SET LOCAL lock_timeout = {}", job.to.busy_millis_max);
    transaction.script(&limit).await?;
    let kept = of_capabilities(transaction, &own, &mut left_out).await?;
    let kept_tables = kept.iter().map(|plan| plan.table);
    let with_rows = server::with_rows(transaction, tables.iter().chain(kept_tables)).await?;
    if !with_rows.is_empty() && !job.replaces {
        return Err(fault(format!(
            "the server has rows already in {}: copy to an empty database, or replace them with --replace",
            with_rows.join(", ")
        )));
    }
    let migrated = carried.begin(transaction).await?;

    let mut maker = Maker {
        transaction,
        left_out: &mut left_out,
        has_collation: None,
    };
    let mut plans = Vec::with_capacity(tables.len());
    for table in &tables {
        plans.push(match server::existing(transaction, table).await? {
            Some(plan) => plan,
            None => {
                tell(CopyProgress::Reads(&table.name));
                let profiles = profile::profiles(snapshot, table)?;
                maker.make(table, &profiles).await?
            }
        });
    }
    plans.extend(kept);
    let held = server::hold_keys(transaction, &plans).await?;
    // The rows that the migrations have just put in are those of the file too.
    server::clear(transaction, &plans).await?;

    let mut report = CopyReport {
        tables: plans.len(),
        made: plans.iter().filter(|plan| plan.is_made).count(),
        migrated,
        ..CopyReport::default()
    };
    let mut copied = Vec::with_capacity(plans.len());
    for plan in &plans {
        let name = &*plan.table.name;
        let mut rows = |rows| tell(CopyProgress::Rows(name, rows));
        let checks = rows::copy_rows(snapshot, transaction, plan, &mut rows).await?;
        tell(CopyProgress::Copied(name, checks.rows));
        report.rows += checks.rows;
        copied.push(checks);
    }
    tell(CopyProgress::Checks);
    for (plan, checks) in plans.iter().zip(&copied) {
        checks.compare(transaction, plan).await?;
        server::set_sequences(transaction, plan, |at| checks.largest(at)).await?;
        if plan.is_made {
            maker.finish(plan).await?;
        }
    }
    for plan in plans.iter().filter(|plan: &&Plan<'_>| plan.is_made) {
        maker.foreign_keys(plan.table, &tables).await?;
    }
    server::put_back(transaction, &held).await?;
    carried.end(transaction).await?;
    report.left_out = left_out;
    Ok(report)
}

/// Returns the plans for tables of capabilities that the server has. The others are left out: an app makes them there
/// when it starts.
async fn of_capabilities<'t>(
    transaction: &PostgresTransaction,
    own: &'t [Table],
    left_out: &mut Vec<String>,
) -> Result<Vec<Plan<'t>>, Error> {
    let mut plans = Vec::new();
    for table in own
        .iter()
        .filter(|table| table.name != "_sampan_migrations")
    {
        match server::fitting(transaction, table).await? {
            Some(plan) => plans.push(plan),
            None => {
                let known = CAPABILITIES.iter().find(|(name, _)| *name == table.name);
                left_out.push(known.map_or(&*table.name, |(_, what)| what).to_owned());
            }
        }
    }
    Ok(plans)
}

#[cfg(test)]
mod tests;
