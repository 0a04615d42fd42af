//! Servers that are no PostgreSQL, or one that has gone mad: an error, never a panic and never a wait without end.

use crate::rig::{Db, read, run};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// Panics of the client, whose tasks would swallow them.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Serves one connection after the other by `serve`, and returns the port.
fn server(mut serve: impl FnMut(&mut TcpStream) -> std::io::Result<()> + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let port = listener.local_addr().expect("its address").port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = serve(&mut client);
            let _ = client.shutdown(Shutdown::Both);
        }
    });
    port
}

fn client(port: u16) -> Db {
    let mut config = read(&format!(
        "postgres://me@127.0.0.1:{port}/app?sslmode=disable"
    ));
    (config.acquire_millis_max, config.statement_millis_max) = (60, 20);
    Db::new(config)
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    message.extend((body.len() as u32 + 4).to_be_bytes());
    message.extend(body);
    message
}

/// Reads the beginning of a login, and greets as a server of this version.
fn greet(client: &mut TcpStream, version: &str) -> std::io::Result<()> {
    greet_with(client, &[("server_version", version)])
}

fn greet_with(client: &mut TcpStream, parameters: &[(&str, &str)]) -> std::io::Result<()> {
    let mut len = [0; 4];
    client.read_exact(&mut len)?;
    let mut rest = vec![0; u32::from_be_bytes(len) as usize - 4];
    client.read_exact(&mut rest)?;
    let mut greeting = message(b'R', &[0; 4]);
    for (name, value) in parameters {
        greeting.extend(message(b'S', format!("{name}\0{value}\0").as_bytes()));
    }
    greeting.extend(message(b'K', &[0; 8]));
    greeting.extend(message(b'Z', b"I"));
    client.write_all(&greeting)
}

#[test]
fn a_server_that_is_too_old_is_refused() {
    let port = server(|client| greet(client, "13.9 (Debian 13.9-0+deb11u1)"));
    run(async {
        let error = client(port).query("SELECT 1", ()).await.unwrap_err();
        assert!(
            error
                .message()
                .contains("is version 13.9 (Debian 13.9-0+deb11u1): 14 or later is needed"),
            "{error}"
        );
    });
}

#[test]
fn a_login_that_would_take_long_is_refused() {
    let port = server(|client| {
        client.write_all(&message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0"))?;
        client.write_all(&message(b'R', b"\0\0\0\x0br=x,s=eA==,i=4000000000"))?;
        client.shutdown(Shutdown::Write)?;
        client.read_to_end(&mut Vec::new()).map(drop)
    });
    run(async {
        let mut config = read(&format!(
            "postgres://me:secret@127.0.0.1:{port}/app?sslmode=disable"
        ));
        config.acquire_millis_max = 60_000;
        let error = Db::new(config).query("SELECT 1", ()).await.unwrap_err();
        assert!(
            error.message().contains("4000000000 rounds of SCRAM"),
            "{error}"
        );
    });
}

#[test]
fn the_server_that_can_be_written_is_taken() {
    // The first does not listen, the second is a standby.
    let absent = sampan_client::ports::free();
    let standby = server(|client| {
        greet_with(
            client,
            &[("server_version", "16.1"), ("in_hot_standby", "on")],
        )?;
        client.read_to_end(&mut Vec::new()).map(drop)
    });
    let Some(database) = crate::rig::Database::new() else {
        return;
    };
    run(async {
        let url = database.server.url(&database.name);
        let own = format!("127.0.0.1:{}", database.server.port);
        let hosts = format!("127.0.0.1:{absent},127.0.0.1:{standby},{own}");
        let url = url.replace(&own, &hosts);
        let query = "sslmode=disable&target_session_attrs=read-write";
        let db = Db::new(read(&format!("{url}?{query}")));
        assert_eq!(db.cell("SELECT 1", ()).await, "int 1");
        let mut config = read(&format!("postgres://me@127.0.0.1:{standby}/app?{query}"));
        config.acquire_millis_max = 100;
        let error = Db::new(config).query("SELECT 1", ()).await.unwrap_err();
        assert_eq!(error.code(), Some("read_only"), "{error}");
        // One that only reads is used as well as it can be.
        let name = &database.name;
        database.psql(&format!(
            "ALTER DATABASE {name} SET default_transaction_read_only = on"
        ));
        let db = Db::new(database.config());
        let error = db.exec("CREATE TABLE t (n int)", ()).await.unwrap_err();
        assert_eq!(error.code(), Some("read_only"), "{error}");
    });
}

#[test]
fn what_is_no_postgresql_is_told() {
    for (answer, why) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "not PostgreSQL's protocol",
        ),
        (b"", "it closed the connection"),
        (b"R\0\0\0\x04", "a message is too short"),
        (b"R\0\0\0\x08\0\0\0\x07", "a login of kind 7"),
        (b"Q\0\0\0\x04", "an unexpected message 'Q'"),
        (
            b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0R\0\0\0\x09\0\0\0\x0bx",
            "none is set",
        ),
    ] {
        let port = server(move |client| {
            client.write_all(answer)?;
            client.shutdown(Shutdown::Write)?;
            client.read_to_end(&mut Vec::new()).map(drop)
        });
        run(async {
            let error = client(port).query("SELECT 1", ()).await.unwrap_err();
            assert!(error.message().contains(why), "{error}");
        });
    }
}

#[test]
fn random_answers_are_errors() {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let port = server(move |client| {
        greet(client, "16.1")?;
        let mut bytes = [0; 4096];
        for _ in 0..3 {
            if client.read(&mut bytes)? == 0 {
                break;
            }
            let mut answer = Vec::new();
            for _ in 0..next(6) {
                let tag = b"123tTnDCsIEZNASGRX"[next(18) as usize];
                let body: Vec<u8> = (0..next(40))
                    .map(|_| [0, 0, 0, 1, 2, 255, b'I', b'a'][next(8) as usize])
                    .collect();
                answer.extend(message(tag, &body));
            }
            client.write_all(&answer)?;
        }
        Ok(())
    });
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic
            .location()
            .map(|place| place.file())
            .unwrap_or_default();
        if place.contains("postgres/src/") {
            PANICS.fetch_add(1, SeqCst);
        }
        before(panic);
    }));
    run(async {
        for round in 0..90 {
            // Each has a connection of its own, and another where the first has failed in a way that allows it.
            let db = client(port);
            match round % 3 {
                0 => drop(db.query("SELECT ?", [sampan_host::Value::Int(1)]).await),
                1 => drop(db.exec("INSERT INTO t VALUES (1)", ()).await),
                _ => {
                    if let Ok(tx) = db.0.begin().await {
                        drop(
                            tx.exec("INSERT INTO t VALUES (1)", &sampan_host::Value::Null)
                                .await,
                        );
                        drop(tx.commit().await);
                    }
                }
            }
        }
    });
    assert_eq!(PANICS.load(SeqCst), 0);
}
