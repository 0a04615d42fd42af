//! The arguments of the commands that serve.

use sampan_project::config::{EnvFile, Flags};
use std::path::PathBuf;

/// The project to serve, and the options.
#[derive(clap::Args)]
pub(crate) struct ServerArgs {
    /// The project's folder (with app.lua or app.js in it), or the file to run.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) options: ServerOptions,
}

/// The options of serving.
#[derive(clap::Args)]
pub(crate) struct ServerOptions {
    /// Listen on these addresses, separated by commas between [default: 127.0.0.1:8080].
    #[arg(long, value_name = "HOST:PORT|unix:PATH", value_parser = an_address, value_delimiter = ',')]
    pub(crate) listen: Vec<String>,
    /// An option that many other servers have in its place: only its refusal is of use.
    #[arg(long, hide = true, value_name = "PORT", value_parser = no_port)]
    pub(crate) port: Option<String>,
    /// Speak HTTPS with certificates that the server gets and renews by itself, for these domains (ACME; Let's Encrypt
    /// unless [tls.acme] directory says otherwise).
    #[arg(long, value_name = "DOMAIN", value_parser = a_domain, value_delimiter = ',')]
    pub(crate) tls: Vec<String>,
    /// Speak HTTPS with this certificate and its chain (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Become this user, once it listens, if root starts it.
    #[arg(long, value_name = "NAME[:GROUP]")]
    pub(crate) user: Option<String>,
    /// The number of threads that run scripts [default: one per core].
    #[arg(long, value_name = "N", value_parser = a_count)]
    pub(crate) workers: Option<usize>,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The database: a file, or the URL of PostgreSQL [default: data.db in the project's folder].
    #[arg(long, value_name = "FILE")]
    pub(crate) db: Option<PathBuf>,
    /// Do not run the migrations of the project at start.
    #[arg(long)]
    pub(crate) no_migrate: bool,
    /// Restore the database from the copy of [backup] first, if there is none.
    #[arg(long)]
    pub(crate) restore: bool,
    /// A file of variables for the project, NAME=value a line. Those of the environment win. `sampan dev` reads .env by
    /// itself.
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
    /// A value of the configuration, such as limits.body_bytes_max=10MB.
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

impl ServerArgs {
    pub(crate) fn flags(self) -> Flags {
        Flags {
            path: self.path,
            ..self.options.flags()
        }
    }
}

impl ServerOptions {
    pub(crate) fn flags(self) -> Flags {
        Flags {
            listen: Some(self.listen.join(",")).filter(|listen| !listen.is_empty()),
            tls: self.tls,
            tls_cert: self.tls_cert,
            tls_key: self.tls_key,
            user: self.user,
            workers: self.workers,
            config: self.config,
            db: self.db,
            no_migrate: self.no_migrate,
            restore: self.restore,
            set: self.set,
            env_file: self.env_file.map_or(EnvFile::None, EnvFile::At),
            ..Flags::default()
        }
    }
}

/// `--listen` as it is written, if it makes sense.
fn an_address(text: &str) -> Result<String, String> {
    sampan_project::config::address(text).map(|_| text.to_owned())
}

/// `--tls`, if a certificate can be had for it.
pub(crate) fn a_domain(text: &str) -> Result<String, String> {
    sampan_project::config::domain(text)
}

/// Says what to write in place of `--port`.
fn no_port(text: &str) -> Result<String, String> {
    let port: u16 = text.parse().unwrap_or(3000);
    Err(format!("write --listen 127.0.0.1:{port}"))
}

/// Returns `--workers`, if it makes sense.
pub(crate) fn a_count(text: &str) -> Result<usize, String> {
    let most = sampan_project::config::WORKERS_MAX;
    match text.parse() {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        _ => Err(format!("it must be a number from 1 to {most}")),
    }
}
