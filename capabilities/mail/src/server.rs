//! The mail server, as its URL names it.

use lettre::transport::smtp::authentication::Credentials;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};

/// The protection of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// TLS from the first byte on.
    Tls,
    /// TLS after a command.
    StartTls,
    /// No protection: for servers on this machine.
    None,
}

/// A mail server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct MailServer {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) protection: Protection,
    pub(crate) credentials: Option<Credentials>,
}

impl fmt::Debug for MailServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let login = self.credentials.as_ref().map(|_| "login");
        write!(
            f,
            "{}:{} {:?} {login:?}",
            self.host, self.port, self.protection
        )
    }
}

impl MailServer {
    /// Parses a URL: `smtps://user:password@host:465`, `smtp://host:587`.
    ///
    /// # Errors
    /// Fails if the URL is not valid. The message does not show it, since it has a password.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let form = "url must be smtps://user:password@host or smtp://user:password@host, with %40 for an @ in the \
                    login, %23 for a # and the like";
        let parsed = Url::parse(url).map_err(|_| form.to_owned())?;
        let (protection, port) = match parsed.scheme() {
            "smtps" => (Protection::Tls, 465),
            "smtp" => (Protection::StartTls, 587),
            other => return Err(format!("{form}, not {other}://")),
        };
        let host = parsed.host().ok_or_else(|| form.to_owned())?;
        let host: Host<String> = host.to_owned();
        let name = match &host {
            // The host of an unknown scheme is a name, also where it is an address.
            Host::Domain(name) => name.clone(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let mut protection = protection;
        for (key, value) in parsed.query_pairs() {
            protection = match (&*key, &*value, protection) {
                ("tls", "none", Protection::StartTls) if is_loopback(&name) => Protection::None,
                ("tls", "none", Protection::StartTls) => {
                    return Err(format!(
                        "url: tls=none is for servers on this machine, such as localhost, not {name}"
                    ));
                }
                (key, _, _) => {
                    return Err(format!(
                        "url: {key} is not known, or not here; smtp://localhost?tls=none is possible"
                    ));
                }
            };
        }
        if !matches!(parsed.path(), "" | "/") {
            return Err(format!("{form}, without a path"));
        }
        let decoded = |text: &str| {
            let text = percent_decode_str(text).decode_utf8();
            text.map(|text| text.into_owned())
                .map_err(|_| "url: the login is not UTF-8".to_owned())
        };
        let credentials = match (parsed.username(), parsed.password()) {
            ("", None) => None,
            (user, password) => Some(Credentials::new(
                decoded(user)?,
                decoded(password.unwrap_or_default())?,
            )),
        };
        Ok(Self {
            host: name,
            port: parsed.port().unwrap_or(port),
            protection,
            credentials,
        })
    }
}

fn is_loopback(host: &str) -> bool {
    let address: Option<IpAddr> = host.parse().ok();
    host.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_the_server_and_its_protection() {
        let shown = |url| format!("{:?}", MailServer::parse(url).expect("a server"));
        assert_eq!(
            shown("smtps://u:p%40@mx.example.org"),
            "mx.example.org:465 Tls Some(\"login\")"
        );
        assert_eq!(
            shown("smtp://mx.example.org"),
            "mx.example.org:587 StartTls None"
        );
        assert_eq!(
            shown("smtp://localhost:25?tls=none"),
            "localhost:25 None None"
        );
        assert_eq!(
            shown("smtp://127.0.0.1:25?tls=none"),
            "127.0.0.1:25 None None"
        );
        let server = MailServer::parse("smtps://u:p%40%3A@h").expect("a server");
        let login = Credentials::new("u".to_owned(), "p@:".to_owned());
        assert_eq!(server.credentials, Some(login));
    }

    #[test]
    fn a_wrong_url_is_not_shown() {
        for url in [
            "secret",
            "http://u:secret@h",
            "smtp://u:secret@h?tls=none",
            "smtps://u:secret@localhost?tls=none",
            "smtp://u:secret@h/secret",
            "smtp://u:secret@h?a=b",
            "smtp:///",
        ] {
            let fault = MailServer::parse(url).expect_err("no server");
            assert!(
                fault.starts_with("url") && !fault.contains("secret"),
                "{fault}"
            );
        }
    }
}
