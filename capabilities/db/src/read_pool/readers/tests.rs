//! Long reads on threads of their own: who waits, who is stopped, who goes on.

use super::*;
use crate::sqlite::connection::testing::scratch;
use sampan_client::wait::until;
use sampan_host::Cell;
use std::sync::mpsc;
use std::task::Wake;

const FOREVER: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

/// Waits for a future in place.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Bell(mpsc::SyncSender<()>);
    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            let _ = self.0.try_send(());
        }
    }
    let (sender, receiver) = mpsc::sync_channel(1);
    let waker = Waker::from(Arc::new(Bell(sender)));
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        receiver
            .recv_timeout(Duration::from_secs(20))
            .expect("the future is woken");
    }
}

fn is_shared<T: Send + Sync>(_: &T) {}

#[test]
fn reads_are_answered_from_the_threads() {
    let (_folder, config, db) = scratch();
    db.done("CREATE TABLE t(a)");
    db.done("INSERT INTO t VALUES (1), (2), (3)");
    let readers = Readers::start(&config);
    is_shared(&readers);
    assert_eq!(readers.0.lock().threads.len(), 0);
    let sql = "SELECT a FROM t WHERE a > ? ORDER BY a";
    let ask =
        |first_only| readers.query(sql.to_owned(), Value::List(vec![Value::Int(1)]), first_only);
    let asked: Vec<_> = (0..20).map(|number| ask(number % 2 == 0)).collect();
    for (number, reading) in asked.into_iter().enumerate() {
        let rows = wait(reading).unwrap();
        assert_eq!(rows.cell(0, 0), Cell::Int(2));
        assert_eq!(rows.len(), if number % 2 == 0 { 1 } else { 2 });
    }
    assert!(readers.0.lock().threads.len() <= config.reader_threads);
    let error = |sql: &str| wait(readers.query(sql.to_owned(), Value::Null, false)).unwrap_err();
    assert!(
        error("SELECT nope")
            .error
            .message()
            .starts_with("no such column")
    );
    assert!(
        error("DELETE FROM t")
            .error
            .message()
            .starts_with("the statement writes")
    );
    assert!(error("BEGIN").error.message().contains("db.batch"));
}

/// The nice values of the reader threads of this process.
fn nice_values() -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("the threads");
    let stats =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
    let readers = stats.filter_map(|stat| {
        let values = stat.split_once("(sampan-reader) ")?.1;
        // The 19th field, as proc_pid_stat(5) counts.
        values.split(' ').nth(16)?.parse().ok()
    });
    readers.collect()
}

#[test]
fn threads_have_the_priority_of_the_slow_lane() {
    let (_folder, config, _db) = scratch();
    let readers = Readers::start(&config);
    wait(readers.query("SELECT 1".to_owned(), Value::Null, false)).unwrap();
    // Threads of other tests may have just begun.
    until("the priority", || {
        let values = nice_values();
        !values.is_empty() && values.iter().all(|nice| *nice == NICE)
    });
}

#[test]
fn a_read_ends_at_its_limit() {
    let (_folder, mut config, _db) = scratch();
    config.statement_millis_max = 30;
    let readers = Readers::start(&config);
    let fault = wait(readers.query(FOREVER.to_owned(), Value::Null, false)).unwrap_err();
    assert_eq!(fault.error.kind(), ErrorKind::TooLong);
    assert!(
        fault
            .error
            .message()
            .contains("statement_millis_max (30 ms)")
    );
}

#[test]
fn a_dropped_future_stops_its_statement() {
    let (_folder, mut config, _db) = scratch();
    config.statement_millis_max = 60_000;
    config.reader_threads = 1;
    let readers = Readers::start(&config);
    let runs = readers.query(FOREVER.to_owned(), Value::Null, false);
    until("it runs", || readers.0.lock().running.len() == 1);
    let waits = readers.query(FOREVER.to_owned(), Value::Null, false);
    let next = readers.query("SELECT 7".to_owned(), Value::Null, false);
    drop(waits);
    assert_eq!(readers.0.lock().queue.len(), 1);
    drop(runs);
    assert_eq!(wait(next).unwrap().cell(0, 0), Cell::Int(7));
}

#[test]
fn the_queue_is_bounded() {
    let (_folder, mut config, _db) = scratch();
    config.reader_threads = 1;
    config.statement_millis_max = 60_000;
    let readers = Readers::start(&config);
    let runs = readers.query(FOREVER.to_owned(), Value::Null, false);
    until("it runs", || readers.0.lock().running.len() == 1);
    let ask = || readers.query("SELECT 1".to_owned(), Value::Null, false);
    let waiting: Vec<_> = (0..WAITING_MAX).map(|_| ask()).collect();
    let fault = wait(ask()).unwrap_err();
    assert_eq!(fault.error.kind(), ErrorKind::Unavailable);
    drop(runs);
    for reading in waiting {
        wait(reading).unwrap();
    }
}

#[test]
fn shutdown_stops_what_runs_and_refuses_what_waits() {
    let (_folder, mut config, _db) = scratch();
    config.reader_threads = 1;
    config.statement_millis_max = 60_000;
    let readers = Readers::start(&config);
    let runs = readers.query(FOREVER.to_owned(), Value::Null, false);
    until("it runs", || readers.0.lock().running.len() == 1);
    let waits = readers.query("SELECT 1".to_owned(), Value::Null, false);
    readers.shutdown();
    let late = readers.query("SELECT 1".to_owned(), Value::Null, false);
    for reading in [wait(runs), wait(waits), wait(late)] {
        let fault = reading.unwrap_err();
        assert_eq!(fault.error.kind(), ErrorKind::Unavailable);
        assert_eq!(fault.error.message(), "the database is being closed");
    }
    assert_eq!(Arc::strong_count(&readers.0), 1);
}

#[test]
fn a_file_that_cannot_be_opened_fails_each_read() {
    let (folder, _, _db) = scratch();
    let readers = Readers::start(&DatabaseConfig::new(folder.path("none/data.db")));
    for _ in 0..2 {
        let fault = wait(readers.query("SELECT 1".to_owned(), Value::Null, false)).unwrap_err();
        assert!(fault.error.message().contains("there is no folder"));
    }
}
