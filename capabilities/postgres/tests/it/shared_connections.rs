//! Statements that would change a connection which others share, and code that changes one all the same.

use crate::rig::{Database, Db, with_database};
use sampan_host::{Error, Value};
use sampan_postgres::RowLimits;

const SETTING: &str = "SELECT coalesce(nullif(current_setting('app.user', true), ''), 'none')";

/// Leaves a setting, a lock and a temporary table in the place of a table.
const LEAVES: &str = "DO $$ BEGIN
    PERFORM set_config('app.user', 'alice', false), set_config('search_path', 'nowhere', false);
    PERFORM pg_advisory_lock(42);
    CREATE TEMP TABLE t (n int);
END $$";

/// A client with one connection, and a table.
async fn with_table(database: &Database) -> Db {
    let mut config = database.config();
    config.connections_max = 1;
    let db = Db::new(config);
    db.exec("CREATE TABLE t (n int)", ()).await.unwrap();
    db
}

fn assert_denied<T>(ran: Result<T, Error>, why: &str, sql: &str) {
    let error = ran.err().expect(sql);
    assert_eq!(error.code(), Some("denied"), "{sql}: {error}");
    assert!(error.message().contains(why), "{sql}: {error}");
}

#[test]
fn statements_that_would_change_the_connection_are_refused() {
    with_database(async |database| {
        let db = with_table(database).await;
        for (sql, why) in [
            (
                "CREATE TEMP TABLE t (n int)",
                "exist on one connection only",
            ),
            (
                "CREATE TEMPORARY VIEW t AS SELECT 1",
                "create an ordinary table",
            ),
            (
                "CREATE TABLE pg_temp.t (n int)",
                "exist on one connection only",
            ),
            ("SELECT 1 AS n INTO TEMP t", "exist on one connection only"),
            (
                "SELECT set_config('app.user', 'alice', false)",
                "write true as its third argument, in db.transaction",
            ),
            (
                "SELECT set_config('search_path', 'nowhere', 1 = 1)",
                "this set_config",
            ),
            (
                "SELECT pg_advisory_lock(42)",
                "pg_advisory_xact_lock in db.transaction, or app.lock",
            ),
            (
                "SELECT pg_try_advisory_lock_shared(42)",
                "this lock would stay",
            ),
        ] {
            assert_denied(db.query(sql, ()).await, why, sql);
            assert_denied(db.exec(sql, ()).await, why, sql);
            let batch = [(sql.to_owned(), Value::Null)];
            assert_denied(db.0.batch(&batch).await, why, sql);
            // A transaction gives its connection back to others.
            let tx = db.0.begin().await.unwrap();
            let all = RowLimits::default();
            assert_denied(tx.query(sql, &Value::Null, all).await, why, sql);
            assert_denied(tx.exec(sql, &Value::Null).await, why, sql);
            assert_denied(tx.batch(&batch).await, why, sql);
            tx.commit().await.unwrap();
        }
        db.exec("INSERT INTO t VALUES (1)", ()).await.unwrap();
        assert_eq!(database.psql("SELECT count(*) FROM t"), "1");
        assert_eq!(db.cell(SETTING, ()).await, "text none");
    });
}

#[test]
fn a_setting_and_a_lock_of_a_transaction_end_with_it() {
    with_database(async |database| {
        let db = with_table(database).await;
        let tx = db.0.begin().await.unwrap();
        let set = "SELECT set_config('app.user', ?, true), pg_advisory_xact_lock(42)";
        let (alice, all) = (
            Value::List(vec![Value::from("alice")]),
            RowLimits::default(),
        );
        tx.query(set, &alice, all).await.unwrap();
        let rows = tx.query(SETTING, &Value::Null, all).await.unwrap();
        assert_eq!(crate::rig::shown(rows.cell(0, 0)), "text alice");
        tx.commit().await.unwrap();
        assert_eq!(db.cell(SETTING, ()).await, "text none");
        assert_eq!(database.psql(&locks(database)), "0");
    });
}

/// Counts the advisory locks in the database of a test.
fn locks(database: &Database) -> String {
    format!(
        "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database
         WHERE locktype = 'advisory' AND datname = '{}'",
        database.name
    )
}

#[test]
fn code_of_the_database_leaves_nothing_for_others() {
    with_database(async |database| {
        let db = with_table(database).await;
        let call = format!(
            "CREATE PROCEDURE leave() LANGUAGE plpgsql AS $p${}$p$",
            &LEAVES[6..LEAVES.len() - 3]
        );
        db.exec(&call, ()).await.unwrap();
        let mut count = 0;
        for way in 0..5 {
            match way {
                0 => drop(db.exec(LEAVES, ()).await.unwrap()),
                1 => drop(db.exec("CALL leave()", ()).await.unwrap()),
                2 => {
                    let insert = "INSERT INTO t VALUES (1)".to_owned();
                    count += 1;
                    let batch = [(insert, Value::Null), (LEAVES.to_owned(), Value::Null)];
                    db.0.batch(&batch).await.unwrap();
                }
                way => {
                    let tx = db.0.begin().await.unwrap();
                    tx.exec(LEAVES, &Value::Null).await.unwrap();
                    match way {
                        3 => tx.commit().await.unwrap(),
                        _ => tx.rollback().await,
                    }
                }
            }
            assert_eq!(db.cell(SETTING, ()).await, "text none", "{way}");
            db.exec("INSERT INTO t VALUES (1)", ()).await.unwrap();
            count += 1;
            let found = database.psql("SELECT count(*) FROM t");
            assert_eq!(found, count.to_string(), "{way}");
            assert_eq!(database.psql(&locks(database)), "0", "{way}");
        }
    });
}
