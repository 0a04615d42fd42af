//! Changes of several statements that are kept together or not at all.

use super::JobTable;
use sampan_host::{Error, ErrorKind};

impl JobTable<'_> {
    /// Runs `work`, whose statements are kept together: where it fails, none is, and the other writes of the group go
    /// on.
    pub(crate) fn atomically<T>(self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let mut result = None;
        let run = || -> Result<(), Error> {
            result = Some(work()?);
            Ok(())
        };
        self.0.atomically(Box::new(run))?;
        result.ok_or_else(|| Error::new(ErrorKind::Internal, "a transaction of jobs did not run"))
    }
}
