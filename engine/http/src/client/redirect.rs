//! Redirects (the Fetch Standard, "HTTP-redirect fetch").

use url::Url;

use super::fault::{ClientFault, ClientFaultKind};
use super::request::{ClientBody, ClientRequest};

/// Reports whether an answer with this status names another URL.
pub(super) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Returns the URL that an answer redirects to.
///
/// # Errors
/// The field cannot be used.
pub(super) fn location(url: &Url, value: &[u8]) -> Result<Url, ClientFault> {
    let fault = |text: String| ClientFault::new(ClientFaultKind::Redirect, text);
    let text = std::str::from_utf8(value);
    let text = text.map_err(|_| fault("it redirects to a URL that is not UTF-8".to_owned()))?;
    let mut next = url.join(text).map_err(|error| {
        fault(format!(
            "it redirects to {text:?}, which cannot be used: {error}"
        ))
    })?;
    if !matches!(next.scheme(), "http" | "https") {
        let scheme = next.scheme();
        return Err(fault(format!("it redirects to the scheme {scheme}:")));
    }
    next.set_fragment(None);
    Ok(next)
}

/// Changes a request to that for the URL that an answer with this status redirects to. `again` is a copy of its body.
///
/// # Errors
/// The body is a stream, which cannot be sent again.
pub(super) fn follow(
    request: &mut ClientRequest,
    again: Option<ClientBody>,
    status: u16,
    (from, to): (&Url, &Url),
) -> Result<(), ClientFault> {
    let becomes_get = match status {
        301 | 302 => request.method == "POST",
        303 => !matches!(request.method.as_str(), "GET" | "HEAD"),
        _ => false,
    };
    if becomes_get {
        "GET".clone_into(&mut request.method);
        request.body = ClientBody::None;
        let of_body = [
            "content-encoding",
            "content-language",
            "content-location",
            "content-type",
            "content-length",
        ];
        remove(request, &of_body);
    } else {
        let text = "it redirects a request whose body is a stream, which cannot be sent again";
        let fault = || ClientFault::new(ClientFaultKind::Redirect, text);
        request.body = again.ok_or_else(fault)?;
    }
    remove(request, &["host"]);
    if from.origin() != to.origin() {
        remove(request, &["authorization", "cookie", "proxy-authorization"]);
    }
    Ok(())
}

fn remove(request: &mut ClientRequest, names: &[&str]) {
    let is_one = |name: &[u8]| {
        names
            .iter()
            .any(|one| name.eq_ignore_ascii_case(one.as_bytes()))
    };
    request.fields.retain(|(name, _)| !is_one(name));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::settings::ClientOptions;

    fn request(method: &str) -> ClientRequest {
        let field = |name: &str| (name.as_bytes().into(), b"x".as_slice().into());
        ClientRequest {
            method: method.to_owned(),
            url: String::new(),
            fields: ["Authorization", "cookie", "Content-Type", "X-Own", "Host"]
                .map(field)
                .into(),
            body: ClientBody::Bytes("body".into()),
            options: ClientOptions::default(),
        }
    }

    fn followed(method: &str, status: u16, to: &str) -> (String, bool, Vec<String>) {
        let from = Url::parse("https://a.test/one").expect("a URL");
        let to = location(&from, to.as_bytes()).expect("a URL");
        let mut request = request(method);
        let again = request.body.again();
        follow(&mut request, again, status, (&from, &to)).expect("followed");
        let names = request.fields.iter();
        let names = names.map(|(name, _)| String::from_utf8_lossy(name).into_owned());
        let has_body = matches!(request.body, ClientBody::Bytes(_));
        (request.method.clone(), has_body, names.collect())
    }

    #[test]
    fn methods_and_bodies_follow_the_standard() {
        for (method, status, becomes) in [
            ("POST", 301, "GET"),
            ("POST", 302, "GET"),
            ("PUT", 302, "PUT"),
            ("PUT", 303, "GET"),
            ("HEAD", 303, "HEAD"),
            ("POST", 307, "POST"),
            ("DELETE", 308, "DELETE"),
        ] {
            let (then, has_body, names) = followed(method, status, "/two");
            assert_eq!(then, becomes, "{method} {status}");
            let is_changed = then != method;
            assert_eq!(has_body, !is_changed, "{method} {status}");
            assert_eq!(names.contains(&"Content-Type".to_owned()), !is_changed);
        }
    }

    #[test]
    fn secrets_stay_with_their_origin() {
        let (_, _, names) = followed("GET", 302, "/two");
        assert_eq!(names, ["Authorization", "cookie", "Content-Type", "X-Own"]);
        for other in [
            "https://b.test/",
            "http://a.test/one",
            "https://a.test:444/",
            "//b.test",
        ] {
            let (_, _, names) = followed("GET", 302, other);
            assert_eq!(names, ["Content-Type", "X-Own"], "{other}");
        }
    }

    #[test]
    fn refuses_what_cannot_be_followed() {
        let from = Url::parse("https://a.test/one").expect("a URL");
        for bad in [
            &b"file:///etc/passwd"[..],
            b"http://[",
            b"\xff",
            b"javascript:1",
        ] {
            let fault = location(&from, bad).unwrap_err();
            assert_eq!(fault.kind, ClientFaultKind::Redirect);
        }
        let mut request = request("POST");
        assert!(follow(&mut request, None, 307, (&from, &from)).is_err());
        let fragment = location(&from, b"?x#y").expect("a URL");
        assert_eq!(fragment.as_str(), "https://a.test/one?x");
    }
}
