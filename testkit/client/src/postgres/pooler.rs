//! A private pgbouncer before a server for tests, in transaction mode: each transaction may get another connection.

use super::{PASSWORD, PostgresServer, SYSTEM_USER, USER, is_root};
use crate::{ports, wait};
use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The places of the program: Debian's, and that of others.
const PROGRAMS: [&str; 2] = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"];

/// pgbouncer. It ends with the thread of its test.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    /// The port on 127.0.0.1.
    pub port: u16,
    _folder: TempDir,
}

impl Pooler {
    /// Starts pgbouncer before a server, with two connections for each database; `None` where it is not installed,
    /// which is printed.
    ///
    /// # Panics
    /// It does not start.
    pub fn before(server: &PostgresServer) -> Option<Self> {
        let Some(program) = PROGRAMS
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
        fs::write(&users, format!("\"{USER}\" \"{PASSWORD}\"\n")).expect("the users");
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             auth_type = scram-sha-256\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 2\n\
             unix_socket_dir =\n",
            server.port,
            users.display()
        );
        let file = folder.path().join("settings");
        fs::write(&file, settings).expect("the settings");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]);
        if is_root() {
            command.args(["--reuid", SYSTEM_USER, "--regid", SYSTEM_USER]);
            command.arg("--init-groups");
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

    /// Returns the URL of a database of the server, through pgbouncer.
    #[must_use]
    pub fn url(&self, server: &PostgresServer, database: &str) -> String {
        let direct = format!(":{}/", server.port);
        let url = server.url(database);
        url.replace(&direct, &format!(":{}/", self.port))
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
