//! TLS, and the ways of giving a password.

use crate::rig::{Db, read, run, shown};
use sampan_client::certificates::Identity;
use sampan_client::postgres::PostgresServer;
use sampan_client::wait;
use sampan_host::ErrorKind;
use sampan_postgres::Postgres;
use std::fs;
use std::process::Command;
use std::time::Instant;

/// Looks again until it is so.
async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + wait::EVENT_TIME_MAX;
    while !is_so().await {
        assert!(Instant::now() < deadline, "it is not so");
    }
}

/// Gives the server a certificate, and waits until it uses it.
fn give(server: &PostgresServer, identity: &Identity) {
    for (file, from) in [
        ("server.crt", identity.certificate_file()),
        ("server.key", identity.key_file()),
    ] {
        let to = server.folder().join("data").join(file);
        fs::copy(from, &to).expect("the server's folder");
        for (program, argument) in [("chmod", "600"), ("chown", "--reference")] {
            let mut command = Command::new(program);
            match program {
                "chmod" => command.arg(argument),
                _ => command.arg(format!(
                    "{argument}={}",
                    server.folder().join("data").display()
                )),
            };
            assert!(command.arg(&to).status().expect(program).success());
        }
    }
    server.psql("postgres", "ALTER SYSTEM SET ssl = on");
    server.psql("postgres", "SELECT pg_reload_conf()");
    // A process that is asked too early has the certificate from before.
    wait::until("the server has TLS", || {
        server.psql("postgres", "SHOW ssl") == "on"
    });
}

#[test]
fn tls_is_used_and_checked_as_sslmode_says() {
    let Some(server) = PostgresServer::start() else {
        return;
    };
    let is_secured = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    run(async {
        let url = |query: &str| format!("{}?{query}", server.url("postgres"));
        let without = Db::new(read(&url("sslmode=require")))
            .query("SELECT 1", ())
            .await
            .unwrap_err();
        assert!(
            without
                .message()
                .contains("the server has no TLS, and sslmode asks for it"),
            "{without}"
        );
        let fits = Identity::new(&["127.0.0.1"]);
        give(&server, &fits);
        let root = format!("sslrootcert={}", fits.certificate_file().display());
        for (mode, expected) in [
            ("sslmode=disable", "int 0"),
            ("sslmode=prefer", "int 1"),
            ("sslmode=require", "int 1"),
            ("sslmode=require&channel_binding=require", "int 1"),
            ("sslmode=require&channel_binding=disable", "int 1"),
            (&*format!("sslmode=require&{root}"), "int 1"),
            (&*format!("sslmode=verify-ca&{root}"), "int 1"),
            (&*format!("sslmode=verify-full&{root}"), "int 1"),
        ] {
            until(async || {
                let found = Db::new(read(&url(mode))).query(is_secured, ()).await;
                found.is_ok_and(|rows| shown(rows.cell(0, 0)) == expected)
            })
            .await;
        }
        let unbound = "sslmode=disable&channel_binding=require";
        let error = Db::new(read(&url(unbound)))
            .query("SELECT 1", ())
            .await
            .unwrap_err();
        assert!(
            error
                .message()
                .contains("channel_binding=require needs TLS"),
            "{error}"
        );
        // A statement is stopped over TLS too.
        let mut config = read(&url("sslmode=require"));
        (config.statement_millis_max, config.prepare) = (100, false);
        let error = Db::new(config)
            .query("SELECT pg_sleep(100)", ())
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some("timeout"), "{error}");
        let other = Identity::new(&["other.test"]);
        let stranger = Identity::new(&["127.0.0.1"]);
        let stranger = format!(
            "sslmode=verify-ca&sslrootcert={}",
            stranger.certificate_file().display()
        );
        let error = Db::new(read(&url(&stranger)))
            .query("SELECT 1", ())
            .await
            .unwrap_err();
        assert!(
            error
                .message()
                .contains("not from an authority that is believed"),
            "{error}"
        );
        let old = Identity::changed(&["127.0.0.1"], |params| {
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        });
        for (identity, mode, why) in [
            (
                &other,
                "verify-full",
                Some("the server's certificate is for another name"),
            ),
            (&other, "verify-ca", None),
            (
                &old,
                "verify-full",
                Some("the server's certificate has expired"),
            ),
        ] {
            give(&server, identity);
            let root = identity.certificate_file();
            let url = url(&format!("sslmode={mode}&sslrootcert={}", root.display()));
            // The server may have read its files, or is about to.
            until(
                async || match (Db::new(read(&url)).query("SELECT 1", ()).await, why) {
                    (Ok(_), None) => true,
                    (Err(error), Some(why)) => error.message().contains(why),
                    _ => false,
                },
            )
            .await;
        }
    });
    let missing = read("postgres://me@h/d?sslmode=verify-ca&sslrootcert=/nowhere.pem");
    let error = Postgres::new(missing).err().expect("no such file");
    assert_eq!(error.kind(), ErrorKind::Load);
    assert!(
        error.message().starts_with("sslrootcert: /nowhere.pem: "),
        "{error}"
    );
}

#[test]
fn passwords_are_given_in_each_way() {
    let Some(server) = PostgresServer::start() else {
        return;
    };
    server.psql(
        "postgres",
        "SET password_encryption = 'md5'; CREATE ROLE hashed LOGIN PASSWORD 'a b'; CREATE ROLE plain LOGIN PASSWORD 'ä'",
    );
    let rules = "local all all scram-sha-256\nhost all hashed 127.0.0.1/32 md5\nhost all plain 127.0.0.1/32 password\n\
                 host all sampan 127.0.0.1/32 scram-sha-256\nhost all open 127.0.0.1/32 trust\n";
    fs::write(server.folder().join("data/pg_hba.conf"), rules).expect("the server's folder");
    server.psql(
        "postgres",
        "CREATE ROLE open LOGIN; SELECT pg_reload_conf()",
    );
    run(async {
        for (user, password) in [("hashed", "a%20b"), ("plain", "%C3%A4"), ("open", "")] {
            let url = format!(
                "postgres://{user}:{password}@127.0.0.1:{}/postgres",
                server.port
            );
            until(async || Db::new(read(&url)).query("SELECT 1", ()).await.is_ok()).await;
        }
    });
}

/// Workers share the settings.
#[test]
fn settings_go_to_other_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Postgres>();
}
