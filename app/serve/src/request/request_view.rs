//! A request as scripts see it: the HTTP engine's request, the parameters of its route, and who sent it.

use crate::answer::error_log::{log_as, log_of};
use crate::answer::errors;
use crate::files::answer_tag;
use crate::request::additions::Additions;
use crate::request::observers::Observers;
use crate::request::record::Record;
use crate::request::route_info::{self, RouteInfo, id_of};
use crate::request::{id, proxies};
use crate::routing::spans::Spans;
use percent_encoding::percent_decode_str;
use sampan_host::log::Log;
use sampan_host::request::AnswerPlans;
use sampan_host::{
    BodySource, Chunk, ConnectionTls, Error, Place, RequestView, Store, StreamedBody,
};
use sampan_http::{Request, Response};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::net::IpAddr;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

/// One request. Nothing is decoded or copied until a script asks for it.
pub struct View {
    request: Rc<Request>,
    /// The path in normal form, where that differs from the path as sent; the spans count in it.
    normal: Option<Box<str>>,
    spans: Spans,
    info: Rc<RouteInfo>,
    /// Made when it is asked for.
    id: OnceCell<Box<str>>,
    observers: Observers,
    /// The body, where the script reads it as it comes.
    incoming: Option<Box<Incoming>>,
    /// The additions of capabilities.
    pub(crate) additions: Additions,
}

/// A body that the script reads as it comes.
struct Incoming {
    source: BodySource,
    /// The time at which the script read last.
    read_at: Rc<Cell<Instant>>,
}

/// The side of it that the HTTP engine fills.
struct IncomingPieces {
    request: Rc<Request>,
    read_at: Rc<Cell<Instant>>,
}

impl Incoming {
    fn new(request: &Rc<Request>) -> Self {
        let read_at = Rc::new(Cell::new(Instant::now()));
        let pieces = IncomingPieces {
            request: Rc::clone(request),
            read_at: Rc::clone(&read_at),
        };
        Self {
            source: BodySource::new(Box::new(pieces)),
            read_at,
        }
    }
}

impl StreamedBody for IncomingPieces {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        self.read_at.set(Instant::now());
        self.request
            .poll_body(cx)
            .map(|piece| piece.map(|piece| piece.map(Chunk::from).map_err(errors::unreadable)))
    }
}

impl View {
    /// A request whose route has the parameters of `info` at `spans` of its path, or of `normal` if there is one.
    pub(crate) fn new(
        request: Rc<Request>,
        normal: Option<Box<str>>,
        spans: Spans,
        info: Rc<RouteInfo>,
        observers: Observers,
    ) -> Self {
        let id = OnceCell::new();
        if let Some(record) = &observers.record {
            record.set_route(&info);
            if let Some(known) = record.id() {
                let _ = id.set(known.into());
            }
        }
        let incoming = request
            .is_streamed()
            .then(|| Box::new(Incoming::new(&request)));
        let additions = Additions::default();
        if let Some(trace) = observers.record.as_ref().and_then(|record| record.trace()) {
            additions.store().put(trace);
        }
        Self {
            incoming,
            request,
            normal,
            spans,
            info,
            id,
            observers,
            additions,
        }
    }

    /// The path in normal form.
    pub(crate) fn normal_path(&self) -> &str {
        match &self.normal {
            Some(path) => path,
            None => self.request.path(),
        }
    }

    /// The request as the HTTP engine has it.
    pub fn request(&self) -> &Rc<Request> {
        &self.request
    }

    /// Returns the record for the access log.
    pub fn record(&self) -> Option<&Rc<Record>> {
        self.observers.record.as_ref()
    }

    /// Notifies the program that handed the request over of a failure.
    #[cold]
    pub(crate) fn failed(&self, error: &Error) {
        self.observers.failed(error);
    }

