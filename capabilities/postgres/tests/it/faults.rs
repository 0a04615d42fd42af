//! Servers that are not there, connections that end, and conflicts between transactions.

use crate::proxy::Proxy;
use crate::rig::{Database, Db, read, run, with_database};
use sampan_client::{ports, wait};
use sampan_host::database::COMMIT_UNKNOWN;
use sampan_host::{Error, ErrorKind, Value};
use sampan_postgres::PostgresConfig;
use std::sync::atomic::Ordering::SeqCst;

/// The settings for the database behind a proxy.
fn behind(proxy: &Proxy, database: &Database) -> PostgresConfig {
    let direct = format!(":{}/", database.server.port);
    let url = database
        .server
        .url(&database.name)
        .replace(&direct, &format!(":{}/", proxy.port));
    read(&url)
}

#[test]
fn a_server_that_is_not_there_is_an_error_in_time() {
    run(async {
        let port = ports::free();
        let mut config = read(&format!("postgres://me:secret@127.0.0.1:{port}/app"));
        config.acquire_millis_max = 300;
        let db = Db::new(config);
        for _ in 0..2 {
            let error = db.query("SELECT 1", ()).await.unwrap_err();
            assert_eq!(
                (error.code(), error.kind()),
                (Some("io"), ErrorKind::Unavailable)
            );
            let begins = format!("cannot connect to PostgreSQL at 127.0.0.1:{port}: ");
            assert!(error.message().starts_with(&begins), "{error}");
            assert!(!error.message().contains("secret"), "{error}");
        }
    });
}

#[test]
fn a_login_that_is_refused_fails_at_once() {
    with_database(async |database| {
        let with = |change: fn(&mut PostgresConfig)| {
            let mut config = database.config();
            change(&mut config);
            Db::new(config)
        };
        for (db, why) in [
            (
                with(|config| config.password = Some("wrong".to_owned())),
                "password authentication failed",
            ),
            (
                with(|config| config.password = None),
                "asks for the password of sampan, and none is set",
            ),
            (
                with(|config| config.database = "nowhere".to_owned()),
                "database \"nowhere\" does not exist",
            ),
            (
                with(|config| config.user = "nobody".to_owned()),
                "password authentication failed",
            ),
        ] {
            let error = db.query("SELECT 1", ()).await.unwrap_err();
            assert!(error.message().contains(why), "{error}");
            assert_eq!(error.code(), Some("denied"), "{error}");
        }
    });
}

/// Inserts a row in a transaction, by a statement or by a batch.
/// Inserts two rows by statements that are sent together.
async fn insert_two(db: &Db, id: i64) -> Result<(), Error> {
    let tx = db.0.begin().await?;
    let insert = async |id: i64| {
        let params = Value::List(vec![Value::Int(id)]);
        tx.exec("INSERT INTO t VALUES (?)", &params).await
    };
    let (one, other) = tokio::join!(insert(id), insert(id + SECOND));
    one?;
    other?;
    tx.commit().await
}

/// The difference of the ids of two rows that are inserted together.
const SECOND: i64 = 1_000_000;

async fn insert_in_transaction(db: &Db, id: i64, is_batch: bool) -> Result<(), Error> {
    let insert = "INSERT INTO t VALUES (?)";
    let params = Value::List(vec![Value::Int(id)]);
    let tx = db.0.begin().await?;
    if is_batch {
        let none = "DELETE FROM t WHERE id = -1";
        tx.exec(none, &Value::Null).await?;
        let none = (none.to_owned(), Value::Null);
        tx.batch(&[none, (insert.to_owned(), params)]).await?;
    } else {
        tx.exec(insert, &params).await?;
    }
    tx.commit().await
}

