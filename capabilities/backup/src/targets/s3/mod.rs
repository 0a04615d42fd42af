//! A bucket of Amazon S3, or of a server that speaks as it does.
//!
//! Requests go through the client of the server, on the thread of the copy. An object is written by one PUT with
//! `If-None-Match`, so it appears as a whole, and none is replaced.

mod lease;
mod signing;

pub(crate) use signing::Keys;

use super::{Claim, Target, TargetFault};
use jiff::Timestamp;
use lease::Lease;
use sampan_host::StreamedBody;
use sampan_host::fetch::{FetchBody, FetchOptions, FetchRequest, Fetcher, RedirectMode};
use signing::{Unsigned, encode};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

/// The longest time of a request, in milliseconds.
const REQUEST_MILLIS_MAX: u64 = 120_000;
/// The longest time without progress of a request, in milliseconds.
const IDLE_MILLIS_MAX: u64 = 20_000;
/// The most bytes of an answer: more than an object has.
const ANSWER_BYTES_MAX: u64 = 300 * 1024 * 1024;

/// Makes the client of a thread.
pub type MakeFetcher = Arc<dyn Fn() -> Rc<dyn Fetcher> + Send + Sync>;

/// A place in a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) bucket: String,
    /// The beginning of all names, without slashes at its ends; it may be empty.
    pub(crate) prefix: String,
    /// The server, such as `https://minio.example.org:9000`, if it is not Amazon's.
    pub(crate) endpoint: Option<String>,
    pub(crate) region: String,
    pub(crate) keys: Keys,
}

/// A bucket of objects.
pub(crate) struct S3Target {
    place: Bucket,
    runtime: Runtime,
    local: LocalSet,
    fetcher: Rc<dyn Fetcher>,
    /// The lease; absent while it asks this target.
    lease: Option<Lease>,
}

/// An answer, with all of its body.
struct S3Answer {
    status: u16,
    etag: Option<String>,
    body: Vec<u8>,
}

impl S3Answer {
    /// Returns the fault that an answer tells.
    fn fault(&self, what: &str) -> TargetFault {
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
enum Condition {
    /// There is no such object.
    New,
    /// The object is the one with this tag.
    Tag(String),
}

impl S3Target {
    pub(crate) fn new(place: Bucket, fetcher: Rc<dyn Fetcher>) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build();
        Ok(Self {
            place,
            runtime: runtime.map_err(|error| format!("cannot make requests: {error}"))?,
            local: LocalSet::new(),
            fetcher,
            lease: Some(Lease::new()?),
        })
    }

    /// Returns the full name of an object.
    fn key(&self, name: &str) -> String {
        match self.place.prefix.as_str() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        }
    }

    /// Sends a request for the object `key`, or for the bucket if that is empty.
    fn ask(
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
        let own = unsigned.sign(&place.keys).into_iter();
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
    fn write(
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
    fn read(&self, name: &str) -> Result<Option<S3Answer>, TargetFault> {
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

    /// Lists names, or the folders among them, below the folder of the copy.
    fn listed(&self, folder: &str, are_folders: bool) -> Result<Vec<String>, TargetFault> {
        let start = match folder {
            "" => self.key(""),
            folder => format!("{}/", self.key(folder)),
        };
        let own = self.key("");
        let mut names = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let mut query = vec![("list-type", "2"), ("prefix", start.as_str())];
            if let Some(token) = &token {
                query.push(("continuation-token", token));
            }
            if are_folders {
                query.push(("delimiter", "/"));
            }
            query.sort_unstable();
            let answer = self.ask("GET", "", &query, &[], &[])?;
            if answer.status != 200 {
                return Err(answer.fault("cannot list the objects"));
            }
            let text = String::from_utf8_lossy(&answer.body);
            let found = match are_folders {
                true => elements(&text, "CommonPrefixes")
                    .filter_map(|one| element(one, "Prefix"))
                    .collect(),
                false => elements(&text, "Contents")
                    .filter_map(|one| element(one, "Key"))
                    .collect::<Vec<_>>(),
            };
            let found = found.iter().filter_map(|key| key.strip_prefix(&own));
            names.extend(found.map(|name| name.trim_end_matches('/').to_owned()));
            token = element(&text, "NextContinuationToken");
            if token.is_none() {
                names.sort();
                return Ok(names);
            }
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
fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
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
fn element(text: &str, name: &str) -> Option<String> {
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

impl Target for S3Target {
    fn claim(&mut self, note: &str) -> Result<Claim, TargetFault> {
        let mut lease = match self.lease.take() {
            Some(lease) => lease,
            None => Lease::new().map_err(TargetFault::Failed)?,
        };
        let claimed = lease.claim(self, note);
        self.lease = Some(lease);
        claimed
    }

    fn release(&mut self) {
        if let Some(mut lease) = self.lease.take() {
            lease.release(self);
        }
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), TargetFault> {
        if self.write(name, bytes, Condition::New)?.is_some() {
            return Ok(());
        }
        // The answer to an earlier attempt may have been lost.
        match self.read(name)? {
            Some(there) if there.body == bytes => Ok(()),
            _ => Err(TargetFault::Taken(name.to_owned())),
        }
    }

    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, TargetFault> {
        Ok(self.read(name)?.map(|answer| answer.body))
    }

    fn list(&mut self, folder: &str) -> Result<Vec<String>, TargetFault> {
        self.listed(folder, false)
    }

    fn folders(&mut self) -> Result<Vec<String>, TargetFault> {
        self.listed("", true)
    }

    fn remove(&mut self, name: &str) -> Result<(), TargetFault> {
        let answer = self.ask("DELETE", &self.key(name), &[], &[], &[])?;
        match answer.status {
            200..=299 | 404 => Ok(()),
            _ => Err(answer.fault(&format!("cannot remove {name}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read() {
        let text = "<R><Contents><Key>a/b</Key><Size>1</Size></Contents><Contents><Key>a/&amp;c</Key></Contents></R>";
        let keys: Vec<_> = elements(text, "Contents")
            .filter_map(|one| element(one, "Key"))
            .collect();
        assert_eq!(keys, ["a/b", "a/&c"]);
        assert_eq!(element(text, "NextContinuationToken"), None);
    }
}
