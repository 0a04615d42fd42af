//! The project of a folder, served by this process on a free port, over a copy of its database.

use super::OwnServerArgs;
use sampan_app::db::backup;
use sampan_app::{Config, Flags, Running, Server};
use std::net::SocketAddr;
use std::path::PathBuf;

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
        let mut config = Config::resolve(&Flags {
            path: args.project.clone(),
            listen: Some("127.0.0.1:0".to_owned()),
            workers: args.workers,
            ..Flags::default()
        })?;
        let copy = DatabaseCopy::of(&mut config)?;
        let running = Server::start(config)?;
        Ok(Self {
            address: running.address(),
            running: Some(running),
            _copy: copy,
        })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.shutdown();
        }
    }
}

/// What the load writes goes into a copy. It lies beside the database, because another disk would give other figures.
struct DatabaseCopy(PathBuf);

impl DatabaseCopy {
    fn of(config: &mut Config) -> Result<Self, String> {
        let mut name = config.db.path.as_os_str().to_owned();
        name.push(format!(".load-{}", std::process::id()));
        let copy = Self(name.into());
        if config.db.path.is_file() {
            let copied = backup::backup(&config.db, &copy.0, true, &mut |_| {});
            copied.map_err(|error| error.to_string())?;
        }
        config.db.path.clone_from(&copy.0);
        Ok(copy)
    }
}

impl Drop for DatabaseCopy {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm"] {
            let mut name = self.0.as_os_str().to_owned();
            name.push(ending);
            // A project without a database has none.
            let _ = std::fs::remove_file(name);
        }
    }
}
