//! Answers to failing requests in development: a page for people, JSON for programs, with all that is known about it.

use super::super::state::Dev;
use super::page;
use super::policy::OWN_PAGE;
use sampan_project::Project;
use sampan_serve::{ErrorPages, Statements, View, prefers_page};

use sampan_host::{Error, answer};
use sampan_http::Response;
use std::rc::Rc;
use std::sync::Arc;

/// Makes these answers, for one generation of the project.
pub(in crate::dev) struct DevErrors {
    dev: Arc<Dev>,
    project: Project,
}

impl DevErrors {
    pub(in crate::dev) fn new(dev: Arc<Dev>, project: &Project) -> Self {
        Self {
            dev,
            project: project.clone(),
        }
    }

    fn answer_with(
        &self,
        error: &Error,
        second: Option<&Error>,
        own: Option<&str>,
        view: &Rc<View>,
    ) -> Response {
        if error.kind().is_public() {
            return view.answer_to(error);
        }
        let mut response = Response::new(error.kind().status());
        if prefers_page(view.request()) {
            let none = Statements::default();
            let statements = view.record().and_then(|record| record.statements());
            let statements = statements.as_deref().unwrap_or(&none);
            let page = page::of_request(
                &self.dev,
                &self.project,
                [Some(error), second],
                own,
                &**view,
                statements,
            );
            response.content_type(answer::HTML);
            // The handler gives it a policy of its own.
            let _ = response.header(OWN_PAGE.as_bytes(), b"1");
            response.body_mut().extend_from_slice(page.as_bytes());
        } else {
            let mut told = told(error);
            if let Some(second) = second {
                told["on_error"] = self::told(second);
            }
            response.content_type(answer::JSON);
            response
                .body_mut()
                .extend_from_slice(told.to_string().as_bytes());
        }
        response
    }
}

impl ErrorPages for DevErrors {
    /// The client's own faults are answered as always.
    fn answer_to(&self, error: &Error, second: Option<&Error>, view: &Rc<View>) -> Response {
        self.answer_with(error, second, None, view)
    }

    /// The answer to an error that the project's `on_error` has answered: for people a page that links its answer,
    /// which is kept; for programs that answer.
    fn instead_of(&self, error: &Error, own: Response, view: &Rc<View>) -> Response {
        if error.kind().is_public() || !prefers_page(view.request()) {
            return own;
        }
        match self.dev.own_pages.keep(&own) {
            Some(url) => self.answer_with(error, None, Some(&url), view),
            None => own,
        }
    }

    fn returned_nothing(&self, method: &str, pattern: &str) {
        if let Some(language) = self.project.language() {
            let route = format!("{method} {pattern}");
            let dev = &self.dev;
            dev.hints.tell_of_nothing(route, language, &dev.logger);
        }
    }
}

/// An error for programs.
fn told(error: &Error) -> serde_json::Value {
    let place = error.place().map(ToString::to_string);
    let stack = error.stack().map(|stack| {
        let calls: Vec<&str> = stack.lines().map(str::trim).collect();
        calls
    });
    serde_json::json!({ "error": error.message(), "place": place, "stack": stack })
}
