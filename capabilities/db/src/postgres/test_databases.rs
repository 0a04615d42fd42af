//! Databases for a run of tests on a PostgreSQL server: copies of one, which go with the run.
//!
//! Their names begin with the number of the database that the URL names, and with that of the run. The run holds an
//! advisory lock of its number, so what a run that was killed has left is known by a lock that is free.

use super::database::PostgresDatabase;
use crate::config::DatabaseConfig;
use sampan_host::{Cell, Error, ErrorKind, Value};
use sampan_postgres::{PostgresClient, PostgresTransaction, RowLimits};
use std::hash::{BuildHasher, RandomState};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The word that all names begin with.
const PREFIX: &str = "sampan_test_";
/// The longest that the end of a connection to a database is waited for.
const END_MILLIS_MAX: u32 = 5_000;

/// The databases of a run. They are removed when this is dropped.
pub struct TestDatabases {
    config: DatabaseConfig,
    /// The beginning of the names.
    run: String,
    /// `None` at the end.
    asks: Option<UnboundedSender<Ask>>,
    thread: Option<JoinHandle<()>>,
}

/// Statements for the thread that holds the lock.
struct Ask {
    statements: Vec<String>,
    done: Sender<Result<(), Error>>,
}

impl TestDatabases {
    /// Connects the server of `config`, removes what earlier runs have left, and makes an empty database of this name.
    ///
    /// # Errors
    /// The server cannot be reached, or its user may not create databases: the message says what to grant.
    pub fn new(config: &DatabaseConfig, first: &str) -> Result<Self, Error> {
        let unlimited = DatabaseConfig {
            statement_millis_max: 0,
            ..config.clone()
        };
        let database = PostgresDatabase::new(unlimited)?;
        let (asks, inbox) = unbounded_channel();
        let (sender, begun) = channel();
        let first = first.to_owned();
        let shown = config.shown();
        let works = move || {
            let begun = sender.clone();
            let worked = database.here(async |client: PostgresClient| {
                let run = Run::begin(client, &first, &shown).await?;
                let _ = begun.send(Ok(run.name.clone()));
                run.serve(inbox).await
            });
            if let Err(error) = worked {
                // It was told before, unless the run could not begin.
                let _ = sender.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name("sampan-test-db".into());
        let thread = thread
            .spawn(works)
            .map_err(|error| lost(&error.to_string()))?;
        let run = begun.recv().map_err(|_| lost("it has ended"))??;
        Ok(Self {
            config: config.clone(),
            run,
            asks: Some(asks),
            thread: Some(thread),
        })
    }

    /// Returns the settings of the database of this name.
    pub fn config(&self, name: &str) -> DatabaseConfig {
        DatabaseConfig {
            database: Some(self.whole(name)),
            ..self.config.clone()
        }
    }

    /// Makes the database `to` as a copy of `from`, whose connections are ended.
    ///
    /// # Errors
    /// The server refuses it, or has no room.
    pub fn copy(&self, from: &str, to: &str) -> Result<(), Error> {
        let (from, to) = (self.whole(from), self.whole(to));
        self.ask(vec![
            // No other connection comes meanwhile.
            format!("ALTER DATABASE {from} WITH ALLOW_CONNECTIONS false"),
            format!(
                "SELECT pg_terminate_backend(pid, {END_MILLIS_MAX}) FROM pg_stat_activity WHERE datname = '{from}'"
            ),
            format!("CREATE DATABASE {to} TEMPLATE {from}"),
            format!("ALTER DATABASE {from} WITH ALLOW_CONNECTIONS true"),
        ])
    }

    /// Makes the database `to` anew as a copy of `from`, which has no connections. Those to `to` are ended.
    ///
    /// # Errors
    /// As for [`TestDatabases::copy`].
    pub fn replace(&self, from: &str, to: &str) -> Result<(), Error> {
        let (from, to) = (self.whole(from), self.whole(to));
        self.ask(vec![
            drop_statement(&to),
            format!("CREATE DATABASE {to} TEMPLATE {from}"),
        ])
    }

    /// Removes a database.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        self.ask(vec![drop_statement(&self.whole(name))])
    }

    fn whole(&self, name: &str) -> String {
        format!("{}_{name}", self.run)
    }

    fn ask(&self, statements: Vec<String>) -> Result<(), Error> {
        let (done, answer) = channel();
        let asked = self
            .asks
            .as_ref()
            .map(|asks| asks.send(Ask { statements, done }));
        match asked {
            Some(Ok(())) => answer.recv().map_err(|_| lost("it has ended"))?,
            _ => Err(lost("it has ended")),
        }
    }
}

impl Drop for TestDatabases {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A run on the thread that holds its lock.
struct Run {
    name: String,
    client: PostgresClient,
    /// The transaction whose end frees the lock.
    lock: PostgresTransaction,
}

impl Run {
    async fn begin(client: PostgresClient, first: &str, shown: &str) -> Result<Self, Error> {
        let limits = RowLimits::default();
        let sql = "SELECT oid::int8, current_user::text FROM pg_database WHERE datname = current_database()";
        let rows = client.query(sql, &Value::Null, limits).await?;
        let (Cell::Int(oid), Cell::Text(user)) = (rows.cell(0, 0), rows.cell(0, 1)) else {
            return Err(lost("it has no name"));
        };
        let place = format!("{PREFIX}{oid}_");
        remove_left(&client, &place).await?;
        // A number that no other run has.
        let number = RandomState::new().hash_one(std::process::id()) >> 1;
        let lock = client.begin().await?;
        let key = Value::List(vec![Value::Int(number.cast_signed())]);
        lock.query("SELECT pg_advisory_xact_lock(?)", &key, limits)
            .await?;
        let name = format!("{place}{number:016x}");
        let made = client
            .script(&format!("CREATE DATABASE {name}_{first}"))
            .await;
        made.map_err(|error| match error.code() {
            Some("denied") => {
                let text = format!(
                    "each file of tests gets a database of its own on the server {shown}, and {user} may create none: \
                     ALTER ROLE \"{user}\" CREATEDB"
                );
                error.with_message(text)
            }
            _ => error,
        })?;
        Ok(Self { name, client, lock })
    }

