//! Statements outside of transactions.

use crate::rig::{Database, Db, read, run, with_database};
use sampan_host::Value;

#[test]
fn statements_run_by_tcp_and_by_a_socket() {
    let Some(database) = Database::new() else {
        return;
    };
    for url in [
        database.server.url(&database.name),
        database.server.socket_url(&database.name),
    ] {
        run(async {
            let db = Db::new(read(&url));
            db.exec(
                "CREATE TABLE IF NOT EXISTS t (id int8 PRIMARY KEY, name text)",
                (),
            )
            .await
            .unwrap();
            let insert = "INSERT INTO t VALUES (?, :name) ON CONFLICT DO NOTHING";
            db.exec(insert, [Value::Int(1), Value::from("one")])
                .await
                .unwrap();
            assert_eq!(
                db.cell("SELECT name FROM t WHERE id = ?", [Value::Int(1)])
                    .await,
                "text one"
            );
            assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 1");
            let done = db
                .exec("UPDATE t SET name = name WHERE id = $1", [Value::from("1")])
                .await;
            assert_eq!(done.unwrap().changes, 1);
        });
    }
}

#[test]
fn a_transaction_is_kept_or_undone_as_a_whole() {
    with_database(async |database| {
        let db = Db::new(database.config());
        db.exec("CREATE TABLE t (id int PRIMARY KEY)", ())
            .await
            .unwrap();
        let tx = db.0.begin().await.unwrap();
        tx.exec("INSERT INTO t VALUES (1)", &Value::Null)
            .await
            .unwrap();
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 0");
        tx.commit().await.unwrap();
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 1");
        let tx = db.0.begin().await.unwrap();
        tx.exec("INSERT INTO t VALUES (2)", &Value::Null)
            .await
            .unwrap();
        tx.rollback().await;
        let tx = db.0.begin().await.unwrap();
        tx.exec("INSERT INTO t VALUES (3)", &Value::Null)
            .await
            .unwrap();
        drop(tx);
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 1");
        let tx = db.0.begin().await.unwrap();
        let error = tx
            .exec("INSERT INTO t VALUES (1)", &Value::Null)
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some("unique"), "{error}");
        let error = tx
            .exec("INSERT INTO t VALUES (4)", &Value::Null)
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some("aborted"), "{error}");
    });
}

