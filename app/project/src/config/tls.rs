//! `[tls]`: the certificates of a server that speaks HTTPS, and what its clients are told.

use super::acme::AcmeConfig;
use super::listen::{self, ListenAddress};
use sampan_host::settings::{Preset, Section, SettingKey, SettingKind, Settings};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The description of files, for faults.
const FILES: &str = "a file such as \"certs/example.org.pem\", or a list of them";
/// The description of addresses, for faults.
const ADDRESSES: &str = "an address such as \"[::]:80\", or a list of them";
/// The port of plain HTTP, from which clients are sent on.
const HTTP_PORT: u16 = 80;
/// The port of HTTPS.
const HTTPS_PORT: u16 = 443;

/// `[tls]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "tls",
    doc: "HTTPS. With a certificate all ports of [server] listen speak it; Unix sockets do not.",
    keys: &[
        SettingKey::text("cert", Preset::Empty, "the certificate and its chain (PEM), or a list of such files")
            .of_kind(SettingKind::TextOrTexts(FILES)),
        SettingKey::text("key", Preset::Empty, "the private key (PEM) of the certificate, or a list in the same order")
            .of_kind(SettingKind::TextOrTexts(FILES)),
        SettingKey::text("client_ca", Preset::Unset, "the authorities (PEM) that issue certificates of clients"),
        SettingKey::choice("client_auth", &["required", "optional"],
            "clients without a certificate of client_ca are turned away, or let in"),
        SettingKey::flag("redirect", Preset::Flag(false),
            "answer plain HTTP with 308, to the same URL by https; on with [tls.acme] and port 443"),
        SettingKey::text("redirect_listen", Preset::Unset,
            "where that is; port 80 of the hosts of [server] listen if unset")
            .of_kind(SettingKind::TextOrTexts(ADDRESSES)),
        SettingKey::text("hsts", Preset::Unset,
            "the Strict-Transport-Security field of answers, such as \"max-age=31536000\""),
    ],
};

/// `[tls]`, checked, of a server with certificates. Files are not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// Certificates and their keys; the first is for clients that ask for no name that is on one.
    pub certificates: Vec<(PathBuf, PathBuf)>,
    /// The certificates that the server gets by itself.
    pub acme: Option<AcmeConfig>,
    /// The authorities of clients' certificates.
    pub client_ca: Option<PathBuf>,
    /// True if clients without a certificate are turned away.
    pub is_client_required: bool,
    /// The addresses where plain HTTP is answered with 308.
    pub redirect_listen: Vec<ListenAddress>,
    /// The value of the `Strict-Transport-Security` field of answers.
    pub hsts: Option<String>,
}

impl TlsConfig {
    /// Reads `[tls]`; `None` if there is no certificate. Paths are relative to `root`; the server itself listens on
    /// `served`.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub(super) fn from_settings(
        settings: &Settings,
        acme: Option<AcmeConfig>,
        root: &Path,
        served: &[ListenAddress],
    ) -> Result<Option<Self>, String> {
        let (certs, keys) = (settings.list("cert"), settings.list("key"));
        if certs.len() != keys.len() {
            let (certs, keys) = (
                counted(certs.len(), "certificate"),
                counted(keys.len(), "key"),
            );
            // The key that is written is the one whose place helps.
            let named = match settings.written("key") {
                Some(_) => "key",
                None => "cert",
            };
            return Err(format!(
                "{named}: {certs} and {keys}: write a key for each certificate, in the same order"
            ));
        }
        let is_written = |key: &&str| settings.written(key).is_some();
        if certs.is_empty() && acme.is_none() {
            let needs = ["client_ca", "redirect", "redirect_listen", "hsts"];
            // A redirect that is switched off says nothing.
            let asks = |key: &&&str| is_written(key) && (**key != "redirect" || settings.flag(key));
            return match needs.iter().find(asks) {
                Some(key) => Err(format!(
                    "{key}: there is no TLS without a certificate: set cert and key, or domains of [tls.acme]"
                )),
                None => Ok(None),
            };
        }
        let client_ca = settings
            .text_if_set("client_ca")
            .map(|path| root.join(path));
        if client_ca.is_none() && is_written(&"client_auth") {
            return Err(
                "client_auth: set client_ca, the file of those who issue the certificates"
                    .to_owned(),
            );
        }
        let hsts = settings.text_if_set("hsts").map(str::to_owned);
        if let Some(value) = hsts.as_deref().filter(|value| !is_hsts(value)) {
            return Err(format!(
                "hsts: {value:?}; it must begin with the seconds, such as \"max-age=31536000\""
            ));
        }
        let pairs = certs.iter().zip(&keys);
        Ok(Some(Self {
            certificates: pairs
                .map(|(cert, key)| (root.join(cert), root.join(key)))
                .collect(),
            redirect_listen: redirect_listen(settings, acme.is_some(), root, served)?,
            acme,
            client_ca,
            is_client_required: settings.text("client_auth") == "required",
            hsts,
        }))
    }
}

