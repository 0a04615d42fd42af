//! The sink for a script's answer, which writes straight into the HTTP engine's response.

use crate::answer::errors::refused;
use crate::events::body as events;
use crate::files::ServedFile;
use crate::gate::chain_end::{ChainEnd, EndAnswer};
use crate::gate::control::Control;
use crate::gate::script_stream::ScriptStream;
use crate::native::route::NativeHandler;
use crate::request::kept_answer;
use crate::request::request_view::View;
use sampan_host::engine::END_OF_CHAIN;
use sampan_host::request::WholeAnswer;
use sampan_host::sockets::{AcceptedSocket, SOCKET_ANSWER, SOCKET_TYPE};
use sampan_host::{Error, ErrorKind, RequestView, ResponseSink, StreamedBody, answer};
use sampan_http::{Body, Response};
use std::rc::Rc;

/// The answer of one call of a handler, while it is being written.
pub(crate) struct HttpSink {
    response: Response,
    /// The status unless the script sets one.
    status: u16,
    control: Rc<Control>,
    /// The request that is answered, if there is one already.
    view: Option<Rc<View>>,
    /// The answer that the server makes at the end of the chain, where it makes one.
    end: Option<EndAnswer>,
    /// The part of the answer that the script left to the server.
    served: Option<EndAnswer>,
    /// The stream that the script produces while it is sent.
    stream: Option<Box<ScriptStream>>,
    /// True if the handler chose an empty answer.
    is_chosen: bool,
}

impl HttpSink {
    /// An empty answer to a request, with the status that holds unless the script sets one.
    pub(crate) fn new(status: u16, control: &Rc<Control>, view: Option<&Rc<View>>) -> Self {
        Self {
            response: Response::new(status),
            status,
            control: Rc::clone(control),
            view: view.cloned(),
            end: None,
            served: None,
            stream: None,
            is_chosen: false,
        }
    }

    /// An empty answer to a request, at the end of whose chain of middleware stands `end`.
    pub(crate) fn around(end: &ChainEnd, control: &Rc<Control>, view: &Rc<View>) -> Self {
        Self {
            end: end.answer(),
            ..Self::new(end.status(), control, Some(view))
        }
    }

    /// Reports whether the handler has returned nothing, as far as the language tells that from an empty answer.
    pub(crate) fn is_nothing(&self) -> bool {
        let response = &self.response;
        let is_empty = match response.body() {
            Body::Empty => true,
            Body::Bytes(bytes) => bytes.is_empty(),
            _ => false,
        };
        let is_plain =
            response.default_content_type().is_none() && response.headers().next().is_none();
        let is_own = self.served.is_none() && self.stream.is_none() && !self.is_chosen;
        response.status() == 204 && is_empty && is_plain && is_own
    }

    /// Returns the native handler whose answer the script has returned, if it has.
    pub(crate) fn native(&self) -> Option<NativeHandler> {
        match &self.served {
            Some(EndAnswer::Native(handler)) => Some(handler.clone()),
            _ => None,
        }
    }

    /// Reports whether the answer is the socket that the handler has accepted.
    pub(crate) fn is_socket(&self) -> bool {
        matches!(self.served, Some(EndAnswer::Socket)) || self.has_socket_type()
    }

    /// Reports whether the answer is that of a socket, however middleware has copied it.
    fn has_socket_type(&self) -> bool {
        let Some(view) = self.view.as_ref().filter(|view| !view.store().is_empty()) else {
            return false;
        };
        view.store().get::<AcceptedSocket>().is_some()
            && self.response.headers().any(|(name, value)| {
                name.eq_ignore_ascii_case(b"content-type") && value == SOCKET_TYPE.as_bytes()
            })
    }

    /// Returns the written response.
    #[inline]
    pub(crate) fn into_response(mut self) -> Response {
        if let (Some(EndAnswer::File(file)), Some(view)) = (&self.served, &self.view) {
            file.complete(&mut self.response, view.request());
            view.additions.note_file();
        }
        if let Some(stream) = self.stream {
            let body = match &self.view {
                Some(view) => {
                    let meters = self.control.meters.as_deref();
                    events::body_of(stream, &mut self.response, view, meters)
                }
                None => stream.into_body(&self.response),
            };
            self.response.set_body(body);
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
        if self.view.is_none() {
            return Err(Error::script(
                "a file is no value that can be computed once: give the route a function that returns it",
            ));
        }
        if path == END_OF_CHAIN {
            let foreign = || Error::script("this answer belongs to another request");
            self.served = Some(self.end.clone().ok_or_else(foreign)?);
            return Ok(());
        }
        if path == SOCKET_ANSWER {
            self.served = Some(EndAnswer::Socket);
            return Ok(());
        }
        let found = self.control.files.named(path)?;
        let gone = || Error::new(ErrorKind::Status(404), answer::label(404));
        let file: ServedFile = found.ok_or_else(gone)?;
        self.served = Some(EndAnswer::File(Rc::new(file)));
        Ok(())
    }

    fn stream(&mut self, body: Box<dyn StreamedBody>) {
        let stream = ScriptStream::new(body, &self.control, self.view.as_ref());
        self.stream = Some(Box::new(stream));
    }

    fn chosen(&mut self) {
        self.is_chosen = true;
    }

    fn written(&self) -> Option<WholeAnswer> {
        match (&self.served, &self.stream) {
            (None, None) => kept_answer::copy_of(&self.response),
            _ => None,
        }
    }

    fn reset(&mut self) {
        self.response = Response::new(self.status);
        self.served = None;
        self.stream = None;
        self.is_chosen = false;
    }
}
