//! Sessions over the tables of the real database.

use sampan_db::{Database, DatabaseConfig, Db};
use sampan_host::database::AppTables;
use sampan_host::{Outbox, Value, Watch};
use sampan_session::{Change, DbSessions, SessionKey, SessionStore, StoredSession};
use std::rc::Rc;
use std::sync::Arc;

#[test]
fn among_a_million_sessions_one_is_found_and_those_that_ended_go_in_small_batches() {
    let scratch = tempfile::tempdir().expect("a folder");
    let config = DatabaseConfig {
        write_millis_max: 60_000,
        ..DatabaseConfig::new(scratch.path().join("data.db"))
    };
    let database = Arc::new(Database::new(config, Arc::new(|_, _: &str| {})));
    let db = Db::new(database, Outbox::default(), Arc::<Watch>::default());
    let sessions = DbSessions(Rc::new(db.clone()) as Rc<dyn AppTables>);
    let (key, other) = (SessionKey([0xff; 32]), SessionKey([0xfe; 32]));
    assert_eq!(sessions.load(&key).expect("no table"), None);
    let session = |text: &str| StoredSession {
        data: text.to_owned(),
        began: 1,
        ends: 5_000_000,
    };
    let put = |at: SessionKey, text: &str| {
        let mut merge = |_| Ok(Change::Put(at, session(text)));
        sessions.change(&at, &mut merge).expect("written");
    };
    put(key, "{\"a\":1}");
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
        INSERT INTO _sampan_sessions SELECT CAST(printf('%032d', i) AS BLOB), '{}', 0, i FROM n";
    let added = db.own_write(many, &Value::Null).expect("written");
    assert_eq!(added, Some(1_000_000));
    db.finish_loading().expect("committed");

    assert_eq!(
        sessions.load(&key).expect("read"),
        Some(session("{\"a\":1}"))
    );
    put(other, "{}");
    let mut renew = |stored: Option<StoredSession>| {
        assert_eq!(stored, Some(session("{}")));
        Ok(Change::Put(SessionKey([1; 32]), session("{\"b\":2}")))
    };
    sessions.change(&other, &mut renew).expect("written");
    assert_eq!(sessions.load(&other).expect("read"), None);
    let moved = sessions.load(&SessionKey([1; 32])).expect("read");
    assert_eq!(moved, Some(session("{\"b\":2}")));
    sessions
        .change(&key, &mut |_| Ok(Change::Remove))
        .expect("removed");
    assert_eq!(sessions.load(&key).expect("read"), None);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    for expected in [200, 200, 100, 0] {
        let removed = runtime.block_on(sessions.remove_ended(501, 200));
        assert_eq!(removed.expect("removed"), expected);
    }
}
