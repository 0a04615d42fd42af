//! A peer that can be started.

use std::path::PathBuf;

use super::certificate;
use super::storage::files;

/// The folder of Debian's nginx modules.
pub(super) const NGINX_MODULES: &str = "/usr/lib/nginx/modules";

/// The start parameters of an installed peer.
#[derive(Clone, Debug)]
pub(crate) struct Installed {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// The working folder.
    pub(crate) folder: PathBuf,
    /// A configuration with places to fill in: where it is read, and where it goes.
    pub(crate) configuration: Option<(PathBuf, PathBuf)>,
    /// Further variables of its environment, which are places to fill in too.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// The measured version, as in `Bun 1.4.5`.
    pub(crate) version: String,
}

impl Installed {
    /// A program without arguments that reads no file with places to fill in.
    pub(crate) fn new(program: PathBuf, folder: PathBuf, version: String) -> Self {
        Self {
            program,
            arguments: Vec::new(),
            folder,
            configuration: None,
            variables: Vec::new(),
            version,
        }
    }

    /// Fills in the port and the threads, for peers that take these from a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub(crate) fn configure(&self, port: u16, threads: usize) -> std::io::Result<()> {
        let Some((from, to)) = &self.configuration else {
            return Ok(());
        };
        let [certificate, key] = certificate::files(&crate::checkout::root());
        let mut text = std::fs::read_to_string(from)?
            .replace("@PORT@", &port.to_string())
            .replace("@THREADS@", &threads.to_string())
            .replace(
                "@FILES@",
                &files(&crate::checkout::root()).display().to_string(),
            )
            .replace("@CERTIFICATE@", &certificate.display().to_string())
            .replace("@KEY@", &key.display().to_string())
            .replace("@MODULES@", NGINX_MODULES);
        for (name, value) in &self.variables {
            text = text.replace(&format!("@{name}@"), value);
        }
        std::fs::write(to, text)
    }
}
