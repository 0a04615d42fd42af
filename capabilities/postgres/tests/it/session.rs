//! A connection beside the pool that hears of notifications.

use crate::rig::{shown, with_database};
use sampan_host::Value;
use sampan_postgres::Postgres;
use std::sync::Arc;
use tokio::sync::Notify;

#[test]
fn a_session_hears_of_notifications_when_they_are_committed() {
    with_database(async |database| {
        let postgres = Postgres::new(database.config()).expect("files");
        let bell = Arc::new(Notify::new());
        let session = postgres
            .session(Arc::clone(&bell))
            .await
            .expect("a session");
        session.script("LISTEN here").await.expect("listening");
        assert!(!session.take_heard());
        let tx = postgres.client().begin().await.expect("a transaction");
        tx.query(
            "SELECT pg_notify('here', 'x')",
            &Value::Null,
            Default::default(),
        )
        .await
        .expect("sent");
        let rows = session
            .query("SELECT 7 AS n", &Value::Null)
            .await
            .expect("a row");
        assert_eq!(shown(rows.cell(0, 0)), "int 7");
        assert!(!session.take_heard(), "it is not committed");
        tx.commit().await.expect("committed");
        while !session.take_heard() {
            bell.notified().await;
        }
        assert!(!session.take_heard(), "each is told once");
    });
}

#[test]
fn the_end_of_a_session_rings_and_its_batches_are_kept_or_not() {
    with_database(async |database| {
        let postgres = Postgres::new(database.config()).expect("files");
        let bell = Arc::new(Notify::new());
        let session = postgres
            .session(Arc::clone(&bell))
            .await
            .expect("a session");
        session
            .script("CREATE TABLE t (n int PRIMARY KEY)")
            .await
            .expect("a table");
        let insert = |number: i64| {
            let params = Value::List(vec![Value::Int(number)]);
            ("INSERT INTO t VALUES (?)".to_owned(), params)
        };
        session
            .batch(&[insert(1), insert(2)])
            .await
            .expect("two rows");
        let error = session
            .batch(&[insert(3), insert(2)])
            .await
            .expect_err("a key twice");
        assert_eq!(error.code(), Some("unique"));
        assert_eq!(database.psql("SELECT count(*) FROM t"), "2");
        let own = session.query("SELECT pg_backend_pid()", &Value::Null).await;
        let own = shown(own.expect("a row").cell(0, 0));
        let own = own.strip_prefix("int ").expect("a number");
        database.psql(&format!("SELECT pg_terminate_backend({own})"));
        while !session.has_ended() {
            bell.notified().await;
        }
        assert!(session.query("SELECT 1", &Value::Null).await.is_err());
    });
}
