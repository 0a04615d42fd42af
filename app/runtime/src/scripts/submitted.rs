//! A request that a program handed over, on its way through the project: what fails is reported to the program.

use sampan_host::database::LOST_WRITES;
use sampan_host::{Error, ErrorKind};
use sampan_http::codec::{Exceeded, Fault};
use sampan_http::{Answer, Handler, Observer, Request, Response};
use sampan_serve::{Dispatch, FailureObserver, Observers};
use std::cell::RefCell;
use std::rc::Rc;

/// Handles one request as the server does, and keeps the error that its answer does not tell.
pub(super) struct SubmittedRequest {
    dispatch: Rc<Dispatch>,
    failure: Rc<FirstFailure>,
}

/// The first failure of a request; others come of it.
#[derive(Default)]
struct FirstFailure(RefCell<Option<Error>>);

impl FailureObserver for FirstFailure {
    fn failed(&self, error: &Error) {
        self.0.borrow_mut().get_or_insert_with(|| error.clone());
    }
}

impl SubmittedRequest {
    pub(super) fn new(dispatch: Rc<Dispatch>) -> Self {
        Self {
            dispatch,
            failure: Rc::default(),
        }
    }

    /// Returns the error that nothing in the script has handled.
    pub(super) fn into_failure(self) -> Option<Error> {
        self.failure.0.take()
    }

    fn observers(&self) -> Observers {
        Observers {
            record: None,
            failures: Some(Rc::clone(&self.failure) as Rc<dyn FailureObserver>),
        }
    }
}

impl Handler for SubmittedRequest {
    fn inner(&self) -> Option<&dyn Handler> {
        Some(&*self.dispatch)
    }

    fn handle(&self, request: &Rc<Request>, _: Option<Rc<dyn Observer>>) -> Answer {
        self.dispatch.handle_observed(request, self.observers())
    }

    fn refuse_body(
        &self,
        request: &Rc<Request>,
        fault: Fault,
        _: Option<Rc<dyn Observer>>,
    ) -> Answer {
        self.dispatch
            .refuse_observed(request, fault, self.observers())
    }

    fn error(&self, status: u16, limit: Option<Exceeded>) -> Response {
        match status {
            // The writes of the request were lost behind its answer, or it never began.
            500 => self
                .failure
                .failed(&Error::new(ErrorKind::Internal, LOST_WRITES)),
            504 => {
                let late = Error::new(ErrorKind::Timeout, "no answer in time");
                self.failure.failed(&late);
            }
            _ => {}
        }
        self.dispatch.error(status, limit)
    }

    fn panicked(&self, message: &str) {
        self.failure
            .failed(&Error::new(ErrorKind::Internal, message));
        self.dispatch.panicked(message);
    }
}
