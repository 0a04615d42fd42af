//! The target of the load: where the server is, and the bytes of its requests, made once.

use super::wire::TlsTarget;
use clap::Args;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use url::Url;

/// The parts of each request.
#[derive(Args, Default)]
pub(crate) struct RequestArgs {
    /// The method [default: GET, or POST with a body].
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<String>,
    /// A header field.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    headers: Vec<String>,
    /// The body; @FILE reads it from a file.
    #[arg(long, value_name = "TEXT|@FILE")]
    body: Option<String>,
    /// Requests that are sent in turn instead, one in each line: METHOD PATH [BODY].
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "body"])]
    requests: Option<PathBuf>,
    /// Make a full handshake of TLS for each connection, instead of taking up earlier sessions.
    #[arg(long)]
    full_handshakes: bool,
}

impl RequestArgs {
    /// Reports whether one request more changes nothing.
    pub(crate) fn is_plain_get(&self) -> bool {
        self.method.is_none()
            && self.body.is_none()
            && self.requests.is_none()
            && self.headers.is_empty()
    }
}

/// A request as it is sent.
#[derive(Debug)]
pub(super) struct RequestBytes {
    /// Head and body.
    pub(super) bytes: Vec<u8>,
    /// Answers have no body, in spite of their head (RFC 9110 section 9.3.2).
    pub(super) is_head: bool,
}

/// The target of the load.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) address: SocketAddr,
    /// TLS with it, of a target by https.
    pub(super) tls: Option<TlsTarget>,
    /// The requests, sent in turn. At least one.
    pub(super) requests: Vec<RequestBytes>,
    /// The method in reports.
    pub(super) method: String,
    pub(super) url: String,
}

impl Target {
    pub(super) fn new(text: &str, args: &RequestArgs) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| {
            format!("{text} is no address ({error}): write http://127.0.0.1:8080/path, or /path for the project here")
        })?;
        let default_port = match url.scheme() {
            "http" => 80,
            "https" => 443,
            _ => return Err(format!("{text}: only http:// and https:// can be measured")),
        };
        let host = url.host_str().unwrap_or_default();
        let port = url.port().unwrap_or(default_port);
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found = (bare, port).to_socket_addrs();
        let address = found.ok().and_then(|mut all| all.next());
        let address = address.ok_or_else(|| format!("{host}: nobody knows this host"))?;
        let (method, requests) = match &args.requests {
            Some(file) => {
                let requests = several(file, &url, &args.headers)?;
                (format!("{} requests in turn to", requests.len()), requests)
            }
            None => {
                let body = body(args.body.as_deref())?;
                let default = if body.is_some() { "POST" } else { "GET" };
                let method = args.method.as_deref().unwrap_or(default);
                let request = request(method, &url, &args.headers, body.as_deref())?;
                (method.to_owned(), vec![request])
            }
        };
        let tls = (default_port == 443).then(|| TlsTarget::new(bare, !args.full_handshakes));
        Ok(Self {
            address,
            tls: tls.transpose()?,
            requests,
            method,
            url: url.to_string(),
        })
    }
}

/// Reads requests from the lines of a file. Their paths are relative to the target.
fn several(file: &Path, url: &Url, headers: &[String]) -> Result<Vec<RequestBytes>, String> {
    let shown = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty());
    let requests = lines.map(|(number, line)| {
        let mut words = line.splitn(3, ' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next());
        let path = path.ok_or_else(|| format!("{shown}:{number}: write METHOD PATH [BODY]"))?;
        let body = words.next().filter(|body| !body.is_empty());
        let url = url.join(path).map_err(|error| error.to_string());
        url.and_then(|url| request(method, &url, headers, body.map(str::as_bytes)))
            .map_err(|fault| format!("{shown}:{number}: {fault}"))
    });
    let requests: Vec<RequestBytes> = requests.collect::<Result<_, _>>()?;
    match requests.is_empty() {
        true => Err(format!("{shown} has no request")),
        false => Ok(requests),
    }
}

fn body(text: Option<&str>) -> Result<Option<Vec<u8>>, String> {
    match text {
        None => Ok(None),
        Some(text) => match text.strip_prefix('@') {
            Some(file) => {
                let read = fs::read(file);
                read.map(Some)
                    .map_err(|error| format!("cannot read {file}: {error}"))
            }
            None => Ok(Some(text.as_bytes().to_vec())),
        },
    }
}

