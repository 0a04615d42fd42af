//! The server that is tested: two processes of `sampan run` with tests/conformance/app.lua, one of them by HTTPS.

use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Error;

/// The longest time that a start may take.
const START_TIME_MAX: Duration = Duration::from_secs(30);

/// Both processes, and the files of the test. The processes end when it is dropped.
pub(super) struct Server {
    folder: TempDir,
    plain: Running,
    tls: Running,
}

struct Running {
    process: Child,
    port: u16,
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Makes certificates and starts both processes.
    ///
    /// # Errors
    /// openssl is missing, or a process does not start.
    pub(super) fn start(root: &Path, executable: &Path) -> Result<Self, Error> {
        let folder = tempfile::tempdir()?;
        let sources = root.join("tests/conformance");
        let mut certificates = Command::new(sources.join("certificates.sh"));
        let made = certificates.arg(folder.path()).output()?;
        if !made.status.success() {
            let told = String::from_utf8_lossy(&made.stderr);
            return Err(format!("no certificates: {}", told.trim()).into());
        }
        // The app's folder gets the server's own files.
        let app = folder.path().join("app.lua");
        fs::copy(sources.join("app.lua"), &app)?;
        let plain = start(executable, &app, &[], "plain.log")?;
        let [certificate, key] = ["certificate.pem", "key.pem"]
            .map(|file| folder.path().join(file).display().to_string());
        let arguments = [
            "--tls-cert",
            &certificate,
            "--tls-key",
            &key,
            "--set",
            "tls.hsts=max-age=31536000",
        ];
        let tls = start(executable, &app, &arguments, "tls.log")?;
        Ok(Self { folder, plain, tls })
    }

    /// The folder for reports.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The certificate of the authority.
    pub(super) fn authority(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// The port of plain HTTP.
    pub(super) fn plain_port(&self) -> u16 {
        self.plain.port
    }

    /// The port of HTTPS.
    pub(super) fn tls_port(&self) -> u16 {
        self.tls.port
    }
}

/// Starts a process on a port that the system chooses.
fn start(executable: &Path, app: &Path, arguments: &[&str], log: &str) -> Result<Running, Error> {
    let log = app.with_file_name(log);
    let mut command = Command::new(executable);
    command
        .arg("run")
        .arg(app)
        .args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    command.args(arguments).stdin(Stdio::null());
    command
        .stdout(File::create(&log)?)
        .stderr(File::options().append(true).open(&log)?);
    let mut process = command.spawn()?;
    let deadline = Instant::now() + START_TIME_MAX;
    loop {
        let text = fs::read_to_string(&log)?;
        if let Some(port) = port_in(&text)
            && TcpStream::connect(("127.0.0.1", port)).is_ok()
        {
            return Ok(Running { process, port });
        }
        if process.try_wait()?.is_some() || Instant::now() > deadline {
            let _ = process.kill();
            let _ = process.wait();
            return Err(format!("the server does not start: {}", text.trim()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The port in the line that tells where a server listens.
fn port_in(text: &str) -> Option<u16> {
    let address = text
        .split_once("listening on ")?
        .1
        .split_whitespace()
        .next()?;
    address.rsplit_once(':')?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_log() {
        let line = "2026-11-26T13:19:21Z INFO listening on https://127.0.0.1:19555 with 1 worker (app.lua)\n";
        assert_eq!(port_in(line), Some(19_555));
        assert_eq!(port_in("2026-11-26T13:19:21Z INFO reading\n"), None);
    }
}