    /// The default answer to an error that no `on_error` handled, of which the program that handed the request over is
    /// notified too.
    pub fn answer_to(&self, error: &Error) -> Response {
        let mut id = None;
        if errors::is_logged(error.kind()) {
            self.failed(error);
            id = Some(self.id());
        }
        errors::answer_to(error, &self.request, id.as_deref())
    }

    /// Returns the time at which its script asked last for more of a body that it reads as it comes.
    pub(crate) fn read_at(&self) -> Option<Instant> {
        self.incoming
            .as_ref()
            .map(|incoming| incoming.read_at.get())
    }

    /// Puts the id into an answer, where it is known elsewhere: a script asked for it, a line of the log has it, or the
    /// client sent one.
    #[inline]
    pub(crate) fn tell_id(&self, response: &mut Response) {
        if self.id.get().is_some() || self.request.header(id::HEADER).is_some() {
            self.add_id(response);
        }
    }

    #[cold]
    fn add_id(&self, response: &mut Response) {
        if !response.has_header(id::HEADER) {
            // Visible ASCII is always a valid value, and without room for it the answer goes without.
            let _ = response.header(b"X-Request-Id", self.id().as_bytes());
        }
    }

    /// Compresses an answer, if it should be.
    #[inline]
    pub(crate) fn compress(&self, response: &mut Response) {
        let has_compression = self.info.compression.is_some();
        if self.info.has_etag && answer_tag::is_known(&self.request, response, has_compression) {
            return;
        }
        if let Some(compression) = &self.info.compression {
            compression.apply(&self.request, response);
        }
    }

    /// Reports whether answers of the route may be compressed.
    pub(crate) fn may_compress(&self) -> bool {
        self.info.compression.is_some()
    }

    /// Returns the number of the route; 0 if it has none.
    #[inline]
    pub(crate) fn route_number(&self) -> u32 {
        self.info.number
    }

    pub(crate) fn pattern(&self) -> &str {
        &self.info.pattern
    }

    /// Returns the place where the answering route was declared.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.info.place.as_ref()
    }

    fn forwarded(&self, name: &str) -> Vec<&str> {
        route_info::forwarded(&self.request, &self.info.trusted, name)
    }

    /// Returns the name of the request in the log.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.method(), self.path())
    }

    /// Tells the log of an error of the program that answers it.
    #[cold]
    pub(crate) fn log(&self, error: &Error) {
        let text = format!("{}: {error}", self.title());
        log_of(&*self.info.logger, Some(self), text, error);
    }

    /// Returns the parts that the log may need after the answer, without keeping the request and its buffers.
    pub(crate) fn remains(&self) -> AnsweredRequest {
        let (method, path) = (self.method(), self.path());
        let mut title = String::with_capacity(method.len() + 1 + path.len());
        title.push_str(method);
        title.push(' ');
        title.push_str(path);
        AnsweredRequest {
            title,
            id: self.id.get().cloned(),
            info: Rc::clone(&self.info),
            observers: self.observers.clone(),
        }
    }
}

/// The remains of a request whose answer is held.
pub(crate) struct AnsweredRequest {
    /// Method and path.
    title: String,
    /// The id, where it was asked for.
    id: Option<Box<str>>,
    info: Rc<RouteInfo>,
    observers: Observers,
}

impl AnsweredRequest {
    /// Returns the record for the access log.
    pub(crate) fn record(&self) -> Option<&Rc<Record>> {
        self.observers.record.as_ref()
    }

    /// Logs an error of the request, of which the program that handed it over is notified.
    #[cold]
    pub(crate) fn log(&self, logger: &dyn Log, error: &Error) {
        self.observers.failed(error);
        let id = match &self.id {
            Some(id) => id.clone(),
            None => self.info.ids.next(),
        };
        let text = format!("{}: {error}", self.title);
        let request = self
            .title
            .split_once(' ')
            .map(|of| (Cow::Borrowed(&*id), of));
        let trace = self.record().and_then(|record| record.trace());
        log_as(logger, request, trace.map(|trace| trace.ids()), text, error);
    }
}

