//! pgbouncer, which lends the connections of a PostgreSQL for one transaction each.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{StoreServer, USER, as_user, fresh};
use crate::peers::install::{Installer, run};
use crate::peers::placement::Placement;
use sampan_client::{ports, postgres};

/// The connections to PostgreSQL.
const CONNECTIONS: usize = 20;

/// The program.
#[derive(Clone, Debug)]
pub(crate) struct PgBouncer {
    program: PathBuf,
    pub(crate) version: String,
}

impl PgBouncer {
    /// Finds it, or installs Debian's.
    ///
    /// # Errors
    ///
    /// When it is missing and may not be installed.
    pub(crate) fn install(installer: &Installer) -> Result<Self, String> {
        let program = installer.debian("pgbouncer")?;
        let version = run(Command::new(&program).arg("--version"))?;
        let version = version.lines().next().unwrap_or_default().to_owned();
        Ok(Self { program, version })
    }

    /// Starts it before a PostgreSQL, in transaction mode.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub(crate) fn start(
        &self,
        server: &StoreServer,
        above: &Path,
        placement: &Placement,
        logs: &Path,
    ) -> Result<StoreServer, String> {
        let folder = fresh(above, "pgbouncer")?;
        let port = ports::free();
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            fs::write(&file, text).map_err(|error| error.to_string())?;
            Ok::<_, String>(file)
        };
        let users = write("users", &format!("\"{USER}\" \"\"\n"))?;
        let settings = write(
            "settings",
            &format!(
                "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
                 listen_port = {port}\nauth_type = trust\nauth_file = {}\npool_mode = transaction\n\
                 default_pool_size = {CONNECTIONS}\nmax_client_conn = 1000\nunix_socket_dir =\n\
                 log_connections = 0\nlog_disconnections = 0\n",
                server.port,
                users.display(),
            ),
        )?;
        postgres::give_to_user(&folder).map_err(|error| error.to_string())?;
        let mut command = as_user(&self.program, placement);
        command.arg(settings);
        let is_ready = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        StoreServer::start(
            &mut command,
            folder,
            port,
            &logs.join("pgbouncer.log"),
            is_ready,
        )
        .map_err(|fault| format!("pgbouncer: {fault}"))
    }
}
