//! The parts of a request: the project's files, the request and its answer, in memory.

use sampan_host::{Error, RequestView, ResponseSink, Sources, Store, StreamedBody};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

/// Files in memory.
pub(crate) struct Files(pub(crate) HashMap<String, Vec<u8>>);

impl Sources for Files {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).cloned()
    }

    fn names_in(&self, folder: &str) -> Vec<String> {
        let paths = self
            .0
            .keys()
            .map(|path| path.rsplit_once('/').unwrap_or(("", path)));
        let inside = paths.filter(|(parent, _)| *parent == folder);
        inside.map(|(_, name)| name.to_owned()).collect()
    }
}

/// A request made of parts.
#[derive(Default, Clone)]
pub struct TestRequest {
    /// In capitals.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Without its `?`.
    pub query: Option<String>,
    /// Of the route, in its order.
    pub params: Vec<(String, String)>,
    /// In their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Whole.
    pub body: Vec<u8>,
    /// The store of capabilities; a clone of the request begins with nothing.
    pub kept: RequestStore,
}

/// The store of one request.
#[derive(Default, Debug)]
pub struct RequestStore(Store);

impl Clone for RequestStore {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The field lines that capabilities have added.
#[derive(Default)]
struct AddedFields(RefCell<Vec<String>>);

/// The object belongs to a request that is over.
struct IsOver;

/// The field lines that capabilities have added to the answer of a request, as `name: value`.
pub fn added_fields(request: &dyn RequestView) -> Vec<String> {
    let added = request.store().get::<AddedFields>();
    added.map_or_else(Vec::new, |added| added.0.borrow().clone())
}

/// Ends a request, as the server does when its answer has been sent.
pub fn end(request: &dyn RequestView) {
    request.store().put(IsOver);
}

impl RequestView for TestRequest {
    fn method(&self) -> &str {
        &self.method
    }
    fn path(&self) -> &str {
        &self.path
    }
    fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }
    fn url(&self) -> String {
        let query = self
            .query
            .as_ref()
            .map(|query| format!("?{query}"))
            .unwrap_or_default();
        format!("http://test.example{}{query}", self.path)
    }
    fn param(&self, index: usize) -> Option<(&str, Cow<'_, str>)> {
        self.params
            .get(index)
            .map(|(name, value)| (name.as_str(), Cow::Borrowed(value.as_str())))
    }
    fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| &value[..])
    }
    fn each_header(&self, each: &mut dyn FnMut(&str, &[u8])) {
        self.headers
            .iter()
            .for_each(|(name, value)| each(name, value));
    }
    fn ip(&self) -> String {
        "192.0.2.1".into()
    }
    fn id(&self) -> Cow<'_, str> {
        Cow::Borrowed("r1")
    }
    fn body(&self) -> &[u8] {
        &self.body
    }
    fn store(&self) -> &Store {
        &self.kept.0
    }
    fn add_header(&self, name: &str, value: &[u8]) -> Result<(), Error> {
        if value.iter().any(|byte| *byte < 0x20) {
            return Err(Error::script("control byte in a header"));
        }
        let added = match self.store().get::<AddedFields>() {
            Some(added) => added,
            None => self.store().put(AddedFields::default()),
        };
        let line = format!("{name}: {}", String::from_utf8_lossy(value));
        added.0.borrow_mut().push(line);
        Ok(())
    }
    fn is_over(&self) -> bool {
        self.store().get::<IsOver>().is_some()
    }
}

/// `GET path`, with the query split off.
pub fn get(path: &str) -> TestRequest {
    let (path, query) = match path.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (path, None),
    };
    TestRequest {
        method: "GET".into(),
        path: path.into(),
        query,
        ..TestRequest::default()
    }
}

/// `POST path` with a body.
pub fn post(path: &str, content_type: &str, body: &str) -> TestRequest {
    let headers = vec![("Content-Type".to_owned(), content_type.as_bytes().to_vec())];
    TestRequest {
        method: "POST".into(),
        headers,
        body: body.as_bytes().to_vec(),
        ..get(path)
    }
}

/// An answer as the sink received it.
#[derive(Default)]
pub struct TestAnswer {
    /// The status that was set.
    pub status: Option<u16>,
    /// In their order.
    pub headers: Vec<(String, String)>,
    /// The content type where no field says it.
    pub default_type: Option<&'static str>,
    /// The written body.
    pub body: Vec<u8>,
    /// The stream after that.
    pub stream: Option<Box<dyn StreamedBody>>,
}

impl std::fmt::Debug for TestAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:?} {}", self.code(), self.headers, self.text())
    }
}

impl TestAnswer {
    /// The status that a client sees.
    pub fn code(&self) -> u16 {
        self.status.unwrap_or(200)
    }
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    /// The first field of this (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name));
        found
            .map(|(_, value)| value.as_str())
            .or(if name == "content-type" {
                self.default_type
            } else {
                None
            })
    }
}

impl ResponseSink for TestAnswer {
    fn status(&mut self, status: u16) -> Result<(), Error> {
        self.status = Some(status);
        Ok(())
    }
    fn header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        if value.iter().any(|byte| *byte < 0x20 && *byte != b'\t') {
            return Err(Error::script("control byte in a header"));
        }
        let text = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|&byte| char::from(byte))
                .collect::<String>()
        };
        self.headers.push((text(name), text(value)));
        Ok(())
    }
    fn default_type(&mut self, content_type: &'static str) {
        self.default_type = Some(content_type);
    }
    fn body(&mut self) -> &mut Vec<u8> {
        &mut self.body
    }
    fn stream(&mut self, body: Box<dyn StreamedBody>) {
        self.stream = Some(body);
    }
    fn reset(&mut self) {
        *self = Self::default();
    }
}
