//! Certificates and keys in PEM files, and the choice among them by the name that a client asks for.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{Error, InconsistentKeys};

use super::x509::CertificateFields;

/// The time before the end of a certificate from which on it is worth a warning, if that is less than a third of its
/// lifetime.
const WARN_BEFORE: Duration = Duration::from_secs(7 * 24 * 3600);

/// The two files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, and behind it those of the authorities between it and the root (PEM).
    pub certificate: PathBuf,
    /// Its private key (PEM: PKCS#8, PKCS#1 or SEC1, without a passphrase).
    pub key: PathBuf,
}

/// The reason why a file cannot be used for TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    /// The file.
    pub file: PathBuf,
    /// Its fault and, where there is one, the remedy, in the middle of a sentence.
    pub reason: String,
    /// True if the system could not read the file for a reason that may pass, such as too many open files.
    pub is_passing: bool,
}

impl TlsError {
    pub(super) fn new(file: &Path, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            reason: reason.into(),
            is_passing: false,
        }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.reason)
    }
}

impl std::error::Error for TlsError {}

/// The certificates of a listener. The first is for clients that ask for no name, or for one that is on none.
#[derive(Debug)]
pub(super) struct Certificates {
    /// All certificates, in their order.
    keys: Vec<Arc<CertifiedKey>>,
    /// The certificates for each name: places in `keys`. A name that begins with `*` stands for any first label.
    names: HashMap<String, Vec<usize>>,
    /// The certificates for each IP address: places in `keys`. Clients cannot ask for one (RFC 6066 section 3): they
    /// get those of the address that they have connected to.
    addresses: HashMap<IpAddr, Vec<usize>>,
    /// The address whose certificates clients get that have connected to another one, as behind NAT.
    main_address: Option<MainAddress>,
}

#[derive(Clone, Copy, Debug)]
struct MainAddress {
    address: IpAddr,
    is_preferred: bool,
}

/// The facts about a certificate that decide who gets it.
pub(super) struct OwnFacts {
    /// Its names, in small letters.
    names: Vec<String>,
    addresses: Vec<IpAddr>,
    warning: Option<String>,
}

impl Certificates {
    /// Reads files. Also returns warnings, for certificates that clients will not accept for long.
    pub(super) fn read(files: &[CertificateFiles]) -> Result<(Self, Vec<String>), TlsError> {
        let mut certificates = Self {
            keys: Vec::new(),
            names: HashMap::new(),
            addresses: HashMap::new(),
            main_address: None,
        };
        let mut warnings = Vec::new();
        for files in files {
            warnings.extend(certificates.add(files, false)?);
        }
        Ok((certificates, warnings))
    }

    /// Reads one more certificate. One that is preferred comes before all others for its names and addresses. Also
    /// returns a warning, if clients will not accept it for long.
    pub(super) fn add(
        &mut self,
        files: &CertificateFiles,
        is_preferred: bool,
    ) -> Result<Option<String>, TlsError> {
        let (key, own) = read_pair(files)?;
        let place = self.keys.len();
        let put = |places: &mut Vec<usize>| match is_preferred {
            true => places.insert(0, place),
            false => places.push(place),
        };
        for name in own.names {
            put(self.names.entry(name).or_default());
        }
        let is_first = |main: MainAddress| is_preferred && !main.is_preferred;
        if let Some(address) = own.addresses.first().copied()
            && self.main_address.is_none_or(is_first)
        {
            self.main_address = Some(MainAddress {
                address,
                is_preferred,
            });
        }
        for address in own.addresses {
            put(self.addresses.entry(address).or_default());
        }
        self.keys.push(Arc::new(key));
        Ok(own.warning)
    }

    /// The certificates for a name in small letters.
    fn named(&self, name: &str) -> Option<&[usize]> {
        let exact = self.names.get(name);
        let places = exact.or_else(|| {
            let (_, domain) = name.split_once('.')?;
            self.names.get(&format!("*.{domain}"))
        });
        places.map(Vec::as_slice)
    }

    /// The certificates for clients that ask for no name and have connected to this address.
    fn addressed(&self, local: Option<IpAddr>) -> Option<&[usize]> {
        let own = local.and_then(|address| self.addresses.get(&address));
        let main = || self.addresses.get(&self.main_address?.address);
        own.or_else(main).map(Vec::as_slice)
    }

    /// Chooses the certificate for a client that has connected to an address.
    pub(super) fn choose(
        &self,
        hello: &ClientHello<'_>,
        local: Option<IpAddr>,
    ) -> Option<Arc<CertifiedKey>> {
        let places = match hello.server_name() {
            Some(name) => self.named(name),
            None => self.addressed(local),
        };
        let places = places.unwrap_or(&[0]);
        // Of several kinds of keys for a name the first that the client can check.
        let keys = || places.iter().filter_map(|place| self.keys.get(*place));
        let schemes = hello.signature_schemes();
        let fits = keys().find(|key| key.key.choose_scheme(schemes).is_some());
        fits.or_else(|| keys().next()).cloned()
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.choose(&hello, None)
    }
}

/// Reads a certificate, its chain and its key.
pub(super) fn read_pair(files: &CertificateFiles) -> Result<(CertifiedKey, OwnFacts), TlsError> {
    let chain = read_chain(&files.certificate)?;
    let own = CertificateFields::read(&chain[0]);
    let own = own.ok_or_else(|| {
        let fault = "the first certificate is not one of X.509";
        TlsError::new(&files.certificate, fault)
    })?;
    let names = own.dns_names().into_iter().map(str::to_ascii_lowercase);
    let facts = OwnFacts {
        names: names.collect(),
        addresses: own.addresses(),
        warning: warning(&files.certificate, &own, SystemTime::now()),
    };
    Ok((read_key(files, chain)?, facts))
}