impl RequestView for View {
    fn method(&self) -> &str {
        self.request.method_str()
    }

    fn path(&self) -> &str {
        self.request.path()
    }

    fn query(&self) -> Option<&str> {
        self.request.query()
    }

    fn url(&self) -> String {
        let scheme = if self.is_https() { "https" } else { "http" };
        let host = route_info::asked_authority(&self.request, &self.info.trusted);
        // RFC 9112 section 3.3: `OPTIONS *` has an empty path.
        if self.path() == "*" {
            return format!("{scheme}://{host}/");
        }
        match self.query() {
            Some(query) => format!("{scheme}://{host}{}?{query}", self.path()),
            None => format!("{scheme}://{host}{}", self.path()),
        }
    }

    fn param(&self, index: usize) -> Option<(&str, Cow<'_, str>)> {
        let name = self.info.params.get(index)?;
        // Only the value is checked for UTF-8, and not the path around it.
        let raw = match &self.normal {
            Some(path) => self.spans.of(path, index),
            None => (self.spans.bytes_of(self.request.path_bytes(), index))
                .and_then(|bytes| str::from_utf8(bytes).ok()),
        };
        let Some(raw) = raw else {
            let host = self.info.has_host_param && index + 1 == self.info.params.len();
            let label = host.then(|| route_info::first_label(&self.request, &self.info.trusted))?;
            return Some((name, Cow::Owned(label)));
        };
        let value = if raw.as_bytes().contains(&b'%') {
            percent_decode_str(raw).decode_utf8_lossy()
        } else {
            Cow::Borrowed(raw)
        };
        Some((name, value))
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.request.header(name)
    }

    fn each_header(&self, each: &mut dyn FnMut(&str, &[u8])) {
        for (name, value) in self.request.headers() {
            each(name, value);
        }
    }

    fn ip(&self) -> String {
        proxies::shown(self.client())
    }

    fn client(&self) -> Option<IpAddr> {
        route_info::client(&self.request, &self.info.trusted)
    }

    fn has_unknown_client(&self) -> bool {
        route_info::has_unknown_client(&self.request, &self.info.trusted)
    }

    fn is_https(&self) -> bool {
        match self.forwarded("x-forwarded-proto").pop() {
            Some(proto) => proto.eq_ignore_ascii_case("https"),
            None => self.request.tls().is_some(),
        }
    }

    fn tls(&self) -> Option<ConnectionTls<'_>> {
        let tls = self.request.tls()?;
        let client = tls.client.as_ref();
        Some(ConnectionTls {
            version: tls.version,
            cipher: tls.cipher,
            sni: tls.server_name.as_deref(),
            subject: client.map(|client| client.subject.as_str()),
            fingerprint: client.map(|client| client.fingerprint.as_str()),
        })
    }

    fn id(&self) -> Cow<'_, str> {
        let id = self.id.get_or_init(|| id_of(&self.request, &self.info));
        Cow::Borrowed(id)
    }

    fn body(&self) -> &[u8] {
        match &self.incoming {
            None => self.request.body(),
            Some(incoming) => incoming.source.whole().unwrap_or_default(),
        }
    }

    fn body_source(&self) -> Option<&BodySource> {
        self.incoming.as_ref().map(|incoming| &incoming.source)
    }

    fn store(&self) -> &Store {
        self.additions.store()
    }

    fn add_header(&self, name: &str, value: &[u8]) -> Result<(), Error> {
        self.additions.add_header(name, value)
    }

    fn default_header(&self, name: &str, value: &[u8]) -> Result<(), Error> {
        self.additions.default_header(name, value)
    }

    fn whole_answer(&self) -> Option<&dyn AnswerPlans> {
        Some(&self.additions)
    }

    fn is_answered(&self) -> bool {
        self.additions.is_answered()
    }

    fn is_over(&self) -> bool {
        self.additions.is_over()
    }
}
