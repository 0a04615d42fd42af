//! The requests that mocks get, and their answers.

use crate::project::limits::JSON_DEPTH_MAX;
use sampan_host::fetch::{FetchAnswer, FetchBody, FetchFault, FetchRequest, FieldLines};
use sampan_host::json::{Tape, write_value};
use sampan_host::{Chunk, Error, StreamedBody, Value, refusals};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{self, Poll};

/// The members of an answer.
const MEMBERS: [&str; 6] = ["status", "headers", "body", "json", "chunks", "error"];

/// The faults that a mock can give, by the names for them.
const FAULTS: [(&str, FetchFault); 5] = [
    ("dns", FetchFault::Name),
    ("connect", FetchFault::Connect),
    ("tls", FetchFault::Tls),
    ("timeout", FetchFault::Timeout),
    ("closed", FetchFault::Closed),
];

/// The code of faults that a mock gives on purpose.
pub(super) fn unless_a_fault(error: Error) -> Result<(), Error> {
    let is_meant = FAULTS
        .iter()
        .any(|(_, fault)| error.code() == Some(fault.code()));
    if is_meant { Ok(()) } else { Err(error) }
}

/// A request with its whole body.
#[derive(Default)]
pub(super) struct MockRequest {
    method: String,
    url: String,
    fields: FieldLines,
    body: Vec<u8>,
}

impl MockRequest {
    /// Reads the body to its end.
    pub(super) async fn read(request: FetchRequest) -> Result<Self, Error> {
        let body = match request.body {
            FetchBody::None => Vec::new(),
            FetchBody::Bytes(bytes) => bytes,
            FetchBody::Stream { mut body, .. } => {
                let mut bytes = Vec::new();
                while let Some(piece) = poll_fn(|cx| body.poll_chunk(cx)).await {
                    bytes.extend_from_slice(&piece?.into_bytes());
                }
                bytes
            }
        };
        Ok(Self {
            method: request.method,
            url: request.url,
            fields: request.fields,
            body,
        })
    }

    /// Returns the request as tests see it.
    pub(super) fn shown(&self) -> Value {
        let mut headers: Vec<(String, Value)> = Vec::new();
        for (name, value) in &self.fields {
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            let value = String::from_utf8_lossy(value).into_owned();
            match headers.iter_mut().find(|(known, _)| *known == name) {
                Some((_, Value::Text(known))) => *known = format!("{known}, {value}"),
                _ => headers.push((name, value.into())),
            }
        }
        let mut members = vec![
            ("method".to_owned(), Value::from(&*self.method)),
            ("url".to_owned(), Value::from(&*self.url)),
            ("headers".to_owned(), Value::Map(headers)),
        ];
        let mut tape = Tape::default();
        let is_json = self.field("content-type").is_some_and(|given| {
            let essence = given.split(|byte| *byte == b';').next().unwrap_or_default();
            essence.trim_ascii().ends_with(b"json")
        });
        if is_json && tape.read(&self.body, JSON_DEPTH_MAX).is_ok() {
            members.push(("json".to_owned(), tape.value(&self.body)));
        }
        let body = match String::from_utf8(self.body.clone()) {
            Ok(text) => Value::Text(text),
            Err(other) => Value::Bytes(other.into_bytes()),
        };
        members.push(("body".to_owned(), body));
        Value::Map(members)
    }

    fn field(&self, name: &str) -> Option<&[u8]> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
        found.map(|(_, value)| &**value)
    }
}

