//! A private PostgreSQL for tests, on a free port of 127.0.0.1 and a socket in its folder.
//!
//! It goes with the test: its parent is a shell that waits for the end of a pipe, so it is stopped and its folder is
//! removed even where the test's process is killed. PostgreSQL refuses to run as root, so root runs it as the user
//! `postgres`.

mod pooler;

use crate::{ports, wait};
pub use pooler::Pooler;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// The user of the database, who may do everything, and the password.
pub const USER: &str = "sampan";
/// The password of [`USER`].
pub const PASSWORD: &str = "over the water";

/// The system's user for the programs where the test runs as root.
const SYSTEM_USER: &str = "postgres";
/// The folder of Debian's versions.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Runs the server until the end of the pipe on its own input, then removes the folder unless it was told to keep it.
const KEEPER: &str = r#"
trap '' INT TERM
"$1/postgres" -D "$2/data" -p "$3" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$2" \
    -c fsync=off -c max_connections=100 -c shared_buffers=16MB -c max_prepared_transactions=2 \
    -c log_min_messages=fatal -c log_line_prefix='%m %p ' >>"$2/log" 2>&1 </dev/null &
server=$!
read -r word
kill -QUIT "$server" 2>/dev/null
wait "$server"
[ "$word" = keep ] || rm -rf "$2"
"#;

/// A server.
#[derive(Debug)]
pub struct PostgresServer {
    programs: PathBuf,
    folder: TempDir,
    /// The port on 127.0.0.1.
    pub port: u16,
    keeper: Mutex<Option<Child>>,
    databases: AtomicU32,
}

/// The server that the tests of a process share. It ends with the process, by its keeper.
static SHARED: Mutex<Option<Arc<PostgresServer>>> = Mutex::new(None);

