//! The databases that are servers: PostgreSQL, pgbouncer before it, and Redis, started for the benchmark on ports of
//! their own, with their files below its folder.

mod pgbouncer;

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::peers::children::Child;
use crate::peers::install::{Installer, run};
use crate::peers::placement::Placement;
use crate::peers::processes::{CpuTimes, resident_bytes};
use sampan_client::{ports, postgres};

pub(crate) use pgbouncer::PgBouncer;

/// The longest time that one may take to start.
const START_MILLIS_MAX: u64 = 20_000;

/// The user of the databases of PostgreSQL.
const USER: &str = "postgres";

/// One of these servers. It is ended, and its files are removed, when it is dropped.
pub(crate) struct StoreServer {
    child: Child,
    folder: PathBuf,
    pub(crate) port: u16,
}

/// The programs of PostgreSQL.
#[derive(Clone, Debug)]
pub(crate) struct Postgres {
    programs: PathBuf,
    pub(crate) version: String,
}

/// Redis.
#[derive(Clone, Debug)]
pub(crate) struct Redis {
    program: PathBuf,
    pub(crate) version: String,
}

impl StoreServer {
    fn start(
        command: &mut Command,
        folder: PathBuf,
        port: u16,
        log: &Path,
        is_ready: impl Fn() -> bool,
    ) -> Result<Self, String> {
        let file = File::create(log).map_err(|error| error.to_string())?;
        let copy = file.try_clone().map_err(|error| error.to_string())?;
        command.stdin(Stdio::null()).stdout(file).stderr(copy);
        command.current_dir(&folder);
        let child = Child::start(command).map_err(|error| error.to_string())?;
        let mut server = Self {
            child,
            folder,
            port,
        };
        let deadline = Instant::now() + Duration::from_millis(START_MILLIS_MAX);
        while !is_ready() {
            let has_ended = !matches!(server.child.exited(), Ok(None));
            if has_ended || Instant::now() > deadline {
                let log = fs::read_to_string(log).unwrap_or_default();
                let last = log.lines().last().unwrap_or_default();
                return Err(format!("it does not start: {last}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// The processor time of its processes.
    pub(crate) fn cpu(&self) -> CpuTimes {
        CpuTimes::of(self.child.id())
    }

    /// The resident memory of its processes. What they share counts for each.
    pub(crate) fn resident_bytes(&self) -> u64 {
        resident_bytes(self.child.id())
    }
}

impl Drop for StoreServer {
    fn drop(&mut self) {
        self.child.end();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Postgres {
    /// Finds PostgreSQL, or installs Debian's.
    ///
    /// # Errors
    ///
    /// When it is missing and may not be installed.
    pub(crate) fn install(installer: &Installer) -> Result<Self, String> {
        if postgres::programs().is_none() {
            installer.apt("postgresql")?;
        }
        let programs = postgres::programs().ok_or("PostgreSQL is not installed")?;
        let version = run(Command::new(programs.join("postgres")).arg("--version"))?;
        let version = version.split_whitespace().nth(2).unwrap_or_default();
        Ok(Self {
            programs,
            version: format!("PostgreSQL {version}"),
        })
    }

    /// Starts it with an empty database. A commit is on the disk when it is acknowledged.
    ///
    /// # Errors
    ///
    /// When a program fails.
    pub(crate) fn start(
        &self,
        above: &Path,
        placement: &Placement,
        logs: &Path,
    ) -> Result<StoreServer, String> {
        let folder = fresh(above, "postgres")?;
        let port = ports::free();
        postgres::give_to_user(&folder).map_err(|error| error.to_string())?;
        let mut make = postgres::as_user(&self.programs.join("initdb"));
        make.args([
            "--no-sync",
            "--auth",
            "trust",
            "--username",
            USER,
            "--pgdata",
        ]);
        run(make.arg(&folder).current_dir(&folder))?;
        let mut command = as_user(&self.programs.join("postgres"), placement);
        command.arg("-D").arg(&folder);
        let settings = [
            &format!("port={port}"),
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=on",
            "synchronous_commit=on",
            "shared_buffers=256MB",
            "max_connections=200",
        ];
        for setting in settings {
            command.args(["-c", setting]);
        }
        let ready = self.programs.join("pg_isready");
        let is_ready = || {
            let mut command = Command::new(&ready);
            command.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]);
            run(&mut command).is_ok()
        };
        StoreServer::start(
            &mut command,
            folder,
            port,
            &logs.join("postgres.log"),
            is_ready,
        )
        .map_err(|fault| format!("PostgreSQL: {fault}"))
    }
}

impl Postgres {
    /// Runs statements in a database by `psql`.
    ///
    /// # Errors
    ///
    /// When one fails.
    pub(crate) fn psql(
        &self,
        server: &StoreServer,
        database: &str,
        arguments: &[&str],
    ) -> Result<(), String> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1"]);
        psql.args(["-U", USER, "-d", database, "-p", &server.port.to_string()]);
        run(psql.args(arguments)).map(drop)
    }
}

/// Returns a command of a user who may run PostgreSQL, on the processors of the server.
fn as_user(program: &Path, placement: &Placement) -> Command {
    let own = postgres::as_user(program);
    let mut command = placement.server(own.get_program());
    command.args(own.get_args());
    command
}

/// The URL of the database of a PostgreSQL.
pub(crate) fn postgres_url(server: &StoreServer) -> String {
    database_url(server.port, USER)
}

/// The URL of a database behind this port.
pub(crate) fn database_url(port: u16, database: &str) -> String {
    let address = Ipv4Addr::LOCALHOST;
    format!("postgres://{USER}@{address}:{port}/{database}")
}

impl Redis {
    /// Finds Redis, or installs Debian's.
    ///
    /// # Errors
    ///
    /// When it is missing and may not be installed.
    pub(crate) fn install(installer: &Installer) -> Result<Self, String> {
        let program = installer.debian("redis-server")?;
        let version = run(Command::new(&program).arg("--version"))?;
        let version = version
            .split_whitespace()
            .find_map(|word| word.strip_prefix("v="));
        let version = format!("Redis {}", version.unwrap_or_default());
        Ok(Self { program, version })
    }

    /// Starts it without data, with this value of `appendfsync`.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub(crate) fn start(
        &self,
        appendfsync: &str,
        above: &Path,
        placement: &Placement,
        logs: &Path,
    ) -> Result<StoreServer, String> {
        let folder = fresh(above, "redis")?;
        let port = ports::free();
        let mut command = placement.server(&self.program);
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--dir"]);
        command.arg(&folder);
        command.args([
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            appendfsync,
        ]);
        let is_ready = || {
            let mut command = Command::new("redis-cli");
            command.args(["-p", &port.to_string(), "ping"]);
            run(&mut command).is_ok_and(|answer| answer == "PONG")
        };
        StoreServer::start(
            &mut command,
            folder,
            port,
            &logs.join("redis.log"),
            is_ready,
        )
        .map_err(|fault| format!("Redis: {fault}"))
    }
}

/// An empty folder.
fn fresh(above: &Path, name: &str) -> Result<PathBuf, String> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let folder = above.join(format!("{name}-{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}
