//! The settings: where the server is, who logs in, and the limits.
//!
//! Parts that a URL does not have come from a service file, then from the variables `PG*`, as for `psql`.

mod files;
mod source;
#[cfg(test)]
mod tests;
mod url;

use crate::connection::wire::Address;
use source::Source;
use std::path::PathBuf;

/// The settings of a database on a server.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresConfig {
    /// The servers, in the order in which they are tried.
    pub addresses: Vec<Address>,
    /// The name that logs in.
    pub user: String,
    /// Its password.
    pub password: Option<String>,
    /// The database.
    pub database: String,
    /// The servers that are taken.
    pub target: Target,
    /// The use of TLS.
    pub tls: TlsConfig,
    /// Parameters of the session: names and values.
    pub session: Vec<(String, String)>,
    /// False sends no named statements, as for pgbouncer in transaction mode.
    pub prepare: bool,
    /// The most connections of the process.
    pub connections_max: usize,
    /// The most requests of the process that wait for a connection.
    pub waiting_max: usize,
    /// The longest that one waits.
    pub acquire_millis_max: u64,
    /// The longest that connecting a server may take, with its login.
    pub connect_millis_max: u64,
    /// The longest that a statement may run; 0 for no limit.
    pub statement_millis_max: u64,
    /// Prepared statements that each connection keeps.
    pub statements_max: usize,
}

/// The servers that are taken, where several are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// Each.
    #[default]
    Any,
    /// One that can be written: the primary.
    ReadWrite,
}

/// The use of TLS, as `sslmode` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsMode {
    /// No TLS.
    Disable,
    /// Used if the server has it; its certificate is not checked.
    Prefer,
    /// Always; its certificate is checked only where a file of authorities is named.
    Require,
    /// Always, and the certificate must be of an authority that is believed.
    VerifyCa,
    /// Always, and the certificate must be that of the host.
    VerifyFull,
}

/// The binding of a login by SCRAM to its connection of TLS (RFC 5929): a server between cannot pass the login on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// No binding.
    Disable,
    /// Used if the server offers it.
    Prefer,
    /// Always: other logins are refused.
    Require,
}

/// The settings of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The use of TLS.
    pub mode: TlsMode,
    /// The file of the authorities that are believed; without, those of the system.
    pub authorities: Option<PathBuf>,
    /// The files of a certificate of our own, and of its key.
    pub own: Option<(PathBuf, PathBuf)>,
    /// The binding of the login to the connection of TLS.
    pub binding: Binding,
    /// True begins with TLS at once, without asking the server (PostgreSQL 17 and later).
    pub is_direct: bool,
}

impl PostgresConfig {
    /// Reads a URL, `postgres://user:password@host:port/database?parameters`. What it does not have comes from the
    /// environment of the process.
    ///
    /// # Errors
    /// The part of the URL, the variable or the file that is wrong, and why.
    pub fn from_url(url: &str) -> Result<Self, String> {
        Self::read(url, &|name| std::env::var(name).ok())
    }

    /// Reads a URL as [`PostgresConfig::from_url`] does, with other variables.
    ///
    /// # Errors
    /// As there.
    pub fn read(url: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        Source::new(url, variable)?.config()
    }

    /// Reports whether a text is a URL of PostgreSQL.
    pub fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }
}

impl std::fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the password.
        f.debug_struct("PostgresConfig")
            .field("addresses", &self.addresses)
            .field("user", &self.user)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}