/// Reads the certificates of a file, of which there is at least one.
pub(super) fn read_chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let text = read_file(file)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|error| TlsError::new(file, format!("not PEM: {error}")))?;
    if chain.is_empty() {
        let fault = "holds no certificate: it must begin with -----BEGIN CERTIFICATE-----";
        return Err(TlsError::new(file, fault));
    }
    Ok(chain)
}

/// Reads a key without a look at its certificate.
pub(super) fn read_signing_key(file: &Path) -> Result<Arc<dyn SigningKey>, TlsError> {
    let text = read_file(file)?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
        let is_locked = [
            &b"BEGIN ENCRYPTED PRIVATE KEY"[..],
            b"Proc-Type: 4,ENCRYPTED",
        ]
        .iter()
        .any(|mark| memchr::memmem::find(&text, mark).is_some());
        let fault = match error {
            _ if is_locked => {
                "the key has a passphrase: write it without one (openssl pkey -in FILE -out FILE)"
                    .to_owned()
            }
            rustls::pki_types::pem::Error::NoItemsFound => {
                "holds no private key: it must begin with -----BEGIN PRIVATE KEY-----".to_owned()
            }
            error => format!("not PEM: {error}"),
        };
        TlsError::new(file, fault)
    })?;
    any_supported_type(&key).map_err(|_| {
        let fault = "the key is of no supported kind: RSA (2048 to 8192 bits), ECDSA (P-256, P-384, P-521), Ed25519";
        TlsError::new(file, fault)
    })
}

/// Reads a key, and checks that it is the one of the first certificate.
fn read_key(
    files: &CertificateFiles,
    chain: Vec<CertificateDer<'static>>,
) -> Result<CertifiedKey, TlsError> {
    let file = &files.key;
    let key = read_signing_key(file)?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        // Where the kind of key cannot tell, its owner must know.
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(Error::InconsistentKeys(_)) => {
            let certificate = files.certificate.display();
            let fault = format!("the key is not the one of the first certificate in {certificate}");
            Err(TlsError::new(file, fault))
        }
        // rustls gives the reason as that of another library.
        Err(error) if error.to_string().contains("UnsupportedCertVersion") => {
            let fault = "the first certificate is of X.509 version 1: make one with extensions \
                         (openssl req -x509 -addext subjectAltName=DNS:example.org)";
            Err(TlsError::new(&files.certificate, fault))
        }
        Err(error) => {
            let fault = format!("the first certificate cannot be used: {error}");
            Err(TlsError::new(&files.certificate, fault))
        }
    }
}

fn read_file(file: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(file).map_err(|error| {
        let is_passing = !matches!(
            error.kind(),
            ErrorKind::NotFound | ErrorKind::PermissionDenied
        );
        TlsError {
            is_passing,
            ..TlsError::new(file, format!("cannot be read: {error}"))
        }
    })
}

/// Returns the warning for a certificate that is not valid now, or not for long.
fn warning(file: &Path, fields: &CertificateFields<'_>, now: SystemTime) -> Option<String> {
    let seconds = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    };
    let date = |seconds: i64| {
        let since = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        httpdate::fmt_http_date(UNIX_EPOCH + since)
    };
    let (from, until) = fields.validity().into_inner();
    let third = u64::try_from(until.saturating_sub(from) / 3).unwrap_or_default();
    let warn_before = WARN_BEFORE.min(Duration::from_secs(third));
    let fault = if seconds(now) > until {
        format!("the certificate has expired on {}", date(until))
    } else if seconds(now) < from {
        format!("the certificate is not valid before {}", date(from))
    } else if seconds(now + warn_before) > until {
        format!("the certificate expires on {}", date(until))
    } else {
        return None;
    };
    Some(format!("{}: {fault}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair};

    #[test]
    fn certificates_that_end_soon_are_warned_of_by_their_lifetime() {
        let key = KeyPair::generate().unwrap();
        for (days, at, is_warned) in [
            (6_u32, 0_u32, false),
            (6, 3, false),
            (6, 5, true),
            (90, 82, false),
            (90, 84, true),
        ] {
            let day = Duration::from_secs(24 * 3600);
            let from = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
            let mut params = CertificateParams::new(["example.org".to_owned()]).unwrap();
            params.not_before = from.into();
            params.not_after = (from + days * day).into();
            let der = params.self_signed(&key).unwrap().der().to_vec();
            let fields = CertificateFields::read(&der).unwrap();
            let warning = warning(Path::new("cert.pem"), &fields, from + at * day);
            assert_eq!(warning.is_some(), is_warned, "{days} {at} {warning:?}");
        }
    }

    #[test]
    fn a_certificate_without_extensions_is_told_with_the_remedy() {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["example.org".to_owned()]).unwrap();
        let mut der = params.self_signed(&key).unwrap().der().to_vec();
        // The field of the version (RFC 5280 section 4.1), which counts from 0.
        let version = memchr::memmem::find(&der, &[0xa0, 3, 2, 1, 2]).unwrap();
        der[version + 4] = 0;
        let folder = tempfile::tempdir().unwrap();
        let files = CertificateFiles {
            certificate: folder.path().join("cert.pem"),
            key: folder.path().join("key.pem"),
        };
        fs::write(&files.key, key.serialize_pem()).unwrap();
        let fault = read_key(&files, vec![der.into()]).unwrap_err();
        assert_eq!(fault.file, files.certificate);
        assert!(
            fault.reason.contains("X.509 version 1: make one"),
            "{fault}"
        );
    }
}
