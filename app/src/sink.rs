//! Where a script's answer is written: straight into the HTTP engine's response.

use crate::errors;
use sampan_host::{Error, ResponseSink};
use sampan_http::{Body, BodyError, Response};
use sampan_log::{Level, Logger};
use std::rc::Rc;
use std::task::{Context, Poll};

/// The answer of one call of a handler, while it is being written.
pub(crate) struct Sink {
    response: Response,
    /// The status unless the script sets one.
    status: u16,
    /// Receives errors of a stream, which come too late for any answer.
    logger: Rc<Logger>,
}

impl Sink {
    /// An empty answer with the status that holds unless the script sets one.
    pub(crate) fn new(status: u16, logger: &Rc<Logger>) -> Self {
        Self {
            response: Response::new(status),
            status,
            logger: Rc::clone(logger),
        }
    }

    /// What was written.
    pub(crate) fn into_response(self) -> Response {
        self.response
    }
}

impl ResponseSink for Sink {
    fn status(&mut self, status: u16) -> Result<(), Error> {
        if !(200..=599).contains(&status) {
            return Err(Error::script(format!(
                "a response's status must be 200 to 599, not {status}"
            )));
        }
        self.response.set_status(status);
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
            logger: Rc::clone(&self.logger),
        })));
    }

    fn reset(&mut self) {
        self.response = Response::new(self.status);
    }
}

/// A script's stream as the HTTP engine reads it.
struct Stream {
    body: Box<dyn sampan_host::BodyStream>,
    logger: Rc<Logger>,
}

impl sampan_http::BodyStream for Stream {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>, BodyError>>> {
        self.body.poll_chunk(cx).map(|chunk| {
            chunk.map(|result| {
                result.map_err(|error| {
                    log(&self.logger, "stream", &error);
                    BodyError(error.message().to_owned())
                })
            })
        })
    }
}

/// Logs an error once, with its place and stack; `during` says what was being done.
pub(crate) fn log(logger: &Logger, during: &str, error: &Error) {
    if errors::is_logged(error.kind()) {
        logger.with_stack(Level::Error, format!("{during}: {error}"), error.stack());
    }
}
