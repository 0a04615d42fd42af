//! Cases inside of Node.js and of Bun: the project's `app.js`, served by the npm package in a process of its own.

use crate::scenario::Scenario;
use sampan_client::wait;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The longest time that a project may take to load, in milliseconds.
const START_MILLIS_MAX: u64 = 20_000;

/// The longest time that its process may take to end, in milliseconds.
const END_MILLIS_MAX: u64 = 10_000;

/// A JavaScript runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The program.
    pub program: PathBuf,
    /// The folder of the npm package.
    pub package: PathBuf,
}

/// The npm package's addon that cargo built last beside the test that runs.
pub fn built_addon() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let debug = test.ancestors().nth(2)?;
    let built = [debug.join("deps"), debug.to_owned()]
        .map(|folder| folder.join("libsampan_node.so"))
        .into_iter()
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .max()?;
    Some(built.1)
}

/// A project that is served in a process.
pub(crate) struct Served {
    child: Child,
    log: PathBuf,
    pub(crate) address: SocketAddr,
}

impl Platform {
    /// Puts the package together in the folder `to`: its own files, and the addon that was built.
    ///
    /// # Errors
    /// A file cannot be copied.
    pub fn put_together(files: &Path, addon: &Path, to: &Path) -> io::Result<()> {
        copy(files, to)?;
        for entry in fs::read_dir(files)? {
            let entry = entry?;
            if entry.file_type()?.is_symlink() {
                // The link leads nowhere from there.
                let to = to.join(entry.file_name());
                fs::remove_file(&to)?;
                fs::copy(entry.path(), to)?;
            }
        }
        // Not in place: another run may have loaded it.
        let fresh = to.join(format!("{}.new", std::process::id()));
        fs::copy(addon, &fresh)?;
        fs::rename(fresh, to.join("sampan.linux-x64-gnu.node"))
    }

    /// Serves a case with what it keeps in `scratch`.
    ///
    /// # Errors
    /// Why the project does not load.
    pub(crate) fn serve(
        &self,
        app: &Path,
        scenario: &Scenario,
        scratch: &Path,
    ) -> Result<Served, String> {
        let failed = |error: io::Error| error.to_string();
        let project = scratch.join("project");
        copy(app.parent().unwrap_or(app), &project).map_err(failed)?;
        fs::create_dir_all(scratch.join("node_modules")).map_err(failed)?;
        symlink(&self.package, scratch.join("node_modules/sampan")).map_err(failed)?;
        // Where a file ends in .js and has `import`, Node.js wants to be told.
        fs::write(scratch.join("package.json"), "{\"type\":\"module\"}").map_err(failed)?;
        let text = toml::to_string(&scenario.config).map_err(|error| error.to_string())?;
        let config = scratch.join("sampan.toml");
        fs::write(&config, text).map_err(failed)?;
        let address = free_address().map_err(failed)?;
        let log = scratch.join("log");
        let written = fs::File::create(&log).map_err(failed)?;
        let mut command = Command::new(&self.program);
        command
            .arg(self.package.join("bin/sampan.js"))
            .arg("run")
            .arg(project.join(app.file_name().unwrap_or_default()))
            .args(["--listen", &address.to_string(), "--config"])
            .arg(&config)
            .arg("--db")
            .arg(scratch.join("data.db"))
            .arg("--set")
            .arg(format!(
                "files.storage={}",
                scratch.join("storage").display()
            ))
            .stdin(Stdio::null())
            .stdout(written.try_clone().map_err(failed)?)
            .stderr(written);
        let says_so = !scenario.config.contains_key("log") || scenario.load_error.is_some();
        if !scenario.config.contains_key("log") {
            command.args(["--set", "log.level=debug"]);
        }
        if !scenario.says("server", "workers") {
            command.args(["--workers", "1"]);
        }
        let child = command.spawn().map_err(failed)?;
        Served {
            child,
            log,
            address,
        }
        .ready(says_so)
    }
}

impl Served {
    /// Returns the log so far.
    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until it listens.
    fn ready(mut self, says_so: bool) -> Result<Self, String> {
        let deadline = Instant::now() + Duration::from_millis(START_MILLIS_MAX);
        loop {
            if let Ok(Some(_)) = self.child.try_wait() {
                return Err(self.log());
            }
            // Where the log does not tell, requests wait for the project: it listens before that is loaded.
            let is_told = self.log().contains("listening on http://");
            if is_told || !says_so && TcpStream::connect(self.address).is_ok() {
                return Ok(self);
            }
            if Instant::now() >= deadline {
                return Err(format!("it does not answer:\n{}", self.log()));
            }
            wait::dawdle(Duration::from_millis(5));
        }
    }

    /// Ends it. False if it had to be killed, or ended with a fault.
    pub(crate) fn shutdown(mut self) -> bool {
        let ended = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status();
        let deadline = Instant::now() + Duration::from_millis(END_MILLIS_MAX);
        while ended.is_ok() && Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.success();
            }
            wait::dawdle(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first of the ports that servers get, and their number: the system gives none of them to those who let it choose,
/// so that no test beside this one takes a port before its server listens (Linux, `ip_local_port_range`).
const PORT_FIRST: u16 = 20_000;
const PORTS: u32 = 12_000;

/// An address without a listener.
fn free_address() -> io::Result<SocketAddr> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(97);
    let mut last = None;
    for _ in 0..PORTS {
        let next = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = PORT_FIRST + (next % PORTS) as u16;
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(listener) => return listener.local_addr(),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_symlink() {
            // Of an earlier run.
            match fs::remove_file(&to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => symlink(fs::read_link(&path)?, &to)?,
            }
        } else if path.is_dir() {
            copy(&path, &to)?;
        } else {
            fs::copy(&path, &to)?;
            // An encoded form that is older than its file is not sent.
            let changed = entry.metadata()?.modified()?;
            fs::File::options()
                .write(true)
                .open(&to)?
                .set_modified(changed)?;
        }
    }
    Ok(())
}
