//! Where a script's answer is written: straight into the HTTP engine's response.

use crate::request::commit_gate::Visit;
use crate::request::errors;
use crate::request::request_view::View;
use crate::routing::loaded::Control;
use sampan_host::{Error, Fate, ResponseSink, Verdict, answer};
use sampan_http::{Body, BodyError, Response};
use sampan_log::{Level, Logger};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The answer of one call of a handler, while it is being written.
pub(crate) struct Sink {
    response: Response,
    /// The status unless the script sets one.
    status: u16,
    control: Rc<Control>,
    /// The request that is answered, if there is one already.
    view: Option<Rc<View>>,
}

impl Sink {
    /// An empty answer to a request, with the status that holds unless the script sets one.
    pub(crate) fn new(status: u16, control: &Rc<Control>, view: Option<&Rc<View>>) -> Self {
        Self {
            response: Response::new(status),
            status,
            control: Rc::clone(control),
            view: view.cloned(),
        }
    }

    /// What was written.
    pub(crate) fn into_response(self) -> Response {
        self.response
    }
}

impl ResponseSink for Sink {
    fn status(&mut self, status: u16) -> Result<(), Error> {
        self.response
            .set_status(answer::check_status(f64::from(status))?);
        Ok(())
    }

    fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        self.response.header(name, value).map_err(|fault| {
            Error::script(format!(
                "response header {:?}: {fault}",
                String::from_utf8_lossy(name)
            ))
        })
    }

    fn default_type(&mut self, content_type: &'static str) {
        self.response.content_type(content_type);
    }

    fn body(&mut self) -> &mut Vec<u8> {
        self.response.body_mut()
    }

    fn stream(&mut self, body: Box<dyn sampan_host::BodyStream>) {
        self.response.set_body(Body::Stream(Box::new(Stream {
            body,
            visit: self.control.gate.visit(),
            held: None,
            control: Rc::clone(&self.control),
            title: self
                .view
                .as_ref()
                .map_or_else(String::new, |view| view.title()),
        })));
    }

    fn reset(&mut self) {
        self.response = Response::new(self.status);
    }
}

/// A script's stream as the HTTP engine reads it.
struct Stream {
    body: Box<dyn sampan_host::BodyStream>,
    visit: Visit,
    /// A chunk that depends on writes that are not committed.
    held: Option<(Vec<u8>, Fate)>,
    /// Its log receives the errors of the stream, which come too late for any answer.
    control: Rc<Control>,
    /// What the request is called there.
    title: String,
}

impl Stream {
    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, Error>> {
        let held = match self.held.take() {
            Some(held) => held,
            None => {
                let body = &mut self.body;
                let turn = |cx: &mut Context<'_>| body.poll_chunk(cx).map(Option::transpose);
                let made = ready!(self.visit.turn(cx, None, turn))?;
                match (made, self.visit.depends_on()) {
                    (Some(chunk), Some(fate)) => (chunk, fate),
                    (made, _) => return Poll::Ready(Ok(made)),
                }
            }
        };
        match held.1.verdict() {
            None => {
                self.held = Some(held);
                self.visit.wake_when_settled(cx);
                Poll::Pending
            }
            Some(Verdict::Committed) => Poll::Ready(Ok(Some(held.0))),
            Some(Verdict::Failed) => Poll::Ready(Err(Visit::lost())),
        }
    }
}

impl sampan_http::BodyStream for Stream {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>, BodyError>>> {
        self.next(cx).map(|made| {
            made.map_err(|error| {
                log(
                    &self.control.logger,
                    &format!("{} (stream)", self.title),
                    &error,
                );
                BodyError(error.message().to_owned())
            })
            .transpose()
        })
    }
}

/// Logs an error once, with its place and stack; `during` says what was being done.
pub(crate) fn log(logger: &Logger, during: &str, error: &Error) {
    if errors::is_logged(error.kind()) {
        let code = error.code().map(|code| format!(" code={code}"));
        let line = format!("{during}: {error}{}", code.unwrap_or_default());
        logger.with_stack(Level::Error, line, error.stack());
    }
}