#[test]
fn a_transaction_goes_on_behind_parameters_that_do_not_fit() {
    with_database(async |database| {
        let db = Db::new(database.config());
        db.exec("CREATE TABLE t (id int PRIMARY KEY)", ())
            .await
            .unwrap();
        // The types are known from here on, so nothing is asked before a parameter is refused.
        let insert = "INSERT INTO t VALUES (?)";
        db.exec(insert, [Value::Int(1)]).await.unwrap();
        let tx = db.0.begin().await.unwrap();
        for id in [2, 3] {
            let list = |value| Value::List(vec![value]);
            let refused = tx.exec(insert, &list(Value::from("x"))).await;
            assert_eq!(refused.unwrap_err().code(), Some("parameter"));
            tx.exec(insert, &list(Value::Int(id))).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 3");
    });
}

#[test]
fn a_batch_is_kept_as_a_whole_and_tells_which_statement_failed() {
    with_database(async |database| {
        let db = Db::new(database.config());
        let batch = |statements: &[&str]| {
            let with = |sql: &&str| ((*sql).to_owned(), Value::Null);
            statements.iter().map(with).collect::<Vec<_>>()
        };
        // The second needs what the first makes.
        let made = [
            "CREATE TABLE t (id int PRIMARY KEY)",
            "INSERT INTO t VALUES (1)",
        ];
        db.0.batch(&batch(&made)).await.unwrap();
        let two = ["INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)"];
        db.0.batch(&batch(&two)).await.unwrap();
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 3");
        let fails = [
            "INSERT INTO t VALUES (4)",
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t VALUES (5)",
        ];
        let error = db.0.batch(&batch(&fails)).await.unwrap_err();
        assert_eq!(error.code(), Some("unique"));
        let begins = "statement 2 of 3 in the batch: duplicate key";
        assert!(error.message().starts_with(begins), "{error}");
        let error = db.0.batch(&batch(&["DELETE FROM t", "BEGIN"])).await;
        assert_eq!(error.unwrap_err().code(), Some("denied"));
        assert_eq!(database.psql("SELECT count(*) FROM t"), "3");
        // Within a transaction, which goes on.
        let tx = db.0.begin().await.unwrap();
        tx.batch(&batch(&["INSERT INTO t VALUES (6)"]))
            .await
            .unwrap();
        let error = tx.batch(&batch(&fails)).await.unwrap_err();
        assert!(error.message().starts_with(begins), "{error}");
        let made = [
            "CREATE TABLE u (id int PRIMARY KEY)",
            "INSERT INTO u VALUES (1)",
        ];
        tx.batch(&batch(&made)).await.unwrap();
        let local = ["SET LOCAL work_mem = '1MB'", "DELETE FROM t WHERE id = 7"];
        tx.batch(&batch(&local)).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(database.psql("SELECT count(*) FROM t, u"), "4");
    });
}

#[test]
fn an_insert_tells_the_id_of_its_last_row() {
    with_database(async |database| {
        let db = Db::new(database.config());
        for (table, id) in [
            ("a", "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"),
            ("\"B c\"", "serial"),
            ("c", "integer PRIMARY KEY DEFAULT 1"),
        ] {
            let sql = format!("CREATE TABLE {table} (name text, id {id})");
            db.exec(&sql, ()).await.unwrap();
            let sql = format!("INSERT INTO {table} (name) VALUES (?)");
            let done = db.exec(&sql, [Value::from("x")]).await.unwrap();
            assert_eq!((done.changes, done.last_id), (1, 1), "{table}");
        }
        let many = "INSERT INTO a (name) SELECT 'n' FROM generate_series(1, 10)";
        let done = db.exec(many, ()).await.unwrap();
        assert_eq!((done.changes, done.last_id), (10, 11));
        let tx = db.0.begin().await.unwrap();
        let done = tx
            .exec("INSERT INTO a (name) VALUES ('t')", &Value::Null)
            .await;
        assert_eq!(done.unwrap().last_id, 12);
        drop(tx);
        let none = "INSERT INTO c VALUES ('x', 1) ON CONFLICT DO NOTHING";
        let done = db.exec(none, ()).await.unwrap();
        assert_eq!((done.changes, done.last_id), (0, 0));
        // The column has another name now.
        database.psql("ALTER TABLE a RENAME COLUMN id TO number");
        let done = db.exec("INSERT INTO a (name) VALUES ('r')", ()).await;
        assert_eq!(done.unwrap().last_id, 13);
    });
}

#[test]
fn a_user_who_may_only_insert_inserts() {
    with_database(async |database| {
        let user = format!("{}_adds", database.name);
        database.psql(&format!(
            "CREATE ROLE \"{user}\" LOGIN PASSWORD 'p'; CREATE TABLE audit (id serial PRIMARY KEY, what text); \
             CREATE TABLE secured (id serial PRIMARY KEY, what text); \
             ALTER TABLE secured ENABLE ROW LEVEL SECURITY; \
             CREATE POLICY adds ON secured FOR INSERT WITH CHECK (true); \
             GRANT INSERT ON audit TO \"{user}\"; GRANT INSERT, SELECT ON secured TO \"{user}\"; \
             GRANT USAGE ON audit_id_seq, secured_id_seq TO \"{user}\""
        ));
        let mut config = database.config();
        (config.user, config.password) = (user, Some("p".into()));
        let db = Db::new(config);
        for table in ["audit", "secured"] {
            let sql = format!("INSERT INTO {table} (what) VALUES (?)");
            let done = db.exec(&sql, [Value::from("x")]).await.unwrap();
            assert_eq!((done.changes, done.last_id), (1, 0), "{table}");
            // With the right to read it there is an id again.
            database.psql(&format!(
                "GRANT SELECT ON audit TO PUBLIC; DROP POLICY IF EXISTS sees ON {table}; \
                 CREATE POLICY sees ON {table} FOR SELECT USING (true)"
            ));
            let done = Db::new(database.config())
                .exec(&sql, [Value::from("y")])
                .await;
            assert_eq!(done.unwrap().last_id, 2, "{table}");
        }
    });
}
