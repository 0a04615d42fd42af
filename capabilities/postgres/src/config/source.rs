//! The parameters of a connection by their names, from a URL, a service and variables.

use super::{Binding, PostgresConfig, Target, TlsConfig, TlsMode, files, url};
use crate::connection::wire::Address;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Parameters and the variables that set them where a URL does not.
const PARAMETERS: &[(&str, &str)] = &[
    ("host", "PGHOST"),
    ("port", "PGPORT"),
    ("dbname", "PGDATABASE"),
    ("user", "PGUSER"),
    ("password", "PGPASSWORD"),
    ("passfile", "PGPASSFILE"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("sslnegotiation", "PGSSLNEGOTIATION"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("application_name", "PGAPPNAME"),
    ("options", "PGOPTIONS"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("service", "PGSERVICE"),
];

/// The folder of sockets of Debian's packages, and that of PostgreSQL itself.
const SOCKET_FOLDERS: &[&str] = &["/var/run/postgresql", "/tmp"];
const PORT: u16 = 5432;

/// The parameters that are set.
pub(super) struct Source<'a> {
    set: BTreeMap<String, String>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        url: &str,
        variable: &'a dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut set = url::parameters(url)?;
        let service = set
            .get("service")
            .cloned()
            .or_else(|| variable("PGSERVICE"));
        if let Some(service) = service.filter(|service| !service.is_empty()) {
            let file = variable("PGSERVICEFILE").map(PathBuf::from);
            let file = file.or_else(|| Some(home(variable)?.join(".pg_service.conf")));
            let file = file.ok_or_else(|| {
                format!("service {service}: PGSERVICEFILE is not set, and there is no HOME")
            })?;
            for (name, value) in files::service(&file, &service)? {
                set.entry(name).or_insert(value);
            }
        }
        if let Some(name) = set
            .keys()
            .find(|name| !PARAMETERS.iter().any(|(known, _)| known == name))
        {
            let known: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "{name} is not known; a URL may have: {}",
                known.join(", ")
            ));
        }
        for (name, from) in PARAMETERS {
            if let Some(value) = variable(from).filter(|value| !value.is_empty()) {
                set.entry((*name).to_owned()).or_insert(value);
            }
        }
        Ok(Self { set, variable })
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.set.get(name).map(|value| &**value)
    }

    pub(super) fn config(&self) -> Result<PostgresConfig, String> {
        let user = self.get("user").map(str::to_owned);
        let user = user
            .or_else(|| (self.variable)("USER"))
            .ok_or("no user: write postgres://USER@host/database, or set PGUSER")?;
        let database = self.get("dbname").unwrap_or(&user).to_owned();
        let addresses = self.addresses()?;
        let password = match self.get("password") {
            Some(password) => Some(password.to_owned()),
            None => self.kept_password(&addresses, &user, &database),
        };
        let connect_millis_max = match self.get("connect_timeout") {
            None | Some("0") => 5_000,
            Some(seconds) => {
                let seconds: u64 = seconds
                    .parse()
                    .map_err(|_| format!("connect_timeout: {seconds} is no number of seconds"))?;
                seconds.clamp(2, 3_600) * 1_000
            }
        };
        let mut session = vec![(
            "application_name".to_owned(),
            self.get("application_name").unwrap_or("sampan").to_owned(),
        )];
        if let Some(options) = self.get("options") {
            session.push(("options".to_owned(), options.to_owned()));
        }
        Ok(PostgresConfig {
            target: match self.get("target_session_attrs") {
                None | Some("any") => Target::Any,
                Some("read-write" | "primary") => Target::ReadWrite,
                Some(other) => {
                    return Err(format!(
                        "target_session_attrs: {other} is not one of any, read-write, primary"
                    ));
                }
            },
            tls: self.tls(&addresses)?,
            addresses,
            user,
            password,
            database,
            session,
            prepare: true,
            connections_max: 10,
            waiting_max: 10_000,
            acquire_millis_max: 5_000,
            connect_millis_max,
            statement_millis_max: 5_000,
            statements_max: 256,
        })
    }

    fn addresses(&self) -> Result<Vec<Address>, String> {
        let ports = self.get("port").unwrap_or_default();
        let ports: Vec<u16> = ports
            .split(',')
            .map(|port| match port.trim() {
                "" => Ok(PORT),
                port => port.parse().map_err(|_| format!("port: {port} is no port")),
            })
            .collect::<Result<_, _>>()?;
        let hosts: Vec<&str> = self.get("host").unwrap_or_default().split(',').collect();
        if ports.len() > 1 && ports.len() != hosts.len() {
            return Err(format!("{} ports for {} hosts", ports.len(), hosts.len()));
        }
        let address = |(at, host): (usize, &&str)| {
            let port = if ports.len() == 1 {
                ports[0]
            } else {
                ports[at]
            };
            let socket = |folder: &str| Path::new(folder).join(format!(".s.PGSQL.{port}"));
            match host.trim() {
                "" => {
                    let sockets = SOCKET_FOLDERS.iter().map(|folder| socket(folder));
                    let found = sockets.into_iter().find(|socket| socket.exists());
                    found.map_or(Address::Tcp("localhost".to_owned(), port), Address::Unix)
                }
                folder if folder.starts_with('/') => Address::Unix(socket(folder)),
                host => Address::Tcp(host.to_owned(), port),
            }
        };
        Ok(hosts.iter().enumerate().map(address).collect())
    }

    fn tls(&self, addresses: &[Address]) -> Result<TlsConfig, String> {
        let mode = match self.get("sslmode") {
            Some("disable") => TlsMode::Disable,
            None | Some("prefer" | "allow") => TlsMode::Prefer,
            Some("require") => TlsMode::Require,
            Some("verify-ca") => TlsMode::VerifyCa,
            Some("verify-full") => TlsMode::VerifyFull,
            Some(other) => {
                return Err(format!(
                    "sslmode: {other} is not one of disable, prefer, require, verify-ca, verify-full"
                ));
            }
        };
        let file = |name: &str| self.get(name).map(PathBuf::from);
        let own = match (file("sslcert"), file("sslkey")) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return Err("sslcert and sslkey belong together".to_owned()),
        };
        let is_direct = match self.get("sslnegotiation") {
            None | Some("postgres") => false,
            Some("direct") if mode >= TlsMode::Require => true,
            Some("direct") => {
                return Err("sslnegotiation=direct needs sslmode=require or more".to_owned());
            }
            Some(other) => {
                return Err(format!(
                    "sslnegotiation: {other} is not one of postgres, direct"
                ));
            }
        };
        let is_local = addresses
            .iter()
            .all(|address| matches!(address, Address::Unix(_)));
        Ok(TlsConfig {
            // Sockets of the file system have no TLS.
            mode: if is_local { TlsMode::Disable } else { mode },
            authorities: file("sslrootcert").filter(|file| file != Path::new("system")),
            own,
            binding: match self.get("channel_binding") {
                Some("disable") => Binding::Disable,
                None | Some("prefer") => Binding::Prefer,
                Some("require") => Binding::Require,
                Some(other) => {
                    return Err(format!(
                        "channel_binding: {other} is not one of disable, prefer, require"
                    ));
                }
            },
            is_direct,
        })
    }

    /// The password that a file keeps for the first of the servers.
    fn kept_password(&self, addresses: &[Address], user: &str, database: &str) -> Option<String> {
        let file = self.get("passfile").map(PathBuf::from);
        let file = file.or_else(|| Some(home(self.variable)?.join(".pgpass")))?;
        let (host, port) = match addresses.first()? {
            Address::Tcp(host, port) => (host.clone(), *port),
            Address::Unix(path) => {
                let port = path.extension()?.to_str()?.parse().ok()?;
                ("localhost".to_owned(), port)
            }
        };
        files::password(&file, [&host, &port.to_string(), database, user])
    }
}

fn home(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    variable("HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from)
}
