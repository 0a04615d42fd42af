//! The sink for a script's answer, which writes straight into the HTTP engine's response.

use crate::embedding::ChainEnd;
use crate::request::commit_gate::Visit;
use crate::request::errors;
use crate::request::given_up::{Rest, WaitingRequest, end_in_order};
use crate::request::request_view::View;
use crate::routing::loaded::Control;
use crate::scripts;
use crate::static_files::ServedFile;
use sampan_host::{
    Chunk, Error, ErrorKind, Fate, RequestView, ResponseSink, StreamedBody, Verdict, answer,
    refusals,
};
use sampan_http::codec::Exceeded;
use sampan_http::{Body, BodyError, HeaderError, Response};
use sampan_log::{Cause, Entry, Level, Logger};
use std::borrow::Cow;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The answer of one call of a handler, while it is being written.
pub(crate) struct HttpSink {
    response: Response,
    /// The status unless the script sets one.
    status: u16,
    control: Rc<Control>,
    /// The request that is answered, if there is one already.
    view: Option<Rc<View>>,
    /// The file that is the body, if one is.
    file: Option<Rc<ServedFile>>,
    /// True if the answer is what stands for that of a native handler.
    is_native: bool,
}

impl HttpSink {
    /// An empty answer to a request, with the status that holds unless the script sets one.
    pub(crate) fn new(status: u16, control: &Rc<Control>, view: Option<&Rc<View>>) -> Self {
        Self {
            response: Response::new(status),
            status,
            control: Rc::clone(control),
            view: view.cloned(),
            file: None,
            is_native: false,
        }
    }

    /// Reports whether the script returned what stands for the answer of a native handler.
    pub(crate) fn is_native(&self) -> bool {
        self.is_native
    }

    /// Returns the written response.
    #[inline]
    pub(crate) fn into_response(mut self) -> Response {
        if let (Some(file), Some(view)) = (&self.file, &self.view) {
            file.complete(&mut self.response, view.request());
        }
        self.response
    }
}

impl ResponseSink for HttpSink {
    fn status(&mut self, status: u16) -> Result<(), Error> {
        self.response
            .set_status(answer::check_status(f64::from(status))?);
        Ok(())
    }

    fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        self.response
            .header(name, value)
            .map_err(|fault| refused(fault, name))
    }

    fn default_type(&mut self, content_type: &'static str) {
        self.response.content_type(content_type);
    }

    fn body(&mut self) -> &mut Vec<u8> {
        self.response.body_mut()
    }

    fn lend(&mut self, body: Box<dyn AsRef<[u8]>>) {
        self.response.set_body(Body::Lent(body));
    }

    fn file(&mut self, path: &str) -> Result<(), Error> {
        let Some(view) = &self.view else {
            return Err(Error::script(
                "a file is no value that can be computed once: give the route a function that returns it",
            ));
        };
        if ChainEnd::is_named(path, &**view) {
            self.is_native = true;
            return Ok(());
        }
        let wrapped = view.store().get::<ServedFile>();
        let file = match wrapped.filter(|file| file.path == path) {
            Some(file) => file,
            None => {
                let found = self.control.files.named(path)?;
                let gone = || Error::new(ErrorKind::Status(404), answer::label(404));
                Rc::new(found.ok_or_else(gone)?)
            }
        };
        self.file = Some(file);
        Ok(())
    }

    fn stream(&mut self, body: Box<dyn StreamedBody>) {
        if let Some(view) = &self.view {
            view.additions.begin_part();
        }
        self.response.set_body(Body::Stream(Box::new(ScriptStream {
            body: Some(body),
            visit: self.control.gate.visit(),
            held: None,
            control: Rc::clone(&self.control),
            view: self.view.clone(),
        })));
    }

    fn reset(&mut self) {
        self.response = Response::new(self.status);
        self.file = None;
        self.is_native = false;
    }
}

/// Returns the error for a field line that cannot be sent.
#[cold]
pub(crate) fn refused(fault: HeaderError, name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name);
    match fault {
        HeaderError::InvalidName => refusals::header_name(&name),
        HeaderError::InvalidValue => refusals::header_value(&name),
        HeaderError::InvalidLength | HeaderError::TooLarge => Error::script(fault.to_string()),
    }
}

/// A script's stream as the HTTP engine reads it.
struct ScriptStream {
    /// None once it has ended.
    body: Option<Box<dyn StreamedBody>>,
    visit: Visit,
    /// A chunk that depends on writes that are not committed.
    held: Option<(Chunk, Fate)>,
    /// The control whose log receives the errors of the stream, which come too late for any answer.
    control: Rc<Control>,
    /// The request that is answered.
    view: Option<Rc<View>>,
}

