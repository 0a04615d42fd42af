//! Transactions beside groups: whose turn it is, and that the connection always comes back.

use super::*;
use crate::group_commit::transaction::{Transaction, TransactionPlace};
use sampan_client::wait;
use sampan_host::{BackgroundRun, CurrentRun};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

async fn begin(rig: &GroupRig) -> Rc<Transaction> {
    let place = TransactionPlace::new(&rig.db.0).unwrap();
    Transaction::begin(place).await.unwrap()
}

fn add(transaction: &Transaction, name: &str) -> Result<i64, Error> {
    let sql = format!("INSERT INTO t (name) VALUES ('{name}')");
    let done = transaction.run(&sql, false, |c, run| c.exec(&sql, &Value::Null, run));
    done.map(|done| done.changes)
}

fn is_free(database: &Database) -> bool {
    let writers = &database.opened().unwrap().writers;
    writers.is_free() && !writers.has_transactions()
}

#[test]
fn a_commit_is_told_like_that_of_a_group() {
    let folder = TestFolder::new();
    let database = database(&folder, |config| config.checkpoint_pages = 1);
    on_worker(&database, async |rig| {
        let before = database.commits.load(Relaxed);
        for is_slow in [false, true] {
            for _ in 0..20 {
                let took = Duration::from_millis(if is_slow { 5 } else { 0 });
                rig.db.0.latency.note(took);
            }
            assert_eq!(rig.db.0.latency.is_slow(), is_slow);
            let transaction = begin(&rig).await;
            assert!(rig.db.has_transactions() && !rig.outbox.is_open());
            add(&transaction, if is_slow { "slow" } else { "quick" }).unwrap();
            assert_eq!(rig.count("SELECT count(*) FROM t"), i64::from(is_slow));
            transaction.commit().await.unwrap();
            assert!(is_free(&database));
            let error = add(&transaction, "late").unwrap_err();
            assert_eq!(error.message(), "this Transaction is over");
            drop(transaction);
            assert!(!rig.db.has_transactions());
        }
        assert_eq!(database.commits.load(Relaxed), before + 2);
        // The length of the log has been told too, so it is copied soon.
        let checkpointer = &database.opened().unwrap().checkpointer;
        wait::until_async("the copy", || checkpointer.wal_bytes() == 0).await;
        assert_eq!(rig.count("SELECT count(*) FROM t"), 2);
    });
    assert_eq!(committed(&database), 2);
}

#[test]
fn one_that_is_dropped_gives_the_connection_back_at_every_stage() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        let poll = |future: std::pin::Pin<&mut dyn Future<Output = Result<(), Error>>>| {
            assert!(
                future
                    .poll(&mut Context::from_waker(Waker::noop()))
                    .is_pending()
            );
        };
        // While it waits for its turn.
        let open = begin(&rig).await;
        {
            let place = TransactionPlace::new(&rig.db.0).unwrap();
            let mut waiting = pin!(async { Transaction::begin(place).await.map(drop) });
            poll(waiting.as_mut());
        }
        // While it is open.
        add(&open, "a").unwrap();
        drop(open);
        assert!(is_free(&database));
        // While its commit is on its way: that is waited for.
        for _ in 0..20 {
            rig.db.0.latency.note(Duration::from_millis(5));
        }
        let open = begin(&rig).await;
        add(&open, "b").unwrap();
        {
            let mut committing = pin!(open.commit());
            poll(committing.as_mut());
        }
        drop(open);
        assert!(is_free(&database) && !rig.db.has_transactions());
        rig.exec("INSERT INTO t (name) VALUES ('c')").unwrap();
        rig.answer("c");
        rig.settle().await;
    });
    assert_eq!(committed(&database), 2);
}

