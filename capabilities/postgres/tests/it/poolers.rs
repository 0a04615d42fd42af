//! Statements behind pgbouncer in transaction mode, where each transaction may get another connection of the server.

use crate::rig::{Database, Db, read, run};
use sampan_client::postgres::Pooler;
use sampan_host::Value;

#[test]
fn all_works_without_named_statements() {
    let Some(database) = Database::new() else {
        return;
    };
    let Some(pooler) = Pooler::before(&database.server) else {
        return;
    };
    run(async {
        let mut config = read(&pooler.url(&database.server, &database.name));
        config.prepare = false;
        let db = Db::new(config.clone());
        db.exec(
            "CREATE TABLE t (id int GENERATED ALWAYS AS IDENTITY, name text)",
            (),
        )
        .await
        .unwrap();
        for id in 1..=20 {
            let done = db
                .exec("INSERT INTO t (name) VALUES (?)", [Value::from("x")])
                .await
                .unwrap();
            assert_eq!(done.last_id, id);
        }
        let ask = async |id: i64| {
            db.cell("SELECT id FROM t WHERE id = :id", [Value::Int(id)])
                .await
        };
        let (a, b, c) = tokio::join!(ask(1), ask(2), ask(3));
        assert_eq!([a, b, c], ["int 1", "int 2", "int 3"]);
        let tx = db.0.begin().await.unwrap();
        tx.exec(
            "DELETE FROM t WHERE id > ?",
            &Value::List(vec![Value::Int(10)]),
        )
        .await
        .unwrap();
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 20");
        tx.commit().await.unwrap();
        let add = (
            "INSERT INTO t (name) VALUES (?)".to_owned(),
            Value::List(vec![Value::from("y")]),
        );
        db.0.batch(&vec![add; 5]).await.unwrap();
        assert_eq!(db.cell("SELECT count(*) FROM t", ()).await, "int 15");
        // It passes a request to stop on.
        config.statement_millis_max = 200;
        let error = Db::new(config)
            .query("SELECT pg_sleep(100)", ())
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some("timeout"), "{error}");
    });
}
