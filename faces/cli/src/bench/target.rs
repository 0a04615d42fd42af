//! The target of the load: where the server is, and the bytes of a request, made once.

use std::net::{SocketAddr, ToSocketAddrs};
use url::Url;

/// The command line's words for a request.
pub(super) struct TargetArgs<'a> {
    pub(super) url: &'a str,
    pub(super) method: Option<&'a str>,
    pub(super) headers: &'a [String],
    pub(super) body: Option<&'a str>,
}

/// The target of the load.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) address: SocketAddr,
    /// The request, head and body.
    pub(super) request: Vec<u8>,
    /// Answers have no body, whatever their head says (RFC 9110 section 9.3.2).
    pub(super) is_head: bool,
    pub(super) method: String,
    pub(super) url: String,
}

impl Target {
    pub(super) fn new(args: &TargetArgs<'_>) -> Result<Self, String> {
        let text = args.url;
        let url = Url::parse(text).map_err(|error| {
            format!("{text} is no address ({error}): write http://127.0.0.1:8080/path, or /path for the project here")
        })?;
        if url.scheme() != "http" {
            return Err(format!(
                "{text}: only http:// can be measured; put the load on the server behind what speaks TLS"
            ));
        }
        let (host, port) = (url.host_str().unwrap_or_default(), url.port().unwrap_or(80));
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found = (bare, port).to_socket_addrs();
        let address = found.ok().and_then(|mut all| all.next());
        let address = address.ok_or_else(|| format!("{host}: nobody knows this host"))?;
        let body = body(args.body)?;
        let method = match (args.method, &body) {
            (Some(method), _) => method.to_owned(),
            (None, Some(_)) => "POST".to_owned(),
            (None, None) => "GET".to_owned(),
        };
        if method.is_empty()
            || !method
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
        {
            return Err(format!("{method:?} is no method"));
        }
        let request = request(&method, &url, args.headers, body.as_deref())?;
        Ok(Self {
            address,
            request,
            is_head: method == "HEAD",
            method,
            url: url.to_string(),
        })
    }
}

fn body(text: Option<&str>) -> Result<Option<Vec<u8>>, String> {
    match text {
        None => Ok(None),
        Some(text) => match text.strip_prefix('@') {
            Some(file) => {
                let read = std::fs::read(file);
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
) -> Result<Vec<u8>, String> {
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
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str, headers: &[&str], body: Option<&str>) -> Result<String, String> {
        let headers: Vec<String> = headers.iter().map(|it| (*it).to_owned()).collect();
        let args = TargetArgs {
            url,
            method: None,
            headers: &headers,
            body,
        };
        Target::new(&args).map(|made| String::from_utf8(made.request).expect("UTF-8"))
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
            ("https://127.0.0.1/", &[][..], "only http://"),
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
