//! Tests of URLs, variables, services and files of passwords.

use super::{PostgresConfig, Target, TlsMode};
use crate::connection::wire::Address;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn read(url: &str, variables: &[(&str, &str)]) -> Result<PostgresConfig, String> {
    PostgresConfig::read(url, &|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn tcp(host: &str, port: u16) -> Address {
    Address::Tcp(host.to_owned(), port)
}

#[test]
fn a_url_has_all_parts() {
    let url = "postgres://me:p%40ss%2F@db.test:6000/app?sslmode=verify-full&connect_timeout=3&application_name=x&options=-csearch_path%3Da";
    let config = read(url, &[]).unwrap();
    assert_eq!(config.addresses, [tcp("db.test", 6000)]);
    assert_eq!(
        (&*config.user, config.password.as_deref()),
        ("me", Some("p@ss/"))
    );
    assert_eq!(config.database, "app");
    assert_eq!(config.tls.mode, TlsMode::VerifyFull);
    assert_eq!(config.connect_millis_max, 3_000);
    let session = [("application_name", "x"), ("options", "-csearch_path=a")];
    assert_eq!(
        config.session,
        session.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert!(!format!("{config:?}").contains("p@ss"));
}

#[test]
fn several_hosts_and_sockets() {
    let config = read("postgresql://me@[::1]:1,b:2,c/app", &[]).unwrap();
    assert_eq!(
        config.addresses,
        [tcp("::1", 1), tcp("b", 2), tcp("c", 5432)]
    );
    let config = read("postgresql://me@a,b:2/app?port=7", &[]).unwrap();
    assert_eq!(config.addresses, [tcp("a", 7), tcp("b", 7)]);
    let config = read("postgresql://me@/app?host=%2Frun%2Fpg", &[]).unwrap();
    assert_eq!(
        config.addresses,
        [Address::Unix("/run/pg/.s.PGSQL.5432".into())]
    );
    assert_eq!(config.addresses[0].to_string(), "/run/pg/.s.PGSQL.5432");
    assert_eq!(tcp("::1", 1).to_string(), "[::1]:1");
}

#[test]
fn variables_fill_what_a_url_does_not_have() {
    let variables = [
        ("PGHOST", "/run/pg"),
        ("PGPORT", "7"),
        ("PGUSER", "me"),
        ("PGPASSWORD", "p"),
    ];
    let config = read("postgres://", &variables).unwrap();
    assert_eq!(
        config.addresses,
        [Address::Unix("/run/pg/.s.PGSQL.7".into())]
    );
    assert_eq!((&*config.user, &*config.database), ("me", "me"));
    assert_eq!(config.password.as_deref(), Some("p"));
    assert_eq!(config.tls.mode, TlsMode::Disable);
    let config = read("postgres://you@h/d", &variables).unwrap();
    assert_eq!(config.addresses, [tcp("h", 7)]);
    assert_eq!(&*config.user, "you");
}

#[test]
fn services_and_passwords_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let (services, passwords) = (
        folder.path().join("services"),
        folder.path().join("passwords"),
    );
    fs::write(
        &services,
        "# all\n[other]\nhost=o\n[app]\nhost = h\nport=9\nuser=me\n\n[last]\nhost=l\n",
    )
    .unwrap();
    fs::write(&passwords, "x:*:*:*:no\nh:9:*:me:a\\:b:c\n").unwrap();
    fs::set_permissions(&passwords, fs::Permissions::from_mode(0o600)).unwrap();
    let variables = [
        ("PGSERVICEFILE", services.to_str().unwrap()),
        ("PGPASSFILE", passwords.to_str().unwrap()),
    ];
    let config = read("postgres:///db?service=app", &variables).unwrap();
    assert_eq!(config.addresses, [tcp("h", 9)]);
    assert_eq!(config.password.as_deref(), Some("a:b:c"));
    assert_eq!(&*config.database, "db");
    let error = read("postgres://?service=none", &variables).unwrap_err();
    assert!(error.contains("has no service [none]"), "{error}");
    // Others may read it.
    fs::set_permissions(&passwords, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(
        read("postgres://?service=app", &variables)
            .unwrap()
            .password,
        None
    );
}

#[test]
fn faults_name_the_part() {
    let me = [("PGUSER", "me")];
    for (url, why) in [
        ("mysql://a", "begins with postgres://"),
        ("postgres://h/d?sslmod=require", "sslmod is not known"),
        ("postgres://h/d?sslmode=on", "sslmode: on is not one of"),
        ("postgres://h:x/d", "port: x is no port"),
        (
            "postgres://h/d?connect_timeout=soon",
            "connect_timeout: soon",
        ),
        ("postgres://h/%ff", "dbname: it is not UTF-8"),
        (
            "postgres://h/d?sslcert=a",
            "sslcert and sslkey belong together",
        ),
        (
            "postgres://h/d?sslnegotiation=direct",
            "needs sslmode=require",
        ),
        (
            "postgres://h/d?target_session_attrs=standby",
            "target_session_attrs: standby",
        ),
        ("postgres://h/d?x", "name=value"),
    ] {
        let error = read(url, &me).unwrap_err();
        assert!(error.contains(why), "{url}: {error}");
    }
    assert!(read("postgres://h/d", &[]).unwrap_err().contains("no user"));
    assert_eq!(
        read("postgres://h/d?target_session_attrs=primary", &me)
            .unwrap()
            .target,
        Target::ReadWrite
    );
}
