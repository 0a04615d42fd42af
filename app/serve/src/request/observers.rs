//! The observers of one request: the record for the access log, and the program that handed the request over.

use crate::request::record::Record;
use sampan_host::Error;
use std::rc::Rc;

/// Notified of failures of a request that its answer does not tell.
pub trait FailureObserver {
    /// The request has failed with this error, which nothing in the script has handled.
    fn failed(&self, error: &Error);
}

/// The observers of one request. Clones share them.
#[derive(Clone, Default)]
pub struct Observers {
    /// The record for the access log.
    pub record: Option<Rc<Record>>,
    /// The program that handed the request over.
    pub failures: Option<Rc<dyn FailureObserver>>,
}

impl Observers {
    /// Notifies the program that handed the request over of a failure.
    #[cold]
    pub(crate) fn failed(&self, error: &Error) {
        if let Some(failures) = &self.failures {
            failures.failed(error);
        }
    }
}
