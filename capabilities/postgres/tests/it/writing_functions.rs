//! Reads that call a function which writes.

use crate::proxy::Proxy;
use crate::rig::{Database, Db, read, run};
use sampan_host::database::COMMIT_UNKNOWN;

const MAKE: &str = "CREATE TABLE t (n int); CREATE TABLE u (n int); INSERT INTO u VALUES (7);
    CREATE FUNCTION add_row() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1) RETURNING n'";

/// Each statement is prepared anew, so that the server runs it where the types of its columns have changed.
#[test]
fn a_function_whose_result_cannot_be_given_is_not_called_again() {
    let Some(database) = Database::new() else {
        return;
    };
    database.psql(MAKE);
    run(async {
        let mut config = database.config();
        config.prepare = false;
        let db = Db::new(config);
        for (sql, is_rerun, count) in [
            ("SELECT add_row() AS a, n FROM u", false, "2"),
            ("SELECT n FROM u", true, "2"),
        ] {
            db.query(sql, ()).await.unwrap();
            database.psql("ALTER TABLE u ALTER n TYPE text USING n::text");
            let again = db.query(sql, ()).await;
            match again {
                Ok(rows) => assert!(is_rerun && rows.len() == 1, "{sql}"),
                Err(error) => {
                    assert!(!is_rerun, "{error}");
                    assert!(error.message().contains("its changes are saved"), "{error}");
                }
            }
            assert_eq!(database.psql("SELECT count(*) FROM t"), count, "{sql}");
            database.psql("ALTER TABLE u ALTER n TYPE int USING n::int");
        }
    });
}

#[test]
fn a_lost_connection_may_have_committed_what_a_function_wrote() {
    let Some(database) = Database::new() else {
        return;
    };
    database.psql(MAKE);
    let proxy = Proxy::before(database.server.port);
    run(async {
        let direct = format!(":{}/", database.server.port);
        let url = database.server.url(&database.name);
        let db = Db::new(read(&url.replace(&direct, &format!(":{}/", proxy.port))));
        for (sql, code) in [
            ("SELECT add_row()", COMMIT_UNKNOWN),
            (
                "WITH a AS (SELECT add_row() AS n) SELECT n FROM a",
                COMMIT_UNKNOWN,
            ),
            ("SELECT count(*) FROM t", "io"),
        ] {
            db.query(sql, ()).await.unwrap();
            // All of the statement reaches the server, and nothing of its answer comes back.
            proxy.rules.from_server.set(0);
            let error = db.query(sql, ()).await.unwrap_err();
            assert_eq!(error.code(), Some(code), "{sql}: {error}");
        }
        assert_eq!(database.psql("SELECT count(*) FROM t"), "4");
    });
}