/// The connection is cut behind each number of bytes, in both directions. A write that is acknowledged is there, one
/// that failed is not, and where it is not known the error says so.
#[test]
fn connections_that_are_cut_lose_nothing_and_invent_nothing() {
    let Some(database) = Database::new() else {
        return;
    };
    let proxy = Proxy::before(database.server.port);
    database.psql("CREATE TABLE t (id int PRIMARY KEY)");
    let mut unknown = 0;
    let mut cut = |from_server: bool, bytes: i64, id: i64| {
        run(async {
            let db = Db::new(behind(&proxy, &database));
            match from_server {
                true => proxy.rules.from_server.set(bytes),
                false => proxy.rules.from_client.set(bytes),
            }
            let insert = "INSERT INTO t VALUES (?)";
            let ended = match id % 4 {
                0 => db.exec(insert, [Value::Int(id)]).await.map(drop),
                3 => insert_two(&db, id).await,
                way => insert_in_transaction(&db, id, way == 2).await,
            };
            let is_cut = proxy.rules.from_server.0.load(SeqCst) < 0
                && proxy.rules.from_client.0.load(SeqCst) < 0;
            proxy.rules.from_server.set(-1);
            proxy.rules.from_client.set(-1);
            let sql = "SELECT count(*) FROM t WHERE id = ?";
            let direct = Db::new(database.config());
            let found = direct.cell(sql, [Value::Int(id)]).await;
            if id % 4 == 3 {
                let second = direct.cell(sql, [Value::Int(id + SECOND)]).await;
                assert_eq!(second, found, "{bytes} bytes: {ended:?}");
            }
            match ended {
                Ok(()) => assert_eq!(found, "int 1", "{bytes} bytes"),
                Err(error) if error.code() == Some(COMMIT_UNKNOWN) => {
                    assert_eq!(error.kind().status(), 500);
                    unknown += 1;
                }
                Err(error) => assert_eq!(found, "int 0", "{bytes} bytes: {error}"),
            }
            is_cut
        })
    };
    let mut id = 0;
    for from_server in [true, false] {
        let mut bytes = 0;
        loop {
            let mut is_cut = false;
            for _ in 0..4 {
                id += 1;
                is_cut |= cut(from_server, bytes, id);
            }
            if !is_cut {
                break;
            }
            // The login once, and then each byte of a statement, or nearly.
            bytes += if bytes < 300 { 61 } else { 29 };
        }
        assert!(bytes > 200, "{bytes}");
    }
    assert!(unknown > 0, "no commit was unknown");
}

#[test]
fn a_deadlock_is_undone_for_one_and_run_again_for_a_batch() {
    with_database(async |database| {
        let db = Db::new(database.config());
        db.exec("CREATE TABLE t (id int PRIMARY KEY, n int)", ())
            .await
            .unwrap();
        db.exec("INSERT INTO t VALUES (1, 0), (2, 0)", ())
            .await
            .unwrap();
        let update = "UPDATE t SET n = n + 1 WHERE id = ?";
        let of = |id| Value::List(vec![Value::Int(id)]);
        let (one, two) = (db.0.begin().await.unwrap(), db.0.begin().await.unwrap());
        one.exec(update, &of(1)).await.unwrap();
        two.exec(update, &of(2)).await.unwrap();
        let (first, second) = (of(2), of(1));
        let (a, b) = tokio::join!(one.exec(update, &first), two.exec(update, &second));
        let error = a.err().or(b.err()).expect("one of them fails");
        assert_eq!(
            (error.code(), error.kind()),
            (Some("busy"), ErrorKind::Unavailable),
            "{error}"
        );
        drop((one, two));
        // Batches that lock in opposite order: both are kept, as often as it takes.
        let batch = |ids: [i64; 2]| ids.map(|id| (update.to_owned(), of(id))).to_vec();
        let (up, down) = (batch([1, 2]), batch([2, 1]));
        for _ in 0..5 {
            let (a, b) = tokio::join!(db.0.batch(&up), db.0.batch(&down));
            a.and(b).unwrap();
        }
        assert_eq!(db.cell("SELECT sum(n) FROM t", ()).await, "int 20");
    });
}

#[test]
fn a_serialization_failure_is_busy() {
    with_database(async |database| {
        let db = Db::new(database.config());
        db.exec("CREATE TABLE t (n int)", ()).await.unwrap();
        db.exec("INSERT INTO t VALUES (0)", ()).await.unwrap();
        let tx = db.0.begin().await.unwrap();
        tx.exec("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", &Value::Null)
            .await
            .unwrap();
        let all = sampan_postgres::RowLimits::default();
        tx.query("SELECT n FROM t", &Value::Null, all)
            .await
            .unwrap();
        db.exec("UPDATE t SET n = 1", ()).await.unwrap();
        let error = tx
            .exec("UPDATE t SET n = 2", &Value::Null)
            .await
            .unwrap_err();
        assert_eq!(
            (error.code(), error.kind()),
            (Some("busy"), ErrorKind::Unavailable),
            "{error}"
        );
        drop(tx);
        // Alone it is run again.
        let mut config = database.config();
        config.session.push((
            "default_transaction_isolation".to_owned(),
            "serializable".to_owned(),
        ));
        let strict = Db::new(config);
        let add = "UPDATE t SET n = n + 1";
        let adds = (0..8).map(|_| strict.exec(add, ()));
        let mut pinned: Vec<_> = adds.map(Box::pin).collect();
        for add in &mut pinned {
            add.await.unwrap();
        }
        assert_eq!(db.cell("SELECT n FROM t", ()).await, "int 9");
    });
}

