//! A server that is killed, at rest and under load.

use crate::rig::{Db, read, run, shown};
use sampan_client::postgres::PostgresServer;
use sampan_client::wait;
use sampan_host::Value;
use sampan_host::database::COMMIT_UNKNOWN;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

#[test]
fn a_server_that_was_killed_is_found_again() {
    let Some(server) = PostgresServer::start() else {
        return;
    };
    run(async {
        let mut config = read(&server.url("postgres"));
        config.acquire_millis_max = 60_000;
        let db = Db::new(config);
        db.exec("CREATE TABLE t (id int)", ()).await.unwrap();
        let tx = db.0.begin().await.unwrap();
        tx.exec("INSERT INTO t VALUES (1)", &Value::Null)
            .await
            .unwrap();
        server.kill();
        let error = tx
            .exec("INSERT INTO t VALUES (2)", &Value::Null)
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some("io"), "{error}");
        let error = tx.commit().await.unwrap_err();
        assert_eq!(error.code(), Some("aborted"), "{error}");
        server.resume();
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 0");
        db.exec("INSERT INTO t VALUES (3)", ()).await.unwrap();
        // One that is fresh begins again.
        let tx = db.0.begin().await.unwrap();
        server.kill();
        server.resume();
        tx.exec("INSERT INTO t VALUES (4)", &Value::Null)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 2");
    });
}

/// Killed under load: writes that were acknowledged are there, those that failed are not, and others say that it is not
/// known.
#[test]
fn a_server_killed_under_load_loses_no_acknowledged_write() {
    let Some(server) = PostgresServer::start() else {
        return;
    };
    let server = Arc::new(server);
    run(async {
        let mut config = read(&server.url("postgres"));
        (config.acquire_millis_max, config.statement_millis_max) = (60_000, 60_000);
        let db = Rc::new(Db::new(config));
        let create = "CREATE TABLE t (id int PRIMARY KEY)";
        db.exec(create, ()).await.unwrap();
        let written = Arc::new(AtomicUsize::new(0));
        let is_over = Arc::new(AtomicBool::new(false));
        let tasks = (0..16).map(|task| {
            let (db, written) = (Rc::clone(&db), Arc::clone(&written));
            let is_over = Arc::clone(&is_over);
            tokio::task::spawn_local(async move {
                let mut ends = Vec::new();
                let mut id = task;
                while !is_over.load(SeqCst) {
                    let done = db.exec("INSERT INTO t VALUES (?)", [Value::Int(id)]).await;
                    written.fetch_add(1, SeqCst);
                    ends.push((id, done));
                    id += 16;
                }
                ends
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let killer = std::thread::spawn({
            let (server, written) = (Arc::clone(&server), Arc::clone(&written));
            move || {
                for _ in 0..3 {
                    let before = written.load(SeqCst);
                    wait::until("writes go on", || written.load(SeqCst) > before + 200);
                    server.kill();
                    server.resume();
                }
                is_over.store(true, SeqCst);
            }
        });
        let mut ends = Vec::new();
        for task in tasks {
            ends.extend(task.await.unwrap());
        }
        killer.join().unwrap();
        let rows = db.query("SELECT id FROM t", ()).await.unwrap();
        let there: HashSet<String> = (0..rows.len())
            .map(|row| shown(rows.cell(row, 0)))
            .collect();
        for (id, done) in ends {
            let is_there = there.contains(&format!("int {id}"));
            match done {
                Ok(_) => assert!(is_there, "{id} was acknowledged"),
                Err(error) if error.code() == Some(COMMIT_UNKNOWN) => {}
                Err(error) => assert!(!is_there, "{id}: {error}"),
            }
        }
    });
}
