//! `[tls.acme]`: domains whose certificates the server gets and renews by itself.

use sampan_host::settings::{Preset, Section, SettingKey, SettingKind, Settings};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The description of domains, for faults.
const DOMAINS: &str = "a domain such as \"example.org\", or a list of them";
/// The most domains of a server: each has a certificate of its own.
const DOMAINS_MAX: usize = 100;
/// The longest domain, and the longest part between its dots (RFC 1035 section 2.3.4).
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;
/// The word for the directory that is preset.
const PRODUCTION: &str = "production";
/// Directories that one word stands for.
const DIRECTORIES: [(&str, &str); 2] = [
    (PRODUCTION, "https://acme-v02.api.letsencrypt.org/directory"),
    (
        "staging",
        "https://acme-staging-v02.api.letsencrypt.org/directory",
    ),
];

/// `[tls.acme]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "tls.acme",
    doc: "Certificates that the server gets and renews by itself (ACME). It listens on port 443 if [server] listen is \
          unset, and then answers plain HTTP on port 80 by [tls] redirect.",
    keys: &[
        SettingKey::text("domains", Preset::Empty, "the domains, or public IP addresses, that it is for")
            .of_kind(SettingKind::TextOrTexts(DOMAINS)),
        SettingKey::text("email", Preset::Unset, "an address for mail of the authority"),
        SettingKey::text("directory", Preset::Text(PRODUCTION),
            "the authority: \"production\" or \"staging\" of Let's Encrypt, or the URL of another's directory"),
        SettingKey::text("directory_ca", Preset::Unset,
            "the authority (PEM) of that URL's own certificate, in place of those of the system"),
        SettingKey::text("profile", Preset::Unset, "the kind of certificates, such as \"shortlived\""),
        SettingKey::texts("eab", Preset::Empty,
            "the id and the key (base64url) of an account at the authority, if it wants one").secret(),
        SettingKey::text("folder", Preset::Text("storage/.acme"), "keys and certificates, hidden from scripts"),
    ],
};

/// `[tls.acme]`, checked, of a server with domains.
#[derive(Clone, PartialEq, Eq)]
pub struct AcmeConfig {
    /// The domains in small letters, and IP addresses, at least one.
    pub domains: Vec<String>,
    /// The address for mail of the authority.
    pub email: Option<String>,
    /// The URL of the authority's directory.
    pub directory: String,
    /// The file of the authority that this URL's certificate is from.
    pub directory_ca: Option<PathBuf>,
    /// The kind of certificates, as the authority names it.
    pub profile: Option<String>,
    /// The id and the key (base64url) of an account at the authority.
    pub eab: Option<(String, String)>,
    /// The folder of keys and certificates.
    pub folder: PathBuf,
}

impl std::fmt::Debug for AcmeConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AcmeConfig")
            .field("domains", &self.domains)
            .field("email", &self.email)
            .field("directory", &self.directory)
            .field("directory_ca", &self.directory_ca)
            .field("profile", &self.profile)
            .field("eab", &self.eab.as_ref().map(|(id, _)| id))
            .field("folder", &self.folder)
            .finish()
    }
}

impl AcmeConfig {
    /// Reads `[tls.acme]`; `None` if there are no domains. Paths are relative to `root`.
    ///
    /// # Errors
    /// The key that is wrong, and why.
    pub(super) fn from_settings(settings: &Settings, root: &Path) -> Result<Option<Self>, String> {
        let written = settings.list("domains");
        if written.is_empty() {
            // The others have values of their own without being written, and the directory may be written as it is
            // preset.
            let keys = ["email", "directory", "directory_ca", "profile"];
            let is_preset = |key: &str| key == "directory" && settings.text(key) == PRODUCTION;
            let lonely = keys
                .iter()
                .find(|key| settings.written(key).is_some() && !is_preset(key));
            return match lonely {
                Some(key) => Err(format!(
                    "{key}: there are no certificates to get: set domains"
                )),
                None => Ok(None),
            };
        }
        if written.len() > DOMAINS_MAX {
            let count = written.len();
            return Err(format!(
                "domains: {count} domains; it must be 1 to {DOMAINS_MAX}"
            ));
        }
        let mut domains = Vec::new();
        for text in written {
            let domain = domain(&text).map_err(|fault| format!("domains: {text:?}: {fault}"))?;
            if !domains.contains(&domain) {
                domains.push(domain);
            }
        }
        let authority = settings.text("directory");
        let is_public = DIRECTORIES
            .iter()
            .any(|(word, url)| [*word, *url].contains(&authority));
        if let Some(name) = domains.iter().find(|name| is_public && is_local(name)) {
            return Err(format!(
                "domains: {name:?}: no public authority certifies a name of this kind; for your own network there is \
                 sampan dev --https"
            ));
        }
        let text = |key| settings.text_if_set(key).map(str::to_owned);
        let eab = match &settings.list("eab")[..] {
            [] => None,
            [id, key] => Some((id.clone(), key.clone())),
            _ => return Err("eab: write the id and the key, as in [\"id\", \"key\"]".to_owned()),
        };
        Ok(Some(Self {
            domains,
            email: text("email").map(email).transpose()?,
            directory: directory(authority)?,
            directory_ca: text("directory_ca").map(|path| root.join(path)),
            profile: text("profile"),
            eab,
            folder: root.join(settings.text("folder")),
        }))
    }
}