#[test]
fn sql_that_ends_the_transaction_itself_is_noticed() {
    with_database(async |database| {
        let db = Db::new(database.config());
        db.exec("CREATE TABLE t (n int)", ()).await.unwrap();
        let tx = db.0.begin().await.unwrap();
        for sql in ["COMMIT", "ROLLBACK", "END", "/* x */ begin"] {
            let error = tx.exec(sql, &Value::Null).await.unwrap_err();
            assert_eq!(error.code(), Some("denied"), "{error}");
        }
        tx.exec("INSERT INTO t VALUES (1)", &Value::Null)
            .await
            .unwrap();
        // A text that is not checked.
        let error = tx.script("ROLLBACK").await.unwrap_err();
        assert_eq!(error.code(), Some("aborted"), "{error}");
        assert!(error.message().contains("its SQL has ended it"), "{error}");
        assert_eq!(tx.commit().await.unwrap_err().code(), Some("aborted"));
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 0");
    });
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let Some(database) = Database::new() else {
        return;
    };
    let proxy = Proxy::before(database.server.port);
    run(async {
        let mut config = behind(&proxy, &database);
        config.statement_millis_max = 200;
        config.connect_millis_max = 300;
        config.acquire_millis_max = 1_000;
        let db = Db::new(config);
        assert_eq!(db.cell("SELECT 1", ()).await, "int 1");
        proxy.rules.swallows.store(true, SeqCst);
        let error = db.query("SELECT 2", ()).await.unwrap_err();
        assert_eq!(error.code(), Some("io"), "{error}");
        let error = db.exec("CREATE TABLE t (n int)", ()).await.unwrap_err();
        assert!(
            error.message().contains("did not answer within 300 ms"),
            "{error}"
        );
        proxy.rules.swallows.store(false, SeqCst);
        let mut found = db.query("SELECT 3", ()).await;
        // The server is tried again after a while.
        while found.is_err() {
            tokio::task::yield_now().await;
            found = db.query("SELECT 3", ()).await;
        }
    });
}

#[test]
fn a_transaction_on_a_connection_that_does_not_answer_is_given_up() {
    let Some(database) = Database::new() else {
        return;
    };
    let proxy = Proxy::before(database.server.port);
    run(async {
        let mut config = behind(&proxy, &database);
        config.statement_millis_max = 200;
        config.connect_millis_max = 300;
        config.connections_max = 1;
        let db = Db::new(config);
        assert_eq!(db.cell("SELECT 1", ()).await, "int 1");
        proxy.rules.swallows.store(true, SeqCst);
        let tx = db.0.begin().await.unwrap();
        let error = tx.exec("SELECT 2", &Value::Null).await.unwrap_err();
        assert_eq!(error.code(), Some("io"), "{error}");
        drop(tx);
        proxy.rules.swallows.store(false, SeqCst);
        // Its connection takes no room.
        while db.query("SELECT 3", ()).await.is_err() {
            tokio::task::yield_now().await;
        }
        let tx = db.0.begin().await.unwrap();
        tx.exec("SELECT 4", &Value::Null).await.unwrap();
        proxy.rules.swallows.store(true, SeqCst);
        let error = tx.commit().await.unwrap_err();
        assert_eq!(error.code(), Some(COMMIT_UNKNOWN), "{error}");
    });
}

#[test]
fn a_connection_that_the_server_ends_is_replaced() {
    with_database(async |database| {
        let db = Db::new(database.config());
        let first = db.cell("SELECT pg_backend_pid()", ()).await;
        let pid = first.trim_start_matches("int ");
        database.psql(&format!("SELECT pg_terminate_backend({pid})"));
        // In the middle of nothing, and in the middle of a statement.
        let second = db.cell("SELECT pg_backend_pid()", ()).await;
        assert_ne!(first, second);
        let end = "SELECT pg_terminate_backend(pg_backend_pid())";
        let error = db.query(end, ()).await.unwrap_err();
        assert!(
            error.message().contains("terminating connection"),
            "{error}"
        );
        assert_eq!(error.code(), Some("io"), "{error}");
        wait::until_async("the next statement", || true).await;
        assert_ne!(db.cell("SELECT pg_backend_pid()", ()).await, second);
    });
}
