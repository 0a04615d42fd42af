//! The flags of the command line, as far as they say what to run.

use super::sources::dotenv::EnvFile;
use crate::archive::Archive;
use crate::files::Project;
use std::path::PathBuf;
use std::sync::Arc;

/// The flags of the command line; `None` where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The project: its folder, or the file to run.
    pub path: PathBuf,
    /// `--listen`: an address, or several with commas between.
    pub listen: Option<String>,
    /// Each `--tls`: a domain.
    pub tls: Vec<String>,
    /// `--tls-cert`.
    pub tls_cert: Option<PathBuf>,
    /// `--tls-key`.
    pub tls_key: Option<PathBuf>,
    /// `--user`.
    pub user: Option<String>,
    /// `--workers`.
    pub workers: Option<usize>,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--db`.
    pub db: Option<PathBuf>,
    /// `--no-migrate`.
    pub no_migrate: bool,
    /// `--restore`.
    pub restore: bool,
    /// Each `--set`, as `section.key=value`.
    pub set: Vec<String>,
    /// The file that variables are read from, beside those of the environment.
    pub env_file: EnvFile,
    /// The project that this program carries, which is served instead of `path`.
    pub archive: Option<Arc<Archive>>,
    /// The names of these options in error messages.
    pub names: OptionNames,
}

impl Flags {
    /// The project that the command line names, or the one that this program carries.
    ///
    /// # Errors
    /// As [`Project::find`].
    pub fn project(&self) -> Result<Project, String> {
        match &self.archive {
            Some(archive) => Project::packed(archive),
            None => Project::find(&self.path),
        }
    }
}

/// The option names used in error messages: flags for the CLI, fields for a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionNames {
    /// [`Flags::listen`].
    pub listen: &'static str,
    /// [`Flags::workers`].
    pub workers: &'static str,
    /// [`Flags::set`].
    pub set: &'static str,
}

impl Default for OptionNames {
    fn default() -> Self {
        Self {
            listen: "--listen",
            workers: "--workers",
            set: "--set",
        }
    }
}