impl ScriptStream {
    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Chunk>, Error>> {
        let held = match self.held.take() {
            Some(held) => held,
            None => {
                let (body, visit) = (&mut self.body, &mut self.visit);
                let turn = |cx: &mut Context<'_>| {
                    let polled = match body {
                        Some(body) => body.poll_chunk(cx).map(Option::transpose),
                        None => Poll::Ready(Ok(None)),
                    };
                    if let Poll::Ready(Ok(None) | Err(_)) = polled {
                        *body = None;
                    }
                    polled
                };
                let run = || visit.turn(cx, None, turn);
                let made = ready!(self.control.during(self.view.as_ref(), run))?;
                let view = self.view.as_ref();
                if made.is_some() && view.is_some_and(|view| self.visit.may_be_rolled_back(view)) {
                    // Holding it would keep the script from going on, and the transaction from its end.
                    return Poll::Ready(Err(Error::script(
                        "a chunk cannot leave while the request has a transaction open: write it before or after \
                         db.transaction",
                    )));
                }
                match (made, self.visit.depends_on()) {
                    (Some(chunk), Some(fate)) => (chunk.keep(), fate),
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

impl ScriptStream {
    /// A reload gives streams of the old project some time, and no more.
    #[cold]
    fn cut_off(&self) -> BodyError {
        let millis = self.control.shutdown_time_max.as_millis();
        let reason = format!("cut after a reload (shutdown_millis_max, {millis} ms)");
        if let Some(view) = &self.view {
            let text = format!("{} (stream): {reason}", view.title());
            warn_cut(&self.control, view, text);
        }
        BodyError(reason)
    }
}

impl Drop for ScriptStream {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            let request = WaitingRequest {
                control: Rc::clone(&self.control),
                view: self.view.clone(),
                route: None,
            };
            end_in_order(request, Rest::Body(body));
        }
        if let Some(view) = &self.view {
            view.additions.end_part();
        }
    }
}

impl sampan_http::BodyStream for ScriptStream {
    fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<sampan_http::Chunk, BodyError>>> {
        if self.control.is_cut_off.get() && self.body.is_some() {
            return Poll::Ready(Some(Err(self.cut_off())));
        }
        self.next(cx).map(|made| {
            let made = made.map(|chunk| {
                chunk.map(|chunk| match chunk {
                    Chunk::Bytes(bytes) => sampan_http::Chunk::Bytes(bytes),
                    Chunk::Lent(lender) => sampan_http::Chunk::Lent(lender),
                    Chunk::LentBriefly(lender) => sampan_http::Chunk::LentBriefly(lender),
                })
            });
            made.map_err(|error| {
                // The status is sent, so whatever it is, the client learns nothing but the cut.
                let error = match error.kind() {
                    ErrorKind::Stopped => error,
                    _ => error.with_kind(ErrorKind::Internal),
                };
                scripts::tell_caller(&error);
                log(&self.control, self.view.as_ref(), " (stream)", &error);
                BodyError(error.message().to_owned())
            })
            .transpose()
        })
    }

    fn cut(&mut self, limit: Exceeded) {
        let limit_text = format!("({}, {} ms)", limit.name, limit.max);
        match &self.view {
            Some(view) if limit.name == "shutdown_millis_max" => {
                let text = format!(
                    "{} (stream): cut by the shutdown {limit_text}",
                    view.title()
                );
                warn_cut(&self.control, view, text);
            }
            view => {
                let text = format!("cut, as it sent nothing for too long {limit_text}");
                let error = Error::new(ErrorKind::Timeout, text);
                log(&self.control, view.as_ref(), " (stream)", &error);
            }
        }
    }
}

/// Logs that the shutdown cut a request.
#[cold]
pub(crate) fn warn_cut(control: &Control, view: &View, text: String) {
    let entry = Entry {
        id: Some(view.id()),
        request: Some((view.method(), view.path())),
        ..Entry::text(text)
    };
    let cause = Cause::place("cut by the shutdown");
    control.logger.write_limited(Level::Warn, cause, &entry);
}

impl Control {
    /// Runs scripts for a request: the log and the access log know whose they are meanwhile.
    #[inline]
    pub(crate) fn during<T>(&self, view: Option<&Rc<View>>, run: impl FnOnce() -> T) -> T {
        let request = view.map(|view| Rc::clone(view) as Rc<dyn RequestView>);
        let before = self.current.set(request);
        let begun = self.current.begin();
        if begun.is_some() {
            // What others have left is not this request's. Statements that ran between two runs are of what goes on
            // now.
            self.current.take();
        }
        let done = run();
        if let (Some(begun), Some(record)) = (begun, view.and_then(|view| view.record())) {
            let all = begun.elapsed();
            let (inside, waited) = self.current.take();
            record.add_script(all.saturating_sub(inside));
            record.add_db(inside + waited);
            record.add_statements(self.current.take_statements());
        }
        self.current.set(before);
        done
    }
}

/// Logs an error once, with its place and stack and the request that it belongs to; `part` says which part of its
/// answer.
#[cold]
pub(crate) fn log(control: &Control, view: Option<&Rc<View>>, part: &str, error: &Error) {
    let request = view.map(|view| Rc::clone(view) as Rc<dyn RequestView>);
    let text = match view {
        Some(view) => format!("{}{part}: {error}", view.title()),
        None => format!("{part}: {error}"),
    };
    log_of(&control.logger, request.as_deref(), text, error);
}

/// Logs an error of a request, if it is one of any, in a text that tells it.
#[cold]
pub(crate) fn log_of(
    logger: &Logger,
    request: Option<&dyn RequestView>,
    text: String,
    error: &Error,
) {
    let request = request.map(|request| (request.id(), (request.method(), request.path())));
    log_as(logger, request, text, error);
}

/// Logs for a request of which only the id, the method and the path are left.
#[cold]
pub(crate) fn log_as(
    logger: &Logger,
    request: Option<(Cow<'_, str>, (&str, &str))>,
    text: String,
    error: &Error,
) {
    if !errors::is_logged(error.kind()) {
        return;
    }
    let cause = match error.place() {
        Some(place) => Cause::raised_at(&place.to_string(), error.stack()),
        None => Cause::message(error.message()),
    };
    let code = error.code().map(|code| [("code".to_owned(), code.into())]);
    let entry = Entry {
        fields: code.as_ref().map_or(&[], |code| code.as_slice()),
        stack: error.stack(),
        request: request.as_ref().map(|(_, line)| *line),
        id: request.map(|(id, _)| id),
        ..Entry::text(text)
    };
    logger.write_limited(errors::level(error), cause, &entry);
}
