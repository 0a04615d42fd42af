//! The settings of renewing, and the places of its files.

use instant_acme::Identifier;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// All that is needed to get certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcmeSettings {
    /// The folder of all files. Processes with the same folder share certificates.
    pub folder: PathBuf,
    /// The URL of the authority's directory.
    pub directory: String,
    /// The authority that issued the certificate of that URL's server (PEM), in place of those of the system.
    pub directory_ca: Option<PathBuf>,
    /// The domains in small letters, or IP addresses: each gets a certificate of its own.
    pub domains: Vec<String>,
    /// The address that the authority may write to.
    pub email: Option<String>,
    /// The profile of the certificates, as the authority names it.
    pub profile: Option<String>,
    /// The account at the authority that the ACME account is bound to (RFC 8555 section 7.3.4).
    pub external_account: Option<ExternalAccount>,
    /// The challenges that can be answered, at least one: the first is tried first, the others after failures.
    pub challenges: Vec<ChallengeKind>,
}

/// An account at an authority, and the key that proves it.
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalAccount {
    /// The name of the key.
    pub id: String,
    /// The key of the HMAC.
    pub key: Vec<u8>,
}

impl fmt::Debug for ExternalAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalAccount")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// A way to prove that a domain is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeKind {
    /// `http-01`: a file on port 80 (RFC 8555 section 8.3).
    Http,
    /// `tls-alpn-01`: a certificate on port 443 (RFC 8737).
    TlsAlpn,
}

impl AcmeSettings {
    /// Returns the file of a domain's certificate. It holds the private key too, so that one rename replaces both.
    pub fn certificate_file(&self, domain: &str) -> PathBuf {
        self.own_folder()
            .join("certificates")
            .join(format!("{domain}.pem"))
    }

    /// Returns the folder of the certificates that answer `tls-alpn-01`: `NAME.pem`, by the name that clients ask for.
    /// The answers to `http-01` are in it too.
    pub fn challenge_folder(&self) -> PathBuf {
        self.folder.join("challenges")
    }

    /// Returns the folder of this authority: certificates of a staging directory are never taken for real ones.
    pub(crate) fn own_folder(&self) -> PathBuf {
        let rest = self
            .directory
            .split_once("://")
            .map_or(&*self.directory, |(_, rest)| rest);
        let is_kept = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_');
        let name: String = rest
            .chars()
            .map(|char| if is_kept(char) { char } else { '-' })
            .collect();
        self.folder.join(name.trim_matches(['.', '-']))
    }

    pub(crate) fn account_file(&self) -> PathBuf {
        self.own_folder().join("account.json")
    }

    pub(crate) fn state_file(&self, domain: &str) -> PathBuf {
        self.own_folder()
            .join("state")
            .join(format!("{domain}.json"))
    }

    /// The file of an order whose certificate is not in place yet.
    pub(crate) fn order_file(&self, domain: &str) -> PathBuf {
        self.own_folder()
            .join("orders")
            .join(format!("{domain}.json"))
    }

    /// The file that asks for a renewal at once.
    pub(crate) fn request_file(&self, domain: &str) -> PathBuf {
        self.own_folder()
            .join("state")
            .join(format!("{domain}.now"))
    }

    pub(crate) fn lock_file(&self) -> PathBuf {
        self.folder.join("lock")
    }
}

/// The identifier of a domain or IP address.
pub(crate) fn identifier(domain: &str) -> Identifier {
    match domain.parse::<IpAddr>() {
        Ok(address) => Identifier::Ip(address),
        Err(_) => Identifier::Dns(domain.to_owned()),
    }
}

/// The name by which an authority asks for a domain in `tls-alpn-01`: an IP address has its reverse name (RFC 8738
/// section 6).
pub(crate) fn asked_name(domain: &str) -> String {
    match domain.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        Ok(IpAddr::V6(address)) => {
            let octets = address.octets();
            let nibbles = octets.iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
            let digits: String = nibbles.map(|nibble| format!("{nibble:x}.")).collect();
            format!("{digits}ip6.arpa")
        }
        Err(_) => domain.to_owned(),
    }
}

/// The folder of a file.
pub(crate) fn folder_of(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_asked_for_by_their_reverse_names() {
        assert_eq!(asked_name("example.org"), "example.org");
        assert_eq!(asked_name("192.0.2.1"), "1.2.0.192.in-addr.arpa");
        let found = asked_name("2000::1");
        assert_eq!(found.len(), 72);
        assert!(found.starts_with("1.0.0.0."), "{found}");
        assert!(found.ends_with(".0.0.0.2.ip6.arpa"), "{found}");
    }

    #[test]
    fn each_directory_has_a_folder() {
        let settings = AcmeSettings {
            folder: "/s".into(),
            directory: "https://acme.test:14000/dir/../x".into(),
            directory_ca: None,
            domains: Vec::new(),
            email: None,
            profile: None,
            external_account: None,
            challenges: Vec::new(),
        };
        let file = settings.certificate_file("a.test");
        let expected = Path::new("/s/acme.test-14000-dir-..-x/certificates/a.test.pem");
        assert_eq!(file, expected);
    }
}
