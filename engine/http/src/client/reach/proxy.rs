//! Requests by way of a proxy: which hosts are reached without it, and the tunnel through it.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use url::Url;

use crate::client::fault::{ClientFault, ClientFaultKind};
use crate::client::origin::Origin;
use crate::client::settings::ProxySettings;
use crate::codec::{AnswerDecoder, AnswerEvent, SentBody, encode_request};
use crate::limits::Limits;
use crate::method::Method;

impl ProxySettings {
    /// Reads the URL of a proxy.
    ///
    /// # Errors
    /// It is not the URL of a proxy. The text does not repeat it, for it may have a password.
    pub fn of(text: &str, bypassed: Vec<String>) -> Result<Self, String> {
        let url = Url::parse(text).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.filter(|url| url.path() == "/" && url.query().is_none());
        let fault = "proxy: it must be a URL such as \"http://proxy.example:3128\"";
        let url = url.ok_or_else(|| fault.to_owned())?;
        Ok(Self { url, bypassed })
    }

    /// Reports whether requests to this host go by way of the proxy.
    pub(super) fn is_for(&self, host: &str) -> bool {
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>().ok();
        !self.bypassed.iter().any(|entry| match address {
            Some(address) => match entry.parse::<IpNet>() {
                Ok(network) => network.contains(&address),
                Err(_) => entry.trim_matches(['[', ']']).parse() == Ok(address),
            },
            None => match entry.strip_prefix('.') {
                Some(below) => host.ends_with(entry.as_str()) || host.eq_ignore_ascii_case(below),
                None => host.eq_ignore_ascii_case(entry),
            },
        })
    }

    /// Returns the value of `Proxy-Authorization`; `None` without a name.
    pub(in crate::client) fn authorization(&self) -> Option<String> {
        if self.url.username().is_empty() {
            return None;
        }
        let decoded = |text| percent_decode_str(text).decode_utf8_lossy();
        let name = decoded(self.url.username());
        let password = decoded(self.url.password().unwrap_or_default());
        Some(format!(
            "Basic {}",
            STANDARD.encode(format!("{name}:{password}"))
        ))
    }

    /// Returns the server that the proxy is.
    pub(super) fn origin(&self) -> Result<Origin, ClientFault> {
        let mut bare = self.url.clone();
        let _ = bare.set_username("");
        let _ = bare.set_password(None);
        Origin::of(&bare)
    }

    /// Has the proxy connect a server: what follows on the connection goes to it (RFC 9110 section 9.3.6).
    pub(super) async fn tunnel<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        origin: &Origin,
    ) -> Result<(), ClientFault> {
        let fault = |text: String| ClientFault::new(ClientFaultKind::Proxy, text);
        let target = format!("{}:{}", origin.host, origin.port);
        let authorization = self.authorization();
        let fields = [(&b"host"[..], target.as_bytes())].into_iter();
        let authorization = authorization
            .as_ref()
            .map(|value| (&b"proxy-authorization"[..], value.as_bytes()));
        let mut out = Vec::new();
        encode_request(
            &mut out,
            "CONNECT",
            &target,
            fields.chain(authorization),
            SentBody::None,
        )
        .map_err(fault)?;
        let ended =
            |error: std::io::Error| fault(format!("the proxy ended the connection: {error}"));
        stream.write_all(&out).await.map_err(ended)?;
        stream.flush().await.map_err(ended)?;
        let mut decoder = AnswerDecoder::default();
        loop {
            match decoder.next(Method::Connect, &Limits::DEFAULT) {
                AnswerEvent::Head => break,
                AnswerEvent::Interim(_) => {}
                AnswerEvent::Fault(why) => {
                    return Err(fault(format!(
                        "the proxy's answer is malformed: {}",
                        why.reason
                    )));
                }
                AnswerEvent::Incomplete => {
                    if stream.read_buf(decoder.buffer()).await.map_err(ended)? == 0 {
                        return Err(fault("the proxy closed the connection".to_owned()));
                    }
                }
            }
        }
        let (head, text) = decoder.head();
        let status = head.status;
        if !(200..300).contains(&status) {
            let reason = String::from_utf8_lossy(head.reason.of(text)).into_owned();
            return Err(fault(format!("the proxy refused: {status} {reason}")));
        }
        match decoder.take_rest().is_empty() {
            true => Ok(()),
            false => Err(fault("the proxy sent more than its answer".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(url: &str, bypassed: &[&str]) -> ProxySettings {
        ProxySettings {
            url: Url::parse(url).expect("a URL"),
            bypassed: bypassed.iter().map(|text| (*text).to_owned()).collect(),
        }
    }

    #[test]
    fn some_hosts_are_reached_without_it() {
        let proxy = proxy(
            "http://p:3128",
            &["localhost", ".internal", "10.0.0.0/8", "::1"],
        );
        for host in [
            "localhost",
            "LOCALHOST",
            "a.internal",
            "internal",
            "10.1.2.3",
            "[::1]",
        ] {
            assert!(!proxy.is_for(host), "{host}");
        }
        for host in [
            "localhost.test",
            "notinternal",
            "11.1.2.3",
            "[::2]",
            "example.com",
        ] {
            assert!(proxy.is_for(host), "{host}");
        }
    }

    #[test]
    fn other_urls_are_refused_without_their_password() {
        for url in [
            "p:3128",
            "socks5://:secret@p",
            "http://:secret@p/path",
            "http://",
        ] {
            let fault = ProxySettings::of(url, Vec::new()).unwrap_err();
            assert!(
                fault.starts_with("proxy: ") && !fault.contains("secret"),
                "{fault}"
            );
        }
    }

    #[test]
    fn a_name_and_a_password_are_sent() {
        let with = proxy("http://us%40er:p%3A+w@p:3128", &[]);
        assert_eq!(
            with.authorization().as_deref(),
            Some("Basic dXNAZXI6cDordw==")
        );
        assert_eq!(proxy("http://p:3128", &[]).authorization(), None);
        assert_eq!(with.origin().expect("an origin").authority(), "p:3128");
    }
}