#[test]
fn nobody_waits_in_place_behind_one() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        let open = begin(&rig).await;
        let route = RouteUse::default();
        let error = rig.exec("INSERT INTO t (name) VALUES ('a')").unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Unavailable, Some("busy"))
        );
        rig.db.left(Some(&route), || false);
        // The route is known to write now, and waits before it runs, and before it goes on.
        assert!(!rig.db.try_acquire(&route) && rig.db.must_queue(&route));
        // So does one on another thread.
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let rig = GroupRig::new(&database);
                let error = rig.exec("INSERT INTO t (name) VALUES ('b')").unwrap_err();
                error.code().map(str::to_owned)
            });
            assert_eq!(other.join().unwrap().as_deref(), Some("busy"));
        });
        let ending = tokio::task::spawn_local(async move {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            add(&open, "first").unwrap();
            open.commit().await.unwrap();
        });
        rig.db.acquire(&route).await.unwrap();
        assert!(ending.is_finished());
        assert!(!rig.db.must_queue(&route));
        rig.exec("INSERT INTO t (name) VALUES ('second')").unwrap();
        rig.answer("second");
        assert_eq!(rig.settle().await, named(&["second"], Verdict::Committed));
    });
    assert_eq!(committed(&database), 2);
}

#[test]
fn runs_that_may_write_wait_behind_one_of_another_run() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        let run = CurrentRun::default();
        rig.db.measure(run.clone());
        let timers = Rc::new(BackgroundRun::endless());
        run.set_background(Some(Rc::clone(&timers)));
        let open = begin(&rig).await;
        // Which of the transactions of timers is a timer's own cannot be told.
        assert!(!rig.db.must_queue(&RouteUse::new(true)));
        run.set_background(Some(Rc::new(BackgroundRun::default())));
        assert!(rig.db.must_queue(&RouteUse::new(true)));
        assert!(!rig.db.must_queue(&RouteUse::new(false)));
        run.set_background(Some(timers));
        open.commit().await.unwrap();
        assert!(!rig.db.must_queue(&RouteUse::new(true)));
    });
}

#[test]
fn a_project_that_is_loaded_waits_for_those_of_other_workers() {
    let folder = TestFolder::new();
    let database = database(&folder, |_| {});
    on_worker(&database, async |rig| {
        let open = begin(&rig).await;
        let loading = std::thread::spawn({
            let database = Arc::clone(&database);
            move || {
                let rig = GroupRig::new(&database);
                rig.db.set_loading(true);
                rig.exec("INSERT INTO t (name) VALUES ('loaded')").unwrap();
                rig.db.set_loading(false);
                rig.db.finish_loading().unwrap();
            }
        });
        wait::dawdle(Duration::from_millis(50));
        assert!(!loading.is_finished());
        open.commit().await.unwrap();
        loading.join().unwrap();
    });
    assert_eq!(committed(&database), 1);
}

#[test]
fn the_lock_of_another_process_is_waited_for_and_given_up() {
    let folder = TestFolder::new();
    let database = database(&folder, |config| config.busy_millis_max = 100);
    let foreign = SqliteConnection::open(&database.config, Role::Maintenance)
        .map_err(|fault| fault.error)
        .unwrap();
    on_worker(&database, async |rig| {
        foreign
            .control("BEGIN IMMEDIATE")
            .map_err(|f| f.error)
            .unwrap();
        let place = TransactionPlace::new(&rig.db.0).unwrap();
        let error = Transaction::begin(place).await.map(drop).unwrap_err();
        assert_eq!(
            (error.kind(), error.code()),
            (ErrorKind::Unavailable, Some("busy"))
        );
        assert!(is_free(&database));
        foreign.control("COMMIT").map_err(|f| f.error).unwrap();
        begin(&rig).await.commit().await.unwrap();
    });
}

#[test]
fn its_time_runs_while_its_function_waits_and_within_its_statements() {
    const FOREVER: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let folder = TestFolder::new();
    let database = database(&folder, |config| config.transaction_millis_max = 100);
    on_worker(&database, async |rig| {
        let told = |transaction: &Transaction| {
            let error = add(transaction, "late").unwrap_err();
            assert_eq!(
                (error.kind(), error.code()),
                (ErrorKind::Timeout, Some("timeout"))
            );
        };
        let waits = begin(&rig).await;
        add(&waits, "a").unwrap();
        wait::until_async("its end", || is_free(&database)).await;
        told(&waits);
        let works = begin(&rig).await;
        let query = works.run(FOREVER, false, |c, run| c.query(FOREVER, &Value::Null, run));
        assert_eq!(query.unwrap_err().kind(), ErrorKind::Timeout);
        assert!(is_free(&database));
        told(&works);
        assert_eq!(works.commit().await.unwrap_err().code(), Some("timeout"));
    });
    assert_eq!(committed(&database), 0);
}
