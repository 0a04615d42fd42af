//! The tables of capabilities on a PostgreSQL server. Skipped where it is not installed.

use sampan_client::postgres::PostgresServer;
use sampan_db::{AppDatabase, DatabaseConfig};
use sampan_host::{Cell, Outbox, Value};
use std::sync::Arc;
use tokio::task::LocalSet;

#[test]
fn statements_wait_and_are_refused_at_once() {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let config = DatabaseConfig {
        url: Some(server.url(&server.database())),
        busy_millis_max: 60_000,
        statement_millis_max: 60_000,
        ..DatabaseConfig::new("data.db")
    };
    let database = AppDatabase::new(config, Arc::new(|_, _: &str| ())).expect("a URL");
    let worker = database.worker(Outbox::default(), Arc::default());
    let tables = worker.tables();
    assert!(tables.refusal().is_some());
    assert!(tables.write("SELECT 1", &Value::Null).is_err());
    let waiting = tables.waiting().expect("tables of a server");
    // As at the top of a file, where nothing can wait.
    let made = waiting.run_in_place("CREATE TABLE own (id int)", &Value::Null);
    assert!(made.expect("made").is_some());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let test = async {
        let one = Value::List(vec![Value::Int(7)]);
        let insert = "INSERT INTO own VALUES (?)";
        let added = waiting.run(insert, &one).await.expect("added");
        assert_eq!(added.expect("a table").changes, 1);
        assert!(!worker.gate().has_transactions());
        let both = vec![
            (insert.to_owned(), one),
            ("SELECT sum(id) FROM own".to_owned(), Value::Null),
        ];
        let done = waiting.run_all(both).await.expect("run");
        let sum = &done.expect("a table")[1].rows;
        assert_eq!(sum.cell(0, 0), Cell::Int(14));
        // What an answer waits for from now on, also where the script does not.
        let begun = waiting.run(insert, &Value::Null);
        assert!(worker.gate().has_transactions());
        let error = begun.await.err().expect("a missing parameter");
        assert_eq!(error.code(), Some("parameter"));
        assert!(!worker.gate().has_transactions());
    };
    LocalSet::new().block_on(&runtime.expect("a runtime"), test);
}