fn request(
    method: &str,
    url: &Url,
    headers: &[String],
    body: Option<&[u8]>,
) -> Result<RequestBytes, String> {
    let is_part = |byte: u8| byte.is_ascii_alphabetic() || byte == b'-';
    if method.is_empty() || !method.bytes().all(is_part) {
        return Err(format!("{method:?} is no method"));
    }
    let query = url
        .query()
        .map_or(String::new(), |query| format!("?{query}"));
    let mut head = format!("{method} {}{query} HTTP/1.1\r\n", url.path());
    let has = |name: &str| {
        headers.iter().any(|header| {
            let given = header.split_once(':').map_or("", |(given, _)| given);
            given.eq_ignore_ascii_case(name)
        })
    };
    if !has("host") {
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        head += &format!("Host: {}{port}\r\n", url.host_str().unwrap_or_default());
    }
    if let Some(body) = body {
        if !has("content-length") {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        if !has("content-type") && matches!(body.first(), Some(b'{' | b'[')) {
            head += "Content-Type: application/json\r\n";
        }
    }
    for header in headers {
        let (name, value) = header
            .split_once(':')
            .ok_or_else(|| format!("{header:?} is no header field: write \"Name: value\""))?;
        if name.is_empty() || header.contains(['\r', '\n']) || name.contains(' ') {
            return Err(format!(
                "{header:?} is no header field: write \"Name: value\""
            ));
        }
        head += &format!("{name}: {}\r\n", value.trim());
    }
    head += "\r\n";
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body.unwrap_or_default());
    Ok(RequestBytes {
        bytes,
        is_head: method == "HEAD",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str, headers: &[&str], body: Option<&str>) -> Result<String, String> {
        let args = RequestArgs {
            headers: headers.iter().map(|it| (*it).to_owned()).collect(),
            body: body.map(str::to_owned),
            ..RequestArgs::default()
        };
        Target::new(url, &args).map(|mut made| {
            let request = made.requests.remove(0);
            String::from_utf8(request.bytes).expect("UTF-8")
        })
    }

    #[test]
    fn reads_requests_from_the_lines_of_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("requests");
        let made = |text: &str| {
            fs::write(&file, text).expect("written");
            let args = RequestArgs {
                headers: vec!["A: b".to_owned()],
                requests: Some(file.clone()),
                ..RequestArgs::default()
            };
            Target::new("http://127.0.0.1:81/x", &args)
        };
        let target = made("HEAD /a?b=1\n\nPOST /c {\"d\": 1}\n").expect("two requests");
        let requests = target.requests.iter();
        let requests: Vec<_> = requests
            .map(|one| {
                (
                    String::from_utf8_lossy(&one.bytes).into_owned(),
                    one.is_head,
                )
            })
            .collect();
        assert_eq!(
            requests[0],
            (
                "HEAD /a?b=1 HTTP/1.1\r\nHost: 127.0.0.1:81\r\nA: b\r\n\r\n".to_owned(),
                true
            )
        );
        assert!(requests[1].0.starts_with("POST /c HTTP/1.1\r\n") && !requests[1].1);
        assert!(
            requests[1].0.ends_with("\r\n\r\n{\"d\": 1}"),
            "{requests:?}"
        );
        for (text, part) in [
            ("", "has no request"),
            ("GET", "requests:1: write METHOD PATH [BODY]"),
            ("GET /\nG?T /", "requests:2: \"G?T\" is no method"),
        ] {
            let fault = made(text).expect_err(text);
            assert!(fault.contains(part), "{fault}");
        }
    }

    #[test]
    fn a_request_is_made_once_with_what_it_needs() {
        assert_eq!(
            target("http://127.0.0.1:80/a b?c=1", &["X-A:  b "], None).expect("valid"),
            "GET /a%20b?c=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\r\n\r\n"
        );
        assert_eq!(
            target("http://[::1]:81", &[], Some("{}")).expect("valid"),
            "POST / HTTP/1.1\r\nHost: [::1]:81\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}"
        );
        let own = target(
            "http://127.0.0.1",
            &["host: x", "Content-Type: text/plain"],
            Some("["),
        )
        .expect("valid");
        assert!(
            own.contains("host: x\r\n") && !own.contains("Host: 127") && !own.contains("json"),
            "{own}"
        );
    }

    #[test]
    fn what_cannot_be_asked_is_told() {
        for (url, headers, part) in [
            ("ftp://127.0.0.1/", &[][..], "only http:// and https://"),
            ("127.0.0.1", &[][..], "is no address"),
            ("http://127.0.0.1", &["no colon"][..], "is no header field"),
            (
                "http://127.0.0.1",
                &["a: b\r\nc: d"][..],
                "is no header field",
            ),
        ] {
            let fault = target(url, headers, None).expect_err(url);
            assert!(fault.contains(part), "{fault}");
        }
    }
}
