//! The answers to errors of scripts, as people see them.

use crate::answer::errors;
use crate::dispatch::exchange::DispatchedRequest;
use crate::gate::chain_end::ChainEnd;
use crate::gate::commit_gate::Visit;
use crate::gate::response_sink::HttpSink;
use sampan_host::{Error, RequestView};
use sampan_http::{Answer, Response};
use std::rc::Rc;

impl DispatchedRequest {
    /// Returns the error with the place where the route was declared behind its stack, as people see it. The script is
    /// given the error as it is, because the engine knows by it which value was thrown.
    pub(super) fn with_declaration(&self, error: &Error) -> Error {
        let (Some(declared), true) = (self.view.place(), errors::is_logged(error.kind())) else {
            return error.clone();
        };
        let stack = error.stack().unwrap_or_default();
        let line_end = if stack.is_empty() { "" } else { "\n" };
        let stack = format!("{stack}{line_end}  {declared}, where the route is declared");
        error.clone().with_stack(stack)
    }

    /// The answer of the project's `on_error`; in development a page about the error, which links it.
    pub(super) fn answered_by_project(&self, error: &Error, sink: HttpSink) -> Response {
        let response = sink.into_response();
        match &self.loaded.control.dev {
            Some(dev) => dev.instead_of(error, response, &self.view),
            None => response,
        }
    }

    /// Tells developers of a handler that has returned nothing: most often a `return` is missing.
    #[cold]
    pub(super) fn look_for_nothing(&self, sink: &HttpSink) {
        if let Some(dev) = &self.loaded.control.dev
            && matches!(self.end, ChainEnd::Handler(_))
            && sink.is_nothing()
        {
            dev.returned_nothing(self.view.method(), self.view.pattern());
        }
    }

    /// Releases an answer in development: if it is held and its writes are lost, an answer that tells why is sent in
    /// its place.
    #[cold]
    pub(super) fn release_in_development(&self, visit: &Visit, response: Response) -> Answer {
        let behind = visit.fates_behind(&self.view);
        let (response, ticket) = match self.release_now(visit, response) {
            Answer::Held(response, ticket) => (response, ticket),
            answer => return answer,
        };
        let (control, view) = (Rc::clone(&self.loaded.control), Rc::clone(&self.view));
        let ticket = ticket.or_else(move || {
            let lost = control.gate.lost_answer(&behind);
            let lost = lost.at(view.place().cloned());
            let mut told = match &control.dev {
                Some(dev) => dev.answer_to(&lost, None, &view),
                None => view.answer_to(&lost),
            };
            view.tell_id(&mut told);
            told
        });
        Answer::Held(response, ticket)
    }

    /// The error handler failed too: both are logged, and the first one is answered by default.
    pub(super) fn failed_twice(&self, first: &Error, second: &Error) -> Response {
        self.log(second);
        self.default_answer(first, Some(second))
    }

    /// Returns the answer to an error that no `on_error` has handled; `second` is that of an `on_error` that failed.
    pub(super) fn default_answer(&self, error: &Error, second: Option<&Error>) -> Response {
        match &self.loaded.control.dev {
            Some(dev) => dev.answer_to(error, second, &self.view),
            None => self.view.answer_to(error),
        }
    }
}
