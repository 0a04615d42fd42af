//! The fields of a certificate that decide about its renewal.

use crate::store;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use x509_parser::parse_x509_certificate;

/// The fields of a certificate that decide about its renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFields {
    /// The first moment in which it is valid.
    pub from: SystemTime,
    /// The last moment in which it is valid.
    pub until: SystemTime,
    /// The certificate (DER).
    pub(crate) der: CertificateDer<'static>,
}

impl CertificateFields {
    /// Reads the first certificate of a file; `None` if there is none, or it cannot be read.
    pub fn of_file(file: &Path) -> Option<Self> {
        Self::read(file).ok().flatten()
    }

    /// Reads the first certificate of a file; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read: a text for people, with its name.
    pub(crate) fn read(file: &Path) -> Result<Option<Self>, String> {
        let text = store::read(file)?;
        Ok(text.and_then(|text| Self::of_pem(&text)))
    }

    /// Reads the first certificate of a text (PEM); `None` if there is none.
    pub fn of_pem(pem: &[u8]) -> Option<Self> {
        let der = CertificateDer::pem_slice_iter(pem).next()?.ok()?;
        let (_, parsed) = parse_x509_certificate(&der).ok()?;
        let validity = parsed.validity();
        let time = |seconds: i64| {
            UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
        };
        let (from, until) = (
            time(validity.not_before.timestamp()),
            time(validity.not_after.timestamp()),
        );
        Some(Self { from, until, der })
    }

    /// Returns the time between the first and the last moment.
    pub(crate) fn lifetime(&self) -> Duration {
        self.until.duration_since(self.from).unwrap_or_default()
    }
}

/// Returns the state of a domain's certificate while there is no new one, for a line of the log.
pub(crate) fn standing(old: Option<&CertificateFields>, now: SystemTime, domain: &str) -> String {
    match old {
        Some(old) if old.until > now => {
            format!("the one in place is valid until {}", date(old.until))
        }
        Some(old) => format!("the one in place has ended on {}", date(old.until)),
        None => format!(
            "there is none in place, so clients of {domain} get that of [tls] cert, or cannot connect"
        ),
    }
}

/// A moment for people.
pub(crate) fn date(time: SystemTime) -> String {
    httpdate::fmt_http_date(time)
}
