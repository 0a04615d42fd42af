//! Statements of the server's own tables.

use crate::rig::{Db, shown, with_database};
use sampan_host::Value;
use sampan_host::database::TableResult;

const CREATE: &str = "CREATE TABLE own (id bigint GENERATED ALWAYS AS IDENTITY, name text)";
const INSERT: &str = "INSERT INTO own(name) VALUES ($1), ('second') RETURNING id";
const SELECT: &str = "SELECT name FROM own ORDER BY id";

fn name(text: &str) -> Value {
    Value::List(vec![Value::from(text)])
}

fn with(sql: &str, params: Value) -> (String, Value) {
    (sql.to_owned(), params)
}

fn cells(result: &TableResult) -> Vec<String> {
    (0..result.rows.len())
        .map(|row| shown(result.rows.cell(row, 0)))
        .collect()
}

#[test]
fn a_statement_gives_rows_and_changes_and_misses_a_table() {
    with_database(async |database| {
        let db = Db::new(database.config());
        for _ in 0..2 {
            assert!(db.0.run(INSERT, &name("first")).await.unwrap().is_none());
        }
        assert!(db.0.run(CREATE, &Value::Null).await.unwrap().is_some());
        let added = db.0.run(INSERT, &name("first")).await.unwrap().unwrap();
        assert_eq!(added.changes, 2);
        assert_eq!(cells(&added), ["int 1", "int 2"]);
        let found = db.0.run(SELECT, &Value::Null).await.unwrap().unwrap();
        assert_eq!(cells(&found), ["text first", "text second"]);
        db.0.run("DROP TABLE own", &Value::Null).await.unwrap();
        // Also where the server knew the statement.
        assert!(db.0.run(INSERT, &name("third")).await.unwrap().is_none());
        let error = db.0.run("SELECT nothing", &Value::Null).await.err();
        assert!(error.unwrap().message().contains("nothing"));
    });
}

#[test]
fn several_statements_are_kept_together_or_not_at_all() {
    with_database(async |database| {
        let db = Db::new(database.config());
        let both = [with(CREATE, Value::Null), with(INSERT, name("first"))];
        let done = db.0.run_all(&both).await.unwrap().unwrap();
        assert_eq!(cells(&done[1]), ["int 1", "int 2"]);
        let one_misses = [
            with(INSERT, name("lost")),
            with("INSERT INTO nowhere VALUES (1)", Value::Null),
        ];
        assert!(db.0.run_all(&one_misses).await.unwrap().is_none());
        let one_fails = [
            with(INSERT, name("lost")),
            with("SELECT 1 / (count(*) - count(*)) FROM own", Value::Null),
        ];
        let failed = db.0.run_all(&one_fails).await.err();
        assert!(failed.unwrap().message().contains("zero"));
        let added = [with(INSERT, name("third")), with(SELECT, Value::Null)];
        let done = db.0.run_all(&added).await.unwrap().unwrap();
        assert_eq!(done[0].changes, 2);
        let names = ["text first", "text second", "text third", "text second"];
        assert_eq!(cells(&done[1]), names);
        assert!(db.0.run_all(&[]).await.unwrap().unwrap().is_empty());
    });
}

#[test]
fn a_missing_table_leaves_a_transaction_open() {
    with_database(async |database| {
        let db = Db::new(database.config());
        let tx = db.0.begin().await.unwrap();
        assert!(tx.run(SELECT, &Value::Null).await.unwrap().is_none());
        let nothing = tx.run_all(&[with(INSERT, name("a"))]).await;
        assert!(nothing.unwrap().is_none());
        tx.run(CREATE, &Value::Null).await.unwrap().unwrap();
        let added = [with(INSERT, name("first")), with(SELECT, Value::Null)];
        let done = tx.run_all(&added).await.unwrap().unwrap();
        assert_eq!(cells(&done[1]), ["text first", "text second"]);
        let one_fails = [
            with(INSERT, name("lost")),
            with("SELECT 1 / 0", Value::Null),
        ];
        assert!(tx.run_all(&one_fails).await.is_err());
        let found = tx.run(SELECT, &Value::Null).await.unwrap().unwrap();
        assert_eq!(cells(&found), ["text first", "text second"]);
        tx.commit().await.unwrap();
        assert_eq!(db.cell("SELECT count(*) FROM own", ()).await, "int 2");
    });
}
