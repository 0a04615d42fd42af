//! The state of the database before each test: a copy in memory of a file, or a copy on a PostgreSQL server.

use sampan_db::{DatabaseConfig, RestorePoint, TestDatabases};
use sampan_host::Error;
use std::sync::Arc;
use std::time::Duration;

/// The name of the database as the migrations leave it.
pub(super) const MIGRATED: &str = "migrated";

/// The time in which the tasks of connections notice that the server has ended these. It has done so before: their
/// sockets only have to be read.
const NOTICE_TIME: Duration = Duration::from_millis(1);

/// A database on a server that is a project's own.
pub(super) struct ServerCopy {
    databases: Arc<TestDatabases>,
    name: String,
}

impl ServerCopy {
    /// The database for what is called `name`.
    pub(super) fn new(databases: Arc<TestDatabases>, name: &str) -> Self {
        Self {
            databases,
            name: name.replace('-', "_"),
        }
    }

    /// Returns its settings.
    pub(super) fn config(&self) -> DatabaseConfig {
        self.databases.config(&self.name)
    }

    /// Makes it as the migrations leave it.
    pub(super) fn make(&self) -> Result<(), Error> {
        self.databases.copy(MIGRATED, &self.name)
    }

    /// The name of the copy that it is put back from.
    fn start(&self) -> String {
        format!("{}_start", self.name)
    }
}

impl Drop for ServerCopy {
    fn drop(&mut self) {
        // What cannot be removed now goes with the run.
        for name in [self.start(), self.name.clone()] {
            let _ = self.databases.remove(&name);
        }
    }
}

/// The state of a database to which it is put back before each test.
pub(super) enum StartState {
    File(Box<RestorePoint>),
    Server(ServerCopy),
}

impl StartState {
    /// Keeps a file as it is now.
    pub(super) fn of_file(config: &DatabaseConfig) -> Result<Self, Error> {
        RestorePoint::take(config).map(|start| Self::File(Box::new(start)))
    }

    /// Keeps a database on a server as it is now. Connections to it are ended.
    pub(super) async fn of_server(copy: ServerCopy) -> Result<Self, Error> {
        copy.databases.copy(&copy.name, &copy.start())?;
        tokio::time::sleep(NOTICE_TIME).await;
        Ok(Self::Server(copy))
    }

    /// Puts the database back.
    pub(super) async fn restore(&mut self) -> Result<(), Error> {
        match self {
            Self::File(start) => start.restore().map(drop),
            Self::Server(copy) => {
                copy.databases.replace(&copy.start(), &copy.name)?;
                tokio::time::sleep(NOTICE_TIME).await;
                Ok(())
            }
        }
    }
}