/// Reports whether a domain means something in one network only.
fn is_local(domain: &str) -> bool {
    let is_name = domain.parse::<IpAddr>().is_err();
    is_name
        && (!domain.contains('.')
            || [".localhost", ".local"]
                .iter()
                .any(|end| domain.ends_with(end)))
}

/// Returns the URL that a word or a URL stands for.
fn directory(text: &str) -> Result<String, String> {
    if let Some((_, url)) = DIRECTORIES.iter().find(|(word, _)| *word == text) {
        return Ok((*url).to_owned());
    }
    let is_url = text.starts_with("https://") || text.starts_with("http://");
    match is_url {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "directory: {text:?}: write \"production\", \"staging\" or the URL of a directory"
        )),
    }
}

fn email(text: String) -> Result<String, String> {
    let is_address = text.contains('@') && !text.contains([':', ' ', ',', '?']);
    match is_address {
        true => Ok(text),
        false => Err(format!(
            "email: {text:?} is no address such as me@example.org"
        )),
    }
}

/// Checks a domain of the command line or the configuration: a name in small letters, or an IP address.
///
/// # Errors
/// The reason why no certificate can be had for it.
pub fn domain(text: &str) -> Result<String, String> {
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    if let Ok(address) = inner.unwrap_or(text).parse::<IpAddr>() {
        return Ok(address.to_string());
    }
    if text.starts_with("*.") {
        return Err(
            "a certificate for all names of a domain needs changes of its DNS: write each name, or set [tls] cert"
                .to_owned(),
        );
    }
    if !text.is_ascii() {
        return Err("write it in letters from a to z, with xn-- (Punycode)".to_owned());
    }
    if text.contains("://") || text.contains('/') || text.contains(':') {
        return Err("write the name alone, such as example.org".to_owned());
    }
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(is_part)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    match name.len() <= NAME_BYTES_MAX && name.split('.').all(is_label) {
        true => Ok(name),
        false => Err("not a domain such as example.org".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::settings::SettingValue;

    fn resolved(values: &[(&'static str, &str)]) -> Result<Option<AcmeConfig>, String> {
        let values = values.iter().map(|(key, text)| {
            let value = match *key {
                "domains" | "eab" => SettingValue::List(sampan_host::settings::items(text)),
                _ => SettingValue::Text((*text).to_owned()),
            };
            (*key, value)
        });
        let settings = Settings::with(&SECTION, values)?;
        AcmeConfig::from_settings(&settings, Path::new("/project"))
    }

    #[test]
    fn domains_have_an_authority_and_a_folder() {
        assert_eq!(resolved(&[]), Ok(None));
        let found = resolved(&[
            (
                "domains",
                "Example.org., www.example.org, example.org, [2001:db8::1]",
            ),
            ("directory", "staging"),
        ]);
        let config = found.expect("valid").expect("some");
        let own = [("domains", "localhost"), ("directory", "https://ca.test/d")];
        assert!(
            resolved(&own).is_ok(),
            "an authority of one's own certifies all"
        );
        assert_eq!(
            config.domains,
            ["example.org", "www.example.org", "2001:db8::1"]
        );
        assert!(config.directory.starts_with("https://acme-staging-v02"));
        assert_eq!(config.folder, Path::new("/project/storage/.acme"));
    }

    #[test]
    fn faults_say_what_to_write() {
        for (values, fault) in [
            (
                &[("email", "a@b.test")][..],
                "email: there are no certificates to get",
            ),
            (
                &[("directory", "stagin")],
                "directory: there are no certificates to get",
            ),
            (
                &[("domains", "localhost"), ("directory", "staging")],
                "domains: \"localhost\": no public authority",
            ),
            (
                &[("domains", "a.test, nas.local")],
                "domains: \"nas.local\": no public authority",
            ),
            (
                &[("domains", "nas")],
                "domains: \"nas\": no public authority certifies a name of this kind; for your own network there is \
                 sampan dev --https",
            ),
            (
                &[("domains", "*.a.test")],
                "domains: \"*.a.test\": a certificate for all",
            ),
            (
                &[("domains", "https://a.test")],
                "domains: \"https://a.test\": write the name",
            ),
            (&[("domains", "b\u{fc}cher.test")], "domains: "),
            (
                &[("domains", "a..test")],
                "domains: \"a..test\": not a domain",
            ),
            (
                &[("domains", "a.test"), ("directory", "x")],
                "directory: \"x\": write",
            ),
            (
                &[("domains", "a.test"), ("email", "me")],
                "email: \"me\" is no address",
            ),
            (&[("domains", "a.test"), ("eab", "id")], "eab: write the id"),
        ] {
            let found = resolved(values).expect_err("a fault");
            assert!(found.starts_with(fault), "{found}");
        }
    }
}