/// Makes the answer that a test has given: a text, or a table or object with `status`, `headers`, and `body`, `json` or
/// `chunks`; or with `error`.
///
/// # Errors
/// The answer is not one, or is a fault on purpose.
pub(super) fn answer_of(answer: Value, request: &MockRequest) -> Result<FetchAnswer, Error> {
    let members = match answer {
        Value::Map(members) => members,
        Value::List(none) if none.is_empty() => Vec::new(),
        text @ (Value::Text(_) | Value::Bytes(_)) => vec![("body".to_owned(), text)],
        other => {
            return Err(Error::script(format!(
                "the answer of t.fetch_mock must be a text, or have status, headers, and body, json or chunks, \
                 not {}",
                other.type_name()
            ))
            .naming(["fetch_mock"]));
        }
    };
    let (mut status, mut fields, mut pieces) = (200, FieldLines::new(), VecDeque::new());
    let mut content_type = None;
    for (name, value) in members {
        match (&*name, value) {
            (_, Value::Null) if name != "json" => {}
            ("status", Value::Int(given)) if (200..=599).contains(&given) => status = given as u16,
            ("status", _) => return Err(Error::script("status must be from 200 to 599")),
            ("headers", Value::Map(headers)) => add_fields(&mut fields, headers)?,
            ("body", value) => pieces = [bytes_of("body", value)?].into(),
            ("json", value) => {
                let mut body = Vec::new();
                write_value(&mut body, &value, JSON_DEPTH_MAX)?;
                pieces = [body].into();
                content_type = Some("application/json");
            }
            // An empty list of Lua.
            ("chunks", Value::Map(chunks)) if chunks.is_empty() => {}
            ("chunks", Value::List(chunks)) => {
                let chunks = chunks.into_iter().map(|chunk| bytes_of("chunks", chunk));
                pieces = chunks.collect::<Result<_, _>>()?;
            }
            ("error", Value::Text(name)) => return Err(fault(&name, request)),
            (known, value) if MEMBERS.contains(&known) => {
                let found = value.type_name();
                return Err(Error::script(format!("{known} cannot be {found}")));
            }
            (unknown, _) => return Err(refusals::unknown_option(unknown, &MEMBERS)),
        }
    }
    let is_there = |name: &[u8]| fields.iter().any(|(known, _)| **known == *name);
    if let Some(content_type) = content_type.filter(|_| !is_there(b"content-type")) {
        let field = (b"content-type".as_slice(), content_type.as_bytes());
        fields.push((field.0.into(), field.1.into()));
    }
    let has_body = request.method != "HEAD" && !matches!(status, 204 | 205 | 304);
    Ok(FetchAnswer {
        status,
        status_text: String::new(),
        fields,
        url: request.url.clone(),
        is_redirected: false,
        body: has_body.then(|| {
            let pieces = Pieces {
                rest: pieces,
                has_waited: false,
            };
            Box::new(pieces) as Box<dyn StreamedBody>
        }),
    })
}

fn fault(name: &str, request: &MockRequest) -> Error {
    let url = &request.url;
    match FAULTS.iter().find(|(known, _)| *known == name) {
        Some((_, fault)) => {
            fault.error(format!("{url}: a fault of this kind was asked for: {name}"))
        }
        None => {
            let names: Vec<&str> = FAULTS.iter().map(|(name, _)| *name).collect();
            Error::script(format!("error must be one of {}", names.join(", ")))
        }
    }
}

fn add_fields(fields: &mut FieldLines, headers: Vec<(String, Value)>) -> Result<(), Error> {
    for (name, value) in headers {
        let name = name.to_ascii_lowercase().into_bytes();
        let values = match value {
            Value::List(values) => values,
            value => vec![value],
        };
        for value in values {
            let value = match value {
                Value::Int(number) => number.to_string().into_bytes(),
                value => bytes_of("headers", value)?,
            };
            fields.push((name.clone().into(), value.into()));
        }
    }
    Ok(())
}

fn bytes_of(name: &str, value: Value) -> Result<Vec<u8>, Error> {
    match value {
        Value::Text(text) => Ok(text.into_bytes()),
        Value::Bytes(bytes) => Ok(bytes),
        other => {
            let found = other.type_name();
            Err(Error::script(format!("{name} must be a text, not {found}")))
        }
    }
}

/// A body of these pieces, one at each read.
struct Pieces {
    rest: VecDeque<Vec<u8>>,
    /// True if the reader has waited for the next piece. It gets all that is ready as one chunk, so it waits for each.
    has_waited: bool,
}

impl StreamedBody for Pieces {
    fn poll_chunk(&mut self, cx: &mut task::Context<'_>) -> Poll<Option<Result<Chunk, Error>>> {
        if std::mem::replace(&mut self.has_waited, false) {
            return Poll::Ready(self.rest.pop_front().map(|piece| Ok(piece.into())));
        }
        self.has_waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
