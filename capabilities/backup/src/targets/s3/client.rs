//! Requests to a bucket, from one thread.

use super::Bucket;
use super::signing::{Unsigned, encode};
use crate::targets::TargetFault;
use jiff::Timestamp;
use sampan_host::StreamedBody;
use sampan_host::fetch::{FetchBody, FetchOptions, FetchRequest, Fetcher, RedirectMode};
use std::future::poll_fn;
use std::rc::Rc;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

/// The longest time of a request, in milliseconds.
const REQUEST_MILLIS_MAX: u64 = 120_000;
/// The longest time without progress of a request, in milliseconds.
const IDLE_MILLIS_MAX: u64 = 20_000;
/// The most bytes of an answer: more than an object has.
const ANSWER_BYTES_MAX: u64 = 300 * 1024 * 1024;

/// Sends requests, and waits for their answers.
pub(super) struct S3Client {
    place: Bucket,
    runtime: Runtime,
    local: LocalSet,
    fetcher: Rc<dyn Fetcher>,
}

/// An answer, with all of its body.
pub(super) struct S3Answer {
    pub(super) status: u16,
    pub(super) etag: Option<String>,
    pub(super) body: Vec<u8>,
}

impl S3Answer {
    /// Returns the fault that an answer tells.
    pub(super) fn fault(&self, what: &str) -> TargetFault {
        let text = String::from_utf8_lossy(&self.body);
        let code = element(&text, "Code").unwrap_or_default();
        let message = element(&text, "Message").unwrap_or_default();
        let advice = match self.status {
            403 => ": check the keys, the region, and the rights of the account",
            404 => ": check the bucket and the endpoint",
            _ => "",
        };
        TargetFault::Failed(format!(
            "{what}: the server answers {} {code} {message}{advice}",
            self.status
        ))
    }
}

/// The condition of a PUT.
pub(super) enum Condition {
    /// No such object.
    New,
    /// The object is the one with this tag.
    Tag(String),
}

impl S3Client {
    pub(super) fn new(place: Bucket, fetcher: Rc<dyn Fetcher>) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build();
        Ok(Self {
            place,
            runtime: runtime.map_err(|error| format!("cannot make requests: {error}"))?,
            local: LocalSet::new(),
            fetcher,
        })
    }

    /// Returns the full name of an object.
    pub(super) fn key(&self, name: &str) -> String {
        match self.place.prefix.as_str() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        }
    }

    /// Sends a request for the object `key`, or for the bucket if that is empty.
    pub(super) fn ask(
        &self,
        method: &str,
        key: &str,
        query: &[(&str, &str)],
        more: &[(&str, &str)],
        body: &[u8],
    ) -> Result<S3Answer, TargetFault> {
        let place = &self.place;
        let (base, bucket) = match &place.endpoint {
            Some(endpoint) => (
                endpoint.trim_end_matches('/').to_owned(),
                format!("/{}", place.bucket),
            ),
            // A name with dots fits no certificate.
            None if place.bucket.contains('.') => (
                format!("https://s3.{}.amazonaws.com", place.region),
                format!("/{}", place.bucket),
            ),
            None => (
                format!("https://{}.s3.{}.amazonaws.com", place.bucket, place.region),
                String::new(),
            ),
        };
        let host = base.split_once("://").map_or("", |(_, host)| host);
        let path = format!("{}/{}", encode(&bucket, true), encode(key, true));
        let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let unsigned = Unsigned {
            method,
            host,
            path: &path,
            query,
            body,
            region: &place.region,
            time: &time,
        };
        // Answers are read as they come: MinIO compresses its lists for clients that do not refuse it.
        let plain = ("accept-encoding", "identity".to_owned());
        let own = std::iter::once(plain).chain(unsigned.sign(&place.keys));
        let more = more
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        let fields = own.chain(more);
        let fields =
            fields.map(|(name, value)| (name.as_bytes().into(), value.into_bytes().into()));
        let query = match unsigned.query() {
            query if query.is_empty() => query,
            query => format!("?{query}"),
        };
        let request = FetchRequest {
            method: method.to_owned(),
            url: format!("{base}{path}{query}"),
            fields: fields.collect(),
            body: match method {
                "PUT" => FetchBody::Bytes(body.to_vec()),
                _ => FetchBody::None,
            },
            options: FetchOptions {
                total_millis_max: Some(REQUEST_MILLIS_MAX),
                idle_millis_max: Some(IDLE_MILLIS_MAX),
                head_millis_max: Some(IDLE_MILLIS_MAX),
                answer_bytes_max: Some(ANSWER_BYTES_MAX),
                redirect: RedirectMode::Manual,
                keeps_coding: true,
                ..FetchOptions::default()
            },
        };
        let answered = self.local.block_on(&self.runtime, async {
            let answer = self.fetcher.fetch(request).await?;
            let tag = answer.fields.iter().find(|(name, _)| **name == *b"etag");
            let etag = tag.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
            let body = match answer.body {
                Some(body) => collect(body).await?,
                None => Vec::new(),
            };
            Ok::<_, sampan_host::Error>(S3Answer {
                status: answer.status,
                etag,
                body,
            })
        });
        answered.map_err(|error| TargetFault::Failed(format!("{base}: {}", error.message())))
    }

    /// Writes an object. `None` if the condition is not met.
    pub(super) fn write(
        &self,
        name: &str,
        bytes: &[u8],
        condition: Condition,
    ) -> Result<Option<S3Answer>, TargetFault> {
        let fields: &[(&str, &str)] = match &condition {
            Condition::New => &[("if-none-match", "*")],
            Condition::Tag(tag) => &[("if-match", tag)],
        };
        let answer = self.ask("PUT", &self.key(name), &[], fields, bytes)?;
        match answer.status {
            200..=299 => Ok(Some(answer)),
            409 | 412 => Ok(None),
            404 if matches!(condition, Condition::Tag(_)) => Ok(None),
            _ => Err(answer.fault(&format!("cannot write {name}"))),
        }
    }

    /// Reads an object with its tag.
    pub(super) fn read(&self, name: &str) -> Result<Option<S3Answer>, TargetFault> {
        let answer = self.ask("GET", &self.key(name), &[], &[], &[])?;
        let is_missing = |answer: &S3Answer| {
            let text = String::from_utf8_lossy(&answer.body);
            element(&text, "Code").is_none_or(|code| code == "NoSuchKey")
        };
        match answer.status {
            200 => Ok(Some(answer)),
            404 if is_missing(&answer) => Ok(None),
            _ => Err(answer.fault(&format!("cannot read {name}"))),
        }
    }
}

async fn collect(mut body: Box<dyn StreamedBody>) -> Result<Vec<u8>, sampan_host::Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = poll_fn(|cx| body.poll_chunk(cx)).await {
        bytes.extend_from_slice(&piece?.into_bytes());
    }
    Ok(bytes)
}

/// The texts of all elements with this name, which have no attributes in the answers of S3.
pub(super) fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (start, end) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&start)?;
        let (inside, behind) = after.split_once(&end)?;
        rest = behind;
        Some(inside)
    })
}

/// The text of the first element with this name, without entities.
pub(super) fn element(text: &str, name: &str) -> Option<String> {
    let inside = elements(text, name).next()?;
    let plain = inside
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&apos;", "'")
        .replace("&amp;", "&");
    Some(plain)
}
