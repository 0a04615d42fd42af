//! The migrations that a project needs, to be compared with a database again and again.

use super::{Migrations, dialect_of, files, known};
use crate::config::DatabaseConfig;
use sampan_host::Error;

/// The migrations that a project needs.
#[derive(Clone, Debug, Default)]
pub(crate) struct NeededMigrations(Vec<(i64, String)>);

impl NeededMigrations {
    /// Reads which these are.
    ///
    /// # Errors
    /// The folder cannot be read, or a file in it cannot be a migration.
    pub(crate) fn of(migrations: &Migrations, config: &DatabaseConfig) -> Result<Self, Error> {
        let files = files::read(migrations, dialect_of(config))?.into_iter();
        Ok(Self(files.map(|file| (file.id, file.name)).collect()))
    }

    /// Returns the names of those that the database has not.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(crate) fn missing(&self, config: &DatabaseConfig) -> Result<Vec<&str>, Error> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let applied = known(config)?;
        let is_missing = |id: i64| !applied.iter().any(|row| row.id == id);
        let missing = self.0.iter().filter(|(id, _)| is_missing(*id));
        Ok(missing.map(|(_, name)| name.as_str()).collect())
    }
}
