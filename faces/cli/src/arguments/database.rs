//! The arguments of the commands that use a database, and the error of a command after them that is not known.

use sampan_project::archive::Archive;
use sampan_project::config::{EnvFile, Flags};
use sampan_runtime::Storage;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The place of a database, for the commands that only need that.
#[derive(clap::Args)]
pub(crate) struct StorageArgs {
    /// The project's folder, or a file in it.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) database: DatabaseArgs,
}

/// The database, if it is not where the project's folder says: before a command or behind it.
#[derive(clap::Args, Default)]
pub(crate) struct DatabaseArgs {
    /// The database: a file, or postgres://user@host/database
    /// [default: what sampan.toml says, or data.db in the project's folder].
    #[arg(long, value_name = "FILE|URL", global = true)]
    pub(crate) db: Option<PathBuf>,
    /// The configuration file [default: sampan.toml in the project's folder, if there is one].
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// A file of variables, as that of sampan run [default: .env in the project's folder, if there is one].
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) env_file: Option<PathBuf>,
    /// The project that this program carries, in place of a folder.
    #[arg(skip)]
    pub(crate) archive: Option<Arc<Archive>>,
}

impl StorageArgs {
    pub(crate) fn resolve(self) -> Result<Storage, String> {
        let archive = self.database.archive;
        if archive.is_some() && self.path != Path::new(".") {
            let path = self.path.display();
            return Err(format!(
                "{path}: the project is in this file: leave the folder out, and name a database with --db"
            ));
        }
        Storage::resolve(&Flags {
            path: self.path,
            config: self.database.config,
            db: self.database.db,
            env_file: match (self.database.env_file, &archive) {
                (Some(file), _) => EnvFile::At(file),
                (None, Some(_)) => EnvFile::None,
                (None, None) => EnvFile::OfProject,
            },
            archive,
            ..Flags::default()
        })
    }
}

/// Adds the command that was probably meant to the error of a path that is not there: a word that is no command of `C`
/// is taken for a path.
pub(crate) fn with_meant_command<C: clap::Subcommand>(path: &Path, fault: String) -> String {
    if path.exists() {
        return fault;
    }
    let commands = C::augment_subcommands(clap::Command::new(""));
    let names = commands.get_subcommands().map(clap::Command::get_name);
    fault + &sampan_host::names::hint(&path.to_string_lossy(), names)
}
