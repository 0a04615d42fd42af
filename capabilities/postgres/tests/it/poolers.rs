//! Statements behind pgbouncer in transaction mode, where each transaction may get another connection of the server.

use crate::rig::{Database, Db, read, run};
use sampan_client::{ports, wait};
use sampan_host::Value;
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

/// pgbouncer. It ends with the thread of its test.
struct Bouncer {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Bouncer {
    fn before(database: &Database) -> Option<Self> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"];
        let Some(program) = program
            .iter()
            .find(|program| fs::exists(program).unwrap_or(false))
        else {
            println!("SKIPPED: pgbouncer is not installed, so nothing runs behind it");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("its mode");
        let port = ports::free();
        let users = folder.path().join("users");
        fs::write(&users, "\"sampan\" \"over the water\"\n").expect("the users");
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             auth_type = scram-sha-256\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 2\n\
             unix_socket_dir =\n",
            database.server.port,
            users.display()
        );
        let file = folder.path().join("settings");
        fs::write(&file, settings).expect("the settings");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if is_root() {
            command.args([
                "--reuid",
                "postgres",
                "--regid",
                "postgres",
                "--init-groups",
            ]);
        }
        command
            .arg(program)
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().expect("pgbouncer");
        wait::until("pgbouncer listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Some(Self {
            child,
            port,
            _folder: folder,
        })
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn all_works_without_named_statements() {
    let Some(database) = Database::new() else {
        return;
    };
    let Some(bouncer) = Bouncer::before(&database) else {
        return;
    };
    run(async {
        let direct = format!(":{}/", database.server.port);
        let url = database
            .server
            .url(&database.name)
            .replace(&direct, &format!(":{}/", bouncer.port));
        let mut config = read(&url);
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
