//! Connections that workers share, limits of time and number, prepared statements.

use crate::proxy::Proxy;
use crate::rig::{Database, Db, read, run, with_database};
use sampan_client::wait;
use sampan_host::{ErrorKind, Value};
use sampan_postgres::{Postgres, RowLimits};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::Poll;
use std::time::{Duration, Instant};

#[test]
fn many_statements_share_few_connections() {
    let Some(database) = Database::new() else {
        return;
    };
    let proxy = Proxy::before(database.server.port);
    run(async {
        let direct = format!(":{}/", database.server.port);
        let url = database
            .server
            .url(&database.name)
            .replace(&direct, &format!(":{}/", proxy.port));
        let mut config = read(&url);
        config.connections_max = 3;
        let db = Db::new(config);
        db.exec("CREATE TABLE t (id int PRIMARY KEY)", ())
            .await
            .unwrap();
        let mut running: Vec<_> = (0..200)
            .map(|id| Box::pin(db.exec("INSERT INTO t VALUES (?)", [Value::Int(id)])))
            .collect();
        std::future::poll_fn(|cx| {
            running.retain_mut(|one| match one.as_mut().poll(cx) {
                std::task::Poll::Ready(done) => {
                    assert_eq!(done.unwrap().changes, 1);
                    false
                }
                std::task::Poll::Pending => true,
            });
            match running.is_empty() {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        })
        .await;
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 200");
        assert!(proxy.rules.connections.load(SeqCst) <= 3);
    });
}

#[test]
fn a_statement_that_waits_for_its_types_is_no_part_of_a_transaction_that_begins_meanwhile() {
    with_database(async |database| {
        let mut config = database.config();
        config.connections_max = 1;
        let db = Db::new(config);
        db.exec("CREATE TABLE t (n int)", ()).await.unwrap();
        db.exec("INSERT INTO t VALUES (0)", ()).await.unwrap();
        let statements = [
            ("UPDATE t SET n = n + 1".to_owned(), Value::Null),
            ("UPDATE t SET n = n + 10".to_owned(), Value::Null),
        ];
        let transaction = async {
            let tx = db.0.begin().await?;
            tx.exec("UPDATE t SET n = 1000", &Value::Null).await?;
            tx.exec("UPDATE t SET n = 2000 WHERE n > 0", &Value::Null)
                .await?;
            tx.rollback().await;
            Ok(())
        };
        // Each sends what tells it the types first, before the transaction begins.
        let done = tokio::join!(
            async { db.exec("UPDATE t SET n = n + 100", ()).await.map(drop) },
            async { db.0.batch(&statements).await },
            async { db.0.run_all(&statements[..1]).await.map(drop) },
            transaction,
        );
        let done = [done.0, done.1, done.2, done.3];
        assert!(done.iter().all(Result::is_ok), "{done:?}");
        assert_eq!(db.cell("SELECT n FROM t", ()).await, "int 112");
        let insert = "INSERT INTO serials (name) VALUES ('new')";
        db.exec(
            "CREATE TABLE serials (id serial PRIMARY KEY, name text)",
            (),
        )
        .await
        .unwrap();
        // It also looks for the column that numbers the rows.
        let (inserted, begun) =
            tokio::join!(db.exec(insert, ()), async { db.0.begin().await.map(drop) });
        begun.unwrap();
        assert_eq!(inserted.unwrap().last_id, 1);
        assert_eq!(db.cell("SELECT count(*) FROM serials", ()).await, "int 1");
    });
}

#[test]
fn workers_with_one_connection_each_have_transactions_in_turn() {
    with_database(async |database| {
        let mut config = database.config();
        (config.connections_max, config.acquire_millis_max) = (2, 3_000);
        let process = Postgres::new(config).unwrap();
        let clients = [process.client(), process.client()];
        for client in &clients {
            client.script("SELECT 1").await.unwrap();
        }
        let transactions = |client: sampan_postgres::PostgresClient| async move {
            let first = client.begin().await.unwrap();
            let second = async { client.begin().await.unwrap().commit().await.unwrap() };
            // The second waits while the first goes on.
            let first = async {
                first.script("SELECT pg_sleep(0.01)").await.unwrap();
                first.commit().await.unwrap();
            };
            tokio::join!(second, first)
        };
        let [a, b] = clients;
        tokio::join!(transactions(a), transactions(b));
    });
}

/// Keeps the thread, as a script that computes does.
fn compute(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

#[test]
fn time_in_which_the_thread_computes_is_not_the_servers() {
    with_database(async |database| {
        let mut config = database.config();
        config.acquire_millis_max = 2_000;
        config.connect_millis_max = 2_000;
        let db = Db::new(config);
        let mut query = Box::pin(db.cell("SELECT 1", ()));
        // The connection is being opened when the script begins.
        std::future::poll_fn(|cx| {
            assert!(query.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        tokio::task::yield_now().await;
        compute(Duration::from_millis(2_200));
        assert_eq!(query.await, "int 1");
    });
}

#[test]
fn an_exhausted_pool_is_busy_and_serves_who_waits() {
    with_database(async |database| {
        let mut config = database.config();
        config.connections_max = 2;
        config.acquire_millis_max = 200;
        let db = Db::new(config);
        let (one, two) = (db.0.begin().await.unwrap(), db.0.begin().await.unwrap());
        for error in [
            db.query("SELECT 1", ()).await.err(),
            db.0.begin().await.err(),
        ] {
            let error = error.expect("there is no connection");
            assert_eq!(
                (error.code(), error.kind()),
                (Some("busy"), ErrorKind::Unavailable)
            );
            assert!(
                error
                    .message()
                    .contains("the 2 of this process are in transactions"),
                "{error}"
            );
        }
        drop(one);
        assert_eq!(db.cell("SELECT 1", ()).await, "int 1");
        two.rollback().await;
    });
}

#[test]
fn a_worker_gives_an_idle_connection_to_another() {
    with_database(async |database| {
        let mut config = database.config();
        config.connections_max = 1;
        config.acquire_millis_max = 60_000;
        let postgres = Postgres::new(config).unwrap();
        let (one, two) = (Db(postgres.client()), Db(postgres.client()));
        for db in [&one, &two, &one, &two] {
            assert_eq!(db.cell("SELECT 1", ()).await, "int 1");
        }
        // It is given when a transaction has ended.
        let tx = one.0.begin().await.unwrap();
        tx.exec("SELECT 1", &Value::Null).await.unwrap();
        let (cell, ()) = tokio::join!(two.cell("SELECT 2", ()), async {
            tx.commit().await.unwrap()
        });
        assert_eq!(cell, "int 2");
    });
}

#[test]
fn more_workers_than_connections_share_them() {
    let Some(database) = Database::new() else {
        return;
    };
    database.psql("CREATE TABLE t (id int)");
    let mut config = database.config();
    config.connections_max = 2;
    config.acquire_millis_max = 60_000;
    let postgres = Postgres::new(config).unwrap();
    let work = |worker: i64| {
        let postgres = postgres.clone();
        move || {
            run(async {
                let db = std::rc::Rc::new(Db(postgres.client()));
                let tasks = (0..4).map(|_| {
                    let db = std::rc::Rc::clone(&db);
                    tokio::task::spawn_local(async move {
                        for _ in 0..25 {
                            assert_eq!(db.cell("SELECT 1", ()).await, "int 1");
                        }
                        let tx = db.0.begin().await.unwrap();
                        let id = Value::List(vec![Value::Int(worker)]);
                        tx.exec("INSERT INTO t VALUES (?)", &id).await.unwrap();
                        tx.commit().await.unwrap();
                    })
                });
                for task in tasks.collect::<Vec<_>>() {
                    task.await.unwrap();
                }
            });
        }
    };
    let workers: Vec<_> = (0..4)
        .map(|worker| std::thread::spawn(work(worker)))
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(database.psql("SELECT count(*) FROM t"), "16");
}

#[test]
fn a_worker_under_load_shares_its_last_connection() {
    let Some(database) = Database::new() else {
        return;
    };
    let mut config = database.config();
    config.connections_max = 1;
    let postgres = Postgres::new(config).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let begun = Arc::new(AtomicBool::new(false));
    let busy = std::thread::spawn({
        let (postgres, is_over) = (postgres.clone(), Arc::clone(&is_over));
        let begun = Arc::clone(&begun);
        move || {
            run(async {
                let db = Db(postgres.client());
                // One is always under way, so the connection is never idle.
                let ask = async || {
                    while !is_over.load(SeqCst) {
                        db.cell("SELECT 1 FROM pg_sleep(0.02)", ()).await;
                        begun.store(true, SeqCst);
                    }
                };
                tokio::join!(ask(), ask(), ask());
            });
        }
    });
    wait::until("the first worker is at work", || begun.load(SeqCst));
    let found = run(async { Db(postgres.client()).query("SELECT 2", ()).await });
    is_over.store(true, SeqCst);
    busy.join().unwrap();
    assert_eq!(found.unwrap().len(), 1);
}

#[test]
fn a_statement_ends_at_its_limit() {
    with_database(async |database| {
        // By the server, and by a request to stop where a pooler stands between.
        for prepare in [true, false] {
            let mut config = database.config();
            config.statement_millis_max = 100;
            config.prepare = prepare;
            let db = Db::new(config);
            let error = db.query("SELECT pg_sleep(100)", ()).await.unwrap_err();
            assert_eq!(
                (error.code(), error.kind()),
                (Some("timeout"), ErrorKind::TooLong),
                "{error}"
            );
            let why = "the statement ran longer than statement_millis_max (100 ms)";
            assert!(error.message().starts_with(why), "{error}");
            assert_eq!(db.cell("SELECT 1", ()).await, "int 1");
            let mut config = database.config();
            (config.statement_millis_max, config.prepare) = (0, prepare);
            Db::new(config)
                .cell("SELECT 1 FROM pg_sleep(0.3)", ())
                .await;
            // A transaction may set its own.
            let tx = db.0.begin().await.unwrap();
            tx.exec("SET LOCAL statement_timeout = 0", &Value::Null)
                .await
                .unwrap();
            tx.exec("SELECT pg_sleep(0.5)", &Value::Null).await.unwrap();
            tx.commit().await.unwrap();
        }
    });
}

#[test]
fn a_statement_whose_caller_has_gone_is_stopped() {
    with_database(async |database| {
        let mut config = database.config();
        config.statement_millis_max = 600_000;
        config.connections_max = 1;
        let db = Db::new(config);
        db.exec("CREATE TABLE t (n int)", ()).await.unwrap();
        let running = || {
            database.psql("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1000%' AND state = 'active' AND pid <> pg_backend_pid()")
        };
        let mut forgotten = Box::pin(db.query("SELECT pg_sleep(1000)", ()));
        tokio::select! {
            _ = &mut forgotten => panic!("it sleeps"),
            () = wait::until_async("it runs", || running() == "1") => {}
        }
        // A statement behind it is not lost.
        let mut behind = Box::pin(db.exec("INSERT INTO t VALUES (1)", ()));
        std::future::poll_fn(|cx| std::task::Poll::Ready(behind.as_mut().poll(cx).is_pending()))
            .await;
        drop(forgotten);
        behind.await.unwrap();
        assert_eq!(running(), "0");
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 1");
        // In a transaction too, which is rolled back with it.
        let tx = db.0.begin().await.unwrap();
        tx.exec("INSERT INTO t VALUES (2)", &Value::Null)
            .await
            .unwrap();
        {
            tokio::select! {
                _ = tx.exec("SELECT pg_sleep(1000)", &Value::Null) => panic!("it sleeps"),
                () = wait::until_async("it runs", || running() == "1") => {}
            }
        }
        drop(tx);
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 1");
    });
}

#[test]
fn statements_fit_a_schema_that_changes() {
    with_database(async |database| {
        for prepare in [true, false] {
            let mut config = database.config();
            config.prepare = prepare;
            let db = Db::new(config);
            db.exec("DROP TABLE IF EXISTS t", ()).await.unwrap();
            db.exec("CREATE TABLE t (id int, n int)", ()).await.unwrap();
            db.exec("INSERT INTO t VALUES (1, 2)", ()).await.unwrap();
            assert_eq!(
                db.query("SELECT * FROM t", ())
                    .await
                    .unwrap()
                    .columns()
                    .len(),
                2
            );
            database.psql("ALTER TABLE t ADD COLUMN name text DEFAULT 'x'");
            assert_eq!(
                db.query("SELECT * FROM t", ())
                    .await
                    .unwrap()
                    .columns()
                    .len(),
                3,
                "{prepare}"
            );
            let by = "SELECT n FROM t WHERE id = ?";
            assert_eq!(db.cell(by, [Value::Int(1)]).await, "int 2");
            database.psql("ALTER TABLE t ALTER COLUMN n TYPE text");
            assert_eq!(db.cell(by, [Value::Int(1)]).await, "text 2", "{prepare}");
            database.psql("ALTER TABLE t ALTER COLUMN n TYPE bytea USING n::bytea");
            assert_eq!(
                db.cell(by, [Value::Int(1)]).await,
                "bytes [50]",
                "{prepare}"
            );
        }
    });
}

#[test]
fn parameters_fit_a_schema_that_changes() {
    with_database(async |database| {
        let server = Postgres::new(database.config()).expect("no files");
        let (db, other) = (Db(server.client()), Db(server.client()));
        let insert = "INSERT INTO t (due) VALUES (?)";
        let due = || [Value::from("2026-01-31T15:30:00Z")];
        let last = "SELECT due::text FROM t ORDER BY id DESC LIMIT 1";
        db.exec("CREATE TABLE t (id serial, due date)", ())
            .await
            .unwrap();
        for (way, then) in [
            ("here", "date"),
            ("in a transaction", "date"),
            ("outside", "date"),
        ] {
            let back = format!("ALTER TABLE t ALTER due TYPE {then}");
            db.exec(&back, ()).await.unwrap();
            other.exec(insert, due()).await.unwrap();
            assert_eq!(other.cell(last, ()).await, "text 2026-01-31", "{way}");
            let change = "ALTER TABLE t ALTER due TYPE timestamptz";
            match way {
                "here" => drop(db.exec(change, ()).await.unwrap()),
                "outside" => {
                    database.psql(change);
                    server.schema_changed();
                }
                _ => {
                    let tx = db.0.begin().await.unwrap();
                    tx.exec(change, &Value::Null).await.unwrap();
                    tx.commit().await.unwrap();
                }
            }
            other.exec(insert, due()).await.unwrap();
            let found = other.cell(last, ()).await;
            assert_eq!(found, "text 2026-01-31 15:30:00+00", "{way}");
        }
    });
}

/// A transaction that is given up before its BEGIN is answered leaves none open behind it.
#[test]
fn a_begin_that_is_given_up_is_rolled_back() {
    with_database(async |database| {
        let mut config = database.config();
        config.connections_max = 1;
        let db = Db::new(config);
        db.exec("CREATE TABLE t (id int)", ()).await.unwrap();
        let mut slow = pin!(db.query("SELECT pg_sleep(0.5)", ()));
        let mut begin = pin!(db.0.begin());
        poll_fn(|cx| {
            assert!(slow.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        // Until the statement is on its way.
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        poll_fn(|cx| {
            assert!(slow.as_mut().poll(cx).is_pending());
            assert!(begin.as_mut().poll(cx).is_pending(), "it waits for BEGIN");
            Poll::Ready(())
        })
        .await;
        begin.set(db.0.begin());
        slow.await.unwrap();
        db.exec("INSERT INTO t VALUES (1)", ()).await.unwrap();
        assert_eq!(database.psql("SELECT count(*) FROM t"), "1");
    });
}

#[test]
fn a_write_whose_rows_are_too_large_says_that_it_is_saved() {
    with_database(async |database| {
        let db = Db::new(database.config());
        db.exec("CREATE TABLE t (id int)", ()).await.unwrap();
        let limits = RowLimits {
            result_bytes_max: 10_000,
            ..RowLimits::default()
        };
        let many = "INSERT INTO t SELECT i FROM generate_series(1, 5000) i RETURNING id";
        let error = db.0.query(many, &Value::Null, limits).await.unwrap_err();
        assert_eq!(error.code(), Some("too_large"), "{error}");
        assert!(error.message().contains("its changes are saved"), "{error}");
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 5000");
        // In a transaction nothing of it is.
        let tx = db.0.begin().await.unwrap();
        let error = tx.query(many, &Value::Null, limits).await.unwrap_err();
        assert_eq!(error.code(), Some("too_large"), "{error}");
        let error = tx.exec("SELECT 1", &Value::Null).await.unwrap_err();
        assert_eq!(error.code(), Some("aborted"), "{error}");
        assert_eq!(tx.commit().await.unwrap_err().code(), Some("aborted"));
        let tx = db.0.begin().await.unwrap();
        tx.savepoint().await.unwrap();
        assert!(tx.query(many, &Value::Null, limits).await.is_err());
        tx.end_savepoint(false).await.unwrap();
        tx.exec("INSERT INTO t VALUES (1)", &Value::Null)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 5001");
    });
}

#[test]
fn prepared_statements_are_bounded() {
    with_database(async |database| {
        let mut config = database.config();
        config.statements_max = 4;
        config.connections_max = 1;
        let db = Db::new(config);
        for round in 0..3 {
            for n in 0..10 {
                assert_eq!(
                    db.cell(&format!("SELECT {n}"), ()).await,
                    format!("int {n}"),
                    "{round}"
                );
            }
        }
        let kept = "SELECT count(*) FROM pg_prepared_statements";
        let kept = db.cell(kept, ()).await;
        assert!(["int 4", "int 5"].contains(&&*kept), "{kept}");
        // A batch of more than that, with one that fails in the middle, and again.
        let batch = |fails: bool| {
            let sql = move |n: i32| match fails && n == 5 {
                true => "SELECT 1 / (SELECT 0)".to_owned(),
                false => format!("SELECT {n} + 100"),
            };
            (0..10).map(|n| (sql(n), Value::Null)).collect::<Vec<_>>()
        };
        for fails in [true, false, true, false] {
            assert_eq!(db.0.batch(&batch(fails)).await.is_err(), fails);
        }
        let mut config = database.config();
        config.prepare = false;
        let db = Db::new(config);
        db.cell("SELECT 1", ()).await;
        assert_eq!(
            db.cell("SELECT count(*) FROM pg_prepared_statements", ())
                .await,
            "int 0"
        );
    });
}

#[test]
fn a_large_result_is_refused_and_the_first_row_is_enough() {
    with_database(async |database| {
        let db = Db::new(database.config());
        let limits = RowLimits {
            result_bytes_max: 10_000,
            ..RowLimits::default()
        };
        let many = "SELECT i FROM generate_series(1, 5000) i";
        let error = db.0.query(many, &Value::Null, limits).await.unwrap_err();
        assert_eq!(error.code(), Some("too_large"), "{error}");
        let first = RowLimits {
            first_only: true,
            ..limits
        };
        assert_eq!(
            db.0.query(many, &Value::Null, first).await.unwrap().len(),
            1
        );
        let large = "SELECT repeat('x', 20000)";
        assert_eq!(
            db.0.query(large, &Value::Null, first)
                .await
                .unwrap_err()
                .code(),
            Some("too_large")
        );
        let rows = db
            .query("SELECT repeat('x', 3000000) FROM generate_series(1, 3)", ())
            .await
            .unwrap();
        assert_eq!(rows.len(), 3);
        let both = "INSERT INTO u VALUES (1), (2) RETURNING id";
        db.exec("CREATE TABLE u (id int)", ()).await.unwrap();
        assert_eq!(
            db.0.query(both, &Value::Null, first).await.unwrap().len(),
            1
        );
        assert_eq!(db.cell("SELECT count(*) FROM u", ()).await, "int 2");
        // A long statement is not kept.
        let long = format!("SELECT /* {} */ ? + 1", "long ".repeat(20_000));
        for _ in 0..2 {
            assert_eq!(db.cell(&long, [Value::Int(1)]).await, "int 2");
        }
        let text = "y".repeat(5_000_000);
        assert_eq!(
            db.cell("SELECT length(?)", [Value::from(text)]).await,
            "int 5000000"
        );
    });
}

#[test]
fn savepoints_undo_a_part() {
    with_database(async |database| {
        let db = Db::new(database.config());
        db.exec("CREATE TABLE t (id int PRIMARY KEY)", ())
            .await
            .unwrap();
        let tx = db.0.begin().await.unwrap();
        let insert = async |id: i64| {
            tx.exec(
                "INSERT INTO t VALUES (?)",
                &Value::List(vec![Value::Int(id)]),
            )
            .await
        };
        insert(1).await.unwrap();
        tx.savepoint().await.unwrap();
        insert(2).await.unwrap();
        assert_eq!(insert(1).await.unwrap_err().code(), Some("unique"));
        assert_eq!(insert(3).await.unwrap_err().code(), Some("aborted"));
        tx.end_savepoint(false).await.unwrap();
        tx.savepoint().await.unwrap();
        insert(4).await.unwrap();
        tx.end_savepoint(true).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(
            db.cell("SELECT array_agg(id ORDER BY id) FROM t", ()).await,
            "text [1,4]"
        );
    });
}
