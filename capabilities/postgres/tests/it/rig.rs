//! A server, a database of the test's own, and a runtime as a worker has it.

use sampan_client::postgres::PostgresServer;
use sampan_host::{Cell, Error, Rows, Value};
use sampan_postgres::{Done, Postgres, PostgresClient, PostgresConfig, RowLimits};
use std::future::Future;
use std::sync::Arc;
use tokio::task::LocalSet;

/// An empty database on the server that tests share.
pub(crate) struct Database {
    pub(crate) server: Arc<PostgresServer>,
    pub(crate) name: String,
}

impl Database {
    pub(crate) fn new() -> Option<Self> {
        let server = PostgresServer::shared()?;
        let name = server.database();
        Some(Self { server, name })
    }

    pub(crate) fn config(&self) -> PostgresConfig {
        let mut config = read(&self.server.url(&self.name));
        // A machine that does much else beside is no fault.
        (config.statement_millis_max, config.acquire_millis_max) = (60_000, 60_000);
        config
    }

    pub(crate) fn psql(&self, sql: &str) -> String {
        self.server.psql(&self.name, sql)
    }
}

/// Reads a URL without the variables of this process.
pub(crate) fn read(url: &str) -> PostgresConfig {
    PostgresConfig::read(url, &|_| None).expect("a URL")
}

/// Runs a test as a worker does.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    LocalSet::new().block_on(&runtime.expect("a runtime"), test)
}

/// Runs a test on a database of its own; nothing where PostgreSQL is not installed.
pub(crate) fn with_database(test: impl AsyncFnOnce(&Database)) {
    if let Some(database) = Database::new() {
        run(test(&database));
    }
}

/// A client, and the statements of tests on it.
pub(crate) struct Db(pub(crate) PostgresClient);

impl Db {
    pub(crate) fn new(config: PostgresConfig) -> Self {
        Self(Postgres::new(config).expect("files").client())
    }

    pub(crate) async fn query(&self, sql: &str, params: impl Into<Params>) -> Result<Rows, Error> {
        self.0
            .query(sql, &params.into().0, RowLimits::default())
            .await
    }

    pub(crate) async fn exec(&self, sql: &str, params: impl Into<Params>) -> Result<Done, Error> {
        self.0.exec(sql, &params.into().0).await
    }

    /// The only cell of a result, as text.
    pub(crate) async fn cell(&self, sql: &str, params: impl Into<Params>) -> String {
        let rows = self.query(sql, params).await.expect(sql);
        assert_eq!((rows.len(), rows.columns().len()), (1, 1), "{sql}");
        shown(rows.cell(0, 0))
    }
}

/// Parameters: nothing, or a list.
pub(crate) struct Params(pub(crate) Value);

impl From<()> for Params {
    fn from((): ()) -> Self {
        Self(Value::Null)
    }
}

impl<const N: usize> From<[Value; N]> for Params {
    fn from(values: [Value; N]) -> Self {
        Self(Value::List(values.into()))
    }
}

impl From<Value> for Params {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

/// A cell with its kind.
pub(crate) fn shown(cell: Cell<'_>) -> String {
    match cell {
        Cell::Null => "null".to_owned(),
        Cell::Int(value) => format!("int {value}"),
        Cell::Float(value) => format!("float {value:?}"),
        Cell::Date(millis) => format!("date {millis}"),
        Cell::Text(text) => format!("text {text}"),
        Cell::Bytes(bytes) => format!("bytes {bytes:?}"),
    }
}
