//! A server that speaks as Amazon S3 does, as far as a copy needs it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// The objects that one answer lists at most.
const LISTED_MAX: usize = 7;

/// The way in which the server fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    None,
    /// Answers 503.
    Refuses,
    /// Reads requests, and answers nothing.
    Stalls,
    /// Does what it is asked, and then closes the connection without an answer, each second time.
    LosesAnswers,
}

/// The server, and its objects.
#[derive(Clone)]
pub(super) struct Bucket {
    pub(super) endpoint: String,
    state: Arc<Mutex<BucketState>>,
}

struct BucketState {
    objects: BTreeMap<String, (Vec<u8>, u64)>,
    trouble: Trouble,
    requests: u64,
    writes: u64,
}

/// A request: its line, its fields in lower case, and its body.
struct Asked {
    method: String,
    path: String,
    query: String,
    fields: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Bucket {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let bucket = Self {
            endpoint: format!("http://{address}"),
            state: Arc::new(Mutex::new(BucketState {
                objects: BTreeMap::new(),
                trouble: Trouble::None,
                requests: 0,
                writes: 0,
            })),
        };
        let served = bucket.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let served = served.clone();
                std::thread::spawn(move || while served.serve(&connection).is_some() {});
            }
        });
        bucket
    }

    fn lock(&self) -> MutexGuard<'_, BucketState> {
        self.state.lock().expect("no panic")
    }

    pub(super) fn set(&self, trouble: Trouble) {
        self.lock().trouble = trouble;
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.lock().objects.keys().cloned().collect()
    }

    /// Changes a byte of an object.
    pub(super) fn damage(&self, name: &str) {
        let mut state = self.lock();
        let (bytes, _) = state.objects.get_mut(name).expect("an object");
        let last = bytes.len() - 9;
        bytes[last] ^= 1;
    }

    /// Answers one request. `None` to close the connection.
    fn serve(&self, connection: &TcpStream) -> Option<()> {
        let asked = read(connection)?;
        let trouble = self.lock().trouble;
        match trouble {
            Trouble::Stalls => {
                // Until the client gives up.
                let _ = (&*connection).read(&mut [0]);
                return None;
            }
            Trouble::Refuses => {
                return answer(connection, 503, "", b"<Error><Code>SlowDown</Code></Error>");
            }
            Trouble::None | Trouble::LosesAnswers => {}
        }
        let (status, etag, body) = self.lock().act(&asked);
        if trouble == Trouble::LosesAnswers && self.lock().requests.is_multiple_of(2) {
            return None;
        }
        answer(connection, status, &etag, &body)
    }
}

impl BucketState {
    fn act(&mut self, asked: &Asked) -> (u16, String, Vec<u8>) {
        self.requests += 1;
        let field = |name: &str| asked.fields.get(name).map(String::as_str);
        let authorization = field("authorization").unwrap_or_default();
        let is_signed = authorization.starts_with("AWS4-HMAC-SHA256 Credential=test-key/")
            && authorization.contains("/eu-test-1/s3/aws4_request")
            && authorization.contains("Signature=")
            && field("x-amz-content-sha256").is_some_and(|hash| hash.len() == 64);
        let error = |status, code: &str| {
            let body = format!("<Error><Code>{code}</Code><Message>no</Message></Error>");
            (status, String::new(), body.into_bytes())
        };
        if !is_signed {
            return error(403, "SignatureDoesNotMatch");
        }
        let Some(key) = asked.path.strip_prefix("/copies/") else {
            return error(404, "NoSuchBucket");
        };
        match (asked.method.as_str(), key) {
            // MinIO compresses lists.
            ("GET", "") if field("accept-encoding") != Some("identity") => {
                (200, String::new(), b"\x1f\x8b\x08".to_vec())
            }
            ("GET", "") => (200, String::new(), self.list(&asked.query).into_bytes()),
            ("GET", key) => match self.objects.get(key) {
                Some((bytes, tag)) => (200, format!("\"{tag}\""), bytes.clone()),
                None => error(404, "NoSuchKey"),
            },
            ("PUT", key) => {
                let there = self.objects.get(key).map(|(_, tag)| format!("\"{tag}\""));
                let is_met = match (field("if-none-match"), field("if-match")) {
                    (Some("*"), _) => there.is_none(),
                    (_, Some(tag)) => there.as_deref() == Some(tag),
                    _ => true,
                };
                if !is_met {
                    return error(412, "PreconditionFailed");
                }
                self.writes += 1;
                let tag = self.writes;
                self.objects
                    .insert(key.to_owned(), (asked.body.clone(), tag));
                (200, format!("\"{tag}\""), Vec::new())
            }
            ("DELETE", key) => {
                self.objects.remove(key);
                (204, String::new(), Vec::new())
            }
            _ => error(405, "MethodNotAllowed"),
        }
    }

    fn list(&self, query: &str) -> String {
        let pairs: BTreeMap<&str, String> = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name, value.replace("%2F", "/")))
            .collect();
        let text = |name: &str| pairs.get(name).map(String::as_str).unwrap_or_default();
        let (prefix, after) = (text("prefix"), text("continuation-token"));
        let mut found = Vec::new();
        for key in self.objects.keys().filter(|key| key.starts_with(prefix)) {
            let rest = &key[prefix.len()..];
            let entry = match rest.split_once('/') {
                Some((folder, _)) if text("delimiter") == "/" => {
                    (format!("{prefix}{folder}/"), "CommonPrefixes", "Prefix")
                }
                _ => (key.clone(), "Contents", "Key"),
            };
            if entry.0.as_str() > after && !found.contains(&entry) {
                found.push(entry);
            }
        }
        let more = found.len() > LISTED_MAX;
        found.truncate(LISTED_MAX);
        let mut body = String::from("<ListBucketResult>");
        for (key, outer, inner) in &found {
            body.push_str(&format!("<{outer}><{inner}>{key}</{inner}></{outer}>"));
        }
        if let Some((last, ..)) = found.last().filter(|_| more) {
            body.push_str(&format!(
                "<NextContinuationToken>{last}</NextContinuationToken>"
            ));
        }
        body + "</ListBucketResult>"
    }
}

fn read(connection: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader
        .read_line(&mut line)
        .ok()
        .filter(|length| *length > 0)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut fields = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = fields
        .get("content-length")
        .map_or(0, |text| text.parse().expect("a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        fields,
        body,
    })
}

fn answer(mut connection: &TcpStream, status: u16, etag: &str, body: &[u8]) -> Option<()> {
    let tag = match etag {
        "" => String::new(),
        etag => format!("ETag: {etag}\r\n"),
    };
    let length = match status {
        204 => String::new(),
        _ => format!("Content-Length: {}\r\n", body.len()),
    };
    let head = format!("HTTP/1.1 {status} So\r\n{tag}{length}\r\n");
    connection.write_all(head.as_bytes()).ok()?;
    connection.write_all(body).ok()
}
