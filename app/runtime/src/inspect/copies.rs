//! The states of a database that its copy elsewhere can restore.

use crate::database::Storage;
use crate::database::backup::fetcher;
use sampan_backup::{BackupSettings, RestorableSpan, restorable};

impl Storage {
    /// Lists what the copy of the database has, the oldest first: that of `[backup]`, or the one at `url`.
    ///
    /// # Errors
    /// There is no complete copy, or it cannot be read: one line that says what to do.
    pub fn restorable(&self, url: Option<&str>) -> Result<Vec<RestorableSpan>, String> {
        let fetcher = fetcher(self.fetch.clone(), self.root.clone())?;
        let settings = match url {
            Some(url) => Some(BackupSettings::with_url(&self.backup, url, fetcher)?),
            None => BackupSettings::of(&self.backup, fetcher)
                .map_err(|fault| self.backup.tell(&fault))?,
        };
        restorable(&settings.ok_or("name the URL of the copy, or set url in [backup]")?)
    }
}
