//! The log as SQLite would have written it.

use super::*;
use crate::sqlite::connection::testing::scratch;
use crate::sqlite::connection::{Connection, Role};
use std::path::Path;

const PAGE: [u8; 512] = [1; 512];
const FRAME: usize = FRAME_HEADER_BYTES + PAGE.len();

fn header(byte: u8) -> [u8; FRAME_HEADER_BYTES] {
    [byte; FRAME_HEADER_BYTES]
}

#[test]
fn a_header_waits_for_its_page_alone() {
    let at = |end| Frames {
        end,
        page_bytes: PAGE.len(),
        ..Frames::default()
    };
    // The first frame behind the header of the log, which tells how large a page is.
    let mut frames = Frames::default();
    let mut log_header = [0; LOG_HEADER_BYTES as usize];
    log_header[10] = 2;
    assert!(!frames.keep(&log_header, 0));
    frames.end = 32;
    assert!(frames.keep(&header(2), 32));
    assert!(!frames.keep(&header(3), 56), "one at a time");
    assert!(!frames.join(&PAGE, 55) && !frames.join(&PAGE, 57));
    assert!(frames.join(&PAGE, 56));
    assert_eq!((frames.at, frames.kept.len()), (32, FRAME));
    assert_eq!(
        (frames.kept[0], frames.kept[23], frames.kept[24]),
        (2, 2, 1)
    );
    let second = 32 + FRAME as i64;
    assert!(!frames.join(&PAGE, second), "it has its page");
    // The next one; and what is no header, or not at the end: a new checksum of an older frame.
    assert!(at(second).keep(&header(2), second));
    assert!(!at(second).keep(&PAGE, second));
    assert!(!at(second).keep(&header(2), 32) && !at(second + 536).keep(&header(2), second));
    assert!(!at(0).keep(&header(2), 0));
    assert!(!at(second).join(&PAGE, second + 24));
    // The last bytes of a page, and a log that was begun elsewhere.
    assert!(!at(second - 24).keep(&header(2), second - 24));
    let mut elsewhere = at(second);
    elsewhere.page_bytes = 0;
    assert!(!elsewhere.keep(&header(2), second));
}

#[test]
fn frames_are_kept_until_the_one_that_ends_the_commit() {
    let mut inner = header(7);
    inner[4..8].fill(0);
    let add = |frames: &mut Frames, header: &[u8], page: &[u8]| {
        let next = frames.next();
        assert!(frames.keep(header, next) && frames.join(page, next + 24));
    };
    let fresh = || Frames {
        end: 32,
        page_bytes: PAGE.len(),
        ..Frames::default()
    };
    let mut frames = fresh();
    for count in 1..4 {
        add(&mut frames, &inner, &PAGE);
        assert!(!frames.is_full());
        assert_eq!((frames.at, frames.kept.len()), (32, count * FRAME));
    }
    // Only where it ended may the next one begin.
    let next = frames.next();
    assert!(!frames.keep(&inner, next - FRAME as i64) && !frames.keep(&inner, 32));
    add(&mut frames, &header(1), &PAGE);
    assert!(frames.is_full(), "it ends the commit");
    frames.forget();
    assert!(frames.kept.is_empty() && !frames.keep(&inner, next));
    let mut frames = fresh();
    add(&mut frames, &inner, &PAGE[..100]);
    assert!(frames.is_full(), "a part of a page");
    let mut frames = fresh();
    add(&mut frames, &inner, &PAGE);
    while !frames.is_full() {
        add(&mut frames, &inner, &PAGE);
    }
    assert!((KEPT_BYTES_MAX..KEPT_BYTES_MAX + FRAME).contains(&frames.kept.len()));
}

#[test]
fn a_commit_that_fails_on_the_way_leaves_nothing_to_be_written_later() {
    let mut frames = Frames {
        kept: vec![1; FRAME],
        ..Frames::default()
    };
    commit(|| COMMIT.set(Some(&raw mut frames)));
    assert!(frames.kept.is_empty() && COMMIT.get().is_none());
    assert_eq!(frames.end, 0);
    // One that has come to its end leaves the place where the next one begins.
    frames.end = 77;
    commit(|| COMMIT.set(Some(&raw mut frames)));
    assert_eq!(frames.end, 77);
}

/// How many rows there are after a crash: in a copy of the two files, without what connections share in memory.
fn recovered(path: &Path) -> i64 {
    let log = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push("-wal");
        name
    };
    let copy = path.with_extension("copy");
    std::fs::copy(path, &copy).unwrap();
    std::fs::copy(log(path), log(&copy)).unwrap();
    let plain = rusqlite::Connection::open(&copy).unwrap();
    plain
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn the_log_is_what_sqlite_would_have_written() {
    let (_folder, mut config, db) = scratch();
    drop(db);
    assert!(vfs().is_some());
    // A cache of a few pages: they go to the log in the middle of a transaction, are read back, changed, written anew
    // with their checksums, and some are taken back.
    config.cache_kib = 20;
    let db = Connection::open(&config, Role::Writer).unwrap();
    db.control("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)")
        .unwrap();
    db.control("CREATE INDEX i ON t(a)").unwrap();
    for round in 0..20 {
        db.control("BEGIN IMMEDIATE").unwrap();
        for part in 0..4 {
            db.control("SAVEPOINT part").unwrap();
            db.done(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)
                 INSERT INTO t(a, b) SELECT abs(random() % 1000), hex(zeroblob(100 + i)) FROM n",
            );
            db.done("UPDATE t SET b = b || 'x' WHERE id % 7 = 0");
            if part == round % 4 {
                db.control("ROLLBACK TO part").unwrap();
            }
            db.control("RELEASE part").unwrap();
        }
        match round % 5 {
            4 => db.control("ROLLBACK").unwrap(),
            3 => db.control("COMMIT").unwrap(),
            _ => db.commit().unwrap(),
        }
        // Another connection, over the platform's file.
        let plain = rusqlite::Connection::open(&config.path).unwrap();
        let seen = |sql: &str| plain.query_row(sql, [], |row| row.get::<_, i64>(0));
        let rows = 300 * (round + 1 - (round + 1) / 5);
        assert_eq!(seen("SELECT count(*) FROM t").unwrap(), rows);
        let check: String = plain
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(check, "ok");
        assert_eq!(recovered(&config.path), rows, "what the log alone tells");
        if round % 6 == 5 {
            // The log starts over.
            plain
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
                .unwrap();
        }
    }
}
