//! Certificates and keys in PEM files, and the choice among them by the name that a client asks for.

use std::collections::HashMap;
use std::fmt;
use std::fs;
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

/// A certificate that ends sooner than this is worth a warning.
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
}

impl TlsError {
    fn new(file: &Path, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            reason: reason.into(),
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
    /// The first certificate for an IP address, which clients cannot ask for (RFC 6066 section 3).
    of_address: Option<usize>,
}

/// The facts about a certificate that decide who gets it.
pub(super) struct OwnFacts {
    /// Its names, in small letters.
    names: Vec<String>,
    has_address: bool,
    warning: Option<String>,
}

impl Certificates {
    /// Reads files. Also returns warnings, for certificates that clients will not accept for long.
    pub(super) fn read(files: &[CertificateFiles]) -> Result<(Self, Vec<String>), TlsError> {
        let mut certificates = Self {
            keys: Vec::new(),
            names: HashMap::new(),
            of_address: None,
        };
        let mut warnings = Vec::new();
        for files in files {
            warnings.extend(certificates.add(files)?);
        }
        Ok((certificates, warnings))
    }

    /// Reads one more certificate. Also returns a warning, if clients will not accept it for long.
    fn add(&mut self, files: &CertificateFiles) -> Result<Option<String>, TlsError> {
        let (key, own) = read_pair(files)?;
        let place = self.keys.len();
        for name in own.names {
            self.names.entry(name).or_default().push(place);
        }
        if own.has_address {
            self.of_address.get_or_insert(place);
        }
        self.keys.push(Arc::new(key));
        Ok(own.warning)
    }

    /// Reads one more certificate, which comes before all others for its names. Also returns a warning, if clients
    /// will not accept it for long.
    pub(super) fn add_preferred(
        &mut self,
        files: &CertificateFiles,
    ) -> Result<Option<String>, TlsError> {
        let place = self.keys.len();
        let warning = self.add(files)?;
        for places in self.names.values_mut() {
            if places.last() == Some(&place) {
                places.rotate_right(1);
            }
        }
        Ok(warning)
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
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name();
        let of_address = self.of_address.filter(|_| name.is_none());
        let other = [of_address.unwrap_or(0)];
        let named = name.and_then(|name| self.named(name));
        let places = named.unwrap_or(&other);
        // Of several kinds of keys for a name the first that the client can check.
        let keys = || places.iter().filter_map(|place| self.keys.get(*place));
        let schemes = hello.signature_schemes();
        let fits = keys().find(|key| key.key.choose_scheme(schemes).is_some());
        fits.or_else(|| keys().next()).cloned()
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
        has_address: own.has_address(),
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
    fs::read(file).map_err(|error| TlsError::new(file, format!("cannot be read: {error}")))
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
    let fault = if seconds(now) > until {
        format!("the certificate has expired on {}", date(until))
    } else if seconds(now) < from {
        format!("the certificate is not valid before {}", date(from))
    } else if seconds(now + WARN_BEFORE) > until {
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