    /// Does what is asked for until the run ends, and removes its databases.
    async fn serve(self, mut inbox: UnboundedReceiver<Ask>) -> Result<(), Error> {
        while let Some(Ask { statements, done }) = inbox.recv().await {
            let mut result = Ok(());
            for statement in statements {
                if result.is_ok() {
                    result = self.client.script(&statement).await;
                }
            }
            let _ = done.send(result);
        }
        let removed = remove_run(&self.client, &self.name).await;
        self.lock.rollback().await;
        removed
    }
}

/// Removes the databases of runs whose lock is free.
async fn remove_left(client: &PostgresClient, place: &str) -> Result<(), Error> {
    for name in databases(client, place).await? {
        let number = name[place.len()..].get(..16);
        let Some(number) = number.and_then(|digits| i64::from_str_radix(digits, 16).ok()) else {
            continue;
        };
        let sql = "SELECT pg_try_advisory_xact_lock(?)";
        let key = Value::List(vec![Value::Int(number)]);
        let rows = client.query(sql, &key, RowLimits::default()).await?;
        if rows.cell(0, 0) == Cell::Int(1) {
            // Another run may do the same at this moment.
            let _ = client.script(&drop_statement(&name)).await;
        }
    }
    Ok(())
}

async fn remove_run(client: &PostgresClient, name: &str) -> Result<(), Error> {
    for database in databases(client, &format!("{name}_")).await? {
        client.script(&drop_statement(&database)).await?;
    }
    Ok(())
}

/// Returns the databases whose names begin like this.
async fn databases(client: &PostgresClient, begin: &str) -> Result<Vec<String>, Error> {
    let sql = "SELECT datname::text FROM pg_database WHERE starts_with(datname::text, ?) ORDER BY datname";
    let begin = Value::List(vec![begin.into()]);
    let rows = client.query(sql, &begin, RowLimits::default()).await?;
    let names = (0..rows.len()).filter_map(|row| match rows.cell(row, 0) {
        Cell::Text(name) => Some(name.to_owned()),
        _ => None,
    });
    Ok(names.collect())
}

fn drop_statement(name: &str) -> String {
    format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")
}

fn lost(why: &str) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the connection for the databases of tests is lost: {why}"),
    )
}
