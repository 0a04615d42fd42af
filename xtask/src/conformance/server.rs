//! The server that is tested: two processes of `sampan run` with tests/conformance/app.lua, one of them by HTTPS.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::error::Error;
use crate::project::RunningServer;

/// Both processes, and the files of the test. The processes end when it is dropped.
pub(super) struct Server {
    folder: TempDir,
    plain: RunningServer,
    tls: RunningServer,
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
        self.plain.address().port()
    }

    /// The port of HTTPS.
    pub(super) fn tls_port(&self) -> u16 {
        self.tls.address().port()
    }
}

/// Starts a process that writes its log beside the app.
fn start(
    executable: &Path,
    app: &Path,
    arguments: &[&str],
    log: &str,
) -> Result<RunningServer, Error> {
    let log = app.with_file_name(log);
    let output = File::create(&log)?;
    let errors = output.try_clone()?;
    let started = RunningServer::start(executable, app, |command, _| {
        command.args(arguments).stdin(Stdio::null());
        command.stdout(output).stderr(errors);
    });
    started.map_err(|error| {
        let told = fs::read_to_string(&log).unwrap_or_default();
        format!("{error}: {}", told.trim()).into()
    })
}
