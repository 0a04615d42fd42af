//! The pages of `public/` that answer browsers where no file is.

use super::{Served, StaticFiles};
use crate::files::answer::{Freshness, ServedFile};
use sampan_host::{Error, ErrorKind};
use std::io;

impl StaticFiles {
    /// The page that answers where nothing is at a path in normal form: for the paths of an application that runs in
    /// the browser. Paths with an extension are those of files.
    ///
    /// # Errors
    /// It is there, but cannot be read at the moment.
    pub(crate) fn find_fallback(&self, path: &str) -> io::Result<Option<Served>> {
        let name = path.rsplit('/').next().unwrap_or_default();
        match &self.settings.fallback {
            Some(fallback) if !name.contains('.') => Ok(match self.find(fallback)? {
                Some(Served::File(file)) => Some(Served::Fallback(file)),
                other => other,
            }),
            _ => Ok(None),
        }
    }

    /// The page of 404 for browsers; `None` where the settings name none, and while it cannot be read.
    pub(crate) fn not_found(&self) -> Option<ServedFile> {
        match self.find(self.settings.not_found.as_ref()?) {
            Ok(Some(Served::File(file))) => Some(self.wrapped(file, Freshness::Fallback)),
            _ => None,
        }
    }

    /// Refuses a page of 404 that is not there.
    pub(super) fn check_not_found(&self) -> Result<(), Error> {
        let Some(path) = &self.settings.not_found else {
            return Ok(());
        };
        let has_page = matches!(self.find(path), Ok(Some(Served::File(_))));
        // A project in memory has no files.
        if has_page || self.project.is_none() {
            return Ok(());
        }
        let folder = &self.settings.folder;
        let text =
            format!("[static] not_found: there is no file {folder}{path} that can be served");
        Err(Error::new(ErrorKind::Load, text))
    }
}