fn counted(count: usize, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

/// Reports whether a value can be that of `Strict-Transport-Security` (RFC 6797 section 6.1).
fn is_hsts(value: &str) -> bool {
    let seconds = value.strip_prefix("max-age=").unwrap_or_default();
    let is_visible = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    is_visible && seconds.starts_with(|first: char| first.is_ascii_digit())
}

/// The addresses from which clients are sent on.
fn redirect_listen(
    settings: &Settings,
    is_acme: bool,
    root: &Path,
    served: &[ListenAddress],
) -> Result<Vec<ListenAddress>, String> {
    let written = settings.list_if_set("redirect_listen");
    let is_public = |address: &ListenAddress| match address {
        ListenAddress::Tcp(address) => address.port() == HTTPS_PORT,
        ListenAddress::Unix(_) => false,
    };
    let is_on = match settings.written("redirect") {
        Some(_) => settings.flag("redirect"),
        None => is_acme && (written.is_some() || served.iter().any(is_public)),
    };
    if !is_on {
        return match written {
            Some(_) => Err("redirect_listen: set redirect = true too".to_owned()),
            None => Ok(Vec::new()),
        };
    }
    let found = match written {
        Some(list) => {
            listen::resolve(&list, root).map_err(|fault| format!("redirect_listen: {fault}"))?
        }
        None => plain_addresses(served),
    };
    match found.iter().find(|address| address.clashes(served)) {
        Some(twice) => Err(format!(
            "redirect_listen: {twice} is in [server] listen too, which speaks HTTPS: name another"
        )),
        None => Ok(found),
    }
}

/// Returns port 80 of the hosts of a server.
fn plain_addresses(served: &[ListenAddress]) -> Vec<ListenAddress> {
    let mut found = Vec::new();
    for address in served {
        if let ListenAddress::Tcp(address) = address {
            let plain = ListenAddress::Tcp(SocketAddr::new(address.ip(), HTTP_PORT));
            if !found.contains(&plain) {
                found.push(plain);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::settings::SettingValue;

    fn resolved(values: &[(&'static str, &str)]) -> Result<Option<TlsConfig>, String> {
        resolved_with(None, values, &["[::1]:443", "[::1]:444", "unix:a.sock"])
    }

    fn resolved_with(
        acme: Option<AcmeConfig>,
        values: &[(&'static str, &str)],
        served: &[&str],
    ) -> Result<Option<TlsConfig>, String> {
        let values = values.iter().map(|(key, text)| {
            let kind = &SECTION.key(key).expect("a key").kind;
            let value = match *text {
                "true" => SettingValue::Flag(true),
                text => kind
                    .accept(SettingValue::Text(text.to_owned()))
                    .expect("a text"),
            };
            (*key, value)
        });
        let settings = Settings::with(&SECTION, values)?;
        let served = served
            .iter()
            .map(|text| listen::address(text).expect("valid"));
        let served: Vec<_> = served.collect();
        TlsConfig::from_settings(&settings, acme, Path::new("/project"), &served)
    }

    #[test]
    fn certificates_have_keys_in_their_order() {
        assert_eq!(resolved(&[]), Ok(None));
        let config = resolved(&[("cert", "a.pem, /b.pem"), ("key", "a.key, b.key")]);
        let config = config.expect("valid").expect("some");
        let pairs = [
            ("/project/a.pem", "/project/a.key"),
            ("/b.pem", "/project/b.key"),
        ];
        assert_eq!(
            config.certificates,
            pairs.map(|(cert, key)| (cert.into(), key.into()))
        );
        assert_eq!(config.redirect_listen, []);
    }

    #[test]
    fn plain_http_is_redirected_from_port_80_or_elsewhere() {
        let addresses = |more: &[(&'static str, &str)]| {
            let all = [&[("cert", "a"), ("key", "b"), ("redirect", "true")], more].concat();
            let config = resolved(&all).expect("valid").expect("some");
            config
                .redirect_listen
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(addresses(&[]), ["http://[::1]:80"]);
        let elsewhere = addresses(&[("redirect_listen", "127.0.0.1:81, 127.0.0.1:82")]);
        assert_eq!(elsewhere, ["http://127.0.0.1:81", "http://127.0.0.1:82"]);
    }

    #[test]
    fn a_server_that_gets_certificates_redirects_from_port_80_if_it_is_on_443() {
        let acme = || AcmeConfig {
            domains: vec!["example.org".to_owned()],
            email: None,
            directory: String::new(),
            directory_ca: None,
            profile: None,
            eab: None,
            folder: PathBuf::new(),
        };
        for (served, values, count) in [
            (&["[::]:443"][..], &[][..], 1),
            (&["[::]:8443"], &[], 0),
            (&["[::]:8443"], &[("redirect", "true")], 1),
            (&["[::]:8443"], &[("redirect_listen", "[::]:8080")], 1),
        ] {
            let config = resolved_with(Some(acme()), values, served);
            let config = config.expect("valid").expect("some");
            assert_eq!(config.redirect_listen.len(), count, "{served:?} {values:?}");
        }
    }

    #[test]
    fn keys_that_do_not_go_together_are_named() {
        let pair = [("cert", "a"), ("key", "b")];
        for (more, fault) in [
            (
                &[("cert", "a,b"), ("key", "b")][..],
                "key: 2 certificates and 1 key: ",
            ),
            (&[("cert", "a")], "cert: 1 certificate and 0 keys: "),
            (
                &[("hsts", "max-age=1")],
                "hsts: there is no TLS without a certificate",
            ),
            (
                &[pair[0], pair[1], ("hsts", "1 year")],
                "hsts: \"1 year\"; it must begin with",
            ),
            (&[pair[0], pair[1], ("hsts", "max-age=1\r\nX: y")], "hsts: "),
            (
                &[pair[0], pair[1], ("client_auth", "optional")],
                "client_auth: set client_ca",
            ),
            (
                &[pair[0], pair[1], ("redirect_listen", "[::]:80")],
                "redirect_listen: set redirect",
            ),
            (
                &[
                    pair[0],
                    pair[1],
                    ("redirect", "true"),
                    ("redirect_listen", "80"),
                ],
                "redirect_listen: ",
            ),
            (
                &[
                    pair[0],
                    pair[1],
                    ("redirect", "true"),
                    ("redirect_listen", "[::1]:444"),
                ],
                "redirect_listen: http://[::1]:444 is in [server] listen too",
            ),
        ] {
            let found = resolved(more).expect_err("a fault");
            assert!(found.starts_with(fault), "{found}");
        }
    }
}
