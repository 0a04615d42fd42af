//! The server of a URL: scheme, host and port.

use url::Url;

use super::fault::{ClientFault, ClientFaultKind};

/// The server of a URL. Connections are kept by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    pub(super) is_https: bool,
    /// The name in lower case, or an address; one of IPv6 in brackets.
    pub(super) host: Box<str>,
    pub(super) port: u16,
}

impl Origin {
    /// Returns the server of a URL.
    ///
    /// # Errors
    /// Another scheme, no host, or a user name.
    pub(super) fn of(url: &Url) -> Result<Self, ClientFault> {
        let fault = |text: String| ClientFault::new(ClientFaultKind::Request, text);
        let is_https = match url.scheme() {
            "http" => false,
            "https" => true,
            other => {
                let text = format!("the scheme {other}: is not http or https");
                return Err(fault(text));
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            let text =
                "the URL has a user name or a password: send the field Authorization instead";
            return Err(fault(text.to_owned()));
        }
        match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) if !host.is_empty() => Ok(Self {
                is_https,
                host: host.into(),
                port,
            }),
            _ => Err(fault("the URL has no host".to_owned())),
        }
    }

    /// Returns the host, with the port unless it is that of the scheme.
    pub(super) fn authority(&self) -> String {
        match (self.is_https, self.port) {
            (false, 80) | (true, 443) => self.host.to_string(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }
}

/// Parses the URL of a request.
///
/// # Errors
/// It is not an absolute URL.
pub(super) fn parse(text: &str) -> Result<Url, ClientFault> {
    let mut url = Url::parse(text).map_err(|error| {
        let text = format!("the URL {text:?} cannot be used: {error}");
        ClientFault::new(ClientFaultKind::Request, text)
    })?;
    url.set_fragment(None);
    Ok(url)
}

/// Returns the path and the query of a URL, as requests send them.
pub(super) fn target(url: &Url) -> &str {
    &url[url::Position::BeforePath..url::Position::AfterQuery]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let url = parse("HTTP://Example.com:80/a b?c#d").expect("a URL");
        assert_eq!(
            (url.as_str(), target(&url)),
            ("http://example.com/a%20b?c", "/a%20b?c")
        );
        assert_eq!(
            Origin::of(&url).expect("an origin").authority(),
            "example.com"
        );
        let url = parse("https://[::1]:8443").expect("a URL");
        let origin = Origin::of(&url).expect("an origin");
        assert_eq!((&*origin.authority(), target(&url)), ("[::1]:8443", "/"));
    }

    #[test]
    fn addresses_are_read_in_all_their_forms() {
        for text in [
            "http://2130706433/",
            "http://0177.1/",
            "http://0x7f.0.0.1",
            "http://127.1",
            "http://１２７.0.0.1",
        ] {
            let origin = Origin::of(&parse(text).expect("a URL")).expect("an origin");
            assert_eq!(&*origin.host, "127.0.0.1", "{text}");
        }
    }

    #[test]
    fn refuses_what_it_cannot_ask() {
        for text in [
            "",
            "/path",
            "ftp://a/",
            "http://user@a/",
            "http://:p@a/",
            "data:,x",
            "http://a:99999/",
        ] {
            let asked = parse(text).and_then(|url| Origin::of(&url));
            assert_eq!(asked.unwrap_err().kind, ClientFaultKind::Request, "{text}");
        }
    }
}
