//! The place of the checkout, cargo commands in it, the executable of Sampan, and tools of others.

use crate::error::Error;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The cargo profile of what is published, and the name of its folder in `target`.
pub(crate) const PROFILE: &str = "published";

/// The longest time that a server may take to start. One that counts for a profile starts more slowly than others.
const START_TIME_MAX: Duration = Duration::from_secs(30);

/// The root of the checkout: the folder above this crate.
///
/// Cargo tells the place at run time; the one recorded when this was built serves where it is started by hand.
pub(crate) fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// A `cargo` command that runs in `root` and prints no progress bar.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(root)
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .env("CARGO_TERM_COLOR", "never");
    // Set by the cargo that started this program; build scripts of the inner one must not see them.
    command
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("CARGO_MANIFEST_PATH");
    command
}

/// Builds the executable by `cargo` in a folder like `target`, and returns its path.
///
/// # Errors
/// It does not build.
pub(crate) fn build_cli(
    cargo: &mut Command,
    folder: &Path,
    profile: &str,
    target: Option<&str>,
) -> Result<PathBuf, Error> {
    cargo.args(["build", "--package", "sampan-cli", "--profile", profile]);
    cargo.arg("--target-dir").arg(folder);
    // What is published has the versions that were tested.
    cargo.args((profile == PROFILE).then_some("--locked"));
    if let Some(target) = target {
        cargo.args(["--target", target]);
    }
    if !cargo.status()?.success() {
        return Err("the executable does not build".into());
    }
    let folder = folder.join(target.unwrap_or_default());
    let profile = if profile == "dev" { "debug" } else { profile };
    Ok(folder.join(profile).join("sampan"))
}

/// Returns the result of a tool that was run.
///
/// # Errors
/// It cannot be run. Where it is missing, the error says how to install it.
pub(crate) fn needs<T>(tool: &str, how: &str, outcome: io::Result<T>) -> Result<T, Error> {
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!("{tool} is missing: {how}").into(),
        _ => format!("{tool}: {error}").into(),
    })
}

/// A process of `sampan run` with one worker. It is killed when this is dropped.
pub(crate) struct RunningServer {
    process: Child,
    address: SocketAddr,
}

impl RunningServer {
    /// Starts it on a free port with what `add` adds to its command, and waits until it accepts connections.
    ///
    /// # Errors
    /// It does not start.
    pub(crate) fn start(
        executable: &Path,
        app: &Path,
        add: impl FnOnce(&mut Command, SocketAddr),
    ) -> Result<Self, Error> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(executable);
        command.arg("run").arg(app).args(["--workers", "1"]);
        command.args(["--listen", &address.to_string()]);
        add(&mut command, address);
        let process = command.spawn()?;
        let mut server = Self { process, address };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if server.process.try_wait()?.is_some() || begun.elapsed() > START_TIME_MAX {
                return Err(format!("{} does not start", app.display()).into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// The address that it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it in order.
    ///
    /// # Errors
    /// It does not end with success.
    pub(crate) fn end(mut self) -> Result<(), Error> {
        let pid = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status()?;
        match self.process.wait()?.success() {
            true => Ok(()),
            false => Err("the server did not end in order".into()),
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs a program that is a crate of its own, so that the other commands need not compile it first.
pub(crate) fn start(command: &[&str], arguments: &[String]) -> Result<bool, Error> {
    let mut cargo = cargo(&root());
    let status = cargo.args(command).args(arguments).status()?;
    Ok(status.success())
}
