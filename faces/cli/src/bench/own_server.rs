//! The project of a folder, served by this process on a free port, over a copy of its database.

use super::OwnServerArgs;
use crate::profile::sampler::Profiler;
use sampan_db::backup;
use sampan_project::config::Flags;
use sampan_runtime::{AppConfig, Running, Server};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A server of our own. It ends when this is dropped.
pub(crate) struct OwnServer {
    running: Option<Running>,
    address: SocketAddr,
    _copy: DatabaseCopy,
}

impl OwnServer {
    /// Starts the project.
    ///
    /// # Errors
    /// It does not start, or its database cannot be copied: one line that says what to do.
    pub(crate) fn start(args: &OwnServerArgs) -> Result<Self, String> {
        Self::start_with(&args.project, args.workers, args.set.clone(), false)
    }

    /// Starts the server with one worker, of which samples can be taken.
    pub(crate) fn start_profiled(project: &Path, set: Vec<String>) -> Result<Self, String> {
        Self::start_with(project, Some(1), set, true)
    }

    fn start_with(
        project: &Path,
        workers: Option<usize>,
        set: Vec<String>,
        is_profiled: bool,
    ) -> Result<Self, String> {
        let mut config = AppConfig::resolve(&Flags {
            path: project.to_owned(),
            listen: Some("127.0.0.1:0".to_owned()),
            workers,
            set,
            env_file: sampan_project::config::EnvFile::OfProject,
            ..Flags::default()
        })?;
        config.program.is_profiled = is_profiled;
        config.make_secondary();
        let copy = DatabaseCopy::of(&mut config)?;
        let running = Server::start(config)?;
        Ok(Self {
            address: running.address(),
            running: Some(running),
            _copy: copy,
        })
    }

    /// Asks for a path once.
    ///
    /// # Errors
    /// Nothing is there.
    pub(crate) fn check_route(&self, target: &str) -> Result<(), String> {
        let asked = || -> io::Result<String> {
            let mut stream = TcpStream::connect(self.address)?;
            let head =
                format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line)?;
            Ok(line)
        };
        // Other faults show under load too.
        let line = asked().unwrap_or_default();
        match line.split(' ').nth(1) {
            Some(status @ ("404" | "405")) => Err(format!(
                "GET {target} is answered {status}: there is no such route; `sampan routes` lists those of the project"
            )),
            _ => Ok(()),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes samples from now on.
    pub(crate) fn profiler(&self) -> Result<Profiler, String> {
        let running = self.running.as_ref();
        Profiler::start(running.ok_or("the server has ended")?)
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.shutdown();
        }
    }
}

/// The copy of the database that the load writes into. It lies beside the database, because another disk would give
/// other figures.
struct DatabaseCopy(PathBuf);

/// The text between the name of a database and the process that loads a copy of it.
const LOAD: &str = ".load-";

/// The copy of this process, for a signal that ends it.
static COPY: OnceLock<PathBuf> = OnceLock::new();

/// Removes the copy of this process, if there is one. For what runs before a signal ends the process.
pub(crate) fn remove_copy() {
    if let Some(copy) = COPY.get() {
        remove(copy);
    }
}

impl DatabaseCopy {
    fn of(config: &mut AppConfig) -> Result<Self, String> {
        if config.database.config.is_postgres() {
            return Err(
                "the load writes into a copy of the database, which is made of a file of SQLite only: name one with \
                 --set db.url=, or load a server that runs by its URL"
                    .into(),
            );
        }
        remove_those_of_the_dead(&config.database.config.path);
        let mut name = config.database.config.path.as_os_str().to_owned();
        name.push(format!("{LOAD}{}", std::process::id()));
        let copy = Self(name.into());
        let _ = COPY.set(copy.0.clone());
        if config.database.config.path.is_file() {
            let copied = backup::backup(&config.database.config, &copy.0, true, &mut |_| {});
            copied.map_err(|error| error.to_string())?;
        }
        config.database.config.path.clone_from(&copy.0);
        Ok(copy)
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

fn remove(copy: &Path) {
    for ending in ["", "-wal", "-shm", ".part"] {
        let mut name = copy.as_os_str().to_owned();
        name.push(ending);
        // A project without a database has none.
        let _ = fs::remove_file(name);
    }
}

/// A process that was killed leaves its copy.
fn remove_those_of_the_dead(database: &Path) {
    let (Some(folder), Some(name)) = (database.parent(), database.file_name()) else {
        return;
    };
    let name = format!("{}{LOAD}", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let rest = found.to_str().and_then(|found| found.strip_prefix(&name));
        let Some(rest) = rest else { continue };
        let letters = rest.find(|one: char| !one.is_ascii_digit());
        let pid = &rest[..letters.unwrap_or(rest.len())];
        if !pid.is_empty() && !Path::new("/proc").join(pid).exists() {
            let _ = fs::remove_file(entry.path());
        }
    }
}