impl PostgresServer {
    /// Returns the server that the tests of this process share; `None` where PostgreSQL is not installed, which is
    /// printed.
    ///
    /// # Panics
    /// It does not start.
    pub fn shared() -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.is_none() {
            *shared = Some(Arc::new(Self::start()?));
        }
        shared.clone()
    }

    /// Starts a server for one test; `None` where PostgreSQL is not installed, which is printed.
    ///
    /// # Panics
    /// It does not start.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            println!("SKIPPED: PostgreSQL is not installed, so nothing runs on it");
            return None;
        };
        // The paths of sockets are short.
        let folder = tempfile::Builder::new()
            .prefix("sampan-pg-")
            .tempdir_in("/tmp");
        let folder = folder.expect("a folder");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), mode).expect("its mode");
        give_to_user(folder.path()).expect("its owner");
        let password = folder.path().join("password");
        fs::write(&password, PASSWORD).expect("the password");
        let mut make = as_user(&programs.join("initdb"));
        make.args([
            "--no-sync",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
        ]);
        make.arg("--username")
            .arg(USER)
            .arg("--pwfile")
            .arg(&password);
        make.arg("--pgdata").arg(folder.path().join("data"));
        let made = make.current_dir("/tmp").output().expect("initdb");
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let server = Self {
            programs,
            folder,
            port: ports::free(),
            keeper: Mutex::default(),
            databases: AtomicU32::new(0),
        };
        server.resume();
        Some(server)
    }

    /// Starts the server again after [`PostgresServer::kill`], and waits until it takes connections.
    ///
    /// # Panics
    /// It does not start.
    pub fn resume(&self) {
        let mut keeper = as_user(Path::new("sh"));
        keeper.args(["-c", KEEPER, "keeper"]);
        keeper
            .arg(&self.programs)
            .arg(self.folder.path())
            .arg(self.port.to_string());
        // The shell would tell of a server that is killed.
        keeper.stderr(Stdio::null());
        keeper.stdin(Stdio::piped()).current_dir("/tmp");
        let keeper = keeper.spawn().expect("the shell that keeps PostgreSQL");
        *self.keeper() = Some(keeper);
        wait::until("PostgreSQL takes connections", || {
            let ready = Command::new(self.programs.join("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
                .status();
            ready.is_ok_and(|status| status.success())
        });
    }

    /// Kills the server and its processes, as `kill -9` does.
    ///
    /// # Panics
    /// It is not running.
    pub fn kill(&self) {
        let pid = fs::read_to_string(self.folder.path().join("data/postmaster.pid"));
        let pid = pid.expect("the number of its process");
        let pid = pid.lines().next().expect("a line").to_owned();
        let status = Command::new("kill").args(["-9", &pid]).status();
        assert!(status.expect("kill").success(), "kill -9 {pid}");
        self.end_keeper();
        // Its processes notice, and would keep the next server from starting.
        let data = fs::canonicalize(self.folder.path().join("data")).expect("a folder");
        wait::until("the processes of PostgreSQL are gone", || {
            fs::read_dir("/proc")
                .expect("the processes")
                .flatten()
                .all(|process| {
                    // All of them work in that folder, also those whose parent is gone.
                    let folder = fs::read_link(process.path().join("cwd"));
                    folder.map_or(true, |folder| folder != data)
                })
        });
        drop(fs::remove_file(
            self.folder.path().join("data/postmaster.pid"),
        ));
    }

    fn keeper(&self) -> std::sync::MutexGuard<'_, Option<Child>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the server without waiting for its clients.
    pub fn end_keeper(&self) {
        if let Some(mut keeper) = self.keeper().take() {
            // Without this word the test's process was killed.
            if let Some(mut input) = keeper.stdin.take() {
                drop(input.write_all(b"keep\n"));
            }
            drop(keeper.wait());
        }
    }

    /// Makes an empty database, and returns its name.
    ///
    /// # Panics
    /// It cannot be made.
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// Returns the URL of a database, by TCP.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let password = PASSWORD.replace(' ', "%20");
        format!(
            "postgres://{USER}:{password}@127.0.0.1:{}/{database}",
            self.port
        )
    }

    /// Returns the URL of a database, by the socket in the server's folder.
    #[must_use]
    pub fn socket_url(&self, database: &str) -> String {
        let (password, folder) = (PASSWORD.replace(' ', "%20"), self.folder.path().display());
        format!(
            "postgres://{USER}:{password}@/{database}?host={folder}&port={}",
            self.port
        )
    }

    /// Returns the folder of the server: its `data` has the settings.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs statements in a database by `psql`, and returns what it prints: cells with `|` between.
    ///
    /// # Panics
    /// They fail.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
            "-f",
            "-",
        ]);
        psql.args(["-p", &self.port.to_string(), "-U", USER, "-d", database]);
        psql.env("PGPASSWORD", PASSWORD);
        psql.stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = psql.spawn().expect("psql");
        let mut input = child.stdin.take().expect("its input");
        input.write_all(sql.as_bytes()).expect("psql reads");
        drop(input);
        let done = child.wait_with_output().expect("psql");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{sql}: {said}");
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.end_keeper();
    }
}

/// Finds the folder of the programs: that of the `postgres` in the path, or the newest of Debian's.
#[must_use]
pub fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let linked = std::env::split_paths(&path)
        .find_map(|folder| fs::canonicalize(folder.join("postgres")).ok());
    let mut found: Vec<PathBuf> = linked
        .iter()
        .filter_map(|at| at.parent())
        .map(Path::to_owned)
        .collect();
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(VERSIONS)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|version| {
            let number = version.file_name().to_str()?.parse().ok()?;
            Some((number, version.path().join("bin")))
        })
        .collect();
    versions.sort();
    found.extend(versions.into_iter().rev().map(|(_, folder)| folder));
    let is_whole = |folder: &PathBuf| {
        ["postgres", "initdb", "psql", "pg_isready"]
            .iter()
            .all(|name| folder.join(name).exists())
    };
    found.into_iter().find(is_whole)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Gives a folder to the user as whom [`as_user`] runs programs.
///
/// # Errors
/// The system does not permit it.
pub fn give_to_user(folder: &Path) -> io::Result<()> {
    if !is_root() {
        return Ok(());
    }
    let status = Command::new("chown")
        .arg(SYSTEM_USER)
        .arg(folder)
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("chown {SYSTEM_USER} failed"))),
    }
}

/// Returns a command that runs a program as a user who may run PostgreSQL.
#[must_use]
pub fn as_user(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid",
        SYSTEM_USER,
        "--regid",
        SYSTEM_USER,
        "--init-groups",
    ]);
    command.arg(program);
    command
}
